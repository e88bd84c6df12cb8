/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What does not get on is told: by the status's health, its warnings and the states of clusters,
 * and by the answer of a reclaim.  Green is only what is well.
 */
#include "broker/terminal/board.h"
#include "broker/terminal/transfer_rows.h"
#include "tests/cli/health_scene.h"
#include "tests/cli/stepwise.h"

static json_t *try_reclaim(struct rehearsal *rehearsal, int nodes)
{
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss si ss sb}", "cluster", "prod-a", "nodes", nodes,
                                            "reason", "launch", "is_dry_run", 1);
    json_t *answer = service_reclaim(rehearsal->service, request, "test", &err);

    if (!answer)
        fail_msg("%s", err.text);
    return answer;
}

/* Defect 6: eight nodes are reclaimed and the cloud has no machine for any of them. */
static void a_reclaim_into_a_stock_out_is_told(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 41, "stockouts: [{zone: us-east5-a}]\n",
        "guard: {breaker: 2, breaker_pause: 30m, attempts: 30}\n", "");
    owned(json) json_t *answer = NULL;
    owned(json) json_t *offer = NULL;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    expect_severity(rehearsal, "ok");
    expect_states(rehearsal, "prod-a", "OK ");
    answer = reclaim(rehearsal, 8);
    assert_true(json_is_integer(json_object_get(answer, "lead_p95_s")));
    rehearsal_run(rehearsal, 18 * MINUTE_MS);
    expect_states(rehearsal, "prod-a", "BLOCKED CLOSED ");
    expect_severity(rehearsal, "critical");
    expect_condition(rehearsal, "reclaim_blocked", "still lacks 8 nodes and does not get on");
    expect_advice(rehearsal, "reclaim_blocked", "ask the cloud for machines in us-east5-a");
    expect_advice(rehearsal, "reclaim_blocked", "`sluice reclaim end r-");
    expect_condition(rehearsal, "pool_closed", "pool prod-a-east is closed until 2026-11-17T0");

    offer = try_reclaim(rehearsal, 1);
    assert_true(json_is_null(json_object_get(offer, "lead_p95_s")));
    assert_non_null(
        strstr(json_text_or(json_array_get(json_object_get(offer, "blocked"), 0), "text", ""),
               "is closed until"));

    rehearsal->simulator->scenario->stockouts.count = 0;
    rehearsal_run(rehearsal, 40 * MINUTE_MS);
    expect_condition(rehearsal, "reclaim_blocked", NULL);
    expect_condition(rehearsal, "pool_closed", NULL);
    expect_severity(rehearsal, "ok");
    expect_rest(rehearsal, 14);
}

/* Machines come, and never serve: the promise passes. */
static void a_reclaim_behind_its_promise_is_told(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 42, "", "guard: {breaker: 0}\njoin: {deadline: 50m}\n", "");
    owned(json) json_t *answer = NULL;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    simulator_fault_next(rehearsal->simulator, "never_joins", NULL);
    answer = reclaim(rehearsal, 1);
    rehearsal_run(rehearsal, 24 * MINUTE_MS);
    expect_condition(rehearsal, "reclaim_behind", NULL);
    rehearsal_run(rehearsal, 2 * MINUTE_MS); /* the configured p95 is 25 minutes */
    expect_condition(rehearsal, "reclaim_behind",
                     "for prod-a still lacks 1 node, promised by 2026-11-17T06:27");
    expect_condition(rehearsal, "reclaim_behind", "waits longest, in step join: ");
    expect_advice(rehearsal, "reclaim_behind",
                  "shows it whole; it is beyond its point of no return");
    expect_states(rehearsal, "prod-a", "BEHIND ");
    expect_severity(rehearsal, "critical");
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    expect_severity(rehearsal, "note"); /* the host in quarantine */
}

