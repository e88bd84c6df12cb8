/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One contract, all kinds of provider: each case is played on each kind against the simulator's
 * fake of its cloud, and the simulator counts the machines.  A new kind is a row in kinds.c.
 *
 * A case talks to the provider as the broker does: it stores the progress of an order that takes
 * several exchanges, and repeats an order whose outcome is not known.
 */
#pragma once

#include "base/world/world.h"
#include "providers/common/provider.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/simulator.h"

/* What is left of an order for which the cloud has no machine now. */
enum contract_want {
    WANT_REFUSED, /* nothing: create() itself says so */
    WANT_COUNTED, /* a larger number; the cloud goes on trying, and cancel() takes it back */
    WANT_FAILED,  /* a larger number; the cloud tries no more, and cancel() takes it back */
    WANT_LISTED,  /* a machine in the list, with its trouble; remove() takes it back */
};

/* What the cloud's healer makes of a machine. */
enum contract_healing {
    HEALS_BY_ANOTHER, /* another machine, of another name */
    HEALS_AGAIN,      /* a machine of the same name, and another ID */
    HEALS_IN_PLACE,   /* the same machine: only its Node is another one */
};

/* What the provider ID of a Node tells. */
enum contract_ids {
    IDS_WITH_ZONE, /* which machine it is, and in which zone */
    IDS_OF_MACHINES,
    IDS_OF_OTHERS, /* the cloud below names it: lists have the ID, but it names no machine */
};

/* When the caller learns which machine an order brought. */
enum contract_naming {
    NAMES_BY_KEY,    /* before: the name follows from the request key */
    NAMES_IN_ANSWER, /* create() answers it */
    NAMES_LATER,     /* from the list: one that was not there before */
};

/* A kind, and one way to use it.  What a kind cannot do is a column here, and each case checks that
   the kind does what the column says. */
struct contract_kind {
    const char *name; /* for people: "aws, by number" */
    const struct provider_kind *kind;
    const char *account; /* YAML of providers.NAME, without `kind`; FOLDER: of the case's files */
    const char *pool;    /* YAML of its keys of pools.NAME */
    const char *traps;   /* lines of world.yaml of a pool that inspect() must warn of */
    const char *pool_traps; /* the same, as more keys of the pool in world.yaml; NULL: none */
    const char *lingers;    /* lines of world.yaml: one that leaves runs on for the cloud below */
    const char *hangs; /* the same, of a pool whose growth never ends; NULL: each growth ends */
    /* Makes its credentials; NULL: none. */
    void (*set_up)(const char *folder);

    /* The simulator's verbs. */
    const char *list;
    const char *size; /* of the exchange that a repeated order begins with; NULL: list */
    const char *create;
    const char *removes[2]; /* all writes of a removal, in their order */
    const char *protect;    /* NULL: it has no such choice */
    const char *exposes;    /* lines of world.yaml: machines that it may protect */

    /* For the page. */
    const char *zone;  /* what pins the zone of a new machine */
    const char *token; /* by what the cloud knows a repeat, or another writer */

    const char
        *zone_trap; /* as pool_traps or traps, of a pool in two zones; NULL: no pool can be */
    enum contract_naming names;
    enum contract_want want;
    enum contract_healing heals;
    enum contract_ids ids;
    bool is_serial;     /* while one change goes on, all others are refused */
    bool counts;        /* remove() tells from the number of machines whether the pool has shrunk */
    bool loses_races;   /* its number overwrites that of a writer who came after the read */
    bool refuses_quota; /* create() itself says that a quota is met */
    enum error_kind removed_again; /* the answer once the machine is gone: NONE or NOT_FOUND */
    int64_t leaves_ms;             /* of a removal that was accepted: until the list shows it */
    int attempts;                  /* to carry out an order, half a minute apart */
};

extern const struct contract_kind contract_kinds[];
extern const size_t contract_kind_count;

/* At most so many machines in a list; and by when all has come that comes. */
enum { CONTRACT_MACHINES = 16, CONTRACT_LONG_MS = 40 * MINUTE_MS };

