/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads the two files.  sluice.yaml is the broker's and may hold much that does not matter here;
 * world.yaml is ours and is checked key by key.
 */
#include "tools/simulator/model/scenario.h"

#include "base/file.h"
#include "base/text.h"
#include "base/timestamp.h"

#include <math.h>

static const char *const fault_names[FAULT_COUNT] = {
    "lost_answer", "http_429",    "http_500",  "http_500_after", "stockout",
    "slow_boot",   "never_joins", "no_gpus",   "one_gpu_less",   "gpus_flap",
    "same_host",   "stuck_pod",   "watch_gap", "empty_list",     "refused",
    "http_403",    "denied",      "quota",     "busy",
};

enum fault sim_fault_of_name(const char *name)
{
    enum fault fault = 0;

    while (fault < FAULT_COUNT && !text_equal(fault_names[fault], name))
        fault++;
    return fault;
}

static int text_of(const struct yaml_node *mapping, const char *key, const char *otherwise,
                   const char **ret, struct error *err)
{
    const struct yaml_node *node = yaml_get(mapping, key);

    if (node)
        return yaml_text(node, ret, err);
    if (!otherwise)
        return yaml_error(err, mapping, "%s is missing", key);
    *ret = otherwise;
    return 0;
}

static int int_of(const struct yaml_node *mapping, const char *key, int otherwise, int *ret,
                  struct error *err)
{
    const struct yaml_node *node = yaml_get(mapping, key);
    int64_t value = otherwise;

    if (node && yaml_int(node, 0, 1000000, &value, err) < 0)
        return -1;
    *ret = (int)value;
    return 0;
}

static int double_of(const struct yaml_node *mapping, const char *key, double otherwise,
                     double *ret, struct error *err)
{
    const struct yaml_node *node = yaml_get(mapping, key);

    *ret = otherwise;
    return node ? yaml_double(node, 0, 1e9, ret, err) : 0;
}

static int duration_of(const struct yaml_node *mapping, const char *key, int64_t otherwise_ms,
                       int64_t *ret_ms, struct error *err)
{
    const struct yaml_node *node = yaml_get(mapping, key);

    *ret_ms = otherwise_ms;
    return node ? yaml_duration(node, 0, 52 * WEEK_MS, ret_ms, err) : 0;
}

static int seconds_of(const struct yaml_node *mapping, const char *key, double otherwise_s,
                      double *ret_s, struct error *err)
{
    const struct yaml_node *node = yaml_get(mapping, key);

    *ret_s = otherwise_s;
    return node ? yaml_seconds(node, 0, 1e9, ret_s, err) : 0;
}

/* "5ms..40ms", or one duration for both ends. */
static int range_of(const struct yaml_node *mapping, const char *key, struct range *range,
                    struct error *err)
{
    const struct yaml_node *node = yaml_get(mapping, key);
    const char *chars;

    if (!node)
        return 0;
    if (yaml_text(node, &chars, err) < 0)
        return -1;

    owned(chars) char *low = mem_copy_chars(chars);
    char *dots = strstr(low, "..");
    struct error why = { 0 };

    if (dots)
        *dots = '\0';
    if (duration_parse(low, &range->low_ms, &why) < 0 ||
        duration_parse(dots ? dots + 2 : low, &range->high_ms, &why) < 0)
        return yaml_error(err, node, "%s", why.text);
    if (range->low_ms < 0 || range->high_ms < range->low_ms)
        return yaml_error(err, node, "the range runs backwards");
    return 0;
}

/* The index of the named item, an error at `node` when there is none. */
#define INDEX_OF(array, wanted, ret)                                                               \
    do {                                                                                           \
        *(ret) = SIZE_MAX;                                                                         \
        for (size_t index_ = 0; index_ < (array)->count; index_++)                                 \
            if (text_equal((array)->items[index_].name, (wanted)))                                 \
                *(ret) = index_;                                                                   \
    } while (0)

/* "90s" ahead, "-90s" behind. */
static int clock_of(const struct yaml_node *clocks, const char *cluster, int64_t *ret_ahead_ms,
                    struct error *err)
{
    const char *chars;
    struct error why = { 0 };

