/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lasting lies: what a list shows while one lasts, what is true beside it, and that it ends.
 */
#include "tests/simulator/bench.h"
#include "tools/simulator/model/model.h"

static const char machines_of_prod[] = GROUP_URL("prod-grp") "/listManagedInstances";
static const char create_in_prod[] = GROUP_URL(
    "prod-grp") "/createInstances?requestId=11111111-1111-4111-8111-111111111111";
static const char delete_in_prod[] = GROUP_URL(
    "prod-grp") "/deleteInstances?requestId=22222222-2222-4222-8222-222222222222";

static size_t listed_machines(struct bench *bench)
{
    owned(bench_answer) struct bench_answer answer = bench_cloud(bench, HTTP_POST, machines_of_prod,
                                                                 NULL);

    assert_int_equal(answer.status, 200);
    return json_array_size(json_object_get(answer.body, "managedInstances"));
}

static size_t listed_nodes(struct bench *bench)
{
    owned(bench_answer) struct bench_answer answer = bench_ask(
        bench, &(struct bench_request){ .method = HTTP_GET,
                                        .path = "/clusters/prod/api/v1/nodes",
                                        .bearer = "sim-prod" });

    assert_int_equal(answer.status, 200);
    return json_array_size(json_object_get(answer.body, "items"));
}

static void a_list_lies_and_then_does_not(void **state)
{
    static const struct {
        const char *list, *of, *kind;
        size_t shown; /* of four */
    } rows[] = {
        { "machines", "prod-east", "empty", 0 }, { "machines", "prod-east", "half", 2 },
        { "machines", "prod-east", "some", 3 },  { "machines", "prod-east", "new", 4 },
        { "machines", "prod-east", "old", 4 },   { "nodes", "prod", "empty", 0 },
        { "nodes", "prod", "half", 2 },          { "nodes", "prod", "some", 3 },
        { "nodes", "prod", "new", 4 },           { "nodes", "prod", "old", 4 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bench bench;
        bool is_cloud = text_equal(rows[i].list, "machines");

        bench_open(&bench, bench_config, bench_world, NULL);
        bench_wait(&bench, MINUTE_MS);
        simulator_lie(bench.simulator, &(struct list_lie){ .list = rows[i].list,
                                                           .of = rows[i].of,
                                                           .kind = rows[i].kind,
                                                           .age_ms = 5 * MINUTE_MS,
                                                           .for_ms = 10 * MINUTE_MS });
        bench_wait(&bench, SECOND_MS);
        if ((is_cloud ? listed_machines(&bench) : listed_nodes(&bench)) != rows[i].shown)
            fail_msg("%s of %s, %s", rows[i].list, rows[i].of, rows[i].kind);
        assert_int_equal(simulator_pool_running(bench.simulator, "prod-east"), 4);
        bench_wait(&bench, 10 * MINUTE_MS);
        assert_int_equal(is_cloud ? listed_machines(&bench) : listed_nodes(&bench), 4);
        bench_close(&bench);
    }
}

static bool is_listed(struct bench *bench, const char *name)
{
    owned(bench_answer) struct bench_answer answer = bench_cloud(bench, HTTP_POST, machines_of_prod,
                                                                 NULL);

    return bench_find(answer.body, "managedInstances", "name", name) != NULL;
}

static void order(struct bench *bench, const char *path, const char *body)
{
    owned(bench_answer) struct bench_answer answer = bench_cloud(bench, HTTP_POST, path, body);

    assert_int_equal(answer.status, 200);
}

/* One machine goes and another comes while the list is old, or lacks what is new. */
static void what_changes_is_seen_late_or_not_at_all(void **state)
{
    static const struct {
        const char *kind;
        bool shows_gone, shows_new;             /* after two minutes */
        bool shows_gone_later, shows_new_later; /* after ten */
    } rows[] = {
        { "old", true, false, false, true },
        { "new", false, false, false, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bench bench;
        char name[SIM_NAME_SIZE];

        bench_open(&bench, bench_config, bench_world, NULL);
        bench_wait(&bench, 6 * MINUTE_MS);
        text_copy(name, sizeof name, bench.simulator->pools[0].machines.items[3]->name);
        simulator_lie(bench.simulator, &(struct list_lie){ .list = "machines",
                                                           .of = "prod-east",
                                                           .kind = rows[i].kind,
                                                           .age_ms = 5 * MINUTE_MS,
                                                           .for_ms = HOUR_MS });
        bench_wait(&bench, SECOND_MS);

        owned(chars) char *body = text_format("{\"instances\":[\"zones/zone-a/instances/%s\"]}",
                                              name);

        order(&bench, delete_in_prod, body);
        order(&bench, create_in_prod, "{\"instances\":[{\"name\":\"prod-grp-new\"}]}");
        bench_wait(&bench, 2 * MINUTE_MS);
        assert_int_equal(is_listed(&bench, name), rows[i].shows_gone);
        assert_int_equal(is_listed(&bench, "prod-grp-new"), rows[i].shows_new);
        bench_wait(&bench, 8 * MINUTE_MS);
        assert_int_equal(is_listed(&bench, name), rows[i].shows_gone_later);
        assert_int_equal(is_listed(&bench, "prod-grp-new"), rows[i].shows_new_later);
        bench_close(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_lies_and_then_does_not),
        cmocka_unit_test(what_changes_is_seen_late_or_not_at_all),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
