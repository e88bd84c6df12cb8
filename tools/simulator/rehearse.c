/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See rehearse.h.
 */
#include "tools/simulator/rehearse.h"

#include "base/array.h"
#include "base/file.h"
#include "base/input/json.h"
#include "base/input/yaml.h"
#include "tools/simulator/model/simulator.h"

#include <string.h>

#define CREDENTIALS "credentials"
#define PROFILE "rehearsal"
#define MARK "# Made by sluice-simulator --rehearse.\n"

/* ---- sluice.yaml as JSON ---- */

/* "0042" is a name. */
static bool is_whole(const struct yaml_node *node, long long *ret)
{
    const char *digits = node->text + (node->text[0] == '-');

    return !node->is_quoted && (digits[0] != '0' || digits[1] == '\0') &&
           text_to_int(node->text, INT64_MIN, INT64_MAX, ret);
}

static bool is_real(const struct yaml_node *node, double *ret)
{
    return !node->is_quoted && node->text[strspn(node->text, "-0123456789")] != '\0' &&
           text_to_double(node->text, ret);
}

static json_t *scalar_of(const struct yaml_node *node)
{
    long long whole;
    double real;

    if (is_whole(node, &whole))
        return json_integer(whole);
    if (is_real(node, &real))
        return json_real(real);
    if (!node->is_quoted && (text_equal(node->text, "true") || text_equal(node->text, "false")))
        return json_boolean(text_equal(node->text, "true"));
    return json_text(node->text);
}

static json_t *value_of(const struct yaml_node *node)
{
    json_t *value;

    if (node->kind == YAML_SCALAR)
        return scalar_of(node);
    value = node->kind == YAML_MAPPING ? json_object() : json_array();
    for (size_t i = 0; i < node->count; i++) {
        json_t *child = value_of(&node->children[i]);

        if (node->kind == YAML_MAPPING)
            json_put(value, node->children[i].key, child);
        else
            json_array_append_new(value, child);
    }
    return value;
}

/* Keeps only these members; the others go into the list. */
static void keep_only(json_t *object, const char *what, const char *const *known,
                      struct text *left_out)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(object, next, key, value) {
        bool is_known = false;

        for (size_t i = 0; known[i]; i++)
            is_known |= text_equal(known[i], key);
        if (is_known)
            continue;
        text_add(left_out, "%s%s%s\n", what, what[0] ? "." : "", key);
        json_object_del(object, key);
    }
}

/* A file beside the original is named by its full path in the copy. */
static void name_fully(json_t *object, const char *key, const char *config_path)
{
    const char *named = json_text_or(object, key, NULL);
    owned(chars) char *path = named ? file_beside(config_path, named) : NULL;

    if (path)
        json_put(object, key, json_text(path));
}

/* ---- clusters and clouds ---- */

/* sluice drains the nodes of a Slurm cluster by commands over SSH, and the simulator's login nodes
   answer only in its own process. */
static int check_clusters(const json_t *config, const struct yaml_node *root, struct error *err)
{
    const struct yaml_node *nodes = yaml_get(root, "clusters");
    json_t *cluster, *all = json_object_get(config, "clusters");
    const char *name;

    json_object_foreach(all, name, cluster) {
        const char *kind = json_text_or(cluster, "kind", "kubernetes");

        if (!text_equal(kind, "kubernetes"))
            return yaml_error(err, yaml_get(nodes, name),
                              "kind \"%s\" cannot be rehearsed; known kinds: kubernetes; "
                              "`sluice demo --slurm` plays Slurm clusters",
                              kind);
    }
    return 0;
}

static void replace_clusters(json_t *config, struct text *left_out)
{
    static const char *const known[] = { "role", "weight", "memory_mb", NULL };
    static const char *const access[] = { "kubeconfig", "context", "plugin", "credentials",
                                          "profile",    "eks",     "kind",   NULL };
    const char *name;
    json_t *cluster;

    json_object_foreach(json_object_get(config, "clusters"), name, cluster) {
        owned(chars) char *what = text_format("clusters.%s", name);
        owned(chars) char *path = text_format("%s.kubeconfig", name);

        for (size_t i = 0; access[i]; i++) /* it is replaced, not left out */
            json_object_del(cluster, access[i]);
        keep_only(cluster, what, known, left_out);
        json_put(cluster, "kubeconfig", json_text(path));
    }
}

static char *join(const char *url, const char *path)
{
    return text_format("%s%s", url, path);
}

static void put_url(json_t *provider, const char *key, const char *url, const char *path)
{
    owned(chars) char *whole = join(url, path);

    json_put(provider, key, json_text(whole));
}

