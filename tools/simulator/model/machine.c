/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Machines: each takes one slot of its reservation from the moment the VM exists until it is gone.
 * A group that finds no machine tries again forever, as managed groups do.
 */
#include "tools/simulator/model/cloud.h"
#include "tools/simulator/model/lies.h"
#include "tools/simulator/model/slurm.h"

#include <inttypes.h>

enum { RETRY_MS = 30 * SECOND_MS };

static void attempt(struct simulator *sim, struct actor *actor, uint64_t stamp);

void sim_machine_free(struct actor *actor)
{
    mem_free(actor);
}

struct machine *sim_machine_find(const struct pool *pool, const char *name)
{
    for (size_t i = 0; i < pool->machines.count; i++)
        if (text_equal(pool->machines.items[i]->name, name))
            return pool->machines.items[i];
    return NULL;
}

/* The host that is free longest, so that a faulty one is used again late; but see same_host. */
static int take_host(struct simulator *sim, struct reservation *reservation)
{
    size_t count = reservation->free_hosts.count;
    size_t at = sim_fault_now(sim, FAULT_SAME_HOST, NULL) ? count - 1 : 0;
    int host = reservation->free_hosts.items[at];

    array_remove(&reservation->free_hosts, at);
    return host;
}

static void take_slot(struct simulator *sim, struct machine *machine)
{
    machine->has_slot = true;
    machine->host = take_host(sim, machine->pool->reservation);
    machine->pool->reservation->slots_used++;
    snprintf(machine->id, sizeof machine->id, "%" PRIu64,
             UINT64_C(1000000000000000000) +
                 random_below(&sim->names, UINT64_C(8000000000000000000)));
}

struct machine *sim_machine_new(struct simulator *sim, struct pool *pool, const char *name)
{
    struct machine *machine = mem_new(sizeof *machine);

    machine->actor.free = sim_machine_free;
    machine->pool = pool;
    text_copy(machine->name, sizeof machine->name, name);
    if (pool->cloud->name_node)
        pool->cloud->name_node(machine, machine->node_name);
    else
        text_copy(machine->node_name, sizeof machine->node_name, name);
    if (pool->cloud->made)
        pool->cloud->made(sim, machine);
    machine->created_ms = sim_now(sim);
    *array_add(&pool->machines) = machine;
    pool->target++;
    sim_machine_changed(sim, machine, false);
    return machine;
}

/* Its kubelet or its slurmd registers. */
static void register_node(struct simulator *sim, struct machine *machine, bool is_new)
{
    if (machine->pool->cluster->slurm)
        sim_slurm_join(sim, machine, is_new);
    else
        machine->node = sim_node_register(sim, machine, is_new);
}

/* The Node goes too, as when a machine is made again. */
static void lose_node(struct simulator *sim, struct machine *machine)
{
    struct kube_node *node = machine->node;

    sim_slurm_machine_dies(sim, machine);
    sim_slurm_machine_gone(machine);
    if (node) {
        sim_node_machine_dies(sim, node);
        sim_node_delete(sim, node);
    }
}

/* Machines of the start are there already. */
void sim_machine_start(struct simulator *sim, struct machine *machine)
{
    if (sim->is_started) {
        sim_after(sim, 2 * SECOND_MS, attempt, &machine->actor, machine->stamp);
        return;
    }
    take_slot(sim, machine);
    machine->state = MACHINE_RUNNING;
    register_node(sim, machine, false);
    sim_machine_changed(sim, machine, false);
}

static bool is_stocked_out(struct simulator *sim, const struct pool *pool)
{
    const char *zone = pool->reservation->plan->zone;
    int64_t at_ms = sim_since_start(sim);

    for (size_t i = 0; i < sim->scenario->stockouts.count; i++) {
        const struct scenario_stockout *stockout = &sim->scenario->stockouts.items[i];

        if (text_equal(stockout->zone, zone) && at_ms >= stockout->from_ms &&
            at_ms < stockout->to_ms)
            return true;
    }
    return sim_fault_now(sim, FAULT_STOCKOUT, NULL);
}

