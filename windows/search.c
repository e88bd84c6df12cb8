/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first seed is searched from the estimate outward; the others only try its answer, and climb
 * where it fails them.  A number stands when all seeds in a row have passed with it and with the
 * next one.
 */
#include "windows/search.h"

#include "base/random.h"
#include "windows/erlang.h"
#include "windows/estimate.h"
#include "windows/search_wheel.h"

#include <math.h>

/* Under one seed. */
struct bracket {
    struct arrivals *arrivals;
    const struct replay_target *target;
    int fails; /* known to fail */
    int passes;
};

struct arrivals *search_arrivals(const struct search_setup *setup, int seed, struct error *err)
{
    struct arrivals_setup arrivals = {
        .series = setup->series,
        .segments = setup->segments,
        .service = setup->service,
        .scale = setup->scale,
        .seed = random_mix(setup->seed, setup->series->queue, (uint64_t)seed, 0),
    };

    return arrivals_new(&arrivals, err);
}

static bool passes(const struct bracket *bracket, int servers)
{
    return replay_passes(bracket->arrivals, servers, bracket->target, NULL);
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

static int gallop_up(struct bracket *bracket, int from, struct error *err)
{
    for (int step = 1 + from / 64;; step *= 2) {
        if (from > ERLANG_SERVERS_MAX)
            return error_set(
                err, ERROR_INVALID, "queue %s: more than %d servers would not be enough",
                arrivals_setup_of(bracket->arrivals)->series->queue, ERLANG_SERVERS_MAX);
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

/* Until the number and the next one pass. */
static int settle(struct bracket *bracket, struct error *err)
{
    while (!passes(bracket, bracket->passes + 1)) {
        bracket->fails = bracket->passes + 1;
        if (gallop_up(bracket, bracket->passes + 2, err) < 0)
            return -1;
    }
    return 0;
}

static int first_answer(const struct search_setup *setup, struct arrivals *arrivals,
                        struct search_result *result, struct error *err)
{
    struct bracket bracket = { arrivals, &setup->target, 0, 0 };
    struct estimate estimate;

    estimate_init(&estimate, arrivals_setup_of(arrivals));

    int guess = estimate_servers(&estimate, setup->target.percentile / 100,
                                 (double)setup->target.wait_ms / SECOND_MS);

    if (passes(&bracket, guess)) {
        gallop_down(&bracket, guess);
    } else {
        bracket.fails = guess;
        if (gallop_up(&bracket, guess + 1, err) < 0)
            return -1;
    }
    if (settle(&bracket, err) < 0)
        return -1;
    result->servers = bracket.passes;
    result->failing_seed = bracket.passes > 1 ? 0 : -1;
    return 0;
}

/* 1: the answer stands under this seed, and `used` says by how much; 0: it was raised. */
static int try_seed(const struct search_setup *setup, int seed, struct search_result *result,
                    double *used, struct error *err)
{
    owned(arrivals) struct arrivals *arrivals = search_arrivals(setup, seed, err);

    if (!arrivals || (result->servers == 0 && first_answer(setup, arrivals, result, err) < 0))
        return -1;

    struct bracket bracket = { arrivals, &setup->target, result->servers, result->servers };

    if (replay_passes(arrivals, result->servers, &setup->target, used)) {
        if (passes(&bracket, result->servers + 1))
            return 1;
        bracket.fails = result->servers + 1;
    }
    if (gallop_up(&bracket, bracket.fails + 1, err) < 0 || settle(&bracket, err) < 0)
        return -1;
    result->servers = bracket.passes;
    result->failing_seed = seed;
    return 0;
}

static int report_seed(const struct search_setup *setup, int seed, int servers,
                       struct replay_result *result, struct error *err)
{
    owned(arrivals) struct arrivals *arrivals = search_arrivals(setup, seed, err);

    return arrivals ? replay_report(arrivals, servers, &setup->target, result, err) : -1;
}

/* Every number that is tried is tried exactly. */
static int search_exactly(const struct search_setup *setup, struct search_result *result,
                          struct error *err)
{
    double worst = -1;
    int stood = 0;
    struct replay_result report;

    result->servers = 0;
    for (int seed = 0; stood < setup->seeds; seed = (seed + 1) % setup->seeds) {
        double used = 0;
        int stands = try_seed(setup, seed, result, &used, err);

        if (stands < 0)
            return -1;
        stood = stands ? stood + 1 : 0;
        if (!stands) {
            worst = -1;
            seed--; /* the seed that raised the answer is asked about it first */
            continue;
        }
        if (used > worst || (used == worst && seed < result->worst_seed)) {
            worst = used;
            result->worst_seed = seed;
        }
    }
    if (report_seed(setup, result->worst_seed, result->servers, &report, err) < 0)
        return -1;
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        result->wait_s[class] = report.classes[class].quantile_s;
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
        int found = search_by_wheel(setup, &result, err);

        if (found < 0 || (found == 0 && search_exactly(setup, &result, err) < 0))
            return -1;
    }
    *ret_result = result;
    return 0;
}

int search_wait(const struct search_setup *setup, int servers, double *ret_wait_s,
                struct error *err)
{
    double wait_s = 0;

    for (int seed = 0; seed < setup->seeds; seed++) {
        struct replay_result report;

        if (report_seed(setup, seed, servers, &report, err) < 0)
            return -1;
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            wait_s = fmax(wait_s, report.classes[class].quantile_s);
    }
    *ret_wait_s = wait_s;
    return 0;
}
