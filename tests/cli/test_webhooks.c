/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Webhooks of the whole service: what receivers get of a move, a reclaim and a trouble, and what
 * becomes of a message that they do not accept.
 */
#include "tests/cli/receiver.h"
#include "tests/cli/stepwise.h"

#include <stdio.h>

static void a_move_is_one_message_however_many_its_nodes(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");
    const struct arrival *announced, *slack;
    struct wall_time departure, now;
    struct error err;

    (void)state;
    grow(rehearsal);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    announced = arrival_of(&receiver, "cloud", "departure.announced", 0);
    assert_int_equal(json_int_or(announced->body, "data/leaving_nodes", 0), 3);
    assert_int_equal(json_array_size(json_at(announced->body, "data/leaving")), 3);
    assert_string_equal(json_text_or(announced->body, "data/cluster", ""), "research-a");
    assert_string_equal(json_text_or(announced->body, "data/to", ""), "prod-a");
    now = loop_wall(rehearsal->loop);
    assert_int_equal(
        wall_parse(json_text_or(announced->body, "data/departure", ""), false, &departure, &err),
        0);
    assert_true(departure.ms > now.ms && departure.ms < now.ms + 10 * MINUTE_MS);
    slack = arrival_of(&receiver, "slack", NULL, 0);
    assert_non_null(strstr(json_text_or(slack->body, "text", ""), "3 nodes of research-a leave"));
    rehearsal_run(rehearsal, 3 * HOUR_MS);
    expect_types(&receiver, "departure.announced departure.left");
    assert_int_equal(receiver_count(&receiver, "slack"), 2);
    assert_int_equal(number(rehearsal, 0, "sent"), 2);
    assert_int_equal(number(rehearsal, 0, "behind"), 0);
    expect_rest(rehearsal, 9);
    receiver_close(&receiver);
}

static void hold(struct rehearsal *rehearsal, const char *node)
{
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss sI ss}", "node", node, "for_s", (json_int_t)600,
                                            "reason", "a checkpoint");
    owned(json) json_t *answer = service_hold(rehearsal->service, request, "alice", &err);

    if (!answer)
        fail_msg("%s", err.text);
}

static void a_departure_that_is_held_or_withdrawn_is_told(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");
    struct transfer *transfer = scheduled(rehearsal, STEP_NOTICE);

    (void)state;
    transfer->due.ms = loop_wall(rehearsal->loop).ms + 2 * HOUR_MS;
    rehearsal_run(rehearsal, MINUTE_MS);
    hold(rehearsal, transfer->node);
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_types(&receiver, "departure.announced departure.changed");
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    expect_types(&receiver, "departure.announced departure.changed departure.withdrawn");
    receiver_close(&receiver);
}

static void a_reclaim_is_told_from_its_begin_to_its_end(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");
    owned(json) json_t *answer = NULL;
    owned(json) json_t *request = NULL;
    owned(json) json_t *ended = NULL;
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    answer = reclaim(rehearsal, 2);
    rehearsal_run(rehearsal, 20 * SECOND_MS);
    expect_types(&receiver, "reclaim.began departure.announced");
    assert_true(json_is_true(
        json_at(arrival_of(&receiver, "cloud", "announced", 0)->body, "data/is_emergency")));
    rehearsal_run(rehearsal, HOUR_MS);
    request = json_make("{ss ss}", "id", json_text_or(answer, "id", ""), "reason", "enough");
    ended = service_end_reclaim(rehearsal->service, request, "alice", &err);
    assert_non_null(ended);
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_types(&receiver, "reclaim.began departure.announced departure.left reclaim.ended");
    receiver_close(&receiver);
}

static void a_zone_without_machines_is_told_as_health_and_reclaim(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(
        &receiver, folder, receiver_settings,
        "stockouts: [ { zone: us-east5-a, from: 0s, to: 8h } ]\n");
    owned(json) json_t *answer = NULL;
    const struct arrival *health;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    answer = reclaim(rehearsal, 1);
    rehearsal_run(rehearsal, HOUR_MS);
    (void)arrival_of(&receiver, "cloud", "reclaim.stalled", 0);
    health = arrival_of(&receiver, "cloud", "health.changed", 0);
    assert_string_not_equal(json_text_or(health->body, "data/severity", "ok"), "ok");
    assert_string_equal(json_text_or(health->body, "data/severity_before", ""), "ok");
    receiver_close(&receiver);
}