static void a_freeze_does_not_hide_what_is_short(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 43, "");
    struct wall_time start = { (int64_t)civil_day(2026, 11, 17) * DAY_MS + 9 * HOUR_MS };
    owned(json) json_t *answer = NULL;
    owned(json) json_t *request = NULL;
    struct error err = { 0 };
    char until[WALL_TEXT_SIZE];

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    request = json_make("{ss ss ss}", "cluster", "", "until", wall_format(start, until), "reason",
                        "incident");
    answer = service_freeze(rehearsal->service, request, "test", &err);
    assert_non_null(answer);
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_states(rehearsal, "prod-a", "FROZEN ");
    expect_severity(rehearsal, "note");
    apply(rehearsal, 9, 9);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    expect_states(rehearsal, "prod-a", "SHORT FROZEN ");
    expect_states(rehearsal, "research-a", "FROZEN ");
    expect_severity(rehearsal, "critical");
    expect_condition(rehearsal, "production_short",
                     "prod-a has 6 nodes and wants 9, 0 are on their way: a freeze by test");
    expect_condition(rehearsal, "frozen", "all clusters: frozen until 2026-11-17T09:00:00Z");
    expect_advice(rehearsal, "production_short", "`sluice reclaim` passes it");
    rehearsal_run(rehearsal, 4 * HOUR_MS);
    expect_severity(rehearsal, "ok");
    expect_rest(rehearsal, 9);
}

/* A cluster that is cut off is told with the reason, and as stale, for nothing may rest on it; a
 * transfer that a person must see is told with its step. */
static void a_cluster_that_is_not_heard_is_told(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 44, "");
    owned(json) json_t *answer = NULL;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    answer = reclaim(rehearsal, 1);
    run_to(rehearsal, STEP_JOIN)->needs_operator = true;
    expect_condition(rehearsal, "operator_needed", "needs a person at step join");
    expect_states(rehearsal, "research-a", "OPERATOR ");
    expect_severity(rehearsal, "critical");

    simulator_cut_off(rehearsal->simulator, "prod-a");
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    expect_condition(rehearsal, "cluster_unreachable", "cluster prod-a is not heard: nodes");
    expect_condition(rehearsal, "pool_stale", "cluster prod-a was not seen lately");
    expect_states(rehearsal, "prod-a", "UNREACHABLE STALE ");
    simulator_cut_off(rehearsal->simulator, NULL);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_severity(rehearsal, "ok");
    expect_rest(rehearsal, 7);
}

/* A short status has the transfers that a person must see, and says how many there are in all. */
static void a_short_status_begins_with_what_a_person_must_see(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 44, "");
    owned(text) struct text *board = text_new(1 << 16);
    struct runner *runner = rehearsal->service->runner;
    struct transfer *last;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 8, 8);
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(runner->transfers.count, 2);
    last = runner->transfers.items[1];
    for (size_t most = 0; most < 4; most++) {
        owned(json) json_t *status = service_status_of(rehearsal->service, most);

        assert_int_equal(json_array_size(json_object_get(status, "transfers")),
                         most < 2 ? most : 2);
        assert_int_equal(json_int_or(status, "live_transfers", 0), 2);
    }
    last->needs_operator = true;

    owned(json) json_t *status = service_status_of(rehearsal->service, 1);

    assert_string_equal(
        json_text_or(json_array_get(json_object_get(status, "transfers"), 0), "transfer", ""),
        last->id);
    transfer_rows_table(status, 1, (struct table_style){ 0 }, board);
    assert_non_null(strstr(board->chars, "and 1 more: sluice transfers\n"));
}

/* Learned lead times that the last moves exceed: the promise that rests on them is told as
 * doubtful.
 */
static void a_lead_time_that_drifts_is_told(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 45, "");
    const struct config_pool *pool;
    struct leads *leads;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    pool = config_pool(rehearsal->service->config, "prod-a-east");
    leads = (struct leads *)(uintptr_t)lead_book_of(rehearsal->service->runner->leads, pool);
    for (int i = 0; i < LEADS_NEEDED + 8; i++) {
        expect_severity(rehearsal, "ok");
        lead_series_add(&leads->whole, (i < LEADS_NEEDED ? 20 : 45) * MINUTE_MS, false);
    }
    expect_severity(rehearsal, "warning");
    expect_condition(rehearsal, "lead_time_drifts",
                     "of the last 8 nodes to production in east, 8 took longer than the 20m");
}

