/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the fake of Azure share.
 */
#pragma once

#include "tools/simulator/model/cloud.h"

enum sim_azure_kind { SIM_AZURE_RESIZE, SIM_AZURE_DELETE, SIM_AZURE_ABORT };

/* A long-running operation.  What became of it is seen when it is asked for, and kept. */
struct sim_azure_operation {
    char id[SIM_UID_SIZE];
    char *url; /* as the answer named it */
    struct pool *pool;
    enum sim_azure_kind kind;
    int64_t began_ms;
    const char *status; /* "Succeeded", "Failed", "Canceled"; NULL: under way */
    enum trouble trouble;
};

/* What an agent pool has beside the model's pool. */
struct sim_azure_state {
    int machine_count; /* that were ever made: numbers are not used again */
    bool is_canceled;
    char etag[40];
    struct sim_azure_operation *latest; /* NULL: none yet */
};

/* In the form of Azure Resource Manager, and in AKS's own. */
void sim_azure_error(struct sim_answer *answer, int code, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void sim_aks_error(struct sim_answer *answer, int code, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* azure_login.c; false: answered */
bool sim_azure_is_authorized(struct sim_call *call);
void sim_azure_token(struct sim_call *call, const char *tenant);
void sim_azure_metadata_token(struct sim_call *call);
void sim_azure_authority(struct sim_call *call, const char *tenant);

/* A key of `azure.POOL` of world.yaml, or `otherwise`. */
const char *sim_azure_trap(const struct pool *pool, const char *key, const char *otherwise);
/* "http://HOST/azure", as the client asked for it; the caller frees it. */
char *sim_azure_base(const struct sim_call *call) __attribute__((returns_nonnull));
struct sim_azure_state *sim_azure_state(struct simulator *sim, const struct pool *pool)
    __attribute__((returns_nonnull));
/* false: answered 403 */
bool sim_azure_may(struct sim_call *call, const struct pool *pool, const char *permission);
json_t *sim_azure_body(struct sim_call *call); /* NULL: answered 400 */

/* azure_machines.c */
void sim_azure_list_machines(struct sim_call *call, struct pool *pool);
void sim_azure_get_machine(struct sim_call *call, struct pool *pool, const char *name);
void sim_azure_delete_machines(struct sim_call *call, struct pool *pool);
void sim_azure_print_machine(const struct machine *machine, struct text *out);
void sim_azure_name_machine(struct simulator *sim, const struct pool *pool, int number,
                            char out[SIM_NAME_SIZE]);
char *sim_azure_provider_id(const struct machine *machine);
void sim_azure_mark_node(const struct machine *machine, json_t *labels, json_t *annotations);

/* azure_pools.c */
void sim_azure_get_pool(struct sim_call *call, struct pool *pool);
void sim_azure_list_pools(struct sim_call *call, const struct pool *of);
void sim_azure_put_pool(struct sim_call *call, struct pool *pool);
/* "Succeeded", "Scaling", "Failed" or "Canceled" */
const char *sim_azure_pool_state(struct simulator *sim, const struct pool *pool);
json_t *sim_azure_trouble(const struct pool *pool, enum trouble trouble);

/* azure_operations.c */
/* As the answer to a write while an operation of this pool is under way. */
void sim_azure_refuse_busy(struct sim_answer *answer, const char *agent_pool);
bool sim_azure_is_free(struct sim_call *call, const struct pool *pool); /* false: answered 409 */
struct sim_azure_operation *sim_azure_begin(struct sim_call *call, struct pool *pool,
                                            enum sim_azure_kind kind)
    __attribute__((returns_nonnull));
/* Azure-AsyncOperation or Location, and Retry-After */
void sim_azure_name_operation(struct sim_call *call, const struct sim_azure_operation *operation,
                              const char *header);
void sim_azure_abort(struct sim_call *call, struct pool *pool);
void sim_azure_get_operation(struct sim_call *call, const char *id, bool is_result);
