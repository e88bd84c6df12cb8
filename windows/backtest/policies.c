/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * All but the reactive one plan a number for each window, which stands for a week or for a day.
 */
#include "windows/backtest/policies.h"

#include "base/progress.h"
#include "windows/backtest/oracle.h"
#include "windows/backtest/oracle_engines.h"

#include <math.h>

enum {
    IN_STABLE_SLOTS = 3, /* what a scaler waits before it shrinks: 15 min */
    REPAIRS = 25,        /* of an oracle's windows, */
    RAISE_PARTS = 100,   /* by a hundredth each time */
    WEEK_SLOTS = (int)(WEEK_MS / JUDGE_SLOT_MS),
};

static const double tolerance = 0.1; /* of a scaler: smaller changes are left */

static int plan_static(const struct field *field, double level, int *servers, struct error *err);
static int plan_proportional(const struct field *field, double level, int *servers,
                             struct error *err);
static int plan_square_root(const struct field *field, double level, int *servers,
                            struct error *err);
static int plan_reactive(const struct field *field, double level, int *servers, struct error *err);
static int plan_deckard(const struct field *field, double level, int *servers, struct error *err);
static int plan_weekly(const struct field *field, double level, int *servers, struct error *err);
static int plan_daily(const struct field *field, double level, int *servers, struct error *err);
static int plan_follow(const struct field *field, double level, int *servers, struct error *err);
static int plan_oracle_windows(const struct field *field, double level, int *servers,
                               struct error *err);
static int plan_oracle(const struct field *field, double level, int *servers, struct error *err);

/* clang-format off */
const struct policy policies[] = {
    { "static-peak", "all week as many as the neediest window of all past weeks needed",
      "factor", { 0.6, 0.8, 1, 1.2 }, 4, 2,
      .is_planned = true, .plan = plan_static },
    { "proportional", "a window's mean load of last week at a fixed utilisation",
      "utilisation", { 0.9, 0.8, 0.7, 0.6, 0.5, 0.45, 0.4, 0.35, 0.3, 0.2 }, 10, 2,
      .is_tuned = true, .is_planned = true, .plan = plan_proportional },
    { "square-root", "that load and beta times its root",
      "beta", { 0, 1, 2, 3, 4, 6, 8, 12, 18 }, 9, 2,
      .is_tuned = true, .is_planned = true, .plan = plan_square_root },
    { "reactive", "the load of the last five minutes at a target utilisation, late by the lead time",
      "utilisation", { 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2 }, 8, 2,
      .is_tuned = true, .plan = plan_reactive },
    { "deckard", "what each window needed last week, the worst of 8 seeds",
      "factor", { 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.6, 2, 3 }, 9, 1,
      .is_last_week = true, .is_planned = true, .plan = plan_deckard },
    { "sluice", "a week's windows for bounds of the forecast that share out the misses, searched",
      "misses", OUTLOOK_LEVELS, OUTLOOK_LEVEL_COUNT, 8,
      .is_share = true, .is_planned = true, .plan = plan_weekly },
    { "sluice-daily", "the same for each next day alone, planned every night",
      "misses", OUTLOOK_LEVELS, OUTLOOK_LEVEL_COUNT, 10,
      .is_share = true, .outlook = OUTLOOK_NIGHTLY, .is_planned = true, .plan = plan_daily },
    { "sluice-follow", "the nightly plan, each window once more shortly before it begins, and each hour",
      "misses", OUTLOOK_LEVELS, OUTLOOK_LEVEL_COUNT, 10,
      .is_share = true, .outlook = OUTLOOK_FOLLOW, .is_again = true, .is_planned = true, .plan = plan_follow },
    { "windowed-oracle", "what each window will need",
      NULL, { 1 }, 1, 0,
      .is_oracle = true, .is_planned = true, .plan = plan_oracle_windows },
    { "oracle", "nearly the fewest servers for each five minutes that meet every target",
      NULL, { 1 }, 1, 0,
      .is_oracle = true, .is_planned = true, .plan = plan_oracle },
    { 0 },
};
/* clang-format on */

size_t policies_count(void)
{
    return COUNT_OF(policies) - 1;
}

