/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an API server may cost us: requests, memory and lines of the log have bounds, and a cluster
 * beside it is watched as if nothing were wrong.
 */
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/world/world.h"
#include "clusters/kube_cluster.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 4096, PAGE_OBJECTS = 200, ENOUGH_MB = 4 };

enum hostility {
    HONEST,
    CYCLE,      /* three pages in turn */
    EMPTY,      /* ever new pages with nothing in them */
    HUGE_LIST,  /* ever new pages of new pods */
    HUGE_WATCH, /* new pods forever, by events */
    UNREADABLE, /* pods that make no sense, forever, by events */
};

struct server {
    struct http http; /* first */
    struct loop *loop;
    enum hostility hostility;
    int asked; /* for pods of the hostile one */
    int lines; /* of the log */
    struct text *lines_said;
};

struct http_exchange {
    struct server *server;
    struct timer *timer;
    struct text *body; /* what is left to be sent */
    size_t at;
    bool is_watch, is_endless;
    bool is_in_chunk, is_cancelled;
    int made; /* pods so far */
    http_chunk_fn on_chunk;
    http_done_fn done;
    void *context;
};

static void exchange_free(struct http_exchange *exchange)
{
    timer_free(exchange->timer);
    text_free(exchange->body);
    mem_free(exchange);
}

static void add_pod(struct text *out, int number, const char *labels)
{
    text_add(out,
             "{\"metadata\":{\"namespace\":\"s\",\"name\":\"pod-%d\",\"uid\":\"u-%d\","
             "\"resourceVersion\":\"%d\",\"labels\":%s,"
             "\"annotations\":{\"saved\":\"2026-11-17T12:12:05Z\"}}}",
             number, number, number + 10, labels);
}

static void add_list(struct http_exchange *exchange, const char *url)
{
    struct server *server = exchange->server;
    bool is_bad = strstr(url, "//bad.") && strstr(url, "/pods");
    int page = is_bad ? server->asked : 0;

    text_add(exchange->body, "{\"metadata\":{\"resourceVersion\":\"7\"");
    if (is_bad && server->hostility != HUGE_WATCH && server->hostility != UNREADABLE &&
        server->hostility != HONEST)
        text_add(exchange->body, ",\"continue\":\"page-%d\"",
                 server->hostility == CYCLE ? page % 3 : page);
    text_add(exchange->body, "},\"items\":[");
    for (int i = 0; is_bad && server->hostility == HUGE_LIST && i < PAGE_OBJECTS; i++) {
        text_add(exchange->body, "%s", i > 0 ? "," : "");
        add_pod(exchange->body, page * PAGE_OBJECTS + i, "{\"a\":\"b\"}");
    }
    if (strstr(url, "/nodes"))
        text_add(exchange->body,
                 "{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"7\"},"
                 "\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"}]}}");
    text_add(exchange->body, "]}");
}

static void add_events(struct http_exchange *exchange)
{
    text_reset(exchange->body);
    exchange->at = 0;
    for (int i = 0; i < PAGE_OBJECTS; i++) {
        text_add(exchange->body, "{\"type\":\"ADDED\",\"object\":");
        add_pod(exchange->body, exchange->made++,
                exchange->server->hostility == UNREADABLE ? "7" : "{\"a\":\"b\"}");
        text_add(exchange->body, "}\n");
    }
}

static void finish(struct http_exchange *exchange)
{
    struct http_answer answer = { .status = 200, .body = "" };
    http_done_fn done = exchange->done;
    void *context = exchange->context;

    exchange_free(exchange);
    done(context, &answer, NULL);
}

static void on_timer(void *context)
{
    struct http_exchange *exchange = context;

    if (exchange->is_watch && !exchange->is_endless) {
        finish(exchange);
        return;
    }
    if (exchange->is_endless && exchange->at == exchange->body->length)
        add_events(exchange);
    while (exchange->at < exchange->body->length && !exchange->is_cancelled) {
        size_t left = exchange->body->length - exchange->at;
        size_t size = left < PIECE ? left : PIECE;

        exchange->is_in_chunk = true;
        exchange->on_chunk(exchange->context, exchange->body->chars + exchange->at, size);
        exchange->is_in_chunk = false;
        exchange->at += size;
    }
    if (exchange->is_cancelled)
        exchange_free(exchange);
    else if (exchange->is_endless)
        timer_set(exchange->timer, SECOND_MS);
    else
        finish(exchange);
}

