/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A person takes nodes out of their moves: they go back while they can, no move takes them until
 * their freeze ends, and a service that dies in between knows it.
 */
#include "tests/cli/stepwise.h"

static json_t *abort_of(struct rehearsal *rehearsal, const char *what, struct error *err)
{
    owned(json) json_t *request = json_make("{ss ss sI}", "what", what, "reason", "its job ends",
                                            "for_s", (json_int_t)7200);

    return service_abort(rehearsal->service, request, "ada", err);
}

static void must_abort(struct rehearsal *rehearsal, const char *what, size_t back, size_t on)
{
    struct error err = { 0 };
    owned(json) json_t *answer = abort_of(rehearsal, what, &err);

    if (!answer)
        fail_msg("%s", err.text);
    assert_int_equal(json_array_size(json_object_get(answer, "goes_back")), back);
    assert_int_equal(json_array_size(json_object_get(answer, "goes_on")), on);
}

static void resume(struct rehearsal *rehearsal, const char *what, size_t nodes)
{
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss}", "what", what);
    owned(json) json_t *answer = service_resume(rehearsal->service, request, "alan", &err);

    if (!answer)
        fail_msg("%s", err.text);
    assert_int_equal(json_array_size(json_object_get(answer, "nodes")), nodes);
}

static size_t frozen(struct rehearsal *rehearsal)
{
    owned(json) json_t *status = service_status(rehearsal->service);

    return json_array_size(json_at(status, "overrides/frozen_nodes"));
}

/* Whether the node is in research as if nothing had been. */
static bool is_back(const struct rehearsal *rehearsal, const char *name)
{
    const struct service *service = rehearsal->service;
    const struct config_cluster *research = config_cluster(service->config, "research-a");
    const struct node *node = map_get(fleet_snapshot(service->fleet, research)->nodes, name);

    return node && !node->is_unschedulable && !node_annotation(node, SLUICE_NOTE_TRANSFER);
}

enum death { NO_DEATH, BEFORE_THE_FREEZE, AFTER_THE_FREEZE };

static void play(enum transfer_step step, enum death death)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 61, "");
    struct transfer *transfer = scheduled(rehearsal, step);
    owned(chars) char *node = mem_copy_chars(transfer->node);
    owned(chars) char *id = mem_copy_chars(transfer->id);
    struct error err = { 0 };

    if (death == BEFORE_THE_FREEZE)
        rehearsal_kill_at_commit(rehearsal, 1);
    else if (death == AFTER_THE_FREEZE)
        rehearsal_kill_after_commit(rehearsal, 1);
    if (death == NO_DEATH) {
        must_abort(rehearsal, id, 1, 0);
    } else {
        owned(json) json_t *lost = abort_of(rehearsal, id, &err);

        (void)lost;
        rehearsal_kill(rehearsal);
        if (rehearsal_start(rehearsal, &err) < 0)
            fail_msg("%s", err.text);
    }
    rehearsal_run(rehearsal, HOUR_MS);
    transfer = runner_transfer(rehearsal->service->runner, id);
    assert_non_null(transfer);
    assert_int_equal(transfer->state, death == BEFORE_THE_FREEZE ? TRANSFER_DONE : TRANSFER_UNDONE);
    assert_int_equal(is_back(rehearsal, node), death != BEFORE_THE_FREEZE);
    expect_rest(rehearsal, 7); /* another node moved in its place */
    assert_int_equal(frozen(rehearsal), death != BEFORE_THE_FREEZE);
}

static void a_node_goes_back_from_each_step_that_can(void **state)
{
    (void)state;
    for (enum transfer_step step = STEP_ANNOUNCE; step <= STEP_DRAIN; step++)
        play(step, NO_DEATH);
}

static void a_death_in_between_changes_nothing(void **state)
{
    (void)state;
    play(STEP_NOTICE, BEFORE_THE_FREEZE);
    play(STEP_NOTICE, AFTER_THE_FREEZE);
    play(STEP_DRAIN, AFTER_THE_FREEZE);
}

