/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What must hold of the objects that are kept in clusters: quotas, and the number of a workload
 * that sluice sets.
 */
#include "base/text.h"
#include "broker/config/config_tables.h"
#include "clusters/cluster.h"

static int check_quota(const struct config *config, size_t at, struct config_quota *quota,
                       struct error *err)
{
    quota->cluster = config_resolve(config, CONFIG_CLUSTERS, quota->cluster_name,
                                    config_place(config, "quotas", at, "cluster"), err);
    if (!quota->cluster)
        return -1;
    if (!quota->cluster->kind->keeps_quotas)
        return yaml_error(err, config_place(config, "quotas", at, "cluster"),
                          "%s is a cluster of kind %s, which has no quotas", quota->cluster_name,
                          quota->cluster->own.kind->name);
    if (!quota->pool_name)
        return 0;
    quota->pool = config_resolve(config, CONFIG_POOLS, quota->pool_name,
                                 config_place(config, "quotas", at, "pool"), err);
    if (!quota->pool)
        return -1;
    if (quota->pool->cluster != quota->cluster)
        return yaml_error(err, config_place(config, "quotas", at, "pool"),
                          "is a pool of cluster %s", quota->pool->cluster->name);
    return 0;
}

static bool is_same(const struct config_quota *left, const struct config_quota *right)
{
    return left->cluster == right->cluster &&
           text_equal(left->cluster_queue, right->cluster_queue) &&
           text_equal(left->flavor, right->flavor) && text_equal(left->resource, right->resource);
}

/* Both would count the GPUs of one node.  A reserved quota counts no movable node. */
static bool is_overlapping(const struct config_quota *left, const struct config_quota *right)
{
    return !left->is_reserved && !right->is_reserved && left->cluster == right->cluster &&
           text_equal(left->resource, right->resource) &&
           (!left->pool || !right->pool || left->pool == right->pool);
}

static int check_pair(const struct config *config, size_t at, size_t before, struct error *err)
{
    const struct config_quota *quota = &config->quotas[at];
    const struct config_quota *other = &config->quotas[before];
    const struct yaml_node *place = config_place(config, "quotas", at, "");

    require(before < at && quota->cluster && other->cluster);
    if (is_same(quota, other))
        return yaml_error(err, place, "is the same quota as %s", other->name);
    if (is_overlapping(quota, other))
        return yaml_error(err, place,
                          "promises the GPUs of the same movable nodes as quotas.%s of line %d: "
                          "give each a pool of its own, or let one of them follow the nodes",
                          other->name, config_place(config, "quotas", before, "")->line);
    return 0;
}

int config_check_quotas(struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->quota_count; i++) {
        if (check_quota(config, i, &config->quotas[i], err) < 0)
            return -1;
        for (size_t k = 0; k < i; k++)
            if (check_pair(config, i, k, err) < 0)
                return -1;
    }
    return 0;
}

int config_check_scaling(const struct config *config, size_t at, struct error *err)
{
    static const char *const keeps[] = { "replicas", "hpa", "keda" };
    struct config_workload *workload = &config->workloads[at];
    size_t found = 0;

    workload->is_leader_worker_set = text_equal(workload->kind_name, "leaderworkerset");
    if (!workload->is_leader_worker_set && !text_equal(workload->kind_name, "deployment"))
        return yaml_error(err, config_place(config, "workloads", at, "kind"),
                          "expected deployment or leaderworkerset, found \"%s\"",
                          workload->kind_name);
    while (found < COUNT_OF(keeps) && !text_equal(workload->keeps_name, keeps[found]))
        found++;
    if (found == COUNT_OF(keeps))
        return yaml_error(err, config_place(config, "workloads", at, "keeps"),
                          "expected replicas, hpa or keda, found \"%s\"", workload->keeps_name);
    require(found < COUNT_OF(keeps));
    workload->keeps = (enum config_keeps)found;
    if (workload->autoscaler && workload->keeps == KEEPS_REPLICAS)
        return yaml_error(err, config_place(config, "workloads", at, "autoscaler"),
                          "counts only with keeps: hpa or keeps: keda");
    return 0;
}