/* No lead time is learned yet: a plan and a margin count with the same one, so a move that goes as
   planned is in time from the plan to its end. */
static void a_move_that_goes_as_planned_is_not_late(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    int64_t looks_with_margin = 0;

    (void)state;
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    apply(rehearsal, 10, 6);
    rehearsal_run(rehearsal, HOUR_MS); /* until 07:10; the day begins at 08:00 */
    for (int i = 0; i < 12 * 60; i++) {
        owned(json) json_t *status = NULL;

        rehearsal_run(rehearsal, 5 * SECOND_MS);
        status = service_status(rehearsal->service);
        if (json_is_null(json_object_get(status, "margin_s")))
            continue;
        looks_with_margin++;
        assert_true(json_int_or(status, "margin_s", -1) >= 0);
    }
    assert_in_range(looks_with_margin, 10, 12 * 60);
}

/* After an apply and before the turn that begins its transfers. */
static void a_question_between_two_turns_is_not_logged(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 46, "");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    listen_for("production_short");
    apply(rehearsal, 9, 9);
    expect_condition(rehearsal, "production_short", "prod-a has 6 nodes and wants 9");
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_condition(rehearsal, "production_short", NULL);
    assert_int_equal(lines_told(), 0);
}

/* A restart shows that nothing was seen yet, and the log does not have it; a cluster that does not
   answer is logged. */
static void a_restart_is_no_outage(void **state)
{
    static const struct {
        const char *cut_off;
        bool is_told;
    } rows[] = { { NULL, false }, { "prod-a", true } };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 48, "");
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        rehearsal_kill(rehearsal);
        simulator_cut_off(rehearsal->simulator, rows[i].cut_off);
        listen_for("condition_begins id=pool_stale");
        assert_int_equal(rehearsal_start(rehearsal, &err), 0);
        rehearsal_run(rehearsal, 1);
        expect_condition(rehearsal, "pool_stale", "neither gives nor takes nodes, never seen");
        expect_severity(rehearsal, "warning");
        rehearsal_run(rehearsal, MINUTE_MS);
        assert_int_equal(lines_told() > 0, rows[i].is_told);
    }
}

/* What hangs is shown before it counts as out of reach: a cluster that says nothing for longer than
   its bookmarks take, and a pool of which several lists did not come.  It is not logged yet. */
static void silence_is_shown_before_it_is_an_outage(void **state)
{
    static const struct {
        int64_t cluster_ms;
        int64_t pool_ms;
        int64_t page_ms; /* since the last page of a list that is under way */
        const char *id;  /* NULL: all is well */
        const char *text;
    } rows[] = {
        { 70 * SECOND_MS, 40 * SECOND_MS, 40 * SECOND_MS, NULL, NULL },
        { 100 * SECOND_MS, 40 * SECOND_MS, 40 * SECOND_MS, "cluster_unreachable",
          "prod-a has said nothing since" },
        { 70 * SECOND_MS, 80 * SECOND_MS, 80 * SECOND_MS, "pool_stale",
          "its cloud does not answer" },
        { 70 * SECOND_MS, 80 * SECOND_MS, 5 * SECOND_MS, NULL, NULL },
    };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 49, "");
    struct fleet *fleet = rehearsal->service->fleet;
    const struct config_pool *pool = &rehearsal->config->pools[0];
    struct snapshot *snapshot = (struct snapshot *)(uintptr_t)fleet_snapshot(fleet, pool->cluster);
    struct fleet_pool *listed = (struct fleet_pool *)(uintptr_t)fleet_pool(fleet, pool);

    (void)state;
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    listen_for("condition_begins");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t now_ms = loop_now(rehearsal->world.loop);

        snapshot->nodes_seen_ms = snapshot->pods_seen_ms = now_ms - rows[i].cluster_ms;
        listed->began_ms = now_ms - rows[i].pool_ms;
        listed->heard_ms = now_ms - rows[i].page_ms;
        if (rows[i].id)
            expect_condition(rehearsal, rows[i].id, rows[i].text);
        expect_severity(rehearsal, rows[i].id ? "warning" : "ok");
        assert_int_equal(lines_told(), 0);
    }
}

