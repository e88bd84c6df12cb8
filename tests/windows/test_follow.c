/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Plans that are made shortly before each window: what a backtest judges is what ships, and neither
 * knows more than what was known when it was made.
 */
#include "base/input/yaml.h"
#include "base/text.h"
#include "tests/windows/backtest_world.h"
#include "windows/backtest/allotment.h"
#include "windows/backtest/run.h"
#include "windows/forecast/forecast_parts.h"
#include "windows/forecast/forecast_share.h"
#include "windows/forecast/origins.h"

#include <string.h>

enum { QUEUES = 2, WEEKS = 5, FOLLOW_STEPS = WEEKS * WEEK_STEPS };

static const char from_half_past[] = "early: { days: mon-sun, from: 0:30, to: 8:00 }\n"
                                     "noon: { days: mon-sun, from: 8:00, to: 14:00 }\n"
                                     "late: { days: mon-sun, from: 14:00, to: 0:30 }\n";
static const char from_midnight[] = "early: { days: mon-sun, from: 0:00, to: 8:00 }\n"
                                    "noon: { days: mon-sun, from: 8:00, to: 14:00 }\n"
                                    "late: { days: mon-sun, from: 14:00, to: 0:00 }\n";

/* Two queues on one fleet, of which the second is wild. */
struct pair {
    int64_t lead_ms;
    struct world worlds[QUEUES];
    struct course course;
    struct field fields[QUEUES];
};

static struct window_set *windows_of(const char *text)
{
    owned(yaml_document) struct yaml_document *document =
        text ? yaml_parse(text, strlen(text), "windows", NULL) : NULL;
    struct window_set *set = window_set_read(document ? yaml_root(document) : NULL,
                                             time_zone_open("UTC", NULL), NULL);

    assert_non_null(set);
    return set;
}

static void make_wild(struct demand_series *series)
{
    for (size_t i = 0; i < series->count; i++) {
        struct random random;

        random_seed(&random, random_mix(8, "wild", i / 12, 0));
        series->counts[DEMAND_LOW][i] = (int32_t)(series->counts[DEMAND_LOW][i] *
                                                  exp(0.4 * random_normal(&random)));
    }
}

static void pair_init(struct pair *pair, const char *windows)
{
    struct error err = { 0 };

    *pair = (struct pair){ .lead_ms = HOUR_MS };
    for (size_t i = 0; i < QUEUES; i++) {
        world_init_from(&pair->worlds[i], monday_ms, FOLLOW_STEPS);
        window_set_free(pair->worlds[i].set);
        pair->worlds[i].set = windows_of(windows);
    }
    make_wild(&pair->worlds[1].series);
    assert_int_equal(course_init(&pair->course, pair->worlds[0].set, pair->worlds[0].series.start,
                                 pair->worlds[0].setup.end, &err),
                     0);
}

static void pair_clear(struct pair *pair)
{
    for (size_t i = 0; i < QUEUES; i++)
        world_clear(&pair->worlds[i]);
    course_clear(&pair->course);
}

/* What a backtest wants of both, asked for 95 %. */
static void foretell(struct pair *pair)
{
    for (size_t i = 0; i < QUEUES; i++) {
        struct field *field = &pair->fields[i];

        *field =
            (struct field){ .seed = 1, .seeds = 1, .misses = 0.05, .follow_ms = pair->lead_ms };
        field->judged_count = pair->course.spans.count;
        field_init(field, &pair->worlds[i].queue, &pair->course);
        for (int kind = OUTLOOK_NIGHTLY; kind < OUTLOOKS; kind++)
            outlook_foretell(&field->outlooks[kind], field);
    }
    allotment_make(pair->fields, QUEUES, OUTLOOK_FOLLOW);
}

static void forget(struct pair *pair)
{
    for (size_t i = 0; i < QUEUES; i++)
        field_clear(&pair->fields[i]);
}

/* Servers that the backtest's plan wants in a span, in closed form. */
static double wanted(const struct pair *pair, size_t queue, size_t level, size_t span)
{
    return pair->fields[queue]
        .outlooks[OUTLOOK_FOLLOW]
        .wanted[level * pair->course.spans.count + span];
}

static size_t chosen(const struct pair *pair)
{
    return pair->fields[0].outlooks[OUTLOOK_FOLLOW].chosen;
}

/* What `allocate --forecast --follow 1h --attainment 95` scales to, with demand until the lead
   before that span, or with --again, until so long after it has begun. */
