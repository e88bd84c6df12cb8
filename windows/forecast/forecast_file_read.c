/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading a forecast's file, which a person or a merge may have changed: every member is checked.
 */
#include "base/file.h"
#include "base/input/json.h"
#include "windows/forecast/forecast_file.h"

#include <math.h>

enum { VERSION = 1, COUNT_MAX = 1000 * 1000 };

static const char *const file_keys[] = { "kind", "version", "windows", NULL };
static const char *const window_keys[] = { "window",      "demand_from", "demand_to", "use_until",
                                           "is_forecast", "queues",      NULL };
static const char *const row_keys[] = { "queue", "replicas", "gpus",        "point",
                                        "lower", "share",    "method",      "basis",
                                        "stale", "score",    "no_forecast", NULL };
static const char *const score_keys[] = { "days",           "covered",           "loss",
                                          "loss_last_week", "loss_last_week_10", NULL };

/* A mistake in a name would otherwise be a value that is not there. */
static int check_keys(const json_t *object, const char *const *keys, struct error *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return error_set(err, ERROR_INVALID, "expected an object");
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        size_t at = 0;

        while (keys[at] && !text_equal(keys[at], key))
            at++;
        if (!keys[at])
            return error_set(err, ERROR_INVALID, "%s: there is no such key", key);
    }
    return 0;
}

static int need_number(const json_t *object, const char *key, double most, double *ret,
                       struct error *err)
{
    const json_t *value = json_object_get(object, key);

    *ret = json_number_value(value);
    if (!json_is_number(value) || !isfinite(*ret) || *ret < 0 || *ret > most)
        return error_set(err, ERROR_INVALID, "%s: expected a number from 0 to %.12g", key, most);
    return 0;
}

static int need_count(const json_t *object, const char *key, int64_t most, int64_t *ret,
                      struct error *err)
{
    if (json_need_int(object, key, ret, err) < 0)
        return -1;
    if (*ret < 0 || *ret > most)
        return error_set(err, ERROR_INVALID, "%s: expected a whole number from 0 to %lld", key,
                         (long long)most);
    return 0;
}

static int need_time(const json_t *object, const char *key, struct wall_time *ret,
                     struct error *err)
{
    const char *chars;

    if (json_need_text(object, key, &chars, err) < 0)
        return -1;
    return wall_parse(chars, false, ret, err) < 0 ? error_context(err, "%s", key) : 0;
}

/* A short word of small letters. */
static int read_word(const json_t *object, const char *key, char *out, struct error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz-";
    const char *chars = "";

    if (json_find_text(object, key, &chars, err) < 0)
        return -1;
    if (strlen(chars) >= FORECAST_WORD_SIZE || chars[strspn(chars, letters)] != '\0')
        return error_set(err, ERROR_INVALID, "%s: expected a short word of small letters", key);
    text_print(out, FORECAST_WORD_SIZE, "%s", chars);
    return 0;
}

static int read_score(const json_t *object, struct forecast_file_score *score, struct error *err)
{
    if (check_keys(object, score_keys, err) < 0 ||
        need_count(object, "days", COUNT_MAX, &score->days, err) < 0 ||
        need_count(object, "covered", score->days, &score->covered, err) < 0)
        return -1;
    if (score->days == 0)
        return 0;
    return need_number(object, "loss", COUNT_MAX, &score->loss, err) < 0 ||
                   need_number(object, "loss_last_week", COUNT_MAX, &score->last_week, err) < 0 ||
                   need_number(object, "loss_last_week_10", COUNT_MAX, &score->last_week_10, err) <
                       0
               ? -1
               : 0;
}

static int read_forecast(const json_t *object, struct forecast_file_row *row, struct error *err)
{
    if (need_number(object, "point", COUNT_MAX, &row->point, err) < 0 ||
        need_number(object, "lower", COUNT_MAX, &row->lower, err) < 0 ||
        need_number(object, "share", 1, &row->share, err) < 0 ||
        read_word(object, "method", row->method, err) < 0 ||
        read_word(object, "basis", row->basis, err) < 0 ||
        read_word(object, "stale", row->stale, err) < 0)
        return -1;
    return read_score(json_object_get(object, "score"), &row->score, err) < 0
               ? error_context(err, "score")
               : 0;
}

