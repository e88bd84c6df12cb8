/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything that the guard refuses, by its sentence, on the fleet of a rehearsal; and that an
 * emergency passes freezes and caps, but neither floor, freshness nor label.
 */
#include "base/shared_text.h"
#include "broker/service/service_parts.h"
#include "tests/cli/small_world.h"

struct bench {
    char *folder;
    struct rehearsal *rehearsal;
    struct guard guard;
    const struct config_pool *source;
    const struct config_pool *target;
    struct node node; /* a copy: the snapshot's own is the watch's to change */
    struct guard_load load;
    struct wall_time ends;
};

/* One that the guard lets pass; a case spoils one thing. */
static struct bench open_bench(void)
{
    struct bench bench = { .folder = test_folder_new() };
    struct fleet *fleet;
    void *value = NULL;

    bench.rehearsal = small_rehearsal(bench.folder, 31, "");
    rehearsal_run(bench.rehearsal, MINUTE_MS);
    fleet = bench.rehearsal->service->fleet;
    bench.guard.config = bench.rehearsal->config;
    bench.guard.fleet = fleet;
    bench.source = config_pool(bench.guard.config, "research-a-east");
    bench.target = config_pool(bench.guard.config, "prod-a-east");
    for (size_t i = 0;
         map_next(fleet_snapshot(fleet, bench.source->cluster)->nodes, &i, NULL, &value);)
        if (fleet_is_ephemeral(bench.guard.config, value))
            bench.node = *(const struct node *)value;
    assert_non_null(bench.node.name);
    bench.load = (struct guard_load){ .nodes_left = 10 };
    return bench;
}

static void owned_bench(struct bench *bench)
{
    guard_clear(&bench->guard);
    rehearsal_close(bench->rehearsal);
    test_folder_free(bench->folder);
}

static void freeze(struct bench *bench, const char *cluster, int64_t duration_ms)
{
    struct freeze *hold = array_add(&bench->guard.freezes);

    hold->cluster = mem_copy_chars(cluster);
    hold->node = mem_copy_chars("");
    hold->reason = mem_copy_chars("incident 7");
    hold->by = mem_copy_chars("test");
    hold->until.ms = loop_wall(bench->rehearsal->loop).ms + duration_ms;
}

static void freeze_node(struct bench *bench, const char *cluster, const char *node)
{
    freeze(bench, cluster, HOUR_MS);

    struct freeze *last = &bench->guard.freezes.items[bench->guard.freezes.count - 1];

    mem_free(last->node);
    last->node = mem_copy_chars(node);
}

static int may_begin(const struct bench *bench, bool is_emergency, struct error *err)
{
    const struct guard_question question = {
        .source = bench->source,
        .target = bench->target,
        .node = &bench->node,
        .load = bench->load,
        .ends = bench->ends,
        .pays_off_ms = HOUR_MS,
        .is_emergency = is_emergency,
    };

    return guard_allows_transfer(&bench->guard, &question, err);
}

static void expect(const struct bench *bench, bool is_emergency, const char *refusal)
{
    struct error err = { 0 };
    int result = may_begin(bench, is_emergency, &err);

    if (!refusal) {
        if (result < 0)
            fail_msg("%s", err.text);
        return;
    }
    assert_int_equal(result, -1);
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_string_equal(err.text, refusal);
}

/* Neither a plan nor a reclaim moves a node for less time than the move takes. */
static void capacity_that_ends_gets_no_node(void **state)
{
    static const struct {
        int64_t left_ms;
        const char *ends; /* as it is said; NULL: it lasts long enough */
    } rows[] = {
        { HOUR_MS + 1, NULL },
        { HOUR_MS, "2026-11-17T07:01:00Z" },
        { 0, "2026-11-17T06:01:00Z" },
        { -HOUR_MS, "2026-11-17T05:01:00Z" },
    };
    owned(bench) struct bench bench = open_bench();
    int64_t now_ms = loop_wall(bench.rehearsal->loop).ms;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *refusal = text_format(
            "the capacity of node %s in reservation east ends at %s, and a move that begins now "
            "must serve until 2026-11-17T07:01:00Z to pay off",
            bench.node.name, rows[i].ends ?: "");

        bench.ends.ms = now_ms + rows[i].left_ms;
        expect(&bench, false, rows[i].ends ? refusal : NULL);
        expect(&bench, true, rows[i].ends ? refusal : NULL);
    }
}

static void only_pools_of_one_reservation_trade(void **state)
{
    owned(bench) struct bench bench = open_bench();
    struct config_pool elsewhere = *bench.target;
    struct config_reservation other = *bench.target->reservation;

    (void)state;
    expect(&bench, false, NULL);
    elsewhere.reservation = &other;
    bench.target = &elsewhere;
    expect(&bench, true, "research-a-east and prod-a-east do not share a reservation");
    bench.target = bench.source;
    expect(&bench, true, "research-a-east and research-a-east do not share a reservation");
}

static void a_node_without_the_label_is_never_touched(void **state)
{
    owned(bench) struct bench bench = open_bench();
    owned(json) json_t *labels = json_make("{ss}", "sluice.dev/ephemeral", "yes");
    const char *packed, *none = packed_map_new(NULL, NULL);
    owned(chars) char *want = text_format(
        "node %s does not carry sluice.dev/ephemeral=true: it is static", bench.node.name);

    (void)state;
    bench.node.labels = packed = packed_map_new(labels, NULL);
    expect(&bench, false, want);
    expect(&bench, true, want);
    bench.node.labels = none;
    expect(&bench, true, want);
    shared_text_drop(packed);
    shared_text_drop(none);
}