static struct http_exchange *server_send(struct http *http, const struct http_request *request,
                                         http_done_fn done, void *context)
{
    struct server *server = (struct server *)http;
    struct http_exchange *exchange = mem_new(sizeof *exchange);
    bool is_bad = strstr(request->url, "//bad.") && strstr(request->url, "/pods");

    exchange->server = server;
    exchange->body = text_new(TEXT_UNBOUNDED);
    exchange->on_chunk = request->on_chunk;
    exchange->done = done;
    exchange->context = context;
    exchange->is_watch = strstr(request->url, "watch=1");
    exchange->is_endless = is_bad && exchange->is_watch && server->hostility >= HUGE_WATCH;
    if (is_bad)
        server->asked++;
    if (!exchange->is_watch)
        add_list(exchange, request->url);
    exchange->timer = timer_new(server->loop, on_timer, exchange);
    timer_set(exchange->timer, exchange->is_watch && !exchange->is_endless ? MINUTE_MS : 5);
    return exchange;
}

static void server_cancel(struct http_exchange *exchange)
{
    if (exchange->is_in_chunk)
        exchange->is_cancelled = true;
    else
        exchange_free(exchange);
}

static void server_free(struct http *http)
{
    (void)http;
}

static const struct http_verbs server_verbs = { server_send, server_cancel, server_free };

struct bench {
    struct server server;
    struct random random;
    struct world world;
    struct cluster *bad, *good;
    char folder[64];
};

static void note_line(void *context, const char *line)
{
    struct server *server = context;

    if (!strstr(line, "object_unreadable"))
        return;
    server->lines++;
    text_add(server->lines_said, "%s\n", line);
}

static void on_news(void *context)
{
    (void)context;
}

static struct cluster *open_cluster(struct bench *bench, const char *name)
{
    struct error err = { 0 };
    owned(chars) char *path = text_format("%s/%s", bench->folder, name);
    owned(chars) char *config = text_format(
        "current-context: it\n"
        "contexts: [{name: it, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'https://%s.example'}}]\n"
        "users: [{name: u, user: {token: t}}]\n",
        name);
    const struct kube_cluster_settings own = { .kubeconfig = path, .memory_mb = ENOUGH_MB };
    const struct cluster_settings settings = { .name = name,
                                               .kind = &cluster_kubernetes,
                                               .own = &own };
    struct cluster *cluster;

    if (file_write(path, config, strlen(config), 0600, &err) < 0)
        fail_msg("%s", err.text);
    cluster = cluster_open(&bench->world, &settings, &err);
    if (!cluster)
        fail_msg("%s", err.text);
    cluster_watch(cluster, on_news, NULL);
    return cluster;
}

static void bench_open(struct bench *bench, enum hostility hostility)
{
    struct wall_time start = { 1790000000000 };

    *bench = (struct bench){ .folder = "/tmp/sluice-test-XXXXXX" };
    assert_non_null(mkdtemp(bench->folder));
    bench->server.http.verbs = &server_verbs;
    bench->server.loop = loop_virtual_new(start);
    bench->server.hostility = hostility;
    bench->server.lines_said = text_new(16 * 1024);
    random_seed(&bench->random, 7);
    bench->world = (struct world){ bench->server.loop, &bench->server.http, &bench->random, NULL,
                                   NULL };
    log_setup(LOG_WARN, LOG_FORM_TEXT);
    log_set_sink(note_line, &bench->server);
    bench->bad = open_cluster(bench, "bad");
    bench->good = open_cluster(bench, "good");
}

