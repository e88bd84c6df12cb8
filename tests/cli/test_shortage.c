/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Production that has fewer nodes than it wants: what is told of it, how bad it is, and until when.
 * What metrics say of the states of nodes.
 */
#include "broker/terminal/board.h"
#include "tests/cli/health_scene.h"
#include "tests/cli/wide_world.h"

/* Whether the table of the status says so, as without a freeze. */
static void expect_board(struct rehearsal *rehearsal, const char *says)
{
    owned(json) json_t *status = service_status(rehearsal->service);
    owned(text) struct text *board = text_new(1 << 16);

    json_object_set_new(json_object_get(status, "overrides"), "freezes", json_array());
    board_status(status, (struct table_style){ 0 }, board);
    if (!strstr(board->chars, says))
        fail_msg("%s", board->chars);
}

/* Nodes that are on their way do not come while a freeze holds their transfers, and are late by as
   much when it has ended. */
static void a_freeze_of_moves_under_way_is_told(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 43, "");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 9, 9);
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_severity(rehearsal, "ok");
    freeze_for(rehearsal, "", 2 * HOUR_MS);
    rehearsal_run(rehearsal, MINUTE_MS);
    for (int i = 0; i < 2; i++) {
        expect_condition(rehearsal, "production_short",
                         "prod-a has 6 nodes and wants 9, 3 are on their way: a freeze by test");
        expect_member(rehearsal, "production_short", "since", "2026-11-17T06:02:00Z");
        expect_states(rehearsal, "prod-a", "SHORT FROZEN ");
        expect_severity(rehearsal, "critical");
        restart(rehearsal);
        rehearsal_run(rehearsal, MINUTE_MS);
    }
    rehearsal_run(rehearsal, HOUR_MS);
    expect_condition(rehearsal, "production_short", "0 are on their way: a freeze by test");
    rehearsal_run(rehearsal, HOUR_MS);
    expect_condition(rehearsal, "frozen", NULL);
    expect_condition(rehearsal, "production_short",
                     "3 are on their way; all were to be there by 2026-11-17T06:32");
    expect_advice(rehearsal, "production_short", "`sluice transfers` shows");
    expect_severity(rehearsal, "critical");
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    expect_severity(rehearsal, "ok");
    expect_rest(rehearsal, 9);
}

/* A window that begins without its nodes is no green one, whatever kept them and however they come:
   here a freeze that ends before the window's begin, or after it. */
static void a_window_that_began_without_its_nodes_is_told(void **state)
{
    static const struct {
        int64_t freeze_ms;
        const char *before; /* states of prod-a two minutes before the window */
        const char *after;  /* two after it, and after the freeze */
        const char *head;
    } rows[] = {
        { 110 * MINUTE_MS, "LATE ", "LATE ", "LATE            3 transfers under way, margin -" },
        { 118 * MINUTE_MS, "SHORT FROZEN ", "LATE ",
          "LATE            prod-a has 6 nodes and wants 9, 3 are on their way; they are wanted "
          "since 2026-11-17T08:00:00Z (for " },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 43, "");
        int ended_ms = 0;

        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        apply(rehearsal, 9, 6);
        freeze_for(rehearsal, "", rows[i].freeze_ms + (i == 1 ? 2 * MINUTE_MS : 0));
        rehearsal_run(rehearsal, 116 * MINUTE_MS);
        expect_states(rehearsal, "prod-a", rows[i].before);
        rehearsal_run(rehearsal, 5 * MINUTE_MS);
        expect_states(rehearsal, "prod-a", rows[i].after);
        expect_member(rehearsal, "move_late", "cluster", "prod-a");
        expect_board(rehearsal, rows[i].head);
        for (; nodes_of(rehearsal, "prod-a-east") < 9 || transfers_of(rehearsal, false) > 0;
             ended_ms += MINUTE_MS) {
            owned(json) json_t *health = health_of(rehearsal);

            assert_true(conditions_severity(health) >= 2);
            if (ended_ms > 32 * MINUTE_MS)
                assert_int_equal(conditions_severity(health), 3);
            rehearsal_run(rehearsal, MINUTE_MS);
        }
        assert_true(ended_ms > 0);
        rehearsal_run(rehearsal, MINUTE_MS);
        expect_severity(rehearsal, "ok");
        expect_rest(rehearsal, 9);
    }
}