/* A world with one pool of a reservation of four machines, and its provider. */
struct contract {
    const struct contract_kind *kind;
    char *folder;
    struct loop *loop;
    struct simulator *simulator;
    struct random random;
    struct world world;
    void *account;
    void *pool;
    struct provider *provider;

    int calls;
    struct error err; /* of the last answer */
    char operation[256];
    struct instance machines[CONTRACT_MACHINES]; /* of the last list */
    size_t count;
    struct error shortfall;
    struct instance seen; /* of the last look */
    bool is_seen;
    size_t wrong, doubtful;                    /* findings */
    struct instance before[CONTRACT_MACHINES]; /* that were there when the world began */
    size_t before_count;
};

/* world: lines of world.yaml besides the size; nodes: machines at the start. */
void contract_open(struct contract *it, const struct contract_kind *kind, int nodes,
                   const char *world);
/* keys: more of the pool in world.yaml, or NULL; the kind's traps are lines of the world. */
void contract_open_with(struct contract *it, const struct contract_kind *kind, int nodes,
                        const char *keys);
void contract_close(struct contract *it);
/* Another process opens the provider: it remembers nothing. */
void contract_restart(struct contract *it);
void contract_wait(struct contract *it, int64_t ms);
const struct pool_address *contract_pool(const struct contract *it);

/* One order: its request ID and key follow from the number. */
struct contract_order {
    char request_id[40];
    char request_key[REQUEST_KEY_SIZE];
    char instance[INSTANCE_NAME_SIZE];
    char progress[256];
    bool is_doubtful; /* the outcome of an earlier sending is not known */
};
struct contract_order contract_order(int number);

/* Each sends one call, and returns the kind of its answer. */
enum error_kind contract_create_once(struct contract *it, struct contract_order *order);
enum error_kind contract_remove_once(struct contract *it, struct contract_order *order);
enum error_kind contract_cancel_once(struct contract *it, struct contract_order *order);
enum error_kind contract_protect_once(struct contract *it, struct contract_order *order);
enum error_kind contract_list(struct contract *it);
enum error_kind contract_look(struct contract *it, const char *machine);
enum error_kind contract_inspect(struct contract *it);

/* As the broker: repeats until the answer is definite.  A throttled, transient or unknown answer is
   repeated after half a minute, as often as the kind's attempts. */
typedef enum error_kind (*contract_fn)(struct contract *it, struct contract_order *order);
enum error_kind contract_carry_out(struct contract *it, contract_fn send,
                                   struct contract_order *order);

/* The machine of the last list that was not there at the beginning; NULL: none. */
const struct instance *contract_new_machine(const struct contract *it);
const struct instance *contract_find(const struct contract *it, const char *name);

/* Wanted and running machines, by the simulator. */
int contract_wanted(const struct contract *it);
int contract_running(const struct contract *it);

/* A fault that meets a request, so many times. */
struct contract_fault {
    const char *fault;
    int times;
    enum error_kind first; /* of the first answer to the verb */
    bool has_effect;
};

extern const struct contract_fault contract_faults[];
extern const size_t contract_fault_count;

/* The answer of the first exchange that is not a plan. */
enum error_kind contract_first_answer(struct contract *it, contract_fn send,
                                      struct contract_order *order);
/* Whether create() answered that the machine is there, or will be. */
bool contract_is_accepted(enum error_kind kind);
/* After all has come that comes: so many machines are wanted, and run. */
void contract_expect_size(struct contract *it, int wanted);
/* The removal of a machine that was there at the beginning. */
struct contract_order contract_order_of_removal(const struct contract *it, int number);
/* The removal of the machine of the last list that was not. */
struct contract_order contract_order_of_return(const struct contract *it, int number);
/* An order that brought no machine is taken back, once, and no machine goes for it.  is_refused:
   create() has said so. */
void contract_expect_return(struct contract *it, bool is_refused, int nodes);

/* Played on each kind.  Each table ends with a name of NULL. */
struct contract_case {
    const char *name;
    void (*play)(const struct contract_kind *kind);
};

extern const struct contract_case contract_orders[];
extern const struct contract_case contract_capacity[];
extern const struct contract_case contract_rivals[], contract_malformed[];

/* The matrix of providers/README.md is what the table of kinds says. */
void contract_check_page(void **state);
