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

/* The same, or the plain word where that is one. */
static void add_scalar(struct text *out, const char *key, const char *value)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";

    text_add(out, "%s: ", key);
    if (value[0] >= 'A' && value[strspn(value, plain)] == '\0')
        text_add(out, "%s", value);
    else
        add_quoted(out, value);
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

        if (!is_first(groups, i, reservation_of))
            continue;
        text_add(out, "  %s: {", name);
        add_scalar(out, "machine", json_text_or(row, "machine", ""));
        add_scalar(out, ", region", json_text_or(row, "region", ""));
        add_scalar(out, ", zone", json_text_or(row, "zone", ""));
        text_add(out, ", gpus_per_node: %" PRId64 ", nodes: %" PRId64 "}\n",
                 json_int_or(row, "gpus_per_node", 0), nodes_of(groups, name));
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

static void add_key(struct text *out, const char *key, const char *value)
{
    text_add(out, "    %s: ", key);
    add_quoted(out, value);
    text_add(out, "\n");
}

/* What nodes show, or a blank of the file. */
static void add_known(struct text *out, const char *key, const char *value, const char *blank)
{
    add_key(out, key, value[0] ? value : blank);
}

static const char *text_of(const json_t *row, const char *member)
{
    return json_text_or(row, member, "");
}

/* The group that the cloud told, or the best that is known and why it is no more. */
static void add_group(const json_t *row, const char *what, const char *guess, struct text *out)
{
    const char *told = json_text_or(row, "group", NULL);

    if (told)
        text_add(out, "    # told by the cloud: the group of node %s\n", text_of(row, "node"));
    else
        text_add(out, "    # needed: %s (%.300s)\n", what,
                 json_text_or(row, "group_unknown", "the cloud was not asked"));
    add_key(out, "group", told ?: guess);
}

static void place_gcp(const json_t *row, const char *name, struct text *out)
{
    owned(chars) char *what = text_format("the managed instance group of node %s",
                                          text_of(row, "node"));
    owned(chars) char *guess = gke_group_of(text_of(row, "node"), name);

    add_known(out, "project", text_of(row, "project"), "REPLACE-PROJECT");
    add_group(row, what, guess, out);
}

static void place_aws(const json_t *row, const char *name, struct text *out)
{
    const char *pool = text_of(row, "node_pool");
    owned(chars) char *what = text_format("the Auto Scaling group%s%s, in one zone",
                                          pool[0] ? " of node group " : "", pool);
    owned(chars) char *guess = text_format("REPLACE-GROUP-OF-%s", name);

    add_group(row, what, guess, out);
}

/* AKS makes the group of a cluster's machines, and calls it MC_GROUP_CLUSTER_REGION unless it is
   told another name.  An underscore within a part hides where it ends. */
static void place_azure(const json_t *row, const char *name, struct text *out)
{
    const char *found = text_of(row, "resource_group");
    const char *group = found + 3;
    size_t size = strlen(found) > 3 ? strcspn(group, "_") : 0;
    const char *cluster = size > 0 && group[size] ? group + size + 1 : "";
    size_t cluster_size = strcspn(cluster, "_");
    owned(chars) char *group_name = text_format("%.*s", (int)size, group);
    owned(chars) char *cluster_name = text_format("%.*s", (int)cluster_size, cluster);
    owned(chars) char *blank = text_format("REPLACE-CLUSTER-OF-%s", text_of(row, "cluster"));
    bool is_plain = strncasecmp(found, "MC_", 3) == 0 && cluster_size > 0 &&
                    cluster[cluster_size] &&
                    strcasecmp(cluster + cluster_size + 1, text_of(row, "region")) == 0;

    (void)name;
    if (is_plain) {
        text_add(out, "    # needed: check both; read from the machines' resource group ");
        add_quoted(out, found);
        text_add(out, "\n");
    } else {
        text_add(out, "    # needed: resource group and name of the managed cluster (az aks list "
                      "-o table)\n");
    }
    add_key(out, "resource_group", is_plain ? group_name : "REPLACE-RESOURCE-GROUP");
    add_key(out, "managed_cluster", is_plain ? cluster_name : blank);
    add_known(out, "agent_pool", text_of(row, "node_pool"), "REPLACE-POOL");
}