    if (text_of(clocks, cluster, "0s", &chars, err) < 0)
        return -1;
    if (duration_parse(chars + (chars[0] == '-'), ret_ahead_ms, &why) < 0)
        return yaml_error(err, yaml_get(clocks, cluster), "%s", why.text);
    if (chars[0] == '-')
        *ret_ahead_ms = -*ret_ahead_ms;
    return 0;
}

static int read_clusters(struct scenario *scenario, struct error *err)
{
    const struct yaml_node *map = yaml_get(yaml_root(scenario->config), "clusters");
    const struct yaml_node *clocks = yaml_get(yaml_root(scenario->world), "clocks");

    for (size_t i = 0; map && i < map->count; i++) {
        struct scenario_cluster *cluster = array_add(&scenario->clusters);
        const char *role;

        cluster->name = map->children[i].key;
        if (text_of(&map->children[i], "role", NULL, &role, err) < 0 ||
            text_of(&map->children[i], "eks", "", &cluster->eks, err) < 0 ||
            (clocks && clock_of(clocks, cluster->name, &cluster->ahead_ms, err) < 0))
            return -1;
        cluster->is_production = text_equal(role, "production");
    }
    return 0;
}

static int read_reservations(struct scenario *scenario, struct error *err)
{
    const struct yaml_node *map = yaml_get(yaml_root(scenario->config), "reservations");

    for (size_t i = 0; map && i < map->count; i++) {
        const struct yaml_node *node = &map->children[i];
        struct scenario_reservation *reservation = array_add(&scenario->reservations);

        reservation->name = node->key;
        if (text_of(node, "machine", "machine", &reservation->machine, err) < 0 ||
            text_of(node, "zone", NULL, &reservation->zone, err) < 0 ||
            int_of(node, "gpus_per_node", 8, &reservation->gpus_per_node, err) < 0 ||
            int_of(node, "nodes", 0, &reservation->nodes, err) < 0)
            return -1;
    }
    return 0;
}

static int read_pools(struct scenario *scenario, struct error *err)
{
    const struct yaml_node *map = yaml_get(yaml_root(scenario->config), "pools");
    const struct yaml_node *providers = yaml_get(yaml_root(scenario->config), "providers");
    const struct yaml_node *sizes = yaml_get(yaml_root(scenario->world), "pools");

    for (size_t i = 0; map && i < map->count; i++) {
        const struct yaml_node *node = &map->children[i];
        struct scenario_pool *pool = array_add(&scenario->pools);
        const char *cluster, *reservation, *provider;

        pool->name = node->key;
        pool->keys = node;
        if (text_of(node, "provider", "", &provider, err) < 0)
            return -1;
        pool->provider = providers ? yaml_get(providers, provider) : NULL;
        pool->kind = "";
        if (pool->provider && text_of(pool->provider, "kind", "", &pool->kind, err) < 0)
            return -1;
        if (text_of(node, "cluster", NULL, &cluster, err) < 0 ||
            text_of(node, "reservation", NULL, &reservation, err) < 0 ||
            text_of(node, "project", "simulated", &pool->project, err) < 0 ||
            text_of(node, "group", pool->name, &pool->group, err) < 0 ||
            int_of(node, "static_nodes", 0, &pool->static_nodes, err) < 0 ||
            int_of(node, "node_max", 0, &pool->node_max, err) < 0)
            return -1;
        INDEX_OF(&scenario->clusters, cluster, &pool->cluster);
        INDEX_OF(&scenario->reservations, reservation, &pool->reservation);
        if (pool->cluster == SIZE_MAX)
            return yaml_error(err, node, "there is no cluster %s", cluster);
        if (pool->reservation == SIZE_MAX)
            return yaml_error(err, node, "there is no reservation %s", reservation);

        const struct yaml_node *size = sizes ? yaml_get(sizes, pool->name) : NULL;

        pool->traps = size;
        if (size && int_of(size, "nodes", 0, &pool->nodes, err) < 0)
            return -1;
    }
    for (size_t i = 0; sizes && i < sizes->count; i++)
        if (!map || !yaml_get(map, sizes->children[i].key))
            return yaml_error(err, &sizes->children[i], "sluice.yaml has no such pool");
    return 0;
}

