/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the configuration and a demand to the plain model that windows/allocate.h plans with.  The
 * model borrows from both, which must outlive it.
 */
#pragma once

#include "broker/fleet/config.h"
#include "windows/allocate.h"

struct allocate_model_options {
    int64_t days;      /* of the demand's end */
    double scale;      /* on top of each queue's own */
    double percentile; /* 0: each queue's own */
    int seeds;
    int threads;
    uint64_t seed;
};

/* Errors name the queue or cluster that cannot be planned. */
struct allocate_model *allocate_model_new(const struct config *config, const struct demand *demand,
                                          const struct allocate_model_options *options,
                                          struct error *err) __attribute__((warn_unused_result));
void allocate_model_free(struct allocate_model *model);

static inline void owned_allocate_model(struct allocate_model **model)
{
    allocate_model_free(*model);
}
