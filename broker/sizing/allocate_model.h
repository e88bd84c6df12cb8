/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the configuration and a demand to the plain model that windows/allocation/allocate.h plans
 * with.  The model borrows from both, which must outlive it.
 */
#pragma once

#include "base/array.h"
#include "broker/config/config.h"
#include "windows/allocation/allocate.h"

struct allocate_amount { /* of one queue */
    const char *name;    /* its own, or that of a workload that serves it */
    double value;
};

struct allocate_amounts {
    ARRAY(struct allocate_amount) list;
};

struct allocate_reservation { /* what if it had more or fewer nodes */
    const char *name;
    int64_t nodes;
    bool is_change; /* `nodes` is added */
};

struct allocate_model_options {
    int64_t days;      /* of the demand's end */
    double scale;      /* on top of each queue's own */
    double percentile; /* 0: each queue's own */
    const char *slo;   /* NULL: each queue's own */
    int seeds;
    int threads;
    uint64_t seed;
    const char *window;              /* NULL: all */
    struct allocate_amounts rates;   /* mean arrivals a second in place of the demand's own, before
                                        any scaling; the demand's shape stays */
    struct allocate_amounts waiting; /* requests that wait already; those of one queue are added */
    bool loses_node; /* every queue survives it, even if the configuration does not ask for this */
    bool loses_zone;
    bool is_estimate;
    bool is_saturated;
    const char *lost_zone; /* NULL: none; its nodes are not there */
    const char *without;   /* NULL: none; a workload that is not there */
    const struct allocate_reservation *reservations;
    size_t reservation_count;
};

/* Errors name the queue or cluster that cannot be planned, or the option that names nothing. */
struct allocate_model *allocate_model_new(const struct config *config, const struct demand *demand,
                                          const struct allocate_model_options *options,
                                          struct error *err) __attribute__((warn_unused_result));
void allocate_model_free(struct allocate_model *model);

static inline void owned_allocate_model(struct allocate_model **model)
{
    allocate_model_free(*model);
}
