/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The simulator as a whole: made from a scenario, started in a steady state, taken down.
 */
#include "base/crypto.h"
#include "base/file.h"
#include "tools/simulator/kube/deployments.h"
#include "tools/simulator/kube/kube_devices.h"
#include "tools/simulator/model/client.h"
#include "tools/simulator/model/cloud.h"
#include "tools/simulator/model/lies.h"
#include "tools/simulator/model/model.h"
#include "tools/simulator/model/slurm.h"

enum { PROVIDER_FILE_LIMIT = 64 * 1024 };
enum { SPARE_HOSTS = 4 }; /* the cloud has a few more than were paid for */

static void free_number(void *value)
{
    mem_free(value);
}

static void seed_streams(struct simulator *sim)
{
    uint64_t seed = sim->scenario->seed;

    random_seed(&sim->faults, random_mix(seed, "faults", 0, 0));
    random_seed(&sim->latency, random_mix(seed, "latency", 0, 0));
    random_seed(&sim->machine_chance, random_mix(seed, "machines", 0, 0));
    random_seed(&sim->pod_chance, random_mix(seed, "pods", 0, 0));
    random_seed(&sim->job_chance, random_mix(seed, "jobs", 0, 0));
    random_seed(&sim->names, random_mix(seed, "names", 0, 0));
}

/* A configuration of another kind of provider is played on the default cloud. */
static const struct sim_cloud *find_cloud(const char *kind)
{
    for (size_t i = 0; sim_clouds[i]; i++)
        if (text_equal(sim_clouds[i]->kind, kind))
            return sim_clouds[i];
    return sim_clouds[0];
}

static const char *text_at(const struct yaml_node *node, const char *key)
{
    const struct yaml_node *found = node ? yaml_get(node, key) : NULL;
    struct error err = { 0 };
    const char *text = NULL;

    return found && yaml_text(found, &text, &err) == 0 ? text : NULL;
}

const char *sim_provider_text(const struct pool *pool, const char *key)
{
    return text_at(pool->plan->provider, key);
}

struct text *sim_provider_file(const struct simulator *sim, const struct pool *pool,
                               const char *key)
{
    const char *named = sim_provider_text(pool, key);
    owned(chars) char *path = named ? file_beside(yaml_source(sim->scenario->config), named) : NULL;
    struct error err = { 0 };

    return path ? file_read(path, PROVIDER_FILE_LIMIT, &err) : NULL;
}

const char *sim_pool_text(const struct pool *pool, const char *key)
{
    return text_at(pool->plan->keys, key);
}

static void make_places(struct simulator *sim)
{
    struct scenario *scenario = sim->scenario;

    sim->cluster_count = scenario->clusters.count;
    sim->clusters = mem_new_array(sim->cluster_count, sizeof *sim->clusters);
    for (size_t i = 0; i < sim->cluster_count; i++) {
        sim->clusters[i].plan = &scenario->clusters.items[i];
        sim->clusters[i].index = i;
        sim->clusters[i].version = sim->clusters[i].history_floor = 1000;
        sim->clusters[i].nodes = map_new(NULL);
        sim->clusters[i].pods = map_new(NULL);
        sim->clusters[i].attachments = map_new(sim_free_json);
        sim->clusters[i].claims = map_new(sim_free_json);
        sim->clusters[i].namespaces = map_new(NULL);
        sim->clusters[i].rules = map_new(sim_rule_free);
        sim->clusters[i].objects = map_new(sim_free_json);
        if (sim->clusters[i].plan->slurm)
            sim->clusters[i].slurm = sim_slurm_new(sim, &sim->clusters[i]);
    }
    sim->reservation_count = scenario->reservations.count;
    sim->reservations = mem_new_array(sim->reservation_count, sizeof *sim->reservations);
    for (size_t i = 0; i < sim->reservation_count; i++) {
        sim->reservations[i].plan = &scenario->reservations.items[i];
        for (int host = 0; host < sim->reservations[i].plan->nodes + SPARE_HOSTS; host++)
            *array_add(&sim->reservations[i].free_hosts) = host;
    }
    sim->pool_count = scenario->pools.count;
    sim->pools = mem_new_array(sim->pool_count, sizeof *sim->pools);
    for (size_t i = 0; i < sim->pool_count; i++) {
        sim->pools[i].plan = &scenario->pools.items[i];
        sim->pools[i].cloud = find_cloud(sim->pools[i].plan->kind);
        sim->pools[i].cluster = &sim->clusters[scenario->pools.items[i].cluster];
        sim->pools[i].reservation = &sim->reservations[scenario->pools.items[i].reservation];
        sim->pools[i].reservation->target_start += sim->pools[i].plan->nodes;
    }
}

static int start_machines(struct simulator *sim, struct error *err)
{
    for (size_t i = 0; i < sim->reservation_count; i++)
        if (sim->reservations[i].target_start > sim->reservations[i].plan->nodes)
            return error_set(err, ERROR_INVALID, "reservation %s has %d nodes, its pools hold %d",
                             sim->reservations[i].plan->name, sim->reservations[i].plan->nodes,
                             sim->reservations[i].target_start);
    for (size_t i = 0; i < sim->pool_count; i++)
        for (int k = 0; k < sim->pools[i].plan->nodes; k++) {
            char name[SIM_NAME_SIZE];

            sim->pools[i].cloud->name_machine(sim, &sim->pools[i], k, name);

            struct machine *machine = sim_machine_new(sim, &sim->pools[i], name);

            machine->is_static = k < sim->pools[i].plan->static_nodes;
            sim_machine_start(sim, machine);
        }
    return 0;
}

