/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the simulated world knows of a cloud.
 */
#pragma once

#include "tools/simulator/model/model.h"

/* A cloud: its wire protocol, and its names for machines.  The table is cloud/clouds.c. */
struct sim_cloud {
    const char *kind;     /* of `providers.NAME.kind` */
    bool has_request_ids; /* by which it knows a repeated request */
    bool tries_once;      /* an attempt that failed is not repeated */
    bool is_kubernetes;   /* /KIND/PROVIDER is an API server: each provider has a kubeconfig */
    bool heals_with_new;  /* what its healer replaces gets another name */
    /* Another writer changes the size; its healer replaces a machine.  NULL: as the model does. */
    void (*resize)(struct simulator *sim, struct pool *pool, int wanted);
    void (*heal)(struct simulator *sim, struct machine *machine);
    /* NULL, or: sets what a new machine has from its pool. */
    void (*made)(struct simulator *sim, struct machine *machine);
    /* Whether the path is one of its API's; then it is answered. */
    bool (*answer)(struct sim_call *call);
    /* An injected failure in its form: 429, 500, 403, or 409 for another operation that is under
       way. */
    void (*fail)(struct sim_call *call, int code, const char *why);
    void (*name_machine)(struct simulator *sim, const struct pool *pool, int number,
                         char out[SIM_NAME_SIZE]);
    void (*name_node)(const struct machine *machine, char out[SIM_NAME_SIZE]); /* NULL: as it */
    char *(*provider_id)(const struct machine *machine); /* the caller frees it */
    /* NULL, or: adds what the cloud writes on the machine's Node. */
    void (*mark_node)(const struct machine *machine, json_t *labels, json_t *annotations);
    /* Prints the machine as the cloud's list shows it; called at each change, for lists that lie.
     */
    void (*print_machine)(const struct machine *machine, struct text *out);
};

extern const struct sim_cloud *const sim_clouds[]; /* NULL at the end; the first is the default */

/* Whether the VM is there: an order that was taken back is stopping, and never was one. */
static inline bool sim_machine_exists(const struct machine *machine)
{
    return machine->state != MACHINE_QUEUED &&
           (machine->state != MACHINE_STOPPING || machine->has_slot);
}

/* Whether a bearer token proves, to an API server of EKS of that name, who sent it. */
bool sim_eks_token_is_good(struct simulator *sim, const char *token, const char *cluster);

/* For clouds that launch at once or not at all: what an attempt would meet now, and one machine
   more that boots already. */
enum trouble sim_pool_trouble(struct simulator *sim, const struct pool *pool);
struct machine *sim_pool_launch(struct simulator *sim, struct pool *pool);

/* A healer that keeps the machine: only its Node is another one. */
void sim_machine_reboot(struct simulator *sim, struct machine *machine);

/* What `providers.NAME` or `pools.NAME` of sluice.yaml has under a key; otherwise NULL. */
const char *sim_provider_text(const struct pool *pool, const char *key);
const char *sim_pool_text(const struct pool *pool, const char *key);

/* The bytes of the file whose path a provider has under a key, which is found beside sluice.yaml;
   NULL: none, or it cannot be read.  The caller frees them. */
struct text *sim_provider_file(const struct simulator *sim, const struct pool *pool,
                               const char *key) __attribute__((warn_unused_result));
