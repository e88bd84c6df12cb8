/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Disruption budgets: which pods they select in either version of the API, what their status means
 * for a drain, and how a cluster finds and follows them.
 */
#include "base/log.h"
#include "clusters/budget.h"
#include "clusters/kube_verbs.h"
#include "tests/clusters/cluster_bench.h"

#define META                                                                                       \
    "\"metadata\":{\"namespace\":\"s\",\"name\":\"b\",\"uid\":\"B\",\"resourceVersion\":\"3\""
#define LIST(path) SERVER path "?limit=25000"
#define WATCH(path, version)                                                                       \
    SERVER path "?watch=1&resourceVersion=" version "&allowWatchBookmarks=true&timeoutSeconds=290"
#define V1 "/apis/policy/v1/poddisruptionbudgets"
#define V1BETA1 "/apis/policy/v1beta1/poddisruptionbudgets"
#define SYNC_FAILED(status)                                                                        \
    "\"conditions\":[{\"type\":\"DisruptionAllowed\",\"status\":\"" status                         \
    "\",\"reason\":\"SyncFailed\",\"message\":\"no scale\"}]"
#define NOTHING "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"

static json_t *parse(const char *chars)
{
    struct error err = { 0 };
    json_t *json = json_parse(chars, strlen(chars), "case", &err);

    if (!json)
        fail_msg("%s: %s", chars, err.text);
    return json;
}

static struct budget *budget_of(const char *rest, bool is_old)
{
    struct error err = { 0 };
    owned(chars) char *chars = text_format("{" META ",\"generation\":2}%s}", rest);
    owned(json) json_t *object = parse(chars);
    struct budget *budget = is_old ? budget_decode_v1beta1(object, &err)
                                   : budget_decode_v1(object, &err);

    if (!budget)
        fail_msg("%s: %s", chars, err.text);
    return budget;
}

static struct pod *pod_of(const char *namespace, const char *labels, const char *phase)
{
    struct error err = { 0 };
    owned(chars) char *chars = text_format(
        "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"p\",\"uid\":\"U\",\"labels\":%s},"
        "\"status\":{\"phase\":\"%s\"}}",
        namespace, labels, phase);
    owned(json) json_t *object = parse(chars);
    struct pod *pod = pod_decode(object, &err);

    if (!pod)
        fail_msg("%s: %s", chars, err.text);
    return pod;
}

static void selectors_are_the_servers(void **state)
{
    static const struct {
        const char *selector;
        bool v1;
        bool v1beta1;
    } cases[] = {
        { "", false, false }, /* no selector at all */
        { "{}", true, false },
        { "{\"matchLabels\":{}}", true, false },
        { "{\"matchLabels\":{\"app\":\"web\"}}", true, true },
        { "{\"matchLabels\":{\"app\":\"web\",\"tier\":\"1\"}}", false, false },
        { "{\"matchLabels\":{\"app\":\"Web\"}}", false, false },
        { "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"In\",\"values\":[\"a\",\"web\"]}]"
          "}",
          true, true },
        { "{\"matchExpressions\":[{\"key\":\"none\",\"operator\":\"In\",\"values\":[\"\"]}]}",
          false, false },
        { "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"NotIn\",\"values\":[\"web\"]}]}",
          false, false },
        { "{\"matchExpressions\":[{\"key\":\"none\",\"operator\":\"NotIn\",\"values\":[\"web\"]}]}",
          true, true }, /* who lacks the label is not in */
        { "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Exists\"}]}", true, true },
        { "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"DoesNotExist\"}]}", false,
          false },
        { "{\"matchExpressions\":[{\"key\":\"none\",\"operator\":\"DoesNotExist\"}]}", true, true },
        { "{\"matchLabels\":{\"app\":\"web\"},\"matchExpressions\":[{\"key\":\"empty\","
          "\"operator\":\"DoesNotExist\"}]}",
          false, false }, /* both must hold */
        { "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Like\"}]}", false, false },
    };
    struct pod *pod = pod_of("s", "{\"app\":\"web\",\"empty\":\"\"}", "Running");
    struct pod *stranger = pod_of("t", "{\"app\":\"web\"}", "Running");
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(chars) char *spec = text_format(",\"spec\":{%s%s}",
                                              cases[i].selector[0] != '\0' ? "\"selector\":" : "",
                                              cases[i].selector);
        struct budget *budget = budget_of(spec, false);
        struct budget *old = budget_of(spec, true);

        if (budget_selects(budget, pod) != cases[i].v1 ||
            budget_selects(old, pod) != cases[i].v1beta1)
            fail_msg("%s", cases[i].selector);
        assert_false(budget_selects(budget, stranger)); /* of another namespace */
        budget_free(budget);
        budget_free(old);
    }
    pod_free(pod);
    pod_free(stranger);
}

