/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Webhooks when the service dies, the clock jumps, the configuration changes, or too much waits;
 * and that no secret of theirs is shown.
 */
#include "broker/webhooks/message.h"
#include "tests/cli/receiver.h"
#include "tests/cli/stepwise.h"
#include "tests/support/sweep.h"

#include <stdio.h>

/* Each message of the journal's chain that /cloud wants arrived, in its order, and each ID has one
 * content. */
static void expect_whole_story(struct rehearsal *rehearsal, const struct receiver *receiver)
{
    struct error err;
    owned(json) json_t *events = journal_events(rehearsal->journal, 100000, &err);
    owned(text) struct text *want = text_new(TEXT_UNBOUNDED);
    owned(chars) char *got = receiver_types(receiver);
    const json_t *row;
    size_t i;

    json_array_foreach(events, i, row) {
        if (message_is_wanted(&rehearsal->config->webhooks[0], row))
            text_add(want, "%s%s", want->length > 0 ? " " : "",
                     json_text_or(row, "event/type", ""));
    }
    assert_string_equal(got, want->chars);
    for (i = 0; i < receiver->arrivals.count; i++)
        for (size_t k = 0; k < i; k++)
            if (text_equal(receiver->arrivals.items[k].id, receiver->arrivals.items[i].id))
                assert_true(
                    receiver->arrivals.items[i].id[0] == '\0' ||
                    json_equal(receiver->arrivals.items[k].body, receiver->arrivals.items[i].body));
}

static int64_t play_and_die(int64_t at, bool dies_after)
{
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");
    int64_t commits;

    grow(rehearsal);
    rehearsal_run(rehearsal, 10 * SECOND_MS); /* the move has begun */
    commits = rehearsal->commits;
    if (dies_after && at > 0)
        rehearsal_kill_after_commit(rehearsal, at);
    else if (at > 0)
        rehearsal_kill_at_commit(rehearsal, at);
    for (int64_t ms = 0; ms < HOUR_MS; ms += MINUTE_MS) {
        rehearsal_run(rehearsal, MINUTE_MS);
        if (rehearsal->is_dead)
            restart(rehearsal);
    }
    commits = rehearsal->commits - commits;
    expect_whole_story(rehearsal, &receiver);
    expect_types(&receiver, "departure.announced departure.left");
    receiver_close(&receiver);
    return commits;
}

static void a_service_that_dies_loses_no_message_and_keeps_their_order(void **state)
{
    struct sweep_part part = sweep_part(3); /* so that both kinds of death are among them */
    int64_t commits = play_and_die(0, false);

    (void)state;
    for (int64_t at = 1; at <= commits; at++)
        for (int dies_after = 0; dies_after < 2; dies_after++)
            if (sweep_plays(&part))
                (void)play_and_die(at, dies_after);
    print_message("sweep death: webhooks, %lld commits in an undisturbed run\n",
                  (long long)commits);
}

/* It had accepted the message, and the service had not stored that: it comes again, as the same. */
static void a_message_whose_answer_was_lost_comes_again(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");

    (void)state;
    receiver.status = 200;
    grow(rehearsal);
    while (receiver_count(&receiver, "cloud") == 0)
        rehearsal_run(rehearsal, 10);
    restart(rehearsal); /* between the request and its answer */
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(receiver_count(&receiver, "cloud"), 2);
    assert_string_equal(receiver.arrivals.items[0].id, arrival_of(&receiver, "cloud", NULL, 1)->id);
    assert_true(json_equal(arrival_of(&receiver, "cloud", NULL, 0)->body,
                           arrival_of(&receiver, "cloud", NULL, 1)->body));
    assert_int_equal(number(rehearsal, 0, "sent"), 1);
    receiver_close(&receiver);
}

