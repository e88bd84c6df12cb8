/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What clients change: nodes and reservations.
 */
#include "tools/simulator/slurm/ctld.h"

#include <strings.h>

enum { ANSWER_MS = 2 * SECOND_MS };

static void forget_reason(struct ctld_node *node)
{
    node->reason[0] = node->reason_user[0] = '\0';
    node->reason_ms = 0;
}

static void answers(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct ctld_node *node = (struct ctld_node *)actor;

    (void)sim;
    if (node->stamp != stamp || !node->is_alive)
        return;
    node->flags &= ~(unsigned)CTLD_NOT_RESPONDING;
    ctld_schedule_soon(node->slurm);
}

/* slurmctld asks a node that was given back whether it is there. */
static void ask_again(struct ctld_node *node)
{
    node->flags |= CTLD_NOT_RESPONDING;
    node->stamp++;
    if (node->is_alive)
        sim_after(node->slurm->sim, ANSWER_MS, answers, &node->actor, node->stamp);
    if (!node->is_alive)
        sim_slurm_silence(node);
}

static enum ctld_errno drain(struct ctld_node *node)
{
    node->flags |= CTLD_DRAIN;
    return CTLD_OK;
}

static enum ctld_errno undrain(struct ctld_node *node)
{
    node->flags &= ~(unsigned)CTLD_DRAIN;
    if (node->slurm->release < 2411 && node->base != CTLD_DOWN) /* 24.11: until a job comes */
        forget_reason(node);
    ask_again(node);
    return CTLD_OK;
}

static enum ctld_errno resume(struct ctld_node *node)
{
    if (!(node->flags & CTLD_DRAIN) && node->base == CTLD_IDLE)
        return CTLD_ERROR_NODE_STATE;
    if (node->base != CTLD_IDLE)
        node->base = CTLD_IDLE;
    return undrain(node);
}

static enum ctld_errno down(struct ctld_node *node)
{
    node->base = CTLD_DOWN;
    ctld_jobs_fail(node);
    node->stamp++;
    if (node->is_alive)
        sim_slurm_registers_soon(node);
    return CTLD_OK;
}

static enum ctld_errno future(struct ctld_node *node)
{
    if (node->jobs > 0)
        return CTLD_ERROR_NODE_STATE;
    node->base = CTLD_FUTURE;
    node->flags &= ~(unsigned)(CTLD_DRAIN | CTLD_NOT_RESPONDING);
    if (node->slurm->release < 2411)
        forget_reason(node);
    return CTLD_OK;
}

/* The machine stays: what Slurm's own program would stop is not played. */
static enum ctld_errno power_down_force(struct ctld_node *node)
{
    if (!node->slurm->cluster->plan->saves_power)
        return CTLD_ERROR_NODE_STATE;
    ctld_jobs_fail(node);
    node->flags |= CTLD_POWERED_DOWN;
    node->flags &= ~(unsigned)CTLD_NOT_RESPONDING;
    node->is_alive = false;
    node->stamp++;
    return CTLD_OK;
}

/* That Slurm waits for the jobs is not played. */
static enum ctld_errno power_down(struct ctld_node *node)
{
    return node->jobs > 0 ? CTLD_ERROR_NODE_STATE : power_down_force(node);
}

static enum ctld_errno power_up(struct ctld_node *node)
{
    if (!node->slurm->cluster->plan->saves_power || !(node->flags & CTLD_POWERED_DOWN))
        return CTLD_ERROR_NODE_STATE;
    node->stamp++;
    node->is_alive = node->machine != NULL;
    node->boot_ms = node->slurmd_ms = node->seen_ms = sim_now(node->slurm->sim) + 1;
    sim_slurm_registers_soon(node);
    return CTLD_OK;
}

static enum ctld_errno refuse(struct ctld_node *node)
{
    (void)node;
    return CTLD_ERROR_NODE_STATE;
}

