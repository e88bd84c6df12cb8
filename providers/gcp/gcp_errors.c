/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table, first match wins: special words before codes, codes before HTTP statuses.
 */
#include "providers/gcp/gcp_errors.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <string.h>

const struct error_cause gcp_exists = { "it exists" };

/* One error in the cloud's words; "" for a missing part. */
struct signal {
    int status;
    const char *code;
    const char *reason;
    const char *message;
};

/* A row holds when each of its parts is contained in the error. */
struct row {
    const char *code; /* in the code or the reason */
    const char *message;
    const char *message_too;
    enum error_kind kind;
    int64_t retry_after_ms;
    const struct error_cause *cause;
};

enum { RESERVATION_RETRY_MS = 20000, READY_RETRY_MS = 60000, RATE_RETRY_MS = 1000 };

static const struct row rows[] = {
    /* Our reservation is full.  After a removal it stays so for a while. */
    { NULL, "eservation", "does not have available resources", ERROR_NO_CAPACITY,
      RESERVATION_RETRY_MS, NULL },
    { NULL, "No available resources in specified reservations", NULL, ERROR_NO_CAPACITY,
      RESERVATION_RETRY_MS, NULL },
    { NULL, "eservations", "fully consumed", ERROR_NO_CAPACITY, RESERVATION_RETRY_MS, NULL },
    { NULL, "it requires reservation to be in READY state", NULL, ERROR_TRANSIENT, READY_RETRY_MS,
      NULL },

    /* The pool names a reservation that it cannot use. */
    { NULL, "pecified reservation", "not exist", ERROR_INVALID, 0, NULL },
    { NULL, "Could not find the given reservation", NULL, ERROR_INVALID, 0, NULL },
    { NULL, "is incorrect for the requested resources", NULL, ERROR_INVALID, 0, NULL },
    { NULL, "must use ReservationAffinity of", NULL, ERROR_INVALID, 0, NULL },
    { NULL, "The reservation must exist in the same project", NULL, ERROR_INVALID, 0, NULL },
    { NULL, "There is no automatic reservation matching", NULL, ERROR_INVALID, 0, NULL },

    /* The zone has no machine. */
    { "RESOURCE_POOL_EXHAUSTED", NULL, NULL, ERROR_NO_CAPACITY, 0, NULL },
    { "INSUFFICIENT_CAPACITY", NULL, NULL, ERROR_NO_CAPACITY, 0, NULL },
    { "resource_availability", NULL, NULL, ERROR_NO_CAPACITY, 0, NULL },
    { NULL, "does not currently have sufficient capacity", NULL, ERROR_NO_CAPACITY, 0, NULL },

    /* Rates come before quotas: the name of the one may contain that of the other. */
    { "rateLimitExceeded", NULL, NULL, ERROR_THROTTLED, RATE_RETRY_MS, NULL },
    { "userRateLimitExceeded", NULL, NULL, ERROR_THROTTLED, RATE_RETRY_MS, NULL },
    { "RATE_LIMIT_EXCEEDED", NULL, NULL, ERROR_THROTTLED, RATE_RETRY_MS, NULL },
    { "QUOTA", NULL, NULL, ERROR_DENIED, 0, NULL },
    { "quotaExceeded", NULL, NULL, ERROR_DENIED, 0, NULL },
    { "IP_SPACE_EXHAUSTED", NULL, NULL, ERROR_DENIED, 0, NULL },
    { "PERMISSIONS_ERROR", NULL, NULL, ERROR_DENIED, 0, NULL },
    { "CONDITION_NOT_MET", NULL, NULL, ERROR_DENIED, 0, NULL },

    { "alreadyExists", NULL, NULL, ERROR_CONFLICT, 0, &gcp_exists },
    { "ALREADY_EXISTS", NULL, NULL, ERROR_CONFLICT, 0, &gcp_exists },
    { "resourceNotReady", NULL, NULL, ERROR_CONFLICT, 0, NULL },
    { "RESOURCE_NOT_READY", NULL, NULL, ERROR_CONFLICT, 0, NULL },
    { "resourceInUse", NULL, NULL, ERROR_CONFLICT, 0, NULL },
    { "RESOURCE_IN_USE", NULL, NULL, ERROR_CONFLICT, 0, NULL },
    { "conditionNotMet", NULL, NULL, ERROR_CONFLICT, 0, NULL },
    { NULL, "incompatible operation", NULL, ERROR_CONFLICT, 0, NULL },
    { "RESOURCE_NOT_FOUND", NULL, NULL, ERROR_NOT_FOUND, 0, NULL },
    { "INVALID", NULL, NULL, ERROR_INVALID, 0, NULL },
};

