/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Demand as people export it, with a list of gaps: counts are known or unknown, never anything
 * else, and no series ends after the demand.  The input is both files, with a line "---" between;
 * its size chooses the time zone, what silence means, and whether times may count from a beginning.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"
#include "windows/demand/demand.h"
#include "windows/servers/engine_lengths.h"

#include <math.h>

enum { STEPS_MAX = 64 << 20 };

/* Of up to fifty million steps: plain, so that the sanitizers do not make it last. */
static int32_t lowest(const int32_t *counts, size_t count)
{
    int32_t found = 0;

    for (size_t i = 0; counts && i < count; i++)
        found = counts[i] < found ? counts[i] : found;
    return found;
}

static void check_tokens(const struct token_pairs *tokens)
{
    double requests = 0;

    for (size_t i = 0; i < tokens->list.count; i++) {
        const struct token_pair *pair = &tokens->list.items[i];

        require(pair->in >= 0 && pair->in <= TOKENS_MAX && floorf(pair->in) == pair->in);
        require(pair->out >= 1 && pair->out <= TOKENS_MAX && floorf(pair->out) == pair->out);
        require(pair->count > 0);
        requests += (double)pair->count;
    }
    require(tokens->requests >= requests * (1 - 1e-6));
}

static void check(const struct demand *demand)
{
    for (size_t i = 0; i < demand->count; i++) {
        const struct demand_series *series = &demand->series[i];

        require(series->queue && series->step_ms > 0 && series->count < STEPS_MAX);
        require(series->longest_ms >= series->step_ms && series->count > 0);
        require(demand_time(series, series->count).ms <= demand->end.ms);
        require(i == 0 || strcmp(demand->series[i - 1].queue, series->queue) < 0);
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            require(lowest(series->counts[class], series->count) >= DEMAND_UNKNOWN);
        if (series->tokens)
            check_tokens(series->tokens);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    owned(chars) char *chars = fuzz_chars(bytes, size);
    char *part = strstr(chars, "\n---\n");
    size_t length = part ? (size_t)(part - chars) + 1 : size;
    owned(time_zone) struct time_zone *zone = size % 2 ? time_zone_open("Europe/Berlin", NULL)
                                                       : NULL;
    struct demand_options options = { .missing_zero = size % 4 > 1,
                                      .zone = zone,
                                      .begin = size % 8 > 5 ? "2026-11-02T00:00:00Z" : NULL };
    struct error err = { 0 };
    struct demand *demand;

    if (part)
        options.gaps = fuzz_file((const uint8_t *)part + 5, size - (size_t)(part + 5 - chars));
    demand = demand_parse(chars, length, "fuzz.csv", &options, &err);
    if (demand)
        check(demand);
    else
        fuzz_expect_error(&err);
    demand_free(demand);
    return 0;
}
