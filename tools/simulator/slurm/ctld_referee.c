/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The promises in a cluster of Slurm:
 *   S1  no job is told anything unless sluice drains a node of its own
 *   S2  a job that can be requeued is never cancelled
 *   S3  a drain reason of a person is there at the end, as it was, and so is the drain, or DOWN;
 *       the record of a node that served when it was given is not deleted
 *   S4  a machine goes only when its node drains and no job is on it; a node leaves Slurm only
 *       after its machine
 *   S5  when no transfer is live, no node drains for sluice, and no reservation of it is left
 *   S6  a job is cancelled only when no job that can be requeued is left on the leaving node
 */
#include "tools/simulator/slurm/ctld.h"

#define OURS "sluice"

static void need_movable(const struct ctld_node *node, const char *verb)
{
    if (!node->is_movable)
        referee_report(node->slurm->sim, "I17", "%s touches static node %s", verb, node->name);
}

static bool gives_back(const struct ctld_node_change *change)
{
    return text_equal(change->state, "RESUME") || text_equal(change->state, "UNDRAIN");
}

void ctld_judge_state(struct ctld_node *node, const struct ctld_node_change *change)
{
    struct simulator *sim = node->slurm->sim;

    if (sim->is_other_client) {
        node->is_kept_for_good |= ctld_node_serves(node);
        return;
    }
    need_movable(node, "update");
    if (!change->state && !change->reason) /* what people read: it moves nothing */
        return;
    if (text_equal(change->state, "DRAIN"))
        referee_need_intent(sim, "slurm_drain", node->name);
    else
        referee_need_intent(sim,
                            text_equal(change->state, "RESUME") ? "slurm_resume" : "slurm_undrain",
                            node->name);
    if (text_equal(change->state, "DRAIN"))
        referee_need_one_transfer(sim, node->name);
    if (text_equal(change->state, "DOWN") && node->jobs > 0)
        referee_report(sim, "S1", "node %s set DOWN under its jobs", node->name);
    if (gives_back(change) && node->kept[0])
        referee_report(sim, "S3", "%s of node %s, which a person drained: %s", change->state,
                       node->name, node->kept);
}

void ctld_note_change(struct ctld_node *node, const struct ctld_node_change *change)
{
    if (!node->slurm->sim->is_other_client) {
        if (text_equal(change->state, "DRAIN"))
            node->is_ours = true;
        if (gives_back(change))
            node->is_ours = false;
        return;
    }
    if (gives_back(change))
        node->kept[0] = '\0';
    else if (change->reason)
        text_copy(node->kept, sizeof node->kept, change->reason);
}

/* A person may have drained it before: then a reservation of sluice says that it leaves. */
static bool is_leaving(const struct ctld_node *node)
{
    const struct ctld *slurm = node->slurm;

    for (size_t i = 0; i < slurm->reservations.count; i++)
        if (text_starts_with(slurm->reservations.items[i].name, OURS) && node->flags & CTLD_DRAIN &&
            ctld_names_have(slurm->reservations.items[i].nodes, node->name))
            return true;
    return node->is_ours;
}

static bool has_leaving(const struct ctld_job *job)
{
    for (int i = 0; i < job->node_count; i++)
        if (job->nodes[i] && is_leaving(job->nodes[i]))
            return true;
    return false;
}

/* The components of a heterogeneous job are told as one. */
static bool has_one_leaving(const struct ctld_job *job)
{
    for (int k = 0; job->het_id && k < CTLD_JOB_NODES; k++) {
        const struct ctld_job *part = ctld_job_find(job->slurm, job->het_id + k);

        if (part && part->het_id == job->het_id && has_leaving(part))
            return true;
    }
    return has_leaving(job);
}

enum { NEWS_MS = 60 * SECOND_MS }; /* a job that has just started may not have been seen */

static bool is_left_on(const struct ctld_job *other, const struct ctld_node *node)
{
    bool is_there = false;

    for (int k = 0; k < CTLD_JOB_NODES; k++)
        is_there |= other->nodes[k] == node;
    return is_there && other->state == CTLD_RUNNING && other->may_requeue &&
           !other->is_completing && sim_now(node->slurm->sim) - other->start_ms > NEWS_MS;
}

static void need_last(const struct ctld_job *job)
{
    const struct ctld *slurm = job->slurm;

    for (int k = 0; k < CTLD_JOB_NODES; k++)
        for (size_t i = 0; job->nodes[k] && job->nodes[k]->is_ours && i < slurm->jobs.count; i++)
            if (is_left_on(slurm->jobs.items[i], job->nodes[k]))
                referee_report(slurm->sim, "S6", "job %d cancelled before job %d was requeued",
                               job->id, slurm->jobs.items[i]->id);
}

