/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A cloud account that owns machines in pools.  A verb is exactly one HTTP exchange (fetching a
 * token may come before it).  A pool is a zonal group: one machine type in one zone.
 *
 * The clouds answer in two steps: a mutation is accepted, and much later the machine exists or is
 * gone.  No verb waits for that.  The caller lists the pool and believes only the list:
 * an instance is gone when a complete list does not hold it or shows it parked, and it runs when
 * the list says so.
 *
 * Clouds differ in who names a machine.  The caller orders one under a request key, and finds it in
 * the list by that key; then it keeps the machine's name and provider ID as the list has them.  It
 * never computes either.
 *
 * Kinds of error, besides the usual ones: ERROR_NO_CAPACITY (stock-out, reservation full),
 * ERROR_DENIED (quota, permission), ERROR_CONFLICT (the machine exists, or there is nothing to take
 * back), ERROR_TRANSIENT (another operation is in progress, too), ERROR_UNKNOWN_OUTCOME (the
 * mutation may have arrived: list before asking again).
 */
#pragma once

#include "base/error.h"
#include "base/finding.h"
#include "base/input/settings.h"
#include "base/world/world.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    INSTANCE_NAME_SIZE = 128, /* an OCID of Oracle's cloud has about 100 */
    INSTANCE_HOST_SIZE = 128,
    INSTANCE_ZONE_SIZE = 64,
    PROVIDER_ID_SIZE = 256,
    REQUEST_KEY_SIZE = 8 + 1, /* hexadecimal digits */
};

enum instance_state {
    INSTANCE_CREATING,
    INSTANCE_RUNNING,
    INSTANCE_DELETING,
    INSTANCE_OTHER,  /* stopped, suspended, being repaired: exists, and cannot be used */
    INSTANCE_PARKED, /* exists, but is in no pool: it counts as gone for its pool.  A bare-metal
                        machine that left its cluster. */
    INSTANCE_STATE_COUNT,
};

struct instance {
    char name[INSTANCE_NAME_SIZE];      /* its own among all of the pool; verbs take it */
    char id[INSTANCE_NAME_SIZE];        /* the cloud's own number; "" until the machine exists */
    char request_key[REQUEST_KEY_SIZE]; /* of its create(); "": another made it, or none is kept */
    char provider_id[PROVIDER_ID_SIZE]; /* spec.providerID of its Node; "" while not known */
    char host[INSTANCE_HOST_SIZE];      /* as provider_host(); "" where lists do not say */
    char zone[INSTANCE_ZONE_SIZE];      /* "" where lists do not say */
    enum instance_state state;
    int64_t seen_ms; /* loop time: the state is not older than this.  Set by a kind that reads each
                        machine by itself; 0: not older than the request of the list. */
    struct wall_time ends; /* from when the cloud ends it; 0: never, or the list does not say */
    struct error trouble;  /* why the last attempt to create it failed, or to read it by itself;
                              ERROR_NONE: it did not.  The cloud may still be trying. */
    bool is_unfinished;    /* its create() takes more exchanges, and waits for the next one */
    bool is_exposed;       /* it runs, and the cloud may end it to make the pool smaller:
                              protect() ends that.  Only of kinds that have protect(). */
    bool is_unplaced;      /* which pool has it is not known: each that may have it lists it */
    bool is_unlisted;      /* set by the fleet: the list lacks it, and its Node serves */
};

struct instance_page {
    const struct instance *items; /* borrowed, valid during the call */
    size_t count;
    const char *next;              /* token of the next page; NULL: this was the last */
    const struct error *shortfall; /* of a pool that wants more machines than it has: why its last
                                      attempt brought none; NULL: not known, or it lacks none */
};

/* A kind's own keys of `providers.NAME` and of `pools.NAME`.  Opaque to all other code: the struct
   that the kind's settings table fills. */
struct provider_account;
struct pool_address;

struct provider;

/* Exactly one of page and err is not NULL. */
typedef void (*provider_list_fn)(void *context, const struct instance_page *page,
                                 const struct error *err);

/* The cause of an ERROR_TRANSIENT: the exchange was answered, and another one must follow.
   `operation` is then the `progress` of the next call, and is not empty; the caller stores it in
   its journal before that call.  If it is too long to store, the caller treats it as ERROR_CORRUPT:
   the order has failed, and is repeated from its first exchange. */
extern const struct error_cause provider_goes_on;

/* The arguments of create() and remove().  Each may take several exchanges, one call each: the
   answer of all but the last is an error with the cause provider_goes_on. */
struct provider_order {
    const char *request_key; /* of create(): 8 hexadecimal digits */
    const char *instance;    /* of remove(): the machine's name */
    const char *request_id;  /* a UUID, the same for a repeat */
    const char *progress;    /* "" at first; see provider_goes_on */
};

