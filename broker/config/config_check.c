/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What must hold between the settings of sluice.yaml: names refer to something, sums fit, and no
 * two entries mean the same thing.  A mistake here would move nodes to the wrong place, so each is
 * an error, at the line of the key that is to be corrected.
 */
#include "base/memory.h"
#include "base/text.h"
#include "base/text_items.h"
#include "broker/config/config_tables.h"
#include "clusters/cluster.h"
#include "providers/common/provider.h"

#include <inttypes.h>
#include <string.h>

/* The place of `key` of entry `at` in a section, or of the entry itself when the key is absent.
   Entries of the document and of the configuration have the same order. */
const struct yaml_node *config_place(const struct config *config, const char *section, size_t at,
                                     const char *key)
{
    const struct yaml_node *entries = yaml_get(yaml_root(config->document), section);

    require(entries && at < entries->count); /* they have been read */

    const struct yaml_node *entry = &entries->children[at];
    const struct yaml_node *node = yaml_get(entry, key);

    return node ? node : entry;
}

/* The same for a mapping that may be absent as a whole. */
static const struct yaml_node *place_below(const struct config *config, const char *mapping,
                                           const char *key)
{
    const struct yaml_node *root = yaml_root(config->document);
    const struct yaml_node *outer = mapping ? yaml_get(root, mapping) : root;
    const struct yaml_node *node = outer ? yaml_get(outer, key) : NULL;

    return node ? node : outer ? outer : root;
}

bool config_is_name(const char *chars, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-/";

    return length > 0 && strspn(chars, letters) >= length;
}

static int check_top(const struct config *config, struct error *err)
{
    const char *label = config->ephemeral_label;
    size_t key_length = strcspn(label, "=");

    if (label[key_length] != '=' || !config_is_name(label, key_length) ||
        !config_is_name(label + key_length + 1, strlen(label + key_length + 1)))
        return yaml_error(err, place_below(config, NULL, "ephemeral_label"),
                          "expected a label as key=value, found \"%s\"", label);
    if (config->guard.fresh_ms < config->poll_ms)
        return yaml_error(err, place_below(config, "guard", "fresh"),
                          "fresh is shorter than poll: knowledge would always be too old");
    if (config->lead.prior_p95_ms < config->lead.prior_p50_ms)
        return yaml_error(err, place_below(config, "lead", "prior_p95"),
                          "prior_p95 is shorter than prior_p50");
    return 0;
}

/* Whether this is a list of label names, separated by commas. */
static bool is_label_list(const char *list)
{
    const char *item;
    size_t length = 0;

    while (text_items_next(&list, &item, &length))
        if (!config_is_name(item, length))
            return false;
    return length > 0;
}

static int check_victims(const struct config *config, struct error *err)
{
    const struct config_victims *victims = &config->victims;

    if (!config_is_name(victims->checkpoint, strlen(victims->checkpoint)))
        return yaml_error(err, place_below(config, "victims", "checkpoint_annotation"),
                          "expected an annotation's key, found \"%s\"", victims->checkpoint);
    if (victims->team && !config_is_name(victims->team, strlen(victims->team)))
        return yaml_error(err, place_below(config, "victims", "team_label"),
                          "expected a label's key, found \"%s\"", victims->team);
    if (!is_label_list(victims->blocks))
        return yaml_error(err, place_below(config, "victims", "block_labels"),
                          "expected labels' keys with commas between them, found \"%s\"",
                          victims->blocks);
    if (victims->classes && !is_label_list(victims->classes))
        return yaml_error(err, place_below(config, "victims", "protected_classes"),
                          "expected names of PriorityClasses with commas between them, found "
                          "\"%s\"",
                          victims->classes);
    return 0;
}

/* The cluster whose nodes are pods of this one. */
static int check_lodger(const struct config *config, size_t at, struct error *err)
{
    struct config_cluster *cluster = &config->clusters[at];
    const struct yaml_node *node = config_place(config, "clusters", at, "slurm");

    if (!cluster->slurm_name || cluster->slurm_name[0] == '\0')
        return 0;
    cluster->slurm = config_resolve(config, CONFIG_CLUSTERS, cluster->slurm_name, node, err);
    if (!cluster->slurm)
        return -1;
    if (!cluster->kind->may_host)
        return yaml_error(err, node, "not valid for the cluster kind %s", cluster->own.kind->name);
    if (!cluster->slurm->kind->may_lodge)
        return yaml_error(err, node, "cluster %s is of kind %s, whose nodes are no pods",
                          cluster->slurm_name, cluster->slurm->own.kind->name);
    return 0;
}

