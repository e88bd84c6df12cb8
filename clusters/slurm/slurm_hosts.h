/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Slurm's lists of nodes: "n[1-3,7],gpu-[01-02]x[0-1],login".
 */
#pragma once

#include "base/array.h"
#include "base/error.h"

#include <stddef.h>

enum { SLURM_HOSTS_MOST = 100000 };

struct slurm_hosts {
    ARRAY(char *) names;
};

/* Adds the names in their order; ERROR_CORRUPT: it is no such list, or a longer one. */
int slurm_hosts_read(const char *list, struct slurm_hosts *ret, struct error *err)
    __attribute__((warn_unused_result));
void slurm_hosts_clear(struct slurm_hosts *hosts);

static inline void owned_slurm_hosts(struct slurm_hosts *hosts)
{
    slurm_hosts_clear(hosts);
}
