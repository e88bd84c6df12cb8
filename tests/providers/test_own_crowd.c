/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A rack of one's own machines without power: lists end in time, whatever their management
 * controllers do.
 */
#include "tests/providers/own_crowd.h"

/* Facts that are older than guard.fresh (two minutes) allow no move. */
enum { IN_TIME_MS = 45 * SECOND_MS };

static void a_rack_without_power_holds_up_no_list(void **state)
{
    struct crowd crowd;

    (void)state;
    crowd_open(&crowd);
    crowd_list(&crowd, &crowd.a);
    assert_int_equal(crowd_count(&crowd, INSTANCE_RUNNING), CROWD / 2);
    crowd.is_dark = true;
    for (int i = 0; i < 20; i++) {
        crowd_wait(&crowd, 10 * SECOND_MS);
        assert_in_range(crowd_list(&crowd, i % 2 ? &crowd.b : &crowd.a), 0, IN_TIME_MS);
        assert_int_equal(crowd.count, CROWD / 2); /* without an answer nothing is gone */
        assert_int_equal(crowd_count(&crowd, INSTANCE_PARKED), 0);
    }
    crowd_restart(&crowd); /* by now they may be in each pool */
    for (int i = 0; i < 20; i++) {
        crowd_wait(&crowd, 10 * SECOND_MS);
        assert_in_range(crowd_list(&crowd, &crowd.a), 0, IN_TIME_MS);
        assert_int_equal(crowd_count(&crowd, INSTANCE_OTHER), CROWD);
    }
    crowd_close(&crowd);
}

/* No list waits for machines that were silent last time, nor asks them while another list does. */
static void silent_machines_are_looked_at_on_the_side(void **state)
{
    struct crowd crowd;

    (void)state;
    crowd_open(&crowd);
    crowd_list(&crowd, &crowd.a);
    assert_int_equal(crowd.looks[SSH_SWEEP], CROWD);
    crowd.is_dark = true;
    crowd.power = "On";
    crowd_wait(&crowd, 10 * SECOND_MS);
    crowd_list(&crowd, &crowd.a);
    assert_int_equal(crowd.looks[SSH_SWEEP], 2 * CROWD); /* they did answer */
    for (int i = 0; i < 100; i++) {
        crowd_begin(&crowd, &crowd.a);
        crowd_wait(&crowd, 3 * SECOND_MS);
        assert_in_range(crowd_list(&crowd, &crowd.b), 0, 5 * SECOND_MS);
        crowd_wait(&crowd, 3 * SECOND_MS);
        assert_int_equal(crowd.lists, 4 + 2 * i);
    }
    assert_int_equal(crowd.looks[SSH_SWEEP], 2 * CROWD);
    assert_int_equal(crowd.looks[SSH_COMMAND], 0);
    /* Each takes 20 s, and the machine then rests for 30 s. */
    assert_in_range(crowd.looks[SSH_SILENT], 10 * CROWD, 20 * CROWD);
    crowd.is_dark = false;
    for (int i = 0; i < 6; i++) {
        crowd_wait(&crowd, 10 * SECOND_MS);
        crowd_list(&crowd, &crowd.a);
    }
    for (size_t i = 0; i < crowd.count; i++) {
        assert_int_equal(crowd.items[i].state, INSTANCE_RUNNING);
        assert_int_equal(crowd.items[i].trouble.kind, ERROR_NONE);
    }
    crowd_close(&crowd);
}

static void on_ordered(void *context, const char *operation, const struct error *err)
{
    (void)operation;
    assert_int_equal(err->kind, ERROR_NO_CAPACITY);
    ++*(int *)context;
}

/* Only those of the pool are asked, and none twice within half a minute. */
static void no_controller_is_asked_in_vain(void **state)
{
    struct crowd crowd;
    int before;

    (void)state;
    crowd_open(&crowd);
    crowd_list(&crowd, &crowd.a);
    assert_int_equal(crowd.questions, 0);
    crowd.is_dark = true;
    crowd.power = "Off";
    crowd_wait(&crowd, 10 * SECOND_MS);
    crowd_list(&crowd, &crowd.a);
    assert_int_equal(crowd_count(&crowd, INSTANCE_PARKED), CROWD / 2);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(crowd.asked[i], i < CROWD / 2);
    before = crowd.questions;
    crowd_list(&crowd, &crowd.a); /* half a minute is not over */
    assert_int_equal(crowd.questions, before);
    assert_int_equal(crowd_count(&crowd, INSTANCE_PARKED), CROWD / 2);
    crowd_wait(&crowd, MINUTE_MS);
    crowd_list(&crowd, &crowd.a);
    assert_int_equal(crowd.questions, before + CROWD / 2);

    before = crowd.questions;
    int ordered = 0;

    crowd_wait(&crowd, MINUTE_MS);
    provider_create(crowd.provider, (const struct pool_address *)(const void *)&crowd.a,
                    &(struct provider_order){ .request_key = "00000001", .progress = "" },
                    on_ordered, &ordered);
    crowd_wait(&crowd, MINUTE_MS);
    assert_int_equal(ordered, 1);
    assert_int_equal(crowd.questions, before); /* one without power cannot be claimed */
    crowd_close(&crowd);
}

static void controllers_that_cannot_be_asked_hold_up_no_list(void **state)
{
    struct crowd crowd;

    (void)state;
    crowd_open(&crowd);
    crowd.is_dark = true;
    assert_int_equal(chmod(crowd.login, 0644), 0); /* no secret any more */
    assert_in_range(crowd_list(&crowd, &crowd.a), SILENCE_MS, SILENCE_MS + SECOND_MS);
    assert_int_equal(crowd.questions, 0);
    assert_int_equal(crowd_count(&crowd, INSTANCE_OTHER), CROWD);
    crowd_close(&crowd);
}

/* A power that was off is so for a minute; one that was never asked is not. */
static void a_controller_without_an_answer_changes_nothing(void **state)
{
    struct crowd crowd;
    int64_t off_ms;

    (void)state;
    crowd_open(&crowd);
    crowd_list(&crowd, &crowd.a);
    crowd.is_dark = true;
    crowd.power = "Off";
    crowd_wait(&crowd, 10 * SECOND_MS);
    crowd_list(&crowd, &crowd.a);
    off_ms = loop_now(crowd.loop);
    crowd.power = NULL;
    crowd_wait(&crowd, 30 * SECOND_MS);
    crowd_list(&crowd, &crowd.a); /* asks them in vain */
    assert_in_range(loop_now(crowd.loop) - off_ms, 45 * SECOND_MS, 59 * SECOND_MS);
    assert_true(crowd.questions > CROWD / 2);
    assert_int_equal(crowd_count(&crowd, INSTANCE_PARKED), CROWD / 2);
    crowd_wait(&crowd, MINUTE_MS);
    crowd_list(&crowd, &crowd.a); /* by now it may be on */
    assert_int_equal(crowd_count(&crowd, INSTANCE_PARKED), 0);
    assert_int_equal(crowd_count(&crowd, INSTANCE_RUNNING), CROWD / 2);
    crowd_close(&crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rack_without_power_holds_up_no_list),
        cmocka_unit_test(silent_machines_are_looked_at_on_the_side),
        cmocka_unit_test(no_controller_is_asked_in_vain),
        cmocka_unit_test(controllers_that_cannot_be_asked_hold_up_no_list),
        cmocka_unit_test(a_controller_without_an_answer_changes_nothing),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