static int check_clusters(struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->cluster_count; i++) {
        struct config_cluster *cluster = &config->clusters[i];

        cluster->kind = cluster_kind_find(cluster->own.kind->name);
        if (text_equal(cluster->role_name, "production"))
            cluster->role = ROLE_PRODUCTION;
        else if (text_equal(cluster->role_name, "research"))
            cluster->role = ROLE_RESEARCH;
        else
            return yaml_error(err, config_place(config, "clusters", i, "role"),
                              "expected production or research, found \"%s\"", cluster->role_name);
    }
    for (size_t i = 0; i < config->cluster_count; i++)
        if (check_lodger(config, i, err) < 0)
            return -1;
    return 0;
}

static bool is_same_region(const struct config_reservation *left,
                           const struct config_reservation *right)
{
    return text_equal(left->machine, right->machine) && text_equal(left->region, right->region);
}

static int check_reservations(struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->reservation_count; i++) {
        struct config_reservation *reservation = &config->reservations[i];

        struct error why = { 0 };

        if (reservation->ends_text &&
            wall_parse(reservation->ends_text, false, &reservation->ends, &why) < 0)
            return yaml_error(err, config_place(config, "reservations", i, "ends"), "%s", why.text);
        reservation->zone_index = 0;
        for (size_t j = 0; j < config->reservation_count; j++) {
            const struct config_reservation *other = &config->reservations[j];

            if (j == i || !is_same_region(reservation, other))
                continue;
            int order = strcmp(other->zone, reservation->zone);
            if (order == 0 && j < i)
                return yaml_error(err, config_place(config, "reservations", i, "zone"),
                                  "%s holds machine %s in zone %s already", other->name,
                                  other->machine, other->zone);
            if (order < 0)
                reservation->zone_index++;
        }
    }
    return 0;
}

static size_t section_count(const struct config *config, const struct config_table *table)
{
    size_t count;

    require(table->count_offset > 0);
    memcpy(&count, (const char *)config + table->count_offset, sizeof count);
    return count;
}

static const void *section_item(const struct config *config, const struct config_table *table,
                                size_t at)
{
    const char *items;

    require(at < section_count(config, table));
    memcpy(&items, (const char *)config + table->items_offset, sizeof items);
    return items + at * table->item_size;
}

static const char *entry_name(const struct config_table *table, const void *item)
{
    return *(char *const *)(const void *)((const char *)item + table->name_offset);
}

/* The names of a section's entries: the first six, then how many more; "none" if there are none. */
static void add_known(struct text *out, const struct config *config,
                      const struct config_table *table)
{
    enum { SHOWN = 6 };
    size_t count = section_count(config, table);

    text_add(out, "%.*s: ", (int)strcspn(table->title, "."), table->title);
    for (size_t i = 0; i < count && i < SHOWN; i++)
        text_add(out, "%s%s", i > 0 ? ", " : "", entry_name(table, section_item(config, table, i)));
    if (count > SHOWN)
        text_add(out, " and %zu more", count - SHOWN);
    if (count == 0)
        text_add(out, "none");
}

/* The item of a section with that name; NULL and an error at `place` when there is none. */
const void *config_resolve(const struct config *config, enum config_table_id id, const char *name,
                           const struct yaml_node *place, struct error *err)
{
    const struct config_table *table = &config_tables[id];
    owned(text) struct text *known = text_new(TEXT_UNBOUNDED);

    require(table->item_size > 0 && name);
    for (size_t i = 0; i < section_count(config, table); i++) {
        const void *item = section_item(config, table, i);

        if (text_equal(entry_name(table, item), name))
            return item;
    }
    add_known(known, config, table);
    yaml_error(err, place, "unknown %.*s \"%s\"; known %s", config_singular_length(table),
               table->title, name, known->chars);
    return NULL;
}

/* What the kind of the pool's cluster needs for pools alone. */
static int check_pools_need(const struct config *config, size_t at, struct error *err)
{
    const struct config_cluster *cluster = config->pools[at].cluster;
    const char *need = cluster->kind->pools_need;
    size_t place = (size_t)(cluster - config->clusters);

    if (!need || yaml_get(config_place(config, "clusters", place, ""), need))
        return 0;
    return yaml_error(err, config_place(config, "clusters", place, ""),
                      "%s is required, as pool %s is of cluster %s", need, config->pools[at].name,
                      cluster->name);
}