/* A scheduled machine that never joins: past its lead time it is not under way any more. */
static void a_scheduled_node_that_does_not_come_is_told(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 42, "", "guard: {breaker: 0}\njoin: {deadline: 50m}\n", "");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    simulator_fault_next(rehearsal->simulator, "never_joins", NULL);
    apply(rehearsal, 7, 7);
    rehearsal_run(rehearsal, 29 * MINUTE_MS); /* notice 5 minutes, p95 25 minutes */
    expect_severity(rehearsal, "ok");
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    expect_condition(rehearsal, "production_short", "1 are on their way; all were to be there by");
    expect_states(rehearsal, "prod-a", "SHORT ");
    expect_severity(rehearsal, "critical");
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    expect_condition(rehearsal, "production_short", NULL);
    expect_rest(rehearsal, 7);
}

/* Whether the table of the status promises that nodes are ready in time. */
static bool promises(struct rehearsal *rehearsal)
{
    owned(json) json_t *status = service_status(rehearsal->service);
    owned(text) struct text *board = text_new(1 << 16);

    board_status(status, (struct table_style){ 0 }, board);
    return strstr(board->chars, "READY IN TIME") != NULL;
}

static bool is_acquiring(struct rehearsal *rehearsal)
{
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(rehearsal->service->runner, &i));)
        if (transfer->step == STEP_ACQUIRE)
            return true;
    return false;
}

/* Nodes for a window to come, while the cloud has no machine: told soon, with the cause and what
   can be done, and never as ready in time.  Then they are late, for the same cause. */
static void a_scheduled_move_into_a_stock_out_is_told(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 41, "stockouts: [{zone: us-east5-a}]\n", "guard: {attempts: 30, breaker: 0}\n", "");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS + SECOND_MS);
    apply(rehearsal, 9, 6);
    for (int i = 0; !is_acquiring(rehearsal); i++) {
        assert_true(i < 118 * 60);
        expect_severity(rehearsal, "ok");
        rehearsal_run(rehearsal, SECOND_MS);
    }
    assert_true(promises(rehearsal));
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    expect_severity(rehearsal, "warning");
    expect_states(rehearsal, "prod-a", "FAILING ");
    expect_condition(rehearsal, "pool_failing", "pool prod-a-east gets no machine for ");
    expect_condition(rehearsal, "pool_failing", "ZONE_RESOURCE_POOL_EXHAUSTED");
    expect_advice(rehearsal, "pool_failing", "ask the cloud for machines in us-east5-a");
    assert_false(promises(rehearsal));
    rehearsal_run(rehearsal, 35 * MINUTE_MS);
    expect_condition(rehearsal, "move_late",
                     "nodes of prod-a that were due at 2026-11-17T08:00:00Z "
                     "are late by ");
    expect_condition(rehearsal, "move_late", " in step acquire: ");
    expect_condition(rehearsal, "move_late", "ZONE_RESOURCE_POOL_EXHAUSTED");
    expect_advice(rehearsal, "move_late", "ask the cloud for machines in us-east5-a");
    expect_board(rehearsal, "nodes of prod-a that were due at");
    rehearsal->simulator->scenario->stockouts.count = 0;
    rehearsal_run(rehearsal, HOUR_MS);
    expect_severity(rehearsal, "ok");
    expect_rest(rehearsal, 9);
}

