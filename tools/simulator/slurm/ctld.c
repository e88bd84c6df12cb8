/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A simulated slurmctld and the life of its nodes: slurmd registers, its GPUs come later, it dies
 * with its machine and is DOWN a minute after.  Dynamic nodes have their machine's name; those of
 * slurm.conf (`nodes: fixed`) are n1, n2, ..., and a new machine takes the first whose machine is
 * gone, as the boot script of such a site does.
 */
#include "tools/simulator/slurm/ctld.h"

#include "tools/simulator/model/cloud.h"
#include "tools/simulator/slurm/ctld_peek.h"

enum {
    REGISTER_MS = 3 * SECOND_MS,
    PING_MS = 15 * SECOND_MS,    /* until a dead slurmd is NOT_RESPONDING */
    TIMEOUT_MS = 60 * SECOND_MS, /* SlurmdTimeout: until it is DOWN */
    REFRESH_MS = 5 * SECOND_MS,  /* how old alloc_cpus may be */
};

static void free_actor(struct actor *actor)
{
    mem_free(actor);
}

struct ctld_node *ctld_node_new(struct ctld *slurm, const char *name, unsigned flags)
{
    struct ctld_node *node = mem_new(sizeof *node);

    node->actor.free = free_actor;
    node->slurm = slurm;
    node->flags = flags | (slurm->cluster->plan->saves_power ? CTLD_CLOUD : 0);
    text_copy(node->name, sizeof node->name, name);
    map_set(slurm->nodes, node->name, node);
    return node;
}

void ctld_node_remove(struct ctld_node *node)
{
    if (node->machine)
        node->machine->slurm_node = NULL;
    node->slurm->sliced -= node->kind_count > 0;
    map_take(node->slurm->nodes, node->name);
    sim_actor_end(&node->actor);
}

static void refresh(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct ctld_node *node = (struct ctld_node *)actor;

    (void)sim;
    (void)stamp;
    node->cpus_shown = node->cpus_used;
}

void ctld_node_refresh_later(struct ctld_node *node)
{
    sim_after(node->slurm->sim, REFRESH_MS, refresh, &node->actor, 0);
}

/* ---- slurmd ---- */

#define SILENT "Not responding"

static void explain(struct ctld_node *node, const char *reason)
{
    text_copy(node->reason, sizeof node->reason, reason);
    text_copy(node->reason_user, sizeof node->reason_user, reason[0] ? "slurm" : "");
    node->reason_ms = reason[0] ? sim_now(node->slurm->sim) : 0;
}

/* slurmctld sets the node DOWN itself.  22.05 keeps a reason that is there, 24.11 adds its own. */
static void blame_silence(struct ctld_node *node)
{
    owned(chars) char *added = text_format("%s%s%s", node->reason, node->reason[0] ? " : " : "",
                                           SILENT);
    bool is_kept = node->kept[0] && text_equal(node->kept, node->reason);

    if (node->reason[0] && (node->slurm->release < 2411 || strstr(node->reason, SILENT)))
        return;
    explain(node, added);
    if (is_kept)
        text_copy(node->kept, sizeof node->kept, added);
}

/* DOWN is lifted as ReturnToService says: 2 always, 1 if slurmctld itself set it and the machine
   did not boot since.  Unless it is 2, a machine that booted without being asked is DOWN. */
static void settle_base(struct ctld_node *node)
{
    int returns = node->slurm->cluster->plan->return_to_service;
    bool has_booted = node->seen_ms > 0 && node->boot_ms > node->seen_ms;
    bool is_its_own = text_equal(node->reason, SILENT);

    if (node->base == CTLD_UNKNOWN || node->base == CTLD_FUTURE ||
        (node->base == CTLD_DOWN &&
         (returns == 2 || (returns == 1 && is_its_own && !has_booted)))) {
        node->base = CTLD_IDLE;
        if (is_its_own && node->slurm->release < 2411) /* 24.11: until a job comes */
            explain(node, "");
        if (!(node->flags & CTLD_DRAIN)) /* what a person said of DOWN is over */
            node->kept[0] = '\0';
    } else if (has_booted && returns != 2) {
        node->base = CTLD_DOWN;
        if (node->reason[0] == '\0' || is_its_own)
            explain(node, "Node unexpectedly rebooted");
        ctld_jobs_fail(node);
    }
    node->seen_ms = sim_now(node->slurm->sim);
}

static void registers(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct ctld_node *node = (struct ctld_node *)actor;

    if (node->stamp != stamp || !node->is_alive)
        return;
    if (node->slurm->is_down) {
        sim_after(sim, REGISTER_MS, registers, actor, stamp);
        return;
    }
    node->flags &= ~(unsigned)(CTLD_NOT_RESPONDING | CTLD_POWERED_DOWN);
    settle_base(node);
    sim_trace(sim, "slurm node %s registers", node->name);
    ctld_schedule_soon(node->slurm);
}

