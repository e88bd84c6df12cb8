/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Moves from beginning to end: the real service against the simulator in virtual time, with the
 * referee watching.
 */
#include "broker/journal/journal.h"
#include "broker/service/service_parts.h"
#include "tests/cli/small_world.h"

#include <string.h>

static void nothing_moves_without_schedules(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");

    (void)state;
    rehearsal_run(rehearsal, 4 * HOUR_MS);
    assert_int_equal(transfers_of(rehearsal, true), 0);
    expect_rest(rehearsal, 6);
}

static void a_window_moves_nodes_there_and_back(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 6);
    rehearsal_run(rehearsal, 118 * MINUTE_MS); /* 08:00: the day begins */
    expect_rest(rehearsal, 10);
    rehearsal_run(rehearsal, 13 * HOUR_MS); /* 21:00 */
    expect_rest(rehearsal, 6);
}

static const json_t *lead_row(const json_t *answer, const char *route)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(answer, "leads"), i, row) {
        if (text_equal(json_text_or(row, "key", ""), route))
            return row;
    }
    fail_msg("no route %s", route);
    return NULL;
}

/* What moves taught in either direction, step by step, and the same after a restart.  A reclaim is
   promised what goes to production took. */
static void lead_times_are_learned_and_kept(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    owned(json) json_t *before = NULL;
    owned(json) json_t *after = NULL;
    const json_t *route;
    const json_t *back;
    owned(json) json_t *offer = NULL;
    owned(json) json_t *request = json_make("{ss si ss sb}", "cluster", "prod-a", "nodes", 1,
                                            "reason", "launch", "is_dry_run", 1);
    struct error err;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 14, 5); /* nine nodes there, back, there, back, and there */
    rehearsal_run(rehearsal, 51 * (int64_t)HOUR_MS);
    before = service_leads(rehearsal->service);
    route = lead_row(before, "gcp/a3-megagpu-8g/us-east5-a");
    back = lead_row(before, "gcp/a3-megagpu-8g/us-east5-a/to-research");
    assert_in_range(json_int_or(route, "known", 0), 20, 100);
    assert_int_equal(json_array_size(json_object_get(route, "steps")), 9); /* none was forced */
    assert_in_range(json_int_or(back, "known", 0), 20, 100);
    print_message("p95 %lld s there, %lld s back\n", (long long)json_int_or(route, "p95_s", 0),
                  (long long)json_int_or(back, "p95_s", 0));
    assert_true(json_int_or(back, "p95_s", 0) != json_int_or(route, "p95_s", 0));
    apply(rehearsal, 10, 10);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    owned(json) json_t *later = service_leads(rehearsal->service);

    offer = service_reclaim(rehearsal->service, request, "test", &err);
    assert_non_null(offer);
    assert_int_equal(json_int_or(offer, "lead_p95_s", 0),
                     json_int_or(lead_row(later, "gcp/a3-megagpu-8g/us-east5-a"), "p95_s", -1));
    json_decref(before);
    before = json_incref(later);

    rehearsal_kill(rehearsal);
    assert_int_equal(rehearsal_start(rehearsal, &err), 0);
    after = service_leads(rehearsal->service);
    assert_true(json_equal(before, after));
}

/* A member of the simulator's report. */
static int64_t reported(struct rehearsal *rehearsal, const char *path)
{
    owned(json) json_t *report = simulator_report(rehearsal->simulator);

    return json_int_or(report, path, 0);
}

/* Four nodes leave research, whose pods budgets hold; returns how many evictions were refused. */
static int64_t refused_with(const char *budgets, int64_t *ret_forced)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, budgets);
    int64_t refused;

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 6);
    rehearsal_run(rehearsal, 118 * MINUTE_MS);
    expect_rest(rehearsal, 10);
    refused = reported(rehearsal, "requests/evict_pod") - reported(rehearsal, "effects/evictions");
    *ret_forced = reported(rehearsal, "effects/pod_deletes");
    assert_true(reported(rehearsal, "effects/evictions") + *ret_forced >= 4);
    return refused;
}

#define BUDGET(team, least)                                                                        \
    "  - {cluster: research-a, namespace: research, selector_label: team=" team                    \
    ", min_available: " least "}\n"

static void budgets_are_asked_only_when_they_have_room(void **state)
{
    int64_t forced;

    (void)state;
    assert_int_equal(
        refused_with("budgets:\n" BUDGET("vision", "1") BUDGET("language", "1"), &forced), 0);
    assert_int_equal(forced, 0);
}

static void a_budget_with_no_room_ever_costs_a_question_and_the_deadline(void **state)
{
    int64_t forced;
    int64_t refused;

    (void)state;
    refused = refused_with("budgets:\n" BUDGET("vision", "999") BUDGET("language", "999")
                               BUDGET("speech", "999") BUDGET("robotics", "999"),
                           &forced);
    assert_in_range(refused, 1, 4 * 5); /* once a minute a budget, not every 5 s a pod */
    assert_true(forced > 0);
}

