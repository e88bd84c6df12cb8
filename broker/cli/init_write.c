/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See init_write.h.
 */
#include "broker/cli/init_write.h"

#include "base/input/json.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* A name in the file: letters, digits, - and _ of the text. */
static char *name_of(const char *text)
{
    char *name = mem_copy_chars(text);

    for (char *at = name; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", *at))
            *at = '-';
    return name;
}

/* A scalar in double quotes; what a cluster wrote cannot end it. */
static void add_quoted(struct text *out, const char *value)
{
    text_add(out, "\"");
    for (; *value; value++)
        text_add(out, "%s%c", strchr("\"\\", *value) ? "\\" : "",
                 (unsigned char)*value < ' ' ? '?' : *value);
    text_add(out, "\"");
}

static void add_clusters(const json_t *clusters, struct text *out)
{
    const json_t *row;
    size_t i;

    text_add(out, "\nclusters:\n");
    json_array_foreach(clusters, i, row) {
        text_add(out, "  %s:\n    role: %s\n    kubeconfig: ", json_text_or(row, "cluster", ""),
                 json_text_or(row, "role", ""));
        add_quoted(out, json_text_or(row, "kubeconfig", ""));
        if (json_text_or(row, "context", NULL)) {
            text_add(out, "\n    context: ");
            add_quoted(out, json_text_or(row, "context", ""));
        }
        text_add(out, "\n");
    }
}

static char *reservation_of(const json_t *group)
{
    owned(chars) char *both = text_format("%s-%s", json_text_or(group, "machine", ""),
                                          json_text_or(group, "zone", ""));

    return name_of(both);
}

static int64_t nodes_of(const json_t *groups, const char *reservation)
{
    const json_t *row;
    int64_t nodes = 0;
    size_t i;

    json_array_foreach(groups, i, row) {
        owned(chars) char *mine = reservation_of(row);

        nodes += text_equal(mine, reservation) ? json_int_or(row, "nodes", 0) : 0;
    }
    return nodes;
}

/* Whether no row before it has the same value of that kind. */
static bool is_first(const json_t *groups, size_t at, char *(*value)(const json_t *group))
{
    owned(chars) char *mine = value(json_array_get(groups, at));

    for (size_t i = 0; i < at; i++) {
        owned(chars) char *other = value(json_array_get(groups, i));

        if (text_equal(mine, other))
            return false;
    }
    return true;
}

static void add_reservations(const json_t *groups, struct text *out)
{
    const json_t *row;
    size_t i;

    text_add(out, "\n# nodes: those that were found; write how many you pay for.\nreservations:\n");
    json_array_foreach(groups, i, row) {
        owned(chars) char *name = reservation_of(row);

        if (is_first(groups, i, reservation_of))
            text_add(out,
                     "  %s: {machine: %s, region: %s, zone: %s, gpus_per_node: %" PRId64
                     ", nodes: %" PRId64 "}\n",
                     name, json_text_or(row, "machine", ""), json_text_or(row, "region", ""),
                     json_text_or(row, "zone", ""), json_int_or(row, "gpus_per_node", 0),
                     nodes_of(groups, name));
    }
}

/* What each kind of cloud needs beside its kind; how it logs in stands in broker/README. */
static const struct {
    const char *cloud;
    const char *needed;
} providers[] = {
    { "gcp", "credentials: FILE, unless Google's own search order finds them" },
    { "aws", "profile or role, unless the usual places for keys have them" },
    { "azure",
      "subscription: the ID of the subscription; tenant and client_id, unless the environment has "
      "them" },
    { "oci", "profile: of Oracle's file of profiles, if it is not DEFAULT" },
    { "capi", "kubeconfig: of the management cluster of Cluster API" },
};

static void add_providers(const json_t *accounts, struct text *out)
{
    text_add(out, "\nproviders:\n");
    for (size_t k = 0; k < COUNT_OF(providers); k++) {
        const char *cloud = providers[k].cloud;
        json_t *account = json_object_get(accounts, cloud);
        const char *key;
        json_t *value;

        if (!account)
            continue;
        text_add(out, "  # needed: %s\n  %s: {kind: %s", providers[k].needed, cloud, cloud);
        json_object_foreach(account, key, value) {
            text_add(out, ", %s: ", key);
            add_quoted(out, json_string_value(value));
        }
        text_add(out, "}\n");
    }
}

/* The instance group of a GKE node: gke-CLUSTER-POOL-HASH-xxxx is in gke-CLUSTER-POOL-HASH-grp. */
static char *gke_group_of(const char *node, const char *pool)
{
    const char *dash = strrchr(node, '-');

    if (!text_starts_with(node, "gke-") || !dash || strlen(dash) != 5)
        return text_format("REPLACE-GROUP-OF-%s", pool);
    return text_format("%.*s-grp", (int)(dash - node), node);
}

/* AKS makes the group of a cluster's machines, and calls it MC_GROUP_CLUSTER_REGION unless it is
   told another name.  An underscore within a part hides where it ends. */
static void add_managed_cluster(const json_t *row, struct text *out)
{
    const char *found = json_text_or(row, "resource_group", "");
    const char *region = json_text_or(row, "region", "");
    const char *group = found + 3;
    size_t size = strlen(found) > 3 ? strcspn(group, "_") : 0;
    const char *cluster = size > 0 && group[size] ? group + size + 1 : "";
    size_t cluster_size = strcspn(cluster, "_");

    if (strncasecmp(found, "MC_", 3) != 0 || cluster_size == 0 || !cluster[cluster_size] ||
        strcasecmp(cluster + cluster_size + 1, region) != 0) {
        text_add(out,
                 "    # needed: resource group and name of the managed cluster (az aks list -o "
                 "table)\n"
                 "    resource_group: REPLACE-RESOURCE-GROUP\n"
                 "    managed_cluster: REPLACE-CLUSTER-OF-%s\n",
                 json_text_or(row, "cluster", "-"));
        return;
    }

    owned(chars) char *group_name = text_format("%.*s", (int)size, group);
    owned(chars) char *cluster_name = text_format("%.*s", (int)cluster_size, cluster);

    text_add(out, "    # needed: check both; read from the machines' resource group ");
    add_quoted(out, found);
    text_add(out, "\n    resource_group: ");
    add_quoted(out, group_name);
    text_add(out, "\n    managed_cluster: ");
    add_quoted(out, cluster_name);
    text_add(out, "\n");
}

/* The group that the cloud told, or the best that is known and why it is no more. */
static void add_group(const json_t *row, const char *what, const char *guess, struct text *out)
{
    const char *told = json_text_or(row, "group", NULL);

    if (told)
        text_add(out, "    # told by the cloud: the group of node %s\n    group: ",
                 json_text_or(row, "node", "-"));
    else
        text_add(out, "    # needed: %s (%.300s)\n    group: ", what,
                 json_text_or(row, "group_unknown", "the cloud was not asked"));
    add_quoted(out, told ?: guess);
    text_add(out, "\n");
}

/* What the pool is called at its cloud, line by line. */
static void add_place(const json_t *row, const char *name, struct text *out)
{
    const char *cloud = json_text_or(row, "cloud", "");
    const char *pool = json_text_or(row, "node_pool", "");
    owned(chars) char *what = NULL;
    owned(chars) char *guess = NULL;

    if (text_equal(cloud, "gcp")) {
        text_add(out, "    project: ");
        add_quoted(out, json_text_or(row, "project", "REPLACE-PROJECT"));
        text_add(out, "\n");
        what = text_format("the managed instance group of node %s", json_text_or(row, "node", "-"));
        guess = gke_group_of(json_text_or(row, "node", ""), name);
        add_group(row, what, guess, out);
    } else if (text_equal(cloud, "aws")) {
        what = text_format("the Auto Scaling group%s%s, in one zone",
                           pool[0] ? " of node group " : "", pool);
        guess = text_format("REPLACE-GROUP-OF-%s", name);
        add_group(row, what, guess, out);
    } else if (text_equal(cloud, "azure")) {
        add_managed_cluster(row, out);
        text_add(out, "    agent_pool: %s\n", pool[0] ? pool : "REPLACE-POOL");
    } else if (text_equal(cloud, "oci")) {
        text_add(out,
                 "    # needed: the OCID of the node pool of node %s (oci ce node-pool list "
                 "--compartment-id ID)\n"
                 "    node_pool: REPLACE-OCID-OF-%s\n",
                 json_text_or(row, "node", "-"), name);
    } else {
        text_add(out,
                 "    # needed: the MachineDeployment of node %s, by the management cluster "
                 "(kubectl get machines -A\n    # -o wide -L cluster.x-k8s.io/deployment-name)\n"
                 "    namespace: default\n"
                 "    machine_deployment: REPLACE-NAME-OF-%s\n",
                 json_text_or(row, "node", "-"), name);
    }
}

static char *pool_name(const json_t *groups, size_t at)
{
    const json_t *row = json_array_get(groups, at);
    owned(chars) char *plain = text_format("%s-%s", json_text_or(row, "cluster", ""),
                                           json_text_or(row, "zone", ""));
    owned(chars) char *name = name_of(plain);
    int before = 0;

    for (size_t i = 0; i < at; i++) {
        const json_t *other = json_array_get(groups, i);

        before += text_equal(json_text_or(other, "cluster", ""),
                             json_text_or(row, "cluster", "")) &&
                  text_equal(json_text_or(other, "zone", ""), json_text_or(row, "zone", ""));
    }
    return before > 0 ? text_format("%s-%d", name, before + 1) : steal(&name);
}

/* The cluster and the reservation. */
static char *lane_of(const json_t *group)
{
    owned(chars) char *reservation = reservation_of(group);

    return text_format("%s/%s", json_text_or(group, "cluster", ""), reservation);
}

static void add_pools(const json_t *groups, struct text *out)
{
    const json_t *row;
    size_t i;

    text_add(out, "\n# static_nodes: all that have no label sluice.dev/ephemeral=true yet. sluice "
                  "moves only nodes\n# with this label: put it on the node groups that may move, "
                  "then lower the number.\npools:\n");
    json_array_foreach(groups, i, row) {
        owned(chars) char *name = pool_name(groups, i);
        owned(chars) char *reservation = reservation_of(row);

        if (!is_first(groups, i, lane_of)) {
            text_add(out,
                     "  # also found: %" PRId64 " nodes of %s in %s (node group %s, node %s). A "
                     "cluster has one pool in a\n  # reservation: give them a reservation of their "
                     "own, or leave them out.\n",
                     json_int_or(row, "nodes", 0), json_text_or(row, "machine", ""),
                     json_text_or(row, "cluster", ""), json_text_or(row, "node_pool", "-"),
                     json_text_or(row, "node", "-"));
            continue;
        }
        text_add(out, "  %s:\n    cluster: %s\n    reservation: %s\n    provider: %s\n", name,
                 json_text_or(row, "cluster", ""), reservation, json_text_or(row, "cloud", ""));
        add_place(row, name, out);
        text_add(out, "    static_nodes: %" PRId64 "\n",
                 json_int_or(row, "nodes", 0) - json_int_or(row, "movable_nodes", 0));
    }
}

/* No cluster knows how long requests may wait. */
static void add_queues(const json_t *clusters, struct text *out)
{
    const char *production = "";
    const json_t *row;
    size_t i;

    json_array_foreach(clusters, i, row)
        if (production[0] == '\0' && text_equal(json_text_or(row, "role", ""), "production"))
            production = json_text_or(row, "cluster", "");
    text_add(
        out,
        "\n# needed: your request queues, how long a request may wait, and how long one takes\n"
        "queues:\n  replace-queue: {wait_target: 30s, service: 20s}\n"
        "\n# needed: the Deployments that serve them, and the GPUs of one replica\n"
        "workloads:\n  replace-workload:\n    queue: replace-queue\n    gpus: 1\n"
        "    clusters: {%s: {}}\n",
        production);
}

void init_write(const struct init_facts *facts, struct text *out)
{
    text_add(
        out,
        "# Written by `sluice init` from what clusters and clouds show. Replace each word "
        "REPLACE-... and "
        "replace-...; "
        "then\n# `sluice validate`, `sluice doctor` and a rehearsal (docs/rehearsal.md). Every "
        "key: broker/README.md.\n\n# Windows of the week begin and end in this zone.\n"
        "time_zone: %s\n",
        facts->time_zone);
    add_clusters(facts->clusters, out);
    add_reservations(facts->groups, out);
    add_providers(facts->accounts, out);
    add_pools(facts->groups, out);
    add_queues(facts->clusters, out);
}
