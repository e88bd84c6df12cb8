/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The promises, each where the effect that could break it passes.  A sentence a violation, with
 * names, so that a failing run can be read.
 */
#include "tools/simulator/model/referee.h"

#include "tools/simulator/model/cloud.h"
#include "tools/simulator/model/model.h"
#include "tools/simulator/model/slurm.h"

#include <stdarg.h>

enum { VIOLATIONS_MAX = 1000, LATE_MS = 5 * MINUTE_MS, LOOK_MS = 15 * SECOND_MS };

struct referee {
    ARRAY(struct violation) violations;
    struct map *created; /* every instance name that was ever asked for */
};

struct referee *referee_new(void)
{
    struct referee *referee = mem_new(sizeof *referee);

    referee->created = map_new(NULL);
    return referee;
}

void referee_free(struct referee *referee)
{
    if (!referee)
        return;
    for (size_t i = 0; i < referee->violations.count; i++)
        mem_free(referee->violations.items[i].sentence);
    array_clear(&referee->violations);
    map_free(referee->created);
    mem_free(referee);
}

size_t referee_violation_count(const struct referee *referee)
{
    return referee->violations.count;
}

const struct violation *referee_violation(const struct referee *referee, size_t at)
{
    return at < referee->violations.count ? &referee->violations.items[at] : NULL;
}

void referee_report(struct simulator *sim, const char *invariant, const char *format, ...)
{
    struct referee *referee = sim->referee;
    char sentence[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);

    /* A state that stays wrong is one violation, not one an event. */
    for (size_t i = referee->violations.count; i-- > 0;)
        if (text_equal(referee->violations.items[i].sentence, sentence))
            return;
    if (referee->violations.count == VIOLATIONS_MAX)
        return;

    struct violation *violation = array_add(&referee->violations);

    violation->at_ms = sim_since_start(sim);
    violation->invariant = invariant;
    violation->sentence = mem_copy_chars(sentence);
    sim_trace(sim, "violation %s", invariant);
}

void referee_need_intent(struct simulator *sim, const char *verb, const char *object)
{
    if (!sim_witness(sim, verb, object))
        referee_report(sim, "I3", "%s of %s without a committed intent", verb, object);
}

void referee_need_one_transfer(struct simulator *sim, const char *node)
{
    if (!sim_witness(sim, "one_transfer", node))
        referee_report(sim, "I1", "node %s is in more than one live transfer", node);
}

static void need_movable(struct simulator *sim, const char *what, const struct kube_node *node)
{
    if (node && node->is_static)
        referee_report(sim, "I17", "%s touches static node %s", what, node->name);
}

void referee_patch_node(struct simulator *sim, const struct kube_node *node, bool cordons)
{
    if (sim->is_other_client)
        return;
    need_movable(sim, "patch_node", node);
    referee_need_intent(sim, "patch_node", node->name);
    if (cordons)
        referee_need_one_transfer(sim, node->name);
}

void referee_delete_node(struct simulator *sim, const struct kube_node *node, bool has_uid)
{
    if (sim->is_other_client)
        return;
    need_movable(sim, "delete_node", node);
    referee_need_intent(sim, "delete_node", node->name);
    if (!has_uid)
        referee_report(sim, "I5", "Node %s deleted without a UID precondition", node->name);
    if (node->machine)
        referee_report(sim, "I16", "Node %s deleted while its machine exists", node->name);
}

void referee_touch_pod(struct simulator *sim, const char *verb, const struct kube_pod *pod,
                       bool has_uid)
{
    owned(chars) char *object = text_format("%s/%s", pod->namespace, pod->name);

    if (sim->is_other_client)
        return;
    need_movable(sim, verb, pod->node);
    referee_need_intent(sim, verb, object);
    if (!has_uid && !text_equal(verb, "mark_pod"))
        referee_report(sim, "I5", "%s of %s without a UID precondition", verb, object);
    if (!text_equal(verb, "mark_pod") && !pod->job && !pod->deployment && !pod->written)
        referee_report(sim, "I17", "%s of %s, which belongs to a DaemonSet", verb, object);
    if (!text_equal(verb, "mark_pod"))
        sim_slurm_judge_pod(sim, verb, pod);
}

