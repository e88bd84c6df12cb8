/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private to the replay: one number of servers on the arrivals of a repetition, run chunk by chunk.
 */
#pragma once

#include "base/random.h"
#include "windows/queueing/replay_waits.h"
#include "windows/servers/servers.h"

/* Requests that have arrived and not started, with UINT64_MAX after the last. */
struct line {
    uint64_t *arrived;
    size_t first;
    size_t end;
    size_t size;
};

struct run {
    const struct service_time *service;
    struct servers servers;
    struct line lines[DEMAND_CLASSES];
    struct random random;
    uint64_t word; /* of random bits, 16 a service */
    unsigned draws;
    uint64_t target;
    int64_t violations[DEMAND_CLASSES];
    struct waits waits;
};

/* What a verdict is made of. */
struct trial {
    struct run run;
    int64_t allowed[DEMAND_CLASSES];
};

/* The trial must be zeroed.  False when it cannot be run.  In both cases replay_run_clear() frees
   its run. */
bool replay_trial_init(struct trial *trial, const struct arrivals *arrivals, int servers,
                       const struct replay_target *target);
bool replay_trial_passes(const struct trial *trial);
void replay_run_clear(struct run *run);

/* A segment begins with this chunk. */
void replay_run_begin(struct run *run, struct arrivals *arrivals,
                      const struct arrivals_chunk *chunk);

bool replay_run_anyone_waits(const struct run *run);

/* Drops the requests that have started, and appends arrivals. */
void replay_line_append(struct line *line, const uint64_t *arrived, size_t count);
void replay_run_append(struct run *run, const struct arrivals_chunk *chunk);

/* Every start before `horizon`; all arrivals before it must be in the lines.  Of several (three at
   most), which takes less time than one by one, only the first keeps waits. */
void replay_run_until(struct run *const *runs, size_t count, uint64_t horizon);

/* Until when a chunk is run: to its end, or with the last until all have started. */
uint64_t replay_run_horizon(const struct arrivals_chunk *chunk);