/* A machine that never joins takes longer than its lead time: when it comes is unknown. */
static void a_scheduled_node_past_all_lead_times_is_not_ready_in_time(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 42, "", "guard: {breaker: 0}\njoin: {deadline: 3h}\n", "");
    bool is_told = false;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    simulator_fault_next(rehearsal->simulator, "never_joins", NULL);
    apply(rehearsal, 7, 6);
    for (int i = 0; i < 116 && !is_told; i++) {
        owned(chars) char *text = NULL;

        rehearsal_run(rehearsal, MINUTE_MS);
        if (is_acquiring(rehearsal)) /* learned meanwhile */
            rehearsal->config->lead.prior_p95_ms = 12 * MINUTE_MS;
        text = condition_member(rehearsal, "move_late", "text");
        is_told = strstr(text,
                         "take longer than their lead time (p95), and may come late: node ") !=
                  NULL;
    }
    assert_true(is_told);
    assert_false(promises(rehearsal));
}

/* Two pools of one cluster: that one gets no machine hides nothing of a node for the other one. */
static void a_pool_that_fails_hides_no_late_node_of_another(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *world = text_format("%sstockouts: [ { zone: us-west4-a } ]\n",
                                           wide_machines);
    owned(rehearsal) struct rehearsal *rehearsal = world_start(folder, wide_config, world, 18, 5);
    owned(json) json_t *schedules = wide_schedules(6, 4, 3);
    owned(json) json_t *more = wide_schedules(6, 5, 4);
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    json_object_set(schedules, "night", json_object_get(more, "night"));
    simulator_fault_next(rehearsal->simulator, "never_joins", NULL);
    json_decref(service_apply(rehearsal->service, schedules, NULL, "test", &err));
    rehearsal_run(rehearsal, 95 * MINUTE_MS);
    rehearsal->config->lead.prior_p95_ms = 10 * MINUTE_MS; /* learned meanwhile */
    rehearsal_run(rehearsal, 15 * MINUTE_MS);
    expect_condition(rehearsal, "pool_failing", "pool prod-b-west gets no machine for 1 node: ");
    expect_condition(rehearsal, "move_late",
                     "nodes of prod-b that are due at 2026-11-17T20:00:00Z "
                     "take longer than their lead time (p95), and may come "
                     "late: node research-");
    expect_condition(rehearsal, "move_late", " waits in step join");
    expect_severity(rehearsal, "warning");
}

/* A node too many of one machine type is none of another. */
static void a_surplus_of_one_pool_hides_no_lack_of_another(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_settled(folder);

    (void)state;
    expect_severity(rehearsal, "ok");
    freeze_for(rehearsal, "", HOUR_MS);
    apply_wide(rehearsal, 6, 3, 4);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    expect_condition(rehearsal, "production_short",
                     "prod-b-west of prod-b has 3 nodes and wants 4, 0 are on their way: a freeze");
    expect_member(rehearsal, "production_short", "cluster", "prod-b");
    expect_states(rehearsal, "prod-b", "SHORT FROZEN ");
    expect_board(rehearsal, "WAITING         no node is moving yet");
    expect_states(rehearsal, "prod-a", "FROZEN ");
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    expect_severity(rehearsal, "ok");
}

/* So many nodes of production get this readiness, whatever their pods do. */
static void set_ready(struct rehearsal *rehearsal, int count, const char *status)
{
    void *value;

    for (size_t i = 0;
         map_next(sim_cluster(rehearsal->simulator, "prod-a")->nodes, &i, NULL, &value) &&
         count-- > 0;) {
        sim_node_set_ready(rehearsal->simulator, value, status);
        sim_node_changed(rehearsal->simulator, value, CHANGE_MODIFIED);
    }
}