static void gpus_appear(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct ctld_node *node = (struct ctld_node *)actor;

    if (node->joins != stamp || !node->machine)
        return;
    node->gpus = node->machine->pool->reservation->plan->gpus_per_node -
                 (node->machine->lacks_gpu ? 1 : 0);
    node->has_gpus = true;
    sim_trace(sim, "slurm node %s gpus", node->name);
    ctld_schedule_soon(node->slurm);
}

static void is_silent(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct ctld_node *node = (struct ctld_node *)actor;

    (void)sim;
    if (node->stamp == stamp && !node->is_alive)
        node->flags |= CTLD_NOT_RESPONDING;
}

static void is_down(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct ctld_node *node = (struct ctld_node *)actor;

    if (node->stamp != stamp || node->is_alive || node->base == CTLD_FUTURE)
        return;
    if (node->base != CTLD_DOWN)
        blame_silence(node);
    node->base = CTLD_DOWN;
    node->flags |= CTLD_NOT_RESPONDING;
    sim_trace(sim, "slurm node %s down", node->name);
    ctld_jobs_fail(node);
}

/* The name that a machine's slurmd has. */
static struct ctld_node *place_for(struct ctld *slurm, struct machine *machine)
{
    const struct kube_cluster *cluster = slurm->cluster;
    struct ctld_node *node;
    void *value;

    if (!cluster->plan->has_fixed_nodes) {
        node = map_get(slurm->nodes, machine->node_name);
        return node ?: ctld_node_new(slurm, machine->node_name, CTLD_DYNAMIC);
    }
    for (size_t i = 0; map_next(slurm->nodes, &i, NULL, &value);) {
        node = value;
        if (!node->machine && !node->kind_count &&
            (node->base == CTLD_FUTURE || node->base == CTLD_DOWN))
            return node;
    }
    owned(chars) char *name = text_format("n%zu", map_count(slurm->nodes) - slurm->sliced + 1);

    return ctld_node_new(slurm, name, 0);
}

/* The boot script writes down which machine has the name now. */
static void note_machine(struct ctld_node *node)
{
    owned(chars) char *id = node->machine->pool->cloud->provider_id(node->machine);

    text_copy(node->extra, sizeof node->extra, id);
}

void sim_slurm_join(struct simulator *sim, struct machine *machine, bool is_new)
{
    struct ctld *slurm = machine->pool->cluster->slurm;
    struct ctld_node *node = place_for(slurm, machine);
    static const struct range at_once = { SECOND_MS, 2 * SECOND_MS };

    node->machine = machine;
    machine->slurm_node = node;
    node->stamp++;
    node->joins++;
    node->is_alive = true;
    node->is_movable = !machine->is_static;
    node->boot_ms = node->slurmd_ms = sim_now(sim) + 1; /* 0 is never */
    if (slurm->cluster->plan->has_fixed_nodes)
        note_machine(node);
    if (!is_new) {
        node->base = CTLD_IDLE;
        node->seen_ms = node->boot_ms;
        node->has_gpus = true;
        node->gpus = machine->pool->reservation->plan->gpus_per_node;
        return;
    }
    if (node->flags & CTLD_DYNAMIC)
        node->base = CTLD_IDLE;
    sim_after(sim, REGISTER_MS, registers, &node->actor, node->stamp);
    node->has_gpus = false;
    node->gpus = 0;
    if (!machine->no_gpus)
        sim_after(sim,
                  sim_draw(&sim->machine_chance,
                           machine->flaps ? &at_once : &sim->scenario->latency.gpus),
                  gpus_appear, &node->actor, node->joins);
}

void sim_slurm_silence(struct ctld_node *node)
{
    sim_after(node->slurm->sim, PING_MS, is_silent, &node->actor, node->stamp);
    sim_after(node->slurm->sim, TIMEOUT_MS, is_down, &node->actor, node->stamp);
}

void sim_slurm_registers_soon(struct ctld_node *node)
{
    sim_after(node->slurm->sim, REGISTER_MS, registers, &node->actor, node->stamp);
}

void sim_slurm_machine_dies(struct simulator *sim, struct machine *machine)
{
    struct ctld_node *node = machine->slurm_node;

    if (!node)
        return;
    node->is_alive = false;
    node->stamp++;
    node->joins++;
    (void)sim;
    sim_slurm_silence(node);
}

void sim_slurm_machine_gone(struct machine *machine)
{
    if (machine->slurm_node)
        machine->slurm_node->machine = NULL;
    machine->slurm_node = NULL;
}

bool ctld_node_serves(const struct ctld_node *node)
{
    return node->is_alive && node->base == CTLD_IDLE && node->has_gpus &&
           !(node->flags & (CTLD_NOT_RESPONDING | CTLD_DRAIN));
}

bool sim_slurm_machine_serves(const struct machine *machine)
{
    return machine->slurm_node && ctld_node_serves(machine->slurm_node);
}

