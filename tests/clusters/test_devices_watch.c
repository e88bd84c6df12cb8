/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which servers are asked for devices, in which version, and that one without them is no trouble.
 */
#include "clusters/gpus.h"
#include "tests/clusters/cluster_bench.h"

#define LIST(path) SERVER path "?limit=25000"
#define WATCH(path, version)                                                                       \
    SERVER path "?watch=1&resourceVersion=" version "&allowWatchBookmarks=true&timeoutSeconds=290"
#define NOTHING "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"
#define HOLDING(item) "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" item "]}"
#define NODE "{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"status\":{}}"
#define POD                                                                                        \
    "{\"metadata\":{\"namespace\":\"s\",\"name\":\"p\",\"uid\":\"u\",\"resourceVersion\":\"1\"},"  \
    "\"spec\":{\"nodeName\":\"n\",\"resourceClaims\":[{\"name\":\"gpu\","                          \
    "\"resourceClaimName\":\"c\"}]},\"status\":{\"phase\":\"Running\"}}"
#define SERVED                                                                                     \
    { HTTP_GET, LIST("/api/v1/nodes"), 200, .answer = HOLDING(NODE) },                             \
        { HTTP_GET, WATCH("/api/v1/nodes", "5"), 200, .hangs = true },                             \
        { HTTP_GET, LIST("/api/v1/pods"), 200, .answer = HOLDING(POD) },                           \
    {                                                                                              \
        HTTP_GET, WATCH("/api/v1/pods", "5"), 200, .hangs = true                                   \
    }
#define GROUP(versions) "{\"kind\":\"APIGroup\",\"versions\":[" versions "]}"
#define VERSION(name) "{\"groupVersion\":\"resource.k8s.io/" name "\",\"version\":\"" name "\"}"
#define DISCOVERY SERVER "/apis/resource.k8s.io"
#define SLICES(version) "/apis/resource.k8s.io/" version "/resourceslices"
#define CLAIMS(version) "/apis/resource.k8s.io/" version "/resourceclaims"
#define SLICE_OF(count, devices)                                                                   \
    "{\"metadata\":{\"name\":\"a\",\"uid\":\"s\",\"resourceVersion\":\"1\"},\"spec\":{"            \
    "\"nodeName\":\"n\",\"driver\":\"gpu.nvidia.com\",\"pool\":{\"name\":\"n\","                   \
    "\"generation\":1,\"resourceSliceCount\":" count "},\"devices\":[" devices "]}}"
#define TWO_GPUS "{\"name\":\"gpu-0\"},{\"name\":\"gpu-1\"}"
#define TWO_OLD_GPUS "{\"name\":\"gpu-0\",\"basic\":{}},{\"name\":\"gpu-1\",\"basic\":{}}"
#define CLAIM(name)                                                                                \
    "{\"metadata\":{\"namespace\":\"s\",\"name\":\"c\",\"uid\":\"c\",\"resourceVersion\":\"6\"},"  \
    "\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\","                    \
    "\"driver\":\"gpu.nvidia.com\",\"pool\":\"n\",\"device\":\"" name "\"}]}},"                    \
    "\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"p\",\"uid\":\"u\"}]}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"

static void start(struct bench *bench, const struct script_step *steps, size_t count)
{
    bench_open(bench, steps, count);
    cluster_watch(bench->cluster, bench_news, bench);
    kube_cluster_watch_devices(bench->cluster);
    loop_run_until(bench->loop, loop_now(bench->loop) + 40 * SECOND_MS);
}

static int64_t node_gpus(const struct bench *bench)
{
    const struct snapshot *snapshot = cluster_snapshot(bench->cluster);

    return gpus_of_node(snapshot, map_get(snapshot->nodes, "n"));
}

static struct gpu_demand pod_gpus(const struct bench *bench)
{
    const struct snapshot *snapshot = cluster_snapshot(bench->cluster);

    return gpus_of_pod(snapshot, map_get(snapshot->pods, "u"));
}

