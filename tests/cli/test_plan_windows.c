/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Windows that are proposed for a plan (--plan-windows): they have the calendar of those that are
 * judged.
 */
#include "broker/sizing/backtest_windows.h"
#include "tests/windows/backtest_world.h"
#include "windows/calendar/calendar.h"

#include <string.h>

static const char text[] =
    "holidays: {2026-11-25: sunday, 2026-12-03: saturday}\n"
    "events:\n"
    "  launch: {from: 2026-12-01 09:00, to: 2026-12-02 18:00, multiplier: 2, queues: [chat]}\n";

static void proposed_windows_keep_the_calendar(void **state)
{
    owned(yaml_document) struct yaml_document *document = yaml_parse(text, strlen(text), "c.yaml",
                                                                     NULL);
    struct error err = { 0 };
    struct world world;

    (void)state;
    world_init(&world);
    assert_int_equal(calendar_read(world.set, yaml_get(yaml_root(document), "holidays"),
                                   yaml_get(yaml_root(document), "events"), &err),
                     0);

    const struct backtest_past past = { &world.queue, 1, world.set, world.setup.end };
    owned(window_set) struct window_set *set = backtest_windows(&past, 6, &err);

    assert_non_null(set);
    assert_in_range(set->weekly_count, 2, 6);
    for (int64_t hour = 0; hour < (int64_t)3 * 7 * 24; hour++) {
        struct wall_time at = { monday_ms + hour * HOUR_MS };
        const struct window *judged = window_at(world.set, at);
        const struct window *planned = window_at(set, at);

        assert_int_equal(window_week_minute(set, at), window_week_minute(world.set, at));
        assert_int_equal(judged->event != NULL, planned->event != NULL);
        assert_true(fabs(window_multiplier(planned, "chat") - window_multiplier(judged, "chat")) <=
                    0);
        assert_true(fabs(window_multiplier(planned, "other") - 1) <= 0);
    }
    world_clear(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proposed_windows_keep_the_calendar),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