static int read_queues(struct scenario *scenario, struct error *err)
{
    const struct yaml_node *map = yaml_get(yaml_root(scenario->config), "queues");

    for (size_t i = 0; map && i < map->count; i++) {
        const struct yaml_node *node = &map->children[i];
        struct scenario_queue *queue = array_add(&scenario->queues);

        queue->name = node->key;
        if (duration_of(node, "wait_target", 30 * SECOND_MS, &queue->wait_target_ms, err) < 0 ||
            double_of(node, "percentile", 98, &queue->percentile, err) < 0 ||
            duration_of(node, "service", 10 * SECOND_MS, &queue->service_ms, err) < 0 ||
            double_of(node, "service_cv", 1, &queue->service_cv, err) < 0 ||
            seconds_of(node, "ttft_target", INFINITY, &queue->first_token_target_s, err) < 0 ||
            (yaml_get(node, "engine") && yaml_get(yaml_root(scenario->world), "demand") &&
             scenario_read_engine(queue, yaml_get(node, "engine"), err) < 0))
            return -1;
    }
    return 0;
}

static int read_replicas(struct scenario *scenario, struct scenario_workload *workload,
                         const struct yaml_node *clusters, struct error *err)
{
    const struct yaml_node *all = yaml_get(yaml_root(scenario->world), "replicas");
    const struct yaml_node *own = all ? yaml_get(all, workload->name) : NULL;

    workload->replicas = mem_new_array(scenario->clusters.count + 1, sizeof(int));
    for (size_t i = 0; i < scenario->clusters.count; i++) {
        const char *name = scenario->clusters.items[i].name;

        workload->replicas[i] = -1;
        if (!(clusters && yaml_get(clusters, name)) && !(own && yaml_get(own, name)))
            continue;
        workload->replicas[i] = 0;
        if (own && int_of(own, name, 0, &workload->replicas[i], err) < 0)
            return -1;
    }
    return 0;
}

static int read_workloads(struct scenario *scenario, struct error *err)
{
    const struct yaml_node *map = yaml_get(yaml_root(scenario->config), "workloads");

    for (size_t i = 0; map && i < map->count; i++) {
        const struct yaml_node *node = &map->children[i];
        struct scenario_workload *workload = array_add(&scenario->workloads);
        const char *queue;

        workload->name = node->key;
        if (text_of(node, "namespace", "default", &workload->namespace, err) < 0 ||
            text_of(node, "queue", "", &queue, err) < 0 ||
            int_of(node, "gpus", 1, &workload->gpus, err) < 0 ||
            read_replicas(scenario, workload, yaml_get(node, "clusters"), err) < 0)
            return -1;
        INDEX_OF(&scenario->queues, queue, &workload->queue);
    }
    return 0;
}

static int read_latency(struct scenario *scenario, struct error *err)
{
    struct scenario_latency *latency = &scenario->latency;
    const struct yaml_node *map = yaml_get(yaml_root(scenario->world), "latency");

    *latency = (struct scenario_latency){
        .api = { 5, 40 },
        .delete = { MINUTE_MS, 4 * MINUTE_MS },
        .create = { 2 * MINUTE_MS, 6 * MINUTE_MS },
        .join = { 2 * MINUTE_MS, 10 * MINUTE_MS },
        .gpus = { 30 * SECOND_MS, 2 * MINUTE_MS },
        .pod_start = { 20 * SECOND_MS, 90 * SECOND_MS },
        .pod_stop = { SECOND_MS, 30 * SECOND_MS },
    };
    if (!map)
        return 0;
    return range_of(map, "api", &latency->api, err) < 0 ||
                   range_of(map, "delete", &latency->delete, err) < 0 ||
                   range_of(map, "create", &latency->create, err) < 0 ||
                   range_of(map, "join", &latency->join, err) < 0 ||
                   range_of(map, "gpus", &latency->gpus, err) < 0 ||
                   range_of(map, "pod_start", &latency->pod_start, err) < 0 ||
                   range_of(map, "pod_stop", &latency->pod_stop, err) < 0
               ? -1
               : 0;
}