static int resolve_pool(const struct config *config, size_t at, struct config_pool *pool,
                        struct error *err)
{
    pool->cluster = config_resolve(config, CONFIG_CLUSTERS, pool->cluster_name,
                                   config_place(config, "pools", at, "cluster"), err);
    if (!pool->cluster)
        return -1;
    pool->reservation = config_resolve(config, CONFIG_RESERVATIONS, pool->reservation_name,
                                       config_place(config, "pools", at, "reservation"), err);
    if (!pool->reservation)
        return -1;
    pool->provider = config_resolve(config, CONFIG_PROVIDERS, pool->provider_name,
                                    config_place(config, "pools", at, "provider"), err);
    if (!pool->provider)
        return -1;
    pool->provider->kind->set_zone(pool->own.settings, pool->reservation->zone);
    return 0;
}

/* Compares the pool with the pools before it. */
static int check_pool_differs(const struct config *config, size_t at, struct error *err)
{
    const struct config_pool *pool = &config->pools[at];
    const struct provider_kind *kind = pool->provider->kind;
    owned(chars) char *place = config_place_of_pool(pool);

    require(at < config->pool_count && pool->cluster && pool->reservation);
    for (size_t i = 0; i < at; i++) {
        const struct config_pool *other = &config->pools[i];
        owned(chars) char *theirs = config_place_of_pool(other);

        if (other->provider->kind == kind && text_equal(theirs, place))
            return yaml_error(err, config_place(config, "pools", at, kind->place_key),
                              "%s is %s already", other->name, place);
        if (pool->cluster == other->cluster && pool->reservation == other->reservation)
            return yaml_error(err, config_place(config, "pools", at, "reservation"),
                              "%s is the pool of cluster %s in reservation %s already", other->name,
                              other->cluster->name, other->reservation->name);
    }
    return 0;
}

/* The floors of the pools up to this one in its reservation must fit into the reservation. */
static int check_floor(const struct config *config, size_t at, struct error *err)
{
    const struct config_pool *pool = &config->pools[at];
    int64_t sum = 0;

    if (pool->node_max > 0 && pool->node_max < pool->static_nodes)
        return yaml_error(err, config_place(config, "pools", at, "node_max"),
                          "is less than static_nodes, %" PRId64, pool->static_nodes);
    for (size_t i = 0; i <= at; i++)
        if (config->pools[i].reservation == pool->reservation)
            sum += config->pools[i].static_nodes;
    require(sum >= pool->static_nodes);
    if (sum > pool->reservation->nodes)
        return yaml_error(err, config_place(config, "pools", at, "static_nodes"),
                          "the static nodes in reservation %s are %" PRId64 " so far, and it has "
                          "%" PRId64 " nodes",
                          pool->reservation->name, sum, pool->reservation->nodes);
    return 0;
}

static int check_pools(struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->pool_count; i++)
        if (resolve_pool(config, i, &config->pools[i], err) < 0 ||
            check_pools_need(config, i, err) < 0 || check_pool_differs(config, i, err) < 0 ||
            check_floor(config, i, err) < 0)
            return -1;
    return 0;
}

static bool is_served(const struct config *config, const char *queue)
{
    for (size_t i = 0; i < config->workload_count; i++)
        if (text_equal(config->workloads[i].queue_name, queue))
            return true;
    return false;
}

static int check_source(const struct config *config, size_t at, struct error *err)
{
    const struct config_source *source = &config->sources[at];

    if (!text_equal(source->missing, "unknown") && !text_equal(source->missing, "zero"))
        return yaml_error(err, config_place(config, "sources", at, "missing"),
                          "expected unknown or zero, found \"%s\"", source->missing);
    return 0;
}

static int check_queue_source(const struct config *config, size_t at, struct config_queue *queue,
                              struct error *err)
{
    const struct yaml_node *entry = config_place(config, "queues", at, "");

    if (!queue->source_name && (queue->arrivals || queue->arrivals_high || queue->arrivals_low))
        return yaml_error(err, entry, "has arrivals, which require source");
    if (!queue->source_name)
        return 0;
    if (!queue->arrivals_high != !queue->arrivals_low || !queue->arrivals == !queue->arrivals_low)
        return yaml_error(err, entry,
                          "has a source: it needs either arrivals, or arrivals_high and "
                          "arrivals_low");
    queue->source = config_resolve(config, CONFIG_SOURCES, queue->source_name,
                                   config_place(config, "queues", at, "source"), err);
    return queue->source ? 0 : -1;
}

static int check_sources(const struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->source_count; i++)
        if (check_source(config, i, err) < 0)
            return -1;
    for (size_t i = 0; i < config->queue_count; i++)
        if (check_queue_source(config, i, &config->queues[i], err) < 0)
            return -1;
    return 0;
}