/* err NULL: accepted.  `operation` names it at the cloud, for people; "" where it has none. */
typedef void (*provider_done_fn)(void *context, const char *operation, const struct error *err);

/* host: the physical host of the machine, in the cloud's own words; "" while the cloud does not
   tell it.  NULL with an error. */
typedef void (*provider_host_fn)(void *context, const char *host, const struct error *err);

/* instance NULL and err NULL: there is no such machine. */
typedef void (*provider_look_fn)(void *context, const struct instance *instance,
                                 const struct error *err);

/* group: as the pool's place_key names it; "": the machine is in none, or does not exist.  NULL
   with an error. */
typedef void (*provider_group_fn)(void *context, const char *group, const struct error *err);

/* One kind of request, and what an account must be allowed for it. */
struct provider_action {
    const char *name;       /* as the API has it: "TerminateInstanceInAutoScalingGroup" */
    const char *permission; /* "autoscaling:TerminateInstanceInAutoScalingGroup"; "": the cloud
                               answers this request to anybody */
    bool is_mutation;
    const char *purpose; /* in a few words, for the file of permissions */
};

/* A row of a kind's table of errors: what the cloud says, and what it means. */
struct provider_refusal {
    const char *code;     /* the cloud's; NULL: only the words count */
    const char *words[2]; /* contained in the message; NULL: any */
    enum error_kind kind;
};

/* How the caller recognises the machine that its create() made.  The referee may assume: at most
   one machine carries a key, however often create() is repeated under it. */
enum provider_identity {
    /* The list shows the key with the machine (request_key), or the name follows from it
       (name_machine).  The transfer needs no more. */
    IDENTITY_BY_KEY,

    /* No key comes back: the pool is asked to be larger by one, and the cloud makes and names the
       machine.  Ours is one that the list shows for the first time after the order, and that no
       other order has.  Which one does not matter, because machines of a pool are alike.  The
       caller sends no order again that was accepted, and cancel() takes one back. */
    IDENTITY_BY_GROWTH,
};

/* One such table for each kind; providers/kinds.c lists them.  The kind's own struct of an open
   provider has struct provider as its first member. */
struct provider_kind {
    struct settings_kind account; /* its keys of `providers.NAME`; its name is the kind's */
    struct settings_kind pool;    /* its keys of `pools.NAME` */
    const char *place_key;        /* of those, the one that says which group it is */
    enum provider_identity identity;

    /* The zone is that of the pool's reservation; borrowed, it outlives the address. */
    void (*set_zone)(struct pool_address *pool, const char *zone);
    /* One place, one text, which people read too: "group G of project P in zone Z".  The account
       belongs to it where the pool's own keys do not say whose group it is. */
    void (*print_place)(const struct provider_account *account, const struct pool_address *pool,
                        struct text *out);

    /* The name that the cloud will give to the machine created under this key.  NULL: the cloud
       chooses it, and shows it in its list. */
    void (*name_machine)(const struct pool_address *pool, const char *request_key,
                         char out[INSTANCE_NAME_SIZE]);

    /* The account must outlive the provider. */
    struct provider *(*open)(struct world *world, const struct provider_account *account,
                             struct error *err);
    void (*close)(struct provider *provider);

    /* One page (up to 500) of the pool's instances. */
    void (*list)(struct provider *provider, const struct pool_address *pool, const char *page,
                 provider_list_fn done, void *context);

    /* Deletes exactly this instance and shrinks the pool by one, in one step.  Repeating it for an
       instance that is leaving or gone is harmless. */
    void (*remove)(struct provider *provider, const struct pool_address *pool,
                   const struct provider_order *order, provider_done_fn done, void *context);

    /* Grows the pool by one instance.  Repeating an order makes no second one; ERROR_CONFLICT: it
       exists, so use it.  A cloud that names machines itself either lists an order within four
       minutes of its answer, or has dropped it.  Until the last of several exchanges is answered, a
       machine in the list is_unfinished. */
    void (*create)(struct provider *provider, const struct pool_address *pool,
                   const struct provider_order *order, provider_done_fn done, void *context);

    /* Takes back one order for which no machine has come: the pool then wants one machine less.
       Never deletes a machine.  ERROR_CONFLICT: the pool wants no more machines than it has.  Of
       kinds whose identity is IDENTITY_BY_GROWTH; otherwise NULL. */
    void (*cancel)(struct provider *provider, const struct pool_address *pool,
                   const struct provider_order *order, provider_done_fn done, void *context);

    /* Keeps the cloud from ending this instance (order->instance) when another writer makes the
       pool smaller.  Repeating it is harmless, and remove() works all the same.  ERROR_NOT_FOUND:
       it is not in the pool.  NULL: the cloud has no such choice. */
    void (*protect)(struct provider *provider, const struct pool_address *pool,
                    const struct provider_order *order, provider_done_fn done, void *context);