void ctld_judge_job(const struct ctld_job *job, const char *verb)
{
    struct simulator *sim = job->slurm->sim;
    owned(chars) char *name =
        job->array_id ? text_format("%s/%d_%d", job->account, job->array_id, job->array_task)
                      : text_format("%s/%d", job->account, job->het_id ? job->het_id : job->id);

    if (sim->is_other_client)
        return;
    referee_need_intent(sim, verb, name);
    if (!has_one_leaving(job))
        referee_report(sim, "S1", "%s of job %d, none of whose nodes leaves", verb, job->id);
    if (text_equal(verb, "slurm_cancel") && job->may_requeue)
        referee_report(sim, "S2", "job %d cancelled, though it can be requeued", job->id);
    if (text_equal(verb, "slurm_cancel"))
        need_last(job);
}

void ctld_judge_delete(const struct ctld_node *node)
{
    struct simulator *sim = node->slurm->sim;

    if (sim->is_other_client)
        return;
    need_movable(node, "delete");
    referee_need_intent(sim, "slurm_delete", node->name);
    if (node->machine)
        referee_report(sim, "S4", "node %s deleted while its machine exists", node->name);
    if (node->kept[0] && node->is_kept_for_good)
        referee_report(sim, "S3", "node %s deleted with the reason of a person: %s", node->name,
                       node->kept);
}

void ctld_judge_reservation(const struct ctld *slurm, const struct ctld_reservation *reservation,
                            const char *verb)
{
    struct simulator *sim = slurm->sim;

    if (sim->is_other_client)
        return;
    if (!text_starts_with(reservation->name, OURS))
        referee_report(sim, "S3", "%s of reservation %s, which is not sluice's", verb,
                       reservation->name);
    referee_need_intent(sim, verb, reservation->nodes);
}

void sim_slurm_judge_removal(struct simulator *sim, const struct machine *machine)
{
    const struct ctld_node *node = machine->slurm_node;
    const struct ctld *slurm = machine->pool->cluster->slurm;

    if (!node || !node->has_gpus) /* it never served */
        return;
    if (!(node->flags & CTLD_DRAIN) && node->base == CTLD_IDLE)
        referee_report(sim, "S4", "machine %s deleted though node %s does not drain", machine->name,
                       node->name);
    for (size_t i = 0; i < slurm->jobs.count; i++)
        if (ctld_job_is_on(slurm->jobs.items[i], node))
            referee_report(sim, "S4", "machine %s deleted while job %d is on it", machine->name,
                           slurm->jobs.items[i]->id);
}

/* A node of slurm.conf whose machine is gone stays drained and reserved until one comes. */
static bool has_machine(const struct ctld *slurm, const char *nodes)
{
    void *value;

    for (size_t i = 0; map_next(slurm->nodes, &i, NULL, &value);) {
        const struct ctld_node *node = value;

        if ((node->machine || node->is_lodged) && ctld_names_have(nodes, node->name))
            return true;
    }
    return false;
}

void sim_slurm_judge_end(struct simulator *sim, const struct ctld *slurm)
{
    void *value;

    for (size_t i = 0; map_next(slurm->nodes, &i, NULL, &value);) {
        const struct ctld_node *node = value;

        if (node->kept[0] && ((!(node->flags & CTLD_DRAIN) && node->base != CTLD_DOWN) ||
                              !text_equal(node->reason, node->kept)))
            referee_report(sim, "S3", "node %s has lost the reason of a person: %s", node->name,
                           node->kept);
        if ((node->machine || node->is_lodged) && node->flags & CTLD_DRAIN &&
            text_starts_with(node->reason, OURS))
            referee_report(sim, "S5", "node %s still drains: %s", node->name, node->reason);
    }
    for (size_t i = 0; i < slurm->reservations.count; i++)
        if (text_starts_with(slurm->reservations.items[i].name, OURS) &&
            has_machine(slurm, slurm->reservations.items[i].nodes))
            referee_report(sim, "S5", "reservation %s is left", slurm->reservations.items[i].name);
}

json_t *sim_slurm_report(const struct ctld *slurm)
{
    int nodes = 0, drained = 0, running = 0, pending = 0;
    void *value;

    for (size_t i = 0; map_next(slurm->nodes, &i, NULL, &value);) {
        const struct ctld_node *node = value;

        nodes += node->base != CTLD_FUTURE;
        drained += (node->flags & CTLD_DRAIN) != 0;
    }
    for (size_t i = 0; i < slurm->jobs.count; i++) {
        running += slurm->jobs.items[i]->state == CTLD_RUNNING;
        pending += slurm->jobs.items[i]->state == CTLD_PENDING;
    }
    return json_make("{si si si si si si si si}", "nodes", nodes, "drained", drained,
                     "reservations", (int)slurm->reservations.count, "pending", pending, "running",
                     running, "done", slurm->done, "requeued", slurm->requeued, "cancelled",
                     slurm->cancelled);
}
