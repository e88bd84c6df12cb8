/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The forms on the wire: a form answered in XML (Auto Scaling, EC2, STS, IAM), and JSON (EKS).
 */
#include "providers/aws/aws_call.h"

#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "providers/aws/aws_errors.h"

#include <string.h>

enum { CALL_TIMEOUT_MS = 30 * SECOND_MS, ANSWER_LIMIT = 16 * 1024 * 1024, CODE_SIZE = 80 };

static const struct {
    const char *name;
    const char *version; /* NULL: speaks JSON */
} services[AWS_SERVICES] = {
    [AWS_AUTOSCALING] = { "autoscaling", "2011-01-01" },
    [AWS_EC2] = { "ec2", "2016-11-15" },
    [AWS_EKS] = { "eks", NULL },
    [AWS_STS] = { "sts", "2011-06-15" },
    [AWS_IAM] = { "iam", "2010-05-08" },
};

/* IAM has one host in each partition, and its requests are signed for one region there. */
static const struct partition {
    const char *regions; /* how their names begin */
    const char *domain;
    const char *iam_host;
    const char *iam_region;
} partitions[] = {
    { "cn-", "amazonaws.com.cn", "iam.cn-north-1.amazonaws.com.cn", "cn-north-1" },
    { "us-gov-", "amazonaws.com", "iam.us-gov.amazonaws.com", "us-gov-west-1" },
    { "", "amazonaws.com", "iam.amazonaws.com", "us-east-1" },
};

static const struct partition *partition_of(const char *region)
{
    size_t at = 0;

    while (!text_starts_with(region, partitions[at].regions))
        at++;
    return &partitions[at];
}

struct aws_call {
    struct aws_waiter waiter; /* first */
    struct aws_caller caller;
    const struct provider_action *action;
    enum aws_service service;
    char *url;
    char *form; /* NULL: a GET without a body */
    char *used_id;
    bool has_new_keys;
    bool is_corrected;
    struct http_exchange *exchange;
    struct timer *late; /* brings a failure from before anything was sent */
    struct error failure;
    aws_call_fn done;
    void *context;
};

void aws_call_cancel(struct aws_call *call)
{
    if (!call)
        return;
    aws_login_forget(call->caller.login, &call->waiter);
    http_cancel(call->caller.world->http, call->exchange);
    timer_free(call->late);
    mem_free(call->used_id);
    mem_free(call->url);
    mem_free(call->form);
    mem_free(call);
}

/* Frees first: the caller may close the provider. */
static void finish(struct aws_call *call, const struct aws_reply *reply, struct error *err)
{
    aws_call_fn done = call->done;
    void *context = call->context;

    if (err)
        error_context(err, "%s", call->action->name);
    aws_call_cancel(call);
    done(context, err ? NULL : reply, err);
}

static void finish_unreadable(struct aws_call *call, const struct error *why)
{
    struct error err = *why;

    err.kind = call->action->is_mutation ? ERROR_UNKNOWN_OUTCOME : ERROR_CORRUPT;
    finish(call, NULL, &err);
}

/* "a.b#Code:http://..." is Code. */
static void cut_code(const char *type, char out[CODE_SIZE])
{
    const char *hash = strchr(type, '#');

    text_copy(out, CODE_SIZE, hash ? hash + 1 : type);
    out[strcspn(out, ";:")] = '\0';
}

/* The code and the text of an answer that is no success; what cannot be read has neither. */
static void refuse(struct aws_call *call, const struct http_answer *answer,
                   const struct xml_element *xml, const json_t *json)
{
    const char *type = http_header_find(answer->headers, answer->header_count, "x-amzn-ErrorType");
    const struct xml_element *first = xml_first(xml, "Error") ?: xml_first(xml, "Errors/Error");
    char code[CODE_SIZE];
    struct error err = { 0 };

    cut_code(type ?: json_text_or(json, "__type", xml_text_or(first, "Code", "")), code);
    if (aws_error_is_of_keys(code) && !call->has_new_keys &&
        aws_login_reject(call->caller.login, call->used_id)) {
        call->has_new_keys = true;
        aws_login_ask(call->caller.login, &call->waiter);
        return;
    }

    const struct aws_refusal refusal = {
        .status = answer->status,
        .code = code,
        .message = json_text_or(json, "message",
                                json_text_or(json, "Message", xml_text_or(first, "Message", ""))),
        .retry_after_ms = answer->retry_after_ms,
        .is_mutation = call->action->is_mutation,
    };

    aws_error_of(&refusal, &err);
    finish(call, NULL, &err);
}

static void read_answer(struct aws_call *call, const struct http_answer *answer)
{
    bool is_json = !services[call->service].version;
    struct error why = { 0 };
    owned(json)
        json_t *json = is_json ? json_parse_foreign(answer->body, answer->body_size, "answer", &why)
                               : NULL;
    owned(xml_document) struct xml_document *document =
        is_json ? NULL : xml_parse(answer->body, answer->body_size, "answer", &why);
    const struct aws_reply reply = { document ? xml_root(document) : NULL, json };

    if (answer->status != 200)
        refuse(call, answer, reply.xml, json);
    else if (is_json ? !json_is_object(json) : !document)
        finish_unreadable(call, &why);
    else
        finish(call, &reply, NULL);
}

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct aws_call *call = context;
    struct aws_login *login = call->caller.login;
    struct wall_time now = loop_wall(call->caller.world->loop);

    call->exchange = NULL;
    if (err) {
        struct error why = *err;

        if (call->action->is_mutation && why.kind == ERROR_CORRUPT)
            why.kind = ERROR_UNKNOWN_OUTCOME;
        else if (!call->action->is_mutation && why.kind == ERROR_UNKNOWN_OUTCOME)
            why.kind = ERROR_TRANSIENT;
        finish(call, NULL, &why);
    } else if (!call->is_corrected && aws_clock_correct(aws_login_clock(login), now, answer)) {
        call->is_corrected = true;
        aws_login_ask(login, &call->waiter);
    } else {
        read_answer(call, answer);
    }
}

