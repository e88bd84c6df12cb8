/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the answers to a dry run of an eviction mean, and when a webhook may have a say in one.
 */
#include "base/input/json.h"
#include "clusters/kube/kube_error.h"
#include "clusters/kube_verbs.h"
#include "tests/support/unit.h"

#include <string.h>

static json_t *parse(const char *chars)
{
    struct error err = { 0 };
    json_t *json = json_parse(chars, strlen(chars), "case", &err);

    if (!json)
        fail_msg("%s: %s", chars, err.text);
    return json;
}

#define STATUS(code, reason, rest)                                                                 \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":" code ",\"reason\":\"" reason           \
    "\",\"message\":\"" rest "}"

static const struct {
    int status;
    const char *body;
    enum dry_run means;
} answers[] = {
    { 201, "{\"kind\":\"Status\",\"status\":\"Success\"}", DRY_RUN_LEAVES },
    { 429,
      STATUS("429", "TooManyRequests",
             "Cannot evict\",\"details\":{\"causes\":[{\"reason\":\"DisruptionBudget\","
             "\"message\":\"The disruption budget b needs 2\"}]}"),
      DRY_RUN_BUDGET },
    { 429, STATUS("429", "TooManyRequests", "too many requests\""), DRY_RUN_UNKNOWN },
    { 429, STATUS("429", "", "admission webhook \\\"v\\\" denied the request: migrating\""),
      DRY_RUN_DENIED },
    { 403, STATUS("403", "Forbidden", "admission webhook \\\"v\\\" denied the request: no\""),
      DRY_RUN_DENIED },
    { 400, STATUS("400", "", "admission webhook \\\"v\\\" denied the request: no\""),
      DRY_RUN_DENIED },
    { 400, STATUS("400", "BadRequest", "admission webhook \\\"v\\\" does not support dry run\""),
      DRY_RUN_UNKNOWN },
    { 500, STATUS("500", "InternalError", "failed calling webhook \\\"v\\\"\""),
      DRY_RUN_UNREACHED },
    { 500, STATUS("500", "", "This pod has more than one PodDisruptionBudget, which\""),
      DRY_RUN_TWO_BUDGETS },
    { 201, STATUS("500", "", "This pod has more than one PodDisruptionBudget, which\""),
      DRY_RUN_TWO_BUDGETS },
    { 403, STATUS("403", "Forbidden", "User \\\"s\\\" cannot create resource\""),
      DRY_RUN_NOT_PERMITTED },
    { 403,
      STATUS("403", "Forbidden",
             "is being terminated\",\"details\":{\"causes\":[{\"reason\":"
             "\"NamespaceTerminating\"}]}"),
      DRY_RUN_UNKNOWN },
    { 401, STATUS("401", "Unauthorized", "Unauthorized\""), DRY_RUN_UNKNOWN },
    { 404, STATUS("404", "NotFound", "pods \\\"p\\\" not found\""), DRY_RUN_GONE },
    { 409, STATUS("409", "Conflict", "the UID in the precondition (U) does not match\""),
      DRY_RUN_GONE },
    { 504, "gateway timeout", DRY_RUN_UNKNOWN },
};

static void each_answer_has_its_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        owned(json) json_t *body = answers[i].body[0] == '{' ? parse(answers[i].body) : NULL;
        struct kube_answer answer = {
            .status = answers[i].status,
            .body = body,
            .text = answers[i].body,
            .is_mutation = true,
            .is_eviction = true,
        };
        struct error err = { 0 };
        bool is_good = kube_error_of_answer(&answer, &err) == 0;

        if (cluster_dry_run_of(is_good ? NULL : &err) != answers[i].means)
            fail_msg("%s: %s: %d", answers[i].body, err.text,
                     (int)cluster_dry_run_of(is_good ? NULL : &err));
    }
}

/* Only an API server's own words prove that it has no such resource. */
static void what_is_not_served_is_told_apart(void **state)
{
    static const struct {
        int status;
        const char *body;
        bool serves_none;
    } cases[] = {
        { 404, "404 page not found\n", true },
        { 404, STATUS("404", "NotFound", "the server could not find the requested resource\""),
          true },
        { 404, "<html>no such site</html>", false },
        { 400, "bad request", false },
        { 405, "method not allowed", false },
        { 406, "not acceptable", false },
        { 403, STATUS("403", "Forbidden", "cannot list\""), false },
        { 504, "gateway timeout", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(json) json_t *body = cases[i].body[0] == '{' ? parse(cases[i].body) : NULL;
        struct kube_answer answer = { .status = cases[i].status,
                                      .body = body,
                                      .text = cases[i].body };
        struct error err = { 0 };

        assert_int_equal(kube_error_of_answer(&answer, &err), -1);
        error_context(&err, "cluster c: GET /apis/x");
        if (cluster_serves_none(&err) != cases[i].serves_none)
            fail_msg("%s: %s", cases[i].body, err.text);
    }
}

#define RULE(groups, operations, resources)                                                        \
    "{\"items\":[{\"webhooks\":[{\"rules\":[]},{\"rules\":[{\"apiGroups\":[\"x\"]},"               \
    "{\"apiGroups\":[" groups "],\"operations\":[" operations "],\"resources\":[" resources        \
    "]}]}]}]}"

static void a_webhook_sees_evictions_by_its_rules(void **state)
{
    static const struct {
        const char *list;
        bool sees;
    } cases[] = {
        { "{\"items\":[]}", false },
        { RULE("\"\"", "\"CREATE\"", "\"pods/eviction\""), true },
        { RULE("\"*\"", "\"*\"", "\"*/*\""), true },
        { RULE("\"\"", "\"UPDATE\",\"CREATE\"", "\"nodes\",\"pods/*\""), true },
        { RULE("\"\"", "\"CREATE\"", "\"*\""), false }, /* no subresource */
        { RULE("\"\"", "\"CREATE\"", "\"pods\""), false },
        { RULE("\"\"", "\"UPDATE\"", "\"pods/eviction\""), false },
        { RULE("\"apps\"", "\"CREATE\"", "\"*/*\""), false },
        { "{\"items\":[{\"spec\":{\"matchConstraints\":{\"resourceRules\":[{\"apiGroups\":[\"\"],"
          "\"operations\":[\"CREATE\"],\"resources\":[\"pods/eviction\"]}]}}}]}",
          true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(json) json_t *list = parse(cases[i].list);

        if (cluster_admission_sees_evictions(list) != cases[i].sees)
            fail_msg("%s", cases[i].list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_has_its_meaning),
        cmocka_unit_test(what_is_not_served_is_told_apart),
        cmocka_unit_test(a_webhook_sees_evictions_by_its_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
