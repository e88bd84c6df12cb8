/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a node's tenant does of a step (broker/transfer/tenant.h), and when its pod may go: not by
 * an eviction, not by force, before a fresh list of Slurm shows its node drained and without jobs.
 * Each is STEP_DONE at once if the node has no tenant.
 */
#pragma once

#include "broker/transfer/side.h"

/* STEP_UNDO: a pod runs slurmd there, and its node in Slurm is not known. */
enum verdict slurmd_is_known(struct runner *runner, struct transfer *transfer);

enum verdict slurmd_check(struct runner *runner, struct transfer *transfer);
bool slurmd_is_told(struct runner *runner, struct transfer *transfer); /* asks for it if not */
enum verdict slurmd_close(struct runner *runner, struct transfer *transfer);
enum verdict slurmd_empty(struct runner *runner, struct transfer *transfer);
enum verdict slurmd_force(struct runner *runner, struct transfer *transfer);
enum verdict slurmd_may_remove(struct runner *runner, struct transfer *transfer, int64_t since_ms);
bool slurmd_is_in_use(const struct runner *runner, const struct transfer *transfer,
                      int64_t asked_ms);
enum verdict slurmd_clear(struct runner *runner, struct transfer *transfer);
enum verdict slurmd_undo(struct runner *runner, struct transfer *transfer);

/* Right before the pod, which runs slurmd, is asked to leave; says what is waited for if not.  And
   once more before the request is sent, by what is known then. */
bool slurmd_may_go(struct runner *runner, struct transfer *transfer, const struct pod *pod);
bool slurmd_is_idle(const struct runner *runner, const struct transfer *transfer);
