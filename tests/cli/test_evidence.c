/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pool's list against its cluster's Nodes: what really happened to a machine
 * is believed in bounded time, and a contradiction is not, as long as it lasts.
 */
#include "tests/cli/clouds.h"
#include "tests/cli/stepwise.h"

static const char PROD[] = "prod-a-east";

/* How the pool is said to be in doubt, or "". */
static const char *doubt_of(struct rehearsal *rehearsal, const char *pool)
{
    const struct service *service = rehearsal->service;

    return fleet_pool(service->fleet, config_pool(service->config, pool))->doubt;
}

static struct rehearsal *at_rest(const char *folder)
{
    struct rehearsal *rehearsal = small_rehearsal(folder, 5, "");

    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    assert_string_equal(doubt_of(rehearsal, PROD), "");
    return rehearsal;
}

static struct machine *machine_of(struct rehearsal *rehearsal, const char *pool, size_t at)
{
    const struct pool *cloud = pool_of(rehearsal, pool);

    assert_true(at < cloud->machines.count);
    return cloud->machines.items[at];
}

/* A machine that a person deletes is gone, and is replaced: its Node is heard
 * no more. */
static void a_machine_that_is_deleted_is_gone(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = at_rest(folder);

    (void)state;
    sim_machine_remove(rehearsal->simulator, machine_of(rehearsal, PROD, 4));
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    assert_string_equal(doubt_of(rehearsal, PROD), "");
    assert_int_equal(nodes_of(rehearsal, PROD), 5);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    assert_int_equal(nodes_of(rehearsal, PROD), 6);
    assert_int_equal(transfers_of(rehearsal, false), 0);
}

/* The Node of a dead machine stays where nothing removes it; the machine is
 * gone all the same. */
static void a_node_that_is_not_heard_proves_nothing(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = at_rest(folder);
    struct machine *machine = machine_of(rehearsal, PROD, 4);
    struct kube_node *node = machine->node;

    (void)state;
    json_decref(node->finalizers);
    node->finalizers = json_make("[s]", "example.com/kept");
    sim_machine_remove(rehearsal->simulator, machine);
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    assert_string_equal(doubt_of(rehearsal, PROD), "");
    assert_int_equal(nodes_of(rehearsal, PROD), 5);
}

/* The list lacks machines that serve, for hours: in doubt for hours.  The doubt
   outlives the broker, and ends with the Nodes. */
static void a_contradiction_lasts_as_long_as_it_is_one(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = at_rest(folder);
    struct error err = { 0 };

    (void)state;
    simulator_lie(rehearsal->simulator,
                  &(struct list_lie){
                      .list = "machines", .of = PROD, .kind = "some", .for_ms = 12 * HOUR_MS });
    rehearsal_run(rehearsal, HOUR_MS);
    assert_non_null(strstr(doubt_of(rehearsal, PROD), "its list lacks 2 machines"));
    rehearsal_kill(rehearsal);
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    assert_int_equal(rehearsal_start(rehearsal, &err), 0);
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 8, 8);
    rehearsal_run(rehearsal, 3 * HOUR_MS);
    assert_non_null(strstr(doubt_of(rehearsal, PROD), "its list lacks 2 machines"));
    assert_int_equal(transfers_of(rehearsal, true), 0);
    assert_int_equal(rehearsal_violations(rehearsal), 0);

    for (size_t i = 1; i < 6; i += 4)
        sim_node_machine_dies(rehearsal->simulator, machine_of(rehearsal, PROD, i)->node);
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    assert_string_equal(doubt_of(rehearsal, PROD), "");
}

static void hide_some(struct rehearsal *rehearsal)
{
    simulator_lie(rehearsal->simulator,
                  &(struct list_lie){
                      .list = "machines", .of = PROD, .kind = "some", .for_ms = 2 * MINUTE_MS });
}

/* sluice has removed machines, and others come under their names, as those of one's own do: a list
   that lacks these contradicts their Nodes. */
static void a_removal_says_nothing_of_the_next_machine_of_its_name(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = at_rest(folder);
    const struct service *service = rehearsal->service;

    (void)state;
    for (size_t i = 1; i < 6; i += 4)
        fleet_expect_end(service->fleet, config_pool(service->config, PROD),
                         machine_of(rehearsal, PROD, i)->name);
    hide_some(rehearsal);
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_string_equal(doubt_of(rehearsal, PROD), "");
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    hide_some(rehearsal);
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_non_null(strstr(doubt_of(rehearsal, PROD), "its list lacks 2 machines"));
}

/* Until then the API servers know no pods. */
static struct {
    struct http *way;
    struct loop *loop;
    int64_t until_ms;
} podless;

static struct http_exchange *podless_send(struct http *http, const struct http_request *request,
                                          http_done_fn done, void *context)
{
    const char *pods = strstr(request->url, "/api/v1/pods");
    owned(chars) char *url = NULL;
    struct http_request changed = *request;

    (void)http;
    if (!pods || loop_now(podless.loop) >= podless.until_ms)
        return http_send(podless.way, request, done, context);
    url = text_format("%.*s/api/v1/nothing", (int)(pods - request->url), request->url);
    changed.url = url;
    return http_send(podless.way, &changed, done, context);
}