size_t policies_level(const struct policy *policy, double attainment)
{
    return policy->is_share ? outlook_chosen(policy->outlook, 1 - attainment) : policy->chosen;
}

size_t policies_oracle(void)
{
    return COUNT_OF(policies) - 2;
}

void policies_known(const struct policy *policy, const struct field *field, size_t *ret_known)
{
    const struct course *course = field->course;
    const struct outlook *follow = &field->outlooks[OUTLOOK_FOLLOW];

    for (size_t i = 0; i < course->spans.count; i++) {
        const struct course_span *span = &course->spans.items[i];
        size_t made = policy->is_oracle
                          ? 0
                          : course_slot_from(course, outlook_made(policy->outlook, field, span));
        size_t first;
        size_t end;

        course_slots_of(course, span, &first, &end);
        for (size_t slot = first; slot < end; slot++)
            ret_known[slot] = made;
        for (size_t look = 0; policy->is_again && look < outlook_looks(follow, i); look++)
            for (size_t slot = outlook_look_slot(field, span, look); slot < end; slot++)
                ret_known[slot] = course_slot_from(course, outlook_look_made(span, look));
    }
}

static void fill(const struct course *course, const struct course_span *span, int number,
                 int *servers)
{
    size_t first;
    size_t end;

    course_slots_of(course, span, &first, &end);
    for (size_t slot = first; slot < end; slot++)
        servers[slot] = number > 0 ? number : 0;
}

/* Every span of a week gets its window's number. */
static void fill_week(const struct course *course, size_t week, const int *numbers, int *servers)
{
    for (size_t i = 0; i < course->spans.count; i++)
        if (course->spans.items[i].week == week)
            fill(course, &course->spans.items[i], numbers[course->spans.items[i].window], servers);
}

/* Windows begin in the week before, too: the first hours of week 1 may be of one. */
static void fill_begin(const struct course *course, int *servers)
{
    size_t span = 0;
    size_t first;
    size_t end;

    while (course->spans.items[span].week == 0)
        span++;
    course_slots_of(course, &course->spans.items[span], &first, &end);
    for (size_t slot = 0; slot < first; slot++)
        servers[slot] = servers[first];
}

static int plan_static(const struct field *field, double level, int *servers, struct error *err)
{
    const struct course *course = field->course;
    const struct course_span *spans = course->spans.items;
    size_t over = 0; /* spans that ended before the week */
    int most = 0;

    (void)err;
    for (size_t i = 0; i < course->spans.count; i++) {
        struct wall_time origin = course_week(course, spans[i].week);

        for (; spans[over].time.end.ms <= origin.ms; over++)
            most = field->needs[over] > most ? field->needs[over] : most;
        if (spans[i].week > 0)
            fill(course, &spans[i], (int)ceil(level * most), servers);
    }
    fill_begin(course, servers);
    return 0;
}

/* The number of each window from its load in the week before; `places`: requests that a server
   serves at once. */
typedef double number_fn(double load, int places, double level);

static int plan_by_load(const struct field *field, double level, number_fn *number, int *servers)
{
    const struct course *course = field->course;
    int places = engine_places(field->service->engine);
    size_t windows = course->set->weekly_count;
    int *numbers = mem_new_array(windows, sizeof *numbers);

    for (size_t week = 1; week < course->weeks; week++) {
        for (size_t window = 0; window < windows; window++) {
            owned(segments) struct segment_list segments = { 0 };

            field_past(field, window, course_week(course, week), &segments);
            numbers[window] = (int)ceil(number(field_load(field, &segments), places, level));
        }
        fill_week(course, week, numbers, servers);
    }
    mem_free(numbers);
    fill_begin(course, servers);
    return 0;
}

static double at_utilisation(double load, int places, double level)
{
    (void)places;
    return load / level;
}

static double with_root(double load, int places, double level)
{
    return load + level * sqrt(load / places);
}

static int plan_proportional(const struct field *field, double level, int *servers,
                             struct error *err)
{
    (void)err;
    return plan_by_load(field, level, at_utilisation, servers);
}

static int plan_square_root(const struct field *field, double level, int *servers,
                            struct error *err)
{
    (void)err;
    return plan_by_load(field, level, with_root, servers);
}