static void fail_attempt(struct simulator *sim, struct machine *machine, enum trouble trouble)
{
    machine->trouble = trouble;
    machine->tried_ms = sim_now(sim);
    sim->stockouts_met++;
    sim_trace(sim, "machine %s fails %s", machine->name,
              trouble == TROUBLE_STOCKOUT ? "ZONE_RESOURCE_POOL_EXHAUSTED"
              : trouble == TROUBLE_QUOTA  ? "QUOTA_EXCEEDED"
                                          : "INVALID_USAGE");
    sim_machine_changed(sim, machine, false);
    if (!machine->pool->cloud->tries_once)
        sim_after(sim, RETRY_MS, attempt, &machine->actor, machine->stamp);
}

static void join(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct machine *machine = (struct machine *)actor;

    if (machine->stamp == stamp && !machine->node && !machine->slurm_node)
        register_node(sim, machine, true);
}

static void booted(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct machine *machine = (struct machine *)actor;

    if (machine->stamp != stamp)
        return;
    machine->state = MACHINE_RUNNING;
    machine->stamp++;
    sim_trace(sim, "machine %s runs", machine->name);
    sim_machine_changed(sim, machine, false);
    if (!machine->never_joins)
        sim_after(sim, sim_draw(&sim->machine_chance, &sim->scenario->latency.join), join, actor,
                  machine->stamp);
}

enum trouble sim_pool_trouble(struct simulator *sim, const struct pool *pool)
{
    if (sim_fault_now(sim, FAULT_QUOTA, NULL))
        return TROUBLE_QUOTA;
    if (is_stocked_out(sim, pool))
        return TROUBLE_STOCKOUT;
    return pool->reservation->slots_used >= pool->reservation->plan->nodes
               ? TROUBLE_RESERVATION_FULL
               : TROUBLE_NONE;
}

static void boot(struct simulator *sim, struct machine *machine)
{
    int64_t boot_ms = sim_draw(&sim->machine_chance, &sim->scenario->latency.create);

    if (sim_fault_now(sim, FAULT_SLOW_BOOT, NULL))
        boot_ms *= 4;
    machine->never_joins = sim_fault_now(sim, FAULT_NEVER_JOINS, NULL);
    machine->no_gpus = sim_fault_now(sim, FAULT_NO_GPUS, NULL);
    machine->lacks_gpu = sim_fault_now(sim, FAULT_ONE_GPU_LESS, NULL);
    machine->flaps = sim_fault_now(sim, FAULT_GPUS_FLAP, NULL);
    machine->trouble = TROUBLE_NONE;
    machine->tried_ms = sim_now(sim);
    machine->state = MACHINE_BOOTING;
    machine->stamp++;
    take_slot(sim, machine);
    sim->machines_created++;
    sim_trace(sim, "machine %s boots", machine->name);
    sim_machine_changed(sim, machine, false);
    sim_after(sim, boot_ms, booted, &machine->actor, machine->stamp);
}

static void attempt(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct machine *machine = (struct machine *)actor;
    enum trouble trouble;

    if (machine->stamp != stamp)
        return;
    trouble = sim_pool_trouble(sim, machine->pool);
    if (trouble == TROUBLE_NONE)
        boot(sim, machine);
    else
        fail_attempt(sim, machine, trouble);
}

static void give_slot_back(struct machine *machine)
{
    struct reservation *reservation = machine->pool->reservation;

    if (!machine->has_slot)
        return;
    reservation->slots_used--;
    *array_add(&reservation->free_hosts) = machine->host;
    machine->has_slot = false;
}

static void gone(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct machine *machine = (struct machine *)actor;
    struct pool *pool = machine->pool;

    if (machine->stamp != stamp)
        return;
    for (size_t i = 0; i < pool->machines.count; i++)
        if (pool->machines.items[i] == machine) {
            array_remove(&pool->machines, i);
            break;
        }
    give_slot_back(machine);
    if (machine->node)
        machine->node->machine = NULL;
    sim_slurm_machine_gone(machine);
    sim_trace(sim, "machine %s gone", machine->name);
    sim_machine_changed(sim, machine, true);
    sim_actor_end(actor);
}

