/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a batch script asks for in its own `#SBATCH --signal=` lines.  Pure.
 *
 * Slurm shows this nowhere else.  An option on sbatch's command line, and SBATCH_SIGNAL in its
 * environment, are not in the script.
 */
#pragma once

#include <stdbool.h>

enum { SLURM_SIGNAL_SIZE = 8 };

struct slurm_signal {
    char name[SLURM_SIGNAL_SIZE]; /* "USR1", or a number: "10"; "": none */
    bool is_for_steps;            /* for what srun started, and not for the script itself */
};

/* The signal of the last such line; none if no line has one that Slurm knows and a program can
   trap.  Of a heterogeneous job it is that of its leader. */
struct slurm_signal slurm_script_signal(const char *script);

/* Whether the text is a batch script at all: sbatch takes no other. */
bool slurm_script_is_one(const char *text);
