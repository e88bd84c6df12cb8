/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first seed is searched from the estimate outward, the others try its answer together, and the
 * one that fails it most is searched next.  A wheel's verdict is taken only where its count is
 * clearly off the limit; that margin is several times the error that was ever seen.
 */
#include "windows/search_wheel.h"

#include "windows/erlang.h"
#include "windows/estimate.h"
#include "windows/wheel.h"

#include <math.h>

enum { KEPT_BYTES = 64 << 20, SURVEY = 8, FIRST_BELOW = 32 };

struct lane { /* a seed */
    struct arrivals *arrivals;
    struct wheel *wheel; /* NULL until it is needed */
    int used_at;         /* servers */
    double used;         /* violations over those allowed plus one, by the wheel */
};

struct lanes {
    const struct search_setup *setup;
    struct wheel_times *times;
    struct lane *items;
    int count;
    bool is_kept;   /* there is room for all wheels at once */
    bool is_single; /* nobody arrives in one of the classes */
    int64_t allowed[DEMAND_CLASSES];
    struct wheel_limits sure; /* up to here it passes */
    struct wheel_limits lost; /* beyond this it fails */
};

static void lanes_clear(struct lanes *lanes)
{
    for (int i = 0; i < lanes->count; i++) {
        wheel_free(lanes->items[i].wheel);
        arrivals_free(lanes->items[i].arrivals);
    }
    wheel_times_free(lanes->times);
    mem_free(lanes->items);
}

static struct wheel *lane_wheel(struct lanes *lanes, struct lane *lane)
{
    if (lane->wheel)
        return lane->wheel;
    for (int i = 0; i < lanes->count && !lanes->is_kept; i++) {
        wheel_free(lanes->items[i].wheel);
        lanes->items[i].wheel = NULL;
    }
    lane->wheel = wheel_new(lane->arrivals, lanes->times);
    if (lane != &lanes->items[0] && lanes->items[0].wheel)
        wheel_order_like(lane->wheel, lanes->items[0].wheel);
    return lane->wheel;
}

/* By how much a wheel's count may be off: a sixteenth, and two deviations of so many chances. */
static int64_t margin_of(int64_t count)
{
    return count == 0 ? 0 : count / 16 + (int64_t)(2 * sqrt((double)count)) + 2;
}

static void set_limits(struct lanes *lanes)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        int64_t total = arrivals_total(lanes->items[0].arrivals, (enum demand_class) class);
        int64_t allowed = replay_allowed(total, lanes->setup->target.percentile);

        lanes->allowed[class] = allowed;
        lanes->sure.violations[class] = allowed - margin_of(allowed);
        lanes->lost.violations[class] = allowed + margin_of(allowed);
        lanes->is_single = lanes->is_single || total == 0;
    }
}

/* Runs the wheel as far as `times` the limit; true when it got to the end within it. */
static bool lane_run(struct lanes *lanes, struct lane *lane, int servers, int times,
                     int64_t violations[DEMAND_CLASSES])
{
    struct wheel_limits limits = lanes->lost;

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        limits.violations[class] *= times;
    (void)wheel_run(lane_wheel(lanes, lane), servers, &limits, violations);
    lane->used_at = servers;
    lane->used = 0;
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        lane->used = fmax(lane->used,
                          (double)violations[class] / (double)(lanes->allowed[class] + 1));
    return violations[DEMAND_HIGH] <= lanes->lost.violations[DEMAND_HIGH] &&
           violations[DEMAND_LOW] <= lanes->lost.violations[DEMAND_LOW];
}

/* The exact count, from the worst segment on.  `rest` is what the wheel, just run, counted in those
   not counted exactly yet, and may be off by the margin: it shrinks until the verdict is clear.
   With rest NULL nothing is left to the wheel. */