/* ---- slurmctld ---- */

struct ctld *sim_slurm_new(struct simulator *sim, struct kube_cluster *cluster)
{
    struct ctld *slurm = mem_new(sizeof *slurm);

    slurm->actor.free = free_actor;
    slurm->sim = sim;
    slurm->cluster = cluster;
    slurm->release = cluster->plan->slurm;
    slurm->nodes = map_new(NULL);
    slurm->next_job = 1;
    slurm->preempts = "preempt/partition_prio";
    return slurm;
}

void sim_slurm_free(struct ctld *slurm)
{
    void *value;

    if (!slurm)
        return;
    for (size_t i = 0; i < slurm->jobs.count; i++)
        sim_actor_end(&slurm->jobs.items[i]->actor);
    array_clear(&slurm->jobs);
    array_clear(&slurm->reservations);
    for (size_t i = 0; map_next(slurm->nodes, &i, NULL, &value);)
        sim_actor_end(&((struct ctld_node *)value)->actor);
    map_free(slurm->nodes);
    sim_actor_end(&slurm->actor);
}

void sim_slurm_start(struct simulator *sim, struct ctld *slurm)
{
    (void)sim;
    ctld_slice(slurm);
    ctld_backlog(slurm);
    ctld_schedule_soon(slurm);
}

/* FUTURE is a node's state in slurm.conf alone: what a client set is forgotten. */
void ctld_reread(struct ctld *slurm, bool is_restart)
{
    void *value;

    slurm->is_down |= slurm->is_spoilt; /* "hostnames inconsistency detected" */
    for (size_t i = 0; map_next(slurm->nodes, &i, NULL, &value);) {
        struct ctld_node *node = value;

        if (node->base == CTLD_FUTURE && !(node->flags & CTLD_DYNAMIC))
            node->base = CTLD_UNKNOWN;
        else if (is_restart && node->base == CTLD_IDLE && node->jobs == 0)
            node->base = CTLD_UNKNOWN;
        if (node->base != CTLD_UNKNOWN)
            continue;
        node->stamp++;
        if (node->is_alive)
            sim_after(slurm->sim, REGISTER_MS, registers, &node->actor, node->stamp);
        else
            sim_after(slurm->sim, TIMEOUT_MS, is_down, &node->actor, node->stamp);
        if (node->is_alive && !node->has_gpus && node->machine && !node->machine->no_gpus)
            sim_after(slurm->sim, REGISTER_MS, gpus_appear, &node->actor, node->joins);
    }
}

static struct ctld *ctld_of(struct simulator *sim, const char *cluster)
{
    struct kube_cluster *found = sim_cluster(sim, cluster);

    require(found && found->slurm);
    return found->slurm;
}

static void comes_back(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct ctld *slurm = (struct ctld *)actor;

    if (slurm->stamp != stamp)
        return;
    slurm->is_down = false;
    sim_trace(sim, "slurmctld of %s is back", slurm->cluster->plan->name);
    ctld_reread(slurm, true);
    ctld_schedule_soon(slurm);
}

void simulator_slurm_restart(struct simulator *sim, const char *cluster, int64_t for_ms)
{
    struct ctld *slurm = ctld_of(sim, cluster);

    slurm->is_down = true;
    slurm->stamp++;
    sim_trace(sim, "slurmctld of %s stops", cluster);
    sim_after(sim, for_ms, comes_back, &slurm->actor, slurm->stamp);
}

int simulator_slurm_run(struct simulator *sim, const char *cluster, const char *line,
                        struct text *out)
{
    owned(text) struct text *errors = text_new(64 << 10);
    struct ctld_output output = { .out = out, .errors = errors };

    sim_slurm_run_person(sim, ctld_of(sim, cluster), line, &output);
    if (output.status != 0)
        text_add(out, "%s", errors->chars);
    return output.status;
}

void sim_slurm_slurmd(struct simulator *sim, const char *cluster, const char *name, bool runs)
{
    struct ctld *slurm = ctld_of(sim, cluster);
    struct ctld_node *node = map_get(slurm->nodes, name);

    if (!node) {
        node = ctld_node_new(slurm, name, CTLD_DYNAMIC);
        node->gpus = 8;
        node->has_gpus = node->is_movable = true;
    }
    node->stamp++;
    node->is_alive = runs;
    if (!runs) {
        sim_slurm_silence(node);
        return;
    }
    node->slurmd_ms = sim_now(sim) + 1;
    sim_slurm_registers_soon(node);
}

int sim_slurm_signals(struct simulator *sim, const char *cluster, int job)
{
    const struct ctld_job *found = ctld_job_find(ctld_of(sim, cluster), job);

    return found ? found->signals : -1;
}

int sim_slurm_step_signals(struct simulator *sim, const char *cluster, int job)
{
    const struct ctld_job *found = ctld_job_find(ctld_of(sim, cluster), job);

    return found ? found->step_signals : -1;
}
