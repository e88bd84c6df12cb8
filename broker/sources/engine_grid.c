/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Steps that saw no new scrape repeat the one before, with its time: they make no scrape of their
 * own.  So a target that is gone, whose last values Prometheus repeats for minutes, adds nothing.
 */
#include "broker/sources/engine_grid.h"

#include "base/text.h"
#include "broker/sources/prometheus.h"

#include <math.h>
#include <string.h>

enum { CELLS_MAX = 16 << 20 };

void engine_grid_init(struct engine_grid *grid, struct wall_time first, struct wall_time last,
                      int64_t step_ms)
{
    *grid = (struct engine_grid){
        .first = first,
        .step_ms = step_ms,
        .steps = (size_t)((last.ms - first.ms) / step_ms) + 1,
    };
}

void engine_grid_clear(struct engine_grid *grid)
{
    for (size_t i = 0; i < grid->instance_count; i++)
        mem_free(grid->instances[i]);
    mem_free(grid->instances);
    mem_free(grid->cells);
}

/* "10.0.0.1:8000 0": the values of its labels, in the order of their names. */
static char *instance_name(json_t *metric)
{
    struct text *out = text_new(TEXT_UNBOUNDED);
    const char *key;
    json_t *value;

    json_object_foreach(metric, key, value)
        text_add(out, "%s%s", out->length > 0 ? " " : "", json_string_value(value) ?: "");
    return text_take(out);
}

/* The instance's cells; a new instance gets new ones.  NULL: there are too many instances. */
static double *find_instance(struct engine_grid *grid, json_t *metric)
{
    owned(chars) char *name = instance_name(metric);
    size_t size = grid->steps * ENGINE_COLUMNS;
    size_t at = 0;

    while (at < grid->instance_count && strcmp(grid->instances[at], name) != 0)
        at++;
    if (at < grid->instance_count)
        return &grid->cells[at * size];
    if ((at + 1) * size > CELLS_MAX)
        return NULL;
    grid->instances = mem_resize(grid->instances, at + 1, sizeof *grid->instances);
    grid->cells = mem_resize(grid->cells, (at + 1) * size, sizeof *grid->cells);
    grid->instances[at] = steal(&name);
    grid->instance_count++;
    for (size_t i = 0; i < size; i++)
        grid->cells[at * size + i] = NAN;
    return &grid->cells[at * size];
}

static int add_points(const struct engine_grid *grid, double *cells, const json_t *values,
                      struct error *err)
{
    for (size_t i = 0; i < json_array_size(values); i++) {
        int64_t ms;
        double value;

        if (prometheus_point(json_array_get(values, i), &ms, &value, err) < 0)
            return -1;
        ms -= grid->first.ms;
        if (ms < 0 || ms % grid->step_ms != 0 || (size_t)(ms / grid->step_ms) >= grid->steps)
            return error_set(err, ERROR_CORRUPT, "a point is not on one of the steps asked for");
        cells[(size_t)(ms / grid->step_ms) * ENGINE_COLUMNS] = value;
    }
    return 0;
}

int engine_grid_add(struct engine_grid *grid, enum engine_column column, const json_t *series,
                    struct error *err)
{
    for (size_t i = 0; i < json_array_size(series); i++) {
        const json_t *one = json_array_get(series, i);
        json_t *values = NULL;
        double *cells;

        if (json_need_array(one, "values", &values, err) < 0)
            return error_context(err, "expected a series of numbers");
        cells = find_instance(grid, json_object_get(one, "metric"));
        if (!cells)
            return error_set(err, ERROR_INVALID,
                             "%zu instances of %zu steps are too much at once: ask for a shorter "
                             "span, or for fewer instances",
                             json_array_size(series), grid->steps);
        if (add_points(grid, cells + column, values, err) < 0)
            return -1;
    }
    return 0;
}

static const enum engine_column counter_columns[PROFILE_COUNTERS] = {
    [PROFILE_ITERATIONS] = COLUMN_ITERATIONS,
    [PROFILE_GENERATED] = COLUMN_GENERATED,
    [PROFILE_PREFILL] = COLUMN_COMPUTED,
    [PROFILE_GAP_SECONDS] = COLUMN_GAP_SECONDS,
    [PROFILE_GAPS] = COLUMN_GAPS,
};

