/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Truths of a simulated Slurm cluster, for tests.
 */
#pragma once

#include <stdbool.h>

struct simulator;

/* The slurmd of a node ends or starts, with the machine left alone.  If Slurm has no such node, it
   registers itself, as a dynamic one. */
void sim_slurm_slurmd(struct simulator *simulator, const char *cluster, const char *name,
                      bool runs);

/* How many signals the batch script of that job got, and what srun started in it. */
int sim_slurm_signals(struct simulator *simulator, const char *cluster, int job);
int sim_slurm_step_signals(struct simulator *simulator, const char *cluster, int job);
