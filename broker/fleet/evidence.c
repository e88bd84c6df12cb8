/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pool's list held against the Nodes of its cluster, by provider ID.  While the two contradict
 * each other the pool is in doubt.
 *
 * A Node that is Ready has a machine, whatever a list says: the machine stays among the pool's.
 * That contradiction ends when the list shows the machine, or when the cluster no longer hears from
 * the Node.  Nor do half of a pool's machines lose their Nodes while they run.  But an operator may
 * have deleted the Nodes, so this doubt is dropped after a time.
 */
#include "base/log.h"
#include "base/shared_text.h"
#include "base/text.h"
#include "broker/fleet/fleet_parts.h"

#include <string.h>

enum {
    REVIEW_MS = SECOND_MS,      /* between two comparisons while Nodes come and go */
    QUIET_MS = 10 * SECOND_MS,  /* while none does: only time and other pools can change it then */
    ENDING_MS = 15 * MINUTE_MS, /* so long a machine that ended may leave a Node */
    LOSS_MS = 90 * MINUTE_MS,   /* so long Nodes that are gone are missed */
    LOSS_LEAST = 2,
    NAMES_MOST = 3, /* in a sentence */
};

/* When something was last seen of a machine. */
struct moment {
    int64_t at_ms;
};

static void review(void *context);

void evidence_init(struct listing *listing)
{
    listing->ending = map_new(mem_free);
    listing->removed = map_new(mem_free);
    listing->with_node = map_new(mem_free);
    listing->by_id = map_new(mem_free);
    listing->review = timer_new(listing->fleet->world->loop, review, listing);
}

void evidence_clear(struct listing *listing)
{
    map_free(listing->ending);
    map_free(listing->removed);
    map_free(listing->with_node);
    map_free(listing->by_id);
    map_free(listing->by_nodes);
    timer_free(listing->review);
}

static void note(struct map *moments, const char *name, int64_t at_ms)
{
    struct moment *moment = map_get(moments, name);

    require(name[0] != '\0');
    if (!moment) {
        moment = mem_new(sizeof *moment);
        map_set(moments, name, moment);
    }
    moment->at_ms = at_ms;
}

static void forget(struct map *moments, int64_t before_ms)
{
    const char *name;
    void *value;

    for (size_t i = 0; map_next(moments, &i, &name, &value);)
        if (((const struct moment *)value)->at_ms < before_ms)
            map_remove(moments, name);
}

void fleet_expect_end(struct fleet *fleet, const struct config_pool *config, const char *name)
{
    note(listing_of(fleet, config)->removed, name, loop_now(fleet->world->loop));
}

static void add_ids(const struct map *instances, struct map *ids)
{
    void *value;

    for (size_t i = 0; map_next(instances, &i, NULL, &value);) {
        const struct instance *instance = value;

        if (instance->provider_id[0] != '\0')
            map_set(ids, instance->provider_id, mem_copy_chars(instance->name));
    }
}

/* Whether the Node's machine may be of this pool; its name, and how surely its ID shows this.  With
   Cluster API the ID does not name the machine: only a list does. */
static bool read_id(const struct listing *listing, const struct node *node,
                    char ret_name[INSTANCE_NAME_SIZE], size_t *ret_claim)
{
    const char *name;

    if (provider_read_id(listing->provider, listing->pool.config->own.settings, node->provider_id,
                         ret_name, ret_claim))
        return true;
    name = map_get(listing->by_id, node->provider_id);
    *ret_claim = 0;
    return name && text_copy(ret_name, INSTANCE_NAME_SIZE, name);
}

/* Whether another pool of the cluster has the machine, or a more specific claim to it. */
static bool is_of_another(const struct listing *listing, const struct node *node, const char *name,
                          size_t claim)
{
    const struct fleet *fleet = listing->fleet;

    for (size_t i = 0; i < fleet->config->pool_count; i++) {
        const struct listing *other = &fleet->listings[i];
        char their_name[INSTANCE_NAME_SIZE];
        size_t their_claim = 0;

        if (other == listing || other->pool.config->cluster != listing->pool.config->cluster)
            continue;
        const struct instance *theirs = map_get(other->pool.instances, name);

        if (is_listed(theirs) ||
            (read_id(other, node, their_name, &their_claim) && their_claim > claim))
            return true;
    }
    return false;
}

/* A machine of this name has come after the one that sluice removed: the list did not have it, or
   as one that ends. */
static bool is_new(const struct map *before, const char *name)
{
    const struct instance *was = map_get(before, name);

    return !is_listed(was) || was->state == INSTANCE_DELETING;
}

/* Whether the Node serves, it is of this pool, and no list has its machine, or only as parked; the
   machine's name. before: the machines of the list before this one; NULL: as now. */
