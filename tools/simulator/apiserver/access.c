/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a client may do (`kubectl auth can-i`) and who it is (`kubectl auth whoami`).  Other clients
 * than sluice may do everything.  One who asks on behalf of the user "sluice" hears what world.yaml
 * denies sluice.
 */
#include "tools/simulator/apiserver/answers.h"

static const char *acts_as(const struct sim_call *call)
{
    return http_header_find(call->request->headers, call->request->header_count,
                            "Impersonate-User");
}

static bool is_allowed(const struct sim_call *call, const json_t *asked)
{
    const char *part = json_text_or(asked, "subresource", "");
    const char *group = json_text_or(asked, "group", "");
    owned(chars) char *action = text_format("%s %s%s%s%s%s", json_text_or(asked, "verb", ""),
                                            json_text_or(asked, "resource", ""), part[0] ? "/" : "",
                                            part, group[0] ? "." : "", group);

    return !acts_as(call) ||
           !scenario_denies(call->sim->scenario, call->cluster->plan->name, action);
}

static void review(struct sim_call *call)
{
    owned(json) json_t *body = api_body(call);
    const json_t *asked = json_at(body, "spec/resourceAttributes");
    json_t *answer;

    if (!body)
        return;
    if (!asked && !json_at(body, "spec/nonResourceAttributes")) {
        sim_kube_status(call->answer, 422, "Invalid",
                        "SelfSubjectAccessReview.authorization.k8s.io \"\" is invalid: "
                        "spec.resourceAttributes: Invalid value: null: exactly one of "
                        "nonResourceAttributes or resourceAttributes must be specified");
        return;
    }
    answer = json_deep_copy(body);
    json_object_set_new(answer, "kind", json_string("SelfSubjectAccessReview"));
    json_object_set_new(answer, "apiVersion", json_string("authorization.k8s.io/v1"));
    json_object_set_new(answer, "status", json_make("{s:b}", "allowed", is_allowed(call, asked)));
    sim_answer_json(call->answer, 201, answer);
}

static void tell_user(struct sim_call *call)
{
    sim_answer_json(call->answer, 201,
                    json_make("{s:s, s:s, s:{}, s:{s:{s:s, s:[s, s]}}}", "kind",
                              "SelfSubjectReview", "apiVersion", "authentication.k8s.io/v1",
                              "metadata", "status", "userInfo", "username", "admin", "groups",
                              "system:masters", "system:authenticated"));
}

bool api_review_access(struct sim_call *call, char **parts, size_t count)
{
    const char *user = acts_as(call);
    bool is_review = count == 4 && text_equal(parts[3], "selfsubjectaccessreviews") &&
                     text_equal(parts[1], "authorization.k8s.io") && text_equal(parts[2], "v1");
    bool is_posted = call->request->method == HTTP_POST;

    if (user && !(is_review && text_equal(user, "sluice"))) {
        sim_kube_status(call->answer, 403, "Forbidden",
                        "users \"%s\" is forbidden: User \"admin\" cannot impersonate resource "
                        "\"users\" in API group \"\" at the cluster scope",
                        user);
        return true;
    }
    if (is_review && is_posted) {
        review(call);
        return true;
    }
    if (is_posted && count == 4 && text_equal(parts[3], "selfsubjectreviews") &&
        text_equal(parts[1], "authentication.k8s.io") && text_equal(parts[2], "v1")) {
        tell_user(call);
        return true;
    }
    return false;
}
