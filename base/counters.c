/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See counters.h.
 */
#include "base/counters.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"

#include <string.h>

struct counter {
    char *values[COUNTERS_LABELS_MOST];
    double count;
    double sum;
    double buckets[COUNTERS_BUCKETS_MOST]; /* each of its own, not of those below */
};

struct counters {
    const char *const *labels;
    const double *bounds; /* NULL: none */
    size_t label_count;
    size_t bound_count;
    struct map *by_values; /* -> struct counter */
};

static void free_counter(void *value)
{
    struct counter *counter = value;

    for (size_t i = 0; i < COUNTERS_LABELS_MOST; i++)
        mem_free(counter->values[i]);
    mem_free(counter);
}

struct counters *counters_new(const char *const *labels, const double *bounds)
{
    struct counters *counters = mem_new(sizeof *counters);

    counters->labels = labels;
    counters->bounds = bounds;
    while (labels[counters->label_count])
        counters->label_count++;
    while (bounds && bounds[counters->bound_count] > 0)
        counters->bound_count++;
    require(counters->label_count <= COUNTERS_LABELS_MOST);
    require(counters->bound_count <= COUNTERS_BUCKETS_MOST);
    counters->by_values = map_new(free_counter);
    return counters;
}

void counters_free(struct counters *counters)
{
    if (!counters)
        return;
    map_free(counters->by_values);
    mem_free(counters);
}

static struct counter *find(struct counters *counters, const char *const *values)
{
    struct text *key = text_new(TEXT_UNBOUNDED);
    owned(chars) char *chars = NULL;
    struct counter *counter;

    for (size_t i = 0; i < counters->label_count; i++)
        text_add(key, "%zu:%s", strlen(values[i]), values[i]);
    chars = text_take(key);
    counter = map_get(counters->by_values, chars);
    if (counter)
        return counter;
    counter = mem_new(sizeof *counter);
    for (size_t i = 0; i < counters->label_count; i++)
        counter->values[i] = mem_copy_chars(values[i]);
    map_set(counters->by_values, chars, counter);
    return counter;
}

void counters_begin(struct counters *counters, const char *const *values)
{
    find(counters, values);
}

void counters_add(struct counters *counters, const char *const *values, double took)
{
    struct counter *counter = find(counters, values);
    size_t at = 0;

    counter->count += 1;
    counter->sum += took;
    while (at < counters->bound_count && took > counters->bounds[at])
        at++;
    if (at < counters->bound_count)
        counter->buckets[at] += 1;
}

static json_t *describe_buckets(const struct counters *counters, const struct counter *counter)
{
    json_t *buckets = json_array();
    double below = 0;

    for (size_t i = 0; i < counters->bound_count; i++) {
        json_t *bucket = json_array();

        below += counter->buckets[i];
        json_array_append_new(bucket, json_real(counters->bounds[i]));
        json_array_append_new(bucket, json_real(below));
        json_array_append_new(buckets, bucket);
    }
    return buckets;
}

json_t *counters_describe(const struct counters *counters)
{
    json_t *rows = json_array();
    void *value;

    for (size_t i = 0; map_next(counters->by_values, &i, NULL, &value);) {
        const struct counter *counter = value;
        json_t *row = json_object();

        for (size_t k = 0; k < counters->label_count; k++)
            json_object_set_new(row, counters->labels[k], json_string(counter->values[k]));
        json_object_set_new(row, "count", json_real(counter->count));
        if (counters->bounds) {
            json_object_set_new(row, "sum", json_real(counter->sum));
            json_object_set_new(row, "buckets", describe_buckets(counters, counter));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}