/* A Job's pod on the node, of which no simulated controller knows: it is not counted. */
static void post_uncounted_pod(struct rehearsal *rehearsal, const char *node)
{
    post(rehearsal, "api/v1/namespaces", json_make("{s:{s:s}}", "metadata", "name", "ml"));
    post(rehearsal, "api/v1/namespaces/ml/pods",
         json_make("{s:{s:s, s:[s], s:{s:s}, s:[{s:s, s:s, s:b}]}, s:{s:s, s:i, s:[{s:s}]}}",
                   "metadata", "name", "uncounted", "finalizers", POD_JOB_FINALIZER, "annotations",
                   "test.sluice.dev/stops-in", "2s", "ownerReferences", "kind", "Job", "name",
                   "busy", "controller", 1, "spec", "nodeName", node,
                   "terminationGracePeriodSeconds", 20, "containers", "name", "main"));
}

/* A pod of a Job is still listed when it has stopped, until its controller has counted it, and that
   may be behind by minutes: nothing runs there any more, and no drain need wait for it. */
static void a_pod_that_is_only_to_be_counted_holds_no_drain_up(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    const struct transfer *transfer;
    size_t on_node;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 7, 6);
    while (transfers_of(rehearsal, false) == 0)
        rehearsal_run(rehearsal, SECOND_MS);
    transfer = rehearsal->service->runner->transfers.items[0];
    post_uncounted_pod(rehearsal, transfer->node);
    while (transfer->step < STEP_DRAIN)
        rehearsal_run(rehearsal, SECOND_MS);
    rehearsal_run(rehearsal, MINUTE_MS); /* the deadline is four minutes away */
    assert_true(transfer->step > STEP_FORCE);
    snapshot_pods_on(fleet_snapshot(rehearsal->service->fleet, transfer->source->cluster),
                     transfer->node, &on_node);
    assert_in_range(on_node, 1, 2); /* it is still there, and the daemon's */
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* While there is time to mend it, an operator is told what no eviction will get past. */
static void a_notice_says_who_will_have_to_be_forced(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(
        folder, 1,
        "budgets:\n" BUDGET("vision", "999") BUDGET("language", "999") BUDGET("speech", "999")
            BUDGET("robotics", "999"));
    owned(json) json_t *shown = NULL;
    const json_t *row;
    size_t i;
    int told = 0;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 6);
    while (json_array_size(json_object_get(shown, "transfers")) == 0) {
        rehearsal_run(rehearsal, MINUTE_MS);
        json_decref(shown);
        shown = service_transfers(rehearsal->service, false);
    }
    json_array_foreach(json_object_get(shown, "transfers"), i, row) {
        assert_string_equal(json_text_or(row, "step", ""), "notice");
        told += strstr(json_text_or(row, "waits_for", ""), "will have to be forced: budget ") !=
                NULL;
    }
    assert_in_range(told, 1, i);

    for (i = 0; i < rehearsal->service->runner->transfers.count; i++)
        rehearsal->service->runner->transfers.items[i]->is_undoing = true;
    json_decref(shown);
    shown = service_transfers(rehearsal->service, false);
    json_array_foreach(json_object_get(shown, "transfers"), i, row)
        assert_null(strstr(json_text_or(row, "waits_for", ""), "forced")); /* they stay */
    assert_true(i > 0);
}

static void two_budgets_on_a_pod_are_not_tried(void **state)
{
    int64_t forced;

    (void)state;
    assert_int_equal(refused_with("budgets:\n" BUDGET("vision", "0") BUDGET("vision", "0")
                                      BUDGET("language", "0") BUDGET("language", "0"),
                                  &forced),
                     0);
    assert_true(forced > 0);
}

static void the_story_is_told(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    owned(json) json_t *story = NULL;
    owned(json) json_t *too_many = NULL;
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    story = service_events(rehearsal->service, 1, &err);
    assert_int_equal(json_array_size(json_object_get(story, "events")), 1);
    assert_string_equal(
        json_text_or(json_array_get(json_object_get(story, "events"), 0), "event", ""),
        "schedules_applied");
    too_many = service_events(rehearsal->service, 1000000, &err);
    assert_null(too_many);
    assert_int_equal(err.kind, ERROR_INVALID);
}

static void a_reclaim_needs_no_notice_and_ends_by_itself(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 2, "");
    owned(json) json_t *answer = NULL;

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, 3);
    assert_int_equal(json_int_or(answer, "accepted_nodes", 0), 3);
    rehearsal_run(rehearsal, 25 * MINUTE_MS);
    expect_rest(rehearsal, 9);
    rehearsal_run(rehearsal, 3 * HOUR_MS); /* two hours later the schedule counts again */
    expect_rest(rehearsal, 6);
}

static void a_reclaim_goes_before_a_scheduled_move(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 3, "");
    owned(json) json_t *answer = NULL;
    owned(json) json_t *transfers = NULL;
    const json_t *row;
    size_t emergencies = 0;
    size_t i;

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 10, 6);
    rehearsal_run(rehearsal, 91 * MINUTE_MS); /* 07:32: four nodes are announced */
    assert_int_equal(transfers_of(rehearsal, false), 4);
    answer = reclaim(rehearsal, 2);
    rehearsal_run(rehearsal, MINUTE_MS);
    transfers = service_transfers(rehearsal->service, false);
    json_array_foreach(json_object_get(transfers, "transfers"), i, row) {
        if (!json_bool_or(row, "is_emergency", false)) {
            assert_string_equal(json_text_or(row, "step", ""), "notice");
            continue;
        }
        emergencies++;
        assert_string_not_equal(json_text_or(row, "step", ""), "notice");
    }
    assert_int_equal(emergencies, 2);
    rehearsal_run(rehearsal, 28 * MINUTE_MS);
    expect_rest(rehearsal, 12);
}

