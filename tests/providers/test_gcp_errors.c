/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every row of the table of errors, in the three places where errors come from.
 */
#include "base/input/json.h"
#include "base/timestamp.h"
#include "providers/gcp/gcp_errors.h"
#include "tests/support/unit.h"

#include <string.h>

/* Body of an answer that failed: reason and message, as the API writes them. */
#define BODY(reason, message)                                                                      \
    "{\"error\":{\"code\":400,\"message\":\"" message "\",\"errors\":[{\"reason\":\"" reason       \
    "\",\"domain\":\"global\",\"message\":\"x\"}]}}"
#define INFO(reason)                                                                               \
    "{\"error\":{\"message\":\"m\",\"status\":\"RESOURCE_EXHAUSTED\",\"details\":[{\"@type\":"     \
    "\"t\"},{\"reason\":\"" reason "\"}]}}"
#define OPERATION(code, message)                                                                   \
    "{\"name\":\"op-1\",\"status\":\"DONE\",\"error\":{\"errors\":[{\"code\":\"" code              \
    "\",\"message\":\"" message "\"}]}}"

static const struct {
    int status;
    const char *body;
    bool is_mutation;
    enum error_kind want;
} answers[] = {
    { 200, "{}", true, ERROR_NONE },
    { 200, "{\"name\":\"op-1\",\"status\":\"PENDING\"}", true, ERROR_NONE },
    { 200, "not json", true, ERROR_UNKNOWN_OUTCOME },
    { 200, "not json", false, ERROR_CORRUPT },
    { 200, "[]", false, ERROR_CORRUPT },
    { 401, "{}", true, ERROR_DENIED },
    { 403, "{}", true, ERROR_DENIED },
    { 403, BODY("forbidden", "Required permission"), true, ERROR_DENIED },
    { 403, BODY("rateLimitExceeded", "Rate"), true, ERROR_THROTTLED },
    { 403, BODY("userRateLimitExceeded", "Rate"), true, ERROR_THROTTLED },
    { 403, INFO("RATE_LIMIT_EXCEEDED"), true, ERROR_THROTTLED },
    { 429, "", true, ERROR_THROTTLED },
    { 403, BODY("quotaExceeded", "Quota 'NVIDIA_H100_GPUS' exceeded. Limit: 8.0"), true,
      ERROR_DENIED },
    { 404, BODY("notFound", "The resource 'g' was not found"), true, ERROR_NOT_FOUND },
    { 409, BODY("alreadyExists", "exists"), true, ERROR_CONFLICT },
    { 409, BODY("resourceInUseByAnotherResource", "busy"), true, ERROR_CONFLICT },
    { 409, "{}", true, ERROR_CONFLICT },
    { 400, BODY("resourceNotReady", "not ready"), true, ERROR_CONFLICT },
    { 400, BODY("failedPrecondition", "Cluster is running incompatible operation o"), true,
      ERROR_CONFLICT },
    { 412, BODY("conditionNotMet", "fingerprint"), true, ERROR_CONFLICT },
    { 400, BODY("invalid", "Invalid value"), true, ERROR_INVALID },
    { 400, "", true, ERROR_INVALID },
    { 302, "", true, ERROR_INVALID },
    { 408, "", true, ERROR_UNKNOWN_OUTCOME },
    { 408, "", false, ERROR_TRANSIENT },
    { 500, BODY("backendError", "Backend Error"), true, ERROR_UNKNOWN_OUTCOME },
    { 503, "", true, ERROR_UNKNOWN_OUTCOME },
    { 503, "<html>", false, ERROR_TRANSIENT },
    { 503, BODY("x", "ZONE does not currently have sufficient capacity for it"), true,
      ERROR_NO_CAPACITY },
    { 200, OPERATION("ZONE_RESOURCE_POOL_EXHAUSTED", "m"), true, ERROR_NO_CAPACITY },
    { 200, OPERATION("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "m"), true, ERROR_NO_CAPACITY },
    { 200, OPERATION("QUOTA_EXCEEDED", "m"), true, ERROR_DENIED },
    { 200, OPERATION("PERMISSIONS_ERROR", "m"), true, ERROR_DENIED },
    { 200, OPERATION("RESOURCE_ALREADY_EXISTS", "m"), true, ERROR_CONFLICT },
    { 200, OPERATION("RESOURCE_NOT_READY", "m"), true, ERROR_CONFLICT },
    { 200, OPERATION("RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", "m"), true, ERROR_CONFLICT },
    { 200, OPERATION("RESOURCE_NOT_FOUND", "m"), true, ERROR_NOT_FOUND },
    { 200, OPERATION("INVALID_FIELD_VALUE", "m"), true, ERROR_INVALID },
    { 200, OPERATION("INTERNAL_ERROR", "m"), true, ERROR_TRANSIENT },
    { 200, OPERATION("SOMETHING_NEW", "m"), true, ERROR_TRANSIENT },
    { 200,
      "{\"name\":\"op-1\",\"httpErrorStatusCode\":409,\"error\":{\"errors\":[{\"code\":\"NEW\"}]}}",
      true, ERROR_CONFLICT },
    { 200, "{\"error\":{\"message\":\"odd\"}}", true, ERROR_TRANSIENT },
};

static void answers_and_operations(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        struct error err = { 0 };
        owned(json) json_t *body = json_parse_foreign(answers[i].body, strlen(answers[i].body),
                                                      "case", NULL);
        struct gcp_answer answer = {
            .status = answers[i].status,
            .body = body,
            .text = answers[i].body,
            .is_mutation = answers[i].is_mutation,
        };
        int result = gcp_error_of_answer(&answer, &err);
        if (err.kind != answers[i].want || (result == 0) != (answers[i].want == ERROR_NONE))
            fail_msg("%d %s: %s, %s", answers[i].status, answers[i].body, error_kind_name(err.kind),
                     err.text);
    }
}

static const struct {
    const char *code;
    const char *message;
    enum error_kind want;
} attempts[] = {
    { "RESOURCE_POOL_EXHAUSTED", "m", ERROR_NO_CAPACITY },
    { "INSUFFICIENT_CAPACITY", "m", ERROR_NO_CAPACITY },
    { "X", "Specified reservation r does not have available resources for the request",
      ERROR_NO_CAPACITY },
    { "X", "No available resources in specified reservations", ERROR_NO_CAPACITY },
    { "X", "All automatic reservations in z are fully consumed", ERROR_NO_CAPACITY },
    { "X", "it requires reservation to be in READY state", ERROR_TRANSIENT },
    { "X", "Specified reservation r does not exist", ERROR_INVALID },
    { "X", "Specified reservations a, b do not exist", ERROR_INVALID },
    { "X", "Could not find the given reservation r", ERROR_INVALID },
    { "X", "Reservation r is incorrect for the requested resources", ERROR_INVALID },
    { "X", "VM must use ReservationAffinity of SPECIFIC", ERROR_INVALID },
    { "X", "The reservation must exist in the same project as the instance", ERROR_INVALID },
    { "X", "There is no automatic reservation matching it", ERROR_INVALID },
    { "IP_SPACE_EXHAUSTED_WITH_DETAILS", "m", ERROR_DENIED },
    { "QUOTA_EXCEEDED", "m", ERROR_DENIED },
    { "CONDITION_NOT_MET", "Constraint constraints/compute.x violated", ERROR_DENIED },
    { "INTERNAL_ERROR", "m", ERROR_TRANSIENT },
};

static void last_attempts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(attempts); i++) {
        struct error trouble = { 0 };
        owned(json)
            json_t *item = json_make("{s:{s:{s:[{s:s, s:s}]}}}", "lastAttempt", "errors", "errors",
                                     "code", attempts[i].code, "message", attempts[i].message);
        gcp_error_of_attempt(item, &trouble);
        if (trouble.kind != attempts[i].want || !strstr(trouble.text, attempts[i].message))
            fail_msg("%s %s: %s, %s", attempts[i].code, attempts[i].message,
                     error_kind_name(trouble.kind), trouble.text);
    }
    struct error trouble = { .kind = ERROR_BUG };
    owned(json) json_t *fine = json_make("{s:s}", "name", "a");
    gcp_error_of_attempt(fine, &trouble);
    assert_int_equal(trouble.kind, ERROR_NONE);
}

