/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One cluster of several is out of reach: the others go on without it.  Its pools neither give nor
 * take nodes, they are named in each answer, and nothing is taken for gone.
 */
#include "tests/cli/wide_world.h"

enum {
    STALE_MS = 5 * MINUTE_MS,     /* an outage that makes what was seen too old */
    ARRIVE_MS = 25 * MINUTE_MS,   /* what a move of a few nodes takes at most */
    EXPIRED_MS = 150 * MINUTE_MS, /* a reclaim's two hours, and what it held went back */
};

/* The cluster is not heard any more, until what is known of it is old. */
static void lose(struct rehearsal *rehearsal, const char *cluster)
{
    simulator_cut_off(rehearsal->simulator, cluster);
    rehearsal_run(rehearsal, STALE_MS);
}

static json_t *ask_reclaim(struct rehearsal *rehearsal, int nodes, struct error *err)
{
    owned(json) json_t *request = json_make("{ss si ss}", "cluster", "prod-a", "nodes", nodes,
                                            "reason", "launch");

    return service_reclaim(rehearsal->service, request, "test", err);
}

static json_t *plan_in_force(struct rehearsal *rehearsal)
{
    struct error err = { 0 };
    json_t *plan = service_plan(rehearsal->service, NULL, &err);

    if (!plan)
        fail_msg("%s", err.text);
    return plan;
}

/* The row of a list in which the member has that value. */
static const json_t *row_of(const json_t *answer, const char *list, const char *key,
                            const char *value)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(answer, list), i, row) {
        if (text_equal(json_text_or(row, key, ""), value))
            return row;
    }
    fail_msg("%s has no %s %s", list, key, value);
    return NULL;
}

/* The answer names the pool, why, and since when. */
static void expect_unknown(const json_t *answer, const char *pool, const char *cluster)
{
    const json_t *row = row_of(answer, "unknown", "pool", pool);

    assert_string_equal(json_text_or(row, "cluster", ""), cluster);
    assert_non_null(strstr(json_text_or(row, "reason", ""), cluster));
    assert_in_range(json_int_or(row, "age_s", 0), 120, STALE_MS / SECOND_MS + 60);
}

static void expect_warning(struct rehearsal *rehearsal, const char *pool)
{
    owned(json) json_t *status = service_status(rehearsal->service);
    const json_t *line;
    size_t i;

    json_array_foreach(json_object_get(status, "warnings"), i, line) {
        if (strstr(json_string_value(line), pool) && strstr(json_string_value(line), "last seen"))
            return;
    }
    fail_msg("no warning names %s", pool);
}

/* Nodes of the reservation's pools, whether they are heard or not. */
static int east_nodes(struct rehearsal *rehearsal)
{
    return nodes_of(rehearsal, "prod-a-east") + nodes_of(rehearsal, "prod-b-east") +
           nodes_of(rehearsal, "research-a-east") + nodes_of(rehearsal, "research-b-east");
}

static const struct {
    const char *cluster;
    const char *pool; /* its pool in the reservation */
} dead[] = {
    { "prod-b", "prod-b-east" },
    { "research-a", "research-a-east" },
    { "research-b", "research-b-east" },
};

static void a_reclaim_needs_to_know_its_own_two_pools_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(dead); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = wide_rehearsal(folder);
        struct error err = { 0 };
        owned(json) json_t *answer = NULL;
        int before;

        apply_wide(rehearsal, 6, 4, 3);
        lose(rehearsal, dead[i].cluster);
        before = nodes_of(rehearsal, dead[i].pool);
        answer = ask_reclaim(rehearsal, 3, &err);
        if (!answer)
            fail_msg("without %s: %s", dead[i].cluster, err.text);
        assert_int_equal(json_int_or(answer, "accepted_nodes", 0), 3);
        expect_unknown(answer, dead[i].pool, dead[i].cluster);
        expect_warning(rehearsal, dead[i].pool);
        rehearsal_run(rehearsal, ARRIVE_MS);
        assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 9);
        assert_int_equal(nodes_of(rehearsal, dead[i].pool), before);
        assert_int_equal(east_nodes(rehearsal), 28);
        simulator_cut_off(rehearsal->simulator, NULL);
        rehearsal_run(rehearsal, EXPIRED_MS);
        assert_int_equal(transfers_of(rehearsal, false), 0);
        assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 6);
        simulator_check_end(rehearsal->simulator);
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