static bool has_machine_of(const struct pool *pool, const char *node)
{
    for (size_t i = 0; i < pool->machines.count; i++)
        if (text_equal(pool->machines.items[i]->node_name, node))
            return true;
    return false;
}

void referee_zero_grace(struct simulator *sim, const struct kube_pod *pod)
{
    if (sim->is_other_client)
        return;
    bool has_machine = pod->node && pod->node->machine;

    for (size_t i = 0; i < sim->pool_count && !has_machine && pod->node_name[0]; i++)
        has_machine = has_machine_of(&sim->pools[i], pod->node_name);
    if (has_machine)
        referee_report(sim, "I16", "pod %s/%s deleted with grace 0 while machine %s exists",
                       pod->namespace, pod->name, pod->node_name);
}

/* A look cannot see a pod that is bound at the last moment in spite of the cordon.  A pod that
   tolerates every taint does not protect the node either, if it came LATE_MS or more after the
   cordon and such a pod had been told to leave before. */
static bool may_be_missed(const struct simulator *sim, const struct kube_node *node,
                          const struct kube_pod *pod)
{
    int64_t after_ms = pod->created_ms - sim->start_ms - node->cordoned_ms;

    if (node->cordoned_ms < 0 || after_ms < 0)
        return false;
    return sim_now(sim) - pod->created_ms < LOOK_MS ||
           (sim_pod_tolerates_all(pod) && node->daring_told > 0 && after_ms >= LATE_MS);
}

static void need_empty(struct simulator *sim, const struct machine *machine)
{
    const struct kube_node *node = machine->node;

    for (size_t i = 0; node && i < node->pods.count; i++) {
        const struct kube_pod *pod = node->pods.items[i];
        bool is_due = pod->deletion_ms && (pod->is_forced || sim_now(sim) >= pod->deletion_ms);

        if (sim_pod_must_leave(pod) && !is_due && !may_be_missed(sim, node, pod))
            referee_report(sim, "I4", "machine %s deleted while pod %s/%s is on it", machine->name,
                           pod->namespace, pod->name);
    }
}

static bool was_cordoned_before(const struct kube_node *node, int64_t at_ms)
{
    return node->cordoned_ms >= 0 && node->cordoned_ms < at_ms;
}

/* A failed or empty list proves nothing: it frees no machine that was not leaving. */
static void need_knowledge(struct simulator *sim, const struct machine *machine)
{
    const struct kube_node *node = machine->node;
    const struct pool *pool = machine->pool;
    const int64_t *of_cluster = pool->cluster->bad_list_ms;

    /* A node that still has its start-up taint never served. */
    if (!node || sim_node_has_taint(node, SIM_STARTING))
        return;
    if (!node->is_unschedulable)
        referee_report(sim, "I10", "machine %s deleted though its node was never cordoned",
                       machine->name);
    if ((pool->bad_list_ms && !was_cordoned_before(node, pool->bad_list_ms)) ||
        (of_cluster[0] && !was_cordoned_before(node, of_cluster[0])) ||
        (of_cluster[1] && !was_cordoned_before(node, of_cluster[1])))
        referee_report(sim, "I10", "machine %s deleted on the word of a failed or empty list",
                       machine->name);
}

void referee_delete_instance(struct simulator *sim, const struct machine *machine,
                             const char *request_id)
{
    const struct pool *pool = machine->pool;

    referee_need_intent(sim, "delete_instance", machine->name);
    referee_need_one_transfer(sim, machine->name);
    if (machine->is_static)
        referee_report(sim, "I17", "static machine %s deleted", machine->name);
    if (pool->cloud->has_request_ids && (!request_id || !request_id[0]))
        referee_report(sim, "I6", "machine %s deleted without a requestId", machine->name);
    if (pool->cluster->plan->is_production && pool->target - 1 < pool->plan->static_nodes)
        referee_report(sim, "I7", "pool %s falls to %d, below its floor of %d", pool->plan->name,
                       pool->target - 1, pool->plan->static_nodes);
    if (pool->cluster->slurm) {
        sim_slurm_judge_removal(sim, machine);
        return;
    }
    need_empty(sim, machine);
    for (size_t i = 0; machine->node && i < machine->node->pods.count; i++)
        sim_slurm_judge_pod(sim, "delete_instance", machine->node->pods.items[i]);
    need_knowledge(sim, machine);
}

