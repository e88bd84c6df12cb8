/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A transfer: the life of one node from one pool to another, as the journal keeps it.  Everything
 * that decides what happens next is in the stored part; the rest of the struct is what this
 * process has seen meanwhile, and is empty after a restart.
 */
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "broker/config/config.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum transfer_state {
    TRANSFER_LIVE,
    TRANSFER_DONE,     /* handed over in the target pool */
    TRANSFER_UNDONE,   /* withdrawn before the point of no return; the node is as it was */
    TRANSFER_RETURNED, /* the target had no room: rebuilt in the source pool */
    TRANSFER_STATE_COUNT,
};

/* Names of nodes, instances and ids fit these; longer ones are refused when a transfer begins. */
enum { TRANSFER_ID_SIZE = 24, TRANSFER_NAME_SIZE = 254, TRANSFER_REASON_SIZE = 160 };

struct transfer {
    /* stored */
    char id[TRANSFER_ID_SIZE];
    char move[TRANSFER_ID_SIZE]; /* transfers decided together */
    char reason[TRANSFER_REASON_SIZE];
    char held[TRANSFER_REASON_SIZE]; /* who asked for a later departure, and why; "": no one did */
    enum transfer_state state;
    int step;        /* index into transfer_steps */
    bool is_undoing; /* on the way back from `step` */
    bool is_emergency;
    bool is_returning;   /* the source pool is the target now */
    bool is_discarding;  /* the machine of this attempt must go first */
    bool has_volumes;    /* pods with claims were asked to leave: their volumes must be detached */
    bool came_untainted; /* the new node was ready without our start-up taint */
    bool stays_exposed;  /* the cloud refused to protect() the new machine */
    int attempt;         /* at creating the machine, from 1 */
    int redrains;        /* how often the node was uncordoned or had pods again before its
                            removal */
    const struct config_pool *source;
    const struct config_pool *target;
    char node[TRANSFER_NAME_SIZE];          /* the node that leaves */
    char node_uid[64];                      /* its UID: a new node of the same name is another */
    char instance[INSTANCE_NAME_SIZE];      /* its machine */
    char new_instance[INSTANCE_NAME_SIZE];  /* the machine of this attempt; "" before acquire, and
                                               while a cloud that names machines itself has not
                                               listed it */
    char new_provider_id[PROVIDER_ID_SIZE]; /* its Node's, as the list has it; "" before that */
    char new_node[TRANSFER_NAME_SIZE];
    struct wall_time created;
    struct wall_time announced; /* when the node was first seen with its departure; 0: not yet */
    struct wall_time departure; /* announced: cordon not before */
    struct wall_time due;       /* wanted ready by; 0: no matter when */
    struct wall_time step_began;
    struct wall_time cordoned;  /* the lead time is counted from here */
    struct wall_time drain_due; /* the drain's deadline; 0: it has not begun */
    struct wall_time ended;
    uint64_t rev; /* of the journal record; 0: not stored yet */

    char
        new_key[9]; /* made of id and attempt: the machine is ordered under it; "" before acquire */

    /* seen by this process */
    struct map *effects;    /* "kind/object" -> struct effect */
    int64_t step_began_ms;  /* loop time; at a restart: the start */
    int64_t paused_ms;      /* since when nothing can be asked of the node's pods; 0: it can */
    int64_t emptied_ms;     /* since when only volumes are waited for; 0: not */
    int64_t opened_ms;      /* since when our cordon is seen to be taken away; 0: it is there */
    int64_t ready_ms;       /* since when the new node lacks nothing; 0: it does */
    struct host_look *host; /* where the new machine is; host.h */
    struct {
        const struct side *side;
        void *seen;
        void (*forget)(void *seen);
    } seen[2];                 /* what its sides have seen of it; side.h */
    char waiting[512];         /* what it waits for, in one sentence */
    const struct effect *told; /* the effect whose refusal that sentence tells; NULL: none */
    bool needs_operator;       /* a step is past its deadline and cannot be undone */
    bool wants_undo;           /* withdraw when the step allows it */
};

struct transfer *transfer_new(void) __attribute__((returns_nonnull, warn_unused_result));
void transfer_free(struct transfer *transfer);

/* The stored part, and back.  Unknown pools (the configuration changed) are ERROR_INVALID. */
json_t *transfer_encode(const struct transfer *transfer)
    __attribute__((returns_nonnull, warn_unused_result));
struct transfer *transfer_decode(const struct config *config, const json_t *value,
                                 struct error *err) __attribute__((warn_unused_result));

/* "live", "done", "undone", "returned". */
const char *transfer_state_name(enum transfer_state state);

/* The system clock was moved by so much: changes the transfer's times so that the same time is left
   of each.  `due` stays, because it is a time of the week. */
void transfer_move_clock(struct transfer *transfer, int64_t by_ms);

/* Gives the present attempt its request key, the same for the same transfer and attempt, so that a
   repeated create can never make a second machine.  Sets also the machine's name, if the cloud
   derives it from the key (GROUP-KEY). */
void transfer_name_instance(struct transfer *transfer);

/* The name of the present attempt's order in the journal: the machine's name if that follows from
   the key, otherwise the key. */
const char *transfer_order(const struct transfer *transfer);

/* The machine of the present attempt, for people. */
const char *transfer_machine(const struct transfer *transfer);

/* Where the machine goes: target, or source when returning. */
const struct config_pool *transfer_goal(const struct transfer *transfer);

static inline void owned_transfer(struct transfer **transfer)
{
    transfer_free(*transfer);
}
