/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Status code, reason, causes and message -> kind of error and its cause.
 */
#include "clusters/kube/kube_error.h"

#include "base/input/json.h"
#include "base/text.h"
#include "base/timestamp.h"

#include <string.h>

const struct error_cause kube_cause_budget = { "a disruption budget" };
const struct error_cause kube_cause_webhook = { "an admission webhook" };
const struct error_cause kube_cause_policy = { "an admission policy" };
const struct error_cause kube_cause_two_budgets = { "two disruption budgets" };
const struct error_cause kube_cause_webhook_down = { "an admission webhook that does not answer" };
const struct error_cause kube_cause_forbidden = { "a permission that is lacking" };
const struct error_cause kube_cause_unserved = { "a resource that the server does not have" };
const struct error_cause kube_cause_no_group = { "an API group that the server does not have" };

/* Words by which messages of API servers are recognised. */
static const char TWO_BUDGETS[] = "more than one PodDisruptionBudget";
static const char WEBHOOK_FAILED[] = "failed calling webhook";
static const char NO_SUCH_RESOURCE[] = "could not find the requested resource";
static const char NO_SUCH_PATH[] = "404 page not found";

enum { SLOW_RETRY_MS = 10000, BROKEN_BUDGET_RETRY_MS = 30000 };

bool kube_error_holds_eviction(const struct error *err)
{
    return err->cause == &kube_cause_budget || err->cause == &kube_cause_webhook ||
           err->cause == &kube_cause_policy;
}

static bool is_status(const struct kube_answer *answer)
{
    return text_equal(json_text_or(answer->body, "kind", ""), "Status");
}

/* The status code that counts: the body's, if it is a Status with one, or that of HTTP. */
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
    json_array_foreach(json_at(answer->body, "details/causes"), at, cause) {
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

static void wait_at_least(const struct kube_answer *answer, int64_t least_ms, struct error *err)
{
    int64_t asked_ms = retry_after_ms(answer);

    error_wait(err, asked_ms > least_ms ? asked_ms : least_ms);
}

/* A rule holds the eviction for now. */
static int held(const struct kube_answer *answer, const struct error_cause *by, const char *message,
                int64_t least_ms, struct error *err)
{
    error_set(err, ERROR_THROTTLED, "held by %s: %.300s", by->name, message);
    wait_at_least(answer, least_ms, err);
    return error_because(err, by);
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

/* The admission rule against this eviction, whatever code it gives; NULL: none. */
static const struct error_cause *rule_against(const struct kube_answer *answer)
{
    if (!answer->is_eviction || !says(answer, "denied"))
        return NULL;
    return says(answer, "admission webhook")           ? &kube_cause_webhook
           : says(answer, "ValidatingAdmissionPolicy") ? &kube_cause_policy
                                                       : NULL;
}

static int too_many(const struct kube_answer *answer, struct error *err)
{
    if (find_cause(answer, "DisruptionBudget")) {
        const json_t *cause = find_cause(answer, "DisruptionBudget");
        return held(answer, &kube_cause_budget, json_text_or(cause, "message", message_of(answer)),
                    0, err);
    }
    error_set(err, ERROR_THROTTLED, "the server is busy: %.300s", message_of(answer));
    wait_at_least(answer, SECOND_MS, err);
    return -1;
}

static int forbidden(const struct kube_answer *answer, struct error *err)
{
    if (find_cause(answer, "NamespaceTerminating"))
        return fail(ERROR_TRANSIENT, answer, err);
    if (answer->is_eviction &&
        text_equal(json_text_or(answer->body, "details/kind", ""), "poddisruptionbudget"))
        return held(answer, &kube_cause_budget, message_of(answer), BROKEN_BUDGET_RETRY_MS, err);
    fail(ERROR_DENIED, answer, err);
    return error_because(err, &kube_cause_forbidden);
}

/* 5xx.  Failures that surely came before the change have their own kind; in all others the change
   may have happened. */
static int server_failed(const struct kube_answer *answer, struct error *err)
{
    bool is_unreached = says(answer, WEBHOOK_FAILED);

    if (answer->is_eviction && says(answer, TWO_BUDGETS)) {
        fail(ERROR_DENIED, answer, err);
        return error_because(err, &kube_cause_two_budgets);
    }
    if (answer->is_eviction && says(answer, "PodDisruptionBudget") && says(answer, "conflicts"))
        return held(answer, &kube_cause_budget, message_of(answer), SLOW_RETRY_MS, err);
    /* The server is behind the version that was asked for: restored from a backup, or another. */
    if (find_cause(answer, "ResourceVersionTooLarge") || says(answer, "Too large resource version"))
        return fail(ERROR_CONFLICT, answer, err);
    fail(is_unreached || !answer->is_mutation ? ERROR_TRANSIENT : ERROR_UNKNOWN_OUTCOME, answer,
         err);
    return error_because(err, is_unreached ? &kube_cause_webhook_down : NULL);
}

static int not_found(const struct kube_answer *answer, struct error *err)
{
    bool is_resource = says(answer, NO_SUCH_RESOURCE);
    bool is_unserved = is_resource || text_starts_with(message_of(answer), NO_SUCH_PATH);

    /* A path that the server does not serve, or no API server at all, proves nothing. */
    if (is_status(answer) && !is_resource)
        return fail(ERROR_NOT_FOUND, answer, err);
    fail(ERROR_INVALID, answer, err);
    return error_because(err, is_unserved ? &kube_cause_unserved : NULL);
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
    case 422: /* a patch with the UID of an object that was made again */
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
        return held(answer, rule_against(answer), message_of(answer), 0, err);
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
