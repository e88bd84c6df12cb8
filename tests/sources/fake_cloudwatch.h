/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A CloudWatch on loopback that knows GetMetricData in the JSON protocol (and, for older clients of
 * the vendor, in the one before), for AWS/SQS queues whose arrivals follow a rule.  It is strict:
 * the signature is computed again, unknown members, wrong types and sizes over the limits are
 * refused; and it pages, throttles and forgets as told.
 */
#pragma once

#include "base/crypto.h"
#include "base/file.h"
#include "base/input/json.h"
#include "base/world/http_server.h"
#include "providers/aws/aws_signature.h"
#include "tests/sources/fake_query.h"
#include "tests/support/unit.h"

#include <string.h>

#define FAKE_ID "AKIDEXAMPLE"
#define FAKE_SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define FAKE_TOKEN "session/token=="

enum { FAKE_POINTS_MAX = 100800, FAKE_QUERIES_MAX = 500 };

struct fake_cloudwatch {
    struct loop *loop;
    struct http_server *server;
    int port;
    size_t page_points;    /* fewer than are asked for may be given; 0: the limit */
    int throttle_requests; /* the first so many are throttled */
    int forget_page;       /* the token of this page is not known, once */
    int requests;
    size_t page_points_most; /* seen */
    size_t page_queries_most;
    bool is_query;     /* the last request was a form */
    char refusal[512]; /* the last */
};

/* Queue "q7" at a minute since 1970: -1 where there is no point. */
static inline int fake_arrivals(const char *queue, int64_t minute)
{
    long long number = 0;

    if (queue[0] != 'q' || !text_to_int(queue + 1, 0, 1000, &number))
        return -1;
    if (number % 3 == 1 && minute % 1440 >= 100 && minute % 1440 < 130)
        return -1; /* a gap inside reporting hours */
    if (number % 3 == 2 && minute % 1440 < 180)
        return -1; /* asleep for whole hours */
    return (int)((minute * 7 + number * 13) % 97);
}

static inline void fake_refuse(struct fake_cloudwatch *fake, struct http_call *call, int status,
                               const char *code, const char *message)
{
    owned(chars) char *query_error = text_format("%s;%s", code,
                                                 status < 500 ? "Sender" : "Receiver");
    owned(json) json_t *body = json_make("{s:s, s:s}", "__type", code, "message", message);
    owned(chars) char *bytes = json_print(body);
    const struct http_header header = { "x-amzn-query-error", query_error };

    snprintf(fake->refusal, sizeof fake->refusal, "%s: %s", code, message);
    if (fake->is_query) {
        owned(chars) char *xml = text_format("<ErrorResponse><Error><Type>Sender</Type><Code>%s"
                                             "</Code><Message>%s</Message></Error></ErrorResponse>",
                                             code, message);

        http_call_answer(call, &(struct http_reply){ .status = status,
                                                     .content_type = "text/xml",
                                                     .body = xml,
                                                     .body_size = strlen(xml) });
        return;
    }
    http_call_answer(call, &(struct http_reply){ .status = status,
                                                 .content_type = "application/x-amz-json-1.0",
                                                 .headers = &header,
                                                 .header_count = 1,
                                                 .body = bytes,
                                                 .body_size = strlen(bytes) });
}

/* The headers that the client says it signed, with their values. */
static inline size_t fake_signed_headers(struct http_call *call, char *names,
                                         struct http_header *out)
{
    size_t count = 0;

    for (char *name = names; *name && count < AWS_HEADERS_MAX;) {
        size_t length = strcspn(name, ";");
        bool is_last = name[length] == '\0';

        name[length] = '\0';
        out[count++] = (struct http_header){ name, http_call_header(call, name) ?: "" };
        name += length + !is_last;
    }
    return count;
}

/* NULL, or what is wrong with the signature. */
static inline const char *fake_check_signature(struct fake_cloudwatch *fake, struct http_call *call)
{
    static const char begin[] = "SignedHeaders=";
    char id[] = FAKE_ID, secret[] = FAKE_SECRET;
    const struct aws_keys keys = { id, secret, NULL };
    const char *given = http_call_header(call, "Authorization") ?: "";
    const char *date = http_call_header(call, "X-Amz-Date") ?: "";
    const char *names = strstr(given, begin);
    struct aws_scope scope = { "us-east-1", "monitoring", loop_wall(fake->loop) };
    struct http_header headers[AWS_HEADERS_MAX];
    struct aws_request request = { "POST", http_call_target(call), headers, 0, NULL, 0 };
    char now[AWS_TIME_SIZE];

    /* A client that began within the last minute. */
    for (int second = 0; second < 60; second++, scope.at.ms -= SECOND_MS) {
        aws_time(scope.at, now);
        if (strcmp(now, date) == 0)
            break;
    }
    if (strcmp(now, date) != 0)
        return "the time of the signature is not now";
    if (!names)
        return "there is no signature";

    owned(chars) char *list = text_format("%.*s", (int)strcspn(names + strlen(begin), ","),
                                          names + strlen(begin));

    if (!strstr(list, "host") || !strstr(list, "x-amz-date") ||
        (!fake->is_query && !strstr(list, "x-amz-target")))
        return "headers that matter are not signed";
    if (http_call_header(call, "X-Amz-Security-Token") && !strstr(list, "x-amz-security-token"))
        return "the session token is not signed";
    request.header_count = fake_signed_headers(call, list, headers);
    request.body = http_call_body(call, &request.body_size);

    owned(chars) char *want = aws_sign(&keys, &scope, &request);

    return strcmp(want, given) == 0 ? NULL : "the signature does not match";
}

