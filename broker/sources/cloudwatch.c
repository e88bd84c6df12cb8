/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * AWS CloudWatch: GetMetricData in its JSON protocol, many queues in one request.  100,800 points
 * fit on a page: ten queues for a week of minutes.  The points of a metric may come over several
 * pages; they count only if its last StatusCode is Complete.  CloudWatch leaves silent minutes out.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/sources/source_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    METRICS_MAX = 500, /* in a request */
    POINTS_MAX = 100800,
    CODE_SIZE = 64,
};

static int check_settings(const void *object, const char **ret_key, struct error *err)
{
    const struct source_settings *settings = object;

    return aws_account_check(&settings->account, ret_key, err);
}

static int cloudwatch_check(const struct source *source, const struct source_span *span,
                            struct error *err)
{
    static const struct {
        int64_t step_ms;
        int64_t days;
    } kept[] = { { 5 * MINUTE_MS, 15 }, { HOUR_MS, 63 }, { INT64_MAX, 455 } };
    int64_t age_ms = loop_wall(source->world->loop).ms - span->from.ms;
    size_t i = 0;

    if (span->step_ms % MINUTE_MS != 0)
        return error_set(err, ERROR_INVALID, "the step must be whole minutes");
    while (span->step_ms >= kept[i].step_ms)
        i++;
    if (age_ms <= kept[i].days * DAY_MS)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "CloudWatch keeps points of %" PRId64 "m for %" PRId64
                     " days, and the first one asked for is older; keep snapshots",
                     span->step_ms / MINUTE_MS, kept[i].days);
}

static json_t *make_queries(const struct source_settings *settings, const struct source_part *part)
{
    json_t *queries = json_array();

    for (size_t i = 0; i < part->line_count; i++) {
        owned(chars) char *id = text_format("q%zu", i);

        json_array_append_new(
            queries,
            json_make("{s:s, s:b, s:{s:{s:s, s:s, s:[{s:s, s:s}]}, s:I, s:s}}", "Id", id,
                      "ReturnData", 1, "MetricStat", "Metric", "Namespace",
                      settings->namespace ?: "AWS/SQS", "MetricName",
                      settings->metric ?: "NumberOfMessagesSent", "Dimensions", "Name",
                      settings->dimension ?: "QueueName", "Value", part->lines[i].name, "Period",
                      (json_int_t)(part->span.step_ms / SECOND_MS), "Stat", "Sum"));
    }
    return queries;
}

static char *make_body(const struct source_settings *settings, const struct source_part *part)
{
    owned(json) json_t *body = json_make(
        "{s:I, s:I, s:s, s:i, s:o}", "StartTime", (json_int_t)(part->span.from.ms / SECOND_MS),
        "EndTime", (json_int_t)(part->span.to.ms / SECOND_MS), "ScanBy", "TimestampAscending",
        "MaxDatapoints", POINTS_MAX, "MetricDataQueries", make_queries(settings, part));

    if (part->page)
        json_object_set_new(body, "NextToken", json_text(part->page));
    return json_print(body);
}

static int sign(const struct source_settings *settings, const struct source_access *access,
                struct source_request *request, struct error *err)
{
    const struct aws_keys *keys = access->keys;
    const struct aws_scope scope = { settings->account.region, "monitoring", access->now };
    struct http_header headers[SOURCE_HEADERS_MAX];
    char time[AWS_TIME_SIZE];

    aws_time(scope.at, time);
    source_request_header(request, "X-Amz-Date", "", time);
    if (keys->token)
        source_request_header(request, "X-Amz-Security-Token", "", keys->token);
    for (size_t i = 0; i < request->header_count; i++)
        headers[i] = (struct http_header){ request->headers[i].name, request->headers[i].value };

    const struct aws_request to_sign = {
        .method = "POST",
        .headers = headers,
        .header_count = request->header_count,
        .body = request->body->chars,
        .body_size = request->body->length,
    };
    owned(chars) char *authorization = aws_sign_url(keys, &scope, request->url, &to_sign, err);

    if (!authorization)
        return -1;
    source_request_header(request, "Authorization", "", authorization);
    return 0;
}