static bool lane_passes_exactly(struct lanes *lanes, struct lane *lane, int servers, int64_t *rest)
{
    struct wheel *wheel = lane_wheel(lanes, lane);
    int64_t known[DEMAND_CLASSES] = { 0 };

    for (size_t i = 0; i < lanes->setup->segments->list.count; i++) {
        int64_t here[DEMAND_CLASSES];
        size_t segment = wheel_worst(wheel, i, here);
        bool is_sure = true;

        if (!replay_count(lane->arrivals, servers, &lanes->setup->target, segment, known))
            return false;
        for (int class = 0; rest && class < DEMAND_CLASSES; class ++) {
            int64_t allowed = lanes->allowed[class];

            rest[class] -= here[class];
            if (known[class] + rest[class] - margin_of(rest[class]) > allowed)
                return false;
            is_sure = is_sure && known[class] + rest[class] + margin_of(rest[class]) <= allowed;
        }
        if (rest && is_sure)
            return true;
    }
    return true;
}

static bool lane_passes(struct lanes *lanes, struct lane *lane, int servers, int times)
{
    int64_t violations[DEMAND_CLASSES];

    if (!lane_run(lanes, lane, servers, times, violations))
        return false;
    if (violations[DEMAND_HIGH] <= lanes->sure.violations[DEMAND_HIGH] &&
        violations[DEMAND_LOW] <= lanes->sure.violations[DEMAND_LOW])
        return true;
    return lane_passes_exactly(lanes, lane, servers, violations);
}

/* Between a number that fails and one that passes. */
static int lane_bisect(struct lanes *lanes, struct lane *lane, int fails, int passes)
{
    while (passes - fails > 1) {
        int middle = fails + (passes - fails) / 2;

        if (lane_passes(lanes, lane, middle, 1))
            passes = middle;
        else
            fails = middle;
    }
    return passes;
}

/* The fewest, when `fails` does fail; -1: error. */
static int lane_climb(struct lanes *lanes, struct lane *lane, int fails, struct error *err)
{
    int step = 1 + fails / 128;
    int from = fails + step;

    while (!lane_passes(lanes, lane, from, 1)) {
        fails = from;
        from += step *= 2;
        if (from > ERLANG_SERVERS_MAX)
            return error_set(err, ERROR_INVALID,
                             "queue %s: more than %d servers would not be enough",
                             lanes->setup->series->queue, ERLANG_SERVERS_MAX);
    }
    return lane_bisect(lanes, lane, fails, from);
}

/* Begins a little below the estimate, and runs that to the end: what is quiet there is quiet with
   more servers, and need not be run again. */
static int first_answer(struct lanes *lanes, struct error *err)
{
    struct lane *lane = &lanes->items[0];
    const struct search_setup *setup = lanes->setup;
    struct estimate estimate;

    estimate_init(&estimate, arrivals_setup_of(lane->arrivals));

    int guess = estimate_servers(&estimate, setup->target.percentile / 100,
                                 (double)setup->target.wait_ms / SECOND_MS);
    int from = guess - guess / FIRST_BELOW > 1 ? guess - guess / FIRST_BELOW - 1 : 1;

    if (!lane_passes(lanes, lane, from, SURVEY))
        return lane_climb(lanes, lane, from, err);

    int passes = from;

    for (int step = 1 + from / 64; from > 1; step *= 2) {
        from = from - step > 1 ? from - step : 1;
        if (!lane_passes(lanes, lane, from, SURVEY))
            return lane_bisect(lanes, lane, from, passes);
        passes = from;
    }
    return passes;
}

/* All others try; who fails most climbs, and the others that failed try again. */
static int answer_of_all(struct lanes *lanes, int servers, int *ret_failing, struct error *err)
{
    bool *stands = mem_new_array((size_t)lanes->count, sizeof *stands);
    int worst = 0;

    stands[0] = true;
    *ret_failing = 0;
    while (worst >= 0 && servers > 0) {
        worst = -1;
        for (int i = 0; i < lanes->count; i++) {
            if (stands[i])
                continue;
            stands[i] = lane_passes(lanes, &lanes->items[i], servers, 2);
            if (!stands[i] && (worst < 0 || lanes->items[i].used > lanes->items[worst].used))
                worst = i;
        }
        if (worst < 0)
            break;
        servers = lane_climb(lanes, &lanes->items[worst], servers, err);
        stands[worst] = true;
        *ret_failing = worst;
    }
    mem_free(stands);
    return servers;
}

