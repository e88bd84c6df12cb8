/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table, first match wins: codes with words before bare codes, codes before HTTP statuses.
 */
#include "providers/azure/azure_errors.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct row {
    const char *code;    /* the whole code, without regard to case */
    const char *message; /* in the message; NULL: any */
    enum error_kind kind;
    int64_t retry_after_ms;
    bool is_quoted; /* AKS also quotes this code in the message of a code of its own */
};

enum {
    DEPTH_MAX = 32,
    BUSY_RETRY_MS = 10 * SECOND_MS,        /* because operations take minutes */
    RESERVATION_RETRY_MS = 20 * SECOND_MS, /* a slot just left is free a little later */
    SKU_RETRY_MS = 15 * MINUTE_MS,         /* such a restriction lasts for hours */
};

static const struct row rows[] = {
    /* One code, two meanings: the message alone tells them apart. */
    { "OperationNotAllowed", "quota", ERROR_DENIED, 0, false },
    { "OperationNotAllowed", "is in progress", ERROR_CONFLICT, BUSY_RETRY_MS, false },
    { "OperationNotAllowed", "aks-pending-operation", ERROR_CONFLICT, BUSY_RETRY_MS, false },
    { "OperationNotAllowed", "autoscal", ERROR_INVALID, 0, false },

    { "AllocationFailed", "apacity reservation", ERROR_NO_CAPACITY, RESERVATION_RETRY_MS, false },
    { "AllocationFailed", NULL, ERROR_NO_CAPACITY, 0, true },
    { "ZonalAllocationFailed", NULL, ERROR_NO_CAPACITY, 0, true },
    { "ZoneAllocationFailed", NULL, ERROR_NO_CAPACITY, 0, true },
    { "OverconstrainedAllocationRequest", NULL, ERROR_NO_CAPACITY, 0, true },
    { "OverconstrainedZonalAllocationRequest", NULL, ERROR_NO_CAPACITY, 0, true },
    { "SkuNotAvailable", NULL, ERROR_NO_CAPACITY, SKU_RETRY_MS, true },
    { "AKSCapacityError", NULL, ERROR_NO_CAPACITY, 0, true },
    { "AksCapacityHeavyUsage", NULL, ERROR_NO_CAPACITY, 0, true },

    { "QuotaExceeded", NULL, ERROR_DENIED, 0, true },
    { "ErrCode_InsufficientVCPUQuota", NULL, ERROR_DENIED, 0, true },
    { "InsufficientVCPUQuota", NULL, ERROR_DENIED, 0, true },
    { "PublicIPCountLimitReached", NULL, ERROR_DENIED, 0, true },
    { "SubnetIsFull", NULL, ERROR_DENIED, 0, true },
    { "InsufficientSubnetSize", NULL, ERROR_DENIED, 0, true },

    { "AuthorizationFailed", NULL, ERROR_DENIED, 0, false },
    { "LinkedAuthorizationFailed", NULL, ERROR_DENIED, 0, false },
    { "AuthenticationFailed", NULL, ERROR_DENIED, 0, false },
    { "ExpiredAuthenticationToken", NULL, ERROR_DENIED, 0, false },
    { "InvalidAuthenticationToken", NULL, ERROR_DENIED, 0, false },
    { "InvalidAuthenticationTokenTenant", NULL, ERROR_DENIED, 0, false },
    { "RequestDisallowedByPolicy", NULL, ERROR_DENIED, 0, true },
    { "ScopeLocked", NULL, ERROR_DENIED, 0, true },
    { "ReadOnlyDisabledSubscription", NULL, ERROR_DENIED, 0, false },
    { "SubscriptionNotRegistered", NULL, ERROR_DENIED, 0, false },
    { "MissingSubscriptionRegistration", NULL, ERROR_DENIED, 0, false },

    { "AnotherOperationInProgress", NULL, ERROR_CONFLICT, BUSY_RETRY_MS, false },
    { "EtagMismatch", NULL, ERROR_CONFLICT, 0, false },
    { "PreconditionFailed", NULL, ERROR_CONFLICT, 0, false },
    { "OperationPreempted", NULL, ERROR_CONFLICT, BUSY_RETRY_MS, false },
    { "AKSOperationPreempted", NULL, ERROR_CONFLICT, BUSY_RETRY_MS, false },
    { "AKSOperationPreemptedByDelete", NULL, ERROR_CONFLICT, BUSY_RETRY_MS, false },
    { "Conflict", NULL, ERROR_CONFLICT, BUSY_RETRY_MS, false },

    { "CannotScaleClusterAutoscalerEnabledNodePool", NULL, ERROR_INVALID, 0, false },

    { "TooManyRequests", NULL, ERROR_THROTTLED, 0, false },
    { "SubscriptionRequestsThrottled", NULL, ERROR_THROTTLED, 0, false },
    { "ResourceCollectionRequestsThrottled", NULL, ERROR_THROTTLED, 0, false },

    /* A scope that is not there says nothing about a machine: the configuration names it. */
    { "SubscriptionNotFound", NULL, ERROR_INVALID, 0, false },
    { "InvalidSubscriptionId", NULL, ERROR_INVALID, 0, false },
    { "ResourceGroupNotFound", NULL, ERROR_INVALID, 0, false },
    { "ParentResourceNotFound", NULL, ERROR_INVALID, 0, false },
    { "ResourceNotFound", NULL, ERROR_NOT_FOUND, 0, false },
    { "NotFound", NULL, ERROR_NOT_FOUND, 0, false },
    { "AgentPoolNotFound", NULL, ERROR_NOT_FOUND, 0, false },
    { "MachineNotFound", NULL, ERROR_NOT_FOUND, 0, false },

    { "InternalServerError", NULL, ERROR_TRANSIENT, 0, false },
    { "InternalOperationError", NULL, ERROR_TRANSIENT, 0, false },
    { "ServerTimeout", NULL, ERROR_TRANSIENT, 0, false },
    { "RetryableError", NULL, ERROR_TRANSIENT, 0, false },
};