/* A slow disk: what a service that dies now would not remember is not told either. */
static void nothing_is_sent_before_it_is_on_the_disk(void **state)
{
    enum { DISK_MS = 3 * SECOND_MS };
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");
    int64_t apart_ms = loop_wall(rehearsal->loop).ms - loop_now(rehearsal->loop);

    (void)state;
    rehearsal_slow_disk(rehearsal, DISK_MS);
    grow(rehearsal);
    rehearsal_run(rehearsal, 3 * HOUR_MS);
    expect_types(&receiver, "departure.announced departure.left");
    for (size_t i = 0; i < receiver.arrivals.count; i++) {
        const struct arrival *arrival = &receiver.arrivals.items[i];
        struct wall_time time;
        struct error err;

        if (arrival->id[0] == '\0')
            continue;
        assert_int_equal(wall_parse(json_text_or(arrival->body, "time", ""), false, &time, &err),
                         0);
        assert_true(arrival->at_ms + apart_ms - time.ms >= DISK_MS);
    }
    receiver_close(&receiver);
}

static void a_jump_of_the_clock_loses_nothing(void **state)
{
    static const int64_t jumps_ms[] = { 2 * (int64_t)DAY_MS, -2 * (int64_t)DAY_MS, HOUR_MS };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(jumps_ms); i++) {
        owned(test_folder) char *folder = test_folder_new();
        struct receiver receiver;
        struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");

        receiver.status = 503;
        grow(rehearsal);
        rehearsal_run(rehearsal, MINUTE_MS);
        loop_virtual_jump(rehearsal->loop, jumps_ms[i]);
        rehearsal_run(rehearsal, 5 * MINUTE_MS);
        receiver.status = 200;
        rehearsal_run(rehearsal, 3 * HOUR_MS);
        expect_whole_story(rehearsal, &receiver);
        assert_string_equal(receiver.arrivals.items[0].id,
                            arrival_of(&receiver, "cloud", "departure.announced", 1)->id);
        assert_int_equal(number(rehearsal, 0, "behind"), 0);
        receiver_close(&receiver);
    }
}

/* ---- other webhooks, too many messages, secrets ---- */

static void reconfigure(struct rehearsal *rehearsal, const char *folder, const char *settings)
{
    owned(chars) char *text = text_format("%s%s", small_config, settings);

    start_again_with(rehearsal, folder, text);
}

static int count_record(void *context, const char *id, uint64_t rev, const json_t *value,
                        struct error *err)
{
    (void)id;
    (void)rev;
    (void)value;
    (void)err;
    (*(int *)context)++;
    return 0;
}

static int records_of(struct rehearsal *rehearsal, const char *kind)
{
    struct error err;
    int count = 0;

    assert_int_equal(journal_each(rehearsal->journal, kind, count_record, &count, &err), 0);
    return count;
}

static void other_webhooks_begin_where_the_story_is(void **state)
{
    static const char other[] = "webhooks:\n"
                                "  cloud: {url: '" RECEIVER_PLACE
                                "cloud', secret_file: hook.secret}\n"
                                "  slack-2: {format: slack, url: '" RECEIVER_PLACE "slack-2',"
                                " events: departures}\n";
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");

    (void)state;
    grow(rehearsal);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    assert_int_equal(records_of(rehearsal, "webhook"), 2);
    reconfigure(rehearsal, folder, other);
    rehearsal_run(rehearsal, 3 * HOUR_MS);
    expect_types(&receiver, "departure.announced departure.left");
    assert_int_equal(receiver_count(&receiver, "slack-" RECEIVER_TOKEN), 1);
    assert_int_equal(receiver_count(&receiver, "slack-2"), 1); /* what came since */
    assert_int_equal(records_of(rehearsal, "webhook"), 2);
    assert_int_equal(records_of(rehearsal, "webhook_told"), 1);
    reconfigure(rehearsal, folder, "");
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(records_of(rehearsal, "webhook") + records_of(rehearsal, "webhook_told"), 0);
    receiver_close(&receiver);
}

