/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verbs on a MachineDeployment against the simulator's strict fake, in virtual time.
 */
#include "base/log.h"
#include "tests/providers/capi_bench.h"

#define POOL "namespace: infra, machine_deployment: gpu"
#define FIRST "6f1d3a52-3f6e-4a5e-9f0b-0c1d2e3f4a5b"
#define SECOND "6f1d3a52-3f6e-4a5e-9f0b-0c1d2e3f4a5c"

/* The machine in the middle: no order of names or ages chooses it. */
static void choose(struct capi_bench *it, char ret_name[INSTANCE_NAME_SIZE])
{
    assert_int_equal(capi_list_all(it, &capi_place), ERROR_NONE);
    assert_int_equal(it->count, 3);
    text_copy(ret_name, INSTANCE_NAME_SIZE, it->items[1].name);
}

/* Calls until there is no more to come. */
static enum error_kind remove_whole(struct capi_bench *it, const char *name, const char *id)
{
    enum error_kind kind = capi_remove_once(it, name, id);

    for (int i = 0; i < 20 && kind != ERROR_NONE && kind != ERROR_NOT_FOUND; i++) {
        capi_run(it, 10 * SECOND_MS);
        kind = capi_remove_once(it, name, id);
    }
    return kind;
}

static enum error_kind create_whole(struct capi_bench *it, const char *id)
{
    enum error_kind kind = capi_create_once(it, id);

    for (int i = 0; i < 20 && kind != ERROR_NONE; i++) {
        capi_run(it, 10 * SECOND_MS);
        kind = capi_create_once(it, id);
    }
    return kind;
}

static void need_only_this_gone(struct capi_bench *it, const char *name, int staying)
{
    assert_int_equal(capi_wanted(it), staying);
    capi_run(it, 30 * MINUTE_MS);
    assert_null(capi_find(it, name));
    assert_int_equal(it->count, staying);
    assert_int_equal(simulator_pool_running(it->simulator, "lab-main"), staying);
    assert_int_equal(simulator_pool_target(it->simulator, "lab-main"), staying);
}

static void one_leaves_and_one_comes(struct capi_bench *it)
{
    char chosen[INSTANCE_NAME_SIZE];
    const struct instance *made = NULL;

    choose(it, chosen);
    assert_int_equal(it->items[0].state, INSTANCE_RUNNING);
    assert_string_equal(it->items[0].zone, "r-a");
    assert_true(text_starts_with(it->items[0].provider_id, "simulated:////"));

    assert_int_equal(capi_remove_once(it, chosen, FIRST), ERROR_TRANSIENT);
    assert_ptr_equal(it->err.cause, &provider_goes_on);
    assert_string_equal(capi_marked(it, chosen), FIRST);
    assert_int_equal(capi_wanted(it), 3);
    assert_int_equal(capi_remove_once(it, chosen, FIRST), ERROR_NONE);
    capi_run(it, 10 * SECOND_MS);
    assert_int_equal(capi_find(it, chosen)->state, INSTANCE_DELETING);
    assert_int_equal(capi_remove_once(it, chosen, FIRST), ERROR_NONE); /* it is leaving */
    need_only_this_gone(it, chosen, 2);
    assert_int_equal(capi_remove_once(it, chosen, FIRST), ERROR_NOT_FOUND);
    assert_int_equal(capi_wanted(it), 2);

    it->progress[0] = '\0';
    assert_int_equal(capi_create_once(it, SECOND), ERROR_TRANSIENT);
    assert_ptr_equal(it->err.cause, &provider_goes_on);
    assert_int_equal(capi_wanted(it), 2);
    assert_int_equal(capi_create_once(it, SECOND), ERROR_NONE);
    capi_run(it, 10 * SECOND_MS);
    assert_int_equal(capi_list_all(it, &capi_place), ERROR_NONE);
    assert_int_equal(it->count, 3);
    for (size_t i = 0; i < it->count; i++)
        if (it->items[i].state == INSTANCE_CREATING)
            made = &it->items[i];
    assert_non_null(made);
    assert_string_equal(made->provider_id, ""); /* it exists, and has no machine yet */
    capi_run(it, 30 * MINUTE_MS);
    assert_int_equal(capi_list_all(it, &capi_place), ERROR_NONE);
    for (size_t i = 0; i < it->count; i++)
        assert_int_equal(it->items[i].state, INSTANCE_RUNNING);
}