static inline bool fake_knows(const json_t *object, const char *const *names)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        bool is_known = false;

        for (const char *const *name = names; *name; name++)
            is_known = is_known || strcmp(*name, key) == 0;
        if (!is_known)
            return false;
    }
    return json_is_object(object);
}

/* The queue that a query asks for; NULL when the query is not as the service wants it. */
static inline const char *fake_query(const json_t *query)
{
    static const char *const query_names[] = { "Id", "ReturnData", "MetricStat", "Label", NULL };
    static const char *const stat_names[] = { "Metric", "Period", "Stat", "Unit", NULL };
    static const char *const metric_names[] = { "Namespace", "MetricName", "Dimensions", NULL };
    static const char *const dimension_names[] = { "Name", "Value", NULL };
    const json_t *metric = json_at(query, "MetricStat/Metric");
    const json_t *dimension = json_array_get(json_at(metric, "Dimensions"), 0);
    const char *id = json_text_or(query, "Id", "");

    if (!fake_knows(query, query_names) || !fake_knows(json_at(query, "MetricStat"), stat_names) ||
        !fake_knows(metric, metric_names) || !fake_knows(dimension, dimension_names) ||
        id[0] < 'a' || id[0] > 'z' || json_int_or(query, "MetricStat/Period", 0) != 60 ||
        strcmp(json_text_or(query, "MetricStat/Stat", ""), "Sum") != 0 ||
        strcmp(json_text_or(metric, "Namespace", ""), "AWS/SQS") != 0 ||
        strcmp(json_text_or(metric, "MetricName", ""), "NumberOfMessagesSent") != 0 ||
        strcmp(json_text_or(dimension, "Name", ""), "QueueName") != 0)
        return NULL;
    return json_text_or(dimension, "Value", NULL);
}

/* The points of one query from its `skip`th minute on, up to `most`; all of them: true. */
static inline bool fake_points(const char *queue, int64_t from, int64_t to, size_t most,
                               json_t *result)
{
    json_t *times = json_array();
    json_t *values = json_array();
    int64_t minute = from;

    for (; minute < to && json_array_size(times) < most; minute++) {
        int count = fake_arrivals(queue, minute);

        if (count < 0)
            continue;
        json_array_append_new(times, json_integer(minute * 60));
        json_array_append_new(values, json_real(count));
    }
    json_object_set_new(result, "Timestamps", times);
    json_object_set_new(result, "Values", values);
    json_object_set_new(result, "StatusCode",
                        json_string(minute == to ? "Complete" : "PartialData"));
    json_object_set_new(result, "next", json_integer(minute));
    return minute == to;
}

/* A token is where its page begins, and what it belongs to. */
static inline char *fake_token(const json_t *request, size_t query, int64_t minute)
{
    owned(json) json_t *same = json_deep_copy(request);
    char digest[SHA256_TEXT_SIZE];

    json_object_del(same, "NextToken");

    owned(chars) char *bytes = json_print(same);

    crypto_sha256_text(bytes, strlen(bytes), digest);
    return text_format("%zu-%lld-%.16s", query, (long long)minute, digest);
}

static inline json_t *fake_page(struct fake_cloudwatch *fake, const json_t *request,
                                const json_t *queries, size_t query, int64_t minute)
{
    int64_t from = json_int_or(request, "StartTime", 0) / 60;
    int64_t to = json_int_or(request, "EndTime", 0) / 60;
    size_t room = fake->page_points ?: (size_t)json_int_or(request, "MaxDatapoints", 100800);
    size_t used = 0;
    json_t *results = json_array();
    json_t *page = json_make("{s:o, s:[]}", "MetricDataResults", results, "Messages");

    for (; query < json_array_size(queries); query++, minute = from) {
        const json_t *asked = json_array_get(queries, query);
        json_t *result = json_make("{s:s, s:s}", "Id", json_text_or(asked, "Id", ""), "Label",
                                   "NumberOfMessagesSent");
        bool is_whole;

        if (used == room) {
            json_decref(result);
            break;
        }
        is_whole = fake_points(fake_query(asked), minute, to, room - used, result);
        minute = json_int_or(result, "next", 0);
        json_object_del(result, "next");
        used += json_array_size(json_object_get(result, "Values"));
        json_array_append_new(results, result);
        if (!is_whole)
            break;
    }
    if (used > fake->page_points_most)
        fake->page_points_most = used;
    if (query < json_array_size(queries)) {
        owned(chars) char *token = fake_token(request, query, minute);

        json_object_set_new(page, "NextToken", json_string(token));
    }
    return page;
}

