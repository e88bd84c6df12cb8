/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lasting lies of lists, for the fakes that answer lists.  See lies.c and the README.
 */
#pragma once

#include "tools/simulator/model/model.h"

enum lie_list { LIE_MACHINES, LIE_NODES, LIE_PODS, LIE_LIST_COUNT };

enum lie_kind {
    LIE_EMPTY, /* nothing */
    LIE_HALF,  /* every second one of those that were there at its beginning is missing */
    LIE_SOME,  /* every fourth one */
    LIE_NEW,   /* whatever came after its beginning is missing */
    LIE_OLD,   /* what was true so long ago */
    LIE_KIND_COUNT,
};

struct lie;

struct lie_names {
    size_t count;
    size_t capacity;
    const char **items;
};

/* A machine as the cloud's list shows it. */
struct shown {
    const char *name;
    const struct machine *machine; /* NULL: as `text` has it */
    const char *text;
};

struct shown_list {
    size_t count;
    size_t capacity;
    struct shown *items;
};

/* lies.c; machine.c calls it after each change of a machine. */
void sim_machine_changed(struct simulator *sim, const struct machine *machine, bool is_gone);
/* kube_watch.c: those of all objects of the kind end with 410 */
void sim_watches_expire(struct kube_cluster *cluster, enum object_kind kind);

struct lies *sim_lies_new(const struct simulator *sim) __attribute__((returns_nonnull));
int sim_lies_read(struct simulator *sim, struct error *err) __attribute__((warn_unused_result));
void sim_lies_free(struct lies *lies, size_t pool_count);

/* The lie in force for this list, or NULL. of: index of the pool or cluster. */
const struct lie *sim_lie_about(const struct simulator *sim, enum lie_list list, size_t of);
bool sim_lie_hides(const struct lie *lie, const char *name);
/* Whether acting on the lie is a violation: the referee then reports machines that are removed
   because of it.  A node and its pods can be read directly before its machine is removed. */
bool sim_lie_frees(const struct lie *lie);
/* Loop time up to which the list is correct; lie NULL: now. */
int64_t sim_lie_time(const struct simulator *sim, const struct lie *lie);

/* The machines that the pool's list shows, by name; the caller clears the array. */
void sim_machines_shown(const struct simulator *sim, const struct pool *pool,
                        struct shown_list *list);
