/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of an order of two exchanges when the yard (yard.h) is slow, refuses or does not
 * answer: it goes on where it stood, under the same key, and one box comes of it.
 */
#include "tests/cli/yard_world.h"

/* Longer than a list takes to come: the half-made box is listed before its reservation is answered.
 */
static void a_late_answer_leaves_no_half_made_box(void **state)
{
    struct yard_fault fault = { "reserve", .at = 1, .late_ms = 10 * SECOND_MS };

    (void)state;
    assert_int_equal(play_yard(&(struct yard_play){ .fault = fault }).requests, 2);
}

static void a_box_that_could_not_start_yet_is_started(void **state)
{
    struct yard_fault fault = { "start", .at = 1, .status = 503 };

    (void)state;
    play_yard(&(struct yard_play){ .fault = fault });
}

/* What the next exchange would take cannot be kept: the attempt has failed, and its box is given
 * back.
 */
static void an_answer_that_cannot_be_kept_ends_the_attempt(void **state)
{
    static const int sizes[] = { -1, 128, 200 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct yard_fault fault = { "reserve", .at = 1, .next_size = sizes[i] };

        play_yard(&(struct yard_play){ .fault = fault, .orders = 2 });
    }
}

/* A removal that asks for the same again, without end, is no removal. */
static void an_answer_of_a_removal_that_cannot_be_kept_is_a_failure(void **state)
{
    struct yard_fault fault = { "release", .at = 1, .next_size = 200 };

    (void)state;
    play_yard(&(struct yard_play){ .is_out = true, .asks_twice = true, .fault = fault });
}

/* Until the order's machine has failed and its discard waits for a slow disk. */
static struct transfer *run_to_discard(struct rehearsal *rehearsal)
{
    struct transfer *transfer = NULL;
    owned(json) json_t *answer = NULL;

    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    yard.fault = (struct yard_fault){ "start", .at = 1, .status = 404 };
    answer = reclaim(rehearsal, 1);
    transfer = run_to(rehearsal, STEP_ACQUIRE);
    assert_non_null(transfer);
    rehearsal_slow_disk(rehearsal, 10 * SECOND_MS);
    for (int64_t ms = 0; ms < 10 * MINUTE_MS; ms += SHORT_MS) {
        const struct effect *discard = effect_find(transfer, &effect_discard, "box-6");

        if (discard && discard->is_in_flight)
            return transfer;
        rehearsal_run(rehearsal, SHORT_MS);
    }
    fail_msg("nothing is discarded");
    return NULL;
}

/* A list that shows another box under the key changes nothing: what was met is discarded. */
static void a_machine_that_was_met_keeps_its_name(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = yard_world(folder, &way);
    struct transfer *transfer = run_to_discard(rehearsal);
    struct yard_box *box = yard_find("box-6", NULL);

    (void)state;
    yard_add("box-7", box->key);
    box->key[0] = '\0';
    for (int64_t ms = 0; ms < 10 * MINUTE_MS && transfer->attempt == 1; ms += SHORT_MS) {
        assert_string_equal(transfer->new_instance, "box-6");
        rehearsal_run(rehearsal, SHORT_MS);
    }
    assert_int_equal(transfer->attempt, 2);
    assert_true(box->is_parked);
    assert_false(yard_find("box-7", NULL)->is_parked);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
    close_yard(rehearsal);
}

/* However the transfer came by another machine meanwhile: the one that was meant is not sent for.
 */
static void a_discard_is_not_sent_for_another_machine(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = yard_world(folder, &way);
    struct transfer *transfer = run_to_discard(rehearsal);
    const struct effect *discard = effect_find(transfer, &effect_discard, "box-6");

    (void)state;
    text_copy(transfer->new_instance, sizeof transfer->new_instance, "box-9");
    for (int64_t ms = 0; ms < MINUTE_MS && discard->is_in_flight; ms += SHORT_MS)
        rehearsal_run(rehearsal, SHORT_MS);
    assert_string_equal(discard->text, "not sent: the machine has another name now");
    assert_false(yard_find("box-6", NULL)->is_parked);
    close_yard(rehearsal);
}

/* Each request that changes something is lost, or refused for now. */
static void sweep_faults(struct yard_play play)
{
    int requests = play_yard(&play).requests;

    print_message("%d requests\n", requests);
    assert_in_range(requests, 1, 10);
    for (int at = 1; at <= requests; at++) {
        play.fault = (struct yard_fault){ .at = at, .is_lost = true };
        play_yard(&play);
        play.fault = (struct yard_fault){ .at = at, .status = 503 };
        play_yard(&play);
    }
}

static void an_order_outlives_each_answer(void **state)
{
    (void)state;
    sweep_faults((struct yard_play){ .is_out = false });
}

static void a_removal_outlives_each_answer(void **state)
{
    (void)state;
    sweep_faults((struct yard_play){ .is_out = true });
    sweep_faults((struct yard_play){ .is_out = true, .asks_twice = true });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_answer_leaves_no_half_made_box),
        cmocka_unit_test(a_box_that_could_not_start_yet_is_started),
        cmocka_unit_test(an_answer_that_cannot_be_kept_ends_the_attempt),
        cmocka_unit_test(an_answer_of_a_removal_that_cannot_be_kept_is_a_failure),
        cmocka_unit_test(a_machine_that_was_met_keeps_its_name),
        cmocka_unit_test(a_discard_is_not_sent_for_another_machine),
        cmocka_unit_test(an_order_outlives_each_answer),
        cmocka_unit_test(a_removal_outlives_each_answer),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