static int cloudwatch_write(const struct source *source, const struct source_part *part,
                            const struct source_access *access, struct source_request *request,
                            struct error *err)
{
    const struct source_settings *settings = source->settings;
    owned(chars) char *body = make_body(settings, part);
    const char *domain = text_starts_with(settings->account.region, "cn-") ? "amazonaws.com.cn"
                                                                           : "amazonaws.com";

    request->method = HTTP_POST;
    request->url = settings->endpoint
                       ? mem_copy_chars(settings->endpoint)
                       : text_format("https://monitoring.%s.%s/", settings->account.region, domain);
    request->body = text_new(TEXT_UNBOUNDED);
    text_add(request->body, "%s", body);
    source_request_header(request, "Content-Type", "", "application/x-amz-json-1.0");
    source_request_header(request, "X-Amz-Target", "",
                          "GraniteServiceVersion20100801.GetMetricData");
    return sign(settings, access, request, err);
}

/* "com.amazon#InvalidNextToken:http://..." is InvalidNextToken; the header, which older clients
   read, is "InvalidNextToken;Sender" and wins. */
static void error_code(const struct http_answer *answer, const json_t *body, char out[CODE_SIZE])
{
    const char *type = json_text_or(body, "__type", "");
    const char *hash = strchr(type, '#');
    const char *header = http_header_find(answer->headers, answer->header_count,
                                          "x-amzn-query-error");

    text_copy(out, CODE_SIZE, header ? header : hash ? hash + 1 : type);
    out[strcspn(out, ";:")] = '\0';
}

static int refuse(const struct http_answer *answer, const json_t *body, struct error *err)
{
    static const struct {
        const char *part; /* of the code */
        enum error_kind kind;
    } codes[] = {
        { "InvalidNextToken", ERROR_CONFLICT },  { "Throttl", ERROR_THROTTLED },
        { "TooManyRequests", ERROR_THROTTLED },  { "LimitExceeded", ERROR_THROTTLED },
        { "InternalService", ERROR_TRANSIENT },  { "ServiceUnavailable", ERROR_THROTTLED },
        { "RequestTimeout", ERROR_TRANSIENT },   { "AccessDenied", ERROR_DENIED },
        { "ExpiredToken", ERROR_DENIED },        { "InvalidClientTokenId", ERROR_DENIED },
        { "UnrecognizedClient", ERROR_DENIED },  { "SignatureDoesNotMatch", ERROR_DENIED },
        { "IncompleteSignature", ERROR_DENIED }, { "RequestTimeTooSkewed", ERROR_DENIED },
        { "OptInRequired", ERROR_DENIED },
    };
    char code[CODE_SIZE];
    const char *message = json_text_or(body, "message", json_text_or(body, "Message", ""));

    error_code(answer, body, code);
    source_refused(answer, code, err);
    for (size_t i = 0; err && i < COUNT_OF(codes); i++)
        if (strstr(code, codes[i].part)) {
            err->kind = codes[i].kind;
            break;
        }
    if (err && answer->status == 503)
        err->kind = ERROR_THROTTLED;
    if (message[0] && err) {
        struct error first = *err;

        error_set(err, first.kind, "%s: %.200s", first.text, message);
        err->retry_after_ms = first.retry_after_ms;
    }
    return -1;
}

static int read_state(struct source_line *line, const json_t *result, struct error *err)
{
    const char *status = json_text_or(result, "StatusCode", "");
    const char *why = json_text_or(json_array_get(json_at(result, "Messages"), 0), "Value", "");

    if (text_equal(status, "Complete"))
        line->state = LINE_COMPLETE;
    else if (text_equal(status, "PartialData"))
        line->state = LINE_PARTIAL;
    else if (text_equal(status, "InternalError"))
        line->state = LINE_BROKEN;
    else if (text_equal(status, "Forbidden"))
        return error_set(err, ERROR_DENIED, "%s: forbidden %.200s", line->name, why);
    else
        return error_set(err, ERROR_CORRUPT, "%s: has the status \"%.40s\"", line->name, status);
    return 0;
}