static bool is_unlisted(const struct listing *listing, const struct map *before,
                        const struct node *node, char ret_name[INSTANCE_NAME_SIZE])
{
    const struct instance *known;
    size_t claim = 0;

    if (!node->is_ready || node->is_leaving || !read_id(listing, node, ret_name, &claim))
        return false;
    known = map_get(listing->pool.instances, ret_name);
    if (is_listed(known) || map_get(listing->ending, ret_name) ||
        map_get(listing->removed, ret_name))
        return false;
    return (known || claim > 0 || (before && map_get(before, ret_name))) &&
           !is_of_another(listing, node, ret_name, claim);
}

static void add_unlisted(struct listing *listing, const char *name, const char *provider_id)
{
    struct instance *instance = mem_new(sizeof *instance);

    /* A name that is cut would be another machine's. */
    require(name[0] != '\0' && strlen(name) < sizeof instance->name);
    require(!is_listed(map_get(listing->pool.instances, name)));
    text_copy(instance->name, sizeof instance->name, name);
    if (!text_copy(instance->provider_id, sizeof instance->provider_id, provider_id))
        instance->provider_id[0] = '\0';
    instance->state = INSTANCE_RUNNING;
    instance->is_unlisted = true;
    instance->seen_ms = loop_now(listing->fleet->world->loop);
    map_set(listing->pool.instances, name, instance);
}

static void read_nodes(struct listing *listing)
{
    const struct snapshot *snapshot = fleet_snapshot(listing->fleet, listing->pool.config->cluster);
    char name[INSTANCE_NAME_SIZE];
    size_t claim;
    void *value;

    map_free(listing->by_nodes);
    listing->by_nodes = map_new(mem_free);
    listing->by_nodes_ms = loop_now(listing->fleet->world->loop);
    for (size_t i = 0; map_next(snapshot->nodes, &i, NULL, &value);) {
        const struct node *node = value;

        if (read_id(listing, node, name, &claim) && !map_get(listing->by_nodes, name))
            map_set(listing->by_nodes, name, mem_copy_chars(node->provider_id));
    }
}

/* The provider ID of a machine that the list lacks, from its Node; NULL: no Node has it.  Borrowed
   until the next turn.  Most Nodes have their machine's name; the others are read once a second at
   most. */
static const char *by_nodes(struct listing *listing, const char *name)
{
    const struct snapshot *snapshot = fleet_snapshot(listing->fleet, listing->pool.config->cluster);
    const struct node *node = map_get(snapshot->nodes, name);
    char its_name[INSTANCE_NAME_SIZE];
    size_t claim;

    if (node && read_id(listing, node, its_name, &claim) && text_equal(its_name, name))
        return node->provider_id;
    if (listing->by_nodes_ms == 0 ||
        loop_now(listing->fleet->world->loop) - listing->by_nodes_ms >= REVIEW_MS)
        read_nodes(listing);
    return map_get(listing->by_nodes, name);
}

const struct node *fleet_node_of(const struct fleet *fleet, const struct config_pool *config,
                                 const struct instance *instance)
{
    const struct node *node = fleet_node_of_id(fleet, config, instance->provider_id,
                                               instance->name);
    const char *provider_id = node ? NULL : by_nodes(listing_of(fleet, config), instance->name);

    return provider_id ? fleet_node_of_id(fleet, config, provider_id, instance->name) : node;
}

const struct node *fleet_node_of_name(const struct fleet *fleet, const struct config_pool *config,
                                      const char *name)
{
    const struct instance *listed = map_get(listing_of(fleet, config)->pool.instances, name);
    struct instance unlisted = { 0 };

    text_copy(unlisted.name, sizeof unlisted.name, name);
    return fleet_node_of(fleet, config, listed ?: &unlisted);
}

enum presence fleet_has(const struct fleet *fleet, const struct config_pool *config,
                        const struct instance *instance)
{
    enum presence presence = PRESENCE_UNKNOWN;

    if (!instance->is_unplaced || fleet_node_of(fleet, config, instance))
        return PRESENCE_YES;
    for (size_t i = 0; i < fleet->config->pool_count; i++) {
        const struct config_pool *other = &fleet->config->pools[i];

        if (other->provider == config->provider && other->cluster != config->cluster &&
            fleet_node_of(fleet, other, instance))
            presence = PRESENCE_NO;
    }
    return presence;
}

/* Machines that were unlisted and are not any more: the list has them, or their Node is silent. */
static void drop_settled(struct listing *listing, const struct map *unlisted)
{
    const char *name;
    void *value;

    for (size_t i = 0; map_next(listing->pool.instances, &i, &name, &value);)
        if (((const struct instance *)value)->is_unlisted && !map_get(unlisted, name))
            map_remove(listing->pool.instances, name);
}

/* The sentence for a pool of which at least half of the running machines lost their Nodes
   recently. */
