/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Watches: the frames that follow a change, bookmarks, the end, and the ways to be told to list
 * again.
 */
#include "tests/simulator/bench.h"

struct watching {
    struct text *frames;
    struct bench_answer end;
    bool cancels; /* at the first piece */
    struct bench *bench;
    struct http_exchange *exchange;
};

static void take(void *context, const char *bytes, size_t size)
{
    struct watching *watching = context;

    text_add_bytes(watching->frames, bytes, size);
    if (watching->cancels)
        http_cancel(simulator_http(watching->bench->simulator), watching->exchange);
}

static void ended(void *context, const struct http_answer *answer, const struct error *err)
{
    bench_done(&((struct watching *)context)->end, answer, err);
}

static void watch(struct bench *bench, struct watching *watching, const char *path)
{
    owned(chars) char *url = text_format("http://127.0.0.1:1/clusters/lab%s", path);
    const struct http_header header = { "Authorization", "Bearer sim-lab" };
    struct http_request request = {
        .url = url, .headers = &header, .header_count = 1, .on_chunk = take
    };

    memset(&watching->end, 0, sizeof watching->end);
    watching->bench = bench;
    watching->frames = text_new(1 << 24);
    watching->exchange = http_send(simulator_http(bench->simulator), &request, ended, watching);
}

static void stop(struct watching *watching)
{
    text_free(watching->frames);
    bench_answer_clear(&watching->end);
}

/* How many frames there are of that type, with that text in them. */
static int count_frames(const struct watching *watching, const char *type, const char *with)
{
    owned(chars) char *copy = mem_copy_chars(watching->frames->chars);
    int count = 0;

    for (char *line = copy; *line;) {
        char *next = strchr(line, '\n');

        assert_non_null(next); /* whole lines only */
        *next = '\0';

        owned(json) json_t *frame = json_loads(line, 0, NULL);

        assert_non_null(frame);
        count += text_equal(json_text_or(frame, "type", ""), type) && strstr(line, with);
        line = next + 1;
    }
    return count;
}

static char *first_node(struct bench *bench, char **ret_version)
{
    owned(bench_answer) struct bench_answer nodes = bench_lab(bench, "/api/v1/nodes");

    *ret_version = mem_copy_chars(json_text_or(nodes.body, "metadata/resourceVersion", ""));
    return mem_copy_chars(
        json_text_or(json_array_get(json_at(nodes.body, "items"), 0), "metadata/name", ""));
}

static void cordon(struct bench *bench, const char *node)
{
    owned(chars) char *path = text_format("/clusters/lab/api/v1/nodes/%s", node);
    owned(bench_answer) struct bench_answer answer = bench_ask(
        bench, &(struct bench_request){ .method = HTTP_PATCH,
                                        .path = path,
                                        .bearer = "sim-lab",
                                        .type = MERGE,
                                        .body = "{\"spec\":{\"unschedulable\":true}}" });

    assert_int_equal(answer.status, 200);
}

static int open_bench(void **state)
{
    struct bench *bench = mem_new(sizeof *bench);

    bench_open(bench, bench_config, bench_world, NULL);
    *state = bench;
    return 0;
}

static int close_bench(void **state)
{
    bench_close(*state);
    mem_free(*state);
    return 0;
}

static void test_frames_follow_changes_and_bookmarks_come_each_minute(void **state)
{
    struct bench *bench = *state;
    struct watching watching = { 0 };
    owned(chars) char *version = NULL;
    owned(chars) char *node = first_node(bench, &version);
    owned(chars) char *path = text_format("/api/v1/nodes?watch=1&resourceVersion=%s"
                                          "&allowWatchBookmarks=true&timeoutSeconds=150",
                                          version);

    watch(bench, &watching, path);
    bench_wait(bench, SECOND_MS);
    assert_int_equal(watching.frames->length, 0);
    cordon(bench, node);
    bench_wait(bench, SECOND_MS);
    /* the patch, and the taint that the control plane adds by itself */
    assert_int_equal(count_frames(&watching, "MODIFIED", node), 2);
    bench_wait(bench, 130 * SECOND_MS);
    assert_int_equal(count_frames(&watching, "BOOKMARK", "resourceVersion"), 2);
    assert_false(watching.end.is_done);
    bench_wait(bench, 30 * SECOND_MS);
    assert_true(watching.end.is_done);
    assert_int_equal(watching.end.status, 200);
    assert_int_equal(count_frames(&watching, "BOOKMARK", "resourceVersion"), 3);
    stop(&watching);
}