static json_t *aws_provider(const json_t *own, const char *url)
{
    json_t *provider = json_make("{s:s, s:s, s:s, s:s}", "kind", "aws", "region",
                                 json_text_or(own, "region", "us-east-1"), "credentials",
                                 CREDENTIALS, "profile", PROFILE);

    put_url(provider, "autoscaling_endpoint", url, "/aws/autoscaling");
    put_url(provider, "ec2_endpoint", url, "/aws/ec2");
    put_url(provider, "eks_endpoint", url, "/aws/eks");
    put_url(provider, "iam_endpoint", url, "/aws/iam");
    put_url(provider, "sts_endpoint", url, "/aws/sts");
    return provider;
}

/* NULL: the simulator cannot stand for that kind without credentials of one's own. */
static json_t *provider_of(const char *name, const json_t *own, const char *url)
{
    const char *kind = json_text_or(own, "kind", "");
    json_t *provider;

    if (text_equal(kind, "aws"))
        return aws_provider(own, url);
    if (text_equal(kind, "capi")) {
        owned(chars) char *path = text_format("%s.kubeconfig", name);

        return json_make("{s:s, s:s}", "kind", kind, "kubeconfig", path);
    }
    if (!text_equal(kind, "gcp") && !text_equal(kind, "azure"))
        return NULL;
    provider = json_make("{s:s}", "kind", kind);
    if (text_equal(kind, "azure"))
        json_put(
            provider, "subscription",
            json_text(json_text_or(own, "subscription", "00000000-0000-0000-0000-000000000001")));
    put_url(provider, "endpoint", url, text_equal(kind, "gcp") ? "/gcp" : "/azure");
    put_url(provider, "metadata", url, text_equal(kind, "gcp") ? "/gcp" : "/azure");
    return provider;
}

static int replace_providers(const struct rehearse *rehearse, json_t *config,
                             const struct yaml_node *root, struct error *err)
{
    const struct yaml_node *nodes = yaml_get(root, "providers");
    const char *name;
    json_t *own, *all = json_object_get(config, "providers");

    json_object_foreach(all, name, own) {
        json_t *provider = provider_of(name, own, rehearse->url);

        if (!provider)
            return yaml_error(err, yaml_get(nodes, name),
                              "kind \"%s\" cannot be rehearsed; known kinds: aws, azure, capi, gcp",
                              json_text_or(own, "kind", ""));
        json_object_set_new(all, name, provider);
    }
    return 0;
}

/* ---- queues and workloads ---- */

static void mend_queues(const struct rehearse *rehearse, json_t *config, struct text *left_out)
{
    static const char *const of_sources[] = { "source", "arrivals", "arrivals_high",
                                              "arrivals_low" };
    const char *name;
    json_t *queue;

    json_object_foreach(json_object_get(config, "queues"), name, queue) {
        for (size_t i = 0; i < COUNT_OF(of_sources); i++)
            if (json_object_del(queue, of_sources[i]) == 0)
                text_add(left_out, "queues.%s.%s\n", name, of_sources[i]);
        if (json_object_del(json_object_get(queue, "engine"), "metrics") == 0)
            text_add(left_out, "queues.%s.engine.metrics\n", name);
        name_fully(queue, "service_file", rehearse->config_path);
        name_fully(queue, "service_histogram", rehearse->config_path);
        name_fully(json_object_get(queue, "engine"), "tokens_file", rehearse->config_path);
    }
}

/* The simulator makes a Deployment for each workload, and no autoscaler. */
static void mend_workloads(json_t *config, struct text *left_out)
{
    json_t *all = json_object_get(config, "workloads"), *workload;
    const char *name;
    void *next;

    json_object_foreach_safe(all, next, name, workload) {
        if (json_object_del(workload, "keeps") == 0)
            text_add(left_out, "workloads.%s.keeps\n", name);
        json_object_del(workload, "autoscaler");
        if (text_equal(json_text_or(workload, "kind", "deployment"), "deployment"))
            continue;
        text_add(left_out, "workloads.%s\n", name);
        json_object_del(all, name);
    }
}

static void set_places(json_t *config)
{
    json_put(config, "journal", json_string("sluice.db"));
    json_put(config, "socket", json_string("sluice.sock"));
    json_put(config, "schedules", json_string("schedules"));
}

static int write_yaml(const char *folder, const char *name, const json_t *value, struct error *err)
{
    owned(chars) char *path = text_format("%s/%s", folder, name);
    owned(text) struct text *out = text_new(1 << 20);

    text_add(out, MARK);
    yaml_print(value, out);
    return file_write(path, out->chars, out->length, 0644, err);
}

/* ---- world.yaml ---- */

/* The machines of a reservation that its pools have at the start: the static ones first, then one
   after the other. */