static int read_trouble(struct scenario *scenario, struct error *err)
{
    const struct yaml_node *faults = yaml_get(yaml_root(scenario->world), "faults");
    const struct yaml_node *stockouts = yaml_get(yaml_root(scenario->world), "stockouts");

    for (size_t i = 0; faults && i < faults->count; i++) {
        enum fault fault = sim_fault_of_name(faults->children[i].key);

        if (fault == FAULT_COUNT)
            return yaml_error(err, &faults->children[i], "there is no such fault");
        if (yaml_double(&faults->children[i], 0, 1, &scenario->faults[fault], err) < 0)
            return -1;
    }
    for (size_t i = 0; stockouts && i < stockouts->count; i++) {
        struct scenario_stockout *stockout = array_add(&scenario->stockouts);

        if (text_of(&stockouts->children[i], "zone", NULL, &stockout->zone, err) < 0 ||
            duration_of(&stockouts->children[i], "from", 0, &stockout->from_ms, err) < 0 ||
            duration_of(&stockouts->children[i], "to", 52 * WEEK_MS, &stockout->to_ms, err) < 0)
            return -1;
    }
    return 0;
}

static int read_budgets(struct scenario *scenario, struct error *err)
{
    const struct yaml_node *list = yaml_get(yaml_root(scenario->world), "budgets");

    for (size_t i = 0; list && i < list->count; i++) {
        const struct yaml_node *node = &list->children[i];
        struct scenario_budget *budget = array_add(&scenario->budgets);
        const char *cluster, *label;

        if (text_of(node, "cluster", NULL, &cluster, err) < 0 ||
            text_of(node, "namespace", NULL, &budget->namespace, err) < 0 ||
            text_of(node, "selector_label", NULL, &label, err) < 0 ||
            int_of(node, "min_available", 0, &budget->min_available, err) < 0)
            return -1;
        INDEX_OF(&scenario->clusters, cluster, &budget->cluster);
        budget->label_key = mem_copy_chars(label);

        char *equals = strchr(budget->label_key, '=');

        if (budget->cluster == SIZE_MAX || !equals)
            return yaml_error(err, node, "a budget needs a known cluster and a label key=value");
        *equals = '\0';
        budget->label_value = equals + 1;
    }
    return 0;
}

static int read_rest(struct scenario *scenario, const char *world_path, struct error *err)
{
    const struct yaml_node *world = yaml_root(scenario->world);
    const struct yaml_node *jobs = yaml_get(world, "jobs");
    const char *label, *demand;
    int seed;

    if (text_of(yaml_root(scenario->config), "ephemeral_label", "sluice.dev/ephemeral=true", &label,
                err) < 0 ||
        text_of(world, "demand", "", &demand, err) < 0 || int_of(world, "seed", 1, &seed, err) < 0)
        return -1;
    scenario->seed = (uint64_t)seed;
    scenario->label_key = mem_copy_chars(label);

    char *equals = strchr(scenario->label_key, '=');

    scenario->label_value = mem_copy_chars(equals ? equals + 1 : "");
    if (equals)
        *equals = '\0';
    if (demand[0])
        scenario->demand_path = file_beside(world_path, demand);

    scenario->job_duration = (struct range){ 20 * MINUTE_MS, 8 * HOUR_MS };
    if (!jobs)
        return 0;
    return int_of(jobs, "backlog", 0, &scenario->job_backlog, err) < 0 ||
                   range_of(jobs, "duration", &scenario->job_duration, err) < 0
               ? -1
               : 0;
}

const struct scenario_group scenario_groups[SCENARIO_GROUPS] = {
    [SCENARIO_KUEUE] = { "kueue", "kueue.x-k8s.io", { "v1beta2", "v1beta1" } },
    [SCENARIO_POLICY] = { "policy", "policy", { "v1", "v1beta1" } },
    [SCENARIO_AUTOSCALING] = { "autoscaling", "autoscaling", { "v2", "v2beta2", "v1" } },
    [SCENARIO_CLUSTER_API] = { "cluster_api", "cluster.x-k8s.io", { "v1beta2", "v1beta1" } },
};

