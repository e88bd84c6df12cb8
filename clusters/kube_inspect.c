/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See kube_inspect.h.  One request at a time: the version, the API groups, then a review for each
 * verb of each right.
 */
#include "clusters/kube_inspect.h"

#include "base/input/json.h"
#include "base/text.h"
#include "clusters/kube_rights.h"

#include <string.h>

enum { REQUEST_MS = 10 * SECOND_MS };

static const char remedy[] =
    "kubectl apply -f clusters/role.yaml, and bind the role to the account "
    "of the kubeconfig";

struct kube_inspection {
    struct kube_session *session;
    struct cluster_needs needs;
    struct cluster_inspector inspector;
    struct kube_exchange *exchange;
    json_t *groups; /* names; NULL: not known */
    size_t right;
    size_t verb;
    struct text *missing; /* verbs of the right */
    size_t held;
    size_t lacking;
};

static void review_next(struct kube_inspection *inspection);

static void tell(const struct kube_inspection *inspection, const struct finding *finding)
{
    inspection->inspector.found(inspection->inspector.context, finding);
}

static void send(struct kube_inspection *inspection, const char *target, const json_t *body,
                 kube_done_fn answered)
{
    struct kube_call call = {
        .verb = body ? KUBE_CREATE : KUBE_READ,
        .priority = HTTP_POLL,
        .target = target,
        .body = body,
        .timeout_ms = REQUEST_MS,
    };

    inspection->exchange = kube_send(inspection->session, &call, answered, inspection);
}

static void fail(struct kube_inspection *inspection, const struct error *err)
{
    tell(inspection, &(struct finding){ FINDING_WRONG, "API server", err->text,
                                        "see that the server can be reached from here, and that "
                                        "the kubeconfig names it and an account that is valid" });
    inspection->inspector.done(inspection->inspector.context);
}

static unsigned bits_of(const struct cluster_needs *needs)
{
    return (needs->is_production ? RIGHT_ON_PRODUCTION : 0u) |
           (needs->is_research ? RIGHT_ON_RESEARCH : 0u) |
           (needs->has_quotas ? RIGHT_WITH_QUOTAS : 0u) | (needs->has_hpa ? RIGHT_WITH_HPA : 0u) |
           (needs->has_keda ? RIGHT_WITH_KEDA : 0u);
}

static bool is_served(const struct kube_inspection *inspection, const char *group)
{
    const json_t *name;
    size_t i;

    json_array_foreach(inspection->groups, i, name) {
        if (text_equal(json_string_value(name), group))
            return true;
    }
    return group[0] == '\0' || !inspection->groups;
}

static bool is_wanted(const struct kube_inspection *inspection, const struct kube_right *right)
{
    return (right->need == 0 || (right->need & bits_of(&inspection->needs)) != 0) &&
           is_served(inspection, right->group);
}

/* All verbs of a right were reviewed. */
static void end_right(struct kube_inspection *inspection)
{
    const struct kube_right *right = &kube_rights[inspection->right];
    owned(chars) char *subject = text_format("%s of %s%s%s", inspection->missing->chars,
                                             right->resource, right->group[0] ? "." : "",
                                             right->group);
    owned(chars) char *text = text_format("the account may not do this: %s",
                                          right->without ?: "sluice cannot move nodes");

    if (inspection->missing->length > 0) {
        inspection->lacking++;
        tell(inspection, &(struct finding){ right->without ? FINDING_DOUBTFUL : FINDING_WRONG,
                                            subject, text, remedy });
    }
    text_free(inspection->missing);
    inspection->missing = text_new(256);
    inspection->right++;
    inspection->verb = 0;
}

static void reviewed(void *context, const json_t *body, const struct error *err)
{
    struct kube_inspection *inspection = context;
    const char *verb = kube_rights[inspection->right].verbs[inspection->verb];

    inspection->exchange = NULL;
    if (err) {
        fail(inspection, err);
        return;
    }
    if (json_is_true(json_at(body, "status/allowed")))
        inspection->held++;
    else
        text_add(inspection->missing, "%s%s", inspection->missing->length > 0 ? ", " : "", verb);
    inspection->verb++;
    review_next(inspection);
}

static void review(struct kube_inspection *inspection, const struct kube_right *right)
{
    const char *slash = strchr(right->resource, '/');
    owned(chars) char *resource = text_format(
        "%.*s", (int)(slash ? slash - right->resource : (long)strlen(right->resource)),
        right->resource);
    owned(json) json_t *body = json_make(
        "{s:s, s:s, s:{s:{s:s, s:s, s:s}}}", "apiVersion", "authorization.k8s.io/v1", "kind",
        "SelfSubjectAccessReview", "spec", "resourceAttributes", "group", right->group, "resource",
        resource, "verb", right->verbs[inspection->verb]);

    if (slash)
        json_put(json_at(body, "spec/resourceAttributes"), "subresource", json_text(slash + 1));
    send(inspection, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body, reviewed);
}

static void end(struct kube_inspection *inspection)
{
    owned(chars) char *text = text_format("the account has %zu of the %zu rights that its part "
                                          "needs",
                                          inspection->held, inspection->held + inspection->lacking);

    if (inspection->lacking == 0)
        tell(inspection, &(struct finding){ FINDING_RIGHT, "rights", text, "" });
    inspection->inspector.done(inspection->inspector.context);
}

static void review_next(struct kube_inspection *inspection)
{
    while (inspection->right < kube_right_count) {
        const struct kube_right *right = &kube_rights[inspection->right];

        if (inspection->verb < KUBE_RIGHT_VERBS && right->verbs[inspection->verb] &&
            is_wanted(inspection, right)) {
            review(inspection, right);
            return;
        }
        end_right(inspection);
    }
    end(inspection);
}

static void groups_answered(void *context, const json_t *body, const struct error *err)
{
    struct kube_inspection *inspection = context;
    const json_t *group;
    size_t i;

    inspection->exchange = NULL;
    if (!err && json_is_array(json_at(body, "groups"))) {
        inspection->groups = json_array();
        json_array_foreach(json_at(body, "groups"), i, group)
            json_array_append_new(inspection->groups, json_text(json_text_or(group, "name", "")));
    }
    review_next(inspection);
}

static void version_answered(void *context, const json_t *body, const struct error *err)
{
    struct kube_inspection *inspection = context;

    inspection->exchange = NULL;
    if (err) {
        fail(inspection, err);
        return;
    }

    owned(chars) char *text = text_format("it answers, Kubernetes %s",
                                          json_text_or(body, "gitVersion", "(no version)"));

    tell(inspection, &(struct finding){ FINDING_RIGHT, "API server", text, "" });
    send(inspection, "/apis", NULL, groups_answered);
}

struct kube_inspection *kube_inspect(struct kube_session *session,
                                     const struct cluster_needs *needs,
                                     const struct cluster_inspector *inspector)
{
    struct kube_inspection *inspection = mem_new(sizeof *inspection);

    inspection->session = session;
    inspection->needs = *needs;
    inspection->inspector = *inspector;
    inspection->missing = text_new(256);
    send(inspection, "/version", NULL, version_answered);
    return inspection;
}

void kube_inspection_free(struct kube_inspection *inspection)
{
    if (!inspection)
        return;
    kube_cancel(inspection->exchange);
    json_decref(inspection->groups);
    text_free(inspection->missing);
    mem_free(inspection);
}
