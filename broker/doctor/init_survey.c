/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See init_survey.h.
 */
#include "broker/doctor/init_survey.h"

#include "base/input/json.h"
#include "base/input/yaml.h"
#include "base/text.h"
#include "broker/sizing/source_world.h"
#include "clusters/cluster.h"
#include "clusters/gpus.h"
#include "providers/kinds.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 50 };

static const char machine_label[] = "node.kubernetes.io/instance-type";
static const char zone_label[] = "topology.kubernetes.io/zone";
static const char region_label[] = "topology.kubernetes.io/region";

/* Where each cloud names the group of a node, and whether that is its own name for it. */
static const struct {
    const char *cloud, *key;
    bool is_annotation, is_own_name;
} group_keys[] = {
    { "gcp", "cloud.google.com/gke-nodepool", false, false },
    { "aws", "eks.amazonaws.com/nodegroup", false, false },
    { "azure", "kubernetes.azure.com/agentpool", false, true },
    { "azure", "agentpool", false, true },
    { "oci", "oci.oraclecloud.com/node-pool-id", true, true },
};

/* How a provider ID begins, and the cloud that it is of. */
static const struct {
    const char *scheme, *cloud;
} clouds[] = {
    { "gce://", "gcp" }, { "aws://", "aws" }, { "azure://", "azure" }, { "ocid1.", "oci" }
};

/* Cluster API marks its nodes, whose machines are of any cloud. */
static const char *cloud_of(const struct node *node)
{
    for (size_t i = 0; i < COUNT_OF(clouds); i++)
        if (text_starts_with(node->provider_id, clouds[i].scheme) &&
            !node_annotation(node, "cluster.x-k8s.io/machine"))
            return clouds[i].cloud;
    return "capi";
}

/* The part of a path that follows `before`, up to the next slash; "" when it is not there. */
static char *part_after(const char *path, const char *before)
{
    const char *at = strstr(path, before);

    at = at ? at + strlen(before) : "";
    return text_format("%.*s", (int)strcspn(at, "/"), at);
}

static const char *note_of(const struct node *node, const char *key)
{
    return node_annotation(node, key) ?: "";
}

/* A node of Cluster API shows the owner of its Machine: a MachinePool, or a MachineSet, whose name
   is mostly that of its MachineDeployment and a suffix without a dash. */
static char *owner_of(const struct node *node, bool *is_own_name)
{
    const char *owner = note_of(node, "cluster.x-k8s.io/owner-name");
    const char *kind = note_of(node, "cluster.x-k8s.io/owner-kind");
    const char *dash = strrchr(owner, '-');

    *is_own_name = text_equal(kind, "MachinePool") && owner[0];
    if (*is_own_name)
        return mem_copy_chars(owner);
    return text_equal(kind, "MachineSet") && dash ? text_format("%.*s", (int)(dash - owner), owner)
                                                  : mem_copy_chars("");
}

/* What the node shows of its group; "": nothing. */
static char *group_of(const struct node *node, const char *cloud, bool *is_own_name)
{
    if (text_equal(cloud, "capi"))
        return owner_of(node, is_own_name);
    for (size_t i = 0; i < COUNT_OF(group_keys); i++) {
        const char *found = group_keys[i].is_annotation ? node_annotation(node, group_keys[i].key)
                                                        : node_label(node, group_keys[i].key);

        *is_own_name = group_keys[i].is_own_name;
        if (found && found[0] && text_equal(cloud, group_keys[i].cloud))
            return mem_copy_chars(found);
    }
    *is_own_name = false;
    return mem_copy_chars("");
}

/* "us-east5-a" is in us-east5, as clouds name zones; "us-east-1a" in us-east-1. */
static char *region_of(const struct node *node)
{
    const char *zone = node_label(node, zone_label) ?: "";
    const char *dash = strrchr(zone, '-');

    if (node_label(node, region_label))
        return mem_copy_chars(node_label(node, region_label));
    if (dash && strlen(dash) == 2)
        return text_format("%.*s", (int)(dash - zone), zone);
    return text_format("%.*s", (int)(strlen(zone) > 0 ? strlen(zone) - 1 : 0), zone);
}

static json_t *describe(const char *cluster, const struct snapshot *snapshot,
                        const struct node *node)
{
    owned(chars) char *project = part_after(node->provider_id, "gce://");
    owned(chars) char *resources = part_after(node->provider_id, "/resourceGroups/");
    owned(chars) char *subscription = part_after(node->provider_id, "/subscriptions/");
    owned(chars) char *region = region_of(node);
    const char *cloud = cloud_of(node);
    bool is_own_name = false;
    owned(chars) char *group = group_of(node, cloud, &is_own_name);

    return json_make("{ss ss ss ss ss ss so ss ss ss ss ss sI}", "cluster", cluster, "machine",
                     node_label(node, machine_label) ?: "", "region", region, "zone",
                     node_label(node, zone_label) ?: "", "cloud", cloud, "node_pool", group,
                     "group", is_own_name ? json_text(group) : json_null(), "owner_kind",
                     note_of(node, "cluster.x-k8s.io/owner-kind"), "namespace",
                     note_of(node, "cluster.x-k8s.io/cluster-namespace"), "project", project,
                     "resource_group", resources, "subscription", subscription, "gpus_per_node",
                     (json_int_t)gpus_of_node(snapshot, node));
}

static void count(json_t *row, const char *member, int64_t more)
{
    json_object_set_new(row, member, json_integer(json_int_or(row, member, 0) + more));
}