/* ---- whatever is answered ---- */

static void a_busy_receiver_is_asked_again_with_the_same_message(void **state)
{
    static const int statuses[] = { 500, 503, 429, 408, 425, RECEIVER_HANGS };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        owned(test_folder) char *folder = test_folder_new();
        struct receiver receiver;
        struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");
        const struct arrival *first, *second, *third;
        int64_t gap_ms = statuses[i] == RECEIVER_HANGS ? 15 * SECOND_MS : RECEIVER_MS;

        receiver.sick_path = "cloud";
        receiver.sick_status = statuses[i];
        grow(rehearsal);
        rehearsal_run(rehearsal, 3 * MINUTE_MS);
        first = arrival_of(&receiver, "cloud", NULL, 0);
        second = arrival_of(&receiver, "cloud", NULL, 1);
        third = arrival_of(&receiver, "cloud", NULL, 2);
        assert_string_equal(first->id, second->id);
        assert_true(json_equal(first->body, third->body));
        /* 5 s, then 10 s, more or less a fifth. */
        assert_in_range(second->at_ms - first->at_ms - gap_ms, 4000, 6000);
        assert_in_range(third->at_ms - second->at_ms - gap_ms, 8000, 12000);
        assert_int_equal(receiver_count(&receiver, "slack"), 1); /* it waits for no other */
        receiver.sick_path = NULL;
        rehearsal_run(rehearsal, 3 * HOUR_MS);
        expect_types(&receiver, "departure.announced departure.left");
        assert_int_equal(number(rehearsal, 0, "sent"), 2);
        assert_int_equal(number(rehearsal, 0, "refused"), 0);
        receiver_close(&receiver);
    }
}

static void retry_after_is_kept(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");

    (void)state;
    receiver.sick_path = "cloud";
    receiver.sick_status = 429;
    receiver.retry_after_ms = 4 * MINUTE_MS;
    grow(rehearsal);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    assert_true(arrival_of(&receiver, "cloud", NULL, 1)->at_ms -
                    arrival_of(&receiver, "cloud", NULL, 0)->at_ms >=
                4 * MINUTE_MS);
    receiver.retry_after_ms = 7 * DAY_MS; /* an hour at most */
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    receiver.sick_path = NULL;
    rehearsal_run(rehearsal, 90 * MINUTE_MS);
    expect_types(&receiver, "departure.announced departure.left");
    receiver_close(&receiver);
}

/* It would be refused again; the next message may not be. */
static void a_refused_message_is_given_up_by_name(void **state)
{
    static const int statuses[] = { 302, 400, 404, 413 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        owned(test_folder) char *folder = test_folder_new();
        struct receiver receiver;
        struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");
        owned(json) json_t *row = NULL;
        owned(chars) char *status = text_format("%d no_service", statuses[i]);

        receiver.sick_path = "cloud";
        receiver.sick_status = statuses[i];
        receiver.answer = "no_service";
        grow(rehearsal);
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        assert_int_equal(receiver_count(&receiver, "cloud"), 1);
        assert_int_equal(story_count(rehearsal, "message_refused"), 1);
        row = row_of(rehearsal, 0);
        assert_string_equal(json_text_or(row, "state", ""), "failing");
        assert_string_equal(json_text_or(row, "last_answer", ""), status);
        assert_int_equal(json_int_or(row, "refused", 0), 1);
        assert_true(warns_of(rehearsal, "webhook cloud has accepted no message since"));
        assert_true(warns_of(rehearsal, status));
        receiver.sick_path = NULL;
        rehearsal_run(rehearsal, 3 * HOUR_MS);
        expect_types(&receiver, "departure.left");
        assert_false(warns_of(rehearsal, "webhook cloud"));
        receiver_close(&receiver);
    }
}

