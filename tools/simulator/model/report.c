/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What happened so far, as one JSON object.
 */
#include "tools/simulator/model/deployment.h"
#include "tools/simulator/model/model.h"
#include "tools/simulator/model/slurm.h"

#include <inttypes.h>

static const struct pool *find_pool(const struct simulator *sim, const char *name)
{
    for (size_t i = 0; i < sim->pool_count; i++)
        if (text_equal(sim->pools[i].plan->name, name))
            return &sim->pools[i];
    return NULL;
}

static int count_of(const struct pool *pool, enum machine_state state)
{
    int count = 0;

    for (size_t i = 0; i < pool->machines.count; i++)
        count += pool->machines.items[i]->state == state;
    return count;
}

int simulator_pool_running(const struct simulator *simulator, const char *pool)
{
    const struct pool *found = find_pool(simulator, pool);

    return found ? count_of(found, MACHINE_RUNNING) : 0;
}

int simulator_pool_target(const struct simulator *simulator, const char *pool)
{
    const struct pool *found = find_pool(simulator, pool);

    return found ? found->target : 0;
}

static int ready_nodes(const struct pool *pool)
{
    int count = 0;

    for (size_t i = 0; i < pool->machines.count; i++) {
        const struct kube_node *node = pool->machines.items[i]->node;

        count += sim_slurm_machine_serves(pool->machines.items[i]);
        count += node && node->is_alive && node->readiness == NODE_READY && node->gpus > 0;
    }
    return count;
}

static json_t *pools_report(const struct simulator *sim)
{
    json_t *pools = json_object();

    for (size_t i = 0; i < sim->pool_count; i++) {
        const struct pool *pool = &sim->pools[i];

        json_object_set_new(
            pools, pool->plan->name,
            json_make("{s:i, s:i, s:i, s:i, s:i, s:i}", "target", pool->target, "waiting",
                      count_of(pool, MACHINE_QUEUED), "booting", count_of(pool, MACHINE_BOOTING),
                      "running", count_of(pool, MACHINE_RUNNING), "stopping",
                      count_of(pool, MACHINE_STOPPING), "ready", ready_nodes(pool)));
    }
    return pools;
}

static json_t *workloads_report(const struct simulator *sim)
{
    json_t *workloads = json_object();

    for (size_t i = 0; i < sim->cluster_count; i++)
        for (size_t k = 0; k < sim->clusters[i].deployments.count; k++) {
            const struct deployment *deployment = sim->clusters[i].deployments.items[k];
            json_t *own = json_object_get(workloads, deployment->plan->name);
            int serving = 0;

            for (size_t p = 0; p < deployment->pods.count; p++)
                serving += deployment->pods.items[p]->is_serving;
            if (!own) {
                own = json_object();
                json_object_set_new(workloads, deployment->plan->name, own);
            }
            json_object_set_new(
                own, sim->clusters[i].plan->name,
                json_make("{s:i, s:i}", "replicas", deployment->replicas, "serving", serving));
        }
    return workloads;
}

static json_t *violations_report(const struct simulator *sim)
{
    json_t *violations = json_array();

    for (size_t i = 0; i < referee_violation_count(sim->referee); i++) {
        const struct violation *violation = referee_violation(sim->referee, i);

        json_array_append_new(violations,
                              json_make("{s:I, s:s, s:s}", "at_ms", (json_int_t)violation->at_ms,
                                        "invariant", violation->invariant, "sentence",
                                        violation->sentence));
    }
    return violations;
}

static json_t *requests_report(const struct simulator *sim)
{
    json_t *requests = json_object();
    const char *verb;
    void *count;

    for (size_t i = 0; map_next(sim->verbs, &i, &verb, &count);)
        json_object_set_new(requests, verb, json_integer((json_int_t) * (const uint64_t *)count));
    return requests;
}

static json_t *slurm_report(const struct simulator *sim)
{
    json_t *clusters = json_object();

    for (size_t i = 0; i < sim->cluster_count; i++)
        if (sim->clusters[i].slurm)
            json_object_set_new(clusters, sim->clusters[i].plan->name,
                                sim_slurm_report(sim->clusters[i].slurm));
    return clusters;
}

json_t *simulator_report(struct simulator *sim)
{
    char hash[20];

    sim_account(sim);
    snprintf(hash, sizeof hash, "%016" PRIx64, sim->trace);
    return json_make(
        "{s:I, s:s, s:o, s:o, s:o, s:{s:f, s:f, s:f, s:I, s:I}, s:{s:I, s:I, s:I, s:I, s:I}, s:o, "
        "s:o, s:o}",
        "elapsed_ms", (json_int_t)sim_since_start(sim), "trace", hash, "pools", pools_report(sim),
        "workloads", workloads_report(sim), "queues", sim_traffic_report(sim), "research",
        "gpu_hours_offered", sim->offered_gpu_s / 3600, "gpu_hours_used", sim->used_gpu_s / 3600,
        "gpu_hours_lost", sim->lost_gpu_s / 3600, "jobs_done", (json_int_t)sim->jobs_done,
        "jobs_evicted", (json_int_t)sim->jobs_evicted, "effects", "evictions",
        (json_int_t)sim->evictions, "pod_deletes", (json_int_t)sim->forced_deletes,
        "machines_created", (json_int_t)sim->machines_created, "machines_deleted",
        (json_int_t)sim->machines_deleted, "attempts_failed", (json_int_t)sim->stockouts_met,
        "requests", requests_report(sim), "violations", violations_report(sim), "slurm",
        slurm_report(sim));
}