/* Adds the node to the group whose members are its own. */
static void add_node(json_t *groups, json_t *about, const struct node *node)
{
    const char *movable = node_label(node, "sluice.dev/ephemeral");
    json_t *found = NULL;
    json_t *group;
    size_t i;

    json_array_foreach(groups, i, group)
        if (!found && json_equal(json_object_get(group, "about"), about))
            found = group;
    if (!found) {
        found = json_make("{sO ss}", "about", about, "node", node->name);
        json_array_append_new(groups, found);
    }
    if (strcmp(node->name, json_text_or(found, "node", "")) <= 0) {
        json_object_set_new(found, "node", json_text(node->name));
        json_object_set_new(found, "provider_id", json_text(node->provider_id));
    }
    count(found, "nodes", 1);
    count(found, "movable_nodes", text_equal(movable, "true"));
}

static void add_cluster(const char *name, const struct snapshot *snapshot, json_t *groups)
{
    void *value;

    for (size_t i = 0; map_next(snapshot->nodes, &i, NULL, &value);) {
        const struct node *node = value;
        owned(json) json_t *about = describe(name, snapshot, node);

        if (json_int_or(about, "gpus_per_node", 0) > 0)
            add_node(groups, about, node);
    }
}

struct asking {
    struct loop *loop;
    struct timer *timer;
    struct cluster *cluster;
    int64_t end_ms;
};

static void nothing(void *context)
{
    (void)context;
}

static void look(void *context)
{
    struct asking *asking = context;

    if (cluster_snapshot(asking->cluster)->is_known || loop_now(asking->loop) >= asking->end_ms)
        loop_stop(asking->loop);
    else
        timer_set(asking->timer, LOOK_MS);
}

/* Until its nodes are known, or the time is over. */
static int ask_nodes(struct world *world, struct cluster *cluster, int64_t timeout_ms,
                     struct error *err)
{
    struct asking asking = { .loop = world->loop,
                             .cluster = cluster,
                             .end_ms = loop_now(world->loop) + timeout_ms };

    cluster_watch(cluster, nothing, NULL);
    asking.timer = timer_new(world->loop, look, &asking);
    timer_set(asking.timer, 0);
    loop_run(world->loop);
    timer_free(asking.timer);
    if (cluster_snapshot(cluster)->is_known)
        return 0;
    return error_set(err, ERROR_TRANSIENT, "cluster %s did not show its nodes in time: %s",
                     cluster_name(cluster), cluster_trouble(cluster));
}

/* As if the row stood in a configuration: the kind reads its own keys. */
static int read_own(const struct settings_kind *kind, const json_t *row, void *own,
                    struct error *err)
{
    owned(text) struct text *text = text_new(TEXT_UNBOUNDED);
    owned(json) json_t *keys = json_make(
        "{ss ss* ss*}", "kubeconfig", json_text_or(row, "kubeconfig", ""), "context",
        json_text_or(row, "context", NULL), "plugin", json_text_or(row, "plugin", NULL));
    owned(yaml_document) struct yaml_document *document = NULL;

    yaml_print(keys, text);
    document = yaml_parse(text->chars, text->length, json_text_or(row, "cluster", ""), err);
    return document ? settings_read(yaml_root(document), kind->settings, kind->count, own, err)
                    : -1;
}

static int ask_cluster(struct world *world, const json_t *row, int64_t timeout_ms, json_t *groups,
                       struct error *err)
{
    const char *name = json_text_or(row, "cluster", "");
    const struct cluster_kind *kind = cluster_kind_find("kubernetes");
    void *own = mem_new(kind->settings.size);
    const struct cluster_settings settings = {
        .name = name, .kind = kind, .own = own, .log_in = provider_log_in
    };
    struct cluster *cluster = NULL;
    int result = read_own(&kind->settings, row, own, err);

    if (result == 0)
        cluster = cluster_open(world, &settings, err);
    if (!cluster)
        result = error_context(err, "cluster %s", name);
    else
        result = ask_nodes(world, cluster, timeout_ms, err);
    if (result == 0)
        add_cluster(name, cluster_snapshot(cluster), groups);
    cluster_close(cluster);
    settings_clear(kind->settings.settings, kind->settings.count, own);
    mem_free(own);
    return result;
}

/* In an order that does not depend on the clusters' maps. */
static int compare(const void *left, const void *right)
{
    owned(chars) char *one = json_print(json_object_get(*(json_t *const *)left, "about"));
    owned(chars) char *other = json_print(json_object_get(*(json_t *const *)right, "about"));

    return strcmp(one, other);
}

static json_t *flatten(const json_t *groups)
{
    size_t size = json_array_size(groups);
    json_t **sorted = mem_new_array(size + 1, sizeof(json_t *));
    json_t *rows = json_array();

    for (size_t i = 0; i < size; i++)
        sorted[i] = json_array_get(groups, i);
    qsort(sorted, size, sizeof *sorted, compare);
    for (size_t i = 0; i < size; i++) {
        json_t *row = json_copy(json_object_get(sorted[i], "about"));

        json_object_update_missing(row, sorted[i]);
        json_object_del(row, "about");
        json_array_append_new(rows, row);
    }
    mem_free(sorted);
    return rows;
}

json_t *init_survey(const json_t *clusters, int64_t timeout_ms, struct error *err)
{
    owned(source_world) struct source_world world = { 0 };
    owned(json) json_t *groups = json_array();
    const json_t *row;
    size_t i;

    if (source_world_open(&world, err) < 0)
        return NULL;
    json_array_foreach(clusters, i, row)
        if (ask_cluster(&world.world, row, timeout_ms, groups, err) < 0)
            return NULL;
    return flatten(groups);
}