static void describe_loss(struct listing *listing)
{
    int64_t now = loop_now(listing->fleet->world->loop);
    size_t running = 0, lost = 0;
    const char *name;
    void *value;

    forget(listing->with_node, now - LOSS_MS);
    for (size_t i = 0; map_next(listing->pool.instances, &i, &name, &value);) {
        const struct instance *instance = value;

        if (instance->state != INSTANCE_RUNNING)
            continue;
        running++;
        if (fleet_node_of(listing->fleet, listing->pool.config, instance))
            note(listing->with_node, name, now);
        else
            lost += map_get(listing->with_node, name) != NULL;
    }
    require(lost <= running);
    if (lost >= LOSS_LEAST && lost * 2 >= running)
        text_print(listing->pool.doubt, sizeof listing->pool.doubt,
                   "%zu of the %zu machines that run have lost their nodes", lost, running);
}

static void describe(struct listing *listing, const struct map *unlisted)
{
    size_t count = map_count(unlisted);
    owned(text) struct text *names = text_new(256);
    bool was_in_doubt = listing->pool.doubt[0] != '\0';
    size_t shown = 0;
    const char *name;

    for (size_t i = 0; shown < NAMES_MOST && map_next(unlisted, &i, &name, NULL); shown++)
        text_add(names, "%s%s", shown > 0 ? ", " : "", name);
    listing->pool.doubt[0] = '\0';
    if (count > 0)
        text_print(listing->pool.doubt, sizeof listing->pool.doubt,
                   "its list lacks %zu machine%s whose node%s Ready: %s%s", count,
                   count == 1 ? "" : "s", count == 1 ? " is" : "s are", names->chars,
                   count > shown ? ", ..." : "");
    else
        describe_loss(listing);
    if (listing->pool.doubt[0] != '\0' && !was_in_doubt)
        log_warn("pool_in_doubt", FIELD_TEXT("pool", listing->pool.config->name),
                 FIELD_TEXT("text", listing->pool.doubt));
}

static bool is_unlisted_already(const struct listing *listing, const char *name)
{
    const struct instance *instance = map_get(listing->pool.instances, name);

    return instance && instance->is_unlisted;
}

static void compare(struct listing *listing, const struct map *before)
{
    const struct snapshot *snapshot = fleet_snapshot(listing->fleet, listing->pool.config->cluster);
    owned(map) struct map *unlisted = map_new(NULL); /* name -> its Node's provider ID */
    char machine[INSTANCE_NAME_SIZE];
    const char *name;
    void *value;

    if (!snapshot->is_known || !listing->pool.is_known)
        return;
    listing->reviewed_ms = loop_now(listing->fleet->world->loop);
    listing->reviewed_changes = snapshot->node_changes;
    for (size_t i = 0; map_next(snapshot->nodes, &i, NULL, &value);)
        if (is_unlisted(listing, before, value, machine))
            map_set(unlisted, machine,
                    (void *)(uintptr_t)((const struct node *)value)->provider_id);
    drop_settled(listing, unlisted);
    for (size_t i = 0; map_next(unlisted, &i, &name, &value);)
        if (!is_unlisted_already(listing, name))
            add_unlisted(listing, name, value);
    require(map_count(unlisted) <= map_count(listing->pool.instances));
    describe(listing, unlisted);
}

static void review(void *context)
{
    struct listing *listing = context;

    compare(listing, NULL);
    listing->fleet->news(listing->fleet->news_context);
}

void evidence_of_nodes(struct listing *listing)
{
    const struct snapshot *snapshot = fleet_snapshot(listing->fleet, listing->pool.config->cluster);
    int64_t since_ms = loop_now(listing->fleet->world->loop) - listing->reviewed_ms;
    bool is_quiet = snapshot->node_changes == listing->reviewed_changes;
    int64_t due_ms = is_quiet ? QUIET_MS : REVIEW_MS;

    if (since_ms >= due_ms || listing->reviewed_ms == 0)
        compare(listing, NULL);
    else
        timer_set_sooner(listing->review, due_ms - since_ms);
}

void evidence_of_list(struct listing *listing, const struct map *before)
{
    int64_t now = loop_now(listing->fleet->world->loop);
    const char *name;
    void *value;

    require(listing->pool.is_known && before != listing->pool.instances);
    for (size_t i = 0; map_next(listing->pool.instances, &i, &name, &value);) {
        enum instance_state state = ((const struct instance *)value)->state;

        if (state == INSTANCE_DELETING)
            note(listing->ending, name, now);
        else if (state != INSTANCE_PARKED) { /* which is how a box ends */
            map_remove(listing->ending, name);
            if (is_new(before, name))
                map_remove(listing->removed, name);
        }
    }
    forget(listing->ending, now - ENDING_MS);
    forget(listing->removed, now - ENDING_MS);
    map_clear(listing->by_id);
    add_ids(before, listing->by_id);
    add_ids(listing->pool.instances, listing->by_id);
    compare(listing, before);
}
