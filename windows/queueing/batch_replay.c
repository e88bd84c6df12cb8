/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replays chunk by chunk, as replay.c does.  The router's random numbers are seeded again with each
 * chunk, so that they do not depend on stretches that were left out before it.
 */
#include "windows/queueing/batch_replay.h"

#include "windows/queueing/batch.h"
#include "windows/queueing/batch_lead.h"
#include "windows/queueing/negligible.h"
#include "windows/queueing/replay_waits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPORT_MAX = 1 << 28, NS_PER_SECOND = 1000 * 1000 * 1000 };

struct trial {
    struct arrivals *arrivals;
    struct batch *batch;
    struct batch_tally tally;
    struct negligible negligible; /* of so many servers */
    bool has_negligible;
    bool is_bounded; /* ends when it is lost */
    int64_t allowed[REPLAY_FIGURES][DEMAND_CLASSES];
    size_t number[DEMAND_CLASSES]; /* of the next in each class */
};

static uint64_t limit_of(const struct replay_limit *limit, double units)
{
    return limit->limit_s > 0 ? (uint64_t)floor(limit->limit_s * units + 0.5) : UINT64_MAX;
}

void batch_replay_limits(const struct replay_target *target, uint64_t limits[REPLAY_FIGURES])
{
    limits[REPLAY_WAIT] = (uint64_t)target->wait_ms * TICKS_PER_MS;
    limits[REPLAY_TTFT] = limit_of(&target->ttft, TICKS_PER_SECOND);
    limits[REPLAY_ITL] = limit_of(&target->itl, NS_PER_SECOND);
}

/* `keeps`: so many of the figures, from the first on. */
static void trial_init(struct trial *trial, struct arrivals *arrivals,
                       const struct replay_try *tried, int keeps)
{
    const struct replay_target *target = tried->target;
    const double percentiles[] = { target->percentile, target->ttft.percentile,
                                   target->itl.percentile };

    *trial = (struct trial){ .arrivals = arrivals,
                             .has_negligible = tried->negligible != NULL,
                             .is_bounded = true };
    batch_replay_limits(target, trial->tally.limits);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        int64_t total = arrivals_total(arrivals, (enum demand_class) class);

        for (int figure = 0; figure < REPLAY_FIGURES; figure++) {
            trial->allowed[figure][class] = replay_allowed(total, percentiles[figure]);
            if (figure < keeps)
                trial->tally.kept[figure][class] = mem_new_array((size_t)total + 1,
                                                                 sizeof(uint64_t));
        }
    }
    if (tried->negligible)
        trial->negligible = negligible_with(tried->negligible, tried->servers);
    trial->batch = batch_new(arrivals_setup_of(arrivals)->service->engine, tried->servers,
                             &trial->tally);
}

static void trial_clear(struct trial *trial)
{
    for (int figure = 0; figure < REPLAY_FIGURES; figure++)
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            mem_free(trial->tally.kept[figure][class]);
    batch_free(trial->batch);
}

/* Whether more are late, or will be, than is allowed. */
static bool is_lost(const struct trial *trial, uint64_t now)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        int64_t waiting = batch_overdue(trial->batch, (enum demand_class) class, now);

        for (int figure = 0; figure < REPLAY_FIGURES; figure++)
            if (trial->tally.late[figure][class] + (figure == REPLAY_WAIT ? waiting : 0) >
                trial->allowed[figure][class])
                return true;
    }
    return false;
}

static void begin_chunk(struct trial *trial, size_t at, bool rested)
{
    const struct arrivals_setup *setup = arrivals_setup_of(trial->arrivals);
    const struct arrivals_chunk *chunk = arrivals_outline(trial->arrivals, at);
    uint64_t time_ms = (uint64_t)demand_time(setup->series, chunk->first).ms;

    batch_draw_period(trial->batch, chunk->period);
    if (chunk->is_first)
        batch_lead(trial->batch, trial->arrivals, chunk->segment);
    else if (rested)
        batch_reset(trial->batch);
    if (chunk->is_first || rested) {
        struct random lengths;
        unsigned drawn;

        arrivals_services(trial->arrivals, at, &lengths, &drawn);
        batch_draw_from(trial->batch, &lengths, drawn);
    }
    batch_route_from(trial->batch, random_mix(setup->seed, "router", time_ms, 0), chunk->before);
}