static void a_reason_in_the_details_counts(void **state)
{
    (void)state;
    struct error trouble = { 0 };
    owned(json) json_t *item = json_make(
        "{s:{s:{s:[{s:s, s:s, s:[{s:{s:s}}]}]}}}", "lastAttempt", "errors", "errors", "code", "X",
        "message", "m", "errorDetails", "errorInfo", "reason", "resource_availability");
    gcp_error_of_attempt(item, &trouble);
    assert_int_equal(trouble.kind, ERROR_NO_CAPACITY);
}

static void the_servers_wait_is_kept(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct gcp_answer answer = { .status = 429, .text = "", .retry_after_ms = 7000 };
    assert_int_equal(gcp_error_of_answer(&answer, &err), -1);
    assert_int_equal(err.retry_after_ms, 7000);
    answer.retry_after_ms = 80000 * SECOND_MS;
    assert_int_equal(gcp_error_of_answer(&answer, &err), -1);
    assert_int_equal(err.retry_after_ms, 5 * MINUTE_MS);
    assert_non_null(strstr(err.text, "429: the server asked to wait 22h13m"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_and_operations),
        cmocka_unit_test(last_attempts),
        cmocka_unit_test(a_reason_in_the_details_counts),
        cmocka_unit_test(the_servers_wait_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
