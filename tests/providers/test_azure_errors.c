/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What Azure's errors mean: codes, codes within codes, codes in messages, and one code with two
 * meanings.
 */
#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "providers/azure/azure_errors.h"
#include "tests/support/unit.h"

#include <string.h>

#define ONE(code, message) "{\"error\":{\"code\":\"" code "\",\"message\":\"" message "\"}}"
#define WITHIN(code, message, details)                                                             \
    "{\"error\":{\"code\":\"" code "\",\"message\":\"" message "\",\"details\":[" details "]}}"
#define DETAIL(code, message) "{\"code\":\"" code "\",\"message\":\"" message "\"}"
#define QUOTA                                                                                      \
    "Operation could not be completed as it results in exceeding approved standardNDSH100v5Family" \
    " Cores quota. Additional details - Deployment Model: Resource Manager, Location: eastus"
#define BUSY                                                                                       \
    "Operation is not allowed: Another agentpool operation (gpu - Scaling) is in progress, please" \
    " wait for it to finish before starting a new operation. See"                                  \
    " https://aka.ms/aks-pending-operation for more details"

static const struct {
    int status;
    const char *body;
    bool is_mutation;
    enum error_kind want;
    int64_t want_retry_ms;
} cases[] = {
    /* the same code */
    { 409, ONE("OperationNotAllowed", QUOTA), true, ERROR_DENIED, 0 },
    { 409, ONE("OperationNotAllowed", BUSY), true, ERROR_CONFLICT, 10000 },
    { 409, ONE("OperationNotAllowed", "for reasons"), true, ERROR_CONFLICT, 0 },
    { 400, ONE("OperationNotAllowed", "for reasons"), true, ERROR_INVALID, 0 },
    { 400, ONE("operationnotallowed", QUOTA), true, ERROR_DENIED, 0 },

    /* busy */
    { 409, ONE("AnotherOperationInProgress", ""), true, ERROR_CONFLICT, 10000 },
    { 412, ONE("EtagMismatch", "x"), true, ERROR_CONFLICT, 0 },
    { 412, "", true, ERROR_CONFLICT, 0 },
    { 409, ONE("Conflict", "x"), true, ERROR_CONFLICT, 10000 },
    { 409, ONE("AKSOperationPreempted", "x"), true, ERROR_CONFLICT, 10000 },

    /* stock-outs */
    { 409, ONE("AllocationFailed", "x"), true, ERROR_NO_CAPACITY, 0 },
    { 409, ONE("ZonalAllocationFailed", "x"), true, ERROR_NO_CAPACITY, 0 },
    { 409, ONE("SkuNotAvailable", "x"), true, ERROR_NO_CAPACITY, 900000 },
    { 409, ONE("AllocationFailed", "The capacity reservation has no available instance"), true,
      ERROR_NO_CAPACITY, 20000 },

    /* rights and quotas */
    { 403, ONE("AuthorizationFailed", "x"), true, ERROR_DENIED, 0 },
    { 401, ONE("ExpiredAuthenticationToken", "x"), false, ERROR_DENIED, 0 },
    { 409, ONE("ScopeLocked", "x"), true, ERROR_DENIED, 0 },
    { 400, ONE("SubnetIsFull", "x"), true, ERROR_DENIED, 0 },
    { 403, ONE("RequestDisallowedByPolicy", "x"), true, ERROR_DENIED, 0 },
    { 400, ONE("CannotScaleClusterAutoscalerEnabledNodePool", "x"), true, ERROR_INVALID, 0 },

    /* what is not there */
    { 404, ONE("ResourceNotFound", "x"), false, ERROR_NOT_FOUND, 0 },
    { 404, ONE("NotFound", "x"), false, ERROR_NOT_FOUND, 0 },
    { 404, ONE("ResourceGroupNotFound", "x"), false, ERROR_INVALID, 0 },
    { 404, ONE("ParentResourceNotFound", "x"), false, ERROR_INVALID, 0 },
    { 404, ONE("SubscriptionNotFound", "x"), false, ERROR_INVALID, 0 },

    /* time */
    { 429, ONE("TooManyRequests", "x"), true, ERROR_THROTTLED, 0 },
    { 429, ONE("SubscriptionRequestsThrottled", "x"), true, ERROR_THROTTLED, 0 },
    { 429, ONE("OperationNotAllowed", "The server rejected the request because too many"), true,
      ERROR_THROTTLED, 0 },
    { 429, ONE("OperationNotAllowed", BUSY), true, ERROR_THROTTLED, 10000 },
    { 500, ONE("InternalServerError", "x"), false, ERROR_TRANSIENT, 0 },
    { 500, ONE("InternalServerError", "x"), true, ERROR_UNKNOWN_OUTCOME, 0 },
    { 503, "busy", true, ERROR_UNKNOWN_OUTCOME, 0 },
    { 408, "", true, ERROR_UNKNOWN_OUTCOME, 0 },
    { 500, ONE("AllocationFailed", "x"), true, ERROR_NO_CAPACITY, 0 },
    { 302, "", true, ERROR_INVALID, 0 },
    { 400, ONE("BadRequest", "x"), true, ERROR_INVALID, 0 },

    /* the innermost known code wins */
    { 409, WITHIN("Conflict", "outer", DETAIL("QuotaExceeded", "inner")), true, ERROR_DENIED, 0 },
    { 409, WITHIN("Conflict", "outer", DETAIL("Strange", "inner")), true, ERROR_CONFLICT, 10000 },
    { 400,
      WITHIN("ReconcileVMSSAgentPoolFailed", "outer",
             "{\"code\":\"Strange\",\"message\":\"\",\"details\":[" DETAIL(
                 "OverconstrainedZonalAllocationRequest", "x") "]}"),
      true, ERROR_NO_CAPACITY, 0 },
    { 400,
      WITHIN("Strange", "outer",
             DETAIL("Strange", "first") "," DETAIL("OperationNotAllowed", QUOTA)),
      true, ERROR_DENIED, 0 },
    { 400,
      "{\"error\":{\"code\":\"Strange\",\"message\":\"x\",\"innererror\":{\"code\":"
      "\"SkuNotAvailable\",\"message\":\"y\"}}}",
      true, ERROR_NO_CAPACITY, 900000 },

    /* AKS's own form, without "error" */
    { 400, "{\"code\":\"ErrCode_InsufficientVCPUQuota\",\"message\":\"x\",\"subcode\":\"\"}", true,
      ERROR_DENIED, 0 },
    { 400, "{\"code\":\"BadRequest\",\"message\":\"x\",\"subcode\":\"SubnetIsFull\"}", true,
      ERROR_DENIED, 0 },

    /* a code quoted in the message of an unknown one; a word of prose is no code */
    { 400,
      ONE("CreateVMSSAgentPoolFailed", "Code=\\\"AllocationFailed\\\" Message=\\\"Allocation "
                                       "failed.\\\" Target=\\\"0\\\""),
      true, ERROR_NO_CAPACITY, 0 },
    { 400, ONE("CreateVMSSAgentPoolFailed", "Code=\\\"OperationNotAllowed\\\" " QUOTA), true,
      ERROR_DENIED, 0 },
    { 400, ONE("Strange", "a Conflict of NotAllocationFailedYet"), true, ERROR_INVALID, 0 },
};

