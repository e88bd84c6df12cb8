/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A shard's file is JSON: its input (the header that the schedules would have), its number, and one
 * line a cell.  Numbers are printed with all their digits, so that they are read as what they were.
 */
#include "broker/capacity/allocate_shard.h"

#include "base/file.h"
#include "base/input/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FILE_LIMIT = 64 << 20, HEADER_LIMIT = 1 << 16, PARTS_MAX = 100000 };

struct merge {
    const struct allocate_inputs *inputs;
    struct allocate_plan *plan;
    struct text *input;
    size_t parts;   /* 0: no file read yet */
    char **sources; /* one a part: the file that had it first */
    struct file_list files;
    const char *folder;
};

bool shard_parse(const char *text, struct shard *ret)
{
    const char *slash = strchr(text, '/');
    char first[16];
    long long number;
    long long count;

    if (!slash || slash - text >= (ptrdiff_t)sizeof first)
        return false;
    text_copy(first, (size_t)(slash - text) + 1, text);
    if (!text_to_int(slash + 1, 1, PARTS_MAX, &count) || !text_to_int(first, 1, count, &number))
        return false;
    *ret = (struct shard){ (size_t)number - 1, (size_t)count };
    require(ret->part < ret->parts);
    return true;
}

/* The header, and the options that change which cells there are. */
static int make_input(const struct allocate_inputs *inputs, struct text *out, struct error *err)
{
    if (allocate_inputs_header(inputs, out, err) < 0)
        return -1;
    if (inputs->options.window)
        text_add(out, "window %s\n", inputs->options.window);
    return 0;
}

static json_t *cell_json(const struct allocate_model *model, const struct allocate_cell *cell,
                         size_t window, size_t queue)
{
    const struct search_result *search = &cell->search;

    return json_make("{s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:f, s:f, s:I, s:f}", "window",
                     model->windows->items[window].name, "queue", model->queues[queue].name,
                     "replicas", search->servers, "replicas_degraded", cell->degraded,
                     "failing_seed", search->failing_seed, "worst_seed", search->worst_seed,
                     "requests_high", (json_int_t)search->requests[DEMAND_HIGH], "requests_low",
                     (json_int_t)search->requests[DEMAND_LOW], "wait_high_s",
                     search->wait_s[DEMAND_HIGH], "wait_low_s", search->wait_s[DEMAND_LOW],
                     "worst_day_ms", (json_int_t)search->worst_day.begin.ms, "worst_day_wait_s",
                     search->worst_day.wait_s);
}

/* A file exists already: 0 when it may be replaced, or has the text to be written. */
static int check_present(const char *path, const char *text, const char *input, struct error *err)
{
    owned(text) struct text *present = file_read(path, FILE_LIMIT, NULL);
    owned(json) json_t *root = present ? json_parse(present->chars, present->length, path, NULL)
                                       : NULL;

    if (!root || text_equal(present->chars, text) ||
        !text_equal(json_text_or(root, "input", ""), input))
        return 0;
    return error_set(err, ERROR_CONFLICT,
                     "%s has another answer to the same input: delete the one that you do not "
                     "trust",
                     path);
}

char *shard_write(const struct allocate_inputs *inputs, const struct allocate_plan *plan,
                  struct shard shard, const char *folder, struct error *err)
{
    owned(text) struct text *input = text_new(HEADER_LIMIT);
    owned(chars) char *path = text_format("%s/shard-%zu-of-%zu.json", folder, shard.part + 1,
                                          shard.parts);
    json_t *cells = json_array();
    owned(json) json_t *root = json_make("{s:i, s:i, s:o}", "shard", (int)shard.part + 1, "shards",
                                         (int)shard.parts, "cells", cells);

    require(shard.part < shard.parts && plan->queue_count > 0);
    if (make_input(inputs, input, err) < 0)
        return NULL;
    json_object_set_new(root, "input", json_text(input->chars));
    for (size_t i = 0; i < plan->window_count * plan->queue_count; i++)
        if (plan->cells[i].is_known)
            json_array_append_new(cells, cell_json(inputs->model, &plan->cells[i],
                                                   i / plan->queue_count, i % plan->queue_count));

    owned(chars) char *text = json_print_pretty(root);

    if (file_make_folder(folder, 0777, err) < 0 ||
        check_present(path, text, input->chars, err) < 0 ||
        file_write(path, text, strlen(text), 0666, err) < 0)
        return NULL;
    return steal(&path);
}

/* A whole number of a shard's file. */
struct count_field {
    const char *key;
    int64_t min;
    int64_t max;
    int64_t *value;
};

