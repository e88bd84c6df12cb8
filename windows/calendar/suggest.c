/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The greatest need of a stretch grows as its end moves on, so all costs of one beginning are found
 * in one pass; a day of 288 slots is cut in 288^2 / 2 steps a piece.  Every beginning of the day is
 * tried, because the cut at that hour is the one that weekdays and weekends share.
 */
#include "windows/calendar/suggest.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { KINDS = 2 };

static const struct {
    unsigned days;
    int first;
    int count;
    const char *name;
} kinds[KINDS] = { { 0x1f, 0, 5, "Mondays to Fridays" }, { 0x60, 5, 2, "Saturdays and Sundays" } };

/* The arrivals a second of the slot that begins at `wall`; -1: unknown. */
static double rate_at(const struct demand_series *series, struct wall_time wall)
{
    int64_t slot_ms = SUGGEST_SLOT_MINUTES * (int64_t)MINUTE_MS;
    int64_t first = (wall.ms - series->start.ms) / series->step_ms;
    int64_t end = (wall.ms + slot_ms - series->start.ms + series->step_ms - 1) / series->step_ms;
    double count = 0;
    int64_t known = 0;

    for (int64_t step = first; step < end && step < (int64_t)series->count; step++) {
        if (!demand_is_known(series, (size_t)step))
            continue;
        known++;
        count += demand_at(series, DEMAND_HIGH, (size_t)step) +
                 (double)demand_at(series, DEMAND_LOW, (size_t)step);
    }
    return known == 0 ? -1 : count * SECOND_MS / ((double)known * (double)series->step_ms);
}

static bool is_odd(const struct odd_days *odd, const struct window_set *set, struct wall_time at)
{
    struct local_time local = time_zone_local(set->zone, at);
    int64_t day = civil_day(local.date.year, local.date.month, local.date.day);

    for (size_t i = 0; i < odd->list.count; i++)
        if (odd->list.items[i].day == day)
            return true;
    return false;
}

void suggest_rates(const struct demand_series *series, const struct window_set *set,
                   const struct odd_days *odd, double ret_rates[SUGGEST_WEEK])
{
    int64_t slot_ms = SUGGEST_SLOT_MINUTES * (int64_t)MINUTE_MS;
    struct wall_time end = demand_time(series, series->count);
    struct wall_time at = { (series->start.ms + slot_ms - 1) / slot_ms * slot_ms };

    for (size_t i = 0; i < SUGGEST_WEEK; i++)
        ret_rates[i] = -1;
    for (; at.ms < end.ms; at.ms += slot_ms) {
        size_t slot = (size_t)(window_week_minute(set, at) / SUGGEST_SLOT_MINUTES);

        if (!window_at(set, at)->event && !(odd && is_odd(odd, set, at)))
            ret_rates[slot] = fmax(ret_rates[slot], rate_at(series, at));
    }
}

/* The next known slot of a day, at every `step` slots and past midnight; -1: there is none. */
static double next_known(const double day[SUGGEST_DAY], size_t slot, size_t step)
{
    for (size_t i = 1; i < SUGGEST_DAY; i++)
        if (day[(slot + i * step) % SUGGEST_DAY] >= 0)
            return day[(slot + i * step) % SUGGEST_DAY];
    return -1;
}

/* The greatest of each slot over the days of a kind; -1: none of them knows it. */
static void most_of_kind(const double rates[SUGGEST_WEEK], int kind, double day[SUGGEST_DAY])
{
    for (size_t i = 0; i < SUGGEST_DAY; i++) {
        day[i] = -1;
        for (int at = kinds[kind].first; at < kinds[kind].first + kinds[kind].count; at++)
            day[i] = fmax(day[i], rates[(size_t)at * SUGGEST_DAY + i]);
    }
}

void suggest_join(double rates[SUGGEST_WEEK])
{
    double day[SUGGEST_DAY];

    for (int kind = 0; kind < KINDS; kind++) {
        most_of_kind(rates, kind, day);
        for (size_t i = 0; i < SUGGEST_DAY; i++) {
            double most = day[i] >= 0
                              ? day[i]
                              : fmax(next_known(day, i, SUGGEST_DAY - 1), next_known(day, i, 1));

            for (int at = kinds[kind].first; at < kinds[kind].first + kinds[kind].count; at++) {
                double *rate = &rates[(size_t)at * SUGGEST_DAY + i];

                *rate = *rate >= 0 ? *rate : most;
            }
        }
    }
}

int suggest_check(const double need[SUGGEST_WEEK], struct error *err)
{
    double day[SUGGEST_DAY];

    for (int kind = 0; kind < KINDS; kind++) {
        most_of_kind(need, kind, day);
        if (day[0] < 0 && next_known(day, 0, 1) < 0)
            return error_set(err, ERROR_INVALID,
                             "the demand says nothing of %s: give more of it; or if the export "
                             "leaves out steps without arrivals, --missing zero",
                             kinds[kind].name);
    }
    return 0;
}

/* best[k * (slots + 1) + j]: the cheapest way to cut the first j slots into k + 1 pieces; from[]:
   where its last piece begins. */
static void fill(const struct suggest_profile *profile, size_t count, double *best, size_t *from)
{
    size_t slots = profile->slots;
    size_t row = slots + 1;

    for (size_t i = 0; i < count * row; i++)
        best[i] = HUGE_VAL;
    for (size_t i = 0; i < slots; i++) {
        double level = 0;

        for (size_t j = i + 1; j <= slots; j++) {
            level = fmax(level, profile->levels[j - 1]);
            if (j - i < profile->shortest)
                continue;
            for (size_t k = 0; k < count; k++) {
                double before = k == 0 ? (i == 0 ? 0 : HUGE_VAL) : best[(k - 1) * row + i];
                double cost = before + level * (double)(j - i);

                if (cost < best[k * row + j]) {
                    best[k * row + j] = cost;
                    from[k * row + j] = i;
                }
            }
        }
    }
}