static void each_version_is_spoken(void **state)
{
    static const char *const worlds[] = {
        "pools: {lab-main: {nodes: 3}}\n",
        "pools: {lab-main: {nodes: 3}}\ncluster_api: v1beta2\n",
        "pools: {lab-main: {nodes: 3}}\ncluster_api: v1beta1\n",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(worlds); i++) {
        struct capi_bench it;

        capi_bench_open(&it, POOL, worlds[i]);
        /* The helpers ask for v1beta2. */
        if (i < 2)
            one_leaves_and_one_comes(&it);
        else {
            assert_int_equal(capi_list_all(&it, &capi_place), ERROR_NONE);
            assert_int_equal(it.count, 3);
            assert_int_equal(remove_whole(&it, it.items[1].name, FIRST), ERROR_NONE);
            capi_run(&it, 30 * MINUTE_MS);
            assert_int_equal(simulator_pool_running(it.simulator, "lab-main"), 2);
        }
        capi_bench_close(&it);
    }
}

static void lists_come_in_pages(void **state)
{
    struct capi_bench it;
    (void)state;
    capi_bench_open(&it, POOL, "pools: {lab-main: {nodes: 8}}\n");
    assert_int_equal(capi_list_all(&it, &capi_place), ERROR_NONE);
    assert_int_equal(it.count, 8);
    assert_int_equal(it.calls, 2);
    simulator_fault_next(it.simulator, "watch_gap", "list_machines"); /* the token is too old */
    assert_int_equal(capi_list_all(&it, &capi_place), ERROR_CONFLICT);
    capi_bench_close(&it);
}

static void no_list_is_empty_by_mistake(void **state)
{
    static const struct capi_pool elsewhere = { .namespace = "infra",
                                                .machine_deployment = "cpu",
                                                .zone = "r-a" };
    struct capi_bench it;
    (void)state;
    capi_bench_open(&it, POOL, "pools: {lab-main: {nodes: 3}}\n");
    simulator_fault_next(it.simulator, "empty_list", "list_machines");
    assert_int_equal(capi_list_all(&it, &capi_place), ERROR_TRANSIENT);
    assert_int_equal(capi_list_all(&it, &elsewhere), ERROR_NOT_FOUND);
    capi_bench_close(&it);

    capi_bench_open(&it, POOL, "pools: {lab-main: {nodes: 0}}\n");
    assert_int_equal(capi_list_all(&it, &capi_place), ERROR_NONE);
    assert_int_equal(it.count, 0);
    capi_bench_close(&it);
}

static void a_machine_pool_has_machines_too(void **state)
{
    static const struct capi_pool pool = { .namespace = "infra",
                                           .machine_pool = "gpu",
                                           .zone = "r-a" };
    struct capi_bench it;
    char name[INSTANCE_NAME_SIZE];
    (void)state;
    capi_bench_open(&it, "namespace: infra, machine_pool: gpu", "pools: {lab-main: {nodes: 3}}\n");
    assert_int_equal(capi_list_all(&it, &pool), ERROR_NONE);
    assert_int_equal(it.count, 3);
    text_copy(name, sizeof name, it.items[1].name);
    for (int i = 0; i < 2; i++) {
        owned(chars) char *progress = mem_copy_chars(it.progress);

        provider_remove(
            it.provider, capi_address(&pool),
            &(struct provider_order){ .instance = name, .request_id = FIRST, .progress = progress },
            capi_on_done, &it);
        assert_int_equal(capi_answer(&it), i == 0 ? ERROR_TRANSIENT : ERROR_NONE);
    }
    capi_run(&it, 30 * MINUTE_MS);
    assert_int_equal(capi_list_all(&it, &pool), ERROR_NONE);
    assert_int_equal(it.count, 2);
    for (size_t i = 0; i < it.count; i++)
        assert_string_not_equal(it.items[i].name, name);
    capi_bench_close(&it);
}

static void a_crash_between_the_two_writes_is_mended(void **state)
{
    (void)state;
    for (int is_stored = 0; is_stored < 2; is_stored++) {
        struct capi_bench it;
        char chosen[INSTANCE_NAME_SIZE];

        capi_bench_open(&it, POOL, "pools: {lab-main: {nodes: 3}}\n");
        choose(&it, chosen);
        assert_int_equal(capi_remove_once(&it, chosen, FIRST), ERROR_TRANSIENT);
        provider_close(it.provider);
        capi_open_provider(&it);
        if (!is_stored) {
            it.progress[0] = '\0';
            assert_int_equal(capi_remove_once(&it, chosen, FIRST), ERROR_TRANSIENT);
            assert_ptr_equal(it.err.cause, &provider_goes_on);
            assert_int_equal(capi_wanted(&it), 3); /* a number is stored before it is sent */
        }
        assert_int_equal(capi_remove_once(&it, chosen, FIRST), ERROR_NONE);
        need_only_this_gone(&it, chosen, 2);
        capi_bench_close(&it);
    }
}