static int begun, ended;

static void count_told(void *context, const struct condition *condition, const char *text,
                       bool holds)
{
    (void)context;
    (void)condition;
    (void)text;
    *(holds ? &begun : &ended) += 1;
}

/* Looks after each other: what was told is ended once, whether it awaited an answer meanwhile or
   not; what was never told is not ended. */
static void what_awaits_an_answer_keeps_what_was_told(void **state)
{
    enum { NONE, EARLY, HOLDS };
    static const struct {
        int look, begun, ended;
    } rows[] = { { EARLY, 0, 0 }, { NONE, 0, 0 },  { EARLY, 0, 0 }, { HOLDS, 1, 0 },
                 { EARLY, 0, 0 }, { HOLDS, 0, 0 }, { EARLY, 0, 0 }, { NONE, 0, 1 } };
    owned(health) struct health *health = health_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct condition condition = { .kind = CONDITION_POOL_STALE,
                                       .what = "east",
                                       .is_early = rows[i].look == EARLY };

        begun = ended = 0;
        health_begin(health);
        if (rows[i].look != NONE)
            health_add(health, &condition, mem_copy_chars("not seen"));
        health_end(health, (struct wall_time){ 1000 }, count_told, NULL);
        if (begun != rows[i].begun || ended != rows[i].ended)
            fail_msg("look %zu: %d begun, %d ended", i, begun, ended);
    }
}

static json_t *short_at(struct health *health, int64_t now_ms)
{
    struct condition condition = { .kind = CONDITION_PRODUCTION_SHORT,
                                   .what = "prod-a",
                                   .early_ms = 2 * MINUTE_MS };

    health_begin(health);
    health_add(health, &condition, mem_copy_chars("short"));
    health_end(health, (struct wall_time){ now_ms }, count_told, NULL);
    return health_describe(health);
}

/* A clock that was set back an hour, and is followed: what was critical is not early once more. */
static void a_clock_that_is_followed_makes_nothing_early(void **state)
{
    owned(health) struct health *health = health_new();
    owned(json) json_t *first = short_at(health, DAY_MS);
    owned(json) json_t *before = short_at(health, DAY_MS + 3 * MINUTE_MS);

    (void)state;
    assert_string_equal(json_text_or(first, "severity", ""), "warning");
    assert_string_equal(json_text_or(before, "severity", ""), "critical");
    health_move_clock(health, -HOUR_MS);
    owned(json) json_t *after = short_at(health, DAY_MS + 4 * MINUTE_MS - HOUR_MS);
    assert_string_equal(json_text_or(after, "severity", ""), "critical");
    assert_string_equal(
        json_text_or(json_array_get(json_object_get(after, "conditions"), 0), "since", ""),
        "1970-01-01T23:00:00Z");
}

/* A service that starts while a production cluster is out of reach knows no number of its nodes:
   it tells the pool as never seen, and no node as missing. */
static void nodes_that_were_never_seen_are_not_missing(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 47, "");
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    rehearsal_kill(rehearsal);
    simulator_cut_off(rehearsal->simulator, "prod-a");
    assert_int_equal(rehearsal_start(rehearsal, &err), 0);
    rehearsal_run(rehearsal, MINUTE_MS);
    for (int i = 0; i < 2; i++, rehearsal_run(rehearsal, 3 * MINUTE_MS)) {
        expect_condition(rehearsal, "pool_stale", "neither gives nor takes nodes, never seen");
        expect_condition(rehearsal, "production_short", NULL);
        expect_severity(rehearsal, "critical");
    }
    simulator_cut_off(rehearsal->simulator, NULL);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    expect_severity(rehearsal, "ok");
}

/* What `sluice reload --check` says of that configuration. */
static json_t *unplanned_with(struct rehearsal *rehearsal, const char *folder, const char *text)
{
    owned(chars) char *path = test_folder_write(folder, "next.yaml", text);
    struct error err = { 0 };
    owned(config) struct config *next = config_read(path, &err);
    json_t *rows = next ? service_unplanned_with(rehearsal->service, next, &err) : NULL;

    if (!rows)
        fail_msg("%s", err.text);
    return rows;
}

