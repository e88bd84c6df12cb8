/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The file beside the schedules that says what they were planned for: for each window and queue the
 * need that was predicted, its bound, and how well such bounds held on past days.  `sluice
 * allocate` writes it, people review it in git with the schedules, and the service keeps it with
 * the plan in force.
 *
 *     {"kind": "forecast", "version": 1, "windows": [
 *       {"window": "day", "demand_from": "2026-11-09T00:00:00Z", "demand_to": ..., "use_until":
 * ..., "is_forecast": true, "queues": [
 *         {"queue": "chat", "replicas": 31, "gpus": 62, "point": 27.10, "lower": 24.00,
 *          "share": 0.9000, "method": "profile", "basis": "rank", "stale": null,
 *          "score": {"days": 12, "covered": 11, "loss": 0.321, ...}},
 *         {"queue": "image", "replicas": 4, "gpus": 8, "no_forecast": "no-days"}]}]}
 *
 * A queue in a window has one line.  The same plan gives the same bytes.
 */
#pragma once

#include "base/array.h"
#include "base/text.h"
#include "base/timestamp.h"

#include <stdbool.h>

#define FORECAST_FILE_NAME "forecast.json" /* in the folder of the schedules */

enum {
    FORECAST_FILE_LIMIT = 512 << 10, /* bytes of the text */
    FORECAST_WORD_SIZE = 32,
};

/* How the bounds of the past occurrences did.  Losses are pinball losses a day, in servers. */
struct forecast_file_score {
    int64_t days; /* occurrences; 0: none, and the losses say nothing */
    int64_t covered;
    double loss;
    double last_week; /* of a plan with last week's need */
    double last_week_10;
};

struct forecast_file_row {
    char *queue;
    int64_t replicas; /* with which the queue meets its target under the bound; without a forecast,
                         under last week's demand */
    double gpus;      /* of these */
    char lack[FORECAST_WORD_SIZE]; /* why there is no forecast; "": there is one: */
    double point; /* predicted need in replicas, of the neediest day until the next plan */
    double lower; /* on `share` of the days the need stays above it */
    double share; /* of the days on which the need stays under the bound, 0 to 1 */
    char method[FORECAST_WORD_SIZE];
    char basis[FORECAST_WORD_SIZE];
    char stale[FORECAST_WORD_SIZE]; /* "": it is not */
    struct forecast_file_score score;
};

struct forecast_file_window {
    char *window;
    struct wall_time from; /* of the demand that was planned from */
    struct wall_time to;
    struct wall_time until; /* the plan was to be made again by then */
    bool is_forecast;       /* planned for bounds; else for last week's demand */
    ARRAY(struct forecast_file_row) rows;
};

struct forecast_file {
    ARRAY(struct forecast_file_window) windows;
};

struct forecast_file *forecast_file_new(void) __attribute__((returns_nonnull, warn_unused_result));
void forecast_file_free(struct forecast_file *file);

/* A new window, or the one of that name emptied.  Valid until the next call. */
struct forecast_file_window *forecast_file_add(struct forecast_file *file, const char *window)
    __attribute__((returns_nonnull));
struct forecast_file_row *forecast_file_add_row(struct forecast_file_window *window,
                                                const char *queue) __attribute__((returns_nonnull));

/* NULL: it has none of that name. */
const struct forecast_file_window *forecast_file_find(const struct forecast_file *file,
                                                      const char *window);

/* The first time by which a window was to be planned again, and that window; NULL: none has one. */
const struct forecast_file_window *forecast_file_first(const struct forecast_file *file);

/* Every member is checked, and an unknown one refused: ERROR_INVALID with "SOURCE: where:
   sentence".  A version that this program does not know is refused, too. */
struct forecast_file *forecast_file_parse(const char *bytes, size_t size, const char *source,
                                          struct error *err) __attribute__((warn_unused_result));
struct forecast_file *forecast_file_read(const char *path, struct error *err)
    __attribute__((warn_unused_result));

/* Appends the file's text. */
void forecast_file_print(const struct forecast_file *file, struct text *out);

static inline void owned_forecast_file(struct forecast_file **file)
{
    forecast_file_free(*file);
}
