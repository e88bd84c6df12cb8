/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What each team has lost to moves lately, in GPU-seconds that are half forgotten after a week, so
 * that not always the same teams pay.  One record in the journal.
 */
#pragma once

#include "base/map.h"
#include "base/timestamp.h"

#include <jansson.h>
#include <stdint.h>

struct losses {
    struct map *teams;   /* team -> double *, GPU-seconds as of `at` */
    struct wall_time at; /* of the last loss */
    uint64_t rev;        /* of the journal record; 0: none yet */
};

void losses_init(struct losses *losses);
void losses_clear(struct losses *losses);

void losses_add(struct losses *losses, const char *team, double gpu_s, struct wall_time now);

/* The team's part of all that was lost lately, 0 to 1. */
double losses_share(const struct losses *losses, const char *team);

json_t *losses_encode(const struct losses *losses)
    __attribute__((returns_nonnull, warn_unused_result));
int losses_decode(struct losses *losses, const json_t *value, struct error *err)
    __attribute__((warn_unused_result));