void sim_machine_recreate(struct simulator *sim, struct machine *machine)
{
    if (machine->state == MACHINE_STOPPING)
        return;
    sim_trace(sim, "machine %s is made again", machine->name);
    lose_node(sim, machine);
    give_slot_back(machine);
    machine->state = MACHINE_QUEUED;
    machine->stamp++;
    sim_machine_start(sim, machine);
}

void sim_machine_reboot(struct simulator *sim, struct machine *machine)
{
    if (machine->state != MACHINE_RUNNING)
        return;
    sim_trace(sim, "machine %s boots again", machine->name);
    lose_node(sim, machine);
    machine->state = MACHINE_BOOTING;
    machine->stamp++;
    sim_machine_changed(sim, machine, false);
    sim_after(sim, sim_draw(&sim->machine_chance, &sim->scenario->latency.create), booted,
              &machine->actor, machine->stamp);
}

void sim_machine_remove(struct simulator *sim, struct machine *machine)
{
    static const struct range quick = { SECOND_MS, 5 * SECOND_MS };

    if (machine->state == MACHINE_STOPPING)
        return;
    machine->state = MACHINE_STOPPING;
    machine->stamp++;
    machine->pool->target--;
    sim->machines_deleted++;
    sim_trace(sim, "machine %s stops", machine->name);
    sim_machine_changed(sim, machine, false);
    sim_slurm_pods_die(machine->node);
    if (machine->node)
        sim_node_machine_dies(sim, machine->node);
    sim_slurm_machine_dies(sim, machine);
    sim_after(
        sim,
        sim_draw(&sim->machine_chance, machine->has_slot ? &sim->scenario->latency.delete : &quick),
        gone, &machine->actor, machine->stamp);
}

struct machine *sim_pool_grow(struct simulator *sim, struct pool *pool)
{
    char name[SIM_NAME_SIZE];
    struct machine *machine;

    pool->cloud->name_machine(sim, pool, (int)pool->machines.count, name);
    machine = sim_machine_new(sim, pool, name);
    sim_machine_start(sim, machine);
    return machine;
}

struct machine *sim_pool_launch(struct simulator *sim, struct pool *pool)
{
    char name[SIM_NAME_SIZE];
    struct machine *machine;

    pool->cloud->name_machine(sim, pool, (int)pool->machines.count, name);
    machine = sim_machine_new(sim, pool, name);
    boot(sim, machine);
    return machine;
}

static struct pool *pool_named(struct simulator *sim, const char *name)
{
    for (size_t i = 0; i < sim->pool_count; i++)
        if (text_equal(sim->pools[i].plan->name, name))
            return &sim->pools[i];
    require(false); /* a pool that the simulator does not have */
    return NULL;
}

void simulator_resize_pool(struct simulator *simulator, const char *name, int wanted)
{
    struct pool *pool = pool_named(simulator, name);

    if (pool->cloud->resize) {
        pool->cloud->resize(simulator, pool, wanted);
        return;
    }
    while (pool->target < wanted)
        sim_pool_grow(simulator, pool);
    while (pool->target > wanted)
        sim_pool_shrink(simulator, pool);
}

void simulator_heal(struct simulator *simulator, const char *name, const char *machine_name)
{
    struct pool *pool = pool_named(simulator, name);
    struct machine *machine = sim_machine_find(pool, machine_name);

    require(machine);
    if (pool->cloud->heal) {
        pool->cloud->heal(simulator, machine);
        return;
    }
    if (!pool->cloud->heals_with_new) {
        sim_machine_recreate(simulator, machine);
        return;
    }
    sim_machine_remove(simulator, machine);
    sim_pool_grow(simulator, pool);
}

void sim_pool_shrink(struct simulator *sim, struct pool *pool)
{
    struct machine *victim = NULL;

    for (size_t i = 0; i < pool->machines.count; i++) {
        struct machine *machine = pool->machines.items[i];

        if (machine->state != MACHINE_STOPPING &&
            (!victim || victim->state != MACHINE_QUEUED || machine->state == MACHINE_QUEUED))
            victim = machine;
    }
    if (!victim)
        return;
    if (victim->state != MACHINE_QUEUED)
        referee_delete_instance(sim, victim, "");
    sim_machine_remove(sim, victim);
}
