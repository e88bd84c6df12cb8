/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The demand that a command is given, and what sluice reports of how it understood the demand:
 * unknown steps, steps that change, the time zone of times without an offset.
 */
#pragma once

#include "base/input/options.h"
#include "windows/demand/demand.h"

#include <jansson.h>

/* Rows of the table of options of each command that reads a demand. */
#define DEMAND_INPUT_OPTIONS                                                                       \
    { "gaps", 0, "FILE", "CSV of periods whose arrivals are unknown", false },                     \
        { "begin", 0, "TIME",                                                                      \
          "the log's start, if its times count from that start: 2026-11-17T12:00:00Z", false },    \
    {                                                                                              \
        "missing", 0, "unknown|zero",                                                              \
            "what a step without a row means (default unknown; zero: no arrivals)", false          \
    }

/* The options --gaps, --begin and --missing; `zone` is borrowed, and NULL is UTC. */
struct demand_options demand_input_options(const struct command_call *call,
                                           const struct time_zone *zone);

/* demand_read(), and its notes on stderr. */
struct demand *demand_input_read(const char *path, const struct demand_options *options,
                                 struct error *err) __attribute__((warn_unused_result));

/* "zero" or "unknown": what a step without a row means. */
const char *demand_input_missing(const struct demand *demand, const struct demand_options *options);

/* What people should know of it, as sentences. */
json_t *demand_input_notes(const struct demand *demand, const struct demand_options *options);

/* The member `demand` of a command's JSON. */
json_t *demand_input_json(const struct demand *demand, const struct demand_options *options);