static void what_is_gone_goes_on(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 62, "");
    struct transfer *transfer = scheduled(rehearsal, STEP_ACQUIRE);
    struct error err = { 0 };

    (void)state;
    assert_null(abort_of(rehearsal, transfer->id, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_int_equal(frozen(rehearsal), 0);
    assert_null(abort_of(rehearsal, "t-none", &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 7);
}

/* All nodes of a move stay, and the story names who kept them.  Given back, they move. */
static void a_move_is_taken_back_and_given_back(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 63, "");
    owned(chars) char *move = NULL;
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 15, 6); /* all that research may give */
    move = mem_copy_chars(run_to(rehearsal, STEP_NOTICE)->move);
    must_abort(rehearsal, move, transfers_of(rehearsal, false), 0);

    size_t kept = frozen(rehearsal);

    assert_true(kept > 1);
    assert_int_equal(story_count(rehearsal, "freeze"), kept);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(frozen(rehearsal), kept);
    expect_rest(rehearsal, 15 - (int)kept);
    resume(rehearsal, move, kept);
    assert_int_equal(story_count(rehearsal, "unfreeze"), kept);
    assert_int_equal(frozen(rehearsal), 0);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    expect_rest(rehearsal, 15);

    owned(json) json_t *request = json_make("{ss}", "what", move);

    assert_null(service_resume(rehearsal->service, request, "alan", &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

static void freeze_node(struct rehearsal *rehearsal, const char *node, int64_t for_s)
{
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss ss sI}", "node", node, "reason", "a benchmark",
                                            "for_s", (json_int_t)for_s);
    owned(json) json_t *answer = service_freeze(rehearsal->service, request, "ada", &err);

    if (!answer)
        fail_msg("%s", err.text);
    assert_string_equal(json_text_or(answer, "cluster", ""), "research-a");
}

static void freeze_all_but(struct rehearsal *rehearsal, size_t spared, int64_t for_s)
{
    const struct service *service = rehearsal->service;
    const struct config_cluster *research = config_cluster(service->config, "research-a");
    const char *name;
    void *value;

    for (size_t i = 0;
         map_next(fleet_snapshot(service->fleet, research)->nodes, &i, &name, &value);) {
        if (!fleet_is_ephemeral(rehearsal->config, value))
            continue;
        if (spared > 0)
            spared--;
        else
            freeze_node(rehearsal, name, for_s);
    }
}

/* As if a person had cordoned it, but with an end.  The plan says what it would take. */
static void a_reclaim_does_not_take_a_frozen_node(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 64, "");
    owned(json) json_t *order = NULL;
    owned(json) json_t *plan = NULL;
    const json_t *kept;
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    freeze_all_but(rehearsal, 1, 1800);
    assert_int_equal(frozen(rehearsal), 8);
    order = reclaim(rehearsal, 2);
    assert_int_equal(json_int_or(order, "accepted_nodes", 0), 1);
    rehearsal_run(rehearsal, 20 * MINUTE_MS);
    assert_int_equal(transfers_of(rehearsal, true), 1);
    plan = service_plan(rehearsal->service, NULL, &err);
    assert_non_null(plan);
    kept = json_object_get(json_array_get(json_object_get(plan, "lacks"), 0), "kept");
    if (kept) { /* the order holds what it was promised, and no more */
        assert_string_equal(json_text_or(json_array_get(kept, 0), "tool", ""), "freeze");
        assert_int_equal(json_int_or(json_array_get(kept, 0), "nodes", 0), 8);
    }
}

/* The answer says why; the same order is good when the freezes have ended. */
static void a_reclaim_that_finds_only_frozen_nodes_says_so(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 64, "");
    owned(json) json_t *request = json_make("{ss si ss}", "cluster", "prod-a", "nodes", 2, "reason",
                                            "launch");
    owned(json) json_t *order = NULL;
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    freeze_all_but(rehearsal, 0, 1800);
    assert_null(service_reclaim(rehearsal->service, request, "test", &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_non_null(strstr(err.text, "9 research nodes are frozen"));
    rehearsal_run(rehearsal, 31 * MINUTE_MS);
    assert_int_equal(frozen(rehearsal), 0);
    order = service_reclaim(rehearsal->service, request, "test", &err);
    assert_non_null(order);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 8);
}