static void no_fault_makes_it_twice(void **state)
{
    static const struct {
        const char *fault;
        const char *verb;
    } cases[] = {
        { "lost_answer", "mark_machine" },
        { "lost_answer", "scale_machines" },
        { "http_500_after", "mark_machine" },
        { "http_500_after", "scale_machines" },
        { "http_500", "scale_machines" },
        { "http_429", "scale_machines" },
        { "refused", "scale_machines" },
        { "lost_answer", "get_machine_pool" },
        { "http_500", "list_machines" },
        { "http_429", "mark_machine" },
        { "refused", "discover" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct capi_bench it;
        char chosen[INSTANCE_NAME_SIZE];

        capi_bench_open(&it, POOL, "pools: {lab-main: {nodes: 3}}\n");
        if (text_equal(cases[i].verb, "discover"))
            simulator_fault_next(it.simulator, cases[i].fault, cases[i].verb);
        if (capi_list_all(&it, &capi_place) != ERROR_NONE)
            assert_string_equal(cases[i].verb, "discover");
        choose(&it, chosen);
        simulator_fault_next(it.simulator, cases[i].fault, cases[i].verb);
        enum error_kind kind = remove_whole(&it, chosen, FIRST);
        if (kind != ERROR_NONE && kind != ERROR_NOT_FOUND)
            fail_msg("%s of %s: %s", cases[i].fault, cases[i].verb, it.err.text);
        need_only_this_gone(&it, chosen, 2);

        it.progress[0] = '\0';
        simulator_fault_next(it.simulator, cases[i].fault, cases[i].verb);
        assert_int_equal(create_whole(&it, SECOND), ERROR_NONE);
        assert_int_equal(capi_wanted(&it), 3);
        capi_run(&it, HOUR_MS);
        assert_int_equal(simulator_pool_running(it.simulator, "lab-main"), 3);
        capi_bench_close(&it);
    }
}

static void scale(struct capi_bench *it, int replicas)
{
    assert_int_equal(capi_admin(it, KUBE_PATCH, "machinedeployments/gpu/scale",
                                json_make("{s:{s:i}}", "spec", "replicas", replicas)),
                     ERROR_NONE);
}

static void who_lowers_it_first_takes_the_marked_one(void **state)
{
    struct capi_bench it;
    char chosen[INSTANCE_NAME_SIZE];
    (void)state;
    capi_bench_open(&it, POOL, "pools: {lab-main: {nodes: 3}}\n");
    choose(&it, chosen);
    assert_int_equal(capi_remove_once(&it, chosen, FIRST), ERROR_TRANSIENT);
    scale(&it, 2);
    assert_int_equal(capi_remove_once(&it, chosen, FIRST), ERROR_NONE);
    need_only_this_gone(&it, chosen, 2);
    capi_bench_close(&it);
}

static void two_orders_at_once_take_their_own(void **state)
{
    struct capi_bench it;
    struct {
        char name[INSTANCE_NAME_SIZE];
        char progress[160];
        bool is_done;
    } orders[2] = { 0 };
    static const char *const ids[] = { FIRST, SECOND };
    char kept[INSTANCE_NAME_SIZE];
    (void)state;
    capi_bench_open(&it, POOL, "pools: {lab-main: {nodes: 3}}\n");
    choose(&it, orders[0].name);
    text_copy(orders[1].name, sizeof orders[1].name, it.items[0].name); /* first by its name */
    text_copy(kept, sizeof kept, it.items[2].name);
    for (int round = 0; round < 40 && !(orders[0].is_done && orders[1].is_done); round++) {
        size_t at = (size_t)round % 2;

        if (orders[at].is_done)
            continue;
        text_copy(it.progress, sizeof it.progress, orders[at].progress);
        orders[at].is_done = capi_remove_once(&it, orders[at].name, ids[at]) == ERROR_NONE;
        text_copy(orders[at].progress, sizeof orders[at].progress, it.progress);
        capi_run(&it, SECOND_MS);
    }
    assert_true(orders[0].is_done && orders[1].is_done);
    capi_run(&it, 30 * MINUTE_MS);
    assert_non_null(capi_find(&it, kept));
    assert_int_equal(it.count, 1);
    capi_bench_close(&it);
}

static void two_orders_for_more_make_two(void **state)
{
    struct capi_bench it;
    char progress[2][160] = { "", "" };
    static const char *const ids[] = { FIRST, SECOND };
    (void)state;
    capi_bench_open(&it, POOL, "pools: {lab-main: {nodes: 3}}\n");
    for (int round = 0; round < 2; round++)
        for (size_t at = 0; at < 2; at++) {
            text_copy(it.progress, sizeof it.progress, progress[at]);
            capi_create_once(&it, ids[at]);
            text_copy(progress[at], sizeof progress[at], it.progress);
        }
    for (size_t at = 0; at < 2; at++) {
        text_copy(it.progress, sizeof it.progress, progress[at]);
        assert_int_equal(create_whole(&it, ids[at]), ERROR_NONE);
    }
    assert_int_equal(capi_wanted(&it), 5);
    capi_bench_close(&it);
}

static void a_refusal_takes_the_mark_back(void **state)
{
    struct capi_bench it;
    char chosen[INSTANCE_NAME_SIZE];
    (void)state;
    capi_bench_open(&it, POOL, "pools: {lab-main: {nodes: 3}}\n");
    choose(&it, chosen);
    assert_int_equal(capi_remove_once(&it, chosen, FIRST), ERROR_TRANSIENT);
    simulator_fault_next(it.simulator, "http_403", "scale_machines");
    assert_int_equal(capi_remove_once(&it, chosen, FIRST), ERROR_DENIED);
    assert_string_equal(capi_marked(&it, chosen), "");
    assert_int_equal(capi_wanted(&it), 3);
    capi_bench_close(&it);
}

static void a_busy_pool_is_left_alone(void **state)
{
    static const struct {
        const char *path;
        const char *patch;
        const char *want;
    } cases[] = {
        { "machinedeployments/gpu", "{\"spec\":{\"paused\":true}}", "it is paused" },
        { "machinedeployments/gpu", "{\"spec\":{\"template\":{\"spec\":{\"version\":\"2\"}}}}",
          "a rollout is in progress" },
        { "machinedeployments/gpu/scale", "{\"spec\":{\"replicas\":4}}", "has not seen" },
        { "machines/%s",
          "{\"metadata\":{\"annotations\":{\"cluster.x-k8s.io/delete-machine\":"
          "\"x\"}}}",
          "would go instead" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct capi_bench it;
        char chosen[INSTANCE_NAME_SIZE];
        struct error err = { 0 };
        int wanted;

        capi_bench_open(&it, POOL, "pools: {lab-main: {nodes: 3}}\n");
        choose(&it, chosen);
        owned(chars) char *other = text_format("machines/%s", it.items[0].name);
        json_t *patch = json_parse(cases[i].patch, strlen(cases[i].patch), "patch", &err);
        assert_int_equal(
            capi_admin(&it, KUBE_PATCH, strchr(cases[i].path, '%') ? other : cases[i].path, patch),
            ERROR_NONE);
        if (strstr(cases[i].path, "scale") == NULL)
            capi_run(&it, 10 * SECOND_MS);
        wanted = capi_wanted(&it);
        assert_int_equal(capi_remove_once(&it, chosen, FIRST), ERROR_TRANSIENT);
        assert_null(it.err.cause);
        if (!strstr(it.err.text, cases[i].want))
            fail_msg("%s: %s", cases[i].want, it.err.text);
        assert_string_equal(capi_marked(&it, chosen), "");
        if (strstr(cases[i].want, "rollout") || strstr(cases[i].want, "paused")) {
            it.progress[0] = '\0';
            assert_int_equal(capi_create_once(&it, SECOND), ERROR_TRANSIENT); /* its plan */
            assert_int_equal(capi_create_once(&it, SECOND), ERROR_TRANSIENT);
            assert_null(it.err.cause);
        }
        assert_int_equal(capi_wanted(&it), wanted);
        capi_bench_close(&it);
    }
}

static void a_dying_machine_is_not_taken_for_another(void **state)
{
    struct capi_bench it;
    char chosen[INSTANCE_NAME_SIZE];
    (void)state;
    capi_bench_open(&it, POOL, "pools: {lab-main: {nodes: 3}}\n");
    choose(&it, chosen);
    owned(chars) char *path = text_format("machines/%s", it.items[0].name);
    assert_int_equal(capi_admin(&it, KUBE_DELETE, path, NULL), ERROR_NONE);
    /* A smaller number would only keep the dead one from being replaced. */
    assert_int_equal(capi_remove_once(&it, chosen, FIRST), ERROR_TRANSIENT);
    assert_null(it.err.cause);
    assert_string_equal(capi_marked(&it, chosen), "");
    capi_run(&it, HOUR_MS);
    assert_int_equal(remove_whole(&it, chosen, FIRST), ERROR_NONE);
    need_only_this_gone(&it, chosen, 2);
    capi_bench_close(&it);
}

static void a_stockout_shows_in_the_list(void **state)
{
    struct capi_bench it;
    size_t troubled = 0;
    (void)state;
    capi_bench_open(&it, POOL,
                    "pools: {lab-main: {nodes: 3}}\nstockouts: [{zone: r-a, from: 0s, to: 2h}]\n");
    assert_int_equal(create_whole(&it, FIRST), ERROR_NONE);
    capi_run(&it, MINUTE_MS);
    assert_int_equal(capi_list_all(&it, &capi_place), ERROR_NONE);
    for (size_t i = 0; i < it.count; i++)
        troubled += it.items[i].trouble.kind == ERROR_NO_CAPACITY &&
                    it.items[i].state == INSTANCE_CREATING;
    assert_int_equal(troubled, 1);
    capi_bench_close(&it);
}

static void on_look(void *context, const struct instance *instance, const struct error *err)
{
    struct capi_bench *it = context;

    capi_note(it, err);
    it->count = instance != NULL;
    if (instance)
        it->items[0] = *instance;
}

static void one_is_read_by_its_name(void **state)
{
    struct capi_bench it;
    char chosen[INSTANCE_NAME_SIZE];
    (void)state;
    capi_bench_open(&it, POOL, "pools: {lab-main: {nodes: 3}}\n");
    choose(&it, chosen);
    provider_look(it.provider, capi_address(&capi_place), chosen, on_look, &it);
    assert_int_equal(capi_answer(&it), ERROR_NONE);
    assert_int_equal(it.count, 1);
    assert_string_equal(it.items[0].name, chosen);
    provider_look(it.provider, capi_address(&capi_place), "nobody", on_look, &it);
    assert_int_equal(capi_answer(&it), ERROR_NONE);
    assert_int_equal(it.count, 0);
    capi_bench_close(&it);
}

static void it_may_be_closed_at_any_time(void **state)
{
    (void)state;
    for (int64_t ms = 0; ms < 120; ms += 7) {
        struct capi_bench it;
        char chosen[INSTANCE_NAME_SIZE];

        capi_bench_open(&it, POOL, "pools: {lab-main: {nodes: 3}}\n");
        choose(&it, chosen);
        for (int i = 0; i < 2; i++) {
            struct provider_order order = { .instance = chosen,
                                            .request_key = "0a",
                                            .request_id = i ? SECOND : FIRST,
                                            .progress = "" };

            provider_remove(it.provider, capi_address(&capi_place), &order, capi_on_done, &it);
            provider_create(it.provider, capi_address(&capi_place), &order, capi_on_done, &it);
        }
        capi_run(&it, ms);
        capi_bench_close(&it);
    }
}

/* Two management clusters may have deployments of the same names. */
static void a_place_is_of_a_management_cluster(void **state)
{
    static const struct {
        struct capi_account account;
        struct capi_pool pool;
        const char *place;
    } rows[] = {
        { { .kubeconfig = "/k" },
          { .namespace = "n", .machine_deployment = "m" },
          "machine deployment m of namespace n by kubeconfig /k" },
        { { .kubeconfig = "/k", .context = "c" },
          { .namespace = "n", .machine_pool = "m" },
          "machine pool m of namespace n by kubeconfig /k, context c" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *place = provider_place(
            &capi_kind, (const struct provider_account *)(const void *)&rows[i].account,
            (const struct pool_address *)(const void *)&rows[i].pool);

        assert_string_equal(place, rows[i].place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_is_spoken),
        cmocka_unit_test(lists_come_in_pages),
        cmocka_unit_test(no_list_is_empty_by_mistake),
        cmocka_unit_test(a_machine_pool_has_machines_too),
        cmocka_unit_test(a_crash_between_the_two_writes_is_mended),
        cmocka_unit_test(no_fault_makes_it_twice),
        cmocka_unit_test(who_lowers_it_first_takes_the_marked_one),
        cmocka_unit_test(two_orders_at_once_take_their_own),
        cmocka_unit_test(two_orders_for_more_make_two),
        cmocka_unit_test(a_refusal_takes_the_mark_back),
        cmocka_unit_test(a_busy_pool_is_left_alone),
        cmocka_unit_test(a_dying_machine_is_not_taken_for_another),
        cmocka_unit_test(a_stockout_shows_in_the_list),
        cmocka_unit_test(one_is_read_by_its_name),
        cmocka_unit_test(it_may_be_closed_at_any_time),
        cmocka_unit_test(a_place_is_of_a_management_cluster),
    };
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
