/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Status code, reason, causes and message -> kind of error.  Holds by budgets, webhooks and
 * policies are told apart from an overloaded server by their text: see cluster_is_budget().
 */
#include "clusters/kube_error.h"

#include "base/json.h"
#include "base/text.h"
#include "clusters/cluster.h"

#include <string.h>

static const char HELD_BY_BUDGET[] = "held by a disruption budget: ";
static const char HELD_BY_WEBHOOK[] = "held by an admission webhook: ";
static const char HELD_BY_POLICY[] = "held by an admission policy: ";
static const char TWO_BUDGETS[] = "more than one PodDisruptionBudget";
static const char WEBHOOK_FAILED[] = "failed calling webhook";
/* What an API server says, in two ways, of what it does not serve. */
static const char NO_SUCH_RESOURCE[] = "could not find the requested resource";
static const char NO_SUCH_PATH[] = "404: 404 page not found";

enum { SLOW_RETRY_MS = 10000, BROKEN_BUDGET_RETRY_MS = 30000 };

bool cluster_is_budget(const struct error *err)
{
    return err->kind == ERROR_THROTTLED &&
           (strstr(err->text, HELD_BY_BUDGET) || strstr(err->text, HELD_BY_WEBHOOK) ||
            strstr(err->text, HELD_BY_POLICY));
}

/* As fail() writes a code, at the beginning or behind whoever asked. */
static bool has_code(const struct error *err, const char *code)
{
    owned(chars) char *behind = text_format(": %s", code);

    return text_starts_with(err->text, code) || strstr(err->text, behind);
}

bool cluster_serves_none(const struct error *err)
{
    return err->kind == ERROR_INVALID && has_code(err, "404") &&
           (strstr(err->text, NO_SUCH_RESOURCE) || strstr(err->text, NO_SUCH_PATH));
}

static enum trial trial_refused(const struct error *err)
{
    if (err->kind == ERROR_DENIED)
        return strstr(err->text, TWO_BUDGETS) ? TRIAL_TWO_BUDGETS
               : has_code(err, "403")         ? TRIAL_NOT_PERMITTED
                                              : TRIAL_UNKNOWN; /* who we are is not known there */
    if (err->kind == ERROR_NOT_FOUND || err->kind == ERROR_CONFLICT)
        return TRIAL_GONE;
    if (strstr(err->text, HELD_BY_BUDGET))
        return TRIAL_BUDGET;
    if (strstr(err->text, HELD_BY_WEBHOOK) || strstr(err->text, HELD_BY_POLICY))
        return TRIAL_DENIED;
    return strstr(err->text, WEBHOOK_FAILED) ? TRIAL_UNREACHED : TRIAL_UNKNOWN;
}

enum trial cluster_trial_of(const struct error *err)
{
    return err ? trial_refused(err) : TRIAL_LEAVES;
}

static bool is_status(const struct kube_answer *answer)
{
    return text_equal(json_text_or(answer->body, "kind", ""), "Status");
}

/* The code that counts: the body's, when it is a Status with one, or that of HTTP. */
static int code_of(const struct kube_answer *answer)
{
    int64_t code = is_status(answer) ? json_int_or(answer->body, "code", 0) : 0;
    return code >= 100 && code <= 599 ? (int)code : answer->status;
}

static const char *message_of(const struct kube_answer *answer)
{
    const char *message = json_text_or(answer->body, "message", "");
    if (message[0] != '\0')
        return message;
    return answer->text && answer->text[0] != '\0' ? answer->text : "(no text)";
}

static const json_t *find_cause(const struct kube_answer *answer, const char *reason)
{
    size_t at = 0;
    const json_t *cause = NULL;
    json_array_foreach(json_at(answer->body, "details/causes"), at, cause)
    {
        if (text_equal(json_text_or(cause, "reason", ""), reason))
            return cause;
    }
    return NULL;
}

static int64_t retry_after_ms(const struct kube_answer *answer)
{
    int64_t seconds = json_int_or(answer->body, "details/retryAfterSeconds", 0);
    if (seconds > 0 && seconds <= INT32_MAX)
        return seconds * SECOND_MS;
    return answer->retry_after_ms;
}

static int throttled(const struct kube_answer *answer, const char *held_by, const char *message,
                     int64_t at_least_ms, struct error *err)
{
    int64_t asked_ms = retry_after_ms(answer);

    error_set(err, ERROR_THROTTLED, "%s%.300s", held_by, message);
    error_wait(err, asked_ms > at_least_ms ? asked_ms : at_least_ms);
    return -1;
}

static int fail(enum error_kind kind, const struct kube_answer *answer, struct error *err)
{
    const char *reason = json_text_or(answer->body, "reason", "");
    error_set(err, kind, "%d%s%s: %.300s", code_of(answer), reason[0] != '\0' ? " " : "", reason,
              message_of(answer));
    if (kind == ERROR_TRANSIENT || kind == ERROR_UNKNOWN_OUTCOME)
        error_wait(err, retry_after_ms(answer));
    return -1;
}