static int share_out(json_t *pools, const char *reservation, int64_t nodes, json_t *sizes)
{
    const char *name;
    json_t *pool;
    int64_t before;

    json_object_foreach(pools, name, pool) {
        int64_t fixed = json_int_or(pool, "static_nodes", 0);

        if (!text_equal(json_text_or(pool, "reservation", ""), reservation))
            continue;
        nodes -= fixed;
        json_put(sizes, name, json_make("{s:I}", "nodes", (json_int_t)fixed));
    }
    if (nodes < 0)
        return -1;
    do {
        before = nodes;
        json_object_foreach(pools, name, pool) {
            json_t *size = json_object_get(sizes, name);
            int64_t has = json_int_or(size, "nodes", 0);
            int64_t most = json_int_or(pool, "node_max", 0);

            if (nodes == 0 || !text_equal(json_text_or(pool, "reservation", ""), reservation) ||
                (most && has >= most))
                continue;
            nodes--;
            json_put(size, "nodes", json_integer(has + 1));
        }
    } while (nodes && nodes < before);
    return 0;
}

static json_t *replicas_of(const json_t *config)
{
    json_t *all = json_object(), *workload, *share;
    const char *name, *cluster;

    json_object_foreach(json_object_get(config, "workloads"), name, workload) {
        json_t *own = json_object();

        json_object_foreach(json_object_get(workload, "clusters"), cluster, share) {
            int64_t least = json_int_or(share, "replica_min", 0);

            json_put(own, cluster, json_integer(least > 0 ? least : 1));
        }
        json_put(all, name, own);
    }
    return all;
}

static int make_world(const json_t *config, const struct yaml_node *root, json_t **ret,
                      struct error *err)
{
    const struct yaml_node *places = yaml_get(root, "reservations");
    json_t *sizes = json_object(), *reservation, *world;
    const char *name;
    int64_t machines = 0;

    json_object_foreach(json_object_get(config, "reservations"), name, reservation) {
        int64_t nodes = json_int_or(reservation, "nodes", 0);

        machines += nodes;
        if (nodes > 0 && share_out(json_object_get(config, "pools"), name, nodes, sizes) == 0)
            continue;
        json_decref(sizes);
        return yaml_error(err, yaml_get(places, name),
                          nodes > 0 ? "its pools have more static nodes than it has nodes"
                                    : "a rehearsal needs its number of nodes: `nodes`");
    }
    world = json_make("{s:i, s:o, s:o, s:{s:s, s:s, s:s, s:s, s:s, s:s, s:s}, s:{s:I, s:s}}",
                      "seed", 1, "pools", sizes, "replicas", replicas_of(config), "latency", "api",
                      "5ms..40ms", "delete", "20s..60s", "create", "30s..90s", "join", "30s..90s",
                      "gpus", "10s..30s", "pod_start", "5s..20s", "pod_stop", "1s..20s", "jobs",
                      "backlog", (json_int_t)(machines * 4), "duration", "20m..4h");
    if (json_object_size(json_object_get(config, "quotas")))
        json_put(world, "kueue", json_string("both"));
    *ret = world;
    return 0;
}

static int write_credentials(const char *folder, struct error *err)
{
    /* The long-term keys that the simulator knows: tools/simulator/cloud/aws_auth.c. */
    static const char keys[] = "[" PROFILE "]\naws_access_key_id = AKIASIMULATED0000000\n"
                               "aws_secret_access_key = simulated/secret+of/the+simulator0000000\n";
    owned(chars) char *path = text_format("%s/%s", folder, CREDENTIALS);

    return file_write(path, keys, strlen(keys), 0600, err);
}

static int write_world(const struct rehearse *rehearse, const json_t *config,
                       const struct yaml_node *root, struct error *err)
{
    owned(chars) char *path = text_format("%s/world.yaml", rehearse->folder);
    owned(json) json_t *world = NULL;

    if (file_exists(path))
        return 0;
    return make_world(config, root, &world, err) < 0
               ? -1
               : write_yaml(rehearse->folder, "world.yaml", world, err);
}

/* The files have names that one's own may have, too: a configuration, keys, kubeconfigs. */
static int check_folder(const char *folder, struct error *err)
{
    owned(chars) char *path = text_format("%s/sluice.yaml", folder);
    owned(text) struct text *present = file_exists(path) ? file_read(path, 1 << 20, NULL) : NULL;
    struct file_list files = { 0 };
    size_t count;

    if (present && text_starts_with(present->chars, MARK))
        return 0;
    if (file_exists(folder) && file_list(folder, "", &files, err) < 0)
        return -1;
    count = files.count;
    file_list_free(&files);
    return count == 0 ? 0
                      : error_set(err, ERROR_CONFLICT,
                                  "%s: has files that no rehearsal made, and one would replace "
                                  "them: name a new folder",
                                  folder);
}

