/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A reclaim from one research cluster: that one gives, and the others keep what they have.
 */
#include "tests/cli/wide_world.h"

enum { ARRIVE_MS = 25 * MINUTE_MS };

static void expect_east(struct rehearsal *rehearsal, int prod_a, int research_a, int research_b)
{
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), prod_a);
    assert_int_equal(nodes_of(rehearsal, "research-a-east"), research_a);
    assert_int_equal(nodes_of(rehearsal, "research-b-east"), research_b);
}

/* Also for a machine that never comes, and after a restart.  research-a has more nodes, and would
   give them first. */
static void one_research_cluster_gives_and_no_other(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_settled(folder);
    owned(json) json_t *answer = NULL;

    (void)state;
    simulator_fault_next(rehearsal->simulator, "never_joins", NULL);
    answer = reclaim_from(rehearsal, "research-b", 3);
    assert_int_equal(json_int_or(answer, "accepted_nodes", 0), 3);
    assert_string_equal(json_text_or(answer, "from", ""), "research-b");
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    restart(rehearsal);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_east(rehearsal, 9, 10, 5);
}

static void no_more_is_promised_than_that_cluster_has(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_settled(folder);
    struct error err = { 0 };
    owned(json) json_t *answer = NULL;

    (void)state;
    answer = reclaim_from(rehearsal, "research-b", 20);
    assert_int_equal(json_int_or(answer, "accepted_nodes", 0), 7); /* its floor is 1 */
    rehearsal_run(rehearsal, ARRIVE_MS);
    expect_east(rehearsal, 13, 10, 1);
    assert_null(ask_from(rehearsal, "research-b", 2, &err));
    assert_non_null(strstr(err.text, "no movable node of research-b shares a reservation"));
    assert_non_null(strstr(err.text, "`--from research-a` can have 9 nodes"));
}

/* The trouble of a cluster that is not asked is no reason. */
static void a_refusal_is_about_the_cluster_that_was_asked(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_settled(folder);
    struct error err = { 0 };

    (void)state;
    keep_all(rehearsal, "research-b-east");
    simulator_cut_off(rehearsal->simulator, "research-a");
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    assert_null(ask_from(rehearsal, "research-b", 2, &err));
    assert_non_null(strstr(err.text, "no movable node of research-b shares a reservation"));
    assert_non_null(strstr(err.text, "no other research cluster has one"));
    assert_null(ask_from(rehearsal, "research-a", 2, &err));
    assert_non_null(strstr(err.text, "research-a"));
    assert_null(strstr(err.text, "research-b"));
}

/* Where the pool that would take them is not known, nothing is said of who could give. */
static void no_giver_is_judged_by_a_pool_that_is_not_known(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_settled(folder);
    struct error err = { 0 };

    (void)state;
    simulator_cut_off(rehearsal->simulator, "prod-a");
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    assert_null(ask_from(rehearsal, "research-b", 2, &err));
    assert_non_null(strstr(err.text, "prod-a"));
    assert_null(strstr(err.text, "research cluster has one"));
}

/* The configuration that a new process reads may have another role for it.  Nothing is forgotten,
   and it is said at once. */
static void a_giver_that_is_no_research_cluster_any_more_is_named(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_settled(folder);
    owned(json) json_t *answer = NULL;
    struct reclaim *order;

    (void)state;
    answer = reclaim_from(rehearsal, "research-b", 2);
    order = &rehearsal->service->reclaims.items[0];
    mem_free(order->from);
    order->from = mem_copy_chars("research-z"); /* as if the record were of that time */
    rehearsal_run(rehearsal, HOUR_MS);
    expect_east(rehearsal, 6, 10, 8);
    owned(json) json_t *status = service_status(rehearsal->service);
    owned(chars) char *text = json_dumps(status, 0);

    assert_non_null(strstr(text, "research-z, which alone gives its nodes, is no research "));
    assert_non_null(strstr(text, "--from research-a --nodes 2 --reason TEXT`"));
}

