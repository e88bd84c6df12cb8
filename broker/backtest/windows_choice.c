/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each trial proposes its windows from what lies before the weeks that it plays, as the chosen
 * number of windows is then proposed from what lies before the weeks that are judged.
 */
#include "broker/backtest/windows_choice.h"

#include "base/text.h"
#include "broker/sizing/backtest_windows.h"
#include "windows/backtest/equal.h"
#include "windows/calendar/segment.h"

#include <math.h>

enum {
    WEEK_DAYS = 7,
    WEEKS_PLAYED = 4,      /* at most; the newest */
    ENOUGH_NODES = 1 << 16 /* which cut no plan */
};

static const size_t sizes[WINDOWS_TRIALS] = { 0, 6, 8, 12, 24 };

static const char player[] = "sluice-daily";

static const double worth = 0.98; /* other windows have to take fewer hours than this share */

struct trials {
    struct backtest_setup setup; /* ends where the judged weeks begin */
    struct progress_report report;
    struct wall_time first; /* of the weeks that are played */
};

static unsigned bit_of_player(void)
{
    size_t policy = 0;

    while (!text_equal(policies[policy].name, player))
        policy++;
    return 1u << policy;
}

/* NULL: windows cannot be proposed, or nothing of these weeks can be judged. */
static struct backtest *play(const struct trials *trials, size_t windows)
{
    const struct backtest_past past = { trials->setup.queues, trials->setup.queue_count,
                                        trials->setup.judged, trials->first };
    owned(window_set) struct window_set *proposed = NULL;
    struct backtest_setup setup = trials->setup;
    struct error err = { 0 };

    if (windows > 0) {
        proposed = backtest_windows(&past, windows, &err);
        setup.planned = proposed;
    }
    return setup.planned ? backtest_run(&setup, &err) : NULL;
}

static void try_size(const struct trials *trials, size_t at, struct windows_choice *choice)
{
    struct windows_trial *trial = &choice->trials[at];
    owned(backtest) struct backtest *backtest = play(trials, sizes[at]);
    double hours;

    if (!backtest || backtest->rows[0].tuned.spans == 0)
        return;
    trial->is_played = true;
    if (at == 0)
        choice->weeks = backtest_weeks(backtest);
    if (equal_hours(&backtest->rows[0], trials->setup.attainment, &hours))
        trial->hours = hours / backtest_counted_weeks(backtest);
    if (trial->hours < choice->trials[choice->chosen].hours)
        choice->chosen = at;
}

/* Without a week to play. */
static void take_regular(const struct backtest_setup *setup, struct wall_time first,
                         struct windows_choice *choice)
{
    const struct backtest_past past = { setup->queues, setup->queue_count, setup->judged, first };

    choice->regularity = backtest_regularity(&past);
    if (100 * choice->regularity >= WINDOWS_REGULAR)
        choice->chosen = WINDOWS_TRIALS - 1;
}

static void play_all(const struct trials *trials, struct windows_choice *choice)
{
    struct progress progress;

    progress_init(&progress, &trials->report, WINDOWS_TRIALS);
    progress_begin(&progress, "choosing windows", WINDOWS_TRIALS);
    for (size_t at = 0; at < WINDOWS_TRIALS; at++) {
        if (at == 0 || isfinite(choice->trials[0].hours))
            try_size(trials, at, choice);
        progress_item(&progress, 1);
    }
    progress_clear(&progress);
    if (choice->trials[choice->chosen].hours >= worth * choice->trials[0].hours)
        choice->chosen = 0;
}

void windows_choose(const struct backtest_setup *setup, struct wall_time first,
                    struct windows_choice *ret_choice)
{
    size_t weeks = setup->first_week;
    size_t played = weeks - 1 < WEEKS_PLAYED ? weeks - 1 : WEEKS_PLAYED;
    struct trials trials = { *setup, setup->report, first };

    require(weeks > 0 && setup->queue_count > 0);
    *ret_choice = (struct windows_choice){ 0 };
    for (size_t at = 0; at < WINDOWS_TRIALS; at++)
        ret_choice->trials[at] = (struct windows_trial){ sizes[at], false, HUGE_VAL };
    if (played == 0) {
        take_regular(setup, first, ret_choice);
        return;
    }
    trials.setup.planned = setup->judged;
    trials.setup.end = first;
    trials.setup.first_week = weeks - played;
    trials.setup.fleet.nodes = ENOUGH_NODES;
    trials.setup.played = bit_of_player();
    trials.setup.report = (struct progress_report){ 0 };
    trials.first = segments_days_before(setup->judged->zone, first, (int)played * WEEK_DAYS);
    play_all(&trials, ret_choice);
}