static int need_count(const json_t *root, const struct count_field *field, struct error *err)
{
    if (json_need_int(root, field->key, field->value, err) < 0)
        return -1;
    return *field->value >= field->min && *field->value <= field->max
               ? 0
               : error_set(err, ERROR_CORRUPT, "%s: %lld cannot be", field->key,
                           (long long)*field->value);
}

static int need_wait(const json_t *root, const char *key, double *ret, struct error *err)
{
    const json_t *value = json_object_get(root, key);

    if (!json_is_number(value) || json_number_value(value) < 0)
        return error_set(err, ERROR_CORRUPT, "%s: expected a wait in seconds", key);
    *ret = json_number_value(value);
    return 0;
}

static int read_cell(const json_t *row, struct allocate_cell *ret, struct error *err)
{
    struct allocate_cell cell = { .is_known = true };
    int64_t replicas;
    int64_t degraded;
    int64_t failing;
    int64_t worst;

    const struct count_field counts[] = {
        { "replicas", 0, INT32_MAX, &replicas },
        { "replicas_degraded", 0, INT32_MAX, &degraded },
        { "failing_seed", -1, INT32_MAX, &failing },
        { "worst_seed", -1, INT32_MAX, &worst },
        { "requests_high", 0, INT64_MAX, &cell.search.requests[DEMAND_HIGH] },
        { "requests_low", 0, INT64_MAX, &cell.search.requests[DEMAND_LOW] },
        { "worst_day_ms", INT64_MIN, INT64_MAX, &cell.search.worst_day.begin.ms },
    };

    for (size_t i = 0; i < COUNT_OF(counts); i++)
        if (need_count(row, &counts[i], err) < 0)
            return -1;
    if (need_wait(row, "wait_high_s", &cell.search.wait_s[DEMAND_HIGH], err) < 0 ||
        need_wait(row, "wait_low_s", &cell.search.wait_s[DEMAND_LOW], err) < 0 ||
        need_wait(row, "worst_day_wait_s", &cell.search.worst_day.wait_s, err) < 0)
        return -1;
    cell.degraded = (int)degraded;
    cell.search.servers = (int)replicas;
    cell.search.failing_seed = (int)failing;
    cell.search.worst_seed = (int)worst;
    *ret = cell;
    return 0;
}

static bool is_same(const struct allocate_cell *left, const struct allocate_cell *right)
{
    bool same = left->degraded == right->degraded &&
                left->search.servers == right->search.servers &&
                left->search.failing_seed == right->search.failing_seed &&
                left->search.worst_seed == right->search.worst_seed &&
                left->search.worst_day.begin.ms == right->search.worst_day.begin.ms;

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        same = same && left->search.requests[class] == right->search.requests[class] &&
               !(left->search.wait_s[class] < right->search.wait_s[class]) &&
               !(left->search.wait_s[class] > right->search.wait_s[class]);
    return same;
}

/* The cell of a row, by its names; NULL when the plan has no such cell. */
static struct allocate_cell *cell_of(const struct merge *merge, const json_t *row, size_t part)
{
    const struct allocate_model *model = merge->inputs->model;
    const char *window = json_text_or(row, "window", "");
    const char *queue = json_text_or(row, "queue", "");

    require(part < merge->parts);
    for (size_t i = 0; i < merge->plan->window_count * merge->plan->queue_count; i++) {
        size_t at = i / merge->plan->queue_count;

        if (text_equal(model->queues[i % merge->plan->queue_count].name, queue) &&
            text_equal(model->windows->items[at].name, window) &&
            allocate_part(at, i % merge->plan->queue_count, merge->parts) == part)
            return &merge->plan->cells[i];
    }
    return NULL;
}

static int take_row(const struct merge *merge, const json_t *row, const char *path, size_t part,
                    struct error *err)
{
    struct allocate_cell *cell = cell_of(merge, row, part);
    struct allocate_cell found;

    if (!cell)
        return error_set(err, ERROR_CORRUPT, "%s: queue %s in window %s is not of shard %zu of %zu",
                         path, json_text_or(row, "queue", "?"), json_text_or(row, "window", "?"),
                         part + 1, merge->parts);
    if (read_cell(row, &found, err) < 0)
        return error_context(err, "%s", path);
    if (cell->is_known && !is_same(cell, &found))
        return error_set(err, ERROR_CONFLICT,
                         "shard %zu of %zu: %s and %s have different answers for queue %s in "
                         "window %s",
                         part + 1, merge->parts, merge->sources[part], path,
                         json_text_or(row, "queue", "?"), json_text_or(row, "window", "?"));
    *cell = found;
    return 0;
}