int rehearse_write(const struct rehearse *rehearse, struct text *left_out, struct error *err)
{
    static const char *const known[] = {
        "time_zone",    "windows",   "holidays", "events",       "ephemeral_label",
        "poll",         "lead",      "drain",    "guard",        "join",
        "repack_nodes", "victims",   "headroom", "accelerators", "clusters",
        "reservations", "providers", "pools",    "queues",       "workloads",
        "quotas",       "journal",   "socket",   "schedules",    NULL,
    };
    owned(yaml_document) struct yaml_document *document = yaml_read(rehearse->config_path, err);
    owned(chars) char *schedules = text_format("%s/schedules", rehearse->folder);
    owned(json) json_t *config = NULL;
    const struct yaml_node *root;

    if (!document || yaml_expect(yaml_root(document), YAML_MAPPING, err) < 0)
        return -1;
    root = yaml_root(document);
    config = value_of(root);
    if (check_clusters(config, root, err) < 0)
        return -1;
    keep_only(config, "", known, left_out);
    replace_clusters(config, left_out);
    if (replace_providers(rehearse, config, root, err) < 0)
        return -1;
    mend_queues(rehearse, config, left_out);
    mend_workloads(config, left_out);
    set_places(config);
    if (check_folder(rehearse->folder, err) < 0 ||
        file_make_folder(rehearse->folder, 0755, err) < 0 ||
        write_yaml(rehearse->folder, "sluice.yaml", config, err) < 0 || /* first: it has the mark */
        file_make_folder(schedules, 0755, err) < 0 || write_credentials(rehearse->folder, err) < 0)
        return -1;
    return write_world(rehearse, config, root, err);
}

/* ---- Kueue ---- */

/* GPUs of the cluster's pools at the start, of one pool if it is named. */
static int64_t gpus_of(const struct simulator *simulator, const json_t *config, const json_t *quota)
{
    const char *only = json_text_or(quota, "pool", ""), *name;
    int64_t gpus = json_int_or(quota, "fixed_gpus", 0);
    json_t *pool;

    json_object_foreach(json_object_get(config, "pools"), name, pool) {
        const json_t *reservations = json_object_get(config, "reservations");
        const json_t *reservation = json_object_get(reservations,
                                                    json_text_or(pool, "reservation", ""));

        if (text_equal(json_text_or(pool, "cluster", ""), json_text_or(quota, "cluster", "")) &&
            (!only[0] || text_equal(only, name)))
            gpus += simulator_pool_running(simulator, name) *
                    json_int_or(reservation, "gpus_per_node", 8);
    }
    return gpus;
}

/* A queue may have quotas of several flavors. */
static json_t *queue_with(const json_t *present, const char *name, const char *resource,
                          json_t *flavor)
{
    json_t *object = present ? json_deep_copy(present) : NULL;
    json_t *groups = json_at(object, "spec/resourceGroups");

    if (json_array_size(groups)) {
        json_array_append_new(json_object_get(json_array_get(groups, 0), "flavors"), flavor);
        return object;
    }
    json_decref(object);
    return json_make("{s:s, s:s, s:{s:s}, s:{s:{}, s:[{s:[s], s:[o]}]}}", "apiVersion",
                     "kueue.x-k8s.io/v1beta2", "kind", "ClusterQueue", "metadata", "name", name,
                     "spec", "namespaceSelector", "resourceGroups", "coveredResources", resource,
                     "flavors", flavor);
}

int rehearse_fill(struct simulator *simulator, const char *config_path, struct error *err)
{
    owned(yaml_document) struct yaml_document *document = yaml_read(config_path, err);
    owned(json) json_t *config = document ? value_of(yaml_root(document)) : NULL;
    const char *name;
    json_t *quota;

    if (!document)
        return -1;
    json_object_foreach(json_object_get(config, "quotas"), name, quota) {
        const char *queue = json_text_or(quota, "cluster_queue", name);
        const char *resource = json_text_or(quota, "resource", "nvidia.com/gpu");
        owned(chars) char *path = text_format("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/%s",
                                              queue);
        const char *cluster = json_text_or(quota, "cluster", "");
        json_t *flavor = json_make(
            "{s:s, s:[{s:s, s:I}]}", "name", json_text_or(quota, "flavor", "default"), "resources",
            "name", resource, "nominalQuota", (json_int_t)gpus_of(simulator, config, quota));
        owned(json) json_t *object = queue_with(simulator_object(simulator, cluster, path), queue,
                                                resource, flavor);

        simulator_put_object(simulator, cluster, path, object);
    }
    return 0;
}
