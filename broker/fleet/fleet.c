/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clusters by watch, pools by listing in turn.  See fleet.h.
 */
#include "broker/fleet/fleet.h"

#include "base/input/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/shared_text.h"
#include "base/text.h"
#include "broker/fleet/fleet_parts.h"
#include "providers/kinds.h"

#include <inttypes.h>
#include <string.h>

enum {
    REFRESH_MS = 3 * SECOND_MS, /* between two lists of one pool, at least */
    PAGES_LEAST = 20,           /* that a list may have; more by the reservation's nodes: */
    NODES_A_PAGE = 50,          /* a cloud may send few at once */
    DOUBTS_MAX = 2, /* lists in a row that may claim a sudden loss before it is believed */
};

static void list_next(struct listing *listing, const char *page);

static void begin_list(void *context)
{
    struct listing *listing = context;

    require(listing->fleet->news); /* fleet_watch() was called */
    if (listing->incoming)
        return;
    listing->incoming = map_new(mem_free);
    listing->shortfall = (struct error){ 0 };
    pages_start(&listing->pages,
                PAGES_LEAST + (int)(listing->pool.config->reservation->nodes / NODES_A_PAGE));
    listing->asked_ms = loop_now(listing->fleet->world->loop);
    list_next(listing, NULL);
}

static void list_failed(struct listing *listing, const struct error *err)
{
    require(err->kind != ERROR_NONE);
    if (listing->pool.trouble.kind == ERROR_NONE)
        log_warn("pool_list_failed", FIELD_TEXT("pool", listing->pool.config->name),
                 FIELD_TEXT("text", err->text));
    listing->pool.trouble = *err;
    map_free(steal(&listing->incoming));
}

/* Parked ones are in no pool. */
static bool is_present(const struct instance *instance)
{
    return instance && instance->state != INSTANCE_PARKED;
}

static size_t count_present(const struct map *instances)
{
    size_t count = 0;
    void *value;

    for (size_t i = 0; map_next(instances, &i, NULL, &value);)
        count += is_present(value);
    return count;
}

/* Whether the list claims that the pool is empty, or that at least half of its machines are gone
   without a deletion.  Such a list is more often wrong than right. */
static bool is_doubtful(const struct listing *listing)
{
    const struct fleet_pool *pool = &listing->pool;
    size_t staying = 0, lost = 0;
    const char *name;
    void *value;

    for (size_t i = 0; map_next(pool->instances, &i, &name, &value);) {
        const struct instance *instance = value;

        if (!is_present(instance) || instance->state == INSTANCE_DELETING)
            continue;
        staying++;
        lost += !is_present(map_get(listing->incoming, name));
    }
    require(lost <= staying);
    if (count_present(listing->incoming) == 0)
        return !pool->is_known || lost > 0;
    return lost > 0 && lost * 2 >= staying;
}

static void list_complete(struct listing *listing)
{
    owned(map) struct map *before = NULL;
    struct error doubt = { 0 };

    require(listing->incoming);
    require(listing->asked_ms >= listing->pool.began_ms); /* what we know never becomes older */
    if (is_doubtful(listing) && listing->doubts < DOUBTS_MAX) {
        listing->doubts++;
        error_set(&doubt, ERROR_CORRUPT, "the cloud lists %zu machines where there were %zu",
                  count_present(listing->incoming), count_present(listing->pool.instances));
        return list_failed(listing, &doubt);
    }
    listing->doubts = 0;
    before = listing->pool.instances;
    listing->pool.instances = steal(&listing->incoming);
    listing->pool.is_known = true;
    listing->pool.began_ms = listing->asked_ms;
    listing->pool.trouble = (struct error){ 0 };
    listing->pool.shortfall = listing->shortfall;
    evidence_of_list(listing, before);
}

/* Whether the page has a next one that may be requested; a list without end has failed. */
static bool goes_on(struct listing *listing, const struct instance_page *page,
                    struct error *ret_failure)
{
    pages_brought(&listing->pages, page->count);
    if (!page->next || pages_next(&listing->pages, page->next, ret_failure) == 0)
        return page->next != NULL;
    error_context(ret_failure, "provider %s: pool %s", listing->pool.config->provider->name,
                  listing->pool.config->name);
    return false;
}

