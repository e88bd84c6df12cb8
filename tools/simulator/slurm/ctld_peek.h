/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Truths of a simulated Slurm cluster, for tests.
 */
#pragma once

struct simulator;

/* How many signals the batch script of that job got. */
int sim_slurm_signals(struct simulator *simulator, const char *cluster, int job);