static void ship(const struct pair *pair, size_t span, int64_t again_ms, double servers[QUEUES])
{
    const struct course_span *at = &pair->course.spans.items[span];
    struct forecast_share items[QUEUES];

    for (size_t i = 0; i < QUEUES; i++) {
        items[i].setup = field_forecast_setup(&pair->fields[i]);
        items[i].setup.horizon_days = 1;
        items[i].setup.lead_ms = pair->lead_ms;
        items[i].setup.again_ms = again_ms;
        items[i].setup.end.ms = at->time.begin.ms + (again_ms > 0 ? again_ms : -pair->lead_ms);
        items[i].forecast = forecast_past(&items[i].setup);
        items[i].gpus = pair->worlds[i].queue.gpus;
    }
    forecast_share_out(items, QUEUES, 0.95);
    for (size_t i = 0; i < QUEUES; i++) {
        servers[i] = items[i].forecast->cells[at->window].upper;
        forecast_free(items[i].forecast);
    }
}

/* The first stretch of its window on its day: further ones have the number of that. */
static bool is_first(const struct course *course, size_t span)
{
    for (size_t i = span; i-- > 0 && course->spans.items[i].day == course->spans.items[span].day;)
        if (course->spans.items[i].window == course->spans.items[span].window)
            return false;
    return true;
}

static void what_ships_is_what_was_measured(void **state)
{
    static const struct {
        const char *name;
        const char *windows;
        int64_t lead_ms;
    } rows[] = {
        { "the usual windows", NULL, HOUR_MS },
        { "a window from midnight on", from_midnight, HOUR_MS },
        { "a window from half past midnight on", from_half_past, HOUR_MS },
        { "the same, half a day before", from_half_past, 12 * (int64_t)HOUR_MS },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct pair pair;

        pair_init(&pair, rows[row].windows);
        pair.lead_ms = rows[row].lead_ms;
        foretell(&pair);
        for (size_t span = 0; span < pair.course.spans.count; span++) {
            double servers[QUEUES];

            /* The last day's night is cut by the end.  Every other day is enough. */
            if (pair.course.spans.items[span].week + 1 < WEEKS ||
                (pair.course.end_day - pair.course.spans.items[span].day) % 2 == 1 ||
                !is_first(&pair.course, span))
                continue;
            ship(&pair, span, 0, servers);
            for (size_t i = 0; i < QUEUES; i++)
                if (fabs(servers[i] / wanted(&pair, i, chosen(&pair), span) - 1) > 1e-9)
                    fail_msg("%s, span %zu, queue %zu: %.4f servers ship, %.4f were measured",
                             rows[row].name, span, i, servers[i],
                             wanted(&pair, i, chosen(&pair), span));
        }
        forget(&pair);
        pair_clear(&pair);
    }
}

/* The bound that a backtest has for the rest of a span. */
static double again(const struct pair *pair, size_t queue, size_t span, size_t look)
{
    const struct outlook *outlook = &pair->fields[queue].outlooks[OUTLOOK_FOLLOW];
    size_t share = outlook->shares[chosen(pair) * pair->course.spans.count + span];

    return outlook->again[(outlook->looks[span] + look) * SHARES + share];
}

/* Each day has a level of its own, which its hours show. */
static void make_moody(struct demand_series *series)
{
    for (size_t i = 0; i < series->count; i++)
        series->counts[DEMAND_LOW][i] = (int32_t)(series->counts[DEMAND_LOW][i] *
                                                  (1 + 0.25 * (double)(i / 48 * 7 % 5)));
}

static size_t looks_at(const struct pair *pair, size_t span)
{
    return outlook_looks(&pair->fields[0].outlooks[OUTLOOK_FOLLOW], span);
}

/* Compares what ships of a span's rest; returns how many plans differ from the first one. */
static size_t compare_rest(const struct pair *pair, size_t span, size_t look)
{
    const struct course_span *at = &pair->course.spans.items[span];
    double servers[QUEUES];
    size_t changed = 0;

    ship(pair, span, outlook_look_made(at, look).ms - at->time.begin.ms, servers);
    for (size_t i = 0; i < QUEUES; i++) {
        changed += fabs(servers[i] / wanted(pair, i, chosen(pair), span) - 1) > 0.01;
        if (fabs(servers[i] / again(pair, i, span, look) - 1) > 1e-9)
            fail_msg("span %zu, look %zu, queue %zu: %.4f servers ship, %.4f measured", span, look,
                     i, servers[i], again(pair, i, span, look));
    }
    return changed;
}

