/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The jobs on a node that leaves are told so, in their admin comment: `squeue -O
 * JobID,AdminComment` shows it to their users.  A comment that another wrote stays.  Of a job on
 * several leaving nodes the first that leaves is named.
 */
#include "base/text.h"
#include "broker/sides/slurm/slurm_effects.h"
#include "broker/sides/slurm/slurm_side.h"
#include "broker/transfer/runner.h"
#include "clusters/slurm_snapshot.h"

#include <string.h>

static const char *told(const struct pod *job)
{
    return pod_annotation(job, SLURM_NOTE_ADMIN_COMMENT) ?: "";
}

bool slurm_is_told(const struct pod *job, const struct transfer *transfer)
{
    return text_starts_with(told(job), SLURM_COMMENT_START) && strstr(told(job), transfer->id);
}

char *slurm_words_for_job(const struct transfer *transfer, const struct pod *job)
{
    char departure[WALL_TEXT_SIZE];

    return text_format("%snode %s leaves at %s to pool %s (%s)", SLURM_COMMENT_START,
                       job->node_name, wall_format(transfer->departure, departure),
                       transfer->target->name, transfer->id);
}

static void ask(struct runner *runner, struct transfer *transfer, const struct effect_kind *kind,
                const struct pod *job)
{
    struct effect_target target = { .object = slurm_job_key(job), .pod = job };

    (void)effect_ask(runner, transfer, kind, &target,
                     slurm_origin_snapshot(runner, transfer)->pods_seen_ms);
}

void slurm_tell_jobs(struct runner *runner, struct transfer *transfer)
{
    size_t count;
    const struct pod *const *jobs = snapshot_pods_on(slurm_origin_snapshot(runner, transfer),
                                                     slurm_place(runner, transfer).node, &count);

    for (size_t i = 0; i < count; i++) {
        owned(chars) char *words = slurm_words_for_job(transfer, jobs[i]);

        if (slurm_job_key(jobs[i]) && jobs[i]->deletion.ms == 0 &&
            (told(jobs[i])[0] == '\0' || slurm_is_told(jobs[i], transfer)) &&
            !text_equal(told(jobs[i]), words))
            ask(runner, transfer, &slurm_effect_tell, jobs[i]);
    }
}

bool slurm_untell_jobs(struct runner *runner, struct transfer *transfer)
{
    const struct snapshot *snapshot = slurm_origin_snapshot(runner, transfer);
    bool is_any = false;
    size_t count;
    const struct pod *const *jobs = snapshot_pods_on(snapshot, slurm_place(runner, transfer).node,
                                                     &count);

    for (size_t i = 0; i < count; i++) {
        const char *key = slurm_job_key(jobs[i]);

        if (!key)
            continue;
        is_any |= effect_is_open(transfer, &slurm_effect_tell, key, snapshot->pods_seen_ms);
        if (!slurm_is_told(jobs[i], transfer))
            continue;
        is_any = true;
        ask(runner, transfer, &slurm_effect_untell, jobs[i]);
    }
    return is_any;
}
