/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE step table: the life of a transfer, in order.  A step is one function.  It is called again
 * after each event: it looks at the world, asks for what is missing, and returns a verdict.  It
 * keeps nothing across calls but what the transfer stores.
 */
#pragma once

#include "base/text.h"
#include "base/timestamp.h"

#include <stdbool.h>
#include <stdint.h>

struct runner;
struct transfer;

enum verdict {
    STEP_WAIT,
    STEP_DONE,
    STEP_UNDO,        /* this transfer cannot or must not go on: back to where it began */
    STEP_BACK,        /* this attempt at a machine failed: another one */
    STEP_DRAIN_AGAIN, /* the node was uncordoned, or has pods again, before its removal was
                         accepted */
};

enum late {
    LATE_OWN, /* the step knows its own deadline and what follows */
    LATE_UNDO,
    LATE_NEXT,     /* go on to the next step, which is built for it */
    LATE_BACK,     /* another attempt */
    LATE_OPERATOR, /* keep trying and call for a person */
};

typedef enum verdict (*step_fn)(struct runner *runner, struct transfer *transfer);

struct step {
    const char *name;
    step_fn run;
    int64_t deadline_ms; /* 0: the configuration's, or with LATE_OWN the step's own */
    enum late late;
    step_fn undo;     /* takes back what the step did; NULL: nothing to take back */
    const char *does; /* one line for people */
};

enum transfer_step {
    STEP_ANNOUNCE,
    STEP_NOTICE,
    STEP_CORDON,
    STEP_DRAIN,
    STEP_FORCE,
    STEP_RELEASE, /* the point of no return is in it: the removal that the cloud accepted */
    STEP_CLEAR,
    STEP_ACQUIRE,
    STEP_JOIN,
    STEP_HAND_OVER,
    STEP_COUNT,
};

extern const struct step transfer_steps[STEP_COUNT];

/* Whether the whole step lies before the point of no return. */
bool step_can_undo(int step);

/* The same in words for people: "yes", "until the cloud accepts the removal", "no". */
const char *step_way_back(int step) __attribute__((returns_nonnull));

/* The table as a Mermaid state diagram, for ARCHITECTURE.md. */
void steps_diagram(struct text *out);

/* How long it may take until a node is closed. */
enum { STEP_CLOSE_MS = 10 * MINUTE_MS };

/* side.c: what the side of the origin does */
enum verdict step_drain(struct runner *runner, struct transfer *transfer);
enum verdict step_force(struct runner *runner, struct transfer *transfer);
enum verdict step_clear(struct runner *runner, struct transfer *transfer);
enum verdict step_settle(struct runner *runner, struct transfer *transfer); /* after it */
enum verdict undo_node(struct runner *runner, struct transfer *transfer);
/* closing.c */
enum verdict step_announce(struct runner *runner, struct transfer *transfer);
enum verdict step_notice(struct runner *runner, struct transfer *transfer);
enum verdict step_cordon(struct runner *runner, struct transfer *transfer);
/* release.c */
enum verdict step_release(struct runner *runner, struct transfer *transfer);
/* Whether the machine may be gone, or be going: the removal was accepted, or its outcome is unknown
   and no list of minutes later shows the machine. */
bool step_may_be_released(const struct runner *runner, const struct transfer *transfer);
/* acquire.c */
enum verdict step_acquire(struct runner *runner, struct transfer *transfer);
enum verdict step_hand_over(struct runner *runner, struct transfer *transfer);
/* joining.c */
enum verdict step_join(struct runner *runner, struct transfer *transfer);
/* Whether the machine of this attempt never served: once its start-up taint was removed, pods may
   run on it. */
bool step_may_discard(const struct runner *runner, const struct transfer *transfer);
/* Whether the Node of the new machine may be missing in the list only: it is read by its name
   before the attempt ends. */
bool step_is_hidden(struct runner *runner, struct transfer *transfer);
/* Ends a late attempt: first records what the machine lacks, for how long, and its node's
   conditions. */
void step_give_up(struct runner *runner, struct transfer *transfer);