static void a_node_that_goes_anyway_is_left_alone(void **state)
{
    owned(bench) struct bench bench = open_bench();
    owned(chars) char *want = text_format("node %s is being deleted already", bench.node.name);

    (void)state;
    bench.node.is_leaving = true;
    expect(&bench, true, want);
}

static void the_floor_holds_for_everyone(void **state)
{
    owned(bench) struct bench bench = open_bench();

    (void)state;
    bench.load.nodes_left = 2;
    expect(&bench, true, NULL);
    bench.load.nodes_left = 1;
    expect(&bench, false, "pool research-a-east is at its static floor of 1");
    expect(&bench, true, "pool research-a-east is at its static floor of 1");
    bench.load.nodes_left = -3;
    expect(&bench, true, "pool research-a-east is at its static floor of 1");
}

static void caps_hold_but_for_emergencies(void **state)
{
    owned(bench) struct bench bench = open_bench();
    struct config_guard *limits = &bench.rehearsal->config->guard;

    (void)state;
    limits->in_flight = 5;
    limits->in_flight_per_cluster = 3;
    bench.load.in_flight = 4;
    bench.load.in_flight_of_cluster = 2;
    expect(&bench, false, NULL);
    bench.load.in_flight_of_cluster = 3;
    expect(&bench, false, "3 nodes are leaving research-a and guard.in_flight_per_cluster is 3");
    expect(&bench, true, NULL);
    bench.load.in_flight = 5;
    expect(&bench, false, "5 transfers are under way and guard.in_flight is 5");
    expect(&bench, true, NULL);
}

static void a_freeze_of_either_side_holds_until_its_end(void **state)
{
    static const struct {
        const char *cluster;
        const char *refusal;
    } rows[] = {
        { "research-a", "research-a is frozen until 2026-11-17T07:01:00Z: incident 7" },
        { "prod-a", "prod-a is frozen until 2026-11-17T07:01:00Z: incident 7" },
        { "", "research-a is frozen until 2026-11-17T07:01:00Z: incident 7" },
        { "research-b", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(bench) struct bench bench = open_bench();
        struct error err = { 0 };

        freeze(&bench, rows[i].cluster, HOUR_MS);
        expect(&bench, false, rows[i].refusal);
        expect(&bench, true, NULL);
        assert_int_equal(guard_allows_effect(&bench.guard, bench.source->cluster, true, &err), 0);
        rehearsal_run(bench.rehearsal, HOUR_MS - 1);
        expect(&bench, false, rows[i].refusal);
        rehearsal_run(bench.rehearsal, 1);
        expect(&bench, false, NULL);
    }
}

static void old_knowledge_frees_nothing(void **state)
{
    owned(bench) struct bench bench = open_bench();
    struct error err = { 0 };

    (void)state;
    bench.rehearsal->is_dead = true; /* nothing comes in any more */
    rehearsal_run(bench.rehearsal, bench.guard.config->guard.fresh_ms + 2 * MINUTE_MS);
    for (int emergency = 0; emergency < 2; emergency++) {
        assert_int_equal(may_begin(&bench, emergency, &err), -1);
        assert_int_equal(err.kind, ERROR_DENIED);
        assert_non_null(strstr(err.text, "research-a"));
    }
}

/* A machine that joins a cluster that is not seen could not be told from one that is lost. */
static void what_is_not_seen_gets_nothing(void **state)
{
    owned(bench) struct bench bench = open_bench();
    struct error err = { 0 };

    (void)state;
    simulator_cut_off(bench.rehearsal->simulator, "prod-a");
    rehearsal_run(bench.rehearsal, bench.guard.config->guard.fresh_ms + 2 * MINUTE_MS);
    for (int emergency = 0; emergency < 2; emergency++) {
        assert_int_equal(may_begin(&bench, emergency, &err), -1);
        assert_int_equal(err.kind, ERROR_DENIED);
        assert_non_null(strstr(err.text, "cluster prod-a was not seen lately"));
    }
}

/* No caller passes, as with a node that a person cordoned.  The cluster is not frozen by it. */
static void a_frozen_node_does_not_move(void **state)
{
    owned(bench) struct bench bench = open_bench();
    struct wall_time now = loop_wall(bench.rehearsal->loop);
    owned(chars) char *refusal = text_format(
        "node %s is frozen until 2026-11-17T07:01:00Z by test: incident 7", bench.node.name);

    (void)state;
    freeze_node(&bench, "prod-a", bench.node.name); /* another node of that name */
    freeze_node(&bench, "research-a", "another");
    expect(&bench, false, NULL);
    freeze_node(&bench, "research-a", bench.node.name);
    expect(&bench, false, refusal);
    expect(&bench, true, refusal);
    assert_null(guard_freeze(&bench.guard, bench.source->cluster, now));
    bench.guard.freezes.items[2].until = now;
    expect(&bench, false, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacity_that_ends_gets_no_node),
        cmocka_unit_test(only_pools_of_one_reservation_trade),
        cmocka_unit_test(a_node_without_the_label_is_never_touched),
        cmocka_unit_test(a_node_that_goes_anyway_is_left_alone),
        cmocka_unit_test(the_floor_holds_for_everyone),
        cmocka_unit_test(caps_hold_but_for_emergencies),
        cmocka_unit_test(a_freeze_of_either_side_holds_until_its_end),
        cmocka_unit_test(old_knowledge_frees_nothing),
        cmocka_unit_test(what_is_not_seen_gets_nothing),
        cmocka_unit_test(a_frozen_node_does_not_move),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