static void podless_cancel(struct http_exchange *exchange)
{
    http_cancel(podless.way, exchange);
}

/* A start at which the pods come last: the list is held against the Nodes before anything may count
   on it. */
static void a_list_is_compared_as_soon_as_all_is_known(void **state)
{
    static const struct http_verbs verbs = { .send = podless_send, .cancel = podless_cancel };
    static struct http tap = { &verbs };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = at_rest(folder);
    bool was_known = false;
    struct error err = { 0 };

    (void)state;
    simulator_lie(rehearsal->simulator,
                  &(struct list_lie){
                      .list = "machines", .of = PROD, .kind = "some", .for_ms = 12 * HOUR_MS });
    podless.way = rehearsal->door;
    podless.loop = rehearsal->loop;
    podless.until_ms = loop_now(rehearsal->loop) + 4 * SECOND_MS;
    rehearsal_kill(rehearsal);
    rehearsal->world.http = &tap;
    assert_int_equal(rehearsal_start(rehearsal, &err), 0);
    for (int i = 0; i < 300; i++) {
        const struct service *service = rehearsal->service;
        const struct config_pool *pool = config_pool(service->config, PROD);
        bool is_known = fleet_snapshot(service->fleet, pool->cluster)->is_known &&
                        fleet_pool(service->fleet, pool)->is_known;

        if (is_known && !was_known)
            assert_in_range(i, 30, 100);
        if (is_known)
            assert_non_null(strstr(doubt_of(rehearsal, PROD), "its list lacks 2 machines"));
        was_known = is_known;
        rehearsal_run(rehearsal, 100);
    }
    assert_true(was_known);
    rehearsal_kill(rehearsal);
    rehearsal->world.http = rehearsal->door;
}

/* On each cloud: whatever its provider IDs tell, a machine whose Node serves is not gone because a
   list lacks it. */
static void a_list_is_held_against_the_nodes_of_each_cloud(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(test_clouds); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *world = text_format("seed: 11\n%s", small_machines);
        owned(chars) char *config = cloud_config(&test_clouds[i]);

        print_message("%s\n", test_clouds[i].name);
        cloud_write_accounts(folder);
        owned(rehearsal) struct rehearsal *rehearsal = world_start(folder, config, world, 6, 11);

        rehearsal_run(rehearsal, MINUTE_MS);
        apply(rehearsal, 6, 6);
        rehearsal_run(rehearsal, 5 * MINUTE_MS);
        simulator_lie(rehearsal->simulator,
                      &(struct list_lie){
                          .list = "machines", .of = PROD, .kind = "some", .for_ms = HOUR_MS });
        rehearsal_run(rehearsal, 30 * MINUTE_MS);
        assert_non_null(strstr(doubt_of(rehearsal, PROD), "its list lacks 2 machines"));
        assert_int_equal(nodes_of(rehearsal, PROD), 6);
        rehearsal_run(rehearsal, HOUR_MS);
        assert_string_equal(doubt_of(rehearsal, PROD), "");
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

/* Half of the Nodes vanish while their machines run: a lie, until it has lasted
 * too long for one. */
static void nodes_that_vanish_are_missed_for_a_time(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = at_rest(folder);

    (void)state;
    for (size_t i = 2; i < 5; i++) {
        struct machine *machine = machine_of(rehearsal, PROD, i);

        sim_node_delete(rehearsal->simulator, steal(&machine->node));
    }
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    assert_string_equal(doubt_of(rehearsal, PROD),
                        "3 of the 6 machines that run have lost their nodes");
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    assert_string_equal(doubt_of(rehearsal, PROD), "");
}

/* The cloud took an order, finds no machine for it, and shows neither: when the
   attempt is given up the order goes with it, and does not bring a machine too
   many when there is room again. */
static void an_order_is_taken_back_before_the_next(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(
        folder, 31, "stockouts: [{zone: us-east5-a, from: 0s, to: 90m}]\n");

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 7, 7);
    assert_non_null(run_to(rehearsal, STEP_ACQUIRE));
    simulator_lie(
        rehearsal->simulator,
        &(struct list_lie){ .list = "machines", .of = PROD, .kind = "new", .for_ms = HOUR_MS });
    simulator_lie(rehearsal->simulator, &(struct list_lie){ .list = "machines",
                                                            .of = "research-a-east",
                                                            .kind = "new",
                                                            .for_ms = HOUR_MS });
    rehearsal_run(rehearsal, 6 * HOUR_MS);
    expect_rest(rehearsal, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_that_is_deleted_is_gone),
        cmocka_unit_test(a_node_that_is_not_heard_proves_nothing),
        cmocka_unit_test(a_contradiction_lasts_as_long_as_it_is_one),
        cmocka_unit_test(a_removal_says_nothing_of_the_next_machine_of_its_name),
        cmocka_unit_test(a_list_is_compared_as_soon_as_all_is_known),
        cmocka_unit_test(a_list_is_held_against_the_nodes_of_each_cloud),
        cmocka_unit_test(nodes_that_vanish_are_missed_for_a_time),
        cmocka_unit_test(an_order_is_taken_back_before_the_next),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