static void a_status_tells_slow_from_never(void **state)
{
    static const struct {
        const char *status;
        enum budget_verdict verdict;
        bool frees_unready;
    } cases[] = {
        { "", BUDGET_UNKNOWN, false },
        { "\"observedGeneration\":1,\"disruptionsAllowed\":3", BUDGET_UNKNOWN, false },
        { "\"observedGeneration\":2,\"disruptionsAllowed\":1,\"currentHealthy\":3,"
          "\"desiredHealthy\":2,\"expectedPods\":3",
          BUDGET_ALLOWS, true },
        { "\"observedGeneration\":2,\"currentHealthy\":2,\"desiredHealthy\":2,\"expectedPods\":3",
          BUDGET_LATER, true },
        { "\"observedGeneration\":2,\"currentHealthy\":1,\"desiredHealthy\":2,\"expectedPods\":3",
          BUDGET_LATER, false },
        { "\"observedGeneration\":2,\"currentHealthy\":2,\"desiredHealthy\":2,\"expectedPods\":3,"
          "\"disruptedPods\":{\"p\":\"t\"}",
          BUDGET_RESCHEDULED, true },
        { "\"observedGeneration\":2,\"currentHealthy\":3,\"desiredHealthy\":3,\"expectedPods\":3",
          BUDGET_NEVER, true },
        { "\"observedGeneration\":2,\"currentHealthy\":1,\"desiredHealthy\":3,\"expectedPods\":3",
          BUDGET_NEVER, false }, /* nor would it when all were healthy */
        { "\"observedGeneration\":2,\"desiredHealthy\":0,\"expectedPods\":0", BUDGET_LATER, false },
        /* Its controller leaves the other numbers as they were, those of a new one at 0. */
        { "\"observedGeneration\":2," SYNC_FAILED("False"), BUDGET_FAILED, false },
        { SYNC_FAILED("False"), BUDGET_FAILED, false },
        { "\"observedGeneration\":2," SYNC_FAILED("True"), BUDGET_LATER, false },
        { "\"observedGeneration\":2,\"conditions\":[{\"type\":\"DisruptionAllowed\",\"status\":"
          "\"False\",\"reason\":\"InsufficientPods\"}]",
          BUDGET_LATER, false },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(chars) char *rest = text_format(",\"status\":{%s}", cases[i].status);
        struct budget *budget = budget_of(rest, false);

        if (budget_judge(budget) != cases[i].verdict ||
            budget_frees_unready(budget) != cases[i].frees_unready)
            fail_msg("%s: %d", cases[i].status, (int)budget_judge(budget));
        budget_free(budget);
    }
    struct budget *always = budget_of(",\"spec\":{\"unhealthyPodEvictionPolicy\":\"AlwaysAllow\"}",
                                      false);
    assert_true(budget_frees_unready(always));
    budget_free(always);
}

static void who_has_not_started_or_is_going_is_not_counted(void **state)
{
    static const struct {
        const char *phase;
        bool counts;
    } cases[] = { { "Running", true },
                  { "Unknown", true },
                  { "Pending", false },
                  { "Succeeded", false },
                  { "Failed", false } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pod *pod = pod_of("s", "{}", cases[i].phase);

        assert_int_equal(budget_counts_for(pod), cases[i].counts);
        pod->deletion.ms = 1;
        assert_false(budget_counts_for(pod));
        pod_free(pod);
    }
}

static void start(struct bench *bench, const struct script_step *steps, size_t count)
{
    bench_open(bench, steps, count);
    cluster_watch(bench->cluster, bench_news, bench);
    kube_cluster_watch_budgets(bench->cluster);
    loop_run_until(bench->loop, loop_now(bench->loop) + 40 * SECOND_MS);
}

#define QUIET                                                                                      \
    { HTTP_GET, LIST("/api/v1/nodes"), 200, .answer = NOTHING },                                   \
        { HTTP_GET, WATCH("/api/v1/nodes", "5"), 200, .hangs = true },                             \
        { HTTP_GET, LIST("/api/v1/pods"), 200, .answer = NOTHING },                                \
    {                                                                                              \
        HTTP_GET, WATCH("/api/v1/pods", "5"), 200, .hangs = true                                   \
    }
#define GROUP(versions) "{\"kind\":\"APIGroup\",\"versions\":[" versions "]}"
#define VERSION(name) "{\"groupVersion\":\"policy/" name "\",\"version\":\"" name "\"}"
#define EVENT(object) "{\"type\":\"MODIFIED\",\"object\":{" META "}" object "}}\n"
#define EVICTION SERVER "/api/v1/namespaces/s/pods/p/eviction"
#define EVICTED "{\"kind\":\"Status\",\"status\":\"Success\"}"

