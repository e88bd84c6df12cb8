/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Prometheus and what speaks like it (Thanos, Mimir, Cortex): query_range, a class of a queue at a
 * time.  The default query asks by how much a counter grew; a point at T tells of the step that
 * ends at T.  Warnings mean that something could not be read: the answer is then refused whole.
 */
#include "broker/sources/prometheus.h"

#include "base/file.h"
#include "base/text.h"
#include "base/url.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_LIMIT = 6000 };

static const char default_query[] = "sum(increase($arrivals[$step]))";

static int check_settings(const void *object, const char **ret_key, struct error *err)
{
    const struct source_settings *settings = object;

    *ret_key = "endpoint";
    if (!settings->endpoint)
        return error_set(err, ERROR_INVALID, "has no endpoint");
    *ret_key = "query";
    if (settings->query && !strstr(settings->query, "$arrivals"))
        return error_set(err, ERROR_INVALID, "its query has no $arrivals: all queues would be one");
    return 0;
}

/* A projected token is renewed in place, so it is read for each request. */
static int add_token(const char *path, struct source_request *request, struct error *err)
{
    owned(text) struct text *token = file_read(path, TOKEN_LIMIT, err);
    size_t length;

    if (!token)
        return -1;
    length = strcspn(token->chars, " \t\r\n");
    if (length == 0 || token->chars[length + strspn(token->chars + length, " \t\r\n")] != '\0') {
        explicit_bzero(token->chars, token->length);
        return error_set(err, ERROR_INVALID, "%s: expected one token and nothing else", path);
    }
    token->chars[length] = '\0';
    source_request_header(request, "Authorization", "Bearer ", token->chars);
    explicit_bzero(token->chars, token->length);
    return 0;
}

int prometheus_range(const struct source *source, const struct range_query *range,
                     struct source_request *request, struct error *err)
{
    const struct source_settings *settings = source->settings;
    size_t length = strlen(settings->endpoint);

    require(range->step_ms >= SECOND_MS && range->first.ms <= range->last.ms);
    while (length > 0 && settings->endpoint[length - 1] == '/')
        length--;
    request->method = HTTP_POST;
    request->url = text_format("%.*s/api/v1/query_range", (int)length, settings->endpoint);
    request->body = text_new(TEXT_UNBOUNDED);
    text_add(request->body, "query=");
    url_add_escaped(request->body, range->query);
    text_add(request->body, "&start=%" PRId64 "&end=%" PRId64 "&step=%" PRId64,
             range->first.ms / SECOND_MS, range->last.ms / SECOND_MS, range->step_ms / SECOND_MS);
    text_add(request->body, "&partial_response=false"); /* Thanos; others do not know it */
    source_request_header(request, "Content-Type", "", "application/x-www-form-urlencoded");
    if (settings->tenant)
        source_request_header(request, "X-Scope-OrgID", "", settings->tenant);
    return settings->token ? add_token(settings->token, request, err) : 0;
}

static int prometheus_write(const struct source *source, const struct source_part *part,
                            const struct source_access *access, struct source_request *request,
                            struct error *err)
{
    const struct source_span *span = &part->span;
    owned(chars) char *query = source_expand(source->settings->query ?: default_query,
                                             part->lines[0].name, span->step_ms);
    const struct range_query range = {
        .query = query,
        .first = { span->from.ms + span->step_ms },
        .last = span->to,
        .step_ms = span->step_ms,
    };

    (void)access;
    return prometheus_range(source, &range, request, err);
}

/* The time in seconds, the value as a text that may be NaN. */
int prometheus_point(const json_t *point, int64_t *ret_ms, double *ret_value, struct error *err)
{
    const json_t *time = json_array_get(point, 0);
    const char *text = json_string_value(json_array_get(point, 1));
    double value = NAN;

    if (json_array_size(point) != 2 || !json_is_number(time) || !text ||
        fabs(json_number_value(time)) > 1e11)
        return error_set(err, ERROR_CORRUPT, "a point is not [time, \"value\"]");
    if (!text_equal(text, "NaN") && !text_to_double(text, &value))
        return error_set(err, ERROR_CORRUPT, "a point has the value \"%.40s\"", text);
    *ret_ms = llround(json_number_value(time) * SECOND_MS);
    *ret_value = value;
    return 0;
}

int prometheus_series(const struct http_answer *answer, json_t **ret_body, json_t **ret_series,
                      struct error *err)
{
    struct error why = { 0 };
    owned(json) json_t *body = json_parse_foreign(answer->body, answer->body_size, "answer", &why);
    const json_t *warnings = json_at(body, "warnings");

    if (answer->status != 200)
        return source_refused(answer, json_text_or(body, "error", ""), err);
    if (!body)
        return error_set(err, ERROR_CORRUPT, "%s", why.text);
    if (!text_equal(json_text_or(body, "status", ""), "success"))
        return error_set(err, ERROR_INVALID, "refused: %.200s", json_text_or(body, "error", ""));
    if (warnings && (!json_is_array(warnings) || json_array_size(warnings) > 0))
        return error_set(err, ERROR_CORRUPT, "the answer is partial: %.200s",
                         json_string_value(json_array_get(warnings, 0)) ?: "");
    if (!text_equal(json_text_or(body, "data/resultType", ""), "matrix"))
        return error_set(err, ERROR_CORRUPT, "the answer is no matrix");
    if (json_need_array(body, "data/result", ret_series, err) < 0)
        return -1;
    *ret_body = steal(&body);
    return 0;
}

static int prometheus_read(const struct source *source, struct source_part *part,
                           const struct http_answer *answer, char **ret_next, struct error *err)
{
    owned(json) json_t *body = NULL;
    json_t *series = NULL;
    json_t *values = NULL;

    (void)source;
    (void)ret_next;
    if (prometheus_series(answer, &body, &series, err) < 0)
        return -1;
    if (json_array_size(series) > 1)
        return error_set(err, ERROR_INVALID,
                         "the query gives %zu series, and one is needed: put sum() around it",
                         json_array_size(series));
    if (json_array_size(series) == 0)
        return 0;
    if (json_need_array(json_array_get(series, 0), "values", &values, err) < 0)
        return error_context(err, "expected a series of numbers");
    for (size_t i = 0; i < json_array_size(values); i++) {
        int64_t ms;
        double value;

        if (prometheus_point(json_array_get(values, i), &ms, &value, err) < 0 ||
            source_add_point(part, 0, ms - part->span.step_ms, value, err) < 0)
            return -1;
    }
    return 0;
}

static const struct setting own_settings[] = {
    SOURCE_SETTING(endpoint, SETTING_URL, NULL, SOURCE_ENDPOINT_HELP),
    SOURCE_SETTING(token, SETTING_PATH, "",
                   "path of a file with a bearer token, read again for each request"),
    SOURCE_SETTING(tenant, SETTING_TEXT, "", "X-Scope-OrgID, for Mimir and Cortex"),
    SOURCE_SETTING(ca, SETTING_PATH, "",
                   "path of the authorities' certificates; absent: the system's"),
    SOURCE_SETTING(query, SETTING_TEXT, "",
                   "what is asked, with `$arrivals` and `$step`; absent: "
                   "`sum(increase($arrivals[$step]))`"),
};

const struct source_kind source_prometheus = {
    .own = { .name = "prometheus",
             .settings = own_settings,
             .count = COUNT_OF(own_settings),
             .size = sizeof(struct source_settings),
             .check = check_settings },
    .lines_max = 1,
    .has_histograms = true,
    .steps_max = 11000, /* more points than that are refused by the server */
    .write = prometheus_write,
    .read = prometheus_read,
};