static bool holds(const struct row *row, const struct signal *signal)
{
    return (!row->code || strstr(signal->code, row->code) || strstr(signal->reason, row->code)) &&
           (!row->message || strstr(signal->message, row->message)) &&
           (!row->message_too || strstr(signal->message, row->message_too));
}

static enum error_kind kind_of_status(int status)
{
    switch (status) {
    case 401:
    case 403:
        return ERROR_DENIED;
    case 404:
        return ERROR_NOT_FOUND;
    case 409:
    case 412:
        return ERROR_CONFLICT;
    case 429:
        return ERROR_THROTTLED;
    default:
        break;
    }
    return status >= 300 && status < 500 && status != 408 ? ERROR_INVALID : ERROR_TRANSIENT;
}

static void judge(const struct signal *signal, struct error *err)
{
    const char *name = signal->code[0] != '\0' ? signal->code : signal->reason;
    const struct row *found = NULL;
    for (size_t i = 0; i < COUNT_OF(rows) && !found; i++)
        found = holds(&rows[i], signal) ? &rows[i] : NULL;

    error_set(err, found ? found->kind : kind_of_status(signal->status), "%.60s: %.350s",
              name[0] != '\0' ? name : "error", signal->message);
    err->retry_after_ms = found ? found->retry_after_ms : 0;
    if (found && found->cause)
        error_because(err, found->cause);
}

/* The reason in the ErrorInfo of an error's errorDetails (compute) or details (google.rpc). */
static const char *detail_reason(const json_t *details)
{
    size_t at = 0;
    const json_t *detail = NULL;
    json_array_foreach(details, at, detail) {
        const char *reason = json_text_or(detail, "errorInfo/reason", "");
        if (reason[0] == '\0')
            reason = json_text_or(detail, "reason", "");
        if (reason[0] != '\0')
            return reason;
    }
    return "";
}

/* The first of errors[] {code, message, errorDetails[]}, as Operations and attempts have them. */
static bool judge_list(const json_t *errors, int status, struct error *err)
{
    const json_t *first = json_array_get(errors, 0);
    if (!first)
        return false;
    struct signal signal = {
        .status = status,
        .code = json_text_or(first, "code", ""),
        .reason = detail_reason(json_at(first, "errorDetails")),
        .message = json_text_or(first, "message", "(no text)"),
    };
    judge(&signal, err);
    return true;
}

/* A 5xx does not show whether a change was made, whatever its text is. */
static int judge_failure(const struct gcp_answer *answer, struct error *err)
{
    const char *text = answer->text && answer->text[0] != '\0' ? answer->text : "(no text)";
    const char *reason = detail_reason(json_at(answer->body, "error/details"));
    const json_t *first = json_array_get(json_at(answer->body, "error/errors"), 0);
    struct signal signal = {
        .status = answer->status,
        .code = json_text_or(first, "reason", json_text_or(answer->body, "error/status", "")),
        .reason = reason,
        .message = json_text_or(answer->body, "error/message", text),
    };
    judge(&signal, err);
    if (answer->is_mutation && (answer->status >= 500 || answer->status == 408) &&
        err->kind == ERROR_TRANSIENT)
        err->kind = ERROR_UNKNOWN_OUTCOME;
    if (answer->retry_after_ms > err->retry_after_ms)
        error_wait(err, answer->retry_after_ms);
    return error_context(err, "%d", answer->status);
}

int gcp_error_of_answer(const struct gcp_answer *answer, struct error *err)
{
    if (answer->status < 200 || answer->status >= 300)
        return judge_failure(answer, err);
    if (!json_is_object(answer->body))
        return error_set(err, answer->is_mutation ? ERROR_UNKNOWN_OUTCOME : ERROR_CORRUPT,
                         "%d: the body is no JSON object", answer->status);

    int64_t status = json_int_or(answer->body, "httpErrorStatusCode", 0);
    if (judge_list(json_at(answer->body, "error/errors"), (int)status, err))
        return error_context(err, "operation %s", json_text_or(answer->body, "name", "?"));
    if (json_at(answer->body, "error")) {
        struct signal signal = {
            .status = (int)status,
            .code = json_text_or(answer->body, "error/status", ""),
            .reason = "",
            .message = json_text_or(answer->body, "error/message", "(no text)"),
        };
        judge(&signal, err);
        return -1;
    }
    return 0;
}

void gcp_error_of_attempt(const json_t *instance, struct error *ret_trouble)
{
    *ret_trouble = (struct error){ 0 };
    judge_list(json_at(instance, "lastAttempt/errors/errors"), 0, ret_trouble);
}

bool gcp_refusal(size_t at, struct provider_refusal *ret)
{
    if (at >= COUNT_OF(rows))
        return false;
    *ret = (struct provider_refusal){ rows[at].code,
                                      { rows[at].message, rows[at].message_too },
                                      rows[at].kind };
    return true;
}
