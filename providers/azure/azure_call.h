/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One call of a verb: its exchanges, one after the other.  Each waits for a token, is sent once,
 * and is sent a second time only after a 401, which means that it was not carried out.  Inside of
 * this folder.
 */
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "base/world/pages.h"
#include "providers/azure/azure.h"
#include "providers/azure/azure_machine.h"
#include "providers/azure/azure_memory.h"
#include "providers/azure/azure_pool.h"
#include "providers/common/growth.h"

enum { AZURE_PAGES_MOST = 200, AZURE_OPERATION_SIZE = 80 };

struct azure_call;

struct azure {
    struct provider provider; /* first */
    struct world *world;
    struct token_cache *token;
    struct growth *growth; /* a place for each managed cluster; NULL: closing */
    struct map *listed;    /* name -> what AKS calls the machine, where that is another name */
    struct map *memories;  /* URL of the pool -> struct azure_memory */
    char *base;            /* ".../subscriptions/S" */
    const struct azure_account *account;
    struct azure_call *first;
};

/* The requests; rows of azure_actions. */
enum azure_action {
    AZURE_LIST_MACHINES,
    AZURE_GET_MACHINE,
    AZURE_GET_POOL,
    AZURE_RESIZE_POOL,
    AZURE_DELETE_MACHINES,
    AZURE_ABORT,
    AZURE_LIST_PERMISSIONS,
    AZURE_REQUEST_COUNT,
};

extern const struct provider_action azure_actions[];
extern const size_t azure_action_count;

/* The answer to an exchange; err NULL: it is a success, and a read has a JSON object. */
typedef void (*azure_answered_fn)(struct azure_call *call, const struct http_answer *answer,
                                  const json_t *body, struct error *err);

struct azure_call {
    struct token_waiter waiter; /* first */
    struct growth_turn turn;
    struct azure *azure;
    struct azure_call *previous;
    struct azure_call *next;
    char *label;
    char *pool_url; /* of the agent pool, without a query */
    char *agent_pool;
    char *cluster; /* the place at which writes wait */
    char *zone;

    /* The exchange */
    enum azure_action action;
    char *url;
    char *body;     /* NULL: none */
    char *if_match; /* NULL: none */
    azure_answered_fn answered;
    char *used_token;
    bool has_asked_again;
    struct http_exchange *exchange;
    struct timer *late; /* brings a failure from before anything was sent */
    struct error failure;

    /* The verb */
    provider_list_fn listed; /* one of the three */
    provider_look_fn looked;
    provider_done_fn done;
    finding_fn found; /* of inspect(), beside `done` */
    void *context;
    char *instance;
    char *request_id;
    char *progress;
    bool is_shrinking;

    /* What the exchanges before this one read */
    ARRAY(struct instance) machines;
    int64_t seen; /* machines of the pages before */
    struct pages pages;
    json_t *pool; /* the agent pool */
    int64_t asked_ms;
};

/* A call of a verb on the pool.  The caller sets its callback, and sends. */
struct azure_call *azure_call_new(struct azure *azure, const struct pool_address *pool,
                                  const char *verb)
    __attribute__((returns_nonnull, warn_unused_result));
void azure_call_free(struct azure_call *call);

/* Waits for the turn of the managed cluster; `ready` finds the call by azure_call_of_turn(). */
void azure_call_wait(struct azure_call *call, void (*ready)(struct growth_turn *turn));
struct azure_call *azure_call_of_turn(struct growth_turn *turn);

/* Sends a request to URL, without a body. */
void azure_call_send(struct azure_call *call, enum azure_action action, const char *url,
                     azure_answered_fn answered);
/* Sends call->body.  if_match NULL: under any circumstances. */
void azure_call_write(struct azure_call *call, enum azure_action action, const char *url,
                      const char *if_match, azure_answered_fn answered);

/* The URL of the pool, or of what is below it: "" or "/machines". */
char *azure_call_url(const struct azure_call *call, const char *below)
    __attribute__((returns_nonnull, warn_unused_result));

/* End the call: it is freed first, because the caller may close the provider. */
void azure_call_finish(struct azure_call *call, const struct instance_page *page,
                       const char *operation);
void azure_call_fail(struct azure_call *call, struct error *err);
/* The caller must store the progress first; see provider_goes_on. */
void azure_call_goes_on(struct azure_call *call, const char *progress);

/* The ID of the operation that an accepted change began; "" where the answer names none. */
void azure_read_operation(const struct http_answer *answer, char out[AZURE_OPERATION_SIZE]);

/* azure_list.c: reads the machines of one page, and the next page's URL, which must be of the same
   host; NULL: this was the last. */
int azure_read_page(struct azure_call *call, const json_t *body, const char **ret_next,
                    struct error *err) __attribute__((warn_unused_result));
struct azure_memory *azure_memory_of(const struct azure_call *call)
    __attribute__((returns_nonnull));
/* What AKS calls the machine. */
const char *azure_listed_name(const struct azure *azure, const char *name);

/* Verbs in files of their own. */
void azure_list(struct provider *provider, const struct pool_address *pool, const char *page,
                provider_list_fn done, void *context);
void azure_create(struct provider *provider, const struct pool_address *pool,
                  const struct provider_order *order, provider_done_fn done, void *context);
void azure_cancel(struct provider *provider, const struct pool_address *pool,
                  const struct provider_order *order, provider_done_fn done, void *context);
void azure_inspect(struct provider *provider, const struct pool_address *pool, finding_fn found,
                   provider_done_fn done, void *context);