/* As a look would write them. */
static void write_messages(struct rehearsal *rehearsal, int count)
{
    struct journal_batch *batch = journal_batch_new(rehearsal->service->epoch);
    struct error err = { 0 };

    for (int i = 0; i < count; i++) {
        owned(chars) char *text = text_format("message %d", i);
        owned(json) json_t *event = json_make("{ss ss ss ss ss s{}}", "event", "message", "topic",
                                              "departures", "type", "departure.left", "subject",
                                              "m", "text", text, "data");

        journal_event(batch, loop_wall(rehearsal->loop), event);
    }
    if (journal_commit(rehearsal->journal, &batch, &err) < 0)
        fail_msg("%s", err.text);
}

static void too_many_messages_are_dropped_by_name_the_oldest_first(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");

    (void)state;
    receiver.sick_path = "cloud";
    receiver.sick_status = RECEIVER_IS_AWAY;
    rehearsal_run(rehearsal, MINUTE_MS);
    write_messages(rehearsal, 1);
    restart(rehearsal);
    rehearsal_run(rehearsal, MINUTE_MS);
    for (int half = 0; half < 2; half++) { /* so that the other one does not fall behind */
        write_messages(rehearsal, OUTBOX_MOST / 2 + 10);
        restart(rehearsal);
        rehearsal_run(rehearsal, HOUR_MS);
    }
    assert_int_equal(number(rehearsal, 0, "behind"), OUTBOX_MOST);
    assert_int_equal(number(rehearsal, 0, "dropped"), 21);
    assert_int_equal(number(rehearsal, 1, "dropped"), 0);
    assert_int_equal(story_count(rehearsal, "message_dropped"), 21);
    assert_int_equal(receiver_count(&receiver, "slack"), OUTBOX_MOST + 21);
    receiver.sick_path = NULL;
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(receiver_count(&receiver, "cloud"), OUTBOX_MOST);
    assert_string_equal(
        json_text_or(arrival_of(&receiver, "cloud", NULL, 0)->body, "data/text", ""), "message 20");
    restart(rehearsal);
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(receiver_count(&receiver, "cloud"), OUTBOX_MOST);
    receiver_close(&receiver);
}

/* While a message is being sent none is dropped; afterwards they are. */
static void what_comes_during_a_request_is_bounded_too(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");
    owned(json) json_t *answer = NULL;
    owned(json) json_t *request = NULL;
    owned(json) json_t *ended = NULL;
    struct error err = { 0 };

    (void)state;
    receiver.sick_path = "cloud";
    receiver.sick_status = RECEIVER_HANGS;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    answer = reclaim(rehearsal, 2);
    while (receiver_count(&receiver, "cloud") == 0)
        rehearsal_run(rehearsal, 10);
    write_messages(rehearsal, OUTBOX_MOST + OUTBOX_MOST / 2);
    request = json_make("{ss ss}", "id", json_text_or(answer, "id", ""), "reason", "enough");
    ended = service_end_reclaim(rehearsal->service, request, "alice", &err);
    rehearsal_run(rehearsal, 12 * SECOND_MS); /* this is told, so all are read */
    assert_int_equal(receiver_count(&receiver, "cloud"), 1);
    assert_true(number(rehearsal, 0, "behind") > OUTBOX_MOST);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_true(number(rehearsal, 0, "dropped") > OUTBOX_MOST / 2);
    assert_int_equal(number(rehearsal, 0, "behind"), OUTBOX_MOST);
    receiver_close(&receiver);
}

/* Also one that waited behind another.  A receiver that hates one message does not keep the next
   ones forever. */
static void after_a_day_a_message_is_given_up(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");

    (void)state;
    receiver.sick_path = "cloud";
    receiver.sick_status = 500;
    rehearsal_run(rehearsal, MINUTE_MS);
    write_messages(rehearsal, 2);
    restart(rehearsal);
    rehearsal_run(rehearsal, DAY_MS - 2 * HOUR_MS);
    write_messages(rehearsal, 1);
    restart(rehearsal);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(number(rehearsal, 0, "dropped"), 0);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    assert_int_equal(number(rehearsal, 0, "dropped"), 2);
    /* Each ten minutes, more or less a fifth. */
    assert_in_range(receiver_count(&receiver, "cloud"), 120, 200);
    receiver.sick_path = NULL;
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(number(rehearsal, 0, "sent"), 1);
    receiver_close(&receiver);
}