static const struct {
    const char *word;
    enum ctld_errno (*set)(struct ctld_node *node);
} states[] = {
    { "DRAIN", drain },
    { "UNDRAIN", undrain },
    { "RESUME", resume },
    { "DOWN", down },
    { "FUTURE", future },
    { "POWER_DOWN", power_down },
    { "POWER_UP", power_up },
    { "POWER_DOWN_ASAP", refuse },
    { "POWER_DOWN_FORCE", power_down_force },
    { "IDLE", refuse },
};

bool ctld_state_is_known(const char *state)
{
    bool is_known = !state;

    for (size_t i = 0; !is_known && i < COUNT_OF(states); i++)
        is_known = strcasecmp(states[i].word, state) == 0;
    return is_known;
}

enum ctld_errno ctld_update_node(struct ctld *slurm, const char *name,
                                 const struct ctld_node_change *change)
{
    struct ctld_node *node = map_get(slurm->nodes, name);
    enum ctld_errno error = change->state ? CTLD_ERROR_WORD : CTLD_OK;

    if (!node)
        return CTLD_ERROR_INVALID_NODE;
    ctld_judge_state(node, change);
    for (size_t i = 0; change->state && i < COUNT_OF(states); i++)
        if (strcasecmp(states[i].word, change->state) == 0)
            error = states[i].set(node);
    if (error != CTLD_OK)
        return error;
    if (change->reason) {
        text_copy(node->reason, sizeof node->reason, change->reason);
        text_copy(node->reason_user, sizeof node->reason_user, change->user);
        node->reason_ms = sim_now(slurm->sim);
    }
    if (change->comment)
        text_copy(node->comment, sizeof node->comment, change->comment);
    if (change->extra)
        text_copy(node->extra, sizeof node->extra, change->extra);
    sim_trace(slurm->sim, "slurm node %s %s", name, change->state ?: "changes");
    ctld_note_change(node, change);
    ctld_schedule_soon(slurm);
    return CTLD_OK;
}

/* 24.11 takes a node away that is created twice. */
enum ctld_errno ctld_create_node(struct ctld *slurm, const char *name, const char *state)
{
    struct ctld_node *node = map_get(slurm->nodes, name);

    if (strcasecmp(state, "CLOUD") != 0 && strcasecmp(state, "FUTURE") != 0)
        return CTLD_ERROR_NODE_STATE;
    if (node && slurm->release < 2411)
        return CTLD_OK;
    if (node && node->jobs == 0 && node->flags & CTLD_DYNAMIC && !node->machine)
        ctld_node_remove(node);
    if (node)
        return CTLD_ERROR_NODE_EXISTS;
    node = ctld_node_new(slurm, name, CTLD_DYNAMIC);
    node->base = CTLD_FUTURE;
    if (strcasecmp(state, "CLOUD") == 0) {
        node->base = CTLD_IDLE;
        node->flags |= CTLD_CLOUD | CTLD_POWERED_DOWN;
    }
    return CTLD_OK;
}

enum ctld_errno ctld_delete_node(struct ctld *slurm, const char *name)
{
    struct ctld_node *node = map_get(slurm->nodes, name);

    if (!node)
        return CTLD_ERROR_INVALID_NODE;
    if (slurm->release >= 2411 && (node->jobs > 0 || !(node->flags & CTLD_DYNAMIC)))
        return CTLD_ERROR_NODE_STATE;
    if (node->jobs > 0)
        return CTLD_ERROR_NODES_BUSY;
    ctld_judge_delete(node);
    sim_trace(slurm->sim, "slurm node %s is deleted", name);
    slurm->is_spoilt |= !(node->flags & CTLD_DYNAMIC);
    ctld_node_remove(node);
    return CTLD_OK;
}

/* ---- reservations ---- */

struct ctld_reservation *ctld_reservation_find(struct ctld *slurm, const char *name)
{
    for (size_t i = 0; i < slurm->reservations.count; i++)
        if (text_equal(slurm->reservations.items[i].name, name))
            return &slurm->reservations.items[i];
    return NULL;
}