/* Whether anything arrived in week 0. */
static bool begins_busy(const struct field *field)
{
    owned(segments) struct segment_list segments = { 0 };

    segments_of_series(field->queue->series,
                       (struct wall_span){ course_week(field->course, 0), field->course->begin },
                       &segments);
    return field_load(field, &segments) > 0;
}

/* The servers that a scaler asks for in each slot, from the data before that slot: one at least, as
   long as anything arrived in the last seven days. */
static void ask_in_turn(const struct field *field, double level, int *asked)
{
    const struct course *course = field->course;
    size_t busy_until = begins_busy(field) ? WEEK_SLOTS : 0;
    int recent[IN_STABLE_SLOTS] = { 1, 1, 1 };
    int now = 0;

    for (size_t slot = 0; slot < course->slots; slot++) {
        double load = field_recent_load(field, course_slot(course, slot));
        int most = 1;

        recent[slot % IN_STABLE_SLOTS] = load < 0 ? now : (int)ceil(load / level);
        for (int i = 0; i < IN_STABLE_SLOTS; i++)
            most = recent[i] > most ? recent[i] : most;
        if (recent[slot % IN_STABLE_SLOTS] > now * (1 + tolerance))
            now = recent[slot % IN_STABLE_SLOTS];
        else if (most < now * (1 - tolerance))
            now = most;
        if (load > 0)
            busy_until = slot + WEEK_SLOTS;
        now = slot < busy_until ? now : 0;
        asked[slot] = slot < busy_until && now < 1 ? 1 : now;
    }
}

/* An increase counts once it was asked for during the whole lead time; a decrease at once. */
static int plan_reactive(const struct field *field, double level, int *servers, struct error *err)
{
    const struct course *course = field->course;
    size_t late = (size_t)((field->up_ms + JUDGE_SLOT_MS - 1) / JUDGE_SLOT_MS);
    int *asked = mem_new_array(course->slots, sizeof *asked);

    (void)err;
    ask_in_turn(field, level, asked);
    for (size_t slot = 0; slot < course->slots; slot++) {
        servers[slot] = asked[slot];
        for (size_t ago = 1; ago <= late && ago <= slot; ago++)
            servers[slot] = asked[slot - ago] < servers[slot] ? asked[slot - ago] : servers[slot];
    }
    mem_free(asked);
    return 0;
}

static int plan_deckard(const struct field *field, double level, int *servers, struct error *err)
{
    const struct course *course = field->course;
    size_t windows = course->set->weekly_count;
    int *numbers = mem_new_array(windows, sizeof *numbers);

    (void)err;
    for (size_t week = 1; week < course->weeks; week++) {
        for (size_t window = 0; window < windows; window++)
            numbers[window] = (int)ceil(level * field->last_week[week * windows + window]);
        fill_week(course, week, numbers, servers);
    }
    mem_free(numbers);
    fill_begin(course, servers);
    return 0;
}

static void plan_outlook(const struct field *field, const struct outlook *outlook, double misses,
                         int *servers)
{
    const struct course *course = field->course;
    size_t level = outlook_level(misses);

    for (size_t i = 0; i < course->spans.count; i++)
        if (course->spans.items[i].week > 0)
            fill(course, &course->spans.items[i], outlook_number(outlook, field, level, i),
                 servers);
    fill_begin(course, servers);
}

static int plan_weekly(const struct field *field, double level, int *servers, struct error *err)
{
    (void)err;
    plan_outlook(field, &field->outlooks[OUTLOOK_WEEKLY], level, servers);
    return 0;
}

static int plan_daily(const struct field *field, double level, int *servers, struct error *err)
{
    (void)err;
    plan_outlook(field, &field->outlooks[OUTLOOK_NIGHTLY], level, servers);
    return 0;
}

