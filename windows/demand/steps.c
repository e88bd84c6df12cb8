/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads the distances between neighbours in order.  The base step, or a believed step, sets the
 * era.  A longer multiple of the era's step is a gap.  After any other distance the base step
 * holds.
 */
#include "windows/demand/steps.h"

#include "base/timestamp.h"

#include <math.h>
#include <stdlib.h>

enum {
    RUN_MIN = 8,
    EDGE_RUN_MIN = 3,  /* where a file begins or ends, */
    WHOLE_RUN_MIN = 4, /* or where at most one row in WHOLE_PARTS is missing elsewhere, */
    WHOLE_PARTS = 100,
    SHORT_BITS_MIN = 8, /* and so rare: if each distance were k steps long by chance, 1 in k would
                           be */
    WANDER_MIN = 30,    /* distances: a few of a rare queue are alike by chance */
    WANDER_PARTS = 8,   /* a timetable's grid is not that much finer than its usual distance */
};

/* A run of equal distances is accepted if fewer than so many such runs are due to chance. */
static const double chance_max = 0.01;

/* Times, and how often each distance is kept. */
struct view {
    const int64_t *times;
    size_t count; /* of distances */
    struct steps_tallies tallies;
    int64_t base;   /* what most rows keep */
    bool is_sparse; /* silence explains any distance */
};

static int compare_tallies(const void *left, const void *right)
{
    const struct steps_tally *a = left;
    const struct steps_tally *b = right;

    return a->distance_ms < b->distance_ms ? -1 : a->distance_ms > b->distance_ms;
}

static int64_t distance(const struct view *view, size_t i)
{
    return view->times[i + 1] - view->times[i];
}

/* From summer to winter time a local day is an hour longer: it still counts as a day. */
static bool is_step(int64_t distance_ms, int64_t step_ms)
{
    if (step_ms <= HOUR_MS)
        return distance_ms == step_ms;
    return distance_ms >= step_ms - HOUR_MS && distance_ms <= step_ms + HOUR_MS;
}

static bool is_multiple(int64_t distance_ms, int64_t step_ms)
{
    return distance_ms % (step_ms <= HOUR_MS ? step_ms : HOUR_MS) == 0;
}

void steps_count(const int64_t *times, size_t count, struct steps_tallies *tallies)
{
    size_t kinds = 0;

    for (size_t i = 1, end; i < count; i = end) {
        int64_t here = times[i] - times[i - 1];

        for (end = i + 1; end < count && times[end] - times[end - 1] == here;)
            end++;
        *array_add(&tallies->list) = (struct steps_tally){ here, end - i };
        tallies->count += end - i;
    }
    if (tallies->list.count > 1)
        qsort(tallies->list.items, tallies->list.count, sizeof *tallies->list.items,
              compare_tallies);
    for (size_t i = 0; i < tallies->list.count; i++) {
        struct steps_tally *tally = &tallies->list.items[i];

        if (kinds > 0 && tallies->list.items[kinds - 1].distance_ms == tally->distance_ms)
            tallies->list.items[kinds - 1].count += tally->count;
        else
            tallies->list.items[kinds++] = *tally;
    }
    tallies->list.count = kinds;
}

void steps_tallies_clear(struct steps_tallies *tallies)
{
    array_clear(&tallies->list);
    tallies->count = 0;
}