static void list_answered(void *context, const struct instance_page *page, const struct error *err)
{
    struct listing *listing = context;
    const struct fleet *fleet = listing->fleet;
    struct error endless = { 0 };

    require(listing->incoming);
    require(!page != !err); /* an answer or why there is none */
    if (page) {
        listing->pool.heard_ms = loop_now(fleet->world->loop);
        for (size_t i = 0; i < page->count; i++) {
            struct instance *instance = mem_new(sizeof *instance);

            *instance = page->items[i];
            if (instance->seen_ms == 0)
                instance->seen_ms = listing->asked_ms;
            map_set(listing->incoming, instance->name, instance);
        }
        if (page->shortfall)
            listing->shortfall = *page->shortfall;
        if (goes_on(listing, page, &endless))
            return list_next(listing, page->next);
    }
    if (endless.kind != ERROR_NONE)
        err = &endless;
    if (err)
        list_failed(listing, err);
    else
        list_complete(listing);
    timer_set(listing->timer, err && err->retry_after_ms > fleet->config->poll_ms
                                  ? err->retry_after_ms
                                  : fleet->config->poll_ms);
    fleet->news(fleet->news_context);
}

static void list_next(struct listing *listing, const char *page)
{
    provider_list(listing->provider, listing->pool.config->own.settings, page, list_answered,
                  listing);
}

struct wall_time fleet_ends(const struct config_pool *config, const struct instance *instance)
{
    struct wall_time ends = config->reservation->ends;

    return instance->ends.ms > 0 && (ends.ms == 0 || instance->ends.ms < ends.ms) ? instance->ends
                                                                                  : ends;
}

struct cluster *fleet_open_cluster(struct world *world, const struct config *whole,
                                   const struct config_cluster *config, struct error *err)
{
    struct cluster_settings settings = {
        .name = config->name,
        .kind = config->kind,
        .own = config->own.settings,
        .log_in = provider_log_in,
        .accelerators = &whole->accelerators,
    };

    return cluster_open(world, &settings, err);
}

static struct provider *open_provider(struct world *world, const struct config_provider *config,
                                      struct error *err)
{
    struct provider *provider = provider_open(world, config->kind, config->own.settings, err);

    if (!provider)
        error_context(err, "provider %s", config->name);
    return provider;
}

void fleet_check(struct world *world, const struct config *config, fleet_found_fn found,
                 void *context)
{
    for (size_t i = 0; i < config->cluster_count; i++) {
        const char *key = "cluster";
        const char *access = config_cluster_access(&config->clusters[i], &key);
        struct error err = { 0 };

        cluster_close(fleet_open_cluster(world, config, &config->clusters[i], &err));
        found(context, key, access ?: config->path, &err);
    }
    for (size_t i = 0; i < config->provider_count; i++) {
        struct error err = { 0 };
        struct provider *provider = open_provider(world, &config->providers[i], &err);

        provider_close(provider);
        found(context, "provider", config_provider_file(&config->providers[i]) ?: config->path,
              &err);
    }
}

static int open_clusters(struct fleet *fleet, struct error *err)
{
    const struct config *config = fleet->config;

    fleet->clusters = mem_new_array(config->cluster_count, sizeof(struct cluster *));
    for (size_t i = 0; i < config->cluster_count; i++) {
        fleet->clusters[i] = fleet_open_cluster(fleet->world, config, &config->clusters[i], err);
        if (!fleet->clusters[i])
            return -1;
    }
    return 0;
}

static int open_providers(struct fleet *fleet, struct error *err)
{
    const struct config *config = fleet->config;

    fleet->providers = mem_new_array(config->provider_count, sizeof(struct provider *));
    for (size_t i = 0; i < config->provider_count; i++) {
        fleet->providers[i] = open_provider(fleet->world, &config->providers[i], err);
        if (!fleet->providers[i])
            return -1;
    }
    return 0;
}

static void open_listings(struct fleet *fleet)
{
    const struct config *config = fleet->config;

    fleet->listings = mem_new_array(config->pool_count, sizeof(struct listing));
    for (size_t i = 0; i < config->pool_count; i++) {
        struct listing *listing = &fleet->listings[i];

        listing->fleet = fleet;
        listing->pool.config = &config->pools[i];
        listing->pool.instances = map_new(mem_free);
        require(config->pools[i].provider >= config->providers &&
                config->pools[i].provider < config->providers + config->provider_count);
        listing->provider = fleet->providers[config->pools[i].provider - config->providers];
        listing->timer = timer_new(fleet->world->loop, begin_list, listing);
        evidence_init(listing);
        sightings_init(listing);
    }
}