static void a_receiver_that_is_gone_gets_no_more(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");
    owned(json) json_t *row = NULL;
    owned(json) json_t *answer = NULL;

    (void)state;
    receiver.sick_path = "cloud";
    receiver.sick_status = 410;
    grow(rehearsal);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    assert_int_equal(receiver_count(&receiver, "cloud"), 1);
    row = row_of(rehearsal, 0);
    assert_string_equal(json_text_or(row, "state", ""), "gone");
    assert_int_equal(json_int_or(row, "refused", 0), 1);
    assert_true(json_int_or(row, "dropped", 0) >= 1); /* that the nodes left, for one */
    assert_int_equal(story_count(rehearsal, "message_dropped"), json_int_or(row, "dropped", 0));
    assert_true(warns_of(rehearsal, "webhook cloud wants no more messages"));
    receiver.sick_path = NULL;
    answer = test_webhook(rehearsal, "cloud");
    assert_true(json_is_true(json_object_get(answer, "is_accepted")));
    assert_string_equal(json_text_or(answer, "answer", ""), "204");
    apply(rehearsal, 8, 8);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    assert_true(receiver_count(&receiver, "cloud") >= 2);
    assert_false(warns_of(rehearsal, "webhook cloud"));
    receiver_close(&receiver);
}

static void a_test_says_what_was_answered(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");
    owned(json) json_t *refused = NULL;
    owned(json) json_t *hung = NULL;
    owned(json) json_t *nameless = json_make("{ss}", "webhook", "other");
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    receiver.status = 404;
    receiver.answer = "no_team";
    refused = test_webhook(rehearsal, "slack");
    assert_false(json_is_true(json_object_get(refused, "is_accepted")));
    assert_string_equal(json_text_or(refused, "answer", ""), "404 no_team");
    receiver.status = RECEIVER_HANGS;
    hung = test_webhook(rehearsal, "cloud");
    assert_non_null(strstr(json_text_or(hung, "answer", ""), "Timeout was reached"));
    assert_int_equal(number(rehearsal, 0, "sent") + number(rehearsal, 0, "refused"), 0);
    assert_int_equal(story_count(rehearsal, "webhook_tested"), 2);
    assert_null(webhooks_ask_test(service_webhooks(rehearsal->service), nameless, "bob", &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_non_null(strstr(err.text, "known: cloud, slack"));
    receiver_close(&receiver);
}

/* Nothing waits for a receiver: the same night with a dead one has the same moments. */
static void a_dead_receiver_delays_nothing(void **state)
{
    int64_t ended_ms[2] = { 0 };

    (void)state;
    for (int is_dead = 0; is_dead < 2; is_dead++) {
        owned(test_folder) char *folder = test_folder_new();
        struct receiver receiver;
        struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");
        int64_t began_ms = loop_now(rehearsal->loop);
        struct transfer *transfer;

        receiver.status = is_dead ? RECEIVER_HANGS : 200;
        grow(rehearsal);
        rehearsal_run(rehearsal, MINUTE_MS);
        transfer = transfer_at(rehearsal, 0);
        while (transfer->state == TRANSFER_LIVE)
            rehearsal_run(rehearsal, SECOND_MS);
        ended_ms[is_dead] = loop_now(rehearsal->loop) - began_ms;
        assert_int_equal(transfer->state, TRANSFER_DONE);
        if (is_dead) {
            assert_true(warns_of(rehearsal, "webhook slack has accepted no message since"));
            assert_true(number(rehearsal, 1, "behind") >= 1);
        }
        receiver_close(&receiver);
    }
    /* The jitter of the tries draws from the same random numbers as the service. */
    assert_in_range(ended_ms[1], ended_ms[0] - 3 * MINUTE_MS, ended_ms[0] + 3 * MINUTE_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_move_is_one_message_however_many_its_nodes),
        cmocka_unit_test(a_departure_that_is_held_or_withdrawn_is_told),
        cmocka_unit_test(a_reclaim_is_told_from_its_begin_to_its_end),
        cmocka_unit_test(a_zone_without_machines_is_told_as_health_and_reclaim),
        cmocka_unit_test(a_busy_receiver_is_asked_again_with_the_same_message),
        cmocka_unit_test(retry_after_is_kept),
        cmocka_unit_test(a_refused_message_is_given_up_by_name),
        cmocka_unit_test(a_receiver_that_is_gone_gets_no_more),
        cmocka_unit_test(a_test_says_what_was_answered),
        cmocka_unit_test(a_dead_receiver_delays_nothing),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
