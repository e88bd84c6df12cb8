/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What sluice backtest is given: a demand, and either a configuration or, with --service, options
 * that describe all queues of the demand alike.  Becomes the setup of windows/backtest.
 */
#pragma once

#include "base/input/options.h"
#include "broker/backtest/windows_choice.h"
#include "broker/config/config.h"
#include "windows/backtest/backtest.h"

struct backtest_inputs {
    struct command_call *call;
    struct demand_options demand_options;
    int64_t service_ms; /* 0: there is a configuration */
    double service_cv;
    int64_t slots; /* requests that a server serves at once */
    enum engine_router router;
    struct replay_target target;
    int64_t gpus;
    double load; /* erlangs, on average, that each queue's arrivals are scaled to; 0: as they are */
    double scale; /* of arrivals */
    int64_t nodes;
    int64_t learn_weeks;
    int64_t origins;      /* 0: all */
    int64_t plan_windows; /* policies plan by so many, at most; 0: by those that are judged */
    bool is_chosen;       /* or by as many as `choice` has */
    struct windows_choice choice;
    int64_t evicted_ms; /* of each GPU's work */
    double price;
    double attainment; /* per cent */
    int64_t seeds;
    int64_t seed;
    int64_t threads;
    struct config *config;       /* NULL with --service; its services are the measured ones */
    struct service_shape *shape; /* of all queues; NULL without --slots */
    struct window_set *judged;   /* where there is no configuration */
    struct window_set *planned;  /* where they are proposed */
    struct wall_time first;      /* when the first week judged begins */
    struct demand *demand;
    struct backtest_queue *queues;
    struct backtest_setup setup;
};

/* An error is one of usage. */
int backtest_inputs_options(struct backtest_inputs *inputs, struct command_call *call,
                            struct error *err) __attribute__((warn_unused_result));

/* Reads the files and makes the setup, with the judged windows as those that policies plan by. */
int backtest_inputs_read(struct backtest_inputs *inputs, struct error *err)
    __attribute__((warn_unused_result));

/* Sets the windows that policies plan by; a choice of them tells `setup.report` how far it is. */
int backtest_inputs_plan(struct backtest_inputs *inputs, struct error *err)
    __attribute__((warn_unused_result));
void backtest_inputs_clear(struct backtest_inputs *inputs);

static inline void owned_backtest_inputs(struct backtest_inputs *inputs)
{
    backtest_inputs_clear(inputs);
}