static void run_chunk(struct trial *trial, size_t at)
{
    const struct arrivals_chunk *chunk = arrivals_chunk(trial->arrivals, at);

    batch_run(trial->batch, &(struct batch_feed){
                                .at = { chunk->at[DEMAND_HIGH], chunk->at[DEMAND_LOW] },
                                .count = { chunk->count[DEMAND_HIGH], chunk->count[DEMAND_LOW] },
                                .number = { trial->number[DEMAND_HIGH], trial->number[DEMAND_LOW] },
                                .horizon = chunk->is_last ? HUGE_VAL : (double)chunk->end,
                            });
}

/* One segment; false when it was ended. */
static bool run_segment(struct trial *trial, size_t segment, int servers)
{
    const struct arrivals_chunk *chunk;
    size_t at = arrivals_first_chunk(trial->arrivals, segment);
    bool rests = false;

    do {
        bool rested = rests;

        chunk = arrivals_outline(trial->arrivals, at);
        rests = trial->has_negligible && !batch_anyone_waits(trial->batch) &&
                negligible_at(&trial->negligible, trial->arrivals, at, servers);
        if (!rests) {
            begin_chunk(trial, at, rested);
            run_chunk(trial, at);
        }
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            trial->number[class] += chunk->count[class];
        if (!rests && trial->is_bounded && is_lost(trial, chunk->end))
            return false;
        at++;
    } while (!chunk->is_last);
    return true;
}

struct peak {
    double load;
    size_t segment;
};

static int compare_peaks(const void *left, const void *right)
{
    const struct peak *a = left;
    const struct peak *b = right;

    if (a->load != b->load)
        return a->load > b->load ? -1 : 1;
    return a->segment < b->segment ? -1 : a->segment > b->segment;
}

/* All segments, those with the highest load first; false when it was ended. */
static bool run_worst_first(struct trial *trial, int servers)
{
    size_t count = arrivals_setup_of(trial->arrivals)->segments->list.count;
    struct peak *peaks = mem_new_array(count, sizeof *peaks);
    bool is_within = true;

    for (size_t i = 0; i < count; i++)
        peaks[i].segment = i;
    for (size_t at = 0; at < arrivals_chunks(trial->arrivals); at++) {
        const struct arrivals_chunk *chunk = arrivals_outline(trial->arrivals, at);

        peaks[chunk->segment].load = fmax(peaks[chunk->segment].load, chunk->load);
    }
    qsort(peaks, count, sizeof *peaks, compare_peaks);
    for (size_t i = 0; i < count && is_within; i++)
        is_within = run_segment(trial, peaks[i].segment, servers);
    mem_free(peaks);
    return is_within;
}

/* Runs all segments in the order of time: results are stored by their number. */
static void run_all(struct trial *trial, int servers)
{
    trial->is_bounded = false;
    for (size_t i = 0; i < arrivals_setup_of(trial->arrivals)->segments->list.count; i++)
        (void)run_segment(trial, i, servers);
}

double batch_replay_peak(const struct arrivals *arrivals)
{
    double most = 0;

    for (size_t at = 0; at < arrivals_chunks(arrivals); at++)
        most = fmax(most, arrivals_outline(arrivals, at)->load);
    return most;
}

static int64_t requests_over(const struct arrivals *arrivals, double load)
{
    int64_t count = 0;

    for (size_t at = 0; at < arrivals_chunks(arrivals); at++) {
        const struct arrivals_chunk *chunk = arrivals_outline(arrivals, at);

        if (chunk->load > load)
            count += (int64_t)(chunk->count[DEMAND_HIGH] + chunk->count[DEMAND_LOW]);
    }
    return count;
}

int batch_replay_guess(const struct arrivals *arrivals, double percentile)
{
    const struct service_time *service = arrivals_setup_of(arrivals)->service;
    int64_t allowed = replay_allowed(
        arrivals_total(arrivals, DEMAND_HIGH) + arrivals_total(arrivals, DEMAND_LOW), percentile);
    double each = engine_rate(service->engine, service->engine->law.slots) * service->mean_s;
    int fails = 0;
    int passes = (int)fmin(INT32_MAX, ceil(batch_replay_peak(arrivals) / each));

    while (passes - fails > 1) {
        int middle = fails + (passes - fails) / 2;

        if (requests_over(arrivals, middle * each) > allowed)
            fails = middle;
        else
            passes = middle;
    }
    return passes > 1 ? passes : 1;
}

bool batch_replay_passes(struct arrivals *arrivals, const struct replay_try *tried,
                         double *ret_used)
{
    struct trial trial;

    if (tried->servers <= 0)
        return false;
    trial_init(&trial, arrivals, tried, 0);

    bool passes = run_worst_first(&trial, tried->servers) && !is_lost(&trial, 0);

    if (ret_used) {
        *ret_used = passes ? 0 : 1;
        for (int figure = 0; passes && figure < REPLAY_FIGURES; figure++)
            for (int class = 0; class < DEMAND_CLASSES; class ++)
                *ret_used = fmax(*ret_used, (double)trial.tally.late[figure][class] /
                                                (double)(trial.allowed[figure][class] + 1));
    }
    trial_clear(&trial);
    return passes;
}

