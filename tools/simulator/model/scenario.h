/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a run starts from: the part of sluice.yaml that describes the physical world, and
 * world.yaml.  Plain values; texts belong to the two documents, which the scenario keeps.
 */
#pragma once

#include "base/array.h"
#include "base/error.h"
#include "base/input/yaml.h"
#include "tools/simulator/model/engine_play.h"

#include <stdbool.h>
#include <stdint.h>

struct range {
    int64_t low_ms;
    int64_t high_ms;
};

enum fault {
    FAULT_LOST_ANSWER,    /* the effect takes place, the answer never comes */
    FAULT_HTTP_429,       /* refused, nothing happened */
    FAULT_HTTP_500,       /* nothing happened */
    FAULT_HTTP_500_AFTER, /* the effect takes place and the answer says 500 */
    FAULT_STOCKOUT,       /* an attempt to create finds no machine */
    FAULT_SLOW_BOOT,      /* takes four times as long */
    FAULT_NEVER_JOINS,    /* runs, and no Node appears */
    FAULT_NO_GPUS,        /* a Ready Node whose GPUs never appear */
    FAULT_ONE_GPU_LESS,   /* one of them never appears */
    FAULT_GPUS_FLAP,      /* they appear, go, and appear again */
    FAULT_SAME_HOST,      /* a machine comes to the host that was left last */
    FAULT_STUCK_POD,      /* does not stop when told */
    FAULT_WATCH_GAP,      /* 410 to a watch */
    FAULT_EMPTY_LIST,     /* 200 and no items: the lie that must free nothing */
    FAULT_REFUSED,        /* never left: no connection */
    FAULT_HTTP_403,       /* there is no permission for it */
    FAULT_DENIED,         /* a webhook says no */
    FAULT_QUOTA,          /* an attempt to create meets the account's limit */
    FAULT_BUSY,           /* another operation is under way; nothing happened */
    FAULT_COUNT,
};

enum fault sim_fault_of_name(const char *name); /* FAULT_COUNT: no such fault */

struct scenario_cluster {
    const char *name;
    const char *eks; /* its server takes tokens of AWS; "": fixed ones */
    bool is_production;
    int64_t ahead_ms;                 /* its API server's clock, relative to all others */
    int slurm;                        /* its release of Slurm, 2205 or 2411; 0: Kubernetes */
    bool has_fixed_nodes;             /* Slurm's configuration names its nodes: none is dynamic */
    int64_t scancel_ms;               /* how long scancel takes; 0: as other commands */
    int return_to_service;            /* ReturnToService of slurm.conf */
    bool saves_power;                 /* Slurm has power saving: its nodes are of a cloud */
    const char *token_socket;         /* slurmrestd takes tokens there; NULL: there is none */
    const char *local_socket;         /* it knows its caller there; NULL: there is none */
    const struct yaml_node *sliced;   /* nodes whose GPUs are cut; NULL: none */
    const struct yaml_node *settings; /* of sluice.yaml */
};

struct scenario_reservation {
    const char *name;
    const char *machine;
    const char *zone;
    int gpus_per_node;
    int nodes;
};

struct scenario_pool {
    const char *name;
    size_t cluster;
    size_t reservation;
    const char *kind;                 /* of its provider */
    const struct yaml_node *provider; /* NULL: sluice.yaml does not have it */
    const struct yaml_node *keys;
    const struct yaml_node *traps; /* its entry of world.yaml: its cloud's own keys; NULL: none */
    const char *project;
    const char *group;
    int static_nodes;
    int node_max; /* 0: the reservation's size */
    int nodes;    /* at the start */
};

struct scenario_queue {
    const char *name;
    int64_t wait_target_ms;
    double percentile;
    int64_t service_ms;
    double service_cv;
    struct engine_plan engine;
    double first_token_target_s; /* INFINITY: none */
};

struct scenario_workload {
    const char *name;
    const char *namespace;
    size_t queue; /* SIZE_MAX: none */
    int gpus;
    int *replicas; /* by cluster; -1: the cluster does not run it */
};

struct scenario_stockout {
    const char *zone;
    int64_t from_ms;
    int64_t to_ms;
};

struct scenario_budget {
    size_t cluster;
    const char *namespace;
    char *label_key;
    const char *label_value;
    int min_available;
};

/* An account that may not do something. */
struct scenario_denial {
    const char *whose;  /* cluster or provider */
    const char *action; /* "create pods/eviction", "compute.instances.get" */
};

/* A cloud's API that does not answer. */
struct scenario_outage {
    const char *cloud; /* the kind of its providers */
    int64_t from_ms;
    int64_t to_ms;
};

struct scenario_latency {
    struct range api, delete, create, join, gpus, pod_start, pod_stop;
};

/* The API groups that servers have in several versions. */
enum scenario_group_id {
    SCENARIO_KUEUE,
    SCENARIO_POLICY,
    SCENARIO_AUTOSCALING,
    SCENARIO_CLUSTER_API, /* of management clusters */
    SCENARIO_GROUPS
};
enum { SCENARIO_VERSIONS = 3 };

extern const struct scenario_group {
    const char *key; /* in world.yaml */
    const char *name;
    const char *versions[SCENARIO_VERSIONS]; /* newest first, and it has the shortest name */
} scenario_groups[SCENARIO_GROUPS];

struct scenario {
    struct yaml_document *config;
    struct yaml_document *world;
    uint64_t seed;
    char *label_key; /* of ephemeral nodes */
    char *label_value;
    char *demand_path; /* NULL: no traffic */
    struct scenario_latency latency;
    int job_backlog;
    struct range job_duration;
    unsigned served[SCENARIO_GROUPS]; /* bit i: versions[i] of the group */
    double faults[FAULT_COUNT];
    ARRAY(struct scenario_cluster) clusters;
    ARRAY(struct scenario_reservation) reservations;
    ARRAY(struct scenario_pool) pools;
    ARRAY(struct scenario_queue) queues;
    ARRAY(struct scenario_workload) workloads;
    ARRAY(struct scenario_stockout) stockouts;
    ARRAY(struct scenario_budget) budgets;
    ARRAY(struct scenario_denial) denials;
    ARRAY(struct scenario_outage) outages;
};

/* The `engine:` of a queue whose service time is known. */
int scenario_read_engine(struct scenario_queue *queue, const struct yaml_node *block,
                         struct error *err) __attribute__((warn_unused_result));

/* What world.yaml has of clusters of kind slurm. */
int scenario_read_slurm(struct scenario *scenario, struct error *err)
    __attribute__((warn_unused_result));

/* The lists `denied` and `outages` of world.yaml, and `slurm`. */
int scenario_read_limits(struct scenario *scenario, struct error *err)
    __attribute__((warn_unused_result));
bool scenario_is_out(const struct scenario *scenario, const char *cloud, int64_t at_ms);
bool scenario_denies(const struct scenario *scenario, const char *whose, const char *action);

struct scenario *scenario_read(const char *config_path, const char *world_path, struct error *err)
    __attribute__((warn_unused_result));
void scenario_free(struct scenario *scenario);

static inline void owned_scenario(struct scenario **scenario)
{
    scenario_free(*scenario);
}