static void slices_and_claims_are_followed(void **state)
{
    static const struct script_step steps[] = {
        SERVED,
        { HTTP_GET, DISCOVERY, 200,
          .answer = GROUP(VERSION("v1") "," VERSION("v1beta2") "," VERSION("v1beta1")) },
        { HTTP_GET, LIST(SLICES("v1")), 200, .answer = HOLDING(SLICE_OF("1", TWO_GPUS)) },
        { HTTP_GET, WATCH(SLICES("v1"), "5"), 200, .hangs = true },
        { HTTP_GET, LIST(CLAIMS("v1")), 200, .answer = NOTHING },
        { HTTP_GET, WATCH(CLAIMS("v1"), "5"), 200, .hangs = true, .delay_ms = 60 * SECOND_MS,
          .answer = EVENT("ADDED", CLAIM("gpu-1")) },
    };
    struct bench bench;

    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    assert_int_equal(node_gpus(&bench), 2);
    assert_true(cluster_snapshot(bench.cluster)->devices_are_known);
    assert_true(pod_gpus(&bench).is_whole); /* its claim is not seen yet */
    loop_run_until(bench.loop, loop_now(bench.loop) + 60 * SECOND_MS);
    assert_false(pod_gpus(&bench).is_whole);
    assert_int_equal(pod_gpus(&bench).parts, GPU_PARTS);
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

static void an_older_server_is_asked_in_its_version(void **state)
{
    static const struct script_step steps[] = {
        SERVED,
        { HTTP_GET, DISCOVERY, 200, .answer = GROUP(VERSION("v1beta1")) },
        { HTTP_GET, LIST(SLICES("v1beta1")), 200, .answer = HOLDING(SLICE_OF("1", TWO_OLD_GPUS)) },
        { HTTP_GET, WATCH(SLICES("v1beta1"), "5"), 200, .hangs = true },
        { HTTP_GET, LIST(CLAIMS("v1beta1")), 200, .answer = HOLDING(CLAIM("gpu-0")) },
        { HTTP_GET, WATCH(CLAIMS("v1beta1"), "5"), 200, .hangs = true },
    };
    struct bench bench;

    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    assert_int_equal(node_gpus(&bench), 2);
    assert_int_equal(pod_gpus(&bench).parts, GPU_PARTS);
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

static void a_server_without_devices_is_no_trouble(void **state)
{
    static const struct script_step steps[] = {
        SERVED,
        { HTTP_GET, DISCOVERY, 404, .answer = "404 page not found\n" },
    };
    struct bench bench;

    (void)state;
    start(&bench, steps, COUNT_OF(steps)); /* it is not asked again within minutes */
    assert_string_equal(cluster_trouble(bench.cluster), "");
    assert_true(cluster_snapshot(bench.cluster)->is_known);
    assert_true(cluster_snapshot(bench.cluster)->devices_are_known); /* there are none */
    assert_true(pod_gpus(&bench).is_whole);
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

#define FORBIDDEN "{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"no\"}"

/* Tried again within half a minute, for the right may come. */
static void what_may_not_be_seen_is_named_and_the_cluster_is_heard(void **state)
{
    static const struct script_step steps[] = {
        SERVED,
        { HTTP_GET, DISCOVERY, 200, .answer = GROUP(VERSION("v1")) },
        { HTTP_GET, LIST(SLICES("v1")), 403, .answer = FORBIDDEN },
        { HTTP_GET, LIST(SLICES("v1")), 200, .delay_ms = 15 * SECOND_MS,
          .answer = HOLDING(SLICE_OF("1", TWO_GPUS)) },
        { HTTP_GET, WATCH(SLICES("v1"), "5"), 200, .hangs = true },
        { HTTP_GET, LIST(CLAIMS("v1")), 403, .delay_ms = 41 * SECOND_MS, .answer = FORBIDDEN },
        { HTTP_GET, LIST(CLAIMS("v1")), 200, .delay_ms = 15 * SECOND_MS, .answer = NOTHING },
        { HTTP_GET, WATCH(CLAIMS("v1"), "5"), 200, .hangs = true },
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    cluster_watch(bench.cluster, bench_news, &bench);
    kube_cluster_watch_devices(bench.cluster);
    loop_run_until(bench.loop, loop_now(bench.loop) + 10 * SECOND_MS);
    assert_non_null(strstr(cluster_trouble(bench.cluster), "resourceslices"));
    assert_true(cluster_is_heard(bench.cluster));
    assert_false(cluster_snapshot(bench.cluster)->devices_are_known);
    loop_run_until(bench.loop, loop_now(bench.loop) + 30 * SECOND_MS);
    assert_string_equal(cluster_trouble(bench.cluster), "");
    assert_int_equal(node_gpus(&bench), 2);
    assert_true(pod_gpus(&bench).is_whole);
    assert_false(cluster_snapshot(bench.cluster)->devices_are_known); /* its claims are not */
    loop_run_until(bench.loop, loop_now(bench.loop) + 3 * SECOND_MS);
    assert_non_null(strstr(cluster_trouble(bench.cluster), "resourceclaims"));
    assert_false(cluster_snapshot(bench.cluster)->devices_are_known);
    loop_run_until(bench.loop, loop_now(bench.loop) + 60 * SECOND_MS);
    assert_string_equal(cluster_trouble(bench.cluster), "");
    assert_true(cluster_snapshot(bench.cluster)->devices_are_known);
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

/* The right was taken away while the slices were followed: what is known of them grows old. */
static void what_may_not_be_seen_any_more_is_unknown(void **state)
{
    static const struct script_step steps[] = {
        SERVED,
        { HTTP_GET, DISCOVERY, 200, .answer = GROUP(VERSION("v1")) },
        { HTTP_GET, LIST(SLICES("v1")), 200, .answer = HOLDING(SLICE_OF("1", TWO_GPUS)) },
        { HTTP_GET, WATCH(SLICES("v1"), "5"), 403, .delay_ms = 20 * SECOND_MS,
          .answer = FORBIDDEN },
        { HTTP_GET, WATCH(SLICES("v1"), "5"), 200, .delay_ms = 60 * SECOND_MS, .hangs = true },
        { HTTP_GET, LIST(CLAIMS("v1")), 200, .answer = NOTHING },
        { HTTP_GET, WATCH(CLAIMS("v1"), "5"), 200, .hangs = true },
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    cluster_watch(bench.cluster, bench_news, &bench);
    kube_cluster_watch_devices(bench.cluster);
    loop_run_until(bench.loop, loop_now(bench.loop) + 10 * SECOND_MS);
    assert_true(cluster_snapshot(bench.cluster)->devices_are_known);
    loop_run_until(bench.loop, loop_now(bench.loop) + 15 * SECOND_MS);
    assert_non_null(strstr(cluster_trouble(bench.cluster), "resourceslices"));
    assert_false(cluster_snapshot(bench.cluster)->devices_are_known);
    assert_int_equal(node_gpus(&bench), 2);
    bench_close(&bench);
}

/* Which version it has is not known: that is not the same as none. */
static void a_server_that_does_not_say_is_asked_again(void **state)
{
    static const struct script_step steps[] = {
        SERVED,
        { HTTP_GET, DISCOVERY, 403, .answer = FORBIDDEN },
        { HTTP_GET, DISCOVERY, 404, .answer = "404 page not found\n" },
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    cluster_watch(bench.cluster, bench_news, &bench);
    kube_cluster_watch_devices(bench.cluster);
    loop_run_until(bench.loop, loop_now(bench.loop) + 10 * SECOND_MS);
    assert_non_null(strstr(cluster_trouble(bench.cluster), "resource.k8s.io"));
    assert_false(cluster_snapshot(bench.cluster)->devices_are_known);
    loop_run_until(bench.loop, loop_now(bench.loop) + 60 * SECOND_MS);
    assert_string_equal(cluster_trouble(bench.cluster), "");
    assert_true(cluster_snapshot(bench.cluster)->devices_are_known);
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_and_claims_are_followed),
        cmocka_unit_test(an_older_server_is_asked_in_its_version),
        cmocka_unit_test(a_server_without_devices_is_no_trouble),
        cmocka_unit_test(what_may_not_be_seen_is_named_and_the_cluster_is_heard),
        cmocka_unit_test(what_may_not_be_seen_any_more_is_unknown),
        cmocka_unit_test(a_server_that_does_not_say_is_asked_again),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
