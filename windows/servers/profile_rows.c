/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Scrapes become intervals.  An interval in which the engine stood still for a moment looks as if
 * its iterations were slower, and a scrape sees only its own moment.  The gaps between tokens see
 * all of it: iterations times the mean gap is the time in which requests ran.
 */
#include "base/memory.h"
#include "windows/servers/profile.h"

#include <math.h>
#include <stdlib.h>

static const double COLD_S = 180;      /* a new process compiles kernels and fills its caches */
static const double SPACING_MAX = 2.5; /* times the usual: scrapes were missed */
static const double BUSY_LEAST = 0.95; /* of the time, as the gaps tell it */

static const char *const drop_names[PROFILE_DROPS] = {
    [PROFILE_USED] = "used",
    [PROFILE_UNKNOWN] = "unknown",
    [PROFILE_RESTART] = "restart",
    [PROFILE_COLD] = "cold",
    [PROFILE_MISSED] = "missed",
    [PROFILE_IDLE] = "idle",
    [PROFILE_UNEXPLAINED] = "unexplained",
};

/* The state while the intervals of one instance are judged, one after the other. */
struct judge {
    double begin_s; /* of all instances */
    double usual_s; /* between two scrapes */
    double warm_s;  /* from then on the process counts */
};

const char *profile_drop_name(enum profile_drop drop)
{
    return drop_names[drop];
}

void profile_intervals_free(struct profile_intervals *intervals)
{
    if (!intervals)
        return;
    mem_free(intervals->items);
    mem_free(intervals);
}

/* Two scrapes of one process at two times. */
static bool is_pair(const struct profile_scrape *from)
{
    return from[0].instance == from[1].instance && from[1].at_s > from[0].at_s;
}

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return a < b ? -1 : a > b;
}

/* The median; 0 of none. */
static double usual_spacing_s(const struct profile_scrape *scrapes, size_t count)
{
    double *seconds = mem_new_array(count, sizeof *seconds);
    double usual = 0;
    size_t pairs = 0;

    for (size_t i = 0; i + 1 < count; i++)
        if (is_pair(&scrapes[i]))
            seconds[pairs++] = scrapes[i + 1].at_s - scrapes[i].at_s;
    qsort(seconds, pairs, sizeof *seconds, compare_numbers);
    if (pairs > 0)
        usual = seconds[pairs / 2];
    mem_free(seconds);
    return usual;
}

static bool tells_a_method(const double *growth)
{
    return (!isnan(growth[PROFILE_ITERATIONS]) && !isnan(growth[PROFILE_GENERATED])) ||
           (!isnan(growth[PROFILE_GAP_SECONDS]) && !isnan(growth[PROFILE_GAPS]));
}

static bool fell(const double *growth)
{
    for (int i = 0; i < PROFILE_COUNTERS; i++)
        if (growth[i] < 0)
            return true;
    return false;
}

/* Unknown increases compare as false: a missing value is no sign of idleness here. */
static bool was_idle(const struct profile_interval *interval, const struct profile_scrape *from)
{
    const double *growth = interval->growth;
    double busy_s = growth[PROFILE_ITERATIONS] * growth[PROFILE_GAP_SECONDS] / growth[PROFILE_GAPS];

    return from[0].running_least <= 0 || from[1].running_least <= 0 ||
           growth[PROFILE_ITERATIONS] <= 0 || growth[PROFILE_GAPS] <= 0 ||
           busy_s < BUSY_LEAST * interval->seconds;
}

static enum profile_drop judge(struct judge *judge, const struct profile_interval *interval,
                               const struct profile_scrape *from)
{
    if (fell(interval->growth)) {
        judge->warm_s = from[1].at_s + COLD_S;
        return PROFILE_RESTART;
    }
    if (!tells_a_method(interval->growth) || isnan(from[0].running_least) ||
        isnan(from[1].running_least))
        return PROFILE_UNKNOWN;
    if (from[0].at_s < judge->warm_s)
        return PROFILE_COLD;
    if (interval->seconds > SPACING_MAX * judge->usual_s)
        return PROFILE_MISSED;
    return was_idle(interval, from) ? PROFILE_IDLE : PROFILE_USED;
}

/* An instance that begins later than the others is a new process. */
static void meet_instance(struct judge *judge, const struct profile_scrape *first)
{
    bool is_new = first->at_s > judge->begin_s + SPACING_MAX * judge->usual_s;

    judge->warm_s = is_new ? first->at_s + COLD_S : -INFINITY;
}

static void add_interval(struct profile_intervals *intervals, struct judge *judging,
                         const struct profile_scrape *from)
{
    struct profile_interval *interval = &intervals->items[intervals->count++];

    interval->instance = from->instance;
    interval->seconds = from[1].at_s - from[0].at_s;
    interval->running_mean = from[1].running_mean;
    for (int i = 0; i < PROFILE_COUNTERS; i++)
        interval->growth[i] = from[1].counters[i] - from[0].counters[i];
    interval->drop = judge(judging, interval, from);
}

/* If iterations and prompts are counted at all, an interval without a count of its prompts would
   add their time to that of the rest. */
static void drop_untold_prompts(struct profile_intervals *intervals)
{
    bool is_told = false;

    for (size_t i = 0; i < intervals->count; i++)
        is_told = is_told || (!isnan(intervals->items[i].growth[PROFILE_ITERATIONS]) &&
                              !isnan(intervals->items[i].growth[PROFILE_PREFILL]));
    for (size_t i = 0; i < intervals->count && is_told; i++) {
        struct profile_interval *interval = &intervals->items[i];

        if (interval->drop == PROFILE_USED && isnan(interval->growth[PROFILE_PREFILL]))
            interval->drop = PROFILE_UNKNOWN;
    }
}

struct profile_intervals *profile_intervals_new(const struct profile_scrape *scrapes, size_t count)
{
    struct profile_intervals *intervals = mem_new(sizeof *intervals);
    struct judge judging = { .begin_s = INFINITY, .usual_s = usual_spacing_s(scrapes, count) };

    intervals->items = mem_new_array(count, sizeof *intervals->items);
    for (size_t i = 0; i < count; i++) {
        if (scrapes[i].at_s < judging.begin_s)
            judging.begin_s = scrapes[i].at_s;
        if (scrapes[i].instance >= intervals->instances)
            intervals->instances = scrapes[i].instance + 1;
    }
    for (size_t i = 0; i + 1 < count; i++) {
        if (i == 0 || scrapes[i].instance != scrapes[i - 1].instance)
            meet_instance(&judging, &scrapes[i]);
        if (is_pair(&scrapes[i]))
            add_interval(intervals, &judging, &scrapes[i]);
    }
    drop_untold_prompts(intervals);
    return intervals;
}