static void bench_close(struct bench *bench)
{
    static const char *const names[] = { "bad", "good" };

    cluster_close(bench->bad);
    cluster_close(bench->good);
    loop_free(bench->server.loop);
    text_free(bench->server.lines_said);
    log_set_sink(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        owned(chars) char *path = text_format("%s/%s", bench->folder, names[i]);

        unlink(path);
    }
    rmdir(bench->folder);
}

static void run_for(struct bench *bench, int64_t ms)
{
    loop_run_until(bench->server.loop, loop_now(bench->server.loop) + ms);
}

/* Not a second's worth of objects that were gathered and thrown away. */
enum { HELD_MOST = 256 * 1024 };

static void a_list_without_end_costs_no_other_cluster(void **state)
{
    static const struct {
        enum hostility hostility;
        const char *text;
        int asked_most; /* in ten minutes */
    } cases[] = {
        { CYCLE, "cluster bad: list of /api/v1/pods: the list repeats a page", 40 * 8 },
        { EMPTY, "cluster bad: list of /api/v1/pods: 100 pages in a row brought nothing",
          40 * 100 },
        { HUGE_LIST, "take more than the 4 MB that clusters.bad.memory_mb allows", 12 * 60 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bench bench;

        bench_open(&bench, cases[i].hostility);
        run_for(&bench, 10 * MINUTE_MS);
        if (!strstr(cluster_trouble(bench.bad), cases[i].text))
            fail_msg("%d requests, %lld bytes: %s", bench.server.asked,
                     (long long)cluster_held(bench.bad), cluster_trouble(bench.bad));
        if (bench.server.asked > cases[i].asked_most)
            fail_msg("%s: %d requests", cases[i].text, bench.server.asked);
        assert_false(cluster_snapshot(bench.bad)->is_known);
        assert_in_range(cluster_held(bench.bad), 0, HELD_MOST);
        assert_true(cluster_snapshot(bench.good)->is_known);
        assert_string_equal(cluster_trouble(bench.good), "");
        assert_in_range(cluster_held(bench.good), 0, HELD_MOST);
        /* It is read again when it lists as it should. */
        bench.server.hostility = HONEST;
        run_for(&bench, 2 * MINUTE_MS);
        assert_string_equal(cluster_trouble(bench.bad), "");
        assert_true(cluster_snapshot(bench.bad)->is_known);
        bench_close(&bench);
    }
}

static void a_watch_without_end_has_a_bound(void **state)
{
    struct bench bench;
    int64_t most = 0;

    (void)state;
    bench_open(&bench, HUGE_WATCH);
    for (int i = 0; i < 3 * 60; i++) {
        run_for(&bench, SECOND_MS);
        if (cluster_held(bench.bad) > most)
            most = cluster_held(bench.bad);
    }
    assert_true(most > (ENOUGH_MB << 20) - HELD_MOST); /* it was filled */
    assert_true(most < (ENOUGH_MB << 20) + HELD_MOST);
    assert_true(cluster_snapshot(bench.good)->is_known);
    assert_string_equal(cluster_trouble(bench.good), "");
    bench_close(&bench);
}

static void what_cannot_be_read_is_one_line_a_minute(void **state)
{
    struct bench bench;
    const char *line;

    (void)state;
    bench_open(&bench, UNREADABLE);
    run_for(&bench, 4 * MINUTE_MS);
    assert_in_range(bench.server.lines, 2, 5);
    assert_non_null(strstr(bench.server.lines_said->chars, "count=1 "));
    assert_in_range(cluster_held(bench.bad), 0, (ENOUGH_MB << 20) + HELD_MOST);
    /* The second line stands for all of the minute before it. */
    line = strstr(strchr(bench.server.lines_said->chars, '\n'), "count=");
    if (!line || strtoll(line + strlen("count="), NULL, 10) < 1000)
        fail_msg("%s", bench.server.lines_said->chars);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_without_end_costs_no_other_cluster),
        cmocka_unit_test(a_watch_without_end_has_a_bound),
        cmocka_unit_test(what_cannot_be_read_is_one_line_a_minute),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
