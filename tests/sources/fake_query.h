/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The older protocol of CloudWatch: a form in, XML out.  The form becomes the same JSON that newer
 * clients send, and the JSON answer becomes XML, so that one fake serves both.
 */
#pragma once

#include "base/input/json.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "base/url.h"

#include <string.h>

/* The decoded value of a form's parameter; NULL when it is not there. */
static inline char *query_value(const char *form, const char *name)
{
    owned(chars) char *target = text_format("/?%s", form);

    /* A form writes a space as '+'. */
    for (char *at = target; *at; at++)
        if (*at == '+')
            *at = ' ';
    return url_query(target, name);
}

static inline void query_take(json_t *object, const char *member, const char *form,
                              const char *prefix, const char *name)
{
    owned(chars) char *full = text_format("%s%s", prefix, name);
    owned(chars) char *value = query_value(form, full);
    long long number;

    if (!value)
        return;
    if ((strcmp(member, "Period") == 0 || strcmp(member, "MaxDatapoints") == 0) &&
        text_to_int(value, 0, INT32_MAX, &number))
        json_object_set_new(object, member, json_integer(number));
    else
        json_object_set_new(object, member, json_string(value));
}

static inline void query_take_time(json_t *object, const char *member, const char *form)
{
    owned(chars) char *value = query_value(form, member);
    struct wall_time wall;

    if (value && wall_parse(value, true, &wall, NULL) == 0)
        json_object_set_new(object, member, json_integer(wall.ms / SECOND_MS));
}

static inline json_t *query_member(const char *form, size_t number)
{
    owned(chars) char *prefix = text_format("MetricDataQueries.member.%zu.", number);
    owned(chars) char *stat_prefix = text_format("%sMetricStat.", prefix);
    owned(chars) char *metric_prefix = text_format("%sMetric.", stat_prefix);
    owned(chars) char *dimension_prefix = text_format("%sDimensions.member.1.", metric_prefix);
    json_t *dimension = json_object();
    json_t *metric = json_object();
    json_t *stat = json_object();
    json_t *query = json_object();

    query_take(dimension, "Name", form, dimension_prefix, "Name");
    query_take(dimension, "Value", form, dimension_prefix, "Value");
    query_take(metric, "Namespace", form, metric_prefix, "Namespace");
    query_take(metric, "MetricName", form, metric_prefix, "MetricName");
    json_object_set_new(metric, "Dimensions", json_make("[o]", dimension));
    json_object_set_new(stat, "Metric", metric);
    query_take(stat, "Period", form, stat_prefix, "Period");
    query_take(stat, "Stat", form, stat_prefix, "Stat");
    query_take(query, "Id", form, prefix, "Id");
    json_object_set_new(query, "MetricStat", stat);
    return query;
}

/* NULL: it asks for something else. */
static inline json_t *query_request(const char *form)
{
    owned(chars) char *action = query_value(form, "Action");
    json_t *queries;
    json_t *request;

    if (!action || strcmp(action, "GetMetricData") != 0)
        return NULL;
    queries = json_array();
    for (size_t number = 1; number < 600; number++) {
        owned(chars) char *name = text_format("MetricDataQueries.member.%zu.Id=", number);

        if (!strstr(form, name))
            break;
        json_array_append_new(queries, query_member(form, number));
    }
    request = json_make("{s:o}", "MetricDataQueries", queries);
    query_take_time(request, "StartTime", form);
    query_take_time(request, "EndTime", form);
    query_take(request, "ScanBy", form, "", "ScanBy");
    query_take(request, "MaxDatapoints", form, "", "MaxDatapoints");
    query_take(request, "NextToken", form, "", "NextToken");
    return request;
}

static inline void query_add_result(struct text *out, const json_t *result)
{
    const json_t *times = json_object_get(result, "Timestamps");
    const json_t *values = json_object_get(result, "Values");

    text_add(out, "<member><Id>%s</Id><Label>%s</Label><StatusCode>%s</StatusCode><Timestamps>",
             json_text_or(result, "Id", ""), json_text_or(result, "Label", ""),
             json_text_or(result, "StatusCode", ""));
    for (size_t i = 0; i < json_array_size(times); i++) {
        char text[WALL_TEXT_SIZE];
        int64_t s = json_integer_value(json_array_get(times, i));

        text_add(out, "<member>%s</member>",
                 wall_format((struct wall_time){ s * SECOND_MS }, text));
    }
    text_add(out, "</Timestamps><Values>");
    for (size_t i = 0; i < json_array_size(values); i++)
        text_add(out, "<member>%g</member>", json_number_value(json_array_get(values, i)));
    text_add(out, "</Values></member>");
}

static inline char *query_answer(const json_t *page)
{
    struct text *out = text_new(TEXT_UNBOUNDED);
    const json_t *results = json_object_get(page, "MetricDataResults");
    const char *next = json_text_or(page, "NextToken", NULL);

    text_add(out, "<GetMetricDataResponse xmlns=\"http://monitoring.amazonaws.com/doc/2010-08-01/"
                  "\"><GetMetricDataResult><MetricDataResults>");
    for (size_t i = 0; i < json_array_size(results); i++)
        query_add_result(out, json_array_get(results, i));
    text_add(out, "</MetricDataResults>");
    if (next)
        text_add(out, "<NextToken>%s</NextToken>", next);
    text_add(out, "<Messages/></GetMetricDataResult></GetMetricDataResponse>");
    return text_take(out);
}
