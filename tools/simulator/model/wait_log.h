/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How long the requests of a queue waited: counts, means and percentiles, per priority, in all and
 * per hour, in a histogram with steps of 1.6 %.  Times are seconds since the start of the run.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct wait_log;

/* Waits, and times until the first token, over these targets are counted. */
struct wait_log *wait_log_new(double target_s, double first_token_target_s)
    __attribute__((returns_nonnull));
void wait_log_free(struct wait_log *log);

/* A request starts now, after a wait of wait_s; `now_s` never falls. */
void wait_log_add(struct wait_log *log, double now_s, bool is_low, double wait_s);

/* A request got its first token, wait_s after its arrival. */
void wait_log_first_token(struct wait_log *log, double wait_s);

/* Counts, waits at p50, p90, p98 and the longest, per priority, in all and per hour; until the
   first token where there are tokens. */
json_t *wait_log_report(const struct wait_log *log, size_t waiting, int servers)
    __attribute__((returns_nonnull));