/* NULL, or what is wrong with the request. */
static inline const char *fake_check_request(const json_t *request)
{
    static const char *const names[] = {
        "MetricDataQueries", "StartTime", "EndTime", "NextToken", "ScanBy", "MaxDatapoints", NULL
    };
    const json_t *queries = json_object_get(request, "MetricDataQueries");
    size_t count = json_array_size(queries);
    int64_t points = json_int_or(request, "MaxDatapoints", FAKE_POINTS_MAX);

    if (!fake_knows(request, names) || !json_is_integer(json_object_get(request, "StartTime")) ||
        !json_is_integer(json_object_get(request, "EndTime")))
        return "unknown members or no times";
    if (count == 0 || count > FAKE_QUERIES_MAX || points < 1 || points > FAKE_POINTS_MAX)
        return "over the limits";
    for (size_t i = 0; i < count; i++) {
        if (!fake_query(json_array_get(queries, i)))
            return "a query is not understood";
        for (size_t at = 0; at < i; at++)
            if (strcmp(json_text_or(json_array_get(queries, i), "Id", ""),
                       json_text_or(json_array_get(queries, at), "Id", "")) == 0)
                return "an Id stands twice";
    }
    return NULL;
}

static inline void fake_give(struct fake_cloudwatch *fake, struct http_call *call,
                             const json_t *request)
{
    const json_t *queries = json_object_get(request, "MetricDataQueries");
    const char *token = json_text_or(request, "NextToken", NULL);
    int64_t minute = json_int_or(request, "StartTime", 0) / 60;
    size_t query = 0;

    if (token) {
        long long number = 0, at = 0;
        owned(chars) char *first = text_format("%.*s", (int)strcspn(token, "-"), token);
        const char *second = token + strlen(first) + 1;
        owned(chars) char *time = text_format("%.*s", (int)strcspn(second, "-"), second);

        if (!text_to_int(first, 0, FAKE_QUERIES_MAX, &number) ||
            !text_to_int(time, 0, INT64_MAX, &at))
            number = FAKE_QUERIES_MAX;
        query = (size_t)number;
        minute = at;

        owned(chars) char *want = fake_token(request, query, minute);

        if (strcmp(want, token) != 0 || --fake->forget_page == 0) {
            fake_refuse(fake, call, 400, "InvalidNextToken", "the token is not valid");
            return;
        }
    }
    if (json_array_size(queries) > fake->page_queries_most)
        fake->page_queries_most = json_array_size(queries);

    owned(json) json_t *page = fake_page(fake, request, queries, query, minute);
    owned(chars) char *bytes = fake->is_query ? query_answer(page) : json_print(page);
    const char *type = fake->is_query ? "text/xml" : "application/x-amz-json-1.0";

    http_call_answer(
        call, &(struct http_reply){
                  .status = 200, .content_type = type, .body = bytes, .body_size = strlen(bytes) });
}

static inline void fake_handle(void *context, struct http_call *call)
{
    struct fake_cloudwatch *fake = context;
    size_t size = 0;
    const char *bytes = http_call_body(call, &size);
    const char *type = http_call_header(call, "Content-Type") ?: "";
    const char *target = http_call_header(call, "X-Amz-Target") ?: "";
    bool is_json = strcmp(type, "application/x-amz-json-1.0") == 0;
    owned(json) json_t *request = NULL;
    const char *wrong;

    fake->is_query = text_starts_with(type, "application/x-www-form-urlencoded");
    request = fake->is_query ? query_request(bytes) : json_parse(bytes, size, "request", NULL);
    wrong = fake_check_signature(fake, call);
    fake->requests++;
    if (wrong)
        fake_refuse(fake, call, 403, "SignatureDoesNotMatch", wrong);
    else if (fake->is_query ? !request
                            : !is_json || strcmp(target, "GraniteServiceVersion20100801."
                                                         "GetMetricData") != 0)
        fake_refuse(fake, call, 400, "UnknownOperationException", type);
    else if ((wrong = fake_check_request(request)))
        fake_refuse(fake, call, 400, "InvalidParameterCombinationException", wrong);
    else if (fake->requests <= fake->throttle_requests)
        fake_refuse(fake, call, 400, "ThrottlingException", "Rate exceeded");
    else
        fake_give(fake, call, request);
}

static inline void fake_cloudwatch_open(struct fake_cloudwatch *fake, struct loop *loop)
{
    struct error err = { 0 };

    *fake = (struct fake_cloudwatch){ .loop = loop };
    fake->server = http_server_new(loop, fake_handle, fake);
    if (http_server_listen_loopback(fake->server, 0, &fake->port, &err) < 0)
        fail_msg("%s", err.text);
}