struct fleet *fleet_open(struct world *world, const struct config *config, struct error *err)
{
    owned(fleet) struct fleet *fleet = mem_new(sizeof *fleet);

    fleet->world = world;
    fleet->config = config;
    if (open_clusters(fleet, err) < 0 || open_providers(fleet, err) < 0)
        return NULL;
    open_listings(fleet);
    return steal(&fleet);
}

void fleet_close(struct fleet *fleet)
{
    if (!fleet)
        return;
    for (size_t i = 0; fleet->clusters && i < fleet->config->cluster_count; i++)
        cluster_close(fleet->clusters[i]);
    for (size_t i = 0; fleet->providers && i < fleet->config->provider_count; i++)
        provider_close(fleet->providers[i]);
    for (size_t i = 0; fleet->listings && i < fleet->config->pool_count; i++) {
        timer_free(fleet->listings[i].timer);
        evidence_clear(&fleet->listings[i]);
        sightings_clear(&fleet->listings[i]);
        map_free(fleet->listings[i].incoming);
        pages_clear(&fleet->listings[i].pages);
        map_free(fleet->listings[i].pool.instances);
    }
    mem_free(fleet->clusters);
    mem_free(fleet->providers);
    mem_free(fleet->listings);
    mem_free(fleet);
}

static void cluster_news(void *context)
{
    struct fleet *fleet = context;

    for (size_t i = 0; i < fleet->config->pool_count; i++)
        evidence_of_nodes(&fleet->listings[i]);
    fleet->news(fleet->news_context);
}

void fleet_watch(struct fleet *fleet, cluster_news_fn news, void *context)
{
    require(news && !fleet->news); /* once */
    fleet->news = news;
    fleet->news_context = context;
    for (size_t i = 0; i < fleet->config->cluster_count; i++) {
        cluster_watch(fleet->clusters[i], cluster_news, fleet);
        cluster_watch_more(fleet->clusters[i]);
    }
    for (size_t i = 0; i < fleet->config->pool_count; i++)
        timer_set(fleet->listings[i].timer, 0);
}

struct cluster *fleet_cluster(const struct fleet *fleet, const struct config_cluster *config)
{
    require(config >= fleet->config->clusters &&
            config < fleet->config->clusters + fleet->config->cluster_count);
    return fleet->clusters[config - fleet->config->clusters];
}

const struct snapshot *fleet_snapshot(const struct fleet *fleet,
                                      const struct config_cluster *config)
{
    return cluster_snapshot(fleet_cluster(fleet, config));
}

const struct fleet_pool *fleet_pool(const struct fleet *fleet, const struct config_pool *config)
{
    return &listing_of(fleet, config)->pool;
}

struct provider *fleet_provider(const struct fleet *fleet, const struct config_pool *config)
{
    return listing_of(fleet, config)->provider;
}

void fleet_refresh(struct fleet *fleet, const struct config_pool *config)
{
    struct listing *listing = listing_of(fleet, config);
    int64_t since_ms = loop_now(fleet->world->loop) - listing->asked_ms;

    if (!listing->incoming)
        timer_set_sooner(listing->timer, since_ms >= REFRESH_MS ? 0 : REFRESH_MS - since_ms);
}

/* A list alone does not prove that a machine is gone or parked; if the cloud can read one by its
   name, that read decides. */
enum presence fleet_instance(struct fleet *fleet, const struct config_pool *config,
                             const char *name, int64_t since_ms,
                             const struct instance **ret_instance)
{
    struct listing *listing = listing_of(fleet, config);
    const struct fleet_pool *pool = &listing->pool;
    const struct instance *instance;
    enum presence presence = PRESENCE_YES;

    require(name[0] != '\0');
    if (!pool->is_known || pool->began_ms <= since_ms)
        return PRESENCE_UNKNOWN;
    instance = map_get(pool->instances, name);
    if (instance && !instance->is_unlisted && instance->seen_ms <= since_ms)
        return PRESENCE_UNKNOWN;
    if (!is_listed(instance)) {
        if (provider_can_look(listing->provider))
            presence = sighting_of(listing, name, since_ms, &instance);
        else
            presence = instance && instance->is_unlisted ? PRESENCE_UNKNOWN : PRESENCE_NO;
    }
    require(presence != PRESENCE_YES || instance);
    if (ret_instance && presence != PRESENCE_UNKNOWN)
        *ret_instance = presence == PRESENCE_YES ? instance : NULL;
    return presence;
}

