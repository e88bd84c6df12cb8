/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first seed is searched from the estimate outward; the others only try its answer, and climb
 * where it fails them.  A number stands when all seeds in a row have passed with it and with the
 * next one.  Where each day counts, each is under each seed a trial of its own.
 */
#include "windows/queueing/search.h"

#include "base/random.h"
#include "windows/queueing/batch_replay.h"
#include "windows/queueing/estimate.h"
#include "windows/queueing/negligible.h"
#include "windows/queueing/search_days.h"
#include "windows/queueing/search_wheel.h"
#include "windows/servers/erlang.h"

#include <math.h>

enum { ALONE = 64 };

/* The answer is tried for a day (or all of them) under a seed. */
struct search_try {
    const struct search_setup *setup;
    int seed;
    bool is_full; /* of engines: nothing is left out as negligible */
};

/* Under one seed. */
struct bracket {
    struct arrivals *arrivals;
    const struct replay_target *target;
    int fails; /* known to fail */
    int passes;
    struct negligible negligible; /* of engines */
    int used_at;                  /* the number that passed last */
    double used;                  /* of what is allowed */
};

struct arrivals_setup search_arrivals_setup(const struct search_setup *setup)
{
    return (struct arrivals_setup){ .series = setup->series,
                                    .segments = setup->segments,
                                    .service = setup->service,
                                    .scale = setup->scale };
}

struct arrivals *search_arrivals(const struct search_setup *setup, int seed, struct error *err)
{
    struct arrivals_setup arrivals = search_arrivals_setup(setup);

    arrivals.seed = random_mix(setup->seed, setup->series->queue, (uint64_t)seed, 0);
    return arrivals_new(&arrivals, err);
}

static struct bracket bracket_of(const struct search_try *tried, struct arrivals *arrivals,
                                 int servers)
{
    const struct search_setup *setup = tried->setup;
    struct bracket bracket = {
        .arrivals = arrivals, .target = &setup->target, .fails = servers, .passes = servers
    };

    negligible_init(&bracket.negligible, setup->service, &setup->target);
    if (tried->is_full)
        bracket.negligible.spare = HUGE_VAL;
    return bracket;
}

static bool has_engine(const struct bracket *bracket)
{
    return bracket->negligible.service->engine != NULL;
}

/* For engines, which the replay in ticks does not cover, every trial leaves out negligible
   stretches. */
static bool passes(struct bracket *bracket, int servers)
{
    double used;
    bool passes = has_engine(bracket)
                      ? batch_replay_passes(
                            bracket->arrivals,
                            &(struct replay_try){ servers, bracket->target, &bracket->negligible },
                            &used)
                      : replay_passes(bracket->arrivals, servers, bracket->target, &used);

    if (passes) {
        bracket->used_at = servers;
        bracket->used = used;
    }
    return passes;
}

static void bisect(struct bracket *bracket)
{
    while (bracket->passes - bracket->fails > 1) {
        int middle = bracket->fails + (bracket->passes - bracket->fails) / 2;

        if (passes(bracket, middle))
            bracket->passes = middle;
        else
            bracket->fails = middle;
    }
}

/* With this many replicas each request is alone in its replica: more have no effect. */
static int most_servers(const struct bracket *bracket)
{
    double most = ERLANG_SERVERS_MAX;

    if (has_engine(bracket))
        most = fmin(most, ALONE * (1 + batch_replay_peak(bracket->arrivals)));
    return (int)most;
}

static int gallop_up(struct bracket *bracket, int from, struct error *err)
{
    int most = most_servers(bracket);

    for (int step = 1 + from / 64;; step *= 2) {
        if (from > most)
            return error_set(err, ERROR_INVALID,
                             "queue %s: more than %d servers would not be enough",
                             arrivals_setup_of(bracket->arrivals)->series->queue, most);
        if (passes(bracket, from))
            break;
        bracket->fails = from;
        from += step;
    }
    bracket->passes = from;
    bisect(bracket);
    return 0;
}

static void gallop_down(struct bracket *bracket, int from)
{
    bracket->passes = from;
    for (int step = 1 + from / 64; from - step > bracket->fails; step *= 2) {
        from -= step;
        if (!passes(bracket, from)) {
            bracket->fails = from;
            break;
        }
        bracket->passes = from;
    }
    bisect(bracket);
}