    /* Asks for the physical host of an instance.  NULL: this cloud does not tell it. */
    void (*host)(struct provider *provider, const struct pool_address *pool, const char *instance,
                 provider_host_fn done, void *context);

    /* Reads one machine by its name, without a list.  A machine that was only ordered does not
       exist yet.  NULL: this cloud cannot. */
    void (*look)(struct provider *provider, const struct pool_address *pool, const char *instance,
                 provider_look_fn done, void *context);

    /* Asks to which group the machine of this Node belongs, before there is any pool: for a first
       configuration.  An ID of another cloud is ERROR_INVALID.  NULL: the kind cannot tell. */
    void (*find_group)(struct provider *provider, const char *provider_id, provider_group_fn done,
                       void *context);

    /* Reads what can make it unsafe or impossible to resize the pool, and changes nothing: `found`
       once for each finding, then `done`.  An error of `done` says that the cloud did not answer.
       A missing permission is a finding.  NULL: the kind cannot tell. */
    void (*inspect)(struct provider *provider, const struct pool_address *pool, finding_fn found,
                    provider_done_fn done, void *context);

    /* Each request that the kind sends, as its cloud names it: files of permissions are made from
       this table, and no request is sent that has no row. */
    const struct provider_action *actions;
    size_t action_count;

    /* The row of this number, in the order of the table; false: it has fewer.  For the page of
       providers. */
    bool (*refusal)(size_t at, struct provider_refusal *ret);

    /* Reads the name of a Node's machine from its provider ID.  False: the ID is of another
       project or zone. ret_claim: how surely the machine is this pool's, more is surer; 0: it is
       not known. */
    bool (*read_provider_id)(const struct pool_address *pool, const char *provider_id,
                             char ret_name[INSTANCE_NAME_SIZE], size_t *ret_claim);
};

struct provider {
    const struct provider_kind *kind;
};

/* Nothing is sent yet; files of credentials are read. */
struct provider *provider_open(struct world *world, const struct provider_kind *kind,
                               const struct provider_account *account, struct error *err)
    __attribute__((warn_unused_result));
void provider_close(struct provider *provider);

void provider_list(struct provider *provider, const struct pool_address *pool, const char *page,
                   provider_list_fn done, void *context);
void provider_remove(struct provider *provider, const struct pool_address *pool,
                     const struct provider_order *order, provider_done_fn done, void *context);
void provider_create(struct provider *provider, const struct pool_address *pool,
                     const struct provider_order *order, provider_done_fn done, void *context);
/* For a kind whose cloud refused a change with a conflict: another operation is under way, or
   another writer was first.  Nothing happened, so that ERROR_CONFLICT becomes ERROR_TRANSIENT.  For
   the caller of an order it would mean that the order is carried out. */
void provider_not_now(struct error *err);
/* Only of a kind with IDENTITY_BY_GROWTH. */
void provider_cancel(struct provider *provider, const struct pool_address *pool,
                     const struct provider_order *order, provider_done_fn done, void *context);
/* Only where provider_can_inspect(). */
bool provider_can_inspect(const struct provider *provider);
void provider_inspect(struct provider *provider, const struct pool_address *pool, finding_fn found,
                      provider_done_fn done, void *context);
/* Only where provider_can_protect(). */
bool provider_can_protect(const struct provider *provider);
void provider_protect(struct provider *provider, const struct pool_address *pool,
                      const struct provider_order *order, provider_done_fn done, void *context);
/* Only where provider_tells_host(). */
bool provider_tells_host(const struct provider *provider);
void provider_host(struct provider *provider, const struct pool_address *pool, const char *instance,
                   provider_host_fn done, void *context);
/* Only where provider_can_look(). */
bool provider_can_look(const struct provider *provider);
void provider_look(struct provider *provider, const struct pool_address *pool, const char *instance,
                   provider_look_fn done, void *context);
/* Only where provider_can_find_group(). */
bool provider_can_find_group(const struct provider *provider);
void provider_find_group(struct provider *provider, const char *provider_id, provider_group_fn done,
                         void *context);
/* The place of a pool: equal texts, equal places.  The caller frees it. */
char *provider_place(const struct provider_kind *kind, const struct provider_account *account,
                     const struct pool_address *pool)
    __attribute__((returns_nonnull, warn_unused_result));
bool provider_read_id(const struct provider *provider, const struct pool_address *pool,
                      const char *provider_id, char ret_name[INSTANCE_NAME_SIZE],
                      size_t *ret_claim);

/* "creating", "running", "deleting", "other", "parked". */
const char *instance_state_name(enum instance_state state);

static inline void owned_provider(struct provider **provider)
{
    provider_close(*provider);
}