/* The rest of each span gets the number of its last look. */
static void plan_again(const struct field *field, const struct outlook *outlook, double misses,
                       int *servers)
{
    const struct course *course = field->course;
    size_t level = outlook_level(misses);

    for (size_t i = 0; i < course->spans.count; i++) {
        const struct course_span *span = &course->spans.items[i];
        size_t first;
        size_t end;

        course_slots_of(course, span, &first, &end);
        for (size_t look = 0; span->week > 0 && look < outlook_looks(outlook, i); look++) {
            int number = outlook_number_again(outlook, field, level, i, look);

            for (size_t slot = outlook_look_slot(field, span, look); slot < end; slot++)
                servers[slot] = number > 0 ? number : 0;
        }
    }
}

static int plan_follow(const struct field *field, double level, int *servers, struct error *err)
{
    (void)err;
    plan_outlook(field, &field->outlooks[OUTLOOK_FOLLOW], level, servers);
    plan_again(field, &field->outlooks[OUTLOOK_FOLLOW], level, servers);
    return 0;
}

/* More servers for each span that has a part in a window occurrence which missed its target. */
static void raise_spans(const struct course *course, const struct wall_span *missed, int *servers)
{
    for (size_t i = 0; i < course->spans.count; i++) {
        const struct course_span *span = &course->spans.items[i];
        size_t first;
        size_t end;

        course_slots_of(course, span, &first, &end);
        if (first < end && span->time.begin.ms < missed->end.ms &&
            span->time.end.ms > missed->begin.ms)
            fill(course, span, servers[first] + 1 + servers[first] / RAISE_PARTS, servers);
    }
}

/* The number that a window needs alone may not suffice after a busier window.  Windows that fail
   get more servers. */
static int plan_oracle_windows(const struct field *field, double level, int *servers,
                               struct error *err)
{
    const struct course *course = field->course;
    struct search_setup setup = field_truth(field, field->whole);
    owned(arrivals) struct arrivals *arrivals = search_arrivals(&setup, 0, err);
    struct judge_plan plan = { course_slot(course, 0), servers, course->slots };
    struct judge_score *scores = mem_new_array(field->judged_count, sizeof *scores);
    bool is_met = !arrivals;

    (void)level;
    for (size_t i = 0; i < course->spans.count; i++)
        fill(course, &course->spans.items[i], field->needs[i], servers);
    for (int turn = 0; !is_met && turn < REPAIRS; turn++) {
        is_met = true;
        judge(&(struct judge_setup){ arrivals, &setup.target, field->judged, field->judged_count },
              &plan, scores);
        for (size_t i = 0; i < field->judged_count; i++)
            if (!scores[i].is_met) {
                is_met = false;
                raise_spans(course, &field->judged[i], servers);
            }
    }
    mem_free(scores);
    return arrivals ? 0 : -1;
}

/* Replicas of engines follow the load of each slot within what its window needs. */
static int plan_oracle_engines(const struct field *field, int *servers, struct error *err)
{
    struct search_setup setup = field_truth(field, field->whole);
    owned(arrivals) struct arrivals *arrivals = search_arrivals(&setup, 0, err);

    if (!arrivals || plan_oracle_windows(field, 1, servers, err) < 0)
        return -1;
    oracle_engines(field, arrivals, servers);
    return 0;
}

struct oracle_told {
    const struct field *field;
    double share;
};

static void tell_oracle(void *context, double share)
{
    struct oracle_told *told = context;

    progress_within(told->field->progress, (share - told->share) * told->field->oracle_expected);
    told->share = share;
}

static int plan_oracle(const struct field *field, double level, int *servers, struct error *err)
{
    if (field->service->engine)
        return plan_oracle_engines(field, servers, err);

    struct search_setup setup = field_truth(field, field->whole);
    owned(arrivals) struct arrivals *arrivals = search_arrivals(&setup, 0, err);
    struct oracle_told told = { field, 0 };
    struct oracle_setup oracle = { .arrivals = &arrivals,
                                   .repetitions = 1,
                                   .target = setup.target,
                                   .spans = field->judged,
                                   .span_count = field->judged_count,
                                   .begin = course_slot(field->course, 0),
                                   .slots = field->course->slots,
                                   .tell = field->progress ? tell_oracle : NULL,
                                   .context = &told };
    int result = arrivals ? oracle_staffing(&oracle, servers, err) : -1;

    (void)level;
    if (field->progress)
        progress_within(field->progress, -told.share * field->oracle_expected);
    return result;
}