/* Whatever finds room at the start has been running for a while. */
static void start_work(struct simulator *sim)
{
    sim_jobs_new(sim);
    for (size_t i = 0; i < sim->cluster_count; i++) {
        struct kube_cluster *cluster = &sim->clusters[i];
        void *value;

        if (cluster->slurm) {
            sim_slurm_start(sim, cluster->slurm);
            continue;
        }
        sim_budgets_new(sim, cluster);
        sim_deployments_new(sim, cluster);
        sim_schedule_now(sim, cluster);
        for (size_t at = 0; map_next(cluster->pods, &at, NULL, &value);) {
            struct kube_pod *pod = value;

            if (pod->deployment && pod->node)
                sim_pod_run(sim, pod);
        }
    }
}

/* A login node of Slurm, or else a machine of one's own. */
static void play_ssh(void *context, const struct ssh_host *host, const struct ssh_request *request,
                     struct ssh_play *play)
{
    if (!sim_slurm_play(context, host, request, play))
        sim_own_play(context, host, request, play);
}

struct simulator *simulator_new(struct loop *loop, const char *config_path, const char *world_path,
                                struct error *err)
{
    owned(simulator) struct simulator *sim = mem_new(sizeof *sim);

    sim->loop = loop;
    sim->start_ms = sim->accounted_ms = loop_now(loop);
    sim->wall_offset_ms = loop_wall(loop).ms - loop_now(loop);
    sim->trace = UINT64_C(14695981039346656037);
    sim->referee = referee_new();
    sim->agenda = sim_agenda_new(sim);
    sim->carrier = sim_carrier_new(sim);
    sim->ssh = ssh_virtual_new(sim->loop, play_ssh, sim);
    sim->operations = map_new(free_number);
    sim->request_ids = map_new(NULL);
    sim->tokens = map_new(free_number);
    sim->verbs = map_new(free_number);
    sim->scenario = scenario_read(config_path, world_path, err);
    if (!sim->scenario)
        return NULL;
    seed_streams(sim);
    make_places(sim);
    sim->traffic = sim_traffic_new(sim, err);
    sim->lies = sim_lies_new(sim);
    if (!sim->traffic || start_machines(sim, err) < 0 || sim_lies_read(sim, err) < 0)
        return NULL;
    start_work(sim);
    sim->is_started = true;
    return steal(&sim);
}

static void clear_cluster(struct kube_cluster *cluster)
{
    void *value;

    for (size_t i = 0; map_next(cluster->pods, &i, NULL, &value);)
        sim_actor_end(&((struct kube_pod *)value)->actor);
    for (size_t i = 0; map_next(cluster->nodes, &i, NULL, &value);)
        sim_actor_end(&((struct kube_node *)value)->actor);
    sim_devices_clear(cluster);
    sim_slurm_free(cluster->slurm);
    map_free(cluster->attachments);
    map_free(cluster->claims);
    map_free(cluster->pods);
    map_free(cluster->nodes);
    for (size_t i = 0; map_next(cluster->namespaces, &i, NULL, &value);)
        sim_actor_end(&((struct kube_namespace *)value)->actor);
    map_free(cluster->namespaces);
    map_free(cluster->rules);
    map_free(cluster->objects);
    sim_deployments_clear(cluster);
    sim_other_clients_forget(cluster);
    array_clear(&cluster->waiting);
    while (cluster->watches.count)
        sim_watch_close(cluster->watches.items[0]);
    array_clear(&cluster->watches);
    sim_history_clear(cluster);
    sim_budgets_clear(cluster);
}

static void clear_pool(struct pool *pool)
{
    for (size_t i = 0; i < pool->machines.count; i++)
        sim_actor_end(&pool->machines.items[i]->actor);
    array_clear(&pool->machines);
}

struct ssh *simulator_ssh(struct simulator *simulator)
{
    return simulator->ssh;
}

void simulator_free(struct simulator *sim)
{
    if (!sim)
        return;
    sim_socket_free(sim->socket);
    sim_carrier_free(sim->carrier);
    ssh_free(sim->ssh);
    for (size_t i = 0; i < sim->cluster_count; i++)
        clear_cluster(&sim->clusters[i]);
    for (size_t i = 0; i < sim->pool_count; i++)
        clear_pool(&sim->pools[i]);
    sim_lies_free(sim->lies, sim->pool_count);
    sim_agenda_free(sim->agenda);
    for (size_t i = 0; i < sim->jobs.count; i++)
        mem_free(sim->jobs.items[i]);
    array_clear(&sim->jobs);
    array_clear(&sim->scripted);
    sim_traffic_free(sim->traffic);
    map_free(sim->request_ids);
    map_free(sim->operations);
    map_free(sim->tokens);
    crypto_key_free(sim->oci_key);
    map_free(sim->verbs);
    mem_free(sim->clusters);
    for (size_t i = 0; i < sim->reservation_count; i++)
        array_clear(&sim->reservations[i].free_hosts);
    mem_free(sim->reservations);
    mem_free(sim->pools);
    referee_free(sim->referee);
    scenario_free(sim->scenario);
    mem_free(sim);
}

void simulator_set_witness(struct simulator *simulator, simulator_witness_fn witness, void *context)
{
    simulator->witness = witness;
    simulator->witness_context = context;
}

uint64_t simulator_trace_hash(const struct simulator *simulator)
{
    return simulator->trace;
}

const struct referee *simulator_referee(const struct simulator *simulator)
{
    return simulator->referee;
}