enum presence fleet_read_instance(struct fleet *fleet, const struct config_pool *config,
                                  const char *name, int64_t since_ms,
                                  const struct instance **ret_instance)
{
    struct listing *listing = listing_of(fleet, config);

    return provider_can_look(listing->provider)
               ? sighting_of(listing, name, since_ms, ret_instance)
               : fleet_instance(fleet, config, name, since_ms, ret_instance);
}

bool fleet_is_listed_since(const struct fleet *fleet, const struct config_pool *config,
                           int64_t since_ms)
{
    const struct fleet_pool *pool = fleet_pool(fleet, config);

    return pool->is_known && pool->began_ms > since_ms;
}

/* If the name follows from the key, one lookup is enough. */
const struct instance *fleet_machine_of_key(const struct fleet *fleet,
                                            const struct config_pool *config,
                                            const char *request_key)
{
    const struct provider_kind *kind = config->provider->kind;
    const struct map *instances = fleet_pool(fleet, config)->instances;
    char name[INSTANCE_NAME_SIZE];
    void *value;

    if (kind->name_machine) {
        kind->name_machine(config->own.settings, request_key, name);
        return map_get(instances, name);
    }
    for (size_t i = 0; map_next(instances, &i, NULL, &value);)
        if (text_equal(((const struct instance *)value)->request_key, request_key))
            return value;
    return NULL;
}

const struct node *fleet_node_of_id(const struct fleet *fleet, const struct config_pool *config,
                                    const char *provider_id, const char *name)
{
    /* Most clouds name the Node after the machine; the provider ID decides in any case. */
    return provider_id[0] != '\0' ? snapshot_node_of_provider(
                                        fleet_snapshot(fleet, config->cluster), provider_id, name)
                                  : NULL;
}

static bool is_old(const char *what, const char *name, const char *trouble, struct error *err)
{
    error_set(err, ERROR_DENIED, "%s %s was not seen lately%s%s", what, name,
              trouble[0] != '\0' ? ": " : "", trouble);
    return false;
}

bool fleet_is_fresh(const struct fleet *fleet, const struct config_pool *config, int64_t fresh_ms,
                    struct error *err)
{
    const struct snapshot *snapshot = fleet_snapshot(fleet, config->cluster);
    const struct fleet_pool *pool = fleet_pool(fleet, config);
    int64_t oldest_ms = loop_now(fleet->world->loop) - fresh_ms;

    require(fresh_ms > 0);
    if (!snapshot->is_known || snapshot->nodes_seen_ms < oldest_ms ||
        snapshot->pods_seen_ms < oldest_ms)
        return is_old("cluster", config->cluster->name,
                      cluster_trouble(fleet_cluster(fleet, config->cluster)), err);
    if (!pool->is_known || pool->began_ms < oldest_ms)
        return is_old("pool", config->name,
                      pool->trouble.kind == ERROR_NONE ? "" : pool->trouble.text, err);
    if (pool->doubt[0] != '\0') {
        error_set(err, ERROR_DENIED, "pool %s is in doubt: %s", config->name, pool->doubt);
        return false;
    }
    return true;
}

json_t *fleet_ephemeral_label(const struct config *config)
{
    const char *equals = strchr(config->ephemeral_label, '=');
    json_t *label = json_object();

    require(equals); /* config_read() saw to it */
    json_object_setn_new(label, config->ephemeral_label, (size_t)(equals - config->ephemeral_label),
                         json_text(equals + 1));
    return label;
}

bool fleet_is_ephemeral(const struct config *config, const struct node *node)
{
    const char *label = config->ephemeral_label;
    const char *equals = strchr(label, '=');

    require(equals); /* config_read() saw to it */
    return text_equal(packed_map_find(node->labels, label, (size_t)(equals - label)), equals + 1);
}

struct world *fleet_world(const struct fleet *fleet)
{
    return fleet->world;
}