/* The values of these keys in world.yaml; the first of a group is the servers' default. */
static const struct {
    enum scenario_group_id group;
    const char *word;
    unsigned served;
} served_words[] = {
    { SCENARIO_KUEUE, "both", 3 },          { SCENARIO_KUEUE, "v1beta2", 1 },
    { SCENARIO_KUEUE, "v1beta1", 2 },       { SCENARIO_POLICY, "v1", 1 },
    { SCENARIO_POLICY, "v1beta1", 2 },      { SCENARIO_AUTOSCALING, "v2", 1 },
    { SCENARIO_AUTOSCALING, "v2beta2", 2 }, { SCENARIO_AUTOSCALING, "v1", 4 },
    { SCENARIO_AUTOSCALING, "none", 0 },    { SCENARIO_CLUSTER_API, "both", 3 },
    { SCENARIO_CLUSTER_API, "v1beta2", 1 }, { SCENARIO_CLUSTER_API, "v1beta1", 2 },
};

static int read_group(struct scenario *scenario, enum scenario_group_id group, struct error *err)
{
    const struct yaml_node *world = yaml_root(scenario->world);
    const char *key = scenario_groups[group].key;
    owned(text) struct text *known = text_new(256);
    const char *word;

    if (text_of(world, key, "", &word, err) < 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(served_words); i++) {
        if (served_words[i].group != group)
            continue;
        if (text_equal(word, served_words[i].word) || !yaml_get(world, key)) {
            scenario->served[group] = served_words[i].served;
            return 0;
        }
        text_add(known, "%s%s", known->length > 0 ? ", " : "", served_words[i].word);
    }
    return yaml_error(err, yaml_get(world, key), "expected one of %s", known->chars);
}

static int read_groups(struct scenario *scenario, struct error *err)
{
    for (size_t i = 0; i < SCENARIO_GROUPS; i++)
        if (read_group(scenario, (enum scenario_group_id)i, err) < 0)
            return -1;
    return 0;
}

static int check_keys(const struct yaml_node *world, struct error *err)
{
    static const char *const known[] = {
        "seed",   "pools",     "replicas",    "latency", "slurm",  "jobs",        "demand",
        "faults", "stockouts", "budgets",     "kueue",   "policy", "autoscaling", "clocks",
        "lies",   "denied",    "cluster_api", "aws",     "gcp",    "outages",     "granted"
    };

    if (yaml_expect(world, YAML_MAPPING, err) < 0)
        return -1;
    for (size_t i = 0; i < world->count; i++) {
        bool is_known = false;

        for (size_t k = 0; k < COUNT_OF(known); k++)
            is_known |= text_equal(known[k], world->children[i].key);
        if (!is_known)
            return yaml_error(err, &world->children[i], "unknown key");
    }
    return 0;
}

struct scenario *scenario_read(const char *config_path, const char *world_path, struct error *err)
{
    owned(scenario) struct scenario *scenario = mem_new(sizeof *scenario);

    scenario->config = yaml_read(config_path, err);
    if (!scenario->config)
        return NULL;
    scenario->world = yaml_read(world_path, err);
    if (!scenario->world)
        return NULL;
    if (check_keys(yaml_root(scenario->world), err) < 0 || read_clusters(scenario, err) < 0 ||
        read_reservations(scenario, err) < 0 || read_pools(scenario, err) < 0 ||
        read_queues(scenario, err) < 0 || read_workloads(scenario, err) < 0 ||
        read_latency(scenario, err) < 0 || read_trouble(scenario, err) < 0 ||
        read_budgets(scenario, err) < 0 || scenario_read_limits(scenario, err) < 0 ||
        read_groups(scenario, err) < 0 || read_rest(scenario, world_path, err) < 0)
        return NULL;
    return steal(&scenario);
}

void scenario_free(struct scenario *scenario)
{
    if (!scenario)
        return;
    for (size_t i = 0; i < scenario->workloads.count; i++)
        mem_free(scenario->workloads.items[i].replicas);
    for (size_t i = 0; i < scenario->budgets.count; i++)
        mem_free(scenario->budgets.items[i].label_key);
    array_clear(&scenario->clusters);
    array_clear(&scenario->reservations);
    array_clear(&scenario->pools);
    array_clear(&scenario->queues);
    array_clear(&scenario->workloads);
    array_clear(&scenario->stockouts);
    array_clear(&scenario->denials);
    array_clear(&scenario->outages);
    array_clear(&scenario->budgets);
    mem_free(scenario->label_key);
    mem_free(scenario->label_value);
    mem_free(scenario->demand_path);
    yaml_document_free(scenario->config);
    yaml_document_free(scenario->world);
    mem_free(scenario);
}