static int read_result(struct source_part *part, const json_t *result, struct error *err)
{
    const char *id = json_text_or(result, "Id", "");
    json_t *times = NULL;
    json_t *values = NULL;
    long long line = 0;

    if (id[0] != 'q' || !text_to_int(id + 1, 0, (long long)part->line_count - 1, &line))
        return error_set(err, ERROR_CORRUPT, "the answer tells of \"%.40s\", which was not asked",
                         id);
    if (read_state(&part->lines[line], result, err) < 0 ||
        json_find_array(result, "Timestamps", &times, err) < 0 ||
        json_find_array(result, "Values", &values, err) < 0)
        return -1;
    if (json_array_size(times) != json_array_size(values))
        return error_set(err, ERROR_CORRUPT, "%s: %zu times and %zu values", part->lines[line].name,
                         json_array_size(times), json_array_size(values));
    for (size_t i = 0; i < json_array_size(times); i++) {
        const json_t *time = json_array_get(times, i);
        const json_t *value = json_array_get(values, i);

        if (!json_is_number(time) || !json_is_number(value) || fabs(json_number_value(time)) > 1e11)
            return error_set(err, ERROR_CORRUPT, "%s: a point is not two numbers",
                             part->lines[line].name);
        if (source_add_point(part, (size_t)line, llround(json_number_value(time) * SECOND_MS),
                             json_number_value(value), err) < 0)
            return error_context(err, "%s", part->lines[line].name);
    }
    return 0;
}

/* Checks, after the last page, that every line is complete. */
static int check_whole(const struct source_part *part, struct error *err)
{
    for (size_t i = 0; i < part->line_count; i++) {
        const struct source_line *line = &part->lines[i];

        if (line->state == LINE_BROKEN)
            return error_set(err, ERROR_CONFLICT, "%s: internal error", line->name);
        if (line->state != LINE_COMPLETE)
            return error_set(err, ERROR_CORRUPT, "%s: the answer is partial", line->name);
    }
    return 0;
}

static int cloudwatch_read(const struct source *source, struct source_part *part,
                           const struct http_answer *answer, char **ret_next, struct error *err)
{
    struct error why = { 0 };
    owned(json) json_t *body = json_parse_foreign(answer->body, answer->body_size, "answer", &why);
    const char *next = json_text_or(body, "NextToken", NULL);
    json_t *results = NULL;

    (void)source;
    if (answer->status != 200)
        return refuse(answer, body, err);
    if (!body)
        return error_set(err, ERROR_CORRUPT, "%s", why.text);
    if (json_array_size(json_at(body, "Messages")) > 0)
        return error_set(err, ERROR_CORRUPT, "the answer is partial: %.200s",
                         json_text_or(json_array_get(json_at(body, "Messages"), 0), "Value", ""));
    if (json_need_array(body, "MetricDataResults", &results, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(results); i++)
        if (read_result(part, json_array_get(results, i), err) < 0)
            return -1;
    if (!next)
        return check_whole(part, err);
    *ret_next = mem_copy_chars(next);
    return 0;
}

static const struct setting own_settings[] = {
    SOURCE_SETTING(endpoint, SETTING_URL, "", SOURCE_ENDPOINT_HELP),
    AWS_ACCOUNT_SETTINGS(struct source_settings, account),
    SOURCE_SETTING(namespace, SETTING_TEXT, "AWS/SQS", ""),
    SOURCE_SETTING(metric, SETTING_TEXT, "NumberOfMessagesSent",
                   "its sum over each minute is the arrivals"),
    SOURCE_SETTING(dimension, SETTING_TEXT, "QueueName",
                   "name of the dimension; a queue's `arrivals` is its value"),
};

const struct source_kind source_cloudwatch = {
    .own = { .name = "cloudwatch",
             .maker = "AWS",
             .settings = own_settings,
             .count = COUNT_OF(own_settings),
             .size = sizeof(struct source_settings),
             .check = check_settings },
    .lines_max = METRICS_MAX,
    .steps_max = POINTS_MAX,
    .points_max = POINTS_MAX,
    .is_aws = true,
    .check = cloudwatch_check,
    .write = cloudwatch_write,
    .read = cloudwatch_read,
};
