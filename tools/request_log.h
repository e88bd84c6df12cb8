/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A log of requests for both the planner, which reads it as a file, and the simulation of every
 * iteration, which plays the same requests.
 */
#pragma once

#include "base/array.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "tools/iterations.h"
#include "windows/queueing/replay.h"
#include "windows/servers/engine.h"

struct request_log {
    int64_t begin_ms;     /* of its first minute, in Unix time */
    ARRAY(double) came_s; /* since then, ascending */
    ARRAY(struct iteration_pair) lengths;
    struct text *csv; /* owned: the same as a file */
};

static inline void request_log_init(struct request_log *log, int64_t begin_ms)
{
    *log = (struct request_log){ .begin_ms = begin_ms, .csv = text_new(32 << 20) };
    text_add(log->csv, "t,input_tokens,output_tokens\n");
}

static inline void request_log_add(struct request_log *log, double came_s,
                                   struct iteration_pair lengths)
{
    char when[WALL_TEXT_SIZE];
    int64_t ms = log->begin_ms + (int64_t)(came_s * SECOND_MS);

    *array_add(&log->came_s) = came_s;
    *array_add(&log->lengths) = lengths;
    text_add(log->csv, "%s,%d,%d\n", wall_format((struct wall_time){ ms }, when), lengths.in,
             lengths.out);
}

static inline void request_log_clear(struct request_log *log)
{
    array_clear(&log->came_s);
    array_clear(&log->lengths);
    text_free(log->csv);
}

/* Whether the requests meet the target in the simulation. */
static inline bool iterations_meet(const struct iteration_case *what,
                                   const struct replay_target *target)
{
    struct iteration_result real;
    bool is_met;

    iterations_run(what, &real);
    is_met = iterations_at(real.waits, real.count, target->percentile) * SECOND_MS <=
                 (double)target->wait_ms &&
             (target->ttft.limit_s <= 0 ||
              iterations_at(real.firsts, real.count, target->ttft.percentile) <=
                  target->ttft.limit_s);
    iterations_clear(&real);
    return is_met;
}

/* The fewest replicas that do; looks from `from` on, down and up. */
static inline int request_log_fewest(const struct request_log *log, const struct engine_law *law,
                                     const struct replay_target *target, int from)
{
    struct iteration_case what = {
        .replicas = from,
        .slots = law->slots,
        .iteration_s = law->iteration_s,
        .decode_s = law->per_request_s,
        .prefill_s = law->prefill_s,
        .budget = ITERATION_BUDGET,
        .requests = log->came_s.count,
        .came = log->came_s.items,
        .lengths = log->lengths.items,
    };
    bool is_met = iterations_meet(&what, target);

    if (!is_met) {
        do
            what.replicas++;
        while (!iterations_meet(&what, target));
        return what.replicas;
    }
    while (what.replicas > 1) {
        what.replicas--;
        if (!iterations_meet(&what, target))
            return what.replicas + 1;
    }
    return what.replicas;
}