/* Machines that run are no nodes that serve.  What passes within two minutes is no alarm. */
static void production_that_is_not_ready_is_told(void **state)
{
    static const struct {
        const char *status;
        const char *text;
        const char *severity;
        int64_t after_ms; /* the former row */
    } rows[] = {
        { "False", "prod-a has 6 nodes, of which 3 cannot be used, and wants 6", "warning",
          10 * SECOND_MS },
        { "False", "3 cannot be used", "warning", 100 * SECOND_MS },
        { "True", NULL, "ok", 20 * SECOND_MS },
        { "Unknown", "3 cannot be used", "warning", 100 * SECOND_MS },
        { "Unknown", "3 cannot be used", "critical", 30 * SECOND_MS },
        { "True", NULL, "ok", 10 * SECOND_MS },
    };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 50, "");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    listen_for("condition_begins id=production_short");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        set_ready(rehearsal, 3, rows[i].status);
        rehearsal_run(rehearsal, rows[i].after_ms);
        expect_condition(rehearsal, "production_short", rows[i].text);
        expect_severity(rehearsal, rows[i].severity);
        assert_int_equal(told_lines, i >= 4);
        if (rows[i].text)
            expect_member(rehearsal, "production_short", "cluster", "prod-a");
    }
    lines_told();
}

/* Two nodes at once, eight are wanted: four waves, each as long as the notice and the p95. */
static struct rehearsal *in_waves(const char *folder, const char *settings)
{
    owned(chars) char *more = text_format("guard: {in_flight: 2%s", settings);
    struct rehearsal *rehearsal = small_rehearsal_with(folder, 51, "", more, "");

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 14, 14);
    return rehearsal;
}

/* Not green, because production is short, and no alarm, because all come as they can. */
static void an_apply_that_comes_in_waves_is_a_warning(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = in_waves(folder, "}\n");
    int waited = 0;

    (void)state;
    for (; nodes_of(rehearsal, "prod-a-east") < 14 || transfers_of(rehearsal, false) > 0;
         waited++) {
        rehearsal_run(rehearsal, MINUTE_MS);
        assert_true(waited < 120);
        if (nodes_of(rehearsal, "prod-a-east") < 14) {
            expect_severity(rehearsal, "warning");
            expect_states(rehearsal, "prod-a", "FILLING ");
        }
        if (waited == 20)
            restart(rehearsal);
    }
    assert_true(waited > 40); /* there were waves */
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_severity(rehearsal, "ok");
    expect_rest(rehearsal, 14);
}

/* Four waves of half an hour; a wave in which no node comes is an alarm, and so are nodes that are
   not there at the end. */
static void waves_that_do_not_get_on_are_an_alarm(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = in_waves(
        folder, ", breaker: 0}\njoin: {deadline: 3h}\n");

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_condition(rehearsal, "production_fills",
                     "prod-a has 6 nodes and wants 14, 2 are on their way, 2 at once; all are to "
                     "be there by 2026-11-17T08:0");
    expect_member(rehearsal, "production_fills", "since", "2026-11-17T06:03:00Z");
    expect_advice(rehearsal, "production_fills", "`sluice transfers` shows the nodes");
    expect_board(rehearsal, "FILLING         prod-a has 6 nodes");
    simulator_fault_next(rehearsal->simulator, "never_joins", NULL);
    simulator_fault_next(rehearsal->simulator, "never_joins", NULL);
    rehearsal_run(rehearsal, 24 * MINUTE_MS);
    expect_severity(rehearsal, "warning");
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    expect_condition(rehearsal, "production_fills", NULL);
    expect_condition(rehearsal, "production_short",
                     "2 are on their way; none has come since 2026-11-17T06:03:00Z");
    expect_severity(rehearsal, "critical");
}

/* One of two machines never joins: the other slot brings nodes on, and the end is missed. */
static void the_last_nodes_of_waves_are_late(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = in_waves(
        folder, ", breaker: 0}\njoin: {deadline: 6h}\n");

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    simulator_fault_next(rehearsal->simulator, "never_joins", NULL);
    rehearsal_run(rehearsal, HOUR_MS + 30 * MINUTE_MS);
    expect_severity(rehearsal, "warning");
    expect_condition(rehearsal, "production_fills", "all are to be there by");
    rehearsal_run(rehearsal, HOUR_MS);
    expect_condition(rehearsal, "production_short", "all were to be there by 2026-11-17T08:0");
    expect_severity(rehearsal, "critical");
}