/* The service starts again with its configuration in other words.  What is foreseen of that comes
   true. */
static void start_with(struct rehearsal *rehearsal, const char *folder, const char *from,
                       const char *to)
{
    const char *at = strstr(small_config, from);

    assert_non_null(at);
    owned(chars) char *text = text_format("%.*s%s%s", (int)(at - small_config), small_config, to,
                                          at + strlen(from));
    owned(json) json_t *foreseen = unplanned_with(rehearsal, folder, text);

    start_again_with(rehearsal, folder, text);

    owned(json) json_t *unplanned = service_unplanned(rehearsal->service);

    assert_true(json_equal(foreseen, unplanned));
}

/* For each window: by 08:30 no node comes for the day, and nothing is short, as nothing is
   wanted. */
static void a_window_without_a_schedule_is_told(void **state)
{
    static const struct {
        const char *from; /* in the configuration */
        const char *to;
        const char *window;
        const char *says;
    } cases[] = {
        { "nodes: 16}", "nodes: 12}", "day",
          "the schedule of day does not fit the configuration, so it is not in force: day.yaml" },
        { "  day: {", "  light: {", "light", "window light has no schedule" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 44, "");
        owned(chars) char *window = NULL;
        owned(json) json_t *reloaded = NULL;

        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        apply(rehearsal, 14, 6);
        expect_condition(rehearsal, "window_unplanned", NULL);
        start_with(rehearsal, folder, cases[i].from, cases[i].to);
        rehearsal_run(rehearsal, MINUTE_MS);
        expect_condition(rehearsal, "window_unplanned", cases[i].says);
        reloaded = service_reloaded(rehearsal->service);
        assert_int_equal(json_array_size(json_object_get(reloaded, "unplanned")), 1);
        rehearsal_run(rehearsal, 147 * MINUTE_MS);
        expect_severity(rehearsal, "warning");
        expect_condition(rehearsal, "window_unplanned", cases[i].says);
        expect_advice(rehearsal, "window_unplanned", "`sluice apply`");
        window = condition_member(rehearsal, "window_unplanned", "what");
        assert_string_equal(window, cases[i].window);
        assert_false(warns_of(rehearsal, "night"));
        start_with(rehearsal, folder, "nodes: 16}", "nodes: 16}"); /* as it was */
        expect_condition(rehearsal, "window_unplanned", NULL);
    }
}

/* New schedules end it at once. */
static void an_apply_gives_a_schedule_again(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 45, "");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 14, 14);
    start_with(rehearsal, folder, "nodes: 16}", "nodes: 12}");
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_condition(rehearsal, "window_unplanned", "the schedule of day does not fit");
    expect_condition(rehearsal, "no_schedules", "only reclaims move nodes");
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    expect_condition(rehearsal, "window_unplanned", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reclaim_into_a_stock_out_is_told),
        cmocka_unit_test(a_reclaim_behind_its_promise_is_told),
        cmocka_unit_test(a_freeze_does_not_hide_what_is_short),
        cmocka_unit_test(a_cluster_that_is_not_heard_is_told),
        cmocka_unit_test(a_short_status_begins_with_what_a_person_must_see),
        cmocka_unit_test(silence_is_shown_before_it_is_an_outage),
        cmocka_unit_test(a_lead_time_that_drifts_is_told),
        cmocka_unit_test(a_move_that_goes_as_planned_is_not_late),
        cmocka_unit_test(a_question_between_two_turns_is_not_logged),
        cmocka_unit_test(a_restart_is_no_outage),
        cmocka_unit_test(what_awaits_an_answer_keeps_what_was_told),
        cmocka_unit_test(a_clock_that_is_followed_makes_nothing_early),
        cmocka_unit_test(nodes_that_were_never_seen_are_not_missing),
        cmocka_unit_test(a_window_without_a_schedule_is_told),
        cmocka_unit_test(an_apply_gives_a_schedule_again),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