/* The first line in which two inputs differ. */
static int refuse_input(const char *path, const char *have, const char *want, struct error *err)
{
    size_t line = 0;

    for (size_t i = 0; have[i] && have[i] == want[i]; i++)
        if (have[i] == '\n')
            line = i + 1;
    return error_set(err, ERROR_CONFLICT, "%s is of other input: \"%.*s\" instead of \"%.*s\"",
                     path, (int)strcspn(have + line, "\n"), have + line,
                     (int)strcspn(want + line, "\n"), want + line);
}

static int check_head(struct merge *merge, const json_t *root, const char *path, size_t *ret_part,
                      struct error *err)
{
    const char *input;
    int64_t part;
    int64_t parts;

    if (json_need_text(root, "input", &input, err) < 0 ||
        need_count(root, &(struct count_field){ "shards", 1, PARTS_MAX, &parts }, err) < 0 ||
        need_count(root, &(struct count_field){ "shard", 1, parts, &part }, err) < 0)
        return error_context(err, "%s", path);
    if (!text_equal(input, merge->input->chars))
        return refuse_input(path, input, merge->input->chars, err);
    if (merge->parts == 0) {
        merge->parts = (size_t)parts;
        merge->sources = mem_new_array(merge->parts, sizeof *merge->sources);
    }
    if (merge->parts != (size_t)parts)
        return error_set(err, ERROR_CONFLICT, "%s is one of %lld shards, others are of %zu", path,
                         (long long)parts, merge->parts);
    *ret_part = (size_t)part - 1;
    require(*ret_part < merge->parts);
    return 0;
}

static int take_file(struct merge *merge, const char *path, struct error *err)
{
    owned(text) struct text *bytes = file_read(path, FILE_LIMIT, err);
    owned(json) json_t *root = bytes ? json_parse(bytes->chars, bytes->length, path, err) : NULL;
    json_t *rows;
    size_t part = 0;

    if (!root || check_head(merge, root, path, &part, err) < 0)
        return -1;
    if (json_need_array(root, "cells", &rows, err) < 0)
        return error_context(err, "%s", path);
    if (!merge->sources[part])
        merge->sources[part] = mem_copy_chars(path);
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (take_row(merge, json_array_get(rows, i), path, part, err) < 0)
            return -1;
    return 0;
}

static int check_complete(const struct merge *merge, struct error *err)
{
    const struct allocate_plan *plan = merge->plan;
    owned(text) struct text *missing = text_new(ERROR_TEXT_SIZE / 2);
    size_t count = 0;

    require(merge->parts > 0); /* a shard was read */
    for (size_t i = 0; i < merge->parts; i++)
        if (!merge->sources[i])
            text_add(missing, "%s%zu", count++ > 0 ? ", " : "", i + 1);
    if (count > 0)
        return error_set(err, ERROR_NOT_FOUND,
                         "%s: of %zu shards %s %s missing: compute it with --shard and the same "
                         "other options",
                         merge->folder, merge->parts, missing->chars, count > 1 ? "are" : "is");
    for (size_t i = plan->window_first * plan->queue_count;
         i < plan->window_end * plan->queue_count; i++) {
        size_t window = i / plan->queue_count;
        size_t queue = i % plan->queue_count;

        if (!plan->cells[i].is_known && allocate_has_window(merge->inputs->model, window))
            return error_set(err, ERROR_CORRUPT, "%s: queue %s in window %s is missing",
                             merge->sources[allocate_part(window, queue, merge->parts)],
                             merge->inputs->model->queues[queue].name,
                             merge->inputs->model->windows->items[window].name);
    }
    return 0;
}

static int run_merge(struct merge *merge, struct error *err)
{
    if (make_input(merge->inputs, merge->input, err) < 0 ||
        file_list(merge->folder, ".json", &merge->files, err) < 0)
        return -1;
    if (merge->files.count == 0)
        return error_set(err, ERROR_NOT_FOUND, "%s: no shard is there", merge->folder);
    for (size_t i = 0; i < merge->files.count; i++) {
        owned(chars) char *path = text_format("%s/%s", merge->folder, merge->files.names[i]);

        if (take_file(merge, path, err) < 0)
            return -1;
    }
    return check_complete(merge, err);
}

int shard_merge(const struct allocate_inputs *inputs, struct allocate_plan *plan,
                const char *folder, struct error *err)
{
    owned(text) struct text *input = text_new(HEADER_LIMIT);
    struct merge merge = { .inputs = inputs, .plan = plan, .input = input, .folder = folder };
    int result = run_merge(&merge, err);

    file_list_free(&merge.files);
    for (size_t i = 0; merge.sources && i < merge.parts; i++)
        mem_free(merge.sources[i]);
    mem_free(merge.sources);
    return result;
}