/* Neither a restart nor a jump of the clock that is followed gives it another day, or takes one. */
static void its_day_is_a_day_of_the_world(void **state)
{
    static const struct {
        int64_t jump_ms; /* after an hour */
        bool restarts;   /* after 20 */
    } cases[] = {
        { 0, true },
        { 2 * (int64_t)DAY_MS, false },
        { 2 * (int64_t)DAY_MS, true },
        { -2 * (int64_t)DAY_MS, false },
        { -2 * (int64_t)DAY_MS, true },
    };
    struct sweep_part part = sweep_part(2);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (!sweep_plays(&part))
            continue;

        owned(test_folder) char *folder = test_folder_new();
        int hours = (int)(cases[i].jump_ms / HOUR_MS);
        owned(chars) char *clocks = text_format("clocks: { prod-a: %dh, research-a: %dh }\n", hours,
                                                hours);
        struct receiver receiver;
        struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, clocks);
        owned(json) json_t *row = NULL;
        struct wall_time failing = { 0 };
        struct error err;

        receiver.sick_path = "cloud";
        receiver.sick_status = 500;
        rehearsal_run(rehearsal, MINUTE_MS);
        write_messages(rehearsal, 1);
        restart(rehearsal);
        rehearsal_run(rehearsal, HOUR_MS);
        loop_virtual_jump(rehearsal->loop, cases[i].jump_ms);
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(story_count(rehearsal, "clock_followed"), cases[i].jump_ms != 0);
        assert_true(warns_of(rehearsal, "webhook cloud has accepted no message since"));
        row = row_of(rehearsal, 0);
        assert_int_equal(wall_parse(json_text_or(row, "failing_since", ""), false, &failing, &err),
                         0);
        assert_true(llabs(loop_wall(rehearsal->loop).ms - failing.ms - 2 * HOUR_MS) < MINUTE_MS);
        rehearsal_run(rehearsal, 18 * HOUR_MS);
        if (cases[i].restarts)
            restart(rehearsal);
        rehearsal_run(rehearsal, 3 * HOUR_MS);
        if (number(rehearsal, 0, "dropped") > 0)
            fail_msg("case %zu: given up before its day is over", i);
        rehearsal_run(rehearsal, 90 * MINUTE_MS);
        if (number(rehearsal, 0, "dropped") == 0)
            fail_msg("case %zu: not given up after its day", i);
        receiver_close(&receiver);
    }
}

static int find_rev(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    (void)value;
    (void)err;
    if (text_equal(id, "cloud"))
        *(uint64_t *)context = rev;
    return 0;
}

/* The webhook goes on where the story is, and the record is kept for people. */
static void a_record_that_cannot_be_read_is_set_aside(void **state)
{
    static const char *const bad[] = { "{}", "{\"seq\":99999999,\"sent\":0,\"refused\":0,"
                                             "\"dropped\":0,\"answer\":\"\"}" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        owned(test_folder) char *folder = test_folder_new();
        struct receiver receiver;
        struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");
        struct error err = { 0 };
        owned(json) json_t *value = json_parse(bad[i], strlen(bad[i]), "record", &err);
        owned(chars) char *types = NULL;
        struct journal_batch *batch;
        uint64_t rev = 0;

        rehearsal_run(rehearsal, MINUTE_MS);
        assert_int_equal(journal_each(rehearsal->journal, "webhook", find_rev, &rev, &err), 0);
        assert_true(rev > 0);
        batch = journal_batch_new(rehearsal->service->epoch);
        journal_put(batch, "webhook", "cloud", rev, value);
        assert_int_equal(journal_commit(rehearsal->journal, &batch, &err), 0);
        restart(rehearsal);
        assert_true(warns_of(rehearsal, "webhook cloud"));
        grow(rehearsal);
        rehearsal_run(rehearsal, 3 * HOUR_MS);
        types = receiver_types(&receiver); /* and that the record is aside */
        assert_non_null(strstr(types, "departure.announced"));
        assert_non_null(strstr(types, "departure.left"));
        receiver_close(&receiver);
    }
}

