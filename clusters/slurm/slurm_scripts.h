/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The batch scripts that sluice has asked a Slurm cluster for: one at a time, each once.  It keeps
 * only their signals.
 */
#pragma once

#include "base/map.h"
#include "clusters/slurm/slurm_client.h"
#include "clusters/slurm/slurm_script.h"

#include <stdbool.h>

struct slurm_script {
    bool is_known; /* it was read, or cannot be read; false: not yet */
    struct slurm_signal signal;
    char *why; /* it cannot be read; NULL: it was */
    char *job; /* what commands call it */
    int tries;
};

struct slurm_scripts;

/* client is borrowed.  news: one of them is known now. */
struct slurm_scripts *slurm_scripts_new(struct slurm_client *client, void (*news)(void *context),
                                        void *context)
    __attribute__((returns_nonnull, warn_unused_result));
/* The client must not call any more. */
void slurm_scripts_free(struct slurm_scripts *scripts);

/* Reads the script of the job, unless it is known; after a question that got no answer again, a few
   times.  key: of the job and its restarts. */
void slurm_scripts_ask(struct slurm_scripts *scripts, const char *job, const char *key);

/* key -> struct slurm_script.  NULL: no command can read one now. */
const struct map *slurm_scripts_read(const struct slurm_scripts *scripts);

/* Forgets those of other jobs. */
void slurm_scripts_keep(struct slurm_scripts *scripts, const struct map *keys);
