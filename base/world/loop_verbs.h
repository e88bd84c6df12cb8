/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a kind of loop has to bring.  Private to the loops: an implementation embeds struct loop as
 * its first member; loop.c keeps the timers and hands everything else on.
 */
#pragma once

#include "base/world/loop.h"
#include "base/world/timers.h"

#define LOOP_FOREVER INT64_MAX

struct loop_verbs {
    int64_t (*now)(const struct loop *loop);
    struct wall_time (*machine_wall)(const struct loop *loop); /* its clock, with all jumps */
    void (*run)(struct loop *loop, int64_t until_ms);          /* until then or until is_stopped */
    void (*free)(struct loop *loop);
    struct event_base *(*event_base)(const struct loop *loop);
    void (*on_terminate)(struct loop *loop, timer_fn fire, void *context);
    void (*on_hangup)(struct loop *loop, timer_fn fire, void *context);
    void (*skip)(struct loop *loop, int64_t by_ms);
    int64_t (*turn_ms)(const struct loop *loop); /* these two are NULL where time only jumps */
    int64_t (*late_ms)(const struct loop *loop);
};

struct loop {
    const struct loop_verbs *verbs;
    struct timers timers;
    bool is_stopped;
    int64_t wall_ms; /* loop_wall() when loop_now() was 0; the implementation sets it first */
    char boot[64];   /* loop_boot() */
};

/* Puts the timer to rest, then calls it; it may free itself. */
void loop_fire(struct loop *loop, struct timer *timer);
