/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which version of an API is asked for: the newest that both know, found out once and again later.
 */
#include "base/log.h"
#include "clusters/kube_verbs.h"
#include "clusters/kueue.h"
#include "tests/clusters/cluster_bench.h"

#define GROUP SERVER "/apis/kueue.x-k8s.io"
#define NEWER GROUP "/v1beta2/clusterqueues/a"
#define OLDER GROUP "/v1beta1/clusterqueues/a"
#define ONE(name) "{\"groupVersion\":\"kueue.x-k8s.io/" name "\",\"version\":\"" name "\"}"
#define VERSIONS(list) "{\"kind\":\"APIGroup\",\"versions\":[" list "]}"
#define QUEUE "{\"metadata\":{\"name\":\"a\"}}"

static void read_queue(struct bench *bench, int calls)
{
    owned(chars) char *path = kueue_path("a");

    cluster_read_at(bench->cluster, path, bench_done, bench);
    loop_run_until(bench->loop, loop_now(bench->loop) + 1000);
    assert_int_equal(bench->calls, calls);
}

static void the_newest_that_both_know_is_asked_for(void **state)
{
    static const struct {
        const char *versions;
        const char *target;
    } rows[] = {
        { VERSIONS(ONE("v1beta2") "," ONE("v1beta1")), NEWER },
        { VERSIONS(ONE("v1beta1") "," ONE("v1beta2")), NEWER },
        { VERSIONS(ONE("v1") "," ONE("v1beta2")), NEWER },
        { VERSIONS(ONE("v1beta1")), OLDER },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script_step steps[] = {
            { HTTP_GET, GROUP, 200, .answer = rows[i].versions },
            { HTTP_GET, rows[i].target, 200, .answer = QUEUE },
            { HTTP_GET, rows[i].target, 200, .answer = QUEUE },
            { HTTP_PATCH, NULL, 200, .answer = QUEUE },
        };
        owned(chars) char *patch_target = text_format("%s?fieldManager=sluice", rows[i].target);
        owned(chars) char *path = kueue_path("a");
        owned(json) json_t *patch = json_make("{s:{}}", "spec");
        struct script_step own[COUNT_OF(steps)];
        struct bench bench;

        memcpy(own, steps, sizeof own);
        own[3].url = patch_target;
        bench_open(&bench, own, COUNT_OF(own));
        read_queue(&bench, 1);
        read_queue(&bench, 2); /* and is not asked about again */
        cluster_patch_at(bench.cluster, path, patch, bench_done, &bench);
        loop_run_until(bench.loop, loop_now(bench.loop) + 1000);
        assert_int_equal(bench.calls, 3);
        assert_int_equal(bench.err.kind, ERROR_NONE);
        assert_true(script_is_played(bench.script));
        bench_close(&bench);
    }
}

/* An upgrade is noticed; a server that is only busy has what it had. */
static void a_busy_server_has_what_it_had(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_GET, GROUP, 200, .answer = VERSIONS(ONE("v1beta2")) },
        { HTTP_GET, NEWER, 200, .answer = QUEUE },
        { HTTP_GET, GROUP, 503, .answer = "{}" },
        { HTTP_GET, NEWER, 200, .answer = QUEUE },
        { HTTP_GET, GROUP, 200, .answer = VERSIONS(ONE("v1beta1")) },
        { HTTP_GET, OLDER, 200, .answer = QUEUE },
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    for (int calls = 1; calls <= 3; calls++) {
        read_queue(&bench, calls);
        assert_int_equal(bench.err.kind, ERROR_NONE);
        loop_run_until(bench.loop, loop_now(bench.loop) + 11 * MINUTE_MS);
    }
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

/* Several that ask at once wait for one answer. */
static void one_question_serves_all(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_GET, GROUP, 200, .answer = VERSIONS(ONE("v1beta2")) },
        { HTTP_GET, NEWER, 200, .answer = QUEUE },
        { HTTP_GET, NEWER, 200, .answer = QUEUE },
    };
    owned(chars) char *path = kueue_path("a");
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    cluster_read_at(bench.cluster, path, bench_done, &bench);
    read_queue(&bench, 2);
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

/* An upgrade took the version away: after a while another one is found. */
static void an_upgrade_is_noticed(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_GET, GROUP, 200, .answer = VERSIONS(ONE("v1beta1")) },
        { HTTP_GET, OLDER, 200, .answer = QUEUE },
        { HTTP_GET, GROUP, 200, .answer = VERSIONS(ONE("v1beta2")) },
        { HTTP_GET, NEWER, 200, .answer = QUEUE },
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    read_queue(&bench, 1);
    loop_run_until(bench.loop, loop_now(bench.loop) + 11 * MINUTE_MS);
    read_queue(&bench, 2);
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

