/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The jobs of a play with a real Slurm, in parts.  Those that stay fill all nodes but one, in
 * a partition that nothing preempts, so sluice spares these nodes.  Those that leave start on the
 * node that is left.  The rest waits, and one job may insist on a node.  The first two run until
 * they are released; a job that was requeued ends soon.  So it does not depend on the machine's
 * speed who was started how often.
 */
#pragma once

#include "tests/slurm/real_server.h"

#include <stdbool.h>

enum job_part { JOBS_THAT_STAY, JOBS_THAT_LEAVE, JOBS_THAT_WAIT, JOBS_THAT_INSIST };

struct real_jobs;

/* FEW: fill the nodes and have each kind that leaves; otherwise they are 24. */
struct real_jobs *real_jobs_new(const struct real_server *server, bool are_few)
    __attribute__((returns_nonnull, warn_unused_result));
void real_jobs_free(struct real_jobs *jobs);

/* Another round, when all have ended. */
void real_jobs_begin(struct real_jobs *jobs);
void real_jobs_submit(struct real_jobs *jobs, enum job_part part);

/* One more, that runs on this node or not at all (JOBS_THAT_INSIST). */
void real_jobs_submit_on(struct real_jobs *jobs, const char *node);
bool real_jobs_have_started(const struct real_jobs *jobs, enum job_part part);

/* Lets those end that run until they are told. */
void real_jobs_release(const struct real_jobs *jobs);
bool real_jobs_have_ended(const struct real_jobs *jobs);

/* Fails the test unless each job of all rounds ended under its own number: those that left were
   started twice, or cancelled if Slurm may not requeue them, and all others were started once.
   Returns how many were submitted; the other counts are of those that left. */
int real_jobs_check(const struct real_jobs *jobs, int *ret_requeued, int *ret_cancelled);

/* Fails the test unless the scripts that can save their work were asked to, before they left. */
void real_jobs_check_saved(const struct real_jobs *jobs);