static void each_answer_has_its_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(json)
            json_t *body = json_parse_foreign(cases[i].body, strlen(cases[i].body), "a", NULL);
        struct azure_answer answer = {
            .status = cases[i].status,
            .body = body,
            .text = cases[i].body,
            .is_mutation = cases[i].is_mutation,
        };
        struct error err = { 0 };

        assert_int_equal(azure_error_of_answer(&answer, &err), -1);
        if (err.kind != cases[i].want || err.retry_after_ms != cases[i].want_retry_ms)
            fail_msg("%d %s: %s after %d ms: %s", cases[i].status, cases[i].body,
                     error_kind_name(err.kind), (int)err.retry_after_ms, err.text);
    }
}

static void success_is_no_error(void **state)
{
    static const int statuses[] = { 200, 201, 202, 204 };
    struct error err = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        struct azure_answer answer = { .status = statuses[i], .text = "", .is_mutation = true };

        assert_int_equal(azure_error_of_answer(&answer, &err), 0);
        assert_int_equal(err.kind, ERROR_NONE);
    }
}

static void sentences(void **state)
{
    static const struct {
        int status;
        const char *body;
        const char *text;
    } rows[] = {
        { 409, WITHIN("Outer", "all", DETAIL("QuotaExceeded", "no more")),
          "409: QuotaExceeded: no more" },
        { 400, WITHIN("Outer", "all", DETAIL("Inner", "this")), "400: Outer: all" },
        { 502, "<html>", "502: error: <html>" },
        { 502, "", "502: error: (no text)" },
        { 400, "[1]", "400: error: [1]" },
        { 400, "{\"error\":\"text\"}", "400: error: {\"error\":\"text\"}" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(json)
            json_t *body = json_parse_foreign(rows[i].body, strlen(rows[i].body), "a", NULL);
        struct azure_answer answer = { .status = rows[i].status,
                                       .body = body,
                                       .text = rows[i].body };
        struct error err = { 0 };

        assert_int_equal(azure_error_of_answer(&answer, &err), -1);
        assert_string_equal(err.text, rows[i].text);
    }
}

static void the_server_may_ask_for_more_patience(void **state)
{
    const char *chars = ONE("Conflict", "x");
    owned(json) json_t *body = json_parse_foreign(chars, strlen(chars), "a", NULL);
    struct azure_answer answer = { .status = 409, .body = body, .retry_after_ms = 60000 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(azure_error_of_answer(&answer, &err), -1);
    assert_int_equal(err.retry_after_ms, 60000);
}

/* A hostile answer is as deep as a parser lets it be. */
static void depth_has_an_end(void **state)
{
    owned(text) struct text *chars = text_new(64 * 1024);
    struct error err = { 0 };

    (void)state;
    for (int i = 0; i < 500; i++)
        text_add(chars, "{\"code\":\"x\",\"details\":[");
    text_add(chars, "{\"code\":\"QuotaExceeded\"}");
    for (int i = 0; i < 500; i++)
        text_add(chars, "]}");

    owned(json) json_t *body = json_parse_foreign(chars->chars, chars->length, "a", &err);
    struct azure_answer answer = { .status = 400, .body = body, .text = "" };

    assert_non_null(body);
    assert_int_equal(azure_error_of_answer(&answer, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
}

/* AKS does not repeat an operation that failed, so time alone helps in no case. */
static void the_reason_of_a_shortfall(void **state)
{
    static const struct {
        const char *details;
        enum error_kind want;
        const char *text;
    } rows[] = {
        { DETAIL("QuotaExceeded", "x"), ERROR_DENIED, "QuotaExceeded: x" },
        { DETAIL("SkuNotAvailable", "x"), ERROR_NO_CAPACITY, "SkuNotAvailable: x" },
        { DETAIL("OperationPreempted", "x"), ERROR_NO_CAPACITY, "OperationPreempted: x" },
        { DETAIL("InternalServerError", "x"), ERROR_NO_CAPACITY, "InternalServerError: x" },
        { DETAIL("Strange", "x"), ERROR_NO_CAPACITY, "Strange: x" },
        { "null", ERROR_NO_CAPACITY, "error: (no text)" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(json) json_t *details = json_loads(rows[i].details, JSON_DECODE_ANY, NULL);
        struct error trouble;

        azure_error_of_operation(details, &trouble);
        assert_int_equal(trouble.kind, rows[i].want);
        assert_string_equal(trouble.text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_has_its_kind),
        cmocka_unit_test(success_is_no_error),
        cmocka_unit_test(sentences),
        cmocka_unit_test(the_server_may_ask_for_more_patience),
        cmocka_unit_test(depth_has_an_end),
        cmocka_unit_test(the_reason_of_a_shortfall),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