static void a_server_without_it_says_so(void **state)
{
    static const struct {
        int status;
        const char *answer;
        enum error_kind kind;
    } rows[] = {
        { 404, "404 page not found", ERROR_INVALID },
        { 200, VERSIONS(ONE("v7")), ERROR_INVALID },
        { 403, "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":403}", ERROR_DENIED },
        { 503, "", ERROR_TRANSIENT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script_step steps[] = {
            { HTTP_GET, GROUP, rows[i].status, .answer = rows[i].answer },
            { HTTP_GET, GROUP, 200, .answer = VERSIONS(ONE("v1beta2")) },
            { HTTP_GET, NEWER, 200, .answer = QUEUE },
        };
        struct bench bench;

        bench_open(&bench, steps, COUNT_OF(steps));
        read_queue(&bench, 1);
        assert_int_equal(bench.err.kind, rows[i].kind);
        read_queue(&bench, 2); /* what failed is asked again */
        assert_int_equal(bench.err.kind, ERROR_NONE);
        assert_true(script_is_played(bench.script));
        bench_close(&bench);
    }
}

#define SCALERS "/apis/autoscaling"
#define SCALER_VERSION(name) "{\"groupVersion\":\"autoscaling/" name "\",\"version\":\"" name "\"}"
#define NOT_SERVED "404 page not found\n"

/* Of old servers too; and only a server that has no autoscalers at all has none. */
static void autoscalers_are_asked_for_in_their_newest_version(void **state)
{
    static const struct {
        int status;
        const char *group;
        const char *version; /* that is asked for; NULL: none is */
        int list_status;
        const char *list;
        bool lacks_group;
    } rows[] = {
        { 200, VERSIONS(SCALER_VERSION("v1") "," SCALER_VERSION("v2")), "v2", 200, "{}", false },
        { 200,
          VERSIONS(
              SCALER_VERSION("v1") "," SCALER_VERSION("v2beta1") "," SCALER_VERSION("v2beta2")),
          "v2beta2", 200, "{}", false },
        { 200, VERSIONS(SCALER_VERSION("v1") "," SCALER_VERSION("v2beta1")), "v1", 200, "{}",
          false },
        { 404, NOT_SERVED, NULL, 0, NULL, true },
        { 404, "<html>no such site</html>", NULL, 0, NULL, false },
        { 200, VERSIONS(SCALER_VERSION("v3")), NULL, 0, NULL, false },
        { 403, "{}", NULL, 0, NULL, false },
        { 503, "", NULL, 0, NULL, false },
        /* another server answers, an older one, while they are upgraded */
        { 200, VERSIONS(SCALER_VERSION("v2")), "v2", 404, NOT_SERVED, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *list = text_format(SERVER SCALERS "/%s/horizontalpodautoscalers",
                                              rows[i].version ?: "");
        const struct script_step steps[] = {
            { HTTP_GET, SERVER SCALERS, rows[i].status, .answer = rows[i].group },
            { HTTP_GET, list, rows[i].list_status, .answer = rows[i].list },
        };
        struct bench bench;

        bench_open(&bench, steps, rows[i].version ? 2 : 1);
        cluster_read_at(bench.cluster, SCALERS "/v2/horizontalpodautoscalers", bench_done, &bench);
        loop_run_until(bench.loop, loop_now(bench.loop) + 1000);
        assert_int_equal(bench.calls, 1);
        assert_true(script_is_played(bench.script));
        assert_int_equal(bench.err.kind == ERROR_NONE, rows[i].list_status == 200);
        if (cluster_lacks_group(&bench.err) != rows[i].lacks_group)
            fail_msg("row %zu: %s", i, bench.err.text);
        bench_close(&bench);
    }
}

/* A caller that waits when the cluster is closed is not called, and nothing is left. */
static void closing_ends_the_wait(void **state)
{
    static const struct script_step steps[] = { { HTTP_GET, GROUP, 200, .hangs = true } };
    owned(chars) char *path = kueue_path("a");
    owned(json) json_t *patch = json_make("{s:{}}", "spec");
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    cluster_read_at(bench.cluster, path, bench_done, &bench);
    cluster_patch_at(bench.cluster, path, patch, bench_done, &bench);
    loop_run_until(bench.loop, loop_now(bench.loop) + 1000);
    assert_int_equal(bench.calls, 0);
    bench_close(&bench);
    assert_int_equal(bench.calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_that_both_know_is_asked_for),
        cmocka_unit_test(a_busy_server_has_what_it_had),
        cmocka_unit_test(one_question_serves_all),
        cmocka_unit_test(an_upgrade_is_noticed),
        cmocka_unit_test(a_server_without_it_says_so),
        cmocka_unit_test(autoscalers_are_asked_for_in_their_newest_version),
        cmocka_unit_test(closing_ends_the_wait),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
