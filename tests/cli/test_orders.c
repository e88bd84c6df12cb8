/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reclaims as orders: the same one given twice is one, and one can be ended before its time.
 */
#include "tests/cli/stepwise.h"

static json_t *order_of(int nodes, const char *reason, const char *key, bool is_new)
{
    return json_make("{ss si ss ss sb}", "cluster", "prod-a", "nodes", nodes, "reason", reason,
                     "key", key, "is_new", (int)is_new);
}

static json_t *must_order(struct rehearsal *rehearsal, int nodes, const char *reason,
                          const char *key, bool is_new)
{
    struct error err = { 0 };
    owned(json) json_t *order = order_of(nodes, reason, key, is_new);
    json_t *answer = service_reclaim(rehearsal->service, order, "test", &err);

    if (!answer)
        fail_msg("%s", err.text);
    return answer;
}

static json_t *end_order(struct rehearsal *rehearsal, const char *id, struct error *err)
{
    owned(json) json_t *request = json_make("{ss ss}", "id", id, "reason", "it is over");

    return service_end_reclaim(rehearsal->service, request, "ada", err);
}

static size_t orders_of(struct rehearsal *rehearsal, bool all)
{
    owned(json) json_t *answer = service_reclaims(rehearsal->service, all);

    return json_array_size(json_object_get(answer, "reclaims"));
}

static struct rehearsal *open_calm(const char *folder, uint64_t seed)
{
    struct rehearsal *rehearsal = small_rehearsal(folder, seed, "");

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    return rehearsal;
}

static void the_same_order_twice_is_one(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 51);
    owned(json) json_t *first = must_order(rehearsal, 2, "launch", "", false);
    owned(json) json_t *again = must_order(rehearsal, 2, "launch", "", false);
    const char *id = json_text_or(first, "id", "-");

    (void)state;
    assert_false(json_bool_or(first, "is_repeat", true));
    assert_true(json_bool_or(again, "is_repeat", false));
    assert_string_equal(json_text_or(again, "id", ""), id);
    assert_int_equal(json_int_or(again, "accepted_nodes", 0), 2);
    assert_int_equal(json_int_or(again, "lacking_nodes", 0), 2);
    rehearsal_run(rehearsal, 40 * MINUTE_MS);
    assert_int_equal(orders_of(rehearsal, false), 1);
    expect_rest(rehearsal, 8);

    /* another reason, another number, or --new is another order */
    owned(json) json_t *other = must_order(rehearsal, 1, "launch", "", false);
    owned(json) json_t *more = must_order(rehearsal, 2, "launch", "", true);

    assert_string_not_equal(json_text_or(other, "id", ""), id);
    assert_string_not_equal(json_text_or(more, "id", ""), id);
    rehearsal_run(rehearsal, 40 * MINUTE_MS);
    expect_rest(rehearsal, 11);
}