static int check_queues(const struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->queue_count; i++) {
        struct config_queue *queue = &config->queues[i];

        if (config_check_service(config, i, queue, err) < 0 ||
            config_check_engine(config, i, queue, err) < 0)
            return -1;
        if (queue->percentile >= 100)
            return yaml_error(err, config_place(config, "queues", i, "percentile"),
                              "must be less than 100: no capacity makes every request wait less");
        if (!text_equal(queue->slo, "pooled") && !text_equal(queue->slo, "each-day"))
            return yaml_error(err, config_place(config, "queues", i, "slo"),
                              "expected pooled or each-day, found \"%s\"", queue->slo);
        if (queue->scale_up <= 0)
            return yaml_error(err, config_place(config, "queues", i, "scale_up"),
                              "must be more than 0");
        if (!is_served(config, queue->name))
            return yaml_error(err, config_place(config, "queues", i, ""), "no workload serves it");
    }
    return 0;
}

static int read_share(struct config *config, size_t at, const struct yaml_node *node,
                      struct config_share *share, struct error *err)
{
    const struct config_table *table = &config_tables[CONFIG_SHARES];
    const struct config_cluster *cluster = config_resolve(config, CONFIG_CLUSTERS, node->key, node,
                                                          err);

    if (!cluster)
        return -1;
    if (cluster->role != ROLE_PRODUCTION)
        return yaml_error(err, node, "is a research cluster; workloads run in production");
    if (!cluster->kind->keeps_replicas)
        return yaml_error(err, node, "is a cluster of kind %s, which keeps no replicas",
                          cluster->own.kind->name);
    if (settings_read(node, table->settings, table->count, share, err) < 0)
        return -1;
    share->cluster = cluster;
    return config_check_gpus(config, at, node, cluster, err);
}

/* Others do not exist in any cluster. */
static bool is_kubernetes_name(const char *name)
{
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == strlen(name);
}

static int check_workload_names(const struct config *config, size_t at, struct error *err)
{
    static const char rule[] = "a name in Kubernetes has lower-case letters, digits, \"-\" and "
                               "\".\"";

    if (!is_kubernetes_name(config->workloads[at].name))
        return yaml_error(err, config_place(config, "workloads", at, ""), "%s", rule);
    if (!is_kubernetes_name(config->workloads[at].namespace))
        return yaml_error(err, config_place(config, "workloads", at, "namespace"), "%s", rule);
    return config_check_scaling(config, at, err);
}

static int read_shares(struct config *config, size_t at, struct config_workload *workload,
                       struct error *err)
{
    const struct yaml_node *shares = workload->clusters_node;

    if (yaml_expect(shares, YAML_MAPPING, err) < 0)
        return -1;
    if (shares->count == 0)
        return yaml_error(err, shares, "is empty, at least one cluster is needed");
    workload->shares = mem_new_array(shares->count, sizeof *workload->shares);
    workload->share_count = shares->count;
    for (size_t i = 0; i < shares->count; i++)
        if (read_share(config, at, &shares->children[i], &workload->shares[i], err) < 0)
            return -1;
    return 0;
}

static int check_workloads(struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->pool_count; i++)
        config->pools[i].group = 1;
    for (size_t i = 0; i < config->workload_count; i++) {
        struct config_workload *workload = &config->workloads[i];

        workload->queue = config_resolve(config, CONFIG_QUEUES, workload->queue_name,
                                         config_place(config, "workloads", i, "queue"), err);
        if (!workload->queue || check_workload_names(config, i, err) < 0 ||
            read_shares(config, i, workload, err) < 0)
            return -1;
    }
    return config_check_groups(config, err);
}

/* The queues that an event names are there. */
static int check_events(const struct config *config, struct error *err)
{
    const struct yaml_node *events = yaml_get(yaml_root(config->document), "events");

    for (size_t i = 0; events && i < events->count; i++) {
        const struct yaml_node *names = yaml_get(&events->children[i], "queues");

        for (size_t at = 0; names && at < names->count; at++)
            if (!config_resolve(config, CONFIG_QUEUES, names->children[at].text,
                                &names->children[at], err))
                return -1;
    }
    return 0;
}

int config_check(struct config *config, struct error *err)
{
    if (check_top(config, err) < 0 || check_victims(config, err) < 0 ||
        check_clusters(config, err) < 0 || check_reservations(config, err) < 0 ||
        check_pools(config, err) < 0 || check_sources(config, err) < 0 ||
        check_workloads(config, err) < 0 || config_check_quotas(config, err) < 0 ||
        check_events(config, err) < 0 || config_check_prices(config, err) < 0)
        return -1;
    return check_queues(config, err);
}
