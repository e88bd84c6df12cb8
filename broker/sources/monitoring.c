/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Google Cloud Monitoring: timeSeries.list, a class of a queue at a time.  The metric is aligned as
 * a delta of each step and summed over its series; a point that ends at T tells of the step that
 * ends at T.  What could not be reached is named in the answer, which is then refused whole.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "broker/sources/source_parts.h"

#include <inttypes.h>
#include <string.h>

static const char default_endpoint[] = "https://monitoring.googleapis.com";

static int check_settings(const void *object, const char **ret_key, struct error *err)
{
    const struct source_settings *settings = object;

    *ret_key = "project";
    if (!settings->project)
        return error_set(err, ERROR_INVALID, "has no project");
    *ret_key = "query";
    if (settings->query && !strstr(settings->query, "$arrivals"))
        return error_set(err, ERROR_INVALID, "its query has no $arrivals: all queues would be one");
    return 0;
}

static int monitoring_check(const struct source *source, const struct source_span *span,
                            struct error *err)
{
    (void)source;
    if (span->step_ms < MINUTE_MS)
        return error_set(err, ERROR_INVALID, "has no steps shorter than a minute");
    return 0;
}

static int monitoring_write(const struct source *source, const struct source_part *part,
                            const struct source_access *access, struct source_request *request,
                            struct error *err)
{
    const struct source_settings *settings = source->settings;
    const struct source_span *span = &part->span;
    owned(chars) char *filter = source_expand(settings->query ?: "$arrivals", part->lines[0].name,
                                              span->step_ms);
    owned(chars) char *path = url_format("/v3/projects/%s/timeSeries?filter=%s", settings->project,
                                         filter);
    struct text *url = text_new(TEXT_UNBOUNDED);
    char from[WALL_TEXT_SIZE];
    char to[WALL_TEXT_SIZE];

    (void)err;
    text_add(url, "%s%s", settings->endpoint ?: default_endpoint, path);
    text_add(url, "&interval.startTime=%s&interval.endTime=%s", wall_format(span->from, from),
             wall_format(span->to, to));
    text_add(url,
             "&aggregation.alignmentPeriod=%" PRId64 "s&aggregation.perSeriesAligner=ALIGN_DELTA"
             "&aggregation.crossSeriesReducer=REDUCE_SUM&view=FULL&pageSize=100000",
             span->step_ms / SECOND_MS);
    if (part->page) {
        text_add(url, "&pageToken=");
        url_add_escaped(url, part->page);
    }
    request->method = HTTP_GET;
    request->url = text_take(url);
    source_request_header(request, "Authorization", "Bearer ", access->bearer);
    return 0;
}

/* A whole number is a text there, because JSON's numbers are too short for 64 bits. */
static int read_value(const json_t *point, double *ret, struct error *err)
{
    const json_t *number = json_at(point, "value/doubleValue");
    const char *whole = json_text_or(point, "value/int64Value", NULL);

    if (json_is_number(number))
        *ret = json_number_value(number);
    else if (!whole || !text_to_double(whole, ret))
        return error_set(err, ERROR_CORRUPT, "a point has no value that counts");
    return 0;
}

static int read_point(struct source_part *part, const json_t *point, struct error *err)
{
    const char *end = NULL;
    struct wall_time wall;
    double value;

    if (json_need_text(point, "interval/endTime", &end, err) < 0 ||
        wall_parse(end, false, &wall, err) < 0 || read_value(point, &value, err) < 0) {
        if (err)
            err->kind = ERROR_CORRUPT;
        return -1;
    }
    return source_add_point(part, 0, wall.ms - part->span.step_ms, value, err);
}

static int read_series(struct source_part *part, const json_t *body, struct error *err)
{
    json_t *series = NULL;
    json_t *points = NULL;

    if (json_find_array(body, "timeSeries", &series, err) < 0)
        return -1;
    if (json_array_size(series) > 1)
        return error_set(err, ERROR_INVALID,
                         "the filter gives %zu series that cannot be summed: name one metric",
                         json_array_size(series));
    if (json_array_size(series) == 0)
        return 0;
    if (json_need_array(json_array_get(series, 0), "points", &points, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(points); i++)
        if (read_point(part, json_array_get(points, i), err) < 0)
            return -1;
    return 0;
}

static bool is_partial(const json_t *body)
{
    return json_array_size(json_at(body, "executionErrors")) > 0 ||
           json_array_size(json_at(body, "unreachable")) > 0;
}

static int monitoring_read(const struct source *source, struct source_part *part,
                           const struct http_answer *answer, char **ret_next, struct error *err)
{
    struct error why = { 0 };
    owned(json) json_t *body = json_parse_foreign(answer->body, answer->body_size, "answer", &why);
    const char *next = json_text_or(body, "nextPageToken", "");

    (void)source;
    if (answer->status != 200)
        return source_refused(answer, json_text_or(body, "error/message", ""), err);
    if (!body)
        return error_set(err, ERROR_CORRUPT, "%s", why.text);
    if (is_partial(body))
        return error_set(err, ERROR_CORRUPT, "the answer is partial: %.200s",
                         json_text_or(json_array_get(json_at(body, "executionErrors"), 0),
                                      "message", "something could not be reached"));
    if (read_series(part, body, err) < 0)
        return -1;
    *ret_next = next[0] ? mem_copy_chars(next) : NULL;
    return 0;
}

static const struct setting own_settings[] = {
    SOURCE_SETTING(endpoint, SETTING_URL, "", SOURCE_ENDPOINT_HELP),
    SOURCE_SETTING(query, SETTING_TEXT, "", "the filter; absent: `$arrivals`"),
    SOURCE_SETTING(credentials, SETTING_PATH, "",
                   "path of a file of credentials; absent: Google's own search order"),
    SOURCE_SETTING(metadata, SETTING_URL, "",
                   "URL of the metadata server; absent: the cloud's own"),
    SOURCE_SETTING(project, SETTING_TEXT, NULL, "the project"),
};

const struct source_kind source_monitoring = {
    .own = { .name = "monitoring",
             .maker = "Google Cloud",
             .settings = own_settings,
             .count = COUNT_OF(own_settings),
             .size = sizeof(struct source_settings),
             .check = check_settings },
    .lines_max = 1,
    .is_google = true,
    .check = monitoring_check,
    .write = monitoring_write,
    .read = monitoring_read,
};