void referee_protect_instance(struct simulator *sim, const struct machine *machine)
{
    referee_need_intent(sim, "protect", machine->name);
    if (machine->is_static)
        referee_report(sim, "I17", "static machine %s protected", machine->name);
}

void referee_create_instance(struct simulator *sim, const struct pool *pool, const char *name,
                             const char *request_id)
{
    referee_need_intent(sim, "create_instance", name);
    if (!request_id)
        referee_report(sim, "I6", "machine %s created without a requestId", name);
    if (map_get(sim->referee->created, name))
        referee_report(sim, "I6", "machine %s created a second time, in pool %s", name,
                       pool->plan->name);
    map_set(sim->referee->created, name, sim);
}

void referee_resize_pool(struct simulator *sim, const struct pool *pool, int wanted)
{
    if (wanted == pool->target)
        return;
    referee_need_intent(sim, wanted > pool->target ? "grow_pool" : "shrink_pool", pool->plan->name);
}

void referee_change_plain(struct simulator *sim, const char *verb, const struct kube_node *node,
                          const char *object)
{
    need_movable(sim, verb, node);
    referee_need_intent(sim, verb, object);
    if (text_equal(verb, "plain_close"))
        referee_need_one_transfer(sim, node->name);
    if (text_equal(verb, "plain_forget") && node->machine)
        referee_report(sim, "I16", "node %s forgotten while its machine exists", node->name);
}

void referee_scale(struct simulator *sim, const char *object)
{
    if (sim->is_other_client)
        return;
    referee_need_intent(sim, "write_scale", object);
}

static int target_of(const struct simulator *sim, const struct reservation *reservation)
{
    int target = 0;

    for (size_t i = 0; i < sim->pool_count; i++)
        if (sim->pools[i].reservation == reservation)
            target += sim->pools[i].target;
    return target;
}

void referee_check(struct simulator *sim)
{
    for (size_t i = 0; i < sim->pool_count; i++) {
        const struct pool *pool = &sim->pools[i];

        if (pool->plan->node_max && pool->target > pool->plan->node_max)
            referee_report(sim, "I8", "pool %s is asked to be %d, over its limit of %d",
                           pool->plan->name, pool->target, pool->plan->node_max);
    }
    for (size_t i = 0; i < sim->reservation_count; i++) {
        const struct reservation *reservation = &sim->reservations[i];
        int target = target_of(sim, reservation);

        if (target > reservation->plan->nodes)
            referee_report(sim, "I8", "reservation %s of %d is asked for %d machines",
                           reservation->plan->name, reservation->plan->nodes, target);
        if (target > reservation->target_start)
            referee_report(sim, "I16",
                           "reservation %s started with %d machines and is asked for %d",
                           reservation->plan->name, reservation->target_start, target);
        require(reservation->slots_used <= reservation->plan->nodes);
    }
}

void referee_check_end(struct simulator *sim)
{
    for (size_t i = 0; i < sim->reservation_count; i++) {
        const struct reservation *reservation = &sim->reservations[i];
        int running = 0;

        for (size_t k = 0; k < sim->pool_count; k++)
            if (sim->pools[k].reservation == reservation)
                running += simulator_pool_running(sim, sim->pools[k].plan->name);
        if (running != reservation->target_start ||
            target_of(sim, reservation) != reservation->target_start)
            referee_report(sim, "I16",
                           "reservation %s started with %d machines and ends with %d of %d",
                           reservation->plan->name, reservation->target_start, running,
                           target_of(sim, reservation));
    }
    for (size_t i = 0; i < sim->cluster_count; i++)
        if (sim->clusters[i].slurm)
            sim_slurm_judge_end(sim, sim->clusters[i].slurm);
}

void simulator_check_end(struct simulator *simulator)
{
    referee_check_end(simulator);
}
