/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * SelfSubjectAccessReviews: whether the account that asks may do something.
 */
#include "tools/simulator/kube/kube_routes.h"

static void review(struct sim_call *call, char **parts)
{
    owned(json) json_t *body = sim_kube_is_content(call, "application/json") ? sim_kube_body(call)
                                                                             : NULL;
    const json_t *asked = json_at(body, "spec/resourceAttributes");
    const char *part = json_text_or(asked, "subresource", "");
    const char *group = json_text_or(asked, "group", "");
    json_t *answer;

    (void)parts;
    if (!body)
        return;
    if (!asked) {
        sim_kube_status(
            call->answer, 422, "Invalid",
            "SelfSubjectAccessReview \"\" is invalid: spec.resourceAttributes: Required "
            "value");
        return;
    }

    owned(chars) char *action = text_format("%s %s%s%s%s%s", json_text_or(asked, "verb", ""),
                                            json_text_or(asked, "resource", ""), part[0] ? "/" : "",
                                            part, group[0] ? "." : "", group);

    answer = json_deep_copy(body);
    json_object_set_new(
        answer, "status",
        json_make("{s:b}", "allowed",
                  !scenario_denies(call->sim->scenario, call->cluster->plan->name, action)));
    sim_answer_json(call->answer, 201, answer);
}

const struct kube_route kube_access_routes[] = {
    { ON(POST), "apis/authorization.k8s.io/v1/selfsubjectaccessreviews", NULL, review },
    { 0 },
};
