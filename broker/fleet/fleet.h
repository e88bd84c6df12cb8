/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What we know: every cluster's snapshot and every pool's list of machines, each with its age.  The
 * cloud's list says which machines exist, the cluster's snapshot says what they are used for; a
 * machine and its Node are one when the Node's provider ID says so, never by name.
 *
 * An observation has three values.  Unknown is never absent: a list that failed, or is older than
 * the question, says nothing.
 */
#pragma once

#include "base/world/world.h"
#include "broker/config/config.h"
#include "clusters/cluster.h"
#include "providers/common/provider.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fleet;

enum presence { PRESENCE_UNKNOWN, PRESENCE_YES, PRESENCE_NO };

/* A pool as the cloud last listed it, with the machines that the list lacks and whose Nodes serve.
 */
struct fleet_pool {
    const struct config_pool *config;
    struct map *instances;  /* name -> struct instance */
    bool is_known;          /* one complete list has been read */
    int64_t began_ms;       /* when the request for the last complete list was sent: the list is at
                               least as new as this */
    int64_t heard_ms;       /* when the cloud answered last, if with one page of a list only */
    struct error trouble;   /* of the last attempt; ERROR_NONE: it went well */
    struct error shortfall; /* why it brings no machine that was ordered, by its last list;
                               ERROR_NONE: it lacks none, or the cloud does not say */
    char doubt[320];        /* how list and Nodes contradict each other; "": they do not */
};

/* Opens all clusters and providers; nothing is sent yet. */
struct fleet *fleet_open(struct world *world, const struct config *config, struct error *err)
    __attribute__((warn_unused_result));
void fleet_close(struct fleet *fleet);

/* Opens each cluster and each provider by itself, as fleet_open() does, and closes it again; calls
   `found` once for each. kind: "kubeconfig" (the key that a kind of cluster has for access;
   "cluster" if it has none) or "provider"; err: ERROR_NONE when it is good.  Nothing is sent, and
   no plugin is run. */
typedef void (*fleet_found_fn)(void *context, const char *kind, const char *path,
                               const struct error *err);
void fleet_check(struct world *world, const struct config *config, fleet_found_fn found,
                 void *context);

/* One cluster by itself; the caller closes it.  `whole` must outlive it. */
struct cluster *fleet_open_cluster(struct world *world, const struct config *whole,
                                   const struct config_cluster *config, struct error *err)
    __attribute__((warn_unused_result));

struct world *fleet_world(const struct fleet *fleet);

/* Begins to watch and to list.  `news` is called in a turn of the loop after a change. */
void fleet_watch(struct fleet *fleet, cluster_news_fn news, void *context);

struct cluster *fleet_cluster(const struct fleet *fleet, const struct config_cluster *config);
const struct snapshot *fleet_snapshot(const struct fleet *fleet,
                                      const struct config_cluster *config);
const struct fleet_pool *fleet_pool(const struct fleet *fleet, const struct config_pool *config);
struct provider *fleet_provider(const struct fleet *fleet, const struct config_pool *config);

/* Requests a new list of the pool within a few seconds, unless one is under way. */
void fleet_refresh(struct fleet *fleet, const struct config_pool *config);

/* Whether the machine exists, by a complete list that was requested after `since_ms` (loop time).
   A machine that the list lacks or shows as parked is read by its name before it counts as gone, if
   the cloud can; until the answer comes it is unknown.  If the cloud cannot, it is unknown while
   its Node serves.  An older list counts for nothing. *ret_instance, when it exists, is borrowed
   until the next turn; may be NULL. */
enum presence fleet_instance(struct fleet *fleet, const struct config_pool *config,
                             const char *name, int64_t since_ms,
                             const struct instance **ret_instance);

/* Likewise, by a read of the machine by its name, whatever the list shows; by the list if the cloud
   cannot read one. */
enum presence fleet_read_instance(struct fleet *fleet, const struct config_pool *config,
                                  const char *name, int64_t since_ms,
                                  const struct instance **ret_instance);

/* The cloud has accepted sluice's removal of the machine.  A list that lacks it from now on does
   not contradict its Node, which some schedulers show as Ready for a while: a fast cloud may never
   be seen deleting it. */
void fleet_expect_end(struct fleet *fleet, const struct config_pool *config, const char *name);

/* The machine that was ordered under this key (provider_create()), from the list or, if the list
   lacks it, from its Node; NULL: neither has it.  Borrowed until the next turn. */
const struct instance *fleet_machine_of_key(const struct fleet *fleet,
                                            const struct config_pool *config,
                                            const char *request_key);

/* Whether a complete list was asked for after `since_ms` (loop time). */
bool fleet_is_listed_since(const struct fleet *fleet, const struct config_pool *config,
                           int64_t since_ms);

/* Whether the pool has a machine of its list.  One that is_unplaced is in the lists of several
   pools: yes if the pool's cluster has its Node, no if another cluster has it, unknown if none has.
 */
enum presence fleet_has(const struct fleet *fleet, const struct config_pool *config,
                        const struct instance *instance);

/* The Node of a machine, by the provider ID that the list gives it, or else the Node whose own
   provider ID names the machine: a list may write the project's number where Nodes have its name.
   NULL: none in the snapshot. */
const struct node *fleet_node_of(const struct fleet *fleet, const struct config_pool *config,
                                 const struct instance *instance);

/* As fleet_node_of(), also for a machine that no list has. */
const struct node *fleet_node_of_name(const struct fleet *fleet, const struct config_pool *config,
                                      const char *name);

/* The Node with that provider ID; of several the one of that name. */
const struct node *fleet_node_of_id(const struct fleet *fleet, const struct config_pool *config,
                                    const char *provider_id, const char *name);

/* Whether both the cluster and the pool are known, not older than fresh_ms, and agree with each
   other; otherwise false and a sentence that names the stale or doubtful fact. */
bool fleet_is_fresh(const struct fleet *fleet, const struct config_pool *config, int64_t fresh_ms,
                    struct error *err);

/* When the capacity of a machine ends, by the configuration or by its list, whichever is sooner; 0:
   never, or not known. */
struct wall_time fleet_ends(const struct config_pool *config, const struct instance *instance);

/* Whether the node carries the label that makes it movable. */
bool fleet_is_ephemeral(const struct config *config, const struct node *node);

/* That label as an object of one member; the caller frees it. */
json_t *fleet_ephemeral_label(const struct config *config)
    __attribute__((returns_nonnull, warn_unused_result));

static inline void owned_fleet(struct fleet **fleet)
{
    fleet_close(*fleet);
}