/* The same order is the same from the same cluster alone. */
static void who_gives_is_part_of_an_order(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_settled(folder);
    owned(json) json_t *first = NULL;
    owned(json) json_t *again = NULL;
    owned(json) json_t *other = NULL;
    owned(json) json_t *any = NULL;

    (void)state;
    first = reclaim_from(rehearsal, "research-b", 2);
    again = reclaim_from(rehearsal, "research-b", 2);
    other = reclaim_from(rehearsal, "research-a", 2);
    any = reclaim_from(rehearsal, "", 2);
    assert_true(json_bool_or(again, "is_repeat", false));
    assert_string_equal(json_text_or(again, "from", ""), "research-b");
    assert_false(json_bool_or(other, "is_repeat", true));
    assert_false(json_bool_or(any, "is_repeat", true));
    rehearsal_run(rehearsal, ARRIVE_MS);
    expect_east(rehearsal, 12, 10 - 4, 8 - 2); /* any: research-a is furthest over its share */
}

/* It is said at once if the cluster cannot be one that gives. */
static void a_giver_is_a_research_cluster_that_can(void **state)
{
    static const struct {
        const char *from;
        const char *why;
    } rows[] = {
        { "research-c", "there is no cluster research-c in " },
        { "prod-b",
          "prod-b cannot give nodes to prod-a: it is not a research cluster; those that can: "
          "research-a, research-b" },
    };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_rehearsal(folder);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };

        assert_null(ask_from(rehearsal, rows[i].from, 1, &err));
        if (!strstr(err.text, rows[i].why))
            fail_msg("%s: %s", rows[i].from, err.text);
        assert_int_equal(err.kind, ERROR_INVALID);
    }
    assert_int_equal(rehearsal->service->reclaims.count, 0);
}

static json_t *seen_approval(struct rehearsal *rehearsal)
{
    owned(json) json_t *answer = service_approvals(rehearsal->service, true);

    return json_incref(json_array_get(json_object_get(answer, "approvals"), 0));
}

static const json_t *order_at(const json_t *list, size_t at)
{
    return json_array_get(json_object_get(list, "reclaims"), at);
}

/* The nodes that research-a gives do not count as those that research-b owes: not at the next look,
   not after a restart, and not when they have arrived. */
static void a_stuck_reclaim_takes_nothing_from_the_next_ones_giver(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_settled(folder);
    owned(json) json_t *first = NULL;
    owned(json) json_t *second = NULL;

    (void)state;
    first = reclaim_from(rehearsal, "research-b", 2);
    keep_all(rehearsal, "research-b-east");
    second = reclaim_from(rehearsal, "research-a", 3);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    restart(rehearsal);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_east(rehearsal, 9, 7, 8);

    owned(json) json_t *list = service_reclaims(rehearsal->service, false);

    assert_int_equal(json_int_or(order_at(list, 0), "lacking_nodes", -1), 2);
    assert_int_equal(json_int_or(order_at(list, 1), "lacking_nodes", -1), 0);
}

/* The second person sees who gives, and approves just that. */
static void who_gives_is_what_is_approved(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *config = text_format("%sguard: {approval_nodes: 2}\n", wide_config);
    owned(rehearsal) struct rehearsal *rehearsal = world_start(folder, config, wide_machines, 9, 5);
    owned(json) json_t *request = json_make("{ss ss si ss}", "cluster", "prod-a", "from",
                                            "research-b", "nodes", 3, "reason", "launch");
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    owned(json) json_t *waiting = service_reclaim(rehearsal->service, request, "ada", &err);
    owned(json) json_t *seen = seen_approval(rehearsal);
    owned(json) json_t *decision = json_make("{sO sO}", "id", json_object_get(seen, "id"),
                                             "fingerprint", json_object_get(seen, "fingerprint"));

    assert_non_null(waiting);
    assert_string_equal(json_text_or(seen, "from", ""), "research-b");
    owned(json) json_t *approved = service_approve(rehearsal->service, decision, "ben", &err);
    assert_non_null(approved);
    assert_int_equal(rehearsal->service->reclaims.count, 1);
    assert_string_equal(rehearsal->service->reclaims.items[0].from, "research-b");
}

/* Of a cluster that has no node left, the advice is to ask another one. */
static void a_giver_that_has_nothing_left_is_named(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_settled(folder);
    owned(json) json_t *answer = NULL;

    (void)state;
    answer = reclaim_from(rehearsal, "research-b", 2);
    keep_all(rehearsal, "research-b-east");
    rehearsal_run(rehearsal, HOUR_MS);
    expect_east(rehearsal, 6, 10, 8);
    owned(json) json_t *status = service_status(rehearsal->service);
    owned(chars) char *text = json_dumps(status, 0);

    assert_non_null(strstr(text, "no node of research-b is on its way"));
    assert_non_null(strstr(text, "`sluice reclaim --to prod-a --from research-a --nodes 2 "
                                 "--reason TEXT` takes nodes of research-a instead"));
}