/* The rest of each window, for a queue whose days differ and for the wild one. */
static void what_ships_of_a_rest_is_what_was_measured(void **state)
{
    static const char *const windows[] = { from_midnight, from_half_past };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(windows); row++) {
        size_t looks = 0;
        size_t changed = 0;
        struct pair pair;

        pair_init(&pair, windows[row]);
        make_moody(&pair.worlds[0].series);
        foretell(&pair);
        for (size_t span = 0; span < pair.course.spans.count; span++)
            for (size_t look = 0; look < looks_at(&pair, span); look += 3) {
                const struct course_span *at = &pair.course.spans.items[span];

                if (at->week + 1 < WEEKS || (pair.course.end_day - at->day) % 2 == 1)
                    continue;
                looks += QUEUES;
                changed += compare_rest(&pair, span, look);
            }
        if (looks == 0 || changed == 0 || changed == looks)
            fail_msg("%zu of %zu looks change a plan", changed, looks);
        forget(&pair);
        pair_clear(&pair);
    }
}

/* What happens after a look at a window is not in the number of its rest. */
static void no_look_knows_the_hours_after_it(void **state)
{
    struct pair pair;
    struct pair other;

    (void)state;
    pair_init(&pair, from_midnight);
    make_moody(&pair.worlds[0].series);
    foretell(&pair);
    for (size_t span = pair.course.spans.count - 6; span < pair.course.spans.count - 3; span++) {
        const struct course_span *at = &pair.course.spans.items[span];
        size_t look = looks_at(&pair, span) / 2;
        size_t from = (size_t)((outlook_look_made(at, look).ms - monday_ms) / (30 * MINUTE_MS));

        pair_init(&other, from_midnight);
        make_moody(&other.worlds[0].series);
        for (size_t i = 0; i < QUEUES; i++)
            for (size_t step = from; step < other.worlds[i].series.count; step++)
                other.worlds[i].series.counts[DEMAND_LOW][step] *= 3;
        foretell(&other);
        for (size_t i = 0; i < QUEUES; i++)
            if (fabs(again(&pair, i, span, look) / again(&other, i, span, look) - 1) > 1e-9)
                fail_msg("span %zu, queue %zu: a look knows what comes after it", span, i);
        forget(&other);
        pair_clear(&other);
    }
    forget(&pair);
    pair_clear(&pair);
}

/* The hour before midnight is another one: the plan of a window that begins at midnight, made an
   hour before, is the same at every level. */
static void no_share_knows_the_hours_after_its_plan(void **state)
{
    struct pair pair;
    struct pair other;

    (void)state;
    pair_init(&pair, from_midnight);
    foretell(&pair);
    for (size_t span = 0; span < pair.course.spans.count; span++) {
        const struct course_span *at = &pair.course.spans.items[span];
        size_t end = (size_t)((at->time.begin.ms - monday_ms) / (30 * MINUTE_MS));

        if (at->week + 1 < WEEKS || at->time.begin.ms != at->midnight.ms)
            continue;
        pair_init(&other, from_midnight);
        for (size_t i = 0; i < QUEUES; i++)
            for (size_t step = end - 2; step < end; step++)
                other.worlds[i].series.counts[DEMAND_LOW][step] *= 9;
        foretell(&other);
        for (size_t i = 0; i < QUEUES; i++)
            for (size_t level = 0; level < OUTLOOK_LEVEL_COUNT; level++)
                if (fabs(wanted(&pair, i, level, span) - wanted(&other, i, level, span)) > 0)
                    fail_msg("span %zu, level %zu: the plan of an hour before knows that hour",
                             span, level);
        forget(&other);
        pair_clear(&other);
    }
    forget(&pair);
    pair_clear(&pair);
}

static const char with_a_lull[] = "before: { days: mon-sun, from: 0:00, to: 10:00 }\n"
                                  "lull: { days: mon-sun, from: 10:00, to: 11:10 }\n"
                                  "after: { days: mon-sun, from: 11:10, to: 0:00 }\n";

/* Nodes of a fleet in the last slot of a day's lull, which lasts that many slots from ten on, under
   a plan that needs none in it and eight servers at all other times. */
static int held_in(const struct pair *pair, const char *policy, size_t lull)
{
    const struct fleet fleet = { 1, 8, 30 * MINUTE_MS, 30 * MINUTE_MS, 2 }; /* worth 75 minutes */
    const struct run_frame frame = { &pair->course, &pair->course, pair->fields, 1 };
    struct run run;
    size_t at = 0;
    int held;

    while (!text_equal(policies[at].name, policy))
        at++;
    run_init(&run, &frame, &policies[at], 0);
    for (size_t slot = 0; slot < pair->course.slots; slot++) {
        size_t of_day = slot % (DAY_MS / JUDGE_SLOT_MS);

        run.servers[0][slot] = of_day >= 120 && of_day < 120 + lull ? 0 : 8;
    }
    run_fit(&run, &frame, &fleet);
    held = run.nodes[3 * (DAY_MS / JUDGE_SLOT_MS) + 120 + lull - 1];
    run_clear(&run, &frame);
    return held;
}

