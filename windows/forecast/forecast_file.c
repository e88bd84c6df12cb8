/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The forecast's file as a value, and its text; forecast_file_read.c reads it.
 */
#include "windows/forecast/forecast_file.h"

#include "base/input/json.h"

#include <inttypes.h>

struct forecast_file *forecast_file_new(void)
{
    return mem_new(sizeof(struct forecast_file));
}

static void clear_rows(struct forecast_file_window *window)
{
    for (size_t i = 0; i < window->rows.count; i++)
        mem_free(window->rows.items[i].queue);
    array_clear(&window->rows);
}

void forecast_file_free(struct forecast_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->windows.count; i++) {
        clear_rows(&file->windows.items[i]);
        mem_free(file->windows.items[i].window);
    }
    array_clear(&file->windows);
    mem_free(file);
}

const struct forecast_file_window *forecast_file_find(const struct forecast_file *file,
                                                      const char *window)
{
    for (size_t i = 0; i < file->windows.count; i++)
        if (text_equal(file->windows.items[i].window, window))
            return &file->windows.items[i];
    return NULL;
}

const struct forecast_file_window *forecast_file_first(const struct forecast_file *file)
{
    const struct forecast_file_window *first = NULL;

    for (size_t i = 0; i < file->windows.count; i++) {
        const struct forecast_file_window *window = &file->windows.items[i];

        if (window->until.ms > 0 && (!first || window->until.ms < first->until.ms))
            first = window;
    }
    return first;
}

struct forecast_file_window *forecast_file_add(struct forecast_file *file, const char *window)
{
    const struct forecast_file_window *known = forecast_file_find(file, window);
    struct forecast_file_window *item = known ? &file->windows.items[known - file->windows.items]
                                              : array_add(&file->windows);

    clear_rows(item);
    if (!item->window)
        item->window = mem_copy_chars(window);
    return item;
}

struct forecast_file_row *forecast_file_add_row(struct forecast_file_window *window,
                                                const char *queue)
{
    struct forecast_file_row *row = array_add(&window->rows);

    row->queue = mem_copy_chars(queue);
    return row;
}

/* A member with a text, quoted as JSON has it. */
static void add_text(struct text *out, const char *before, const char *chars)
{
    json_t *value = json_text(chars);
    owned(chars) char *quoted = json_print(value);

    text_add(out, "%s%s", before, quoted);
    json_decref(value);
}

static void print_score(const struct forecast_file_score *score, struct text *out)
{
    text_add(out, ", \"score\": {\"days\": %" PRId64 ", \"covered\": %" PRId64, score->days,
             score->covered);
    if (score->days > 0)
        text_add(out, ", \"loss\": %.3f, \"loss_last_week\": %.3f, \"loss_last_week_10\": %.3f",
                 score->loss, score->last_week, score->last_week_10);
    text_add(out, "}");
}

static void print_row(const struct forecast_file_row *row, struct text *out)
{
    add_text(out, "        {\"queue\": ", row->queue);
    text_add(out, ", \"replicas\": %" PRId64 ", \"gpus\": %.12g", row->replicas, row->gpus);
    if (row->lack[0]) {
        add_text(out, ", \"no_forecast\": ", row->lack);
    } else {
        text_add(out, ", \"point\": %.2f, \"lower\": %.2f, \"share\": %.4f", row->point, row->lower,
                 row->share);
        add_text(out, ", \"method\": ", row->method);
        add_text(out, ", \"basis\": ", row->basis);
        if (row->stale[0])
            add_text(out, ", \"stale\": ", row->stale);
        print_score(&row->score, out);
    }
    text_add(out, "}");
}

static void print_window(const struct forecast_file_window *window, struct text *out)
{
    char from[WALL_TEXT_SIZE], to[WALL_TEXT_SIZE], until[WALL_TEXT_SIZE];

    add_text(out, "    {\n      \"window\": ", window->window);
    text_add(out,
             ",\n      \"demand_from\": \"%s\",\n      \"demand_to\": \"%s\",\n"
             "      \"use_until\": \"%s\",\n      \"is_forecast\": %s,\n      \"queues\": [",
             wall_format(window->from, from), wall_format(window->to, to),
             wall_format(window->until, until), window->is_forecast ? "true" : "false");
    for (size_t i = 0; i < window->rows.count; i++) {
        text_add(out, "%s\n", i > 0 ? "," : "");
        print_row(&window->rows.items[i], out);
    }
    text_add(out, "%s]\n    }", window->rows.count > 0 ? "\n      " : "");
}

void forecast_file_print(const struct forecast_file *file, struct text *out)
{
    text_add(out, "{\n  \"kind\": \"forecast\",\n  \"version\": 1,\n  \"windows\": [");
    for (size_t i = 0; i < file->windows.count; i++) {
        text_add(out, "%s\n", i > 0 ? "," : "");
        print_window(&file->windows.items[i], out);
    }
    text_add(out, "%s]\n}\n", file->windows.count > 0 ? "\n  " : "");
}