/* Nodes that are late are on their way: no other cluster is advised to give. */
static void a_giver_whose_nodes_are_late_is_not_replaced(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_settled(folder);
    owned(json) json_t *answer = NULL;
    owned(chars) char *text = mem_copy_chars("");

    (void)state;
    for (int i = 0; i < 2; i++)
        simulator_fault_next(rehearsal->simulator, "never_joins", NULL);
    answer = reclaim_from(rehearsal, "research-b", 2);
    for (int i = 0; i < 120 && !strstr(text, "still lacks 2 nodes"); i++) {
        owned(json) json_t *status = NULL;

        rehearsal_run(rehearsal, MINUTE_MS);
        status = service_status(rehearsal->service);
        mem_free(text);
        text = json_dumps(status, 0);
    }
    assert_non_null(strstr(text, "still lacks 2 nodes"));
    assert_non_null(strstr(text, " waits longest, in step join: "));
    assert_null(strstr(text, "--from "));
}

/* Other givers of the reservation are no way out of a zone without machines; another one is. */
static void a_zone_without_machines_has_another_as_its_way_out(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *machines = text_format(
        "%sstockouts: [ { zone: us-east5-a, from: 0s, to: 8h } ]\n", wide_machines);
    owned(rehearsal) struct rehearsal *rehearsal = world_start(folder, wide_config, machines, 9, 5);
    owned(json) json_t *request = json_make("{ss ss si ss}", "cluster", "prod-b", "from",
                                            "research-a", "nodes", 2, "reason", "launch");
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    owned(json) json_t *answer = service_reclaim(rehearsal->service, request, "test", &err);
    assert_non_null(answer);
    rehearsal_run(rehearsal, 40 * MINUTE_MS);
    owned(json) json_t *status = service_status(rehearsal->service);
    owned(chars) char *text = json_dumps(status, 0);

    assert_non_null(strstr(text, "does not get on: "));
    assert_non_null(strstr(text, "`sluice reclaim --to prod-b --nodes 2 --new --reason TEXT` takes "
                                 "nodes of reservation west instead"));
}

/* A cluster that is to give nodes stays in the configuration, and stays one of research. */
static void a_reload_keeps_the_cluster_that_gives(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_settled(folder);
    struct config next = *rehearsal->config;
    struct config_cluster clusters[4];
    struct error err = { 0 };
    owned(json) json_t *answer = NULL;

    (void)state;
    answer = reclaim_from(rehearsal, "research-b", 1);
    assert_int_equal(next.cluster_count, COUNT_OF(clusters));
    memcpy(clusters, next.clusters, sizeof clusters);
    next.clusters = clusters;
    for (size_t i = 0; i < next.cluster_count; i++)
        if (text_equal(clusters[i].name, "research-b"))
            clusters[i].role = ROLE_PRODUCTION;
    assert_int_equal(service_may_become(rehearsal->service, &next, &err), -1);
    assert_non_null(strstr(err.text, "cluster research-b gives nodes to reclaim r-"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_research_cluster_gives_and_no_other),
        cmocka_unit_test(no_more_is_promised_than_that_cluster_has),
        cmocka_unit_test(a_refusal_is_about_the_cluster_that_was_asked),
        cmocka_unit_test(no_giver_is_judged_by_a_pool_that_is_not_known),
        cmocka_unit_test(a_giver_that_is_no_research_cluster_any_more_is_named),
        cmocka_unit_test(who_gives_is_part_of_an_order),
        cmocka_unit_test(a_giver_is_a_research_cluster_that_can),
        cmocka_unit_test(a_stuck_reclaim_takes_nothing_from_the_next_ones_giver),
        cmocka_unit_test(who_gives_is_what_is_approved),
        cmocka_unit_test(a_giver_that_has_nothing_left_is_named),
        cmocka_unit_test(a_giver_whose_nodes_are_late_is_not_replaced),
        cmocka_unit_test(a_zone_without_machines_has_another_as_its_way_out),
        cmocka_unit_test(a_reload_keeps_the_cluster_that_gives),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