static int worst_lane(struct lanes *lanes, int servers)
{
    int worst = -1;

    for (int i = 0; i < lanes->count; i++) {
        struct lane *lane = &lanes->items[i];
        int64_t violations[DEMAND_CLASSES];

        /* who passed with fewer was not asked again; who searched asked about others since */
        if (lane->used_at > servers || (lane->used_at < servers && lane->used >= 1))
            (void)lane_run(lanes, lane, servers, 1, violations);
        if (lane->used_at == servers && (worst < 0 || lane->used > lanes->items[worst].used))
            worst = i;
    }
    return worst;
}

/* With one server more: exactly, where the wheel saw anyone wait too long without it. */
static bool next_passes(struct lanes *lanes, struct lane *lane, int servers)
{
    int64_t known[DEMAND_CLASSES] = { 0 };
    int64_t here[DEMAND_CLASSES];

    (void)lane_run(lanes, lane, servers, 1, here);
    for (size_t i = 0; i < lanes->setup->segments->list.count; i++) {
        size_t segment = wheel_worst(lane->wheel, i, here);

        if (here[DEMAND_HIGH] + here[DEMAND_LOW] == 0)
            break;
        if (!replay_count(lane->arrivals, servers + 1, &lanes->setup->target, segment, known))
            return false;
    }
    return true;
}

/* The answer by the exact replay, under the worst seed: it passes, one more passes (which only two
   classes can doubt), one less fails, under that seed or the one that raised the answer. */
static bool is_confirmed(struct lanes *lanes, int servers, struct search_result *result)
{
    struct lane *worst = &lanes->items[result->worst_seed];
    const struct replay_target *target = &lanes->setup->target;

    if (!replay_waits(worst->arrivals, servers, target, result->wait_s))
        return false;
    if (!lanes->is_single && !next_passes(lanes, worst, servers))
        return false;
    if (servers == 1) {
        result->failing_seed = -1;
        return true;
    }
    if (result->worst_seed == result->failing_seed || !lane_passes(lanes, worst, servers - 1, 1))
        result->failing_seed = result->worst_seed;
    return !lane_passes_exactly(lanes, &lanes->items[result->failing_seed], servers - 1, NULL);
}

int search_by_wheel(const struct search_setup *setup, struct search_result *ret_result,
                    struct error *err)
{
    struct lanes lanes = { .setup = setup };
    int answer = 0;

    lanes.items = mem_new_array((size_t)setup->seeds, sizeof *lanes.items);
    for (; lanes.count < setup->seeds; lanes.count++) {
        lanes.items[lanes.count].arrivals = search_arrivals(setup, lanes.count, err);
        if (!lanes.items[lanes.count].arrivals) {
            lanes_clear(&lanes);
            return -1;
        }
    }
    lanes.times = wheel_times_new(lanes.items[0].arrivals, &setup->target);
    if (lanes.times) {
        set_limits(&lanes);
        lanes.is_kept = wheel_size(lane_wheel(&lanes, &lanes.items[0])) * (size_t)lanes.count <=
                        KEPT_BYTES;
        answer = first_answer(&lanes, err);
        if (answer > 0)
            answer = answer_of_all(&lanes, answer, &ret_result->failing_seed, err);
    }
    if (answer > 0) {
        ret_result->servers = answer;
        ret_result->worst_seed = worst_lane(&lanes, answer);
        answer = ret_result->worst_seed >= 0 && is_confirmed(&lanes, answer, ret_result);
    }
    lanes_clear(&lanes);
    return answer;
}