/* Raises the number until it and the next one pass; for engines the next one is tried once all
   seeds have passed. */
static int settle(struct bracket *bracket, struct error *err)
{
    while (!has_engine(bracket) && !passes(bracket, bracket->passes + 1)) {
        bracket->fails = bracket->passes + 1;
        if (gallop_up(bracket, bracket->passes + 2, err) < 0)
            return -1;
    }
    return 0;
}

/* For engines the guess is low, because a number that fails is found out early. */
static int guess_of(const struct search_setup *setup, struct arrivals *arrivals)
{
    struct estimate estimate;

    if (setup->service->engine)
        return batch_replay_guess(arrivals, setup->target.percentile);
    estimate_init(&estimate, arrivals_setup_of(arrivals));
    return estimate_servers(&estimate, setup->target.percentile / 100,
                            (double)setup->target.wait_ms / SECOND_MS);
}

static int first_answer(const struct search_setup *setup, struct bracket *bracket,
                        struct search_result *result, struct error *err)
{
    int guess = guess_of(setup, bracket->arrivals);

    if (passes(bracket, guess)) {
        gallop_down(bracket, guess);
    } else {
        bracket->fails = guess;
        if (gallop_up(bracket, guess + 1, err) < 0)
            return -1;
    }
    if (settle(bracket, err) < 0)
        return -1;
    result->servers = bracket->passes;
    result->failing_seed = bracket->passes > 1 ? 0 : -1;
    return 0;
}

/* Continues the search beyond a number that fails. */
static int climb_over(struct bracket *bracket, int fails, int seed, struct search_result *result,
                      struct error *err)
{
    bracket->fails = fails;
    if (gallop_up(bracket, fails + 1, err) < 0 || settle(bracket, err) < 0)
        return -1;
    result->servers = bracket->passes;
    result->failing_seed = seed;
    return 0;
}

/* 1: the trial confirms the answer, and `used` says by how much; 0: it was raised. */
static int try_one(const struct search_try *tried, struct search_result *result, double *used,
                   struct error *err)
{
    owned(arrivals) struct arrivals *arrivals = search_arrivals(tried->setup, tried->seed, err);

    if (!arrivals)
        return -1;

    struct bracket bracket = bracket_of(tried, arrivals, result->servers);

    if (result->servers == 0 && first_answer(tried->setup, &bracket, result, err) < 0)
        return -1;
    if (bracket.used_at != result->servers && !passes(&bracket, result->servers))
        return climb_over(&bracket, result->servers, tried->seed, result, err);
    *used = bracket.used;
    if (!has_engine(&bracket) && !passes(&bracket, result->servers + 1))
        return climb_over(&bracket, result->servers + 1, tried->seed, result, err);
    return 1;
}

/* The same for the number after it, of engines. */
static int try_next(const struct search_try *tried, struct search_result *result, struct error *err)
{
    owned(arrivals) struct arrivals *arrivals = search_arrivals(tried->setup, tried->seed, err);

    if (!arrivals)
        return -1;

    struct bracket bracket = bracket_of(tried, arrivals, result->servers);

    return passes(&bracket, result->servers + 1)
               ? 1
               : climb_over(&bracket, result->servers + 1, tried->seed, result, err);
}

/* Raises the number until it has passed in all trials; finds the trial in which it was nearest to
   failing. */
static int try_all(const struct search_days *days, bool is_full, struct search_result *result,
                   int *ret_worst, struct error *err)
{
    int seeds = days->whole.seeds;
    int trials = (int)days->count * seeds;
    double worst = -1;
    int stood = 0;

    for (int trial = 0; stood < trials; trial = (trial + 1) % trials) {
        double used = 0;
        struct search_try tried = { &days->items[trial / seeds], trial % seeds, is_full };
        int stands = try_one(&tried, result, &used, err);

        if (stands < 0)
            return -1;
        stood = stands ? stood + 1 : 0;
        if (!stands) {
            worst = -1;
            trial--; /* the trial that raised the answer is asked about it first */
            continue;
        }
        if (used > worst || (used == worst && tried.seed < result->worst_seed)) {
            worst = used;
            result->worst_seed = tried.seed;
            *ret_worst = trial / seeds;
        }
    }
    return 0;
}

