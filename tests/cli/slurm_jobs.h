/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that a case puts on nodes of the small world's Slurm, so that it knows which node leaves.
 */
#pragma once

#include "tests/cli/slurm_world.h"
#include "tools/simulator/slurm/ctld.h"

static inline void set_node(struct rehearsal *rehearsal, const char *node, const char *state)
{
    owned(chars) char *line = text_format("scontrol update NodeName=%s State=%s", node, state);

    mem_free(run_command(rehearsal, line));
}

static inline bool has_node(const struct ctld_job *job, const char *node)
{
    return text_equal(job->node_names[0], node) || text_equal(job->node_names[1], node);
}

/* A person has reserved all nodes but the job's, so that these go first. */
static inline void spare_others(struct rehearsal *rehearsal, const struct ctld_job *job)
{
    const struct ctld *slurm = sim_cluster(rehearsal->simulator, "research-a")->slurm;
    const char *name;

    for (size_t i = 0; map_next(slurm->nodes, &i, &name, NULL);) {
        owned(chars) char *line = text_format(
            "scontrol create reservation ReservationName=anna-%s StartTime=now+600minutes "
            "Duration=60 Users=root Nodes=%s",
            name, name);

        if (!has_node(job, name))
            mem_free(run_command(rehearsal, line));
    }
}

/* Two movable nodes without jobs, which a person keeps drained. */
static inline void empty_two(struct rehearsal *rehearsal, struct ctld_node *nodes[2])
{
    struct ctld *slurm = sim_cluster(rehearsal->simulator, "research-a")->slurm;
    size_t count = 0;
    void *value;

    for (size_t i = 0; count < 2 && map_next(slurm->nodes, &i, NULL, &value);)
        if (((struct ctld_node *)value)->is_movable)
            nodes[count++] = value;
    assert_int_equal(count, 2);
    for (size_t i = 0; i < 2; i++) {
        set_node(rehearsal, nodes[i]->name, "DRAIN Reason=x");
        ctld_jobs_fail(nodes[i]);
    }
    rehearsal_run(rehearsal, MINUTE_MS);
}

static inline struct ctld_job *start_on(struct rehearsal *rehearsal, struct ctld_node *const *nodes,
                                        int count)
{
    struct ctld_job *job = ctld_job_new(nodes[0]->slurm);

    text_copy(job->account, sizeof job->account, "vision");
    job->node_count = count;
    job->gpus = 8;
    job->is_exclusive = job->may_requeue = true;
    job->work_ms = 3 * HOUR_MS;
    job->limit_min = 4 * 60;
    ctld_job_start(job, nodes);
    for (int i = 0; i < count; i++)
        set_node(rehearsal, nodes[i]->name, "RESUME");
    return job;
}
