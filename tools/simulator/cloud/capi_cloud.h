/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the fake of Cluster API share: a management cluster is /capi/PROVIDER, and has
 * the MachineDeployments and MachinePools of that provider's pools.
 */
#pragma once

#include "tools/simulator/model/model.h"

/* What a pool is in the management cluster. */
struct capi_pool_state {
    struct actor actor; /* its controllers */
    struct pool *pool;
    int wanted;
    int generation;
    int observed;
    int edits;              /* of its metadata and spec */
    int64_t rolls_until_ms; /* loop time: until then one Machine is not up to date */
    bool is_paused;
    bool is_awake;          /* its controllers will run */
    char annotations[1024]; /* as JSON; "": none */
    char labels[512];
};

/* What a client wrote into a Machine. */
struct capi_machine_state {
    int edits;
    char mark[SIM_UID_SIZE + 24]; /* the annotation that chooses it to go; "": none */
};

/* The health check of a namespace, as it was posted. */
struct capi_check_state {
    int64_t startup_ms; /* a machine that has no Node by then is deleted */
    char json[2048];
};

struct capi_pool_state *sim_capi_pool(struct simulator *sim, struct pool *pool);
struct capi_machine_state *sim_capi_machine(struct simulator *sim, const struct machine *machine);
/* NULL: it has none. */
struct capi_check_state *sim_capi_check(struct simulator *sim, const char *namespace);
void sim_capi_put_check(struct simulator *sim, const char *namespace, const json_t *check);

/* The controllers run a moment later. */
void sim_capi_wake(struct simulator *sim, struct capi_pool_state *state);

const char *sim_capi_namespace(const struct pool *pool);
const char *sim_capi_name(const struct pool *pool);
bool sim_capi_is_machine_pool(const struct pool *pool);

/* As the API shows them; is_old: in v1beta1. sim NULL: without what only the simulator knows. */
json_t *sim_capi_machine_json(struct simulator *sim, const struct machine *machine, bool is_old);
json_t *sim_capi_pool_json(struct simulator *sim, struct pool *pool, bool is_old);
void sim_capi_version_of(struct simulator *sim, struct pool *pool, char out[24]);

/* A request taken apart: /capi/PROVIDER/apis/GROUP/VERSION/namespaces/NAMESPACE/KIND[/NAME[/SUB]]
 */
struct capi_asked {
    struct sim_call *call;
    const char *provider;
    const char *namespace;
    const char *kind;
    const char *name; /* NULL: the collection */
    const char *sub;  /* NULL: none */
    bool is_old;
    bool is_admin;
};

bool sim_capi_is_of(const struct pool *pool, const char *provider);
void sim_capi_answer_list(const struct capi_asked *asked, json_t *items, const char *next);
/* False: answered 409. */
bool sim_capi_version_is_current(struct sim_call *call, const json_t *body, const char *current,
                                 const char *name);
void sim_capi_list_machines(const struct capi_asked *asked);
void sim_capi_on_machine(const struct capi_asked *asked);