static const struct row *row_of(const char *code, const char *message)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strcasecmp(code, rows[i].code) == 0 &&
            (!rows[i].message || strcasestr(message, rows[i].message)))
            return &rows[i];
    return NULL;
}

static bool is_of_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

static bool holds_word(const char *message, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = message; (at = strstr(at, word)) != NULL; at += length)
        if ((at == message || !is_of_word(at[-1])) && !is_of_word(at[length]))
            return true;
    return false;
}

/* The message of an unknown code may quote the one that caused it: Code="AllocationFailed". */
static const struct row *row_of_quote(const char *message)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].is_quoted && holds_word(message, rows[i].code))
            return &rows[i];
    if (strcasestr(message, "Cores quota"))
        return row_of("QuotaExceeded", message);
    return NULL;
}

/* What one error of the tree says. */
struct signal {
    const struct row *row; /* NULL: it is not known */
    const char *code;
    const char *message;
};

/* The innermost known code, in the order in which the cloud wrote them. */
static bool find(const json_t *error, int depth, struct signal *ret)
{
    const char *code = json_text_or(error, "code", "");
    const char *message = json_text_or(error, "message", "");
    const json_t *detail = NULL;
    size_t at = 0;

    if (!json_is_object(error) || depth > DEPTH_MAX)
        return false;
    json_array_foreach(json_at(error, "details"), at, detail) {
        if (find(detail, depth + 1, ret))
            return true;
    }
    if (find(json_at(error, "innererror"), depth + 1, ret))
        return true;
    ret->row = row_of(code, message) ?: row_of(json_text_or(error, "subcode", ""), message);
    ret->code = code;
    ret->message = message;
    return ret->row != NULL;
}

/* The outermost error is what people read when no code is known. */
static void read_signal(const json_t *error, struct signal *ret)
{
    if (find(error, 0, ret))
        return;
    ret->code = json_text_or(error, "code", "");
    ret->message = json_text_or(error, "message", "");
    ret->row = row_of_quote(ret->message);
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

static void write_error(const struct signal *signal, enum error_kind otherwise, struct error *err)
{
    error_set(err, signal->row ? signal->row->kind : otherwise, "%.80s: %.330s",
              signal->code[0] != '\0' ? signal->code : "error",
              signal->message[0] != '\0' ? signal->message : "(no text)");
    err->retry_after_ms = signal->row ? signal->row->retry_after_ms : 0;
}

int azure_error_of_answer(const struct azure_answer *answer, struct error *err)
{
    const json_t *error = json_at(answer->body, "error") ?: answer->body;
    struct signal signal = { 0 };

    if (answer->status >= 200 && answer->status < 300)
        return 0;
    read_signal(error, &signal);
    if (signal.message[0] == '\0' && answer->text)
        signal.message = answer->text;
    write_error(&signal, kind_of_status(answer->status), err);
    /* Throttling has many codes; its status has one meaning. */
    if (answer->status == 429 && (!signal.row || signal.row->kind == ERROR_CONFLICT))
        err->kind = ERROR_THROTTLED;
    /* A failed server does not say whether a change was made. */
    if (answer->is_mutation && (answer->status >= 500 || answer->status == 408) &&
        err->kind == ERROR_TRANSIENT)
        err->kind = ERROR_UNKNOWN_OUTCOME;
    if (answer->retry_after_ms > err->retry_after_ms)
        error_wait(err, answer->retry_after_ms);
    return error_context(err, "%d", answer->status);
}

void azure_error_of_operation(const json_t *details, struct error *ret_trouble)
{
    struct signal signal = { 0 };

    *ret_trouble = (struct error){ 0 };
    read_signal(details, &signal);
    write_error(&signal, ERROR_NO_CAPACITY, ret_trouble);
    if (ret_trouble->kind != ERROR_DENIED && ret_trouble->kind != ERROR_INVALID)
        ret_trouble->kind = ERROR_NO_CAPACITY;
}

bool azure_refusal(size_t at, struct provider_refusal *ret)
{
    if (at >= COUNT_OF(rows))
        return false;
    *ret = (struct provider_refusal){ rows[at].code, { rows[at].message, NULL }, rows[at].kind };
    return true;
}
