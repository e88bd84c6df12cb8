/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The two sides of a transfer.  A side is the part of a transfer that one kind of cluster does: as
 * origin it lets a node go, as target it takes one in.  The runner calls the origin's side for the
 * steps before the machine is gone and the goal's side for those after, each chosen by the kind of
 * its cluster (`clusters.NAME.kind`).  This folder knows no kind of cluster.
 *
 * A function gets runner and transfer, returns a verdict as steps do, and says with
 * transfer_wait_for() what is waited for.
 */
#pragma once

#include "base/text.h"
#include "base/timestamp.h"
#include "broker/transfer/effect_kind.h"
#include "broker/transfer/steps.h"

#include <jansson.h>

struct config_cluster;
struct config_workload;
struct node;
struct runner;
struct snapshot;
struct transfer;

typedef bool (*side_question_fn)(struct runner *runner, struct transfer *transfer);

/* How a node leaves a cluster of this kind.  Each member except `are_ready` and `wish` is a step or
   a part of one. */
struct side_origin {
    step_fn check; /* STEP_DONE: the node is there, and may still be moved */

    /* Asks that the node shows the transfer and its departure; node: as it was checked.  It shows
       them when side_is_told() says so. */
    void (*announce)(struct runner *runner, struct transfer *transfer, const struct node *node);
    step_fn close; /* nothing new comes to the node; STEP_DONE: it shows that */
    step_fn empty; /* asks what runs there to leave, until `drain_due` */
    step_fn force; /* ends what would not leave */
    step_fn clear; /* after its machine is gone: what the cluster still has of the node */
    step_fn undo;  /* undoes announce and close; STEP_DONE: nothing is left of them */

    /* The part of clear that need not be done before the next steps, and goes on during them if the
       deadline of clear has passed; the transfer ends after it.  NULL: none. */
    step_fn settle;

    /* By direct reads asked for at or after since_ms (loop time), right before the machine's
       removal: STEP_DONE, STEP_WAIT, STEP_UNDO (it is another node), or STEP_DRAIN_AGAIN. */
    enum verdict (*may_remove)(struct runner *runner, struct transfer *transfer, int64_t since_ms);

    /* Whether the watch shows the node in use again since asked_ms (loop time). */
    bool (*is_in_use)(const struct runner *runner, const struct transfer *transfer,
                      int64_t asked_ms);

    /* Whether no workload on the node needs more time; *ret_count: how many there are. */
    bool (*are_ready)(const struct runner *runner, const struct transfer *transfer, int *ret_count);

    /* Until when a workload asks for its node, and which one, in words; 0: none asks. */
    struct wall_time (*wish)(const struct runner *runner, const struct transfer *transfer,
                             char *ret_who, size_t size);
};

/* How the machine of an attempt becomes a node of a cluster of this kind. */
struct side_target {
    /* Adds what the node still lacks, in words.  It may serve if nothing is added. */
    void (*lacks)(const struct runner *runner, const struct transfer *transfer,
                  struct text *missing);
    int (*note_ready)(struct runner *runner,
                      struct transfer *transfer); /* records that it lacks nothing;
                                                     -1: the journal failed */
    step_fn welcome;                              /* lets it serve */
    side_question_fn is_lost; /* the server itself has no such node either, by its name */
    bool (*may_discard)(const struct runner *runner, const struct transfer *transfer); /* it never
                                                                                           served */

    /* Before the removal of the machine of a failed attempt: whether nothing runs on it, by a
       direct read sent at or after since_ms.  And after the removal: whether its node is gone, or
       need not be waited for. */
    bool (*is_idle)(struct runner *runner, struct transfer *transfer, int64_t since_ms);
    side_question_fn discard;
};

/* The object of a cluster that holds a number; all is borrowed for the call. */
struct side_holder {
    const struct runner *runner;
    const struct config_cluster *cluster;
    const void
        *of; /* what the configuration says of it: a struct config_workload or config_quota */
};

/* A number in an object of a cluster that is kept at what is wanted. */
typedef void (*side_done_fn)(void *context, const json_t *body, const struct error *err);
struct side_number {
    int64_t least; /* that the object may hold */

    /* Reads the object; done gets it, or an error.  Next: the number in the object. */
    void (*read)(const struct side_holder *holder, side_done_fn done, void *context);
    int (*decode)(const void *of, const json_t *object, const struct error *failure,
                  int64_t *ret_value, struct error *err);

    /* The field manager, other than sluice, that set it last.  The caller frees it; NULL:
       unknown. */
    char *(*setter)(const json_t *object);

    /* Sets it; object: as last read. */
    void (*write)(const struct side_holder *holder, const json_t *object, int64_t value,
                  side_done_fn done, void *context);