static bool says(const struct kube_answer *answer, const char *part)
{
    return strstr(message_of(answer), part) != NULL;
}

/* Somebody's rule against this eviction, whatever code it gives; NULL: none. */
static const char *rule_against(const struct kube_answer *answer)
{
    if (!answer->is_eviction || !says(answer, "denied"))
        return NULL;
    return says(answer, "admission webhook")           ? HELD_BY_WEBHOOK
           : says(answer, "ValidatingAdmissionPolicy") ? HELD_BY_POLICY
                                                       : NULL;
}

static int too_many(const struct kube_answer *answer, struct error *err)
{
    if (find_cause(answer, "DisruptionBudget")) {
        const json_t *cause = find_cause(answer, "DisruptionBudget");
        return throttled(answer, HELD_BY_BUDGET, json_text_or(cause, "message", message_of(answer)),
                         0, err);
    }
    return throttled(answer, "the server is busy: ", message_of(answer), SECOND_MS, err);
}

static int forbidden(const struct kube_answer *answer, struct error *err)
{
    if (find_cause(answer, "NamespaceTerminating"))
        return fail(ERROR_TRANSIENT, answer, err);
    if (answer->is_eviction &&
        text_equal(json_text_or(answer->body, "details/kind", ""), "poddisruptionbudget"))
        return throttled(answer, HELD_BY_BUDGET, message_of(answer), BROKEN_BUDGET_RETRY_MS, err);
    return fail(ERROR_DENIED, answer, err);
}

/* 5xx.  What surely happened before the change is told apart; else it may have happened. */
static int server_failed(const struct kube_answer *answer, struct error *err)
{
    if (answer->is_eviction && says(answer, TWO_BUDGETS))
        return fail(ERROR_DENIED, answer, err);
    if (answer->is_eviction && says(answer, "PodDisruptionBudget") && says(answer, "conflicts"))
        return throttled(answer, HELD_BY_BUDGET, message_of(answer), SLOW_RETRY_MS, err);
    /* The server is behind the version that was asked for: restored from a backup, or another. */
    if (find_cause(answer, "ResourceVersionTooLarge") || says(answer, "Too large resource version"))
        return fail(ERROR_CONFLICT, answer, err);
    if (says(answer, WEBHOOK_FAILED) || !answer->is_mutation)
        return fail(ERROR_TRANSIENT, answer, err);
    return fail(ERROR_UNKNOWN_OUTCOME, answer, err);
}

static int not_found(const struct kube_answer *answer, struct error *err)
{
    /* A path that the server does not serve, or no API server at all, proves nothing. */
    if (!is_status(answer) || says(answer, NO_SUCH_RESOURCE))
        return fail(ERROR_INVALID, answer, err);
    return fail(ERROR_NOT_FOUND, answer, err);
}

static int client_failed(int code, const struct kube_answer *answer, struct error *err)
{
    switch (code) {
    case 401:
        return fail(ERROR_DENIED, answer, err);
    case 403:
        return forbidden(answer, err);
    case 404:
        return not_found(answer, err);
    case 408:
        return fail(answer->is_mutation ? ERROR_UNKNOWN_OUTCOME : ERROR_TRANSIENT, answer, err);
    case 409:
    case 410:
    case 412:
        return fail(ERROR_CONFLICT, answer, err);
    case 422: /* a patch that names the UID of an object that was made anew */
        return fail(says(answer, "metadata.uid") ? ERROR_CONFLICT : ERROR_INVALID, answer, err);
    case 429:
        return too_many(answer, err);
    default:
        return fail(ERROR_INVALID, answer, err);
    }
}

static int no_object(const struct kube_answer *answer, struct error *err)
{
    return error_set(err, answer->is_mutation ? ERROR_UNKNOWN_OUTCOME : ERROR_CORRUPT,
                     "%d: the body is no JSON object: %.100s", answer->status, message_of(answer));
}

int kube_error_of_answer(const struct kube_answer *answer, struct error *err)
{
    int code = code_of(answer);
    bool is_failure = is_status(answer) &&
                      text_equal(json_text_or(answer->body, "status", ""), "Failure");

    if (answer->status >= 200 && answer->status < 300 && !is_failure)
        return json_is_object(answer->body) ? 0 : no_object(answer, err);
    if (rule_against(answer) && !find_cause(answer, "DisruptionBudget"))
        return throttled(answer, rule_against(answer), message_of(answer), 0, err);
    if (code >= 500 || code < 300) /* a failure that gives no failing code is the server's */
        return server_failed(answer, err);
    return client_failed(code, answer, err);
}

bool kube_error_is_gone(const struct kube_answer *answer)
{
    int code = code_of(answer);
    if (code == 404)
        return is_status(answer) && !says(answer, NO_SUCH_RESOURCE);
    /* In the words of older servers, and in those of 1.36. */
    return code == 409 &&
           (says(answer, "UID in precondition") || says(answer, "UID in the precondition"));
}