/* The answer is lost with the service: the client asks again under its key, of the next one. */
static void a_key_outlives_the_answer_and_the_service(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 52);
    owned(json) json_t *first = must_order(rehearsal, 2, "launch", "k-1", true);
    owned(json) json_t *more = order_of(3, "launch", "k-1", true);
    owned(json) json_t *bad_key = order_of(3, "launch", "a b", true);
    owned(json) json_t *again = NULL;
    struct error err = { 0 };

    (void)state;
    restart(rehearsal);
    again = must_order(rehearsal, 2, "launch", "k-1", true);
    assert_true(json_bool_or(again, "is_repeat", false));
    assert_string_equal(json_text_or(again, "id", ""), json_text_or(first, "id", "-"));
    assert_null(service_reclaim(rehearsal->service, more, "test", &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_null(service_reclaim(rehearsal->service, bad_key, "test", &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    rehearsal_run(rehearsal, 40 * MINUTE_MS);
    expect_rest(rehearsal, 8);
}

/* Ended when its transfer is at the step: up to the point of no return the node stays in research;
   beyond it, it arrives, and goes back as the schedule wants. */
static void play_end(enum transfer_step step, bool has_schedules)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 53, "");
    owned(json) json_t *first = NULL;
    owned(json) json_t *ended = NULL;
    bool comes_back = step_can_undo((int)step);
    struct transfer *transfer;
    struct error err = { 0 };

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    if (has_schedules)
        apply(rehearsal, 6, 6);
    first = must_order(rehearsal, 1, "launch", "", false);
    transfer = run_to(rehearsal, step);
    assert_non_null(transfer);
    ended = end_order(rehearsal, json_text_or(first, "id", "-"), &err);
    assert_non_null(ended);
    assert_string_equal(json_text_or(ended, "state", ""), "ended");
    assert_string_equal(json_text_or(ended, "ended_by", ""), "ada");
    assert_string_equal(json_text_or(ended, "end_reason", ""), "it is over");
    assert_int_equal(orders_of(rehearsal, false), 0);
    assert_int_equal(orders_of(rehearsal, true), 1);
    if (step == STEP_CORDON)
        restart(rehearsal); /* the end is in the journal: the next service withdraws it */
    rehearsal_run(rehearsal, HOUR_MS);
    transfer = rehearsal->service->runner->transfers.items[0];
    if (transfer->state != (comes_back ? TRANSFER_UNDONE : TRANSFER_DONE))
        fail_msg("ended at %s: %s", transfer_steps[step].name,
                 transfer_state_name(transfer->state));
    expect_rest(rehearsal, has_schedules || comes_back ? 6 : 7);
    assert_null(end_order(rehearsal, json_text_or(first, "id", "-"), &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
}

static void an_order_can_be_ended_early(void **state)
{
    (void)state;
    play_end(STEP_CORDON, true);
    play_end(STEP_DRAIN, true);
    play_end(STEP_DRAIN, false);
    play_end(STEP_JOIN, true);
    play_end(STEP_JOIN, false);
}

/* Of two orders for one pool the end of one takes back as many as were its own. */
static void the_end_of_one_order_leaves_the_other(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 54);
    owned(json) json_t *first = must_order(rehearsal, 2, "launch", "", false);
    owned(json) json_t *second = must_order(rehearsal, 1, "fire", "", false);
    owned(json) json_t *ended = NULL;
    struct error err = { 0 };

    (void)state;
    assert_non_null(run_to(rehearsal, STEP_DRAIN));
    ended = end_order(rehearsal, json_text_or(second, "id", "-"), &err);
    assert_non_null(ended);
    rehearsal_run(rehearsal, 40 * MINUTE_MS);
    assert_int_equal(orders_of(rehearsal, false), 1);
    expect_rest(rehearsal, 8);
}

/* The story names who gave an order or a freeze, and who ended it. */
static void the_story_tells_who_gave_and_who_ended(void **state)
{
    static const char *const want[][3] = {
        { "reclaim", "test", "reclaim" },
        { "reclaim_ended", "ada", "reclaim" },
        { "freeze", "grace", "freeze" },
        { "unfreeze", "alan", "freeze" },
    };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 57);
    struct service *service = rehearsal->service;
    owned(json)
        json_t *until = json_make("{ss sI}", "reason", "incident 7", "for_s", (json_int_t)600);
    owned(json) json_t *all = json_object();
    owned(json) json_t *given = must_order(rehearsal, 1, "launch", "", false);
    struct error err = { 0 };
    owned(json) json_t *ended = end_order(rehearsal, json_text_or(given, "id", "-"), &err);
    owned(json) json_t *frozen = service_freeze(service, until, "grace", &err);
    owned(json) json_t *open = service_unfreeze(service, all, "alan", &err);
    owned(json) json_t *story = service_events(service, 1000, &err);

    (void)state;
    assert_non_null(ended);
    assert_non_null(frozen);
    assert_non_null(open);
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        const json_t *row;
        size_t told = 0;
        size_t at;

        json_array_foreach(json_object_get(story, "events"), at, row)
            told += text_equal(json_text_or(row, "event", ""), want[i][0]) &&
                    text_equal(json_text_or(row, "by", ""), want[i][1]) &&
                    json_is_object(json_object_get(row, want[i][2]));
        if (told != 1)
            fail_msg("%s by %s is told %zu times", want[i][0], want[i][1], told);
    }
}

/* As if the last order were shared out over two pools. */
static void add_portion(struct rehearsal *rehearsal)
{
    struct service *service = rehearsal->service;
    const struct reclaim *last = &service->reclaims.items[service->reclaims.count - 1];
    struct reclaim portion = {
        .id = text_format("%s.1", last->id),
        .order = mem_copy_chars(last->order),
        .pool = last->pool,
        .until = last->until,
        .ended = last->ended,
        .key = mem_copy_chars(""),
        .from = mem_copy_chars(last->from),
        .reason = mem_copy_chars(last->reason),
        .by = mem_copy_chars(last->by),
        .approved_by = mem_copy_chars(last->approved_by),
        .ended_by = mem_copy_chars(last->ended_by),
        .end_reason = mem_copy_chars(last->end_reason),
    };
    struct reclaim *portions[] = { array_add(&service->reclaims) };
    struct error err = { 0 };

    *portions[0] = portion;
    assert_int_equal(orders_store(service, journal_batch_new(service->epoch), portions, 1, &err),
                     0);
}

/* Of those that are over as many stay as of transfers, each with all its portions; a live one
   always. */
