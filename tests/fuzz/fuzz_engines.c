/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What Prometheus answers about engines, up to the law: an answer that is none is an error, and a
 * law has standard errors.  Odd sizes are a table of measured engines instead, which reads again as
 * what it was.
 */
#include "broker/sources/engine_grid.h"
#include "broker/sources/prometheus.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"
#include "windows/servers/engine_table.h"
#include "windows/servers/profile.h"

#include <math.h>

static void check_table(const uint8_t *bytes, size_t size)
{
    struct error err = { 0 };
    const char *path = fuzz_file(bytes, size);
    owned(engine_table) struct engine_table *table = engine_table_read(path, &err);

    if (!table)
        fuzz_expect_error(&err);
    for (size_t i = 0; table && i < table->count; i++) {
        require(table->rows[i].measure.tokens_out >= 1);
        require(table->rows[i].measure.iteration_s + table->rows[i].measure.per_request_s > 0);
    }
}

static void check_law(const struct engine_scrapes *scrapes)
{
    const struct profile_hints hints = { .hides_prefill = isnan(scrapes->computed) };
    owned(profile_intervals) struct profile_intervals *intervals = profile_intervals_new(
        scrapes->scrapes, scrapes->count);
    struct profile_law law = { 0 };
    struct error err = { 0 };

    if (profile_measure(intervals, &hints, &law, &err) < 0)
        fuzz_expect_error(&err);
    else if (law.method == PROFILE_SAFE)
        require(law.slowest_s > 0);
    else
        require(law.value[PROFILE_REQUEST_S] > 0 && law.error[PROFILE_REQUEST_S] >= 0);
}

/* Each answer is all columns of the grid, one after the other. */
static void check_answer(const uint8_t *bytes, size_t size)
{
    owned(chars) char *body = fuzz_chars(bytes, size);
    const struct http_answer answer = { .status = 200, .body = body, .body_size = size };
    struct engine_scrapes *scrapes = mem_new(sizeof *scrapes);
    struct engine_grid grid;
    struct error err = { 0 };
    owned(json) json_t *parsed = NULL;
    json_t *series = NULL;
    int result = prometheus_series(&answer, &parsed, &series, &err);

    engine_grid_init(&grid, (struct wall_time){ 1700000040000 },
                     (struct wall_time){ 1700000040000 + 40 * 15000 }, 15000);
    for (int column = 0; column < ENGINE_COLUMNS && result == 0; column++)
        result = engine_grid_add(&grid, (enum engine_column)column, series, &err);
    if (result < 0)
        fuzz_expect_error(&err);
    engine_grid_finish(&grid, scrapes);
    check_law(scrapes);
    engine_grid_clear(&grid);
    engine_scrapes_free(scrapes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size % 2)
        check_table(bytes, size);
    else
        check_answer(bytes, size);
    return 0;
}
