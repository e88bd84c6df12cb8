/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Asks all that a configuration names whether sluice can work with it: clusters, pools at their
 * clouds, sources.  It only reads.  One part that does not answer keeps no other part waiting.
 */
#pragma once

#include "base/finding.h"
#include "base/world/world.h"
#include "broker/config/config.h"

struct doctor;

struct doctor_row {
    const char *part; /* "cluster", "provider", "pool", "source" */
    const char *name;
    struct finding finding;
};

/* row is borrowed during the call. */
typedef void (*doctor_row_fn)(void *context, const struct doctor_row *row);

/* The configuration must outlive it.  `row` is called from the loop, and also within. */
struct doctor *doctor_open(struct world *world, const struct config *config, doctor_row_fn row,
                           void *context) __attribute__((returns_nonnull, warn_unused_result));
/* All parts have answered or failed. */
bool doctor_is_done(const struct doctor *doctor);
/* The parts that have not answered are found wrong, after so long. */
void doctor_give_up(struct doctor *doctor, int64_t waited_ms);
void doctor_close(struct doctor *doctor);

static inline void owned_doctor(struct doctor **doctor)
{
    doctor_close(*doctor);
}
