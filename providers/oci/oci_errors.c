/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table, first match wins; then the HTTP status counts.
 */
#include "providers/oci/oci_errors.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <string.h>

enum { RATE_RETRY_MS = 1000 };

/* A row holds when the code is the same and the message contains the text. */
static const struct row {
    const char *code;    /* NULL: any */
    const char *message; /* NULL: any */
    enum error_kind kind;
    int64_t retry_after_ms;
} rows[] = {
    /* A stock-out has the code of any failure: only its words tell. */
    { NULL, "ut of host capacity", ERROR_NO_CAPACITY, 0 },
    { NULL, "ut of capacity", ERROR_NO_CAPACITY, 0 },
    { "OutOfHostCapacity", NULL, ERROR_NO_CAPACITY, 0 },
    { "OutOfCapacity", NULL, ERROR_NO_CAPACITY, 0 },

    { "LimitExceeded", NULL, ERROR_DENIED, 0 },
    { "QuotaExceeded", NULL, ERROR_DENIED, 0 },

    { "NotAuthenticated", NULL, ERROR_DENIED, 0 },
    { "NotAuthorized", NULL, ERROR_DENIED, 0 },
    { "SignUpRequired", NULL, ERROR_DENIED, 0 },
    { "RelatedResourceNotAuthorizedOrNotFound", NULL, ERROR_DENIED, 0 },
    /* One code for both, so it never says that a machine is gone. */
    { "NotAuthorizedOrNotFound", NULL, ERROR_DENIED, 0 },

    { "IncorrectState", NULL, ERROR_CONFLICT, 0 },
    { "Conflict", NULL, ERROR_CONFLICT, 0 },
    { "NotAuthorizedOrResourceAlreadyExists", NULL, ERROR_CONFLICT, 0 },
    { "InvalidatedRetryToken", NULL, ERROR_CONFLICT, 0 },
    { "NoEtagMatch", NULL, ERROR_CONFLICT, 0 },

    { "TooManyRequests", NULL, ERROR_THROTTLED, RATE_RETRY_MS },
    { "InvalidParameter", NULL, ERROR_INVALID, 0 },
    { "MissingParameter", NULL, ERROR_INVALID, 0 },
    { "CannotParseRequest", NULL, ERROR_INVALID, 0 },
};

static enum error_kind kind_of_status(int status)
{
    switch (status) {
    case 401:
    case 402:
    case 403:
    case 404:
        return ERROR_DENIED;
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

static void judge(int status, const char *code, const char *message, struct error *err)
{
    const struct row *found = NULL;

    for (size_t i = 0; i < COUNT_OF(rows) && !found; i++)
        if ((!rows[i].code || text_equal(rows[i].code, code)) &&
            (!rows[i].message || strstr(message, rows[i].message)))
            found = &rows[i];
    error_set(err, found ? found->kind : kind_of_status(status), "%.60s: %.350s",
              code[0] != '\0' ? code : "error", message);
    err->retry_after_ms = found ? found->retry_after_ms : 0;
}

int oci_error_of_answer(const struct oci_said *said, struct error *err)
{
    if (said->status >= 200 && said->status < 300)
        return 0;
    judge(said->status, json_text_or(said->body, "code", ""),
          json_text_or(said->body, "message", "(no text)"), err);
    if (said->is_mutation && (said->status >= 500 || said->status == 408))
        err->kind = ERROR_UNKNOWN_OUTCOME;
    if (said->retry_after_ms > err->retry_after_ms)
        error_wait(err, said->retry_after_ms);
    return error_context(err, "%d", said->status);
}

void oci_error_of_node(const json_t *node, struct error *ret_trouble)
{
    const json_t *said = json_at(node, "nodeError");

    *ret_trouble = (struct error){ 0 };
    if (json_is_object(said))
        judge(0, json_text_or(said, "code", ""), json_text_or(said, "message", "(no text)"),
              ret_trouble);
}

bool oci_refusal(size_t at, struct provider_refusal *ret)
{
    if (at >= COUNT_OF(rows))
        return false;
    *ret = (struct provider_refusal){ rows[at].code, { rows[at].message, NULL }, rows[at].kind };
    return true;
}
