/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Plays the demo's day: runs the rehearsal minute by minute, shows the board, and notes when
 * production was ready for each window.
 */
#pragma once

#include "broker/demo/demo_world.h"
#include "broker/demo/rehearsal.h"
#include "windows/allocation/schedule.h"

#include <stdbool.h>

enum { DEMO_EDGES_MAX = 32 };

/* A window's begin, and since when production had what its schedule wants. */
struct demo_edge {
    struct wall_time begins;
    const char *window;
    int wanted[DEMO_RESERVATIONS_MAX]; /* nodes of the production pools */
    int ready[DEMO_RESERVATIONS_MAX];  /* when it began */
    struct wall_time ready_since;      /* 0: not yet */
    bool is_over;
};

struct demo_play {
    struct rehearsal *rehearsal;
    const struct demo_world *world;
    struct schedule *const *schedules; /* by window of the configuration */
    struct demo_edge edges[DEMO_EDGES_MAX];
    size_t edge_count;
    bool is_quiet; /* no board */
};

/* Runs the whole length; -1 when the service died. */
int demo_play_run(struct demo_play *play, struct error *err) __attribute__((warn_unused_result));

/* Nodes that the schedule wants of the production pool in a reservation. */
int demo_wanted(const struct config *config, const struct schedule *schedule, size_t reservation);
