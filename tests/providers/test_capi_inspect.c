/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is found about a pool of Cluster API before sluice changes it.
 */
#include "base/log.h"
#include "tests/providers/capi_bench.h"

#define POOL "namespace: infra, machine_deployment: gpu"
#define WORLD "pools: {lab-main: {nodes: 3}}\n"

static void on_finding(void *context, const struct finding *finding)
{
    static const char *const words[] = { "right", "doubtful", "wrong" };
    struct capi_bench *it = context;

    assert_int_equal(finding->remedy[0] == '\0', finding->verdict == FINDING_RIGHT);
    text_add(it->findings, "%s %s: %s\n", words[finding->verdict], finding->subject, finding->text);
}

static enum error_kind inspect(struct capi_bench *it, const struct capi_pool *pool)
{
    text_reset(it->findings);
    provider_inspect(it->provider, capi_address(pool), on_finding, capi_on_done, it);
    return capi_answer(it);
}

static void need(const struct capi_bench *it, const char *words)
{
    if (!strstr(it->findings->chars, words))
        fail_msg("\"%s\" is not in:\n%s", words, it->findings->chars);
}

static void a_sound_pool_is_right(void **state)
{
    static const char want[] =
        "right MachineDeployment: it is at rest, with 3 Machines\n"
        "right cluster.x-k8s.io machines list: it is allowed (which machines a pool has)\n"
        "right cluster.x-k8s.io machines get: it is allowed (whether a machine is gone)\n"
        "right cluster.x-k8s.io machines patch: it is allowed (marks the machine that leaves)\n"
        "right cluster.x-k8s.io machinedeployments get: it is allowed (the size of a pool)\n"
        "right cluster.x-k8s.io machinedeployments/scale patch: it is allowed (changes the size of "
        "a pool)\n"
        "right cluster.x-k8s.io machinehealthchecks list: it is allowed (whether machines are "
        "replaced when they fail)\n";
    struct capi_bench it;
    (void)state;
    capi_bench_open(&it, POOL, WORLD);
    assert_int_equal(inspect(&it, &capi_place), ERROR_NONE);
    assert_string_equal(it.findings->chars, want);
    capi_bench_close(&it);
}