static void the_oldest_orders_are_forgotten(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 55);
    owned(json) json_t *live = must_order(rehearsal, 1, "launch", "k-live", true);
    char ids[ORDERS_KEPT + 5][16];
    struct error err = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        owned(json) json_t *given = must_order(rehearsal, 1, "drill", "", true);
        owned(json) json_t *ended = NULL;

        text_copy(ids[i], sizeof ids[i], json_text_or(given, "id", ""));
        ended = end_order(rehearsal, ids[i], &err);
        assert_non_null(ended);
        if (i % 2 == 0)
            add_portion(rehearsal);
        rehearsal_run(rehearsal, SECOND_MS);
    }
    for (int is_again = 0; is_again < 2; is_again++) {
        assert_int_equal(orders_of(rehearsal, false), 1);
        assert_int_equal(orders_of(rehearsal, true), ORDERS_KEPT + 1);
        assert_null(end_order(rehearsal, ids[4], &err));
        assert_int_equal(err.kind, ERROR_NOT_FOUND);
        assert_null(end_order(rehearsal, ids[5], &err));
        assert_int_equal(err.kind, ERROR_CONFLICT); /* it is ended already */
        restart(rehearsal);                         /* and so the journal has it */
    }
    rehearsal_run(rehearsal, 40 * MINUTE_MS);
    expect_rest(rehearsal, 7);
}

/* As a record of a pool that a later configuration lacks. */
static void put_lost(struct rehearsal *rehearsal, const char *id, int64_t for_ms)
{
    struct service *service = rehearsal->service;
    struct journal_batch *batch = journal_batch_new(service->epoch);
    owned(json) json_t *value = reclaim_encode(&service->reclaims.items[0]);
    struct error err = { 0 };

    json_object_set_new(value, "id", json_text(id));
    json_object_set_new(value, "pool", json_text("gone"));
    json_object_set_new(value, "until",
                        json_wall((struct wall_time){ order_time(service).ms + for_ms }));
    journal_put(batch, "reclaim", id, 0, value);
    assert_int_equal(journal_commit(service->world->journal, &batch, &err), 0);
}

static int count_record(void *context, const char *id, uint64_t rev, const json_t *value,
                        struct error *err)
{
    (void)id;
    (void)rev;
    (void)value;
    (void)err;
    ++*(int *)context;
    return 0;
}

static int records(struct rehearsal *rehearsal)
{
    int count = 0;

    assert_int_equal(
        journal_load(rehearsal->service->world->journal, "reclaim", count_record, &count, NULL), 0);
    return count;
}

/* While it is in force it stays: the pool may come back. */
static void an_order_whose_pool_is_gone_is_forgotten_when_it_is_over(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 56);
    owned(json) json_t *kept = must_order(rehearsal, 1, "launch", "", true);

    (void)state;
    put_lost(rehearsal, "r-short", 10 * MINUTE_MS);
    put_lost(rehearsal, "r-long", 300 * MINUTE_MS);
    restart(rehearsal);
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(records(rehearsal), 3);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    assert_int_equal(records(rehearsal), 2);
    restart(rehearsal);
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(records(rehearsal), 2);
    rehearsal_run(rehearsal, 300 * MINUTE_MS);
    assert_int_equal(orders_of(rehearsal, true), 1);
    assert_int_equal(records(rehearsal), 1);
}

/* A person knows the node, and not the transfer: the old node's name finds it, and the new one's.
 */
static void a_transfer_is_found_by_its_node(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_calm(folder, 58);
    owned(json) json_t *given = must_order(rehearsal, 1, "launch", "", false);
    struct transfer *transfer = run_to(rehearsal, STEP_DRAIN);
    struct error err = { 0 };
    owned(json) json_t *old = service_transfer(rehearsal->service, transfer->node, &err);
    owned(json) json_t *next = NULL;

    (void)state;
    assert_string_equal(json_text_or(old, "transfer", ""), transfer->id);
    rehearsal_run(rehearsal, 40 * MINUTE_MS);
    next = service_transfer(rehearsal->service, transfer->new_node, &err);
    assert_string_equal(json_text_or(next, "transfer", ""), transfer->id);
    assert_string_equal(json_text_or(next, "state", ""), "done");
    assert_null(service_transfer(rehearsal->service, "", &err));
    assert_null(service_transfer(rehearsal->service, "ghost", &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_order_twice_is_one),
        cmocka_unit_test(a_transfer_is_found_by_its_node),
        cmocka_unit_test(a_key_outlives_the_answer_and_the_service),
        cmocka_unit_test(an_order_can_be_ended_early),
        cmocka_unit_test(the_story_tells_who_gave_and_who_ended),
        cmocka_unit_test(the_end_of_one_order_leaves_the_other),
        cmocka_unit_test(the_oldest_orders_are_forgotten),
        cmocka_unit_test(an_order_whose_pool_is_gone_is_forgotten_when_it_is_over),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
