/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct fleet.  Private to this folder.
 */
#pragma once

#include "base/map.h"
#include "base/memory.h"
#include "base/world/pages.h"
#include "broker/fleet/fleet.h"

/* A pool, the list request under way, and the machines that were read by name. */
struct listing {
    struct fleet_pool pool;
    struct fleet *fleet;
    struct provider *provider; /* borrowed */
    struct timer *timer;
    struct map *incoming;   /* pages of the list under way; NULL: none is */
    struct error shortfall; /* of the list under way */
    struct pages pages;
    int64_t asked_ms;
    int doubts;            /* lists in a row that were not believed */
    struct map *ending;    /* name -> struct moment: machines that the cloud was deleting */
    struct map *removed;   /* the same: whose removal the cloud accepted from sluice */
    struct map *with_node; /* name -> struct moment: machines that had a Node */
    struct map *sightings; /* name -> struct sighting */
    struct map *by_id;     /* provider ID -> name: machines of this list and the one before */
    struct map *by_nodes;  /* name -> provider ID: machines as the cluster's Nodes have them */
    int64_t by_nodes_ms;   /* when that was made; 0: never */
    struct timer *review;  /* compares list and Nodes once more */
    int64_t reviewed_ms;
    int64_t reviewed_changes; /* the cluster's node_changes then */
};

struct fleet {
    struct world *world;
    const struct config *config;
    struct cluster **clusters;   /* as config->clusters */
    struct provider **providers; /* as config->providers */
    struct listing *listings;    /* as config->pools */
    cluster_news_fn news;
    void *news_context;
};

static inline struct listing *listing_of(const struct fleet *fleet,
                                         const struct config_pool *config)
{
    require(config >= fleet->config->pools &&
            config < fleet->config->pools + fleet->config->pool_count);
    return &fleet->listings[config - fleet->config->pools];
}

/* Whether a list has the machine, in its pool. */
static inline bool is_listed(const struct instance *instance)
{
    return instance && !instance->is_unlisted && instance->state != INSTANCE_PARKED;
}

/* evidence.c: compares the list with the cluster's Nodes. */
void evidence_init(struct listing *listing);
void evidence_clear(struct listing *listing);
/* A complete list has just become listing->pool.instances; before: the instances until then. */
void evidence_of_list(struct listing *listing, const struct map *before);
/* The cluster has changed: compares, now or within a second. */
void evidence_of_nodes(struct listing *listing);

/* sighting.c: one machine, read by name. */
void sightings_init(struct listing *listing);
/* Only when its provider is closed: no answer comes any more. */
void sightings_clear(struct listing *listing);
/* Whether the machine exists, by a read that was sent after since_ms; reads when that is not known.
 *ret_instance is borrowed until the next turn. */
enum presence sighting_of(struct listing *listing, const char *name, int64_t since_ms,
                          const struct instance **ret_instance);
