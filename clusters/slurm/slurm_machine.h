/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which machine a node of Slurm is: the setting `machine`, a provider ID with blanks.
 */
#pragma once

#include "base/error.h"
#include "clusters/slurm/slurm_read.h"

/* Whether the text may be the setting `machine`: known blanks only, and at least one. */
int slurm_machine_check(const char *machine, struct error *err) __attribute__((warn_unused_result));

/* The node's provider ID; the caller frees it.  "" as long as a member that it needs is empty:
   nothing is guessed. */
char *slurm_machine_of(const struct slurm_node *node, const char *machine)
    __attribute__((returns_nonnull, warn_unused_result));
