/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The events that people ask for: of a time, a node, a move, a person.
 */
#include "tests/cli/stepwise.h"

static json_t *ask(struct rehearsal *rehearsal, const struct event_wish *wish)
{
    struct error err = { 0 };
    json_t *answer = service_events_of(rehearsal->service, wish, &err);

    if (!answer)
        fail_msg("%s", err.text);
    assert_false(json_is_true(json_object_get(answer, "is_cut")));
    return answer;
}

static size_t count(struct rehearsal *rehearsal, const struct event_wish *wish)
{
    owned(json) json_t *answer = ask(rehearsal, wish);

    return json_array_size(json_object_get(answer, "events"));
}

/* Each member of the events is the value. */
static void expect_all(struct rehearsal *rehearsal, const struct event_wish *wish,
                       const char *member, const char *value)
{
    owned(json) json_t *answer = ask(rehearsal, wish);
    const json_t *event;
    size_t i;

    assert_true(json_array_size(json_object_get(answer, "events")) > 0);
    json_array_foreach(json_object_get(answer, "events"), i, event)
        assert_string_equal(json_text_or(event, member, ""), value);
}

static void a_story_is_told_by_node_move_person_and_time(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 46, "");
    owned(json) json_t *answer = NULL;
    const struct transfer *transfer;
    struct error err = { 0 };
    size_t all;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    answer = reclaim(rehearsal, 2);
    rehearsal_run(rehearsal, HOUR_MS);
    transfer = rehearsal->service->runner->transfers.items[0];
    all = count(rehearsal, &(struct event_wish){ .count = 10000 });

    expect_all(rehearsal, &(struct event_wish){ .count = 99, .node = transfer->node }, "node",
               transfer->node);
    expect_all(rehearsal, &(struct event_wish){ .count = 99, .move = transfer->move }, "move",
               transfer->move);
    expect_all(rehearsal, &(struct event_wish){ .count = 99, .move = transfer->id }, "transfer",
               transfer->id);
    expect_all(rehearsal, &(struct event_wish){ .count = 99, .actor = "test" }, "by", "test");
    assert_int_equal(count(rehearsal, &(struct event_wish){ .count = 99, .node = "none" }), 0);

    /* the last two of many; all filters must fit */
    assert_int_equal(count(rehearsal, &(struct event_wish){ .count = 2, .move = transfer->move }),
                     2);
    assert_int_equal(
        count(rehearsal,
              &(struct event_wish){ .count = 99, .node = transfer->node, .actor = "test" }),
        0);

    assert_int_equal(count(rehearsal, &(struct event_wish){ .count = 10000, .since = "2h" }), all);
    assert_int_equal(count(rehearsal, &(struct event_wish){ .count = 99, .since = "1s" }), 0);
    assert_in_range(
        count(rehearsal, &(struct event_wish){ .count = 10000, .since = "2026-11-17T06:02:01Z" }),
        1, all - 1);
    assert_null(service_events_of(rehearsal->service,
                                  &(struct event_wish){ .count = 9, .since = "yesterday" }, &err));
    assert_non_null(strstr(err.text, "\"yesterday\" is neither a duration (2h30m) nor a time"));
}

/* Ada works as root, on the socket, and over TLS. */
static void a_person_has_several_names(void **state)
{
    static const char *const names[] = { "ada", "root (login ada)", "Ada@example.com", "adam",
                                         "root" };
    static const struct {
        const char *actor;
        size_t count;
    } rows[] = {
        { "ada", 3 }, { "root (login ada)", 3 }, { "adam", 1 }, { "root", 1 }, { "x", 0 }
    };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 47, "");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct error err = { 0 };
        /* each later than the one before, which would else stay */
        owned(chars) char *until = text_format("2026-11-17T%02zu:30:00Z", 9 + i);
        owned(json) json_t *request = json_make("{ss ss ss}", "cluster", "research-a", "reason",
                                                "a look", "until", until);
        owned(json) json_t *answer = service_freeze(rehearsal->service, request, names[i], &err);

        assert_non_null(answer);
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(
            count(rehearsal,
                  &(struct event_wish){ .count = 99, .acts = true, .actor = rows[i].actor }),
            rows[i].count);
}

/* So many events of that hour of the day. */
static void add_events(struct rehearsal *rehearsal, int count, int hour, const char *by)
{
    struct journal_batch *batch = journal_batch_new(rehearsal->service->epoch);
    struct wall_time at = { (int64_t)civil_day(2026, 11, 17) * DAY_MS + hour * HOUR_MS };
    struct error err = { 0 };

    for (int i = 0; i < count; i++) {
        owned(json) json_t *event = json_make("{ss ss}", "event", "freeze", "by", by);

        journal_event(batch, at, event);
    }
    if (journal_commit(rehearsal->journal, &batch, &err) < 0)
        fail_msg("%s", err.text);
}

/* Of the wall clock's time; older events are asked for with `before`. */
static void a_clock_that_went_back_hides_no_older_event(void **state)
{
    struct event_wish wish = { .count = 10000, .since = "2026-11-17T05:30:00Z", .actor = "ada" };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 46, "");
    struct error err = { 0 };
    size_t found = 0, asked = 0;

    (void)state;
    add_events(rehearsal, 3, 6, "ada");
    add_events(rehearsal, 5000, 4, "ada"); /* the oldest that the first answer looks at is one */
    add_events(rehearsal, 9000, 6, "bob");
    do {
        owned(json) json_t *answer = service_events_of(rehearsal->service, &wish, &err);

        if (!answer)
            fail_msg("%s", err.text);
        found += json_array_size(json_object_get(answer, "events"));
        wish.before = json_int_or(answer, "before", -1);
        assert_int_equal(json_is_true(json_object_get(answer, "is_cut")), wish.before > 0);
    } while (++asked < 3 && wish.before > 0);
    assert_int_equal(found, 3);
    assert_int_equal(asked, 2);
    wish.before = -1;
    assert_null(service_events_of(rehearsal->service, &wish, &err));
}

/* Events that are all from before the time end the search, although older ones are left. */
static void what_is_older_than_the_time_is_not_read(void **state)
{
    struct event_wish wish = { .count = 9, .since = "2026-11-17T05:30:00Z" };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 46, "");
    struct error err = { 0 };

    (void)state;
    add_events(rehearsal, 30000, 4, "ada");

    owned(json) json_t *answer = service_events_of(rehearsal->service, &wish, &err);

    assert_non_null(answer);
    assert_int_equal(json_int_or(answer, "before", -1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_story_is_told_by_node_move_person_and_time),
        cmocka_unit_test(a_person_has_several_names),
        cmocka_unit_test(a_clock_that_went_back_hides_no_older_event),
        cmocka_unit_test(what_is_older_than_the_time_is_not_read),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
