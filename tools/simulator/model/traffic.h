/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One queue with many servers, whose number changes while it is played, and two priorities, not
 * pre-emptive.  A server takes one request at a time, or is an engine (engine_play.h).  Times are
 * seconds since the start of the run.
 */
#pragma once

#include "tools/simulator/model/engine_play.h"

#include <jansson.h>
#include <stdint.h>

struct queue_play;

/* Service times have this mean and coefficient of variation: 1 is exponential, 0 constant, else
   log-normal. */
struct queue_play *queue_play_new(uint64_t seed, double service_s, double service_cv,
                                  double target_s) __attribute__((returns_nonnull));
struct queue_play *queue_play_new_engines(uint64_t seed, const struct engine_plan *plan,
                                          double target_s, double first_token_target_s)
    __attribute__((returns_nonnull));
void queue_play_free(struct queue_play *play);

/* count[0] requests of high and count[1] of low priority arrive in [from_s, from_s + length_s),
   not before earlier arrivals. */
void queue_play_arrivals(struct queue_play *play, double from_s, double length_s,
                         const int count[2]);

/* Adds so many servers (negative: removes them) from now on; a removed server first finishes its
   request. */
void queue_play_servers(struct queue_play *play, int change);

void queue_play_until(struct queue_play *play, double until_s);

/* wait_log_report() */
json_t *queue_play_report(const struct queue_play *play) __attribute__((returns_nonnull));