/* NAN is no number, and is not added. */
static double more(double sum, double number)
{
    return isnan(number) ? sum : isnan(sum) ? number : sum + number;
}

static void add_scrape(struct engine_scrapes *scrapes, size_t instance, const double *cells,
                       enum engine_column computed)
{
    struct profile_scrape *scrape = &scrapes->scrapes[scrapes->count++];
    double running = cells[COLUMN_RUNNING];

    scrape->instance = instance;
    scrape->at_s = cells[COLUMN_TIME];
    scrape->running_least = cells[COLUMN_RUNNING_LEAST];
    scrape->running_mean = cells[COLUMN_RUNNING_MEAN];
    for (int i = 0; i < PROFILE_COUNTERS; i++)
        scrape->counters[i] = cells[counter_columns[i]];
    scrape->counters[PROFILE_PREFILL] = cells[computed];
    scrapes->running_most = fmax(scrapes->running_most, running); /* of NAN: the other */
    if (cells[COLUMN_WAITING] > 0)
        scrapes->slots_seen = fmax(scrapes->slots_seen, running);
}

/* The increase of a counter over all scrapes of an instance that also have the column `beside`.  A
   counter that falls means a restart. */
static double growth(const struct engine_grid *grid, size_t instance, enum engine_column column,
                     enum engine_column beside)
{
    const double *cells = &grid->cells[instance * grid->steps * ENGINE_COLUMNS];
    double sum = NAN;
    double before = NAN;

    for (size_t step = 0; step < grid->steps; step++) {
        const double *cell = &cells[step * ENGINE_COLUMNS];
        double now = isnan(cell[beside]) ? NAN : cell[column];

        if (!isnan(before) && !isnan(now))
            sum = more(sum, now >= before ? now - before : now);
        before = isnan(now) ? before : now;
    }
    return sum;
}

static double all_growth(const struct engine_grid *grid, enum engine_column column,
                         enum engine_column beside)
{
    double sum = NAN;

    for (size_t i = 0; i < grid->instance_count; i++)
        sum = more(sum, growth(grid, i, column, beside));
    return sum;
}

/* Without prompts from a cache all prompts are computed. */
static enum engine_column computed_column(const struct engine_scrapes *scrapes)
{
    bool has_no_cache = scrapes->has_cache_off || scrapes->totals[NAME_CACHED] == 0;

    return isnan(scrapes->computed) && has_no_cache ? COLUMN_PROMPTS : COLUMN_COMPUTED;
}

void engine_grid_finish(struct engine_grid *grid, struct engine_scrapes *scrapes)
{
    enum engine_column computed;

    scrapes->scrapes = mem_new_array(grid->instance_count * grid->steps + 1,
                                     sizeof *scrapes->scrapes);
    scrapes->slots_seen = scrapes->running_most = NAN;
    scrapes->computed = all_growth(grid, COLUMN_COMPUTED, COLUMN_PROMPTS);
    scrapes->prompts = all_growth(grid, COLUMN_PROMPTS,
                                  isnan(scrapes->computed) ? COLUMN_PROMPTS : COLUMN_COMPUTED);
    computed = computed_column(scrapes);
    scrapes->computed = computed == COLUMN_PROMPTS ? scrapes->prompts : scrapes->computed;
    for (size_t i = 0; i < grid->instance_count; i++) {
        double before_s = NAN;

        for (size_t step = 0; step < grid->steps; step++) {
            const double *cells = &grid->cells[(i * grid->steps + step) * ENGINE_COLUMNS];

            if (isnan(cells[COLUMN_TIME]) || cells[COLUMN_TIME] == before_s)
                continue;
            add_scrape(scrapes, i, cells, computed);
            before_s = cells[COLUMN_TIME];
        }
    }
    scrapes->instances = steal(&grid->instances);
    scrapes->instance_count = grid->instance_count;
    grid->instance_count = 0;
}
