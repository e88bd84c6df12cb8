/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first seed is searched from the estimate outward, the others try its answer together, and the
 * one that fails it most is searched next.  A wheel's verdict is taken only where its count is
 * clearly off the limit; that margin is several times the error that was ever seen.
 */
#include "windows/queueing/search_wheel.h"

#include "windows/queueing/estimate.h"
#include "windows/queueing/wheel.h"
#include "windows/servers/erlang.h"

#include <math.h>

enum { KEPT_BYTES = 64 << 20, SURVEY = 8, FIRST_BELOW = 32 };

static const double nearly = 0.75;

struct lane { /* a seed, of what has to meet the target by itself */
    const struct search_setup *setup;
    int seed;
    struct arrivals *arrivals;
    struct wheel *wheel; /* NULL until it is needed */
    int used_at;         /* servers */
    double used;         /* violations over those allowed plus one, by the wheel */
    bool is_single;      /* no request arrives in one of the classes */
    int64_t allowed[DEMAND_CLASSES];
    struct wheel_limits sure; /* up to here it passes */
    struct wheel_limits lost; /* beyond this it fails */
};

struct lanes {
    const struct search_days *days;
    struct wheel_times *times;
    struct lane *items;
    int count;
    bool is_kept; /* there is room for all wheels at once */
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
    if (lane != &lanes->items[0] && lane->setup == lanes->items[0].setup && lanes->items[0].wheel)
        wheel_order_like(lane->wheel, lanes->items[0].wheel);
    return lane->wheel;
}

/* The possible error of a count in ticks: a sixteenth, and two standard deviations of so many
   chances. */
static int64_t margin_of(int64_t count)
{
    return count == 0 ? 0 : count / 16 + (int64_t)(2 * sqrt((double)count)) + 2;
}

static void set_limits(struct lane *lane)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        int64_t total = arrivals_total(lane->arrivals, (enum demand_class) class);
        int64_t allowed = replay_allowed(total, lane->setup->target.percentile);

        lane->allowed[class] = allowed;
        lane->sure.violations[class] = allowed - margin_of(allowed);
        lane->lost.violations[class] = allowed + margin_of(allowed);
        lane->is_single = lane->is_single || total == 0;
    }
}

static double used_of(const struct lane *lane, const int64_t violations[DEMAND_CLASSES])
{
    double used = 0;

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        used = fmax(used, (double)violations[class] / (double)(lane->allowed[class] + 1));
    return used;
}

/* Runs the wheel as far as `times` the limit; true when it got to the end within it. */
static bool lane_run(struct lanes *lanes, struct lane *lane, int servers, int times,
                     int64_t violations[DEMAND_CLASSES])
{
    struct wheel_limits limits = lane->lost;

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        limits.violations[class] *= times;
    (void)wheel_run(lane_wheel(lanes, lane), servers, &limits, violations);
    lane->used_at = servers;
    lane->used = used_of(lane, violations);
    return violations[DEMAND_HIGH] <= lane->lost.violations[DEMAND_HIGH] &&
           violations[DEMAND_LOW] <= lane->lost.violations[DEMAND_LOW];
}

/* The exact count, from the worst segment on.  `rest` is the count in ticks of the segments not
   counted exactly yet, and may be wrong by the margin: it shrinks until the verdict is clear.  With
   rest NULL everything is counted exactly. */
static bool lane_passes_exactly(struct lanes *lanes, struct lane *lane, int servers, int64_t *rest)
{
    struct wheel *wheel = lane_wheel(lanes, lane);
    int64_t known[DEMAND_CLASSES] = { 0 };

    for (size_t i = 0; i < lane->setup->segments->list.count; i++) {
        int64_t here[DEMAND_CLASSES];
        size_t segment = wheel_worst(wheel, i, here);
        bool is_sure = true;

        if (!replay_count(lane->arrivals,
                          &(struct replay_try){ servers, &lane->setup->target,
                                                rest ? &lanes->times->negligible : NULL },
                          segment, known))
            return false;
        for (int class = 0; rest && class < DEMAND_CLASSES; class ++) {
            int64_t allowed = lane->allowed[class];

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
    if (violations[DEMAND_HIGH] <= lane->sure.violations[DEMAND_HIGH] &&
        violations[DEMAND_LOW] <= lane->sure.violations[DEMAND_LOW])
        return true;

    bool passes = lane_passes_exactly(lanes, lane, servers, violations);

    if (lanes->days->count > 1) /* so many lanes would keep too much */
        arrivals_drop(lane->arrivals);
    return passes;
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
                             lane->setup->series->queue, ERLANG_SERVERS_MAX);
    }
    return lane_bisect(lanes, lane, fails, from);
}

/* Begins a little below the estimate, and replays it to the end: a stretch without waits there has
   none with more servers either, and need not be replayed again. */