static void place_oci(const json_t *row, const char *name, struct text *out)
{
    const char *pool = text_of(row, "node_pool");
    owned(chars) char *blank = text_format("REPLACE-OCID-OF-%s", name);

    if (pool[0])
        text_add(out, "    # shown by node %s\n", text_of(row, "node"));
    else
        text_add(out,
                 "    # needed: the OCID of the node pool of node %s (oci ce node-pool list "
                 "--compartment-id ID)\n",
                 text_of(row, "node"));
    add_known(out, "node_pool", pool, blank);
}

static void place_capi(const json_t *row, const char *name, struct text *out)
{
    const char *pool = text_of(row, "node_pool");
    bool is_machine_pool = pool[0] && text_equal(text_of(row, "owner_kind"), "MachinePool");
    owned(chars) char *blank = text_format("REPLACE-NAME-OF-%s", name);

    if (is_machine_pool)
        text_add(out, "    # shown by node %s: the owner of its Machine\n", text_of(row, "node"));
    else if (pool[0])
        text_add(
            out,
            "    # needed: check it; read from the name of the MachineSet that node %s shows\n",
            text_of(row, "node"));
    else
        text_add(out,
                 "    # needed: the MachineDeployment of node %s, by the management cluster "
                 "(kubectl get machines -A\n    # -o wide -L cluster.x-k8s.io/deployment-name)\n",
                 text_of(row, "node"));
    add_known(out, "namespace", text_of(row, "namespace"), "default");
    add_known(out, is_machine_pool ? "machine_pool" : "machine_deployment", pool, blank);
}

/* What each kind of cloud needs beside its kind (how it logs in stands in broker/README), and what
   a pool is called there, line by line. */