static void a_freeze_stops_what_can_be_stopped(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 4, "");
    owned(json) json_t *request = json_make("{ss ss}", "until", "2026-11-17T12:00:00Z", "reason",
                                            "incident");
    owned(json) json_t *answer = NULL;
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = service_freeze(rehearsal->service, request, "test", &err);
    assert_non_null(answer);
    apply(rehearsal, 10, 6);
    rehearsal_run(rehearsal, 5 * HOUR_MS);
    expect_rest(rehearsal, 6);
    rehearsal_run(rehearsal, 2 * HOUR_MS); /* 13:00: it ended by itself at noon */
    expect_rest(rehearsal, 10);
}

static void a_held_transfer_says_what_holds_it(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 4, "");
    owned(json) json_t *request = json_make("{ss ss}", "until", "2026-11-17T12:00:00Z", "reason",
                                            "incident");
    owned(json) json_t *answer = NULL;
    owned(json) json_t *transfers = NULL;
    struct error err = { 0 };
    const json_t *row;
    size_t i;

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 10, 6);
    rehearsal_run(rehearsal, 91 * MINUTE_MS); /* 07:32: four nodes are announced */
    answer = service_freeze(rehearsal->service, request, "test", &err);
    assert_non_null(answer);
    rehearsal_run(rehearsal, MINUTE_MS);
    transfers = service_transfers(rehearsal->service, false);
    assert_int_equal(json_array_size(json_object_get(transfers, "transfers")), 4);
    json_array_foreach(json_object_get(transfers, "transfers"), i, row) {
        assert_non_null(strstr(json_text_or(row, "waits_for", ""),
                               "frozen until 2026-11-17T12:00:00Z: incident"));
        assert_true(strcmp(json_text_or(row, "expected", ""), "2026-11-17T12:00:00Z") > 0);
    }
}

static void a_schedule_taken_back_withdraws_what_was_announced(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 5, "");

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 10, 6);
    rehearsal_run(rehearsal, 91 * MINUTE_MS);
    assert_int_equal(transfers_of(rehearsal, false), 4);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    expect_rest(rehearsal, 6);
}

static void no_room_in_the_target_gives_the_node_back(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 6, "");

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 7, 7);
    for (int i = 0; i < 40; i++)
        simulator_fault_next(rehearsal->simulator, "stockout", NULL);
    rehearsal_run(rehearsal, 12 * HOUR_MS);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east") + nodes_of(rehearsal, "research-a-east"),
                     16);
}

static void a_lost_journal_leaves_marks_that_are_shown(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 7, "");
    owned(json) json_t *answer = NULL;
    owned(json) json_t *status = NULL;
    owned(chars) char *warnings = NULL;
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, 1);
    rehearsal_run(rehearsal, 5 * SECOND_MS); /* cordoned, not drained yet */
    rehearsal_kill(rehearsal);
    journal_close(rehearsal->journal);
    rehearsal->journal = rehearsal->world.journal = journal_memory_new();
    assert_return_code(rehearsal_start(rehearsal, &err), 0);
    rehearsal_run(rehearsal, MINUTE_MS);
    status = service_status(rehearsal->service);
    warnings = json_print(json_object_get(status, "warnings"));
    assert_non_null(strstr(warnings, "is marked and cordoned by transfer t-"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_moves_without_schedules),
        cmocka_unit_test(a_window_moves_nodes_there_and_back),
        cmocka_unit_test(lead_times_are_learned_and_kept),
        cmocka_unit_test(budgets_are_asked_only_when_they_have_room),
        cmocka_unit_test(a_budget_with_no_room_ever_costs_a_question_and_the_deadline),
        cmocka_unit_test(a_pod_that_is_only_to_be_counted_holds_no_drain_up),
        cmocka_unit_test(a_notice_says_who_will_have_to_be_forced),
        cmocka_unit_test(two_budgets_on_a_pod_are_not_tried),
        cmocka_unit_test(the_story_is_told),
        cmocka_unit_test(a_reclaim_needs_no_notice_and_ends_by_itself),
        cmocka_unit_test(a_reclaim_goes_before_a_scheduled_move),
        cmocka_unit_test(a_freeze_stops_what_can_be_stopped),
        cmocka_unit_test(a_held_transfer_says_what_holds_it),
        cmocka_unit_test(a_schedule_taken_back_withdraws_what_was_announced),
        cmocka_unit_test(no_room_in_the_target_gives_the_node_back),
        cmocka_unit_test(a_lost_journal_leaves_marks_that_are_shown),
    };

    mem_setup();
    log_setup(LOG_ERROR, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