void suggest_cut(const struct suggest_profile *profile, size_t count, double *ret_costs,
                 size_t *ret_starts)
{
    size_t row = profile->slots + 1;
    double *best = mem_new_array(count * row, sizeof *best);
    size_t *from = mem_new_array(count * row, sizeof *from);
    size_t end = profile->slots;

    fill(profile, count, best, from);
    for (size_t k = 0; ret_costs && k < count; k++)
        ret_costs[k] = best[k * row + profile->slots];
    for (size_t k = count; ret_starts && k-- > 0;) {
        ret_starts[k] = from[k * row + end];
        end = ret_starts[k];
    }
    mem_free(best);
    mem_free(from);
}

/* The greatest need over the days of a kind that begin at slot `start`. */
static void make_profile(const double need[SUGGEST_WEEK], int kind, size_t start,
                         double profile[SUGGEST_DAY])
{
    for (size_t i = 0; i < SUGGEST_DAY; i++) {
        profile[i] = 0;
        for (int day = kinds[kind].first; day < kinds[kind].first + kinds[kind].count; day++)
            profile[i] = fmax(profile[i],
                              need[((size_t)day * SUGGEST_DAY + start + i) % SUGGEST_WEEK]);
    }
}

struct choice {
    double cost;
    size_t start; /* of the day */
    size_t pieces[KINDS];
};

/* The best numbers of pieces for days that begin at `start`, kept when they beat the choice. */
static void try_start(const double need[SUGGEST_WEEK], size_t count, size_t shortest, size_t start,
                      struct choice *choice)
{
    double costs[KINDS][SUGGEST_WINDOWS_MAX];
    double profile[SUGGEST_DAY];

    for (int kind = 0; kind < KINDS; kind++) {
        make_profile(need, kind, start, profile);
        suggest_cut(&(struct suggest_profile){ profile, SUGGEST_DAY, shortest }, count - 1,
                    costs[kind], NULL);
    }
    for (size_t sum = 2; sum <= count; sum++)
        for (size_t first = 1; first < sum; first++) {
            double cost = kinds[0].count * costs[0][first - 1] +
                          kinds[1].count * costs[1][sum - first - 1];

            if (cost < choice->cost * (1 - 1e-12))
                *choice = (struct choice){ cost, start, { first, sum - first } };
        }
}

static void add_windows(const double need[SUGGEST_WEEK], const struct choice *choice, int kind,
                        size_t shortest, struct suggestion *out)
{
    size_t pieces = choice->pieces[kind];
    size_t starts[SUGGEST_WINDOWS_MAX + 1];
    double profile[SUGGEST_DAY];

    make_profile(need, kind, choice->start, profile);
    suggest_cut(&(struct suggest_profile){ profile, SUGGEST_DAY, shortest }, pieces, NULL, starts);
    starts[pieces] = SUGGEST_DAY;
    for (size_t i = 0; i < pieces; i++) {
        struct suggest_window *window = &out->windows[out->count++];
        size_t from = (choice->start + starts[i]) % SUGGEST_DAY;
        size_t to = (choice->start + starts[i + 1]) % SUGGEST_DAY;

        *window = (struct suggest_window){
            .days = kinds[kind].days,
            .from_minute = (int)from * SUGGEST_SLOT_MINUTES,
            .to_minute = (int)(to == 0 ? SUGGEST_DAY : to) * SUGGEST_SLOT_MINUTES,
        };
        for (size_t at = starts[i]; at < starts[i + 1]; at++)
            window->level = fmax(window->level, profile[at]);
        /* A piece that begins after midnight belongs to the day of its minutes. */
        if (choice->start + starts[i] >= SUGGEST_DAY)
            window->days = (window->days << 1 | window->days >> 6) & 0x7f;
    }
}

struct suggestion suggest_windows(const double need[SUGGEST_WEEK], size_t count, size_t shortest)
{
    double slot_hours = SUGGEST_SLOT_MINUTES / 60.0;
    struct choice choice = { .cost = HUGE_VAL };
    struct suggestion out = { 0 };
    double peak = 0;

    require(count >= 2 && count <= SUGGEST_WINDOWS_MAX && shortest * count <= SUGGEST_DAY);
    for (size_t start = 0; start < SUGGEST_DAY; start++)
        try_start(need, count, shortest, start, &choice);
    for (int kind = 0; kind < KINDS; kind++)
        add_windows(need, &choice, kind, shortest, &out);
    for (size_t i = 0; i < SUGGEST_WEEK; i++) {
        peak = fmax(peak, need[i]);
        out.floor_hours += fmax(need[i], 0) * slot_hours;
    }
    out.hours = choice.cost * slot_hours;
    out.peak_hours = peak * SUGGEST_WEEK * slot_hours;
    return out;
}

double suggest_hours_of(const struct window_set *set, const double need[SUGGEST_WEEK])
{
    double levels[256] = { 0 };
    double sum = 0;

    for (size_t i = 0; i < WINDOW_MINUTES; i++) {
        double *level = &levels[set->at_minute[i]];

        *level = fmax(*level, need[i / SUGGEST_SLOT_MINUTES]);
    }
    for (size_t i = 0; i < WINDOW_MINUTES; i++)
        sum += levels[set->at_minute[i]] / 60;
    return sum;
}