static const struct {
    const char *cloud;
    const char *needed;
    void (*add_place)(const json_t *row, const char *name, struct text *out);
} providers[] = {
    { "gcp", "credentials: FILE, unless Google's own search order finds them", place_gcp },
    { "aws", "profile or role, unless the usual places for keys have them", place_aws },
    { "azure",
      "subscription: the ID of the subscription; tenant and client_id, unless the environment has "
      "them",
      place_azure },
    { "oci", "profile: of Oracle's file of profiles, if it is not DEFAULT", place_oci },
    { "capi", "kubeconfig: of the management cluster of Cluster API", place_capi },
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

static void add_place(const json_t *row, const char *name, struct text *out)
{
    for (size_t k = 0; k < COUNT_OF(providers); k++)
        if (text_equal(text_of(row, "cloud"), providers[k].cloud))
            providers[k].add_place(row, name, out);
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

    return text_format("%s/%s", text_of(group, "cluster"), reservation);
}

/* The machines' group at the cloud.  Names of groups are a zone's on Google Cloud, and a region's
   on AWS; one whose name is not known is like no other. */
static char *place_of(const json_t *group)
{
    const char *cloud = text_of(group, "cloud");
    bool is_shown = !text_equal(cloud, "gcp") && !text_equal(cloud, "aws");
    const char *name = is_shown ? text_of(group, "node_pool") : text_of(group, "group");

    if (!name[0])
        return json_print(group);
    return text_format("%s/%s/%s/%s/%s/%s/%s", cloud, text_of(group, "cluster"),
                       text_of(group, "project"), text_of(group, "namespace"),
                       text_equal(cloud, "gcp") ? text_of(group, "zone") : "",
                       text_equal(cloud, "aws") ? text_of(group, "region") : "", name);
}

/* The pool of the file before it that has the same value of that kind; NULL: none. */
static const json_t *pool_before(const json_t *groups, const bool *is_pool, size_t at,
                                 char *(*value)(const json_t *group))
{
    owned(chars) char *mine = value(json_array_get(groups, at));

    for (size_t i = 0; i < at; i++) {
        owned(chars) char *other = value(json_array_get(groups, i));

        if (is_pool[i] && text_equal(mine, other))
            return json_array_get(groups, i);
    }
    return NULL;
}

/* Why the group cannot be a pool beside those before it; NULL: it can. */
static const char *why_left_out(const json_t *groups, const bool *is_pool, size_t at)
{
    const json_t *same = pool_before(groups, is_pool, at, place_of);

    if (same && text_equal(text_of(same, "zone"), text_of(json_array_get(groups, at), "zone")))
        return "They are of the group of a pool above, and differ from its nodes in machine type "
               "or GPUs.";
    if (same)
        return "They are of the group of a pool above, in another zone. A pool is in one zone: use "
               "a node group for each zone.";
    if (pool_before(groups, is_pool, at, lane_of))
        return "A cluster has one pool in a reservation: give them a reservation of their own, or "
               "leave them out.";
    return NULL;
}

static void add_left_out(const json_t *row, const char *why, struct text *out)
{
    int64_t nodes = json_int_or(row, "nodes", 0);

    text_add(out, "  # also found: %" PRId64 " node%s of %s in %s (zone %s, node %s, node group ",
             nodes, nodes == 1 ? "" : "s", text_of(row, "machine"), text_of(row, "cluster"),
             text_of(row, "zone"), text_of(row, "node"));
    add_quoted(out, text_of(row, "node_pool"));
    text_add(out, ").\n  # %s\n", why);
}

static void add_pool(const json_t *row, const char *name, struct text *out)
{
    owned(chars) char *reservation = reservation_of(row);

    text_add(out, "  %s:\n    cluster: %s\n    reservation: %s\n    provider: %s\n", name,
             text_of(row, "cluster"), reservation, text_of(row, "cloud"));
    add_place(row, name, out);
    text_add(out, "    static_nodes: %" PRId64 "\n",
             json_int_or(row, "nodes", 0) - json_int_or(row, "movable_nodes", 0));
}

static void add_pools(const json_t *groups, struct text *out)
{
    bool *is_pool = mem_new_array(json_array_size(groups) + 1, sizeof *is_pool);
    const json_t *row;
    size_t i;

    text_add(out, "\n# static_nodes: all that have no label sluice.dev/ephemeral=true yet. sluice "
                  "moves only nodes\n# with this label: put it on the node groups that may move, "
                  "then lower the number.\npools:\n");
    json_array_foreach(groups, i, row) {
        const char *why = why_left_out(groups, is_pool, i);
        owned(chars) char *name = pool_name(groups, i);

        is_pool[i] = !why;
        if (why)
            add_left_out(row, why, out);
        else
            add_pool(row, name, out);
    }
    mem_free(is_pool);
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

/* The same rows; what a cluster or a cloud wrote ends no line, for which YAML has characters beyond
   ASCII, too. */
static json_t *clean(const json_t *rows)
{
    json_t *all = json_deep_copy(rows);
    json_t *row, *value;
    const char *key;
    size_t i;

    json_array_foreach(all, i, row)
        json_object_foreach(row, key, value) {
            owned(chars) char *text = mem_copy_chars(json_string_value(value) ?: "");

            for (char *at = text; *at; at++)
                if (*at < ' ' || *at > '~')
                    *at = '?';
            if (json_is_string(value))
                json_string_set(value, text);
        }
    return all;
}

void init_write(const struct init_facts *facts, struct text *out)
{
    owned(json) json_t *groups = clean(facts->groups);

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
    add_reservations(groups, out);
    add_providers(facts->accounts, out);
    add_pools(groups, out);
    add_queues(facts->clusters, out);
}