static void each_danger_is_found(void **state)
{
    static const struct {
        const char *path; /* %s: a Machine */
        const char *patch;
        const char *want;
    } cases[] = {
        { "machinedeployments/gpu",
          "{\"metadata\":{\"annotations\":{\"cluster.x-k8s.io/"
          "cluster-api-autoscaler-node-group-min-size\":\"1\",\"cluster.x-k8s.io/"
          "cluster-api-autoscaler-node-group-max-size\":\"9\"}}}",
          "wrong cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size, max-size: the "
          "Cluster Autoscaler keeps the pool between 1 and 9" },
        { "machinedeployments/gpu",
          "{\"metadata\":{\"annotations\":{\"cluster.x-k8s.io/replicas-managed-by\":\"x\"}}}",
          "wrong cluster.x-k8s.io/replicas-managed-by" },
        { "machinedeployments/gpu",
          "{\"metadata\":{\"labels\":{\"topology.cluster.x-k8s.io/owned\":\"\"}}}",
          "doubtful topology.cluster.x-k8s.io/owned" },
        { "machinedeployments/gpu", "{\"spec\":{\"paused\":true}}", "it is paused" },
        { "machinedeployments/gpu",
          "{\"metadata\":{\"annotations\":{\"cluster.x-k8s.io/paused\":\"\"}}}", "it is paused" },
        { "machinedeployments/gpu", "{\"spec\":{\"template\":{\"spec\":{\"version\":\"2\"}}}}",
          "a rollout is in progress" },
        { "machines/%s",
          "{\"metadata\":{\"annotations\":{\"cluster.x-k8s.io/delete-machine\":\"x\"}}}",
          "wrong cluster.x-k8s.io/delete-machine" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct capi_bench it;
        struct error err = { 0 };
        json_t *patch = json_parse(cases[i].patch, strlen(cases[i].patch), "patch", &err);

        capi_bench_open(&it, POOL, WORLD);
        assert_int_equal(capi_list_all(&it, &capi_place), ERROR_NONE);
        owned(chars) char *machine = text_format("machines/%s", it.items[0].name);
        assert_int_equal(capi_admin(&it, KUBE_PATCH,
                                    strchr(cases[i].path, '%') ? machine : cases[i].path, patch),
                         ERROR_NONE);
        capi_run(&it, 10 * SECOND_MS);
        assert_int_equal(inspect(&it, &capi_place), ERROR_NONE);
        need(&it, cases[i].want);
        capi_bench_close(&it);
    }
}

static void a_health_check_that_selects_it_is_found(void **state)
{
    static const struct {
        const char *cluster;
        const char *pool;
        bool is_found;
    } cases[] = { { "lab", "gpu", true }, { "lab", "cpu", false }, { "other", "gpu", false } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct capi_bench it;

        capi_bench_open(&it, POOL, WORLD);
        assert_int_equal(
            capi_admin(&it, KUBE_CREATE, "machinehealthchecks",
                       json_make("{s:{s:s}, s:{s:s, s:{s:{s:s}}, s:{s:i}}}", "metadata", "name",
                                 "gpus", "spec", "clusterName", cases[i].cluster, "selector",
                                 "matchLabels", "pool", cases[i].pool, "checks",
                                 "nodeStartupTimeoutSeconds", 600)),
            ERROR_NONE);
        assert_int_equal(inspect(&it, &capi_place), ERROR_NONE);
        assert_int_equal(strstr(it.findings->chars, "doubtful MachineHealthCheck: gpus") != NULL,
                         cases[i].is_found);
        capi_bench_close(&it);
    }
}

/* The machine that never joins is deleted by the check, and its pool makes another. */
static void a_health_check_replaces_what_never_joins(void **state)
{
    struct capi_bench it;
    struct provider_order order = { .request_key = "0a", .request_id = "r-1", .progress = "" };
    (void)state;
    capi_bench_open(&it, POOL, WORLD);
    assert_int_equal(capi_admin(&it, KUBE_CREATE, "machinehealthchecks",
                                json_make("{s:{s:s}, s:{s:s}}", "metadata", "name", "gpus", "spec",
                                          "clusterName", "lab")),
                     ERROR_NONE);
    simulator_fault_next(it.simulator, "never_joins", NULL);
    provider_create(it.provider, capi_address(&capi_place), &order, capi_on_done, &it);
    assert_int_equal(capi_answer(&it), ERROR_TRANSIENT);
    order.progress = it.progress;
    assert_int_equal(capi_create_once(&it, "r-1"), ERROR_NONE);
    capi_run(&it, 2 * HOUR_MS);
    assert_int_equal(capi_list_all(&it, &capi_place), ERROR_NONE);
    assert_int_equal(it.count, 4);
    for (size_t i = 0; i < it.count; i++)
        assert_int_equal(it.items[i].state, INSTANCE_RUNNING);
    assert_int_equal(capi_wanted(&it), 4);
    capi_bench_close(&it);
}

/* Of each action that this pool needs, in the words of the review. */
static void each_missing_permission_is_named(void **state)
{
    size_t needed = 0;
    (void)state;
    for (size_t i = 0; i < capi_kind.action_count; i++) {
        const struct provider_action *action = &capi_kind.actions[i];
        const char *resource = strchr(action->permission, ' ') + 1;
        const char *verb = strrchr(action->permission, ' ') + 1;
        bool is_other = strstr(resource, "machinepools") || strstr(resource, "selfsubject");
        owned(chars) char *world = text_format(WORLD "denied: [{whose: mgmt, action: %s %.*s}]\n",
                                               verb, (int)(verb - resource - 1), resource);
        owned(chars) char *want = text_format("%s %s: the permission is missing",
                                              strstr(resource, "checks") ? "doubtful" : "wrong",
                                              action->permission);
        struct capi_bench it;

        if (is_other)
            continue;
        needed++;
        capi_bench_open(&it, POOL, world);
        assert_int_equal(inspect(&it, &capi_place), ERROR_NONE);
        need(&it, want);
        capi_bench_close(&it);
    }
    assert_int_equal(needed, 6);
}

static void an_answer_that_does_not_come_is_an_error(void **state)
{
    static const char *const verbs[] = { "review_access", "list_checks", "list_machines",
                                         "get_machine_pool" };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        struct capi_bench it;

        capi_bench_open(&it, POOL, WORLD);
        assert_int_equal(capi_list_all(&it, &capi_place), ERROR_NONE);
        simulator_fault_next(it.simulator, "http_500", verbs[i]);
        assert_int_not_equal(inspect(&it, &capi_place), ERROR_NONE);
        capi_bench_close(&it);
    }
}

static void a_wrong_name_is_found(void **state)
{
    static const struct capi_pool elsewhere = { .namespace = "infra",
                                                .machine_deployment = "cpu",
                                                .zone = "r-b" };
    struct capi_bench it;
    struct capi_pool other_zone = capi_place;
    (void)state;
    capi_bench_open(&it, POOL, WORLD);
    assert_int_equal(inspect(&it, &elsewhere), ERROR_NONE);
    need(&it, "wrong MachineDeployment: namespace infra has no MachineDeployment cpu");
    other_zone.zone = "r-b";
    assert_int_equal(inspect(&it, &other_zone), ERROR_NONE);
    need(&it, "doubtful spec.failureDomain: the Machines are in failure domain r-a");
    capi_bench_close(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_pool_is_right),
        cmocka_unit_test(each_danger_is_found),
        cmocka_unit_test(a_health_check_that_selects_it_is_found),
        cmocka_unit_test(a_health_check_replaces_what_never_joins),
        cmocka_unit_test(each_missing_permission_is_named),
        cmocka_unit_test(an_answer_that_does_not_come_is_an_error),
        cmocka_unit_test(a_wrong_name_is_found),
    };
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