/* What the pool that is known can give over its floor, and not one more. */
static void a_reclaim_that_is_met_in_part_says_so(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_rehearsal(folder);
    struct error err = { 0 };
    owned(json) json_t *answer = NULL;

    (void)state;
    lose(rehearsal, "research-a");
    answer = ask_reclaim(rehearsal, 9, &err);
    if (!answer)
        fail_msg("%s", err.text);
    assert_int_equal(json_int_or(answer, "accepted_nodes", 0), 7);
    assert_int_equal(json_int_or(answer, "wanted_nodes", 0), 9);
    assert_int_equal(json_array_size(json_object_get(answer, "unknown")), 1);
    expect_unknown(answer, "research-a-east", "research-a");
    rehearsal_run(rehearsal, ARRIVE_MS);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 13);
    assert_int_equal(nodes_of(rehearsal, "research-b-east"), 1);
    assert_int_equal(nodes_of(rehearsal, "research-a-east"), 10);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

static void no_node_goes_to_a_cluster_that_is_not_known(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_rehearsal(folder);
    struct error err = { 0 };
    owned(json) json_t *answer = NULL;

    (void)state;
    lose(rehearsal, "prod-a");
    answer = ask_reclaim(rehearsal, 1, &err);
    assert_null(answer);
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_non_null(strstr(err.text, "prod-a"));
    assert_int_equal(transfers_of(rehearsal, true), 0);
}

/* Scheduled moves too, and those of another reservation. */
static void a_plan_leaves_out_what_is_not_known_and_nothing_else(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_rehearsal(folder);
    owned(json) json_t *plan = NULL;
    owned(json) json_t *status = NULL;
    const json_t *row;

    (void)state;
    apply_wide(rehearsal, 6, 4, 3);
    lose(rehearsal, "research-a");
    apply_wide(rehearsal, 8, 5, 5);
    plan = plan_in_force(rehearsal);
    assert_int_equal(json_array_size(json_object_get(plan, "unknown")), 1);
    expect_unknown(plan, "research-a-east", "research-a");
    assert_int_equal(json_array_size(json_object_get(plan, "lacks")), 0);
    assert_int_equal(json_array_size(json_object_get(plan, "transfers")), 5);
    assert_false(json_bool_or(row_of(plan, "pools", "pool", "research-a-east"), "is_known", true));
    assert_true(json_bool_or(row_of(plan, "pools", "pool", "research-b-east"), "is_known", false));
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 8);
    assert_int_equal(nodes_of(rehearsal, "prod-b-east"), 5);
    assert_int_equal(nodes_of(rehearsal, "prod-b-west"), 5);
    assert_int_equal(nodes_of(rehearsal, "research-a-east"), 10);
    status = service_status(rehearsal->service);
    row = row_of(status, "clusters", "cluster", "research-a");
    assert_string_equal(json_text_or(row, "state", ""), "UNREACHABLE");
    assert_int_equal(json_int_or(row, "nodes", 0), 10);
    row = row_of(status, "reservations", "reservation", "east");
    assert_int_equal(json_int_or(row, "nodes", 0), 28);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* What the schedule wants of a production cluster does not depend on who is heard. */
