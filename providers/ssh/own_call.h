/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One call of a verb of the kind `ssh`, and one question to a machine within it.
 */
#pragma once

#include "clusters/kube/kube_session.h"
#include "providers/ssh/own.h"
#include "providers/ssh/own_machines.h"

/* The rows of own_actions. */
enum own_action {
    OWN_LOOK,
    OWN_CLAIM,
    OWN_JOIN,
    OWN_LEAVE,
    OWN_POWER,
    OWN_POWER_OFF,
    OWN_MAKE_TOKEN,
    OWN_DROP_TOKEN,
    OWN_EXAMINE,
    OWN_ACTION_COUNT,
};

extern const struct provider_action own_actions[OWN_ACTION_COUNT];

struct fence_ask;
struct own_ask;
struct own_call;

struct own {
    struct provider provider; /* first */
    struct world *world;
    const struct own_account *account;
    struct own_machines machines;
    struct map *sessions;   /* with the clusters that make tokens, by kubeconfig and context */
    int64_t clear_after_ms; /* loop time before which no list tries to remove a token */
    struct own_call *first; /* all calls in progress */
    struct own_ask *asks;   /* all questions in progress */
};

struct own_call {
    struct own *own;
    struct own_call *previous, *next;
    struct own_pool pool; /* copied */
    char request_key[REQUEST_KEY_SIZE];
    char instance[INSTANCE_NAME_SIZE];
    char progress[INSTANCE_NAME_SIZE];
    struct own_machine *machine;
    bool is_claimed; /* create(): the machine has been claimed for this order */
    struct timer *timer;
    void (*then)(struct own_call *call);  /* when the timer fires */
    void (*swept)(struct own_call *call); /* when all machines were looked at */
    size_t awaited;                       /* answers of machines, or of fences */
    size_t beside;                        /* answers that are awaited for a short time only */
    size_t at;                            /* of a walk through the machines */
    int looks;                            /* of a wait for the steps of a machine */
    struct fence_ask *fences;             /* exchanges with fences in progress */
    struct kube_exchange *token;          /* with the cluster that is joined */
    void (*token_then)(struct own_call *call, const struct error *err);
    char *secret; /* the token, until the machine has it */
    char *pins;   /* of the authority of the cluster that is joined */
    struct error failure;
    provider_list_fn listed; /* one of the four */
    provider_look_fn looked;
    finding_fn found; /* with done */
    provider_done_fn done;
    void *context;
};

struct own_call *own_call_new(struct provider *provider, const struct pool_address *pool)
    __attribute__((returns_nonnull, warn_unused_result));
void own_call_free(struct own_call *call);

/* In a turn of its own, after delay_ms. */
void own_call_later(struct own_call *call, int64_t delay_ms, void (*then)(struct own_call *call));

/* Each ends the call, and frees it first: the callback may close the provider. */
void own_finish(struct own_call *call, const char *operation, const struct error *err);
void own_go_on(struct own_call *call, const char *progress);

/* Exactly one of report and err is not NULL.  A report whose answer is not "ok" is an error of the
   row's kind (own_errors.h), with the report stored in the machine. */
typedef void (*own_ask_fn)(struct own_call *call, struct own_machine *machine,
                           const struct error *err);

/* Sends a verb of machine.sh; what the machine reports is stored in it.  secret: "" for none. */
void own_ask(struct own_call *call, struct own_machine *machine, enum own_action action,
             const char *secret, own_ask_fn done);

/* Looks at the machine for a list of all.  Other commands go first.  A look that is under way may
   serve, and goes on when the call ends: at a machine that was silent last time there is one at
   most. */
void own_glance(struct own_call *call, struct own_machine *machine, own_ask_fn done);

/* The call waits for no more answers. */
void own_stop_waiting(struct own_call *call);

/* Ends all questions: the provider is closed, perhaps by one who is told an answer. */
void own_asks_clear(struct own *own);

/* Whether the machine has been silent for a time, and the last look at it ended just now. */
bool own_is_resting(const struct own *own, const struct own_machine *machine);

/* Whether the machine was looked at within the last two seconds. */
bool own_is_fresh(const struct own *own, const struct own_machine *machine);

/* Another command on the machine, for doctor; answer NULL: err says why. */
typedef void (*own_examine_fn)(struct own_call *call, struct own_machine *machine,
                               const struct ssh_answer *answer, const struct error *err);
void own_examine(struct own_call *call, struct own_machine *machine, const char *command,
                 own_examine_fn done);
