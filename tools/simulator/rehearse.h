/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A world to rehearse one's own sluice.yaml in.  A folder gets world.yaml, with machines for each
 * pool and replicas for each workload, and a copy of sluice.yaml in which clusters and clouds are
 * the simulator's.  The copy reaches nothing outside: it has no credentials, metric sources,
 * webhooks or listeners of the original.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

struct simulator;

struct rehearse {
    const char *config_path; /* one's own sluice.yaml */
    const char *folder;      /* is made; one with files must be an earlier rehearsal's */
    const char *url;         /* of the simulator's clouds: "http://127.0.0.1:8900" */
};

/* Writes FOLDER/sluice.yaml, and FOLDER/world.yaml unless it is there: people edit it.
   Appends to `left_out`, a line each, what the rehearsal lacks.  ERROR_INVALID: what cannot be
   rehearsed, with file and line.  ERROR_CONFLICT: the folder has files of other origin. */
int rehearse_write(const struct rehearse *rehearse, struct text *left_out, struct error *err)
    __attribute__((warn_unused_result));

/* Puts the ClusterQueues that the configuration names into the simulated clusters. */
int rehearse_fill(struct simulator *simulator, const char *config_path, struct error *err)
    __attribute__((warn_unused_result));
