/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which clock the windows of the week go by after a jump of the machine's, and what is said of it.
 */
#include "broker/service/service_parts.h"
#include "tests/cli/health_scene.h"

#include <stdlib.h>

static void expect_window(struct rehearsal *rehearsal, const char *window)
{
    owned(json) json_t *status = service_status(rehearsal->service);

    assert_string_equal(json_text_or(status, "window", ""), window);
}

/* From 06:00 to 08:00 the night has two hours yet.  So far ahead are the API servers' clocks. */
static struct rehearsal *resting_world(const char *folder, int prod_ahead_h, int research_ahead_h)
{
    owned(chars) char *clocks = text_format("clocks: { prod-a: %dh, research-a: %dh }\n",
                                            prod_ahead_h, research_ahead_h);
    struct rehearsal *rehearsal = small_rehearsal(folder, 8, clocks);

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_window(rehearsal, "night");
    return rehearsal;
}

/* The servers had that time before, so it is the right one. */
static void windows_follow_a_clock_that_stands(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = resting_world(folder, 3, 3);

    (void)state;
    loop_virtual_jump(rehearsal->loop, 3 * HOUR_MS);
    rehearsal_run(rehearsal, 30 * SECOND_MS);
    expect_window(rehearsal, "night");
    assert_true(warns_of(rehearsal, "jumped 3h forward"));
    assert_int_equal(story_count(rehearsal, "clock_jumped"), 1);
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_window(rehearsal, "day");
    assert_int_equal(story_count(rehearsal, "clock_followed"), 1);
    assert_true(warns_of(rehearsal, "is followed since 2026-11-17T09:"));
    assert_false(warns_of(rehearsal, "API server"));
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    assert_false(warns_of(rehearsal, "wall clock"));
    assert_int_equal(story_count(rehearsal, "clock_jumped"), 1);
}

/* No schedules are in force: since two minutes ago, on each clock. */
static void what_holds_is_as_old_after_a_jump(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(
        folder, 8, "clocks: { prod-a: -3h, research-a: -3h }\n");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    expect_member(rehearsal, "no_schedules", "since", "2026-11-17T06:00:00Z");
    loop_virtual_jump(rehearsal->loop, -3 * HOUR_MS);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    assert_int_equal(story_count(rehearsal, "clock_followed"), 1);
    expect_member(rehearsal, "no_schedules", "since", "2026-11-17T03:00:00Z");
}

static void a_jump_that_is_taken_back_flips_none(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = resting_world(folder, 0, 3);

    (void)state;
    loop_virtual_jump(rehearsal->loop, 3 * HOUR_MS);
    rehearsal_run(rehearsal, 40 * SECOND_MS);
    loop_virtual_jump(rehearsal->loop, -3 * HOUR_MS);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    expect_window(rehearsal, "night");
    assert_int_equal(story_count(rehearsal, "clock_is_back"), 1);
    assert_int_equal(story_count(rehearsal, "clock_followed"), 0);
    assert_false(warns_of(rehearsal, "wall clock"));
}

/* Most servers say that ours is wrong; a person has a day to see it. */
static void a_wrong_clock_is_not_followed_for_a_day(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = resting_world(folder, 0, 0);

    (void)state;
    loop_virtual_jump(rehearsal->loop, 3 * HOUR_MS);
    rehearsal_run(rehearsal, 90 * MINUTE_MS);
    expect_window(rehearsal, "night");
    assert_int_equal(story_count(rehearsal, "clock_doubted"), 1);
    assert_true(warns_of(rehearsal, "set the machine's clock right"));
    rehearsal_run(rehearsal, 22 * HOUR_MS);
    assert_int_equal(story_count(rehearsal, "clock_followed"), 0);
    rehearsal_run(rehearsal, 3 * HOUR_MS);
    assert_int_equal(story_count(rehearsal, "clock_followed"), 1);
    assert_int_equal(story_count(rehearsal, "clock_doubted"), 1);
}

/* What a time server does all day, in small steps that it does not tell. */
static void small_steps_are_followed_without_a_word(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = resting_world(folder, 0, 0);

    (void)state;
    for (int i = 0; i < 60; i++) {
        loop_virtual_jump(rehearsal->loop, 2 * SECOND_MS);
        rehearsal_run(rehearsal, MINUTE_MS);
        assert_true(llabs(loop_wall_apart(rehearsal->loop)) < SECOND_MS);
    }
    assert_int_equal(story_count(rehearsal, "clock_jumped"), 0);
    assert_false(warns_of(rehearsal, "wall clock"));
}

static int take_rev(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    (void)id;
    (void)value;
    (void)err;
    *(uint64_t *)context = rev;
    return 0;
}

/* Without the record a start knows less, and is a start all the same. */
static void a_record_that_cannot_be_read_ends_no_broker(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = resting_world(folder, 0, 0);
    owned(json) json_t *broken = json_make("{ss}", "wall", "noon");
    struct journal_batch *batch;
    uint64_t epoch;
    uint64_t rev = 0;
    struct error err = { 0 };

    (void)state;
    rehearsal_kill(rehearsal);
    rehearsal->is_dead = false;
    assert_int_equal(journal_begin_epoch(rehearsal->journal, &epoch, &err), 0);
    assert_int_equal(journal_each(rehearsal->journal, "clock", take_rev, &rev, &err), 0);
    assert_true(rev > 0);
    batch = journal_batch_new(epoch);
    journal_put(batch, "clock", "wall", rev, broken);
    assert_int_equal(journal_commit(rehearsal->journal, &batch, &err), 0);
    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_window(rehearsal, "night");
    assert_false(warns_of(rehearsal, "wall clock"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_follow_a_clock_that_stands),
        cmocka_unit_test(what_holds_is_as_old_after_a_jump),
        cmocka_unit_test(a_jump_that_is_taken_back_flips_none),
        cmocka_unit_test(a_wrong_clock_is_not_followed_for_a_day),
        cmocka_unit_test(small_steps_are_followed_without_a_word),
        cmocka_unit_test(a_record_that_cannot_be_read_ends_no_broker),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
