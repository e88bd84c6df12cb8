/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Puts together what the counters, the histograms and the gauges say.  Where two readings are
 * possible, the one that asks for more replicas counts.
 */
#include "broker/capacity/profile_report.h"

#include <math.h>

static const double KV_FULL = 0.9; /* share of the cache in use: requests wait for it */

static struct profile_hints make_hints(const struct profile_report *report)
{
    const struct engine_scrapes *scrapes = report->scrapes;
    double slots = (double)report->slots;

    return (struct profile_hints){
        /* a full cache counts as a full batch, whatever slots are left; for NAN the other value */
        .slots = report->is_kv_limited ? fmin(slots, scrapes->running_most) : slots,
        .is_speculative = scrapes->totals[NAME_DRAFTED] > 0,
        .hides_prefill = isnan(scrapes->computed),
        .gaps_are_iterations = report->ask->kind->gaps_are_iterations,
    };
}

/* Only those tokens of a prompt that no cache held take time. */
static void read_lengths(struct profile_report *report)
{
    const struct engine_scrapes *scrapes = report->scrapes;
    const struct service_shape *in = scrapes->in.shape;
    const struct service_shape *out = scrapes->out.shape;
    double share = scrapes->computed / scrapes->prompts; /* NAN: not known */

    report->tokens_out = out ? out->mean_s : NAN;
    report->tokens_cv = out ? out->cv : NAN;
    report->tokens_in = in ? in->mean_s * (share <= 1 ? share : 1) : NAN;
}

/* A batch that was full is the limit; any other was only seen. */
static void read_slots(struct profile_report *report)
{
    const struct engine_scrapes *scrapes = report->scrapes;
    double seen = isnan(scrapes->slots_seen) ? scrapes->running_most : scrapes->slots_seen;

    report->slots_by = isnan(scrapes->slots_seen) ? SLOTS_SEEN : SLOTS_SEEN_FULL;
    if (report->ask->slots > 0) {
        report->slots = report->ask->slots;
        report->slots_by = SLOTS_TOLD;
    } else if (seen >= 1) {
        report->slots = (int64_t)seen;
    } else {
        report->slots_by = SLOTS_UNKNOWN;
    }
    require((report->slots > 0) == (report->slots_by != SLOTS_UNKNOWN));
    report->is_kv_limited = scrapes->totals[NAME_KV_USAGE] > KV_FULL ||
                            scrapes->totals[NAME_PREEMPTED] > 0;
}

/* The safe form has as many slots as ran at the longest time per token: more slots would be slower
   than anything measured. */
static void make_safe(struct profile_report *report)
{
    int64_t slowest = (int64_t)fmax(1, floor(report->law.slowest_at));

    require(report->law.method == PROFILE_SAFE && report->law.slowest_s > 0);
    report->service_s = report->tokens_out * report->law.slowest_s;
    if (report->slots_by == SLOTS_UNKNOWN || slowest < report->slots) {
        report->slots = slowest;
        report->slots_by = SLOTS_SLOWEST;
    }
}

void profile_report_make(struct profile_report *report, const struct profile_ask *ask,
                         const struct engine_scrapes *scrapes)
{
    owned(profile_intervals) struct profile_intervals *intervals = profile_intervals_new(
        scrapes->scrapes, scrapes->count);
    struct profile_hints hints;

    *report = (struct profile_report){ .ask = ask, .scrapes = scrapes, .service_s = NAN };
    read_lengths(report);
    read_slots(report);
    hints = make_hints(report);
    if (ask->kind->advice)
        error_set(&report->why, ERROR_INVALID, "%s", ask->kind->advice);
    else
        report->has_law = profile_measure(intervals, &hints, &report->law, &report->why) == 0;
    if (report->has_law && report->law.method == PROFILE_SAFE)
        make_safe(report);
    if (report->has_law && isnan(report->tokens_out)) {
        report->has_law = report->law.method != PROFILE_SAFE;
        report->why = scrapes->out.why;
    }
    report->is_whole = report->has_law && report->law.method != PROFILE_SAFE &&
                       !isnan(report->tokens_out) && report->slots_by != SLOTS_UNKNOWN &&
                       !(report->law.has_prefill && isnan(report->tokens_in));
    require(report->has_law || report->why.kind != ERROR_NONE); /* a refusal says why */
}