/* Of all events, those that people caused, with the person. */
static void the_audit_has_acts_only(void **state)
{
    static const char *const want[][2] = { { "schedules_applied", "test" },
                                           { "hold", "grace" },
                                           { "freeze", "ada" },
                                           { "unfreeze", "alan" } };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 67, "");
    struct transfer *transfer = scheduled(rehearsal, STEP_NOTICE);
    struct event_wish wish = { .count = 100, .acts = true };
    owned(chars) char *node = mem_copy_chars(transfer->node);
    owned(json) json_t *hold = json_make("{ss ss si}", "node", node, "reason", "x", "for_s", 60);
    owned(json) json_t *held = NULL;
    owned(json) json_t *all = NULL;
    owned(json) json_t *of_ada = NULL;
    struct error err = { 0 };
    const json_t *event;
    size_t i;

    (void)state;
    transfer->due.ms = loop_wall(rehearsal->loop).ms + 3 * HOUR_MS; /* there is time */
    held = service_hold(rehearsal->service, hold, "grace", &err);
    assert_non_null(held);
    must_abort(rehearsal, node, 1, 0);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    resume(rehearsal, node, 1);
    all = service_events_of(rehearsal->service, &wish, &err);
    assert_int_equal(json_array_size(json_object_get(all, "events")), COUNT_OF(want));
    json_array_foreach(json_object_get(all, "events"), i, event) {
        assert_string_equal(json_text_or(event, "event", ""), want[i][0]);
        assert_string_equal(json_text_or(event, "by", ""), want[i][1]);
    }
    wish.actor = "ada";
    of_ada = service_events_of(rehearsal->service, &wish, &err);
    assert_int_equal(json_array_size(json_object_get(of_ada, "events")), 1);
}

/* Until when it was is not known: it holds until a person ends it.  Its key says which node. */
static void an_unreadable_freeze_of_a_node_holds(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 66, "");
    struct transfer *transfer = scheduled(rehearsal, STEP_NOTICE);
    owned(chars) char *node = mem_copy_chars(transfer->node);
    owned(chars) char *key = text_format("research-a/%s", node);
    struct service *service = rehearsal->service;
    struct journal_batch *batch = journal_batch_new(service->epoch);
    owned(json) json_t *damaged = json_make("{ss}", "node", node);
    struct error err = { 0 };

    (void)state;
    journal_put(batch, "node_freeze", key, 0, damaged);
    assert_int_equal(journal_commit(service->world->journal, &batch, &err), 0);
    restart(rehearsal);
    rehearsal_run(rehearsal, 3 * HOUR_MS);
    assert_true(is_back(rehearsal, node));
    assert_int_equal(frozen(rehearsal), 1);
    assert_null(guard_freeze(&rehearsal->service->guard,
                             config_cluster(rehearsal->config, "research-a"),
                             loop_wall(rehearsal->loop)));
    resume(rehearsal, node, 1);
    assert_int_equal(frozen(rehearsal), 0);
    expect_rest(rehearsal, 7);
}

static void put_freeze(struct rehearsal *rehearsal, const char *kind, const char *key,
                       const char *cluster, const char *node)
{
    struct service *service = rehearsal->service;
    struct journal_batch *batch = journal_batch_new(service->epoch);
    owned(json)
        json_t *value = json_make("{ss ss ss ss ss}", "cluster", cluster, "node", node, "reason",
                                  "x", "by", "ada", "until", "2026-11-18T12:00:00Z");
    struct error err = { 0 };

    journal_put(batch, kind, key, 0, value);
    assert_int_equal(journal_commit(service->world->journal, &batch, &err), 0);
}

/* Its cluster left the configuration while the service was down: a person can still end it. */
static void a_freeze_of_a_cluster_that_is_gone_can_end(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 68, "");
    owned(json) json_t *cluster = json_make("{ss}", "cluster", "gone");
    owned(json) json_t *open = NULL;
    struct error err = { 0 };

    (void)state;
    put_freeze(rehearsal, "node_freeze", "gone/n1", "gone", "n1");
    put_freeze(rehearsal, "freeze", "gone", "gone", "");
    restart(rehearsal);
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(frozen(rehearsal), 1);
    resume(rehearsal, "n1", 1);
    assert_int_equal(frozen(rehearsal), 0);
    open = service_unfreeze(rehearsal->service, cluster, "alan", &err);
    assert_non_null(open);
    assert_null(service_unfreeze(rehearsal->service, cluster, "alan", &err));
    restart(rehearsal);
    assert_int_equal(frozen(rehearsal), 0);
}

