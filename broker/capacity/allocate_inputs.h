/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What every command that plans is given: options, configuration, demand, and the model made of
 * them.  Used by allocate, explain and whatif, so that all three answer from the same numbers.
 */
#pragma once

#include "base/array.h"
#include "base/input/options.h"
#include "broker/sizing/allocate_model.h"
#include "broker/sizing/demand_input.h"
#include "broker/sizing/forecasts.h"
#include "broker/sizing/measures.h"

/* Rows of each of their option tables. */
#define ALLOCATE_INPUT_OPTIONS                                                                     \
    { "demand", 'd', "FILE", "arrivals as CSV, plain or gzip (required)", false },                 \
        { "from", 0, "FILE", "arrivals that `sluice snapshot` wrote, instead of --demand",         \
          false },                                                                                 \
        { "days", 0, "N", "plan from the last N days of the file (default 7)", false },            \
        { "scale-up", 0, "X", "a factor for all arrivals, besides each queue's own scale_up",      \
          false },                                                                                 \
        { "rate", 0, "QUEUE=RATE",                                                                 \
          "mean arrivals of a queue, as 1.2/s or 70/m, instead of the demand's mean; a "           \
          "workload's name stands for its queue",                                                  \
          true },                                                                                  \
        { "seeds", 0, "N", "replay with N seeds; the worst result counts (default 8)", false },    \
        { "seed", 0, "N", "start value of the random numbers (default 1)", false },                \
        { "percentile", 0, "P", "the percentile of all wait targets, instead of each queue's own", \
          false },                                                                                 \
        { "slo", 0, "pooled|each-day",                                                             \
          "apply targets to all days together, or to each day; instead of each queue's own",       \
          false },                                                                                 \
        { "lose", 0, "node|zone",                                                                  \
          "keep each queue's waits within twice its target when the worst node or zone is lost",   \
          true },                                                                                  \
        DEMAND_INPUT_OPTIONS,                                                                      \
    {                                                                                              \
        "threads", 0, "N", "threads (default 2); the answer does not depend on it", false          \
    }

struct allocate_inputs {
    struct command_call *call;
    struct allocate_model_options options;
    ARRAY(char *) names; /* of amounts */
    struct demand_options demand_options;
    struct config *config;
    struct measures_used measured;    /* that were used */
    ARRAY(const char *) suppositions; /* of engines, as config_suppose() reads them; set before */
    struct demand *demand;
    struct allocate_model *model;
    bool is_forecast; /* set before reading: plan for the forecast's upper bound */
    bool is_again;    /* set before reading: plan the rest of the window in force */
    struct forecasts_options forecast;
    struct forecasts *forecasts; /* NULL: last week counts as it was */
    double *scales;              /* the model's */
};

/* Reads the options; an error is one of usage. */
int allocate_inputs_options(struct allocate_inputs *inputs, struct command_call *call,
                            struct error *err) __attribute__((warn_unused_result));

/* Reads --waiting, which not every command has. */
int allocate_inputs_waiting(struct allocate_inputs *inputs, struct error *err)
    __attribute__((warn_unused_result));

/* Reads the files and makes the model. */
int allocate_inputs_read(struct allocate_inputs *inputs, struct error *err)
    __attribute__((warn_unused_result));
void allocate_inputs_clear(struct allocate_inputs *inputs);

/* The inputs of the numbers, without times: the same input gives the same lines. */
int allocate_inputs_header(const struct allocate_inputs *inputs, struct text *out,
                           struct error *err) __attribute__((warn_unused_result));

static inline void owned_allocate_inputs(struct allocate_inputs *inputs)
{
    allocate_inputs_clear(inputs);
}
