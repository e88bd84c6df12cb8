/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The conformance suite: one table of cases, T1 to T62, and a stage on which a case plays.  The
 * stage is either the simulator's Kubernetes in virtual time or a real API server; a case does not
 * know which.  It changes the world with raw requests, as other clients do, and looks at what the
 * product's own verbs make of it.
 *
 * Everything of a case lives in a namespace and on nodes of its own, which the stage takes away.
 */
#pragma once

#include "base/input/json.h"
#include "base/text.h"
#include "base/world/world.h"
#include "clusters/kube/kube_config.h"
#include "clusters/kube_cluster.h"
#include "clusters/kube_verbs.h"
#include "tests/conformance/ask.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/simulator.h"

#include <sys/types.h>

enum { STAGE_NODES = 4 };

/* The real server to play on; kubeconfig NULL: the simulator. */
struct stage_choice {
    const char *kubeconfig; /* of an administrator, who changes the world */
    const char *broker;     /* of the product, whose user is "broker"; NULL: the same */
    pid_t controllers;      /* of its controller manager, to be held still; 0: unknown */
};

struct stage {
    struct stage_choice choice;
    char *folder;
    struct loop *loop;
    struct simulator *simulator; /* NULL: real */
    struct http *http;
    struct random random;
    struct world world;
    struct kube_config *access; /* for raw requests */
    struct cluster *cluster;    /* the product's, watching */
    char *namespace;
    char *nodes[STAGE_NODES]; /* posted so far */
    size_t node_count;
    int status;   /* of the last raw answer */
    json_t *body; /* likewise; never NULL after a request */
};

struct stage *stage_open(const struct stage_choice *choice, const char *name)
    __attribute__((returns_nonnull, warn_unused_result));
void stage_close(struct stage *stage);

/* A raw request; the answer is in the stage until the next one.  body is taken, NULL: none. */
int stage_ask(struct stage *stage, enum ask_verb verb, json_t *body, const char *path, ...)
    __attribute__((format(printf, 4, 5)));
void stage_expect(const struct stage *stage, int status); /* of the last answer */

/* Runs until it is true, for thirty seconds at most; then the test fails with `what`. */
typedef bool (*stage_look_fn)(struct stage *stage, const void *context);
void stage_await(struct stage *stage, const char *what, stage_look_fn look, const void *context);
void stage_run(struct stage *stage, int64_t duration_ms);

/* No controller reconciles until they go on again. */
void stage_hold_controllers(struct stage *stage);
void stage_continue_controllers(struct stage *stage);

/* The server has room for no more than one eviction at a time, until it is calm again. */
void stage_overload(struct stage *stage);
void stage_calm(struct stage *stage);

/* Posts a node of 8 GPUs and waits until the product's watch has it, Ready. */
const char *stage_add_node(struct stage *stage);

/* The product's view; NULL: it knows of none. */
const struct node *stage_node(const struct stage *stage, const char *name);
const struct pod *stage_pod(const struct stage *stage, const char *name);

struct pod_wish {
    const char *name;
    const char *node;
    const char *app;      /* the label; NULL: none */
    const char *stops_in; /* "2s"; NULL: at once */
    bool is_stuck;        /* stops never */
    bool is_mirror;
    const char *finalizer;
    int64_t grace_s; /* 0: 30 */
};

/* Posts it and waits until it runs and the product sees it; its UID, which the caller frees. */
char *stage_add_pod(struct stage *stage, const struct pod_wish *wish)
    __attribute__((returns_nonnull));

/* Posts a budget over the pods of an app, and waits until it counts so many healthy ones. */
void stage_add_budget(struct stage *stage, const char *name, const char *app, int min_available,
                      bool allows_unready);
void stage_await_healthy(struct stage *stage, const char *budget, int healthy);

/* What a verb of the product answered. */
struct heard {
    bool is_done;
    struct error err; /* ERROR_NONE: accepted */
    json_t *body;     /* a copy */
};
void hear(void *heard, const json_t *body, const struct error *err); /* a cluster_done_fn */
void await_heard(struct stage *stage, struct heard *heard);
void heard_clear(struct heard *heard);

/* One eviction by the product, answered. */
struct error stage_evict(struct stage *stage, const char *pod, const char *uid);
struct error stage_delete(struct stage *stage, const char *pod, const char *uid, int64_t grace_s);
bool stage_is_gone(struct stage *stage, const char *pod); /* asked of the server */
void stage_await_gone(struct stage *stage, const char *pod);

typedef void (*case_fn)(struct stage *stage);

enum { ON_SIMULATOR = 1, ON_REAL = 2, ON_BOTH = 3 };

struct conformance_case {
    const char *id;        /* "T1" */
    const char *what;      /* one line */
    case_fn play;          /* NULL: not of this program */
    int where;             /* of play */
    const char *elsewhere; /* "tests/cli/test_x.c name_of_the_test"; NULL: nowhere else */
    const char *on_real;   /* likewise: what plays it on real servers; NULL: nothing but play */
    const char *note;      /* what was found, why not; NULL: nothing to say */
};
extern const struct conformance_case conformance_cases[];
extern const size_t conformance_case_count;

/* nodes.c */
void cordon_is_one_patch(struct stage *stage);
void a_stale_cordon_is_refused(struct stage *stage);
void a_human_cordon_stays(struct stage *stage);
void a_node_made_again_is_left_alone(struct stage *stage);
void a_foreign_taint_is_seen(struct stage *stage);
void a_node_gone_already_is_deleted(struct stage *stage);
void a_foreign_finalizer_of_a_node_stays(struct stage *stage);

/* pods.c */
void a_late_pod_is_listed(struct stage *stage);
void an_ownerless_daemon_holds_nothing(struct stage *stage);
void a_daemon_comes_back(struct stage *stage);
void grace_only_shortens(struct stage *stage);
void a_deaf_pod_needs_grace_zero(struct stage *stage);
void a_foreign_finalizer_stays(struct stage *stage);
void pages_hold_every_pod(struct stage *stage);
void an_out_of_service_node_is_let_go(struct stage *stage);

/* volumes.c */
void attachments_are_listed(struct stage *stage);
void a_silent_attacher_keeps_its_volume(struct stage *stage);
void a_daemons_volume_stays_with_it(struct stage *stage);

/* lifecycle.c */
void a_delete_passes_a_budget_and_is_marked(struct stage *stage);
void a_cut_grace_is_told_once(struct stage *stage);
void a_silent_node_keeps_its_pods(struct stage *stage);
void a_node_is_found_by_its_machine(struct stage *stage);
void gpus_are_counted_as_they_come_and_go(struct stage *stage);
void a_missing_kueue_is_told_apart(struct stage *stage);

/* evictions.c */
void an_eviction_is_marked(struct stage *stage);
void an_exhausted_budget_says_no(struct stage *stage);
void two_budgets_are_a_failure(struct stage *stage);
void an_unseen_budget_asks_for_patience(struct stage *stage);
void unready_pods_go_by_policy(struct stage *stage);
void a_namesake_is_not_evicted(struct stage *stage);
void a_leaving_namespace_is_waited_for(struct stage *stage);
void a_budget_lets_one_go(struct stage *stage);
void what_stands_before_an_eviction_is_told_apart(struct stage *stage);
void evicting_twice_is_evicting_once(struct stage *stage);
void an_overload_is_no_budget(struct stage *stage);
void a_dry_run_tells_and_does_nothing(struct stage *stage);

/* devices.c */
void devices_are_counted_as_they_are_allocated(struct stage *stage);
