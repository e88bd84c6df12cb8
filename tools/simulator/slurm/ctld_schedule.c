/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler: jobs by the tier of their partition, then in order; each that fits starts, as
 * backfill lets it.  No job starts on a node that drains or does not respond, nor on one that is
 * reserved before the job's time limit.
 */
#include "tools/simulator/slurm/ctld.h"

enum { PASS_MS = 2 * SECOND_MS };

bool ctld_node_is_reserved(const struct ctld *slurm, const struct ctld_node *node, int64_t from_ms,
                           int64_t to_ms)
{
    for (size_t i = 0; i < slurm->reservations.count; i++) {
        const struct ctld_reservation *reservation = &slurm->reservations.items[i];

        if (from_ms < reservation->end_ms && to_ms > reservation->start_ms &&
            ctld_names_have(reservation->nodes, node->name))
            return true;
    }
    return false;
}

const struct ctld_reservation *ctld_node_reservation(const struct ctld *slurm,
                                                     const struct ctld_node *node)
{
    int64_t now_ms = sim_now(slurm->sim);

    for (size_t i = 0; i < slurm->reservations.count; i++)
        if (now_ms >= slurm->reservations.items[i].start_ms &&
            now_ms < slurm->reservations.items[i].end_ms &&
            ctld_names_have(slurm->reservations.items[i].nodes, node->name))
            return &slurm->reservations.items[i];
    return NULL;
}

static bool has_room(const struct ctld_node *node, const struct ctld_job *job)
{
    uint64_t bits;

    if (node->base != CTLD_IDLE || !node->has_gpus ||
        (node->flags & (CTLD_DRAIN | CTLD_NOT_RESPONDING | CTLD_POWERED_DOWN)))
        return false;
    if (job->is_exclusive)
        return node->jobs == 0;
    return node->gpus - node->gpus_used >= job->gpus && CTLD_CPUS - node->cpus_used >= job->cpus &&
           ctld_gres_take(job, node, &bits);
}

bool ctld_is_meant(const struct ctld_job *job, const struct ctld_node *node)
{
    return text_equal(job->partition, "slices") == (node->kind_count > 0) &&
           (!job->wanted[0] || ctld_names_have(job->wanted, node->name));
}

/* The fullest nodes with room; false: there are too few.  *ret_is_reserved: a reservation is why.
 */
static bool pick(const struct ctld_job *job, struct ctld_node **ret, bool *ret_is_reserved)
{
    const struct ctld *slurm = job->slurm;
    int64_t now_ms = sim_now(slurm->sim);
    int64_t end_ms = job->limit_min ? now_ms + job->limit_min * MINUTE_MS : INT64_MAX;
    int found = 0;

    for (; found < job->node_count; found++) {
        struct ctld_node *best = NULL;
        void *value;

        for (size_t i = 0; map_next(slurm->nodes, &i, NULL, &value);) {
            struct ctld_node *node = value;
            bool is_taken = false;

            for (int k = 0; k < found; k++)
                is_taken |= ret[k] == node;
            if (is_taken || !has_room(node, job) || !ctld_is_meant(job, node))
                continue;
            if (ctld_node_is_reserved(slurm, node, now_ms, end_ms))
                *ret_is_reserved = true;
            else if (!best || node->gpus_used > best->gpus_used)
                best = node;
        }
        if (!best)
            return false;
        ret[found] = best;
    }
    return true;
}

static bool may_start(const struct ctld_job *job)
{
    return job->state == CTLD_PENDING && !job->is_completing && !job->is_held &&
           job->eligible_ms <= sim_now(job->slurm->sim);
}

/* The components of a heterogeneous job start together or not at all; each on nodes of its own. */
static void start_together(struct ctld *slurm, const struct ctld_job *leader)
{
    struct ctld_node *nodes[CTLD_JOB_NODES][CTLD_JOB_NODES];
    bool is_reserved = false;

    for (int i = 0; i < leader->het_count; i++) {
        struct ctld_job *part = ctld_job_find(slurm, leader->id + i);

        if (!part || !may_start(part) || !pick(part, nodes[i], &is_reserved))
            return;
        for (int k = 0; k < i; k++)
            if (nodes[k][0] == nodes[i][0])
                return;
    }
    for (int i = 0; i < leader->het_count; i++)
        ctld_job_start(ctld_job_find(slurm, leader->id + i), nodes[i]);
}

/* *ret_hopeless: the fewest GPUs for which there is no room, reserved or not. */
static void try_job(struct ctld_job *job, int *ret_hopeless)
{
    struct ctld_node *nodes[CTLD_JOB_NODES];
    bool is_reserved = false;

    if (job->het_id) {
        if (job->het_offset == 0)
            start_together(job->slurm, job);
        return;
    }
    if (pick(job, nodes, &is_reserved)) {
        ctld_job_start(job, nodes);
        return;
    }
    if (!is_reserved && !job->wanted[0] && !job->is_exclusive && !job->want_count)
        *ret_hopeless = job->gpus;
    job->why = is_reserved && job->wanted[0] ? "ReqNodeNotAvail, May be reserved for other job"
                                             : "Resources";
}

/* What research has to offer changed. */
static void count_offer(struct ctld *slurm)
{
    struct simulator *sim = slurm->sim;
    int offered = 0;
    void *value;

    for (size_t i = 0; map_next(slurm->nodes, &i, NULL, &value);) {
        const struct ctld_node *node = value;

        offered += node->is_alive && node->base == CTLD_IDLE && !node->kind_count ? node->gpus : 0;
    }
    if (slurm->cluster->plan->is_production || offered == slurm->gpus_counted)
        return;
    sim_account(sim);
    sim->research_gpus += offered - slurm->gpus_counted;
    slurm->gpus_counted = offered;
}

static void schedule_now(struct ctld *slurm)
{
    static const char *const tiers[] = { "urgent", "train", "slices" };
    int64_t next_ms = INT64_MAX;

    count_offer(slurm);
    for (size_t tier = 0; tier < COUNT_OF(tiers); tier++) {
        int hopeless = 1 << 20;

        for (size_t i = 0; i < slurm->jobs.count; i++) {
            struct ctld_job *job = slurm->jobs.items[i];
            bool is_plain = !job->wanted[0] && !job->is_exclusive && !job->het_id &&
                            !job->want_count;

            if (job->state == CTLD_PENDING && job->eligible_ms > sim_now(slurm->sim) &&
                job->eligible_ms < next_ms)
                next_ms = job->eligible_ms;
            if (!may_start(job) || !text_equal(job->partition, tiers[tier]))
                continue;
            if (is_plain && job->gpus >= hopeless)
                job->why = "Priority";
            else
                try_job(job, &hopeless);
        }
    }
    if (next_ms != INT64_MAX &&
        (slurm->wakes_ms <= sim_now(slurm->sim) || next_ms < slurm->wakes_ms)) {
        slurm->wakes_ms = next_ms;
        sim_after(slurm->sim, next_ms - sim_now(slurm->sim), ctld_pass, &slurm->actor, 1);
    }
    ctld_backlog(slurm);
}

void ctld_pass(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct ctld *slurm = (struct ctld *)actor;

    (void)sim;
    if (stamp == 0)
        slurm->is_scheduling = false;
    if (!slurm->is_down)
        schedule_now(slurm);
}

void ctld_schedule_soon(struct ctld *slurm)
{
    if (!slurm->sim->is_started) {
        schedule_now(slurm);
        return;
    }
    if (slurm->is_scheduling)
        return;
    slurm->is_scheduling = true;
    sim_after(slurm->sim, PASS_MS, ctld_pass, &slurm->actor, 0);
}