static void what_is_wanted_of_an_unknown_cluster_is_shown(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_rehearsal(folder);
    owned(json) json_t *plan = NULL;
    owned(json) json_t *status = NULL;
    const json_t *row;

    (void)state;
    apply_wide(rehearsal, 6, 4, 3);
    lose(rehearsal, "prod-b");
    apply_wide(rehearsal, 7, 6, 4);
    plan = plan_in_force(rehearsal);
    assert_int_equal(json_int_or(row_of(plan, "pools", "pool", "prod-b-east"), "wanted_nodes", 0),
                     6);
    assert_int_equal(json_array_size(json_object_get(plan, "lacks")), 0);
    assert_int_equal(json_array_size(json_object_get(plan, "transfers")), 1);
    status = service_status(rehearsal->service);
    row = row_of(status, "clusters", "cluster", "prod-b");
    assert_string_equal(json_text_or(row, "state", ""), "UNREACHABLE");
    assert_int_equal(json_int_or(row, "wanted_nodes", 0), 10);
    expect_unknown(status, "prod-b-east", "prod-b");
    expect_unknown(status, "prod-b-west", "prod-b");
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(nodes_of(rehearsal, "prod-b-east"), 4);
    assert_int_equal(nodes_of(rehearsal, "prod-b-west"), 3);
    simulator_cut_off(rehearsal->simulator, NULL);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(nodes_of(rehearsal, "prod-b-east"), 6);
    assert_int_equal(nodes_of(rehearsal, "prod-b-west"), 4);
    simulator_check_end(rehearsal->simulator);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* A broker that starts beside a dead cluster: an emergency is served at once, a scheduled move
   waits until the cluster had its time to answer. */
static void a_start_beside_a_dead_cluster_serves_a_reclaim_at_once(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_rehearsal(folder);
    struct error err = { 0 };
    owned(json) json_t *answer = NULL;
    const json_t *row;

    (void)state;
    apply_wide(rehearsal, 6, 4, 3);
    rehearsal_kill(rehearsal);
    simulator_cut_off(rehearsal->simulator, "research-a");
    assert_int_equal(rehearsal_start(rehearsal, &err), 0);
    rehearsal_run(rehearsal, 10 * SECOND_MS);
    apply_wide(rehearsal, 8, 4, 4);
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(transfers_of(rehearsal, true), 1); /* of the other reservation? */
    answer = ask_reclaim(rehearsal, 1, &err);
    if (!answer)
        fail_msg("%s", err.text);
    row = row_of(answer, "unknown", "pool", "research-a-east");
    assert_null(json_at(row, "age_s"));
    rehearsal_run(rehearsal, ARRIVE_MS);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 8);
    rehearsal_run(rehearsal, ARRIVE_MS);
    assert_int_equal(nodes_of(rehearsal, "research-a-east"), 10);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* A way out on which research-a serves no budgets. */
static struct http *open_way;

static struct http_exchange *strait_send(struct http *http, const struct http_request *request,
                                         http_done_fn done, void *context)
{
    struct http_request bent = *request;
    owned(chars) char *url = NULL;

    (void)http;
    if (strstr(request->url, "/clusters/research-a/") && strstr(request->url, "poddisruption")) {
        url = text_format("http://127.0.0.1:1/clusters/research-a/forgotten");
        bent.url = url;
    }
    return http_send(open_way, &bent, done, context);
}

static void strait_cancel(struct http_exchange *exchange)
{
    http_cancel(open_way, exchange);
}

static const struct http_verbs strait_verbs = { .send = strait_send, .cancel = strait_cancel };

/* Its nodes and pods are heard, so it gives in its turn: it is the one furthest over its share. */
static void a_cluster_without_budgets_is_heard(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = wide_rehearsal(folder);
    struct http strait = { &strait_verbs };
    struct error err = { 0 };
    owned(json) json_t *status = NULL;
    owned(json) json_t *answer = NULL;
    const json_t *row;

    (void)state;
    open_way = rehearsal->door;
    rehearsal_kill(rehearsal);
    rehearsal->world.http = &strait;
    assert_int_equal(rehearsal_start(rehearsal, &err), 0);
    rehearsal_run(rehearsal, MINUTE_MS);
    status = service_status(rehearsal->service);
    row = row_of(status, "clusters", "cluster", "research-a");
    assert_non_null(strstr(json_text_or(row, "trouble", ""), "poddisruptionbudgets"));
    answer = ask_reclaim(rehearsal, 1, &err);
    if (!answer)
        fail_msg("%s", err.text);
    row_of(answer, "transfers", "from", "research-a-east");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reclaim_needs_to_know_its_own_two_pools_alone),
        cmocka_unit_test(a_reclaim_that_is_met_in_part_says_so),
        cmocka_unit_test(no_node_goes_to_a_cluster_that_is_not_known),
        cmocka_unit_test(a_plan_leaves_out_what_is_not_known_and_nothing_else),
        cmocka_unit_test(what_is_wanted_of_an_unknown_cluster_is_shown),
        cmocka_unit_test(a_start_beside_a_dead_cluster_serves_a_reclaim_at_once),
        cmocka_unit_test(a_cluster_without_budgets_is_heard),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