/* Whether jobs are in its way, or another reservation. */
static enum ctld_errno check_nodes(struct ctld *slurm, const struct ctld_reservation *wanted)
{
    owned(map) struct map *names = map_new(NULL);
    const char *name;

    if (ctld_names_split(wanted->nodes, names) < 0)
        return CTLD_ERROR_INVALID_NODE;
    for (size_t i = 0; map_next(names, &i, &name, NULL);) {
        const struct ctld_node *node = map_get(slurm->nodes, name);

        if (!node)
            return CTLD_ERROR_INVALID_NODE;
        for (size_t k = 0; !(wanted->flags & CTLD_IGNORE_JOBS) && k < slurm->jobs.count; k++) {
            const struct ctld_job *job = slurm->jobs.items[k];

            if (ctld_job_is_on(job, node) && (!job->end_ms || job->end_ms > wanted->start_ms))
                return CTLD_ERROR_NODES_BUSY;
        }
        if (!(wanted->flags & CTLD_MAINT) &&
            ctld_node_is_reserved(slurm, node, wanted->start_ms, wanted->end_ms))
            return CTLD_ERROR_NODES_BUSY;
    }
    return CTLD_OK;
}

enum ctld_errno ctld_create_reservation(struct ctld *slurm, const struct ctld_reservation *wanted)
{
    enum ctld_errno error = CTLD_OK;

    if (slurm->release >= 2411 && ctld_reservation_find(slurm, wanted->name))
        return CTLD_ERROR_DUPLICATE_RESERVATION;
    if (wanted->start_ms < sim_now(slurm->sim) - MINUTE_MS)
        return CTLD_ERROR_TIME;
    error = check_nodes(slurm, wanted);
    if (error == CTLD_OK && ctld_reservation_find(slurm, wanted->name))
        return CTLD_ERROR_DUPLICATE_RESERVATION;
    if (error != CTLD_OK)
        return error;
    ctld_judge_reservation(slurm, wanted, "slurm_reserve");
    sim_trace(slurm->sim, "slurm reservation %s", wanted->name);
    *array_add(&slurm->reservations) = *wanted;
    ctld_schedule_soon(slurm);
    return CTLD_OK;
}

enum ctld_errno ctld_update_reservation(struct ctld *slurm, const struct ctld_reservation *wanted)
{
    struct ctld_reservation *found = ctld_reservation_find(slurm, wanted->name);

    if (!found)
        return CTLD_ERROR_RESERVATION;
    if (wanted->start_ms && found->start_ms <= sim_now(slurm->sim))
        return CTLD_ERROR_RESERVATION_STARTED;
    if (wanted->start_ms && wanted->start_ms < sim_now(slurm->sim) - MINUTE_MS)
        return CTLD_ERROR_TIME;
    ctld_judge_reservation(slurm, found, "slurm_postpone");
    if (wanted->start_ms) {
        found->end_ms += wanted->start_ms - found->start_ms;
        found->start_ms = wanted->start_ms;
    }
    if (wanted->end_ms)
        found->end_ms = wanted->end_ms;
    if (wanted->nodes[0])
        text_copy(found->nodes, sizeof found->nodes, wanted->nodes);
    ctld_schedule_soon(slurm);
    return CTLD_OK;
}

enum ctld_errno ctld_delete_reservation(struct ctld *slurm, const char *name)
{
    for (size_t i = 0; i < slurm->reservations.count; i++)
        if (text_equal(slurm->reservations.items[i].name, name)) {
            ctld_judge_reservation(slurm, &slurm->reservations.items[i], "slurm_unreserve");
            sim_trace(slurm->sim, "slurm reservation %s ends", name);
            array_remove(&slurm->reservations, i);
            ctld_schedule_soon(slurm);
            return CTLD_OK;
        }
    return CTLD_ERROR_RESERVATION;
}