    /* NULL, or: checks, before a write, whether it may be written at all.  Next: the objection in
       the object that done got, in a sentence; the caller frees it; NULL: none. */
    void (*check)(const struct side_holder *holder, side_done_fn done, void *context);
    char *(*objection)(const void *of, const json_t *body, const struct error *err);

    /* NULL, or: whether the cluster has done what the number asks for. */
    bool (*is_followed)(const struct side_holder *holder, const json_t *object, int64_t wanted);
};

typedef void (*side_asked_fn)(void *context);

struct side {
    const char *kind; /* of clusters */
    struct side_origin origin;
    struct side_target target;
    const struct effect_kind *const *effects; /* NULL at the end; no other side has their names */

    /* The side's state for one runner; it loads its own records from the journal, and may set some
       aside. */
    void *(*open)(struct runner *runner);
    int (*load)(void *state, struct error *err);
    bool (*tick)(void *state); /* after each turn; true while something is left to do */
    void (*close)(void *state);

    /* The side's memory of one transfer (side_see()), in this process only.  is_under_way: an
       answer is still to come.  trouble: why its answers make no sense; NULL: they do.  forget:
       frees it. */
    bool (*is_under_way)(const void *seen);
    const char *(*trouble)(const void *seen);
    void (*forget)(void *seen);

    /* [{cluster, owner, transfers, is_ending, text}] of the work that it has stopped as a whole. */
    json_t *(*describe_stopped)(const void *state);

    /* Announces transfers to people in their clusters (conditions, Events), a few at a time. */
    void (*tell_people)(void *state);

    /* The blockers of the nodes that leave one cluster together: for each node an array of [{pod,
       class, owner, kind, verdict, text, expected_s, advice, server}], the worst first. */
    json_t *(*blockers)(const struct runner *runner, const struct config_cluster *cluster,
                        const char *const *nodes, size_t count, int64_t deadline_ms);

    /* Sends eviction dry runs for uncertain `blockers` of an answer's `transfers`, and counts them
       with side_count_dry_runs(); calls done within a few seconds, maybe at once. */
    void (*ask_dry_runs)(void *state, json_t *answer, side_asked_fn done, void *context);

    /* The numbers that it keeps.  NULL: this kind keeps none; its cluster_kind says so, too, and
       the configuration has none for its clusters. */
    const struct side_number *(*replicas)(const struct config_workload *workload);
    const struct side_number *quota;
};

/* The side of a cluster; it must have one. */
const struct side *side_of(const struct runner *runner, const struct config_cluster *cluster)
    __attribute__((returns_nonnull));
const struct side_origin *side_origin(const struct runner *runner, const struct transfer *transfer)
    __attribute__((returns_nonnull));
const struct side_target *side_target(const struct runner *runner, const struct transfer *transfer)
    __attribute__((returns_nonnull));

/* The clusters of origin and target as they were last seen; and the node that leaves the origin,
   bound by its UID, or NULL where it is not shown.  Borrowed until the next turn. */
const struct snapshot *side_origin_snapshot(const struct runner *runner,
                                            const struct transfer *transfer)
    __attribute__((returns_nonnull));
const struct snapshot *side_target_snapshot(const struct runner *runner,
                                            const struct transfer *transfer)
    __attribute__((returns_nonnull));
const struct node *side_leaving_node(const struct runner *runner, const struct transfer *transfer);

/* Whether the node shows that it is this transfer's; and the departure that is in force, too. */
bool side_is_marked(const struct node *node, const struct transfer *transfer);
bool side_is_told(const struct node *node, const struct transfer *transfer);

/* What the side keeps for the runner. */
void *side_state(const struct runner *runner, const struct side *side)
    __attribute__((returns_nonnull));

/* The side's data of the transfer; NULL: none yet.  The side owns it. */
void *side_seen(const struct transfer *transfer, const struct side *side);
void side_see(struct transfer *transfer, const struct side *side, void *seen);

/* The row of this name, among the core's and the sides'; NULL: there is none. */
const struct effect_kind *side_effect_kind(const struct runner *runner, const char *name,
                                           size_t length);

/* For the runner.  sides: NULL at the end. */
void sides_open(struct runner *runner, const struct side *const *sides);
int sides_load(struct runner *runner, struct error *err) __attribute__((warn_unused_result));
bool sides_tick(struct runner *runner);
void sides_close(struct runner *runner);
bool sides_are_under_way(const struct transfer *transfer);
const char *sides_trouble(const struct transfer *transfer);
json_t *sides_describe_stopped(const struct runner *runner)
    __attribute__((returns_nonnull, warn_unused_result));
void sides_tell_people(struct runner *runner);

/* Adds to the answer's `dry_runs` {asked, unanswered, unheard}; takes unheard, an array of names.
 */
void side_count_dry_runs(json_t *answer, int asked, int unanswered, json_t *unheard);