bool batch_replay_count(struct arrivals *arrivals, const struct replay_try *tried, size_t segment,
                        int64_t violations[DEMAND_CLASSES])
{
    struct trial trial;

    if (tried->servers <= 0)
        return false;
    trial_init(&trial, arrivals, tried, 0);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        trial.tally.late[REPLAY_WAIT][class] = violations[class];

    bool is_within = run_segment(&trial, segment, tried->servers) && !is_lost(&trial, 0);

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        violations[class] = trial.tally.late[REPLAY_WAIT][class];
    trial_clear(&trial);
    return is_within;
}

/* The values of one figure, as replay_waits.h asks about them. */
static struct waits waits_of(const struct trial *trial, enum replay_figure figure)
{
    struct waits waits;

    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        waits.items[class] = trial->tally.kept[figure][class];
        waits.count[class] = trial->number[class];
    }
    return waits;
}

/* Whether a figure of every request can be kept. */
static int check_size(const struct arrivals *arrivals, struct error *err)
{
    if (arrivals_total(arrivals, DEMAND_HIGH) + arrivals_total(arrivals, DEMAND_LOW) <= REPORT_MAX)
        return 0;
    return error_set(err, ERROR_INVALID, "queue %s: more than %d requests; replay fewer days",
                     arrivals_setup_of(arrivals)->series->queue, REPORT_MAX);
}

int batch_replay_waits(struct arrivals *arrivals, int servers, const struct replay_target *target,
                       struct replay_waits *ret_waits, struct error *err)
{
    struct trial trial;

    if (check_size(arrivals, err) < 0)
        return -1;
    trial_init(&trial, arrivals, &(struct replay_try){ servers, target, NULL }, 1);
    run_all(&trial, servers);

    struct waits waits = waits_of(&trial, REPLAY_WAIT);

    *ret_waits = waits_quantiles(&waits, arrivals, target->percentile);
    trial_clear(&trial);
    return 0;
}

static struct replay_day day_of(const struct trial *trial, enum replay_figure figure,
                                double percentile, double scale)
{
    struct waits waits = waits_of(trial, figure);
    struct replay_day found = waits_late_day(&waits, trial->arrivals, trial->tally.limits[figure],
                                             percentile);

    found.quantile_s *= scale;
    return found;
}

static struct replay_spread spread_of(const struct trial *trial, enum replay_figure figure,
                                      int class, const struct replay_limit *limit, double scale)
{
    struct waits waits = waits_of(trial, figure);
    double percentile = limit->limit_s > 0 ? limit->percentile : 98;
    struct replay_class found = waits_class(&waits, (enum demand_class) class, percentile);

    return (struct replay_spread){
        .violations = trial->tally.late[figure][class],
        .mean_s = found.mean_s * scale,
        .p50_s = found.p50_s * scale,
        .p90_s = found.p90_s * scale,
        .p98_s = found.p98_s * scale,
        .p99_s = found.p99_s * scale,
        .max_s = found.max_s * scale,
        .quantile_s = found.quantile_s * scale,
    };
}

int batch_replay_report(struct arrivals *arrivals, int servers, const struct replay_target *target,
                        struct replay_result *ret_result, struct error *err)
{
    struct trial trial;

    if (check_size(arrivals, err) < 0)
        return -1;
    trial_init(&trial, arrivals, &(struct replay_try){ servers, target, NULL }, REPLAY_FIGURES);
    run_all(&trial, servers);

    struct waits waits = waits_of(&trial, REPLAY_WAIT);

    ret_result->wait_day = day_of(&trial, REPLAY_WAIT, target->percentile, 1);
    ret_result->ttft_day = day_of(&trial, REPLAY_TTFT, target->ttft.percentile, 1);
    ret_result->itl_day = day_of(&trial, REPLAY_ITL, target->itl.percentile, 1e-3);
    ret_result->waits = waits_quantiles(&waits, arrivals, target->percentile);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        struct replay_class *found = &ret_result->classes[class];

        *found = waits_class(&waits, (enum demand_class) class, target->percentile);
        found->violations = trial.tally.late[REPLAY_WAIT][class];
        found->ttft = spread_of(&trial, REPLAY_TTFT, class, &target->ttft, 1);
        found->itl = spread_of(&trial, REPLAY_ITL, class, &target->itl, 1e-3);
    }
    trial_clear(&trial);
    return 0;
}