/* Every tried number is replayed exactly; for engines without negligible stretches, unless
 * is_full.
 */
static int search_exactly(const struct search_days *days, bool is_full,
                          struct search_result *result, struct error *err)
{
    int stands = days->whole.service->engine ? 0 : 1;
    int worst = 0;

    result->servers = 0;
    do {
        if (try_all(days, is_full, result, &worst, err) < 0)
            return -1;
        if (stands == 0)
            stands = try_next(
                &(struct search_try){ &days->items[worst], result->worst_seed, is_full }, result,
                err);
    } while (stands == 0);
    return stands < 0 ? -1 : 0;
}

static struct search_day day_of(const struct search_setup *setup, const struct replay_waits *waits)
{
    return (struct search_day){ demand_time(setup->series, waits->day), waits->day_s };
}

/* The waits under one seed. */
static int waits_under(const struct search_days *days, int seed, int servers,
                       struct replay_waits *ret_waits, struct error *err)
{
    owned(arrivals) struct arrivals *arrivals = search_arrivals(&days->whole, seed, err);
    struct replay_result report;

    if (arrivals && days->whole.service->engine)
        return batch_replay_waits(arrivals, servers, &days->whole.target, ret_waits, err);
    if (!arrivals || replay_report(arrivals, servers, &days->whole.target, &report, err) < 0)
        return -1;
    *ret_waits = report.waits;
    return 0;
}

/* Where each day counts, the wait is that of the worst. */
static double wait_of(const struct search_setup *setup, const struct replay_waits *waits)
{
    return setup->is_each_day ? waits->day_s
                              : fmax(waits->wait_s[DEMAND_HIGH], waits->wait_s[DEMAND_LOW]);
}

static int search_all(const struct search_setup *setup, const struct search_days *days,
                      struct search_result *result, struct error *err)
{
    struct replay_waits waits = { .day_s = -1 };
    int found = search_by_wheel(days, result, &waits, err);

    if (found < 0 || (found == 0 && search_exactly(days, false, result, err) < 0))
        return -1;
    if (waits.day_s < 0 && waits_under(days, result->worst_seed, result->servers, &waits, err) < 0)
        return -1;
    if (setup->service->engine &&
        wait_of(setup, &waits) * SECOND_MS > (double)setup->target.wait_ms + 1e-4 &&
        (search_exactly(days, true, result, err) < 0 ||
         waits_under(days, result->worst_seed, result->servers, &waits, err) < 0))
        return -1;
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        result->wait_s[class] = setup->is_each_day ? waits.day_wait_s[class] : waits.wait_s[class];
    result->worst_day = day_of(setup, &waits);
    return 0;
}

int search_servers(const struct search_setup *setup, struct search_result *ret_result,
                   struct error *err)
{
    struct search_result result = { .failing_seed = -1 };
    owned(arrivals) struct arrivals *first = search_arrivals(setup, 0, err);

    if (!first)
        return -1;
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        result.requests[class] = arrivals_total(first, (enum demand_class) class);
    if (result.requests[DEMAND_HIGH] + result.requests[DEMAND_LOW] > 0) {
        owned(search_days) struct search_days days;

        search_days_init(&days, setup);
        if (search_all(setup, &days, &result, err) < 0)
            return -1;
    }
    *ret_result = result;
    return 0;
}

int search_wait_under(const struct search_setup *setup, int seed, int servers,
                      struct search_wait *ret, struct error *err)
{
    owned(search_days) struct search_days days;
    struct replay_waits waits;

    search_days_init(&days, setup);
    if (waits_under(&days, seed, servers, &waits, err) < 0)
        return -1;
    *ret = (struct search_wait){ wait_of(setup, &waits), day_of(setup, &waits) };
    return 0;
}

int search_wait(const struct search_setup *setup, int servers, struct search_wait *ret,
                struct error *err)
{
    struct search_wait worst = { .worst_day = { .wait_s = -1 } };

    for (int seed = 0; seed < setup->seeds; seed++) {
        struct search_wait here;

        if (search_wait_under(setup, seed, servers, &here, err) < 0)
            return -1;
        worst.wait_s = fmax(worst.wait_s, here.wait_s);
        if (here.worst_day.wait_s > worst.worst_day.wait_s)
            worst.worst_day = here.worst_day;
    }
    *ret = worst;
    return 0;
}