static int first_answer(struct lanes *lanes, struct error *err)
{
    struct lane *lane = &lanes->items[0];
    const struct search_setup *setup = lane->setup;
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

/* All other seeds try the number; the one with most violations raises it, and the others that
   failed try again. */
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

/* Exactly; more than 1 where the answer fails. */
static double used_exactly(struct lanes *lanes, struct lane *lane, int servers)
{
    int64_t known[DEMAND_CLASSES] = { 0 };
    bool passes = true;

    for (size_t i = 0; passes && i < lane->setup->segments->list.count; i++)
        passes = replay_count(
            lane->arrivals,
            &(struct replay_try){ servers, &lane->setup->target, &lanes->times->negligible }, i,
            known);
    if (lanes->days->count > 1)
        arrivals_drop(lane->arrivals);
    return passes ? used_of(lane, known) : HUGE_VAL;
}

static int most_used(const struct lanes *lanes)
{
    int most = 0;

    for (int i = 1; i < lanes->count; i++)
        most = lanes->items[i].used > lanes->items[most].used ? i : most;
    return most;
}

/* The seed with most violations at the answer, the first of equals.  If the replay in ticks shows
   others close to the most, all of these are counted exactly. */
static int worst_lane(struct lanes *lanes, int servers)
{
    int near = 0;

    for (int i = 0; i < lanes->count; i++) {
        int64_t violations[DEMAND_CLASSES];

        if (lanes->items[i].used_at != servers)
            (void)lane_run(lanes, &lanes->items[i], servers, 1, violations);
    }

    double least = nearly * lanes->items[most_used(lanes)].used;

    for (int i = 0; i < lanes->count; i++)
        near += lanes->items[i].used >= least;
    for (int i = 0; near > 1 && i < lanes->count; i++) {
        struct lane *lane = &lanes->items[i];

        lane->used = lane->used < least ? 0 : used_exactly(lanes, lane, servers);
    }
    return most_used(lanes);
}

/* Confirms the answer by the exact replay under the worst seed: it passes, one more passes (which
   only two classes can make doubtful), one less fails, under that seed or the one that raised the
   answer.  With pooled days this also gives the waits. */
static bool is_confirmed(struct lanes *lanes, int servers, int worst, int *failing,
                         struct replay_waits *waits)
{
    struct lane *lane = &lanes->items[worst];
    struct replay_around around;

    replay_around(lane->arrivals, servers, &lane->setup->target, &lanes->times->negligible,
                  &around);
    if (!around.passes || !(lane->is_single || around.more_passes))
        return false;
    if (lane->setup->segments == lanes->days->whole.segments)
        *waits = around.waits;
    if (servers == 1 || around.fewer_fails) {
        *failing = servers == 1 ? -1 : worst;
        return true;
    }
    return !lane_passes_exactly(lanes, &lanes->items[*failing], servers - 1, NULL);
}

static int search_lanes(struct lanes *lanes, struct search_result *ret_result,
                        struct replay_waits *ret_waits, struct error *err)
{
    struct replay_waits waits = *ret_waits;
    int failing;
    int answer = first_answer(lanes, err);

    if (answer > 0)
        answer = answer_of_all(lanes, answer, &failing, err);
    if (answer <= 0)
        return answer;

    int worst = worst_lane(lanes, answer);

    if (lanes->items[worst].used > 1 || !is_confirmed(lanes, answer, worst, &failing, &waits))
        return 0;
    ret_result->servers = answer;
    ret_result->worst_seed = lanes->items[worst].seed;
    ret_result->failing_seed = failing < 0 ? -1 : lanes->items[failing].seed;
    *ret_waits = waits;
    return 1;
}

static int lanes_init(struct lanes *lanes, const struct search_days *days, struct error *err)
{
    int seeds = days->whole.seeds;
    int count = (int)days->count * seeds;

    *lanes = (struct lanes){ .days = days };
    lanes->items = mem_new_array((size_t)count, sizeof *lanes->items);
    for (; lanes->count < count; lanes->count++) {
        struct lane *lane = &lanes->items[lanes->count];

        lane->setup = &days->items[lanes->count / seeds];
        lane->seed = lanes->count % seeds;
        lane->arrivals = search_arrivals(lane->setup, lane->seed, err);
        if (!lane->arrivals)
            return -1;
        set_limits(lane);
    }

    owned(arrivals) struct arrivals *all = search_arrivals(&days->whole, 0, err);

    if (!all)
        return -1;
    lanes->times = wheel_times_new(all, &days->whole.target);
    return 0;
}

int search_by_wheel(const struct search_days *days, struct search_result *ret_result,
                    struct replay_waits *ret_waits, struct error *err)
{
    if (days->whole.service->engine) /* of which a tick knows nothing */
        return 0;

    struct lanes lanes;
    int found = lanes_init(&lanes, days, err);

    if (found == 0 && lanes.times) {
        lanes.is_kept = wheel_size(lane_wheel(&lanes, &lanes.items[0])) * (size_t)lanes.count <=
                        KEPT_BYTES;
        found = search_lanes(&lanes, ret_result, ret_waits, err);
    }
    lanes_clear(&lanes);
    return found;
}