static void on_late(void *context)
{
    struct aws_call *call = context;
    struct error failure = call->failure;

    finish(call, NULL, &failure);
}

/* In a turn of its own: the login calls its waiters, and must outlive that; `done` may free it. */
static void fail_later(struct aws_call *call, const struct error *err)
{
    call->failure = *err;
    call->late = timer_new(call->caller.world->loop, on_late, call);
    timer_set(call->late, 0);
}

static void send(struct aws_call *call, const struct http_header *headers, size_t count)
{
    const struct http_request request = {
        .method = call->form ? HTTP_POST : HTTP_GET,
        .priority = call->action->is_mutation ? HTTP_RECLAIM : HTTP_POLL,
        .url = call->url,
        .headers = headers,
        .header_count = count,
        .body = call->form,
        .body_size = call->form ? strlen(call->form) : 0,
        .is_mutation = call->action->is_mutation,
        .timeout_ms = CALL_TIMEOUT_MS,
        .answer_limit = ANSWER_LIMIT,
    };

    call->exchange = http_send(call->caller.world->http, &request, on_answer, call);
}

static void on_keys(struct aws_waiter *waiter, const struct aws_keys *keys, const struct error *err)
{
    struct aws_call *call = (struct aws_call *)waiter;
    const struct aws_clock *clock = aws_login_clock(call->caller.login);
    const struct aws_scope scope = {
        .region = call->service == AWS_IAM ? partition_of(call->caller.region)->iam_region
                                           : call->caller.region,
        .service = services[call->service].name,
        .at = aws_clock_now(clock, loop_wall(call->caller.world->loop)),
    };
    struct http_header headers[6] = { { "User-Agent", "sluice/" SLUICE_VERSION } };
    size_t count = 1;
    char time[AWS_TIME_SIZE];
    struct error why = { 0 };

    if (err) {
        fail_later(call, err);
        return;
    }
    mem_free(call->used_id);
    call->used_id = mem_copy_chars(keys->id);
    aws_time(scope.at, time);
    headers[count++] = (struct http_header){ "X-Amz-Date", time };
    if (keys->token)
        headers[count++] = (struct http_header){ "X-Amz-Security-Token", keys->token };
    if (call->form)
        headers[count++] = (struct http_header){
            "Content-Type", "application/x-www-form-urlencoded; charset=utf-8"
        };
    else
        headers[count++] = (struct http_header){ "Accept", "application/json" };

    /* The name of the client is not signed: a proxy may change it. */
    const struct aws_request request = {
        .method = call->form ? "POST" : "GET",
        .headers = headers + 1,
        .header_count = count - 1,
        .body = call->form,
        .body_size = call->form ? strlen(call->form) : 0,
    };
    owned(chars) char *authorization = aws_sign_url(keys, &scope, call->url, &request, &why);

    if (!authorization) {
        fail_later(call, &why);
        return;
    }
    headers[count++] = (struct http_header){ "Authorization", authorization };
    send(call, headers, count);
}

static enum aws_service service_of(const struct provider_action *action)
{
    if (action->permission[0] == '\0')
        return AWS_STS;
    for (size_t i = 0; i < AWS_SERVICES; i++) {
        size_t length = strlen(services[i].name);

        if (text_starts_with(action->permission, services[i].name) &&
            action->permission[length] == ':')
            return (enum aws_service)i;
    }
    require(false); /* an action of no service */
    return AWS_SERVICES;
}

static char *make_url(const struct aws_call *call, const char *path)
{
    const char *region = call->caller.region;
    const char *given = call->caller.endpoints[call->service];
    const struct partition *partition = partition_of(region);
    size_t length = given ? strlen(given) : 0;

    while (length > 0 && given[length - 1] == '/')
        length--;
    if (given)
        return text_format("%.*s%s", (int)length, given, path ?: "/");
    if (call->service == AWS_IAM)
        return text_format("https://%s/", partition->iam_host);
    return text_format("https://%s.%s.%s%s", services[call->service].name, region,
                       partition->domain, path ?: "/");
}

struct aws_call *aws_call_send(const struct aws_caller *caller, const struct aws_message *message,
                               aws_call_fn done, void *context)
{
    struct aws_call *call = mem_new(sizeof *call);

    call->waiter.ready = on_keys;
    call->caller = *caller;
    call->action = &aws_actions[message->action];
    call->service = service_of(call->action);
    call->url = make_url(call, message->path);
    if (services[call->service].version)
        call->form = text_format("Action=%s&Version=%s%s", call->action->name,
                                 services[call->service].version, message->form ?: "");
    call->done = done;
    call->context = context;
    aws_login_ask(caller->login, &call->waiter);
    return call;
}