static void test_an_old_version_is_replayed(void **state)
{
    struct bench *bench = *state;
    struct watching watching = { 0 };
    owned(chars) char *version = NULL;
    owned(chars) char *node = first_node(bench, &version);
    owned(chars) char *path = text_format(
        "/api/v1/nodes?watch=true&resourceVersion=%s&timeoutSeconds=5", version);

    cordon(bench, node);
    bench_wait(bench, SECOND_MS);
    watch(bench, &watching, path);
    bench_wait(bench, SECOND_MS);
    assert_int_equal(count_frames(&watching, "MODIFIED", node), 2);
    stop(&watching);
}

static void test_a_watch_of_one_node_sees_its_pods_come_and_go(void **state)
{
    struct bench *bench = *state;
    struct watching watching = { 0 };
    owned(chars) char *version = NULL;
    owned(chars) char *node = first_node(bench, &version);
    owned(chars) char *list = text_format(
        "/clusters/lab/api/v1/pods?fieldSelector=spec.nodeName%%3D%s", node);
    owned(chars) char *path = text_format("/api/v1/pods?watch=1&fieldSelector=spec.nodeName%%3D%s"
                                          "&resourceVersion=%s&timeoutSeconds=200",
                                          node, version);
    owned(bench_answer) struct bench_answer pods = bench_ask(
        bench, &(struct bench_request){ .method = HTTP_GET, .path = list, .bearer = "sim-lab" });
    size_t i;
    json_t *pod;

    watch(bench, &watching, path);
    json_array_foreach(json_at(pods.body, "items"), i, pod) {
        owned(chars) char *one = text_format("/clusters/lab/api/v1/namespaces/%s/pods/%s",
                                             json_text_or(pod, "metadata/namespace", ""),
                                             json_text_or(pod, "metadata/name", ""));
        owned(bench_answer) struct bench_answer gone = bench_ask(
            bench,
            &(struct bench_request){ .method = HTTP_DELETE, .path = one, .bearer = "sim-lab" });

        assert_int_equal(gone.status, 200);
    }
    bench_wait(bench, MINUTE_MS);
    assert_int_equal(count_frames(&watching, "DELETED", node), (int)i);
    assert_true(count_frames(&watching, "ADDED", node) > 1); /* jobs of the backlog took the room */
    assert_int_equal(count_frames(&watching, "ADDED", "Pending"),
                     count_frames(&watching, "ADDED", node));
    stop(&watching);
}

static void test_a_gap_is_told_as_410(void **state)
{
    struct bench *bench = *state;
    struct watching watching = { 0 };
    owned(chars) char *version = NULL;
    owned(chars) char *node = first_node(bench, &version);
    owned(chars) char *path = text_format("/api/v1/nodes?watch=1&resourceVersion=%s", version);

    assert_non_null(node);
    simulator_fault_next(bench->simulator, "watch_gap", "watch_nodes");
    watch(bench, &watching, path);
    bench_wait(bench, SECOND_MS);
    assert_int_equal(count_frames(&watching, "ERROR", "\"code\":410"), 1);
    assert_true(watching.end.is_done);
    assert_int_equal(watching.end.status, 200);
    stop(&watching);
}

static void test_a_cancelled_watch_is_silent(void **state)
{
    struct bench *bench = *state;
    struct watching watching = { .cancels = true };
    owned(chars) char *version = NULL;
    owned(chars) char *node = first_node(bench, &version);
    owned(chars) char *path = text_format("/api/v1/nodes?watch=1&resourceVersion=%s", version);

    watch(bench, &watching, path);
    bench_wait(bench, SECOND_MS);
    cordon(bench, node);
    bench_wait(bench, HOUR_MS);
    assert_int_equal(count_frames(&watching, "MODIFIED", node), 1);
    assert_false(watching.end.is_done);
    stop(&watching);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, open_bench, close_bench)
    const struct CMUnitTest tests[] = {
        CASE(test_frames_follow_changes_and_bookmarks_come_each_minute),
        CASE(test_an_old_version_is_replayed),
        CASE(test_a_watch_of_one_node_sees_its_pods_come_and_go),
        CASE(test_a_gap_is_told_as_410),
        CASE(test_a_cancelled_watch_is_silent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
