/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What `sluice profile` found: the `engine:` block of a queue, and what it rests on.
 */
#pragma once

#include "base/text.h"
#include "base/timestamp.h"
#include "broker/sources/engine_scrapes.h"
#include "windows/servers/profile.h"

#include <jansson.h>

struct profile_ask {
    const struct engine_kind *kind;
    const char *source; /* for people */
    const char *selector;
    struct wall_time from;
    struct wall_time to;
    int64_t slots; /* as the engine was started; 0: not told */
};

enum profile_slots { SLOTS_TOLD, SLOTS_SEEN_FULL, SLOTS_SEEN, SLOTS_SLOWEST, SLOTS_UNKNOWN };

struct profile_report {
    const struct profile_ask *ask;
    const struct engine_scrapes *scrapes;
    struct profile_law law;
    bool has_law;     /* there is a law, or the safe form */
    struct error why; /* why there is neither */
    int64_t slots;
    enum profile_slots slots_by;
    double tokens_in; /* computed ones of a prompt; NAN: not known */
    double tokens_out;
    double tokens_cv;
    double service_s; /* of the safe form */
    bool is_kv_limited;
    bool is_whole; /* it is a law, and nothing has to be added by hand */
};

/* Borrows both. */
void profile_report_make(struct profile_report *report, const struct profile_ask *ask,
                         const struct engine_scrapes *scrapes);

/* YAML to be pasted below the queue, with comments; where there is none, comments alone. */
void profile_report_yaml(const struct profile_report *report, struct text *out);

json_t *profile_report_json(const struct profile_report *report)
    __attribute__((warn_unused_result));