/* Waves hide no real lack: a freeze keeps those to come. */
static void what_no_wave_will_bring_is_an_alarm(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = in_waves(folder, "}\n");

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_severity(rehearsal, "warning");
    freeze_for(rehearsal, "research-a", HOUR_MS);
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_condition(rehearsal, "production_short", "a freeze by test");
    expect_severity(rehearsal, "critical");
}

/* sluice_nodes_by_state of a pool; NULL: of all states. */
static int64_t in_state(struct rehearsal *rehearsal, const char *pool, const char *state)
{
    owned(json) json_t *numbers = service_numbers(rehearsal->service);
    const json_t *row;
    int64_t count = 0;
    size_t i;

    json_array_foreach(json_object_get(numbers, "states"), i, row)
        if (text_equal(json_text_or(row, "pool", ""), pool) &&
            (!state || text_equal(json_text_or(row, "state", ""), state)))
            count += json_int_or(row, "count", -1000);
    return count;
}

/* Each machine of a list is in one state: during the notice ready, from the cordon on draining,
   and joining until it is handed over. */
static void each_machine_is_in_one_state(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 52, "");
    int64_t draining = 0, joining = 0;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(in_state(rehearsal, "prod-a-east", "ready"), 6);
    assert_int_equal(in_state(rehearsal, "research-a-east", "ready"), 10);
    set_ready(rehearsal, 2, "False");
    rehearsal_run(rehearsal, 10 * SECOND_MS);
    assert_int_equal(in_state(rehearsal, "prod-a-east", "not_ready"), 2);
    assert_int_equal(in_state(rehearsal, "prod-a-east", "ready"), 4);
    set_ready(rehearsal, 2, "True");
    apply(rehearsal, 9, 9);
    rehearsal_run(rehearsal, 3 * MINUTE_MS); /* of five minutes' notice */
    assert_int_equal(in_state(rehearsal, "research-a-east", "ready"), 10);
    for (int i = 0; i < 40; i++) {
        const struct fleet_pool *listed = fleet_pool(rehearsal->service->fleet,
                                                     &rehearsal->config->pools[0]);

        rehearsal_run(rehearsal, MINUTE_MS);
        draining += in_state(rehearsal, "research-a-east", "draining");
        joining += in_state(rehearsal, "prod-a-east", "joining");
        assert_int_equal(in_state(rehearsal, "prod-a-east", "draining"), 0);
        assert_int_equal(in_state(rehearsal, "research-a-east", "not_ready"), 0);
        assert_int_equal(in_state(rehearsal, rehearsal->config->pools[0].name, NULL),
                         map_count(listed->instances));
    }
    assert_true(draining > 0 && joining > 0);
    assert_int_equal(in_state(rehearsal, "prod-a-east", "ready"), 9);
    assert_int_equal(in_state(rehearsal, "research-a-east", NULL), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_freeze_of_moves_under_way_is_told),
        cmocka_unit_test(a_window_that_began_without_its_nodes_is_told),
        cmocka_unit_test(a_scheduled_node_that_does_not_come_is_told),
        cmocka_unit_test(a_scheduled_move_into_a_stock_out_is_told),
        cmocka_unit_test(a_scheduled_node_past_all_lead_times_is_not_ready_in_time),
        cmocka_unit_test(a_pool_that_fails_hides_no_late_node_of_another),
        cmocka_unit_test(a_surplus_of_one_pool_hides_no_lack_of_another),
        cmocka_unit_test(production_that_is_not_ready_is_told),
        cmocka_unit_test(an_apply_that_comes_in_waves_is_a_warning),
        cmocka_unit_test(waves_that_do_not_get_on_are_an_alarm),
        cmocka_unit_test(the_last_nodes_of_waves_are_late),
        cmocka_unit_test(what_no_wave_will_bring_is_an_alarm),
        cmocka_unit_test(each_machine_is_in_one_state),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
