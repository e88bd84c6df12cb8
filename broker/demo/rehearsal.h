/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A rehearsal: the real service in virtual time against the simulator, in one process.  The demo
 * and the tests run it.  The journal outlives the service, so a service can be killed at any point
 * and another one started on what was promised; after a kill nothing of the old one takes effect.
 *
 * The referee asks the journal whether each effect that reaches the world was intended.
 */
#pragma once

#include "base/world/world.h"
#include "broker/config/config.h"
#include "broker/service/service.h"
#include "tools/simulator/model/simulator.h"

#include <stdbool.h>

struct rehearsal {
    struct loop *loop;
    struct simulator *simulator;
    struct journal *journal;
    struct http *door; /* the service's way out; shut after a kill */
    struct config *config;
    struct random random;
    struct world world;
    struct service *service; /* NULL between a kill and a start */
    uint64_t seed;
    int64_t commits; /* by services so far */
    int64_t kill_at; /* the commit at which the process dies; 0: none */
    bool dies_after; /* that commit is written */
    bool is_dead;
};

/* Opens world and journal at the wall time; no service yet. */
struct rehearsal *rehearsal_open(const char *config_path, const char *world_path,
                                 struct wall_time start, uint64_t seed, struct error *err)
    __attribute__((warn_unused_result));
void rehearsal_close(struct rehearsal *rehearsal);

/* From now on each write of the journal takes so long. */
void rehearsal_slow_disk(struct rehearsal *rehearsal, int64_t delay_ms);

/* Starts a service on the journal as it is. */
int rehearsal_start(struct rehearsal *rehearsal, struct error *err)
    __attribute__((warn_unused_result));

/* Ends the service as SIGKILL would: nothing is flushed, nothing more is sent. */
void rehearsal_kill(struct rehearsal *rehearsal);

/* Kills the service at its commit number `at` from now: before it is written, or right after it,
   and in both cases before the next action. */
void rehearsal_kill_at_commit(struct rehearsal *rehearsal, int64_t at);
void rehearsal_kill_after_commit(struct rehearsal *rehearsal, int64_t at);

/* Runs for so long in virtual time, or until the service died. */
void rehearsal_run(struct rehearsal *rehearsal, int64_t duration_ms);

/* Prints the referee's violations; how many. */
size_t rehearsal_violations(const struct rehearsal *rehearsal);

static inline void owned_rehearsal(struct rehearsal **rehearsal)
{
    rehearsal_close(*rehearsal);
}
