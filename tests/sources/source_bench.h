/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One source on the virtual loop against a script of answers.
 */
#pragma once

#include "broker/sources/source.h"
#include "tests/clusters/scripted_http.h"

#include <stdio.h>

/* 2026-11-16T00:00:00Z, a Monday, in seconds. */
#define MIDNIGHT 1794787200LL

struct source_bench {
    struct loop *loop;
    struct random random;
    struct world world;
    struct scripted_http *script;
    struct source *source;
    struct demand *demand;
    struct error err;
    int calls;
};

static inline void bench_done(void *context, struct demand *demand, const struct error *err)
{
    struct source_bench *bench = context;

    bench->calls++;
    bench->demand = demand;
    if (err)
        bench->err = *err;
}

/* The clock shows two days after midnight. */
static inline void bench_open(struct source_bench *bench, const struct source_settings *settings,
                              const struct script_step *steps, size_t count)
{
    *bench = (struct source_bench){ 0 };
    bench->loop = loop_virtual_new((struct wall_time){ MIDNIGHT * SECOND_MS + 2 * DAY_MS });
    random_seed(&bench->random, 1);
    bench->script = scripted_http_new(bench->loop, steps, count);
    bench->world = (struct world){ bench->loop, &bench->script->http, &bench->random, NULL, NULL };
    bench->source = source_open(&bench->world, settings, &bench->err);
}

/* Fetches `steps` minutes from midnight on and runs until the end. */
static inline void bench_fetch(struct source_bench *bench, const struct source_queue *queues,
                               size_t count, int64_t steps)
{
    int64_t from_ms = MIDNIGHT * SECOND_MS;
    const struct source_query query = {
        .queues = queues,
        .queue_count = count,
        .span = { { from_ms }, { from_ms + steps * MINUTE_MS }, MINUTE_MS },
    };

    if (!bench->source)
        fail_msg("%s", bench->err.text);
    if (source_fetch(bench->source, &query, bench_done, bench, &bench->err) < 0)
        return;
    assert_int_equal(bench->calls, 0); /* never from inside */
    loop_run(bench->loop);
    assert_int_equal(bench->calls, 1);
    assert_int_equal(bench->script->in_flight, 0);
    assert_true((bench->demand == NULL) == (bench->err.kind != ERROR_NONE));
}

static inline void bench_close(struct source_bench *bench)
{
    demand_free(bench->demand);
    source_close(bench->source);
    http_free(&bench->script->http);
    loop_free(bench->loop);
}

/* "1 2 ? 7" */
static inline void expect_counts(const struct demand_series *series, enum demand_class class,
                                 const char *want)
{
    owned(text) struct text *have = text_new(4096);

    for (size_t i = 0; i < series->count; i++) {
        int32_t count = series->counts[class][i];

        if (count < 0)
            text_add(have, "%s?", i > 0 ? " " : "");
        else
            text_add(have, "%s%d", i > 0 ? " " : "", (int)count);
    }
    assert_string_equal(have->chars, want);
}