static size_t count_of(const struct steps_tallies *tallies, int64_t distance_ms)
{
    for (size_t low = 0, high = tallies->list.count; low < high;) {
        size_t middle = low + (high - low) / 2;
        const struct steps_tally *tally = &tallies->list.items[middle];

        if (tally->distance_ms == distance_ms)
            return tally->count;
        if (tally->distance_ms < distance_ms)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* The distance that most neighbours keep, the shortest of equals. */
static struct steps_tally most_common(const struct steps_tallies *tallies)
{
    struct steps_tally best = { 0 };

    for (size_t i = 0; i < tallies->list.count; i++)
        if (tallies->list.items[i].count > best.count)
            best = tallies->list.items[i];
    return best;
}

int64_t steps_divisor(int64_t left, int64_t right)
{
    while (right != 0) {
        int64_t rest = left % right;

        left = right;
        right = rest;
    }
    return left;
}

/* In sparse rows most neighbours are more than a step apart.  The step is then the common divisor
   of all distances, if any distance equals it or sparse rows were announced.  A few rows off the
   grid do not make sparse rows. */
int64_t steps_base(const struct steps_tallies *tallies, bool is_sparse, int64_t *ret_divisor)
{
    struct steps_tally common = most_common(tallies);
    int64_t divisor = 0;
    size_t off = 0;

    for (size_t i = 0; i < tallies->list.count; i++) {
        const struct steps_tally *tally = &tallies->list.items[i];

        divisor = steps_divisor(divisor, tally->distance_ms);
        off += tally->distance_ms % common.distance_ms != 0 ? tally->count : 0;
    }
    *ret_divisor = divisor;
    if (divisor < SECOND_MS || 2 * common.count > tallies->count || 10 * off < tallies->count)
        return common.distance_ms;
    return is_sparse || count_of(tallies, divisor) > 0 ? divisor : common.distance_ms;
}

/* Whether more distances of that size follow each other than chance explains.  RUN_MIN is the
   least run, because a distance that is rare in the whole file may be common in a part of it. */
static bool is_believed(const struct view *view, int64_t distance_ms, size_t run)
{
    double share = (double)count_of(&view->tallies, distance_ms) / (double)view->count;

    return run >= RUN_MIN && (double)run * log(share) + log((double)view->count) < log(chance_max);
}

/* Old data in longer steps begins a file, and sums of the last hours end one; elsewhere outages
   are, unless hardly any other row is missing. There shorter runs are believed: the more steps a
   distance has, the fewer of them.  Of sparse rows, too, several follow each other five minutes
   apart. */
static bool is_short_run(const struct view *view, int64_t distance_ms, size_t first, size_t end)
{
    size_t run = end - first;
    size_t based = count_of(&view->tallies, view->base);
    double steps = (double)distance_ms / (double)view->base;
    bool is_edge = first == 0 || end == view->count;
    bool is_whole = WHOLE_PARTS * (view->count - based - run) <= view->count;

    return ((is_edge && run >= EDGE_RUN_MIN) || (is_whole && run >= WHOLE_RUN_MIN)) &&
           distance_ms % view->base == 0 && (double)run * log2(steps) >= SHORT_BITS_MIN &&
           2 * based > view->count;
}

static void add_era(struct steps *steps, int64_t from_ms, int64_t step_ms)
{
    if (steps->eras.count > 0 && steps->eras.items[steps->eras.count - 1].step_ms == step_ms)
        return;
    *array_add(&steps->eras) = (struct steps_era){ from_ms, step_ms };
}

/* The era of each distance's first row. */
static void find_eras(const struct view *view, struct steps *steps)
{
    int64_t step = 0;

    for (size_t i = 0; i < view->count;) {
        int64_t here = distance(view, i);
        size_t end = i + 1;

        while (end < view->count && distance(view, end) == here)
            end++;
        if (is_step(here, view->base))
            step = view->base;
        else if (is_believed(view, here, end - i) ||
                 (!view->is_sparse && is_short_run(view, here, i, end)))
            step = here;
        else if (step == 0 || here < step || !is_multiple(here, step))
            step = view->base;
        add_era(steps, view->times[i], step);
        i = end;
    }
}

static struct steps_problem check_eras(struct steps *steps)
{
    int64_t finest = INT64_MAX;

    for (size_t i = 0; i < steps->eras.count; i++)
        if (steps->eras.items[i].step_ms < finest)
            finest = steps->eras.items[i].step_ms;
    if (finest < SECOND_MS)
        return (struct steps_problem){ STEPS_SHORT, steps->eras.items[0].from_ms, finest, 0 };
    steps->step_ms = finest > HOUR_MS ? HOUR_MS : finest;
    for (size_t i = 0; i < steps->eras.count; i++) {
        const struct steps_era *era = &steps->eras.items[i];

        if (era->step_ms > DAY_MS + HOUR_MS)
            return (struct steps_problem){ STEPS_LONG, era->from_ms, era->step_ms, 0 };
        if (era->step_ms % steps->step_ms != 0)
            return (struct steps_problem){ STEPS_UNEVEN, era->from_ms, era->step_ms,
                                           steps->step_ms };
    }
    return (struct steps_problem){ 0 };
}

/* No row begins before the end of the previous one, or off its era's grid. */
static struct steps_problem check_times(const struct view *view, const struct steps *steps)
{
    size_t at = 0;

    for (size_t i = 0; i < view->count; i++) {
        int64_t next = view->times[i + 1];
        int64_t here = distance(view, i);
        bool is_last;

        while (at + 1 < steps->eras.count && steps->eras.items[at + 1].from_ms <= view->times[i])
            at++;
        is_last = at + 1 < steps->eras.count && steps->eras.items[at + 1].from_ms == next;

        int64_t step = steps->eras.items[at].step_ms;

        if ((here < step && !is_step(here, step)) ||
            !is_multiple(here, is_last ? steps->step_ms : step))
            return (struct steps_problem){ STEPS_OFF, next, step, 0 };
    }
    return (struct steps_problem){ 0 };
}

/* Half of the distances are as long or shorter. */
static int64_t median_distance(const struct steps_tallies *tallies)
{
    size_t count = 0;
    size_t at = 0;

    for (; at + 1 < tallies->list.count; at++) {
        count += tallies->list.items[at].count;
        if (2 * count >= tallies->count)
            break;
    }
    return tallies->list.items[at].distance_ms;
}

/* More than half of the step, and less than one and a half. */
static bool is_about(int64_t distance_ms, int64_t step_ms)
{
    return 2 * distance_ms > step_ms && 2 * distance_ms < 3 * step_ms;
}

static bool keeps(int64_t distance_ms, int64_t step_ms)
{
    return is_step(distance_ms, step_ms) || distance_ms % step_ms == 0;
}

/* Where silence leaves out steps, distances are of many lengths, or multiples of a longer step. */
static bool do_wander(const struct steps_tallies *tallies, int64_t step_ms)
{
    int64_t divisor = 0;
    size_t off = 0;
    size_t far = 0;

    for (size_t i = 0; i < tallies->list.count; i++) {
        const struct steps_tally *tally = &tallies->list.items[i];

        divisor = steps_divisor(divisor, tally->distance_ms);
        if (keeps(tally->distance_ms, step_ms))
            continue;
        if (is_about(tally->distance_ms, step_ms))
            off += tally->count;
        else
            far += tally->count;
    }
    return off >= WANDER_MIN && off >= 9 * far && WANDER_PARTS * divisor <= step_ms;
}

int64_t steps_wander(const int64_t *times, size_t count, int64_t *ret_ms)
{
    struct steps_tallies tallies = { 0 };
    int64_t step = 0;
    size_t first = 1;

    steps_count(times, count, &tallies);
    if (tallies.count > 0)
        step = median_distance(&tallies);
    step = step < MINUTE_MS ? (step + SECOND_MS / 2) / SECOND_MS * SECOND_MS
                            : (step + MINUTE_MS / 2) / MINUTE_MS * MINUTE_MS;
    if (step > 0 && !do_wander(&tallies, step))
        step = 0;
    steps_tallies_clear(&tallies);
    while (step > 0 && keeps(times[first] - times[first - 1], step))
        first++;
    *ret_ms = times[first < count ? first : 0];
    return step;
}

struct steps_problem steps_find(const int64_t *times, size_t count, bool is_sparse,
                                struct steps *ret)
{
    struct view view = { .times = times, .count = count - 1, .is_sparse = is_sparse };
    struct steps_problem problem;
    int64_t divisor;

    *ret = (struct steps){ 0 };
    if (count < 2)
        return (struct steps_problem){ STEPS_ALONE, count > 0 ? times[0] : 0, 0, 0 };
    steps_count(times, count, &view.tallies);
    view.base = steps_base(&view.tallies, is_sparse, &divisor);
    ret->is_sparse = 2 * most_common(&view.tallies).count <= view.count;
    find_eras(&view, ret);
    problem = check_eras(ret);
    if (problem.fault == STEPS_FINE)
        problem = check_times(&view, ret);
    steps_tallies_clear(&view.tallies);
    return problem;
}

void steps_clear(struct steps *steps)
{
    array_clear(&steps->eras);
}

int64_t steps_cover(const struct steps *steps, size_t *at, int64_t ms, int64_t until_ms)
{
    int64_t step;

    while (*at + 1 < steps->eras.count && steps->eras.items[*at + 1].from_ms <= ms)
        (*at)++;
    step = steps->eras.items[*at].step_ms;
    return step > HOUR_MS && is_step(until_ms, step) ? until_ms : step;
}