/* A record under a key that is not its own stands for what its key says. */
static void a_record_under_another_key_holds_its_own_node(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 69, "");
    struct wall_time now = loop_wall(rehearsal->loop);

    (void)state;
    put_freeze(rehearsal, "node_freeze", "research-a/n1", "research-a", "");
    restart(rehearsal);
    assert_null(guard_freeze(&rehearsal->service->guard,
                             config_cluster(rehearsal->config, "research-a"), now));
    assert_non_null(guard_freeze_of_node(&rehearsal->service->guard, "research-a", "n1", now));
    resume(rehearsal, "n1", 1);
}

/* Who keeps a node longer is not overruled by who aborts its move for an hour. */
static void an_abort_shortens_no_freeze(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 70, "");
    struct transfer *transfer = scheduled(rehearsal, STEP_NOTICE);
    owned(chars) char *node = mem_copy_chars(transfer->node);
    owned(chars) char *move = mem_copy_chars(transfer->move);
    owned(json) json_t *request = json_make("{ss}", "what", move);
    struct error err = { 0 };

    (void)state;
    freeze_node(rehearsal, node, 40000);
    must_abort(rehearsal, move, 1, 0);
    assert_int_equal(story_count(rehearsal, "freeze"), 1);
    assert_null(service_resume(rehearsal->service, request, "alan", &err));
    rehearsal_run(rehearsal, 5 * HOUR_MS);
    assert_int_equal(frozen(rehearsal), 1);
    resume(rehearsal, node, 1);
}

/* A name that is missing is not all of them. */
static void an_empty_name_freezes_nothing(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    owned(json) json_t *empty = json_make("{ss ss si}", "node", "", "reason", "x", "for_s", 60);
    owned(json) json_t *number = json_make("{si ss si}", "node", 7, "reason", "x", "for_s", 60);
    const json_t *const requests[] = { empty, number };
    struct error err = { 0 };

    (void)state;
    freeze_for(rehearsal, "", HOUR_MS);
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        assert_null(service_freeze(rehearsal->service, requests[i], "ada", &err));
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_null(service_unfreeze(rehearsal->service, requests[i], "ada", &err));
        assert_int_equal(err.kind, ERROR_INVALID);
    }
    assert_int_equal(rehearsal->service->guard.freezes.count, 1);
}

/* Its freeze would protect nothing. */
static void a_configuration_without_the_frozen_cluster_is_refused(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 72, "");
    struct config next = *rehearsal->config;
    struct error err = { 0 };

    (void)state;
    next.cluster_count = 1; /* without research-a */
    next.pool_count = 1;
    freeze_for(rehearsal, "research-a", HOUR_MS);
    assert_int_equal(service_may_become(rehearsal->service, &next, &err), -1);
    assert_non_null(strstr(err.text, "cluster research-a is not in it any more"));
}

/* A node's freeze is forgotten after its end: nodes come and go. */
static void a_freeze_that_is_over_leaves_no_record(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 65, "");
    struct transfer *transfer = scheduled(rehearsal, STEP_NOTICE);
    owned(chars) char *node = mem_copy_chars(transfer->node);

    (void)state;
    for (int i = 0; i < 3; i++) {
        freeze_node(rehearsal, node, 60);
        assert_int_equal(rehearsal->service->guard.freezes.count, 1);
        restart(rehearsal);
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        assert_int_equal(frozen(rehearsal), 0);
    }
    freeze_for(rehearsal, "", MINUTE_MS);
    assert_int_equal(rehearsal->service->guard.freezes.count, 1);
    restart(rehearsal);
    assert_int_equal(rehearsal->service->guard.freezes.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_goes_back_from_each_step_that_can),
        cmocka_unit_test(a_death_in_between_changes_nothing),
        cmocka_unit_test(what_is_gone_goes_on),
        cmocka_unit_test(a_move_is_taken_back_and_given_back),
        cmocka_unit_test(a_reclaim_does_not_take_a_frozen_node),
        cmocka_unit_test(a_reclaim_that_finds_only_frozen_nodes_says_so),
        cmocka_unit_test(the_audit_has_acts_only),
        cmocka_unit_test(an_unreadable_freeze_of_a_node_holds),
        cmocka_unit_test(a_freeze_that_is_over_leaves_no_record),
        cmocka_unit_test(a_configuration_without_the_frozen_cluster_is_refused),
        cmocka_unit_test(an_empty_name_freezes_nothing),
        cmocka_unit_test(an_abort_shortens_no_freeze),
        cmocka_unit_test(a_record_under_another_key_holds_its_own_node),
        cmocka_unit_test(a_freeze_of_a_cluster_that_is_gone_can_end),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