static void budgets_are_followed(void **state)
{
    static const struct script_step steps[] = {
        QUIET,
        { HTTP_GET, SERVER "/apis/policy", 200,
          .answer = GROUP(VERSION("v1") "," VERSION("v1beta1")) },
        { HTTP_GET, LIST(V1), 200,
          .answer = "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{" META
                    "},\"spec\":{\"selector\":{}}}]}" },
        { HTTP_GET, WATCH(V1, "5"), 200, .hangs = true, .delay_ms = 1000,
          .answer = EVENT(",\"spec\":{\"selector\":{}},\"status\":{\"disruptionsAllowed\":4}") },
        { HTTP_POST, EVICTION "?dryRun=All", 201, .answer = EVICTED },
    };
    const struct budget *found[2] = { NULL };
    struct pod *pod = pod_of("s", "{}", "Running");
    const struct pod_ref asked = pod_ref_of(pod);
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    assert_true(cluster_snapshot(bench.cluster)->budgets_are_known);
    assert_int_equal(budgets_of_pod(cluster_snapshot(bench.cluster), pod, found, 2), 1);
    assert_int_equal(found[0]->allowed, 4);
    pod->phase = POD_PENDING;
    assert_int_equal(budgets_of_pod(cluster_snapshot(bench.cluster), pod, found, 2), 0);
    assert_int_equal(cluster_try_eviction(bench.cluster, &asked, bench_done, &bench, &bench.err),
                     0);
    loop_run_until(bench.loop, loop_now(bench.loop) + 1000);
    assert_int_equal(bench.err.kind, ERROR_NONE);
    assert_non_null(strstr(bench.script->body, "\"apiVersion\":\"policy/v1\""));
    assert_non_null(strstr(bench.script->body,
                           "\"deleteOptions\":{\"preconditions\":{\"uid\":\"U\"},"
                           "\"dryRun\":[\"All\"]}"));
    assert_true(script_is_played(bench.script));
    pod_free(pod);
    bench_close(&bench);
}

static void an_old_server_is_asked_in_its_own_words(void **state)
{
    static const struct script_step steps[] = {
        QUIET,
        { HTTP_GET, SERVER "/apis/policy", 200, .answer = GROUP(VERSION("v1beta1")) },
        { HTTP_GET, LIST(V1BETA1), 200, .answer = NOTHING },
        { HTTP_GET, WATCH(V1BETA1, "5"), 200, .hangs = true },
        { HTTP_POST, EVICTION, 201, .answer = EVICTED },
    };
    struct pod *pod = pod_of("s", "{}", "Running");
    const struct pod_ref asked = pod_ref_of(pod);
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    /* It may know no dry run, and evict: nothing is sent (the script has one POST). */
    assert_int_equal(cluster_try_eviction(bench.cluster, &asked, bench_done, &bench, &bench.err),
                     -1);
    assert_int_equal(bench.err.kind, ERROR_INVALID);
    assert_non_null(strstr(bench.err.text, "policy/v1"));
    cluster_evict_pod(bench.cluster, &asked, 0, bench_done, &bench);
    loop_run_until(bench.loop, loop_now(bench.loop) + 1000);
    assert_non_null(strstr(bench.script->body, "\"apiVersion\":\"policy/v1beta1\""));
    assert_true(script_is_played(bench.script));
    pod_free(pod);
    bench_close(&bench);
}

static void a_server_that_shows_no_budgets_is_asked_again(void **state)
{
    static const struct script_step steps[] = {
        QUIET,
        { HTTP_GET, SERVER "/apis/policy", 403, .answer = "{\"kind\":\"Status\",\"code\":403}" },
        { HTTP_GET, SERVER "/apis/policy", 200, .answer = GROUP(VERSION("v1")) },
        { HTTP_GET, LIST(V1), 403, .hangs = true },
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    assert_true(cluster_snapshot(bench.cluster)->is_known); /* and all else goes on */
    assert_false(cluster_snapshot(bench.cluster)->budgets_are_known);
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selectors_are_the_servers),
        cmocka_unit_test(a_status_tells_slow_from_never),
        cmocka_unit_test(who_has_not_started_or_is_going_is_not_counted),
        cmocka_unit_test(budgets_are_followed),
        cmocka_unit_test(an_old_server_is_asked_in_its_own_words),
        cmocka_unit_test(a_server_that_shows_no_budgets_is_asked_again),
    };
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