/* A node stays for what is needed soon if that is known when it would go. */
static void a_node_stays_for_what_is_planned_already(void **state)
{
    static const struct {
        const char *policy;
        const char *windows;
        size_t lull; /* slots */
        int64_t follow_ms;
        int held;
    } rows[] = {
        { "sluice", with_a_lull, 14, HOUR_MS, 1 },
        { "sluice-daily", with_a_lull, 14, HOUR_MS, 1 },
        { "windowed-oracle", with_a_lull, 14, HOUR_MS, 1 },
        { "static-peak", with_a_lull, 14, HOUR_MS, 1 },
        { "sluice-follow", with_a_lull, 14, HOUR_MS, 0 },
        { "sluice-follow", with_a_lull, 14, 70 * (int64_t)MINUTE_MS, 1 },
        { "reactive", with_a_lull, 14, HOUR_MS, 0 },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct pair pair;
        int held;

        pair_init(&pair, rows[row].windows);
        memset(pair.worlds[0].series.counts[DEMAND_LOW], 0,
               FOLLOW_STEPS * sizeof(int32_t)); /* nothing waits */
        pair.fields[0] = (struct field){ .follow_ms = rows[row].follow_ms,
                                         .without = FORECAST_AGAIN };
        field_init(&pair.fields[0], &pair.worlds[0].queue, &pair.course);
        held = held_in(&pair, rows[row].policy, rows[row].lull);
        field_clear(&pair.fields[0]);
        if (held != rows[row].held)
            fail_msg("%s: %d nodes held", rows[row].policy, held);
        pair_clear(&pair);
    }
}

/* Midnight is when a nightly plan is made: what it wants from then on keeps no node before. */
static void no_node_waits_for_a_plan_that_is_not_made(void **state)
{
    static const struct {
        const char *policy;
        size_t known; /* the first slot that knows of the next day's first */
    } rows[] = {
        { "sluice", 0 }, { "sluice-daily", 288 }, { "sluice-follow", 276 }, { "windowed-oracle", 0 }
    };
    struct pair pair;

    (void)state;
    pair_init(&pair, from_midnight);
    pair.fields[0].follow_ms = HOUR_MS;
    pair.fields[0].course = &pair.course;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        size_t *known = mem_new_array(pair.course.slots, sizeof *known);
        size_t at = 0;

        while (!text_equal(policies[at].name, rows[row].policy))
            at++;
        policies_known(&policies[at], &pair.fields[0], known);
        if (known[288] != rows[row].known)
            fail_msg("%s: known from slot %zu on", rows[row].policy, known[288]);
        mem_free(known);
    }
    pair_clear(&pair);
}

static void the_rest_of_a_window_is_of_the_occurrence_under_way(void **state)
{
    static const char all_week[] = "all: { days: mon-sun, from: '0:00', to: '24:00' }\n";
    static const char weekend[] = "week: { days: mon-fri, from: '0:00', to: '24:00' }\n"
                                  "weekend: { days: sat-sun, from: '0:00', to: '24:00' }\n";
    static const struct {
        const char *windows, *name;
        int at_h, begin_h; /* since Monday's midnight; -1: it is not in force */
    } rows[] = {
        { from_midnight, "noon", 9, 8 },
        { from_midnight, "noon", 8, 8 },
        { from_midnight, "noon", 15, -1 },
        { from_half_past, "late", 24, 14 },
        { all_week, "all", 30, 24 },
        { weekend, "weekend", 5 * 24 + 10, 5 * 24 },
        { weekend, "weekend", 6 * 24 + 10, 6 * 24 },
        { NULL, "weekday-day", 15, 8 }, /* the peak lies within it */
        { NULL, "weekday-night", 23, 20 },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct window_set *set = windows_of(rows[row].windows);
        struct wall_time at = { monday_ms + rows[row].at_h * (int64_t)HOUR_MS };
        int64_t begin_ms = rows[row].begin_h < 0 ? 0
                                                 : monday_ms + rows[row].begin_h * (int64_t)HOUR_MS;
        struct wall_time began = origins_under_way(set, rows[row].name, at);

        if (began.ms != begin_ms)
            fail_msg("%s at %d: began %lld h after", rows[row].name, rows[row].at_h,
                     (long long)((began.ms - monday_ms) / HOUR_MS));
        window_set_free(set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ships_is_what_was_measured),
        cmocka_unit_test(what_ships_of_a_rest_is_what_was_measured),
        cmocka_unit_test(no_look_knows_the_hours_after_it),
        cmocka_unit_test(the_rest_of_a_window_is_of_the_occurrence_under_way),
        cmocka_unit_test(no_share_knows_the_hours_after_its_plan),
        cmocka_unit_test(a_node_stays_for_what_is_planned_already),
        cmocka_unit_test(no_node_waits_for_a_plan_that_is_not_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