static void gather_line(void *context, const char *line)
{
    text_add(context, "%s\n", line);
}

static int gather_record(void *context, const char *id, uint64_t rev, const json_t *value,
                         struct error *err)
{
    owned(chars) char *text = json_print(value);

    (void)id;
    (void)rev;
    (void)err;
    text_add(context, "%s\n", text);
    return 0;
}

static void no_secret_is_shown_anywhere(void **state)
{
    static const int statuses[] = { 204, 404, 500, RECEIVER_HANGS, RECEIVER_IS_AWAY };
    owned(text) struct text *seen = text_new(TEXT_UNBOUNDED);

    (void)state;
    log_setup(LOG_DEBUG, LOG_FORM_JSON);
    log_set_sink(gather_line, seen);
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        owned(test_folder) char *folder = test_folder_new();
        struct receiver receiver;
        struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");
        owned(json) json_t *status = NULL;
        owned(json) json_t *events = NULL;
        owned(json) json_t *tested = NULL;
        struct error err;

        receiver.status = statuses[i];
        receiver.answer = "Cannot POST /slack-" RECEIVER_TOKEN " " RECEIVER_SECRET;
        grow(rehearsal);
        rehearsal_run(rehearsal, 20 * MINUTE_MS);
        tested = test_webhook(rehearsal, "slack");
        status = service_status(rehearsal->service);
        events = service_events(rehearsal->service, 10000, &err);
        (void)gather_record(seen, "", 0, status, NULL);
        (void)gather_record(seen, "", 0, events, NULL);
        (void)gather_record(seen, "", 0, tested, NULL);
        assert_int_equal(journal_each(rehearsal->journal, "webhook", gather_record, seen, &err), 0);
        receiver_close(&receiver);
    }
    log_set_sink(NULL, NULL);
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    assert_non_null(strstr(seen->chars, "webhook_fails"));
    assert_null(strstr(seen->chars, RECEIVER_TOKEN));
    assert_null(strstr(seen->chars, RECEIVER_SECRET + strlen("whsec_")));
}

static void files_that_are_mended_are_used_without_a_restart(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct receiver receiver;
    struct rehearsal *rehearsal = receiver_open(&receiver, folder, receiver_settings, "");
    owned(chars) char *path = text_format("%s/hook.secret", folder);

    (void)state;
    assert_int_equal(remove(path), 0);
    grow(rehearsal);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    assert_int_equal(receiver_count(&receiver, "cloud"), 0);
    assert_int_equal(receiver_count(&receiver, "slack"), 1);
    assert_true(warns_of(rehearsal, "hook.secret"));
    receiver_write(folder, "hook.secret", RECEIVER_SECRET "\n");
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    assert_true(receiver_count(&receiver, "cloud") >= 1);
    assert_false(warns_of(rehearsal, "hook.secret"));
    receiver_close(&receiver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_that_dies_loses_no_message_and_keeps_their_order),
        cmocka_unit_test(a_message_whose_answer_was_lost_comes_again),
        cmocka_unit_test(nothing_is_sent_before_it_is_on_the_disk),
        cmocka_unit_test(a_jump_of_the_clock_loses_nothing),
        cmocka_unit_test(other_webhooks_begin_where_the_story_is),
        cmocka_unit_test(too_many_messages_are_dropped_by_name_the_oldest_first),
        cmocka_unit_test(what_comes_during_a_request_is_bounded_too),
        cmocka_unit_test(after_a_day_a_message_is_given_up),
        cmocka_unit_test(its_day_is_a_day_of_the_world),
        cmocka_unit_test(a_record_that_cannot_be_read_is_set_aside),
        cmocka_unit_test(no_secret_is_shown_anywhere),
        cmocka_unit_test(files_that_are_mended_are_used_without_a_restart),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