static int read_row(const json_t *object, struct forecast_file_window *window, struct error *err)
{
    const char *queue;
    struct forecast_file_row *row;

    if (check_keys(object, row_keys, err) < 0 || json_need_text(object, "queue", &queue, err) < 0)
        return -1;
    for (size_t i = 0; i < window->rows.count; i++)
        if (text_equal(window->rows.items[i].queue, queue))
            return error_set(err, ERROR_INVALID, "queue %s is there twice", queue);
    row = forecast_file_add_row(window, queue);
    if (need_count(object, "replicas", COUNT_MAX, &row->replicas, err) < 0 ||
        need_number(object, "gpus", 1e9, &row->gpus, err) < 0 ||
        read_word(object, "no_forecast", row->lack, err) < 0)
        return error_context(err, "queue %s", queue);
    if (row->lack[0] ? json_object_get(object, "point") != NULL : false)
        return error_set(err, ERROR_INVALID, "queue %s: both a forecast and why there is none",
                         queue);
    if (!row->lack[0] && read_forecast(object, row, err) < 0)
        return error_context(err, "queue %s", queue);
    return 0;
}

static int read_window(const json_t *object, struct forecast_file *file, struct error *err)
{
    const char *name;
    json_t *queues;
    const json_t *row;
    struct forecast_file_window *window;
    size_t i;

    if (check_keys(object, window_keys, err) < 0 ||
        json_need_text(object, "window", &name, err) < 0)
        return -1;
    if (forecast_file_find(file, name))
        return error_set(err, ERROR_INVALID, "window %s is there twice", name);
    window = forecast_file_add(file, name);
    if (need_time(object, "demand_from", &window->from, err) < 0 ||
        need_time(object, "demand_to", &window->to, err) < 0 ||
        need_time(object, "use_until", &window->until, err) < 0 ||
        json_need_bool(object, "is_forecast", &window->is_forecast, err) < 0 ||
        json_need_array(object, "queues", &queues, err) < 0)
        return error_context(err, "window %s", name);
    json_array_foreach(queues, i, row)
        if (read_row(row, window, err) < 0)
            return error_context(err, "window %s", name);
    return 0;
}

static int read_file(const json_t *root, struct forecast_file *file, struct error *err)
{
    const char *kind;
    int64_t version;
    json_t *windows;
    const json_t *window;
    size_t i;

    if (check_keys(root, file_keys, err) < 0 || json_need_text(root, "kind", &kind, err) < 0 ||
        json_need_int(root, "version", &version, err) < 0)
        return -1;
    if (!text_equal(kind, "forecast") || version != VERSION)
        return error_set(err, ERROR_INVALID,
                         "it is not a forecast of version %d: `sluice allocate` of this version "
                         "writes one",
                         VERSION);
    if (json_need_array(root, "windows", &windows, err) < 0)
        return -1;
    json_array_foreach(windows, i, window)
        if (read_window(window, file, err) < 0)
            return -1;
    return 0;
}

struct forecast_file *forecast_file_parse(const char *bytes, size_t size, const char *source,
                                          struct error *err)
{
    owned(forecast_file) struct forecast_file *file = forecast_file_new();
    owned(json) json_t *root = NULL;
    struct error why = { 0 };

    if (size > FORECAST_FILE_LIMIT) {
        error_set(err, ERROR_INVALID, "%s: longer than %d bytes", source, FORECAST_FILE_LIMIT);
        return NULL;
    }
    root = json_parse(bytes, size, source, err);
    if (!root)
        return NULL;
    if (read_file(root, file, &why) == 0)
        return steal(&file);
    error_set(err, ERROR_INVALID, "%s: %s", source, why.text);
    return NULL;
}

struct forecast_file *forecast_file_read(const char *path, struct error *err)
{
    owned(text) struct text *text = file_read(path, FORECAST_FILE_LIMIT, err);

    return text ? forecast_file_parse(text->chars, text->length, path, err) : NULL;
}
