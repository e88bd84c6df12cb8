/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One call of a verb: some exchanges with the management cluster, one after the other.  Each is of
 * a row of the table of actions.
 */
#pragma once

#include "clusters/kube/kube_session.h"
#include "providers/capi/capi.h"
#include "providers/capi/capi_group.h"
#include "providers/common/growth.h"

/* The rows of capi_actions. */
enum capi_action {
    CAPI_LIST_MACHINES,
    CAPI_GET_MACHINE,
    CAPI_MARK_MACHINE,
    CAPI_GET_DEPLOYMENT,
    CAPI_SCALE_DEPLOYMENT,
    CAPI_GET_POOL,
    CAPI_SCALE_POOL,
    CAPI_LIST_CHECKS,
    CAPI_REVIEW,
    CAPI_ACTION_COUNT,
};

extern const struct provider_action capi_actions[CAPI_ACTION_COUNT];

struct capi {
    struct provider provider; /* first */
    struct world *world;
    struct kube_session *session;
    struct served *served;
    struct growth *growth;
    struct capi_call *first; /* all in progress */
};

struct capi_call {
    struct growth_turn turn; /* first; of what changes the pool */
    struct capi *capi;
    struct capi_call *previous;
    struct capi_call *next;
    bool is_pool; /* of a MachinePool, and not of a MachineDeployment */
    char *name;   /* of that */
    char *namespace;
    char *zone;
    char *group;    /* its path */
    char *machines; /* the path of all Machines of the namespace */
    char *instance; /* "" : none */
    char *request_id;
    char *progress;
    struct timer *late; /* brings a failure in a turn of its own */
    struct error failure;
    provider_list_fn listed; /* one of the four */
    provider_look_fn looked;
    finding_fn found; /* with done */
    provider_done_fn done;
    void *context;

    /* What was read within this call. */
    struct capi_group size;
    struct capi_count count;
    void (*counted)(struct capi_call *call);
    char uid[64];     /* of the Machine */
    char version[64]; /* its resourceVersion */
    char mark[64];    /* "": none */
    size_t at;        /* of a walk through a table */
    json_t *seen;     /* what inspect() keeps */
};

struct capi_call *capi_call_new(struct provider *provider, const struct pool_address *pool)
    __attribute__((returns_nonnull, warn_unused_result));
void capi_call_free(struct capi_call *call);

/* What is sent.  The version that the path names is replaced by the one that the server has. */
struct capi_request {
    enum capi_action action;
    const char *target;
    const json_t *body; /* NULL: none */
};

void capi_send(struct capi_call *call, const struct capi_request *request, kube_done_fn then);

/* Each ends the call, and frees it first: the callback may close the provider. */
void capi_finish_failed(struct capi_call *call, const struct error *err);
void capi_finish_done(struct capi_call *call, const char *operation, const struct error *err);

/* Where Machines of the pool are, for a list. */
char *capi_list_target(const struct capi_call *call, const char *page)
    __attribute__((returns_nonnull, warn_unused_result));
bool capi_is_of_pool(const struct capi_call *call, const json_t *machine);

/* Reads the MachineDeployment or MachinePool. */
void capi_read_size(struct capi_call *call, kube_done_fn then);

/* "MachineDeployment NAME" */
const char *capi_kind_name(const struct capi_call *call);
