/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * List and watch against a scripted API server: pages, events, bookmarks, and each way to break.
 */
#include "base/log.h"
#include "tests/clusters/cluster_bench.h"

#define LIST(resource) SERVER "/api/v1/" resource "?limit=25000"
#define WATCH(resource, version)                                                                   \
    SERVER "/api/v1/" resource "?watch=1&resourceVersion=" version                                 \
           "&allowWatchBookmarks=true&timeoutSeconds=290"
#define META(name, version)                                                                        \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"s\",\"uid\":\"u-" name                   \
    "\",\"resourceVersion\":\"" version "\"}}"
#define BAD(name, version)                                                                         \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" version   \
    "\",\"labels\":7}}"
#define PAGE(version, next, items)                                                                 \
    "{\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" next                      \
    "\"},\"items\":[" items "]}"
#define PAGE_BEGINS(version, next)                                                                 \
    "{\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" next "\"},\"items\":["
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK(version) EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define EXPIRED                                                                                    \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":410,\"reason\":\"Expired\","             \
    "\"message\":\"too old\"}"

/* The pods of every script here: none, and a watch that stays open. */
#define NO_PODS                                                                                    \
    { HTTP_GET, LIST("pods"), 200, .answer = PAGE("5", "", "") },                                  \
    {                                                                                              \
        HTTP_GET, WATCH("pods", "5"), 200, .hangs = true                                           \
    }
#define ASK(url_, ...)                                                                             \
    {                                                                                              \
        .method = HTTP_GET, .url = (url_), .status = __VA_ARGS__                                   \
    }
#define QUIET(version) ASK(WATCH("nodes", version), 200, .hangs = true)

static void start(struct bench *bench, const struct script_step *steps, size_t count)
{
    bench_open(bench, steps, count);
    cluster_watch(bench->cluster, bench_news, bench);
}

static void run_for(struct bench *bench, int64_t ms)
{
    loop_run_until(bench->loop, loop_now(bench->loop) + ms);
}

/* The names of the nodes that are known, in order, with their versions: "a@7 b@8". */
static const char *nodes_of(const struct bench *bench)
{
    static char out[256];
    void *value = NULL;
    owned(text) struct text *names = text_new(sizeof out - 1);
    for (size_t at = 0; map_next(cluster_snapshot(bench->cluster)->nodes, &at, NULL, &value);) {
        const struct node *node = value;
        text_add(names, "%s%s@%s", names->length > 0 ? " " : "", node->name,
                 node->resource_version);
    }
    text_copy(out, sizeof out, names->chars);
    return out;
}

static bool was_asked(const struct bench *bench, const char *line)
{
    return strstr(bench->script->transcript->chars, line) != NULL;
}

static void pages_become_one_map_and_events_change_it(void **state)
{
    static const struct script_step steps[] = {
        NO_PODS,
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "t/1", META("a", "1"))),
        ASK(LIST("nodes") "&continue=t%2F1", 200, .answer = PAGE("7", "", META("b", "2"))),
        ASK(WATCH("nodes", "7"), 200, .delay_ms = 1000, .hangs = true,
            .answer = EVENT("ADDED", META("c", "8")) "|" EVENT("MODIFIED", META("a", "9"))
                EVENT("DELETED", META("b", "10"))),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    assert_false(cluster_snapshot(bench.cluster)->is_known);
    run_for(&bench, 500);
    assert_true(cluster_snapshot(bench.cluster)->is_known);
    assert_string_equal(nodes_of(&bench), "a@1 b@2");
    run_for(&bench, 1000);
    assert_string_equal(nodes_of(&bench), "a@1 b@2 c@8");
    int news = bench.news;
    run_for(&bench, 1000);
    assert_string_equal(nodes_of(&bench), "a@9 c@8");
    assert_int_equal(bench.news, news + 1); /* two events of one turn are one piece of news */
    assert_string_equal(cluster_trouble(bench.cluster), "");
    bench_close(&bench);
}

/* What its first page says may be over when the last one comes. */
static void a_list_is_as_old_as_its_first_page(void **state)
{
    static const struct script_step steps[] = {
        NO_PODS,
        ASK(LIST("nodes"), 200, .delay_ms = 1000, .answer = PAGE("7", "t", META("a", "1"))),
        ASK(LIST("nodes") "&continue=t", 200, .delay_ms = 5000,
            .answer = PAGE("7", "", META("b", "2"))),
        QUIET("7"),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    int64_t began = loop_now(bench.loop);
    run_for(&bench, 20000);
    assert_string_equal(nodes_of(&bench), "a@1 b@2");
    assert_int_equal(cluster_snapshot(bench.cluster)->nodes_seen_ms, began);
    bench_close(&bench);
}

static void a_page_is_asked_for_while_the_one_before_is_read(void **state)
{
    static const struct script_step steps[] = {
        NO_PODS,
        ASK(LIST("nodes"), 200, .delay_ms = 100,
            .answer = PAGE_BEGINS("7", "t") "|" META("a", "1") "|]|}"),
        ASK(LIST("nodes") "&continue=t", 200, .delay_ms = 50,
            .answer = "{\"items\":[" META(
                "b", "2") "],\"metadata\":{\"resourceVersion\":\"7\","
                          "\"continue\":\"u\"}}"), /* says it last, and is there first */
        ASK(LIST("nodes") "&continue=u", 200, .answer = PAGE("8", "", META("c", "3"))),
        QUIET("8"),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 450);
    assert_string_equal(nodes_of(&bench), "");
    run_for(&bench, 100);
    assert_string_equal(nodes_of(&bench), "b@2 a@1 c@3");
    assert_true(was_asked(&bench, "000100 GET " LIST("nodes") "&continue=t\n"));
    assert_true(was_asked(&bench, "000200 GET " LIST("nodes") "&continue=u\n"));
    assert_true(was_asked(&bench, "000500 GET " WATCH("nodes", "8")));
    bench_close(&bench);
}

static void a_page_that_fails_ends_those_beside_it(void **state)
{
    static const struct script_step steps[] = {
        NO_PODS,
        ASK(LIST("nodes"), 200, .hangs = true, .delay_ms = 1,
            .answer = PAGE_BEGINS("7", "t") "|" META("a", "1")),
        ASK(LIST("nodes") "&continue=t", 410, .answer = EXPIRED),
        ASK(LIST("nodes"), 200, .hangs = true, .delay_ms = 1,
            .answer = PAGE_BEGINS("8", "t") "|" META("a", "1")),
        ASK(LIST("nodes") "&continue=t", 0, .fails = ERROR_TRANSIENT),
        ASK(LIST("nodes"), 200, .delay_ms = 1, /* one head, two answers */
            .answer = PAGE_BEGINS("9", "t") "|" META(
                "a", "1") "],\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"u\"}}"),
        ASK(LIST("nodes") "&continue=t", 200, .hangs = true),
        ASK(LIST("nodes"), 200, .answer = PAGE("10", "", META("b", "2"))),
        QUIET("10"),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, MINUTE_MS);
    assert_true(script_is_played(bench.script));
    assert_string_equal(nodes_of(&bench), "b@2");
    assert_int_equal(bench.script->in_flight, 2); /* the watches */
    bench_close(&bench);
}

static void frames_may_come_in_any_pieces(void **state)
{
    static const struct script_step steps[] = {
        NO_PODS,
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "", "")),
        ASK(WATCH("nodes", "7"), 200, .delay_ms = 10, .hangs = true,
            .answer = "{\"type\":\"ADDED\",\"obj|ect\":" META(
                "a", "8") "}|\n{\"type\":|\"ADDED\","
                          "\"object\":" META("b", "9") "}\r\n\n|" BOOKMARK("12")),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 1000);
    assert_string_equal(nodes_of(&bench), "a@8 b@9");
    bench_close(&bench);
}

static void a_bookmark_renews_the_age_and_the_place(void **state)
{
    static const struct script_step steps[] = {
        ASK(LIST("pods"), 200, .hangs = true),
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "", META("a", "1"))),
        ASK(WATCH("nodes", "7"), 200, .delay_ms = 60000, .answer = BOOKMARK("99")),
        QUIET("99"),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    int64_t began = loop_now(bench.loop);
    run_for(&bench, 59000);
    assert_int_equal(cluster_snapshot(bench.cluster)->nodes_seen_ms, began);
    run_for(&bench, 2000);
    assert_int_equal(cluster_snapshot(bench.cluster)->nodes_seen_ms, began + 60000);
    run_for(&bench, 60000); /* the server ends the watch; the next one begins at the bookmark */
    assert_true(script_is_played(bench.script));
    assert_string_equal(cluster_trouble(bench.cluster), "");
    bench_close(&bench);
}

static void an_expired_watch_lists_again_and_drops_what_vanished(void **state)
{
    static const struct script_step steps[] = {
        NO_PODS,
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "", META("a", "1") "," META("b", "2"))),
        ASK(WATCH("nodes", "7"), 200, .delay_ms = 100, .hangs = true,
            .answer = EVENT("ERROR", EXPIRED)),
        ASK(LIST("nodes"), 200, .delay_ms = 1000, .answer = PAGE("20", "", META("b", "19"))),
        ASK(WATCH("nodes", "20"), 410, .answer = EXPIRED),
        ASK(LIST("nodes"), 200, .answer = PAGE("30", "", META("b", "19") "," META("c", "29"))),
        QUIET("30"),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 150);
    assert_string_equal(nodes_of(&bench), "a@1 b@2"); /* kept until the new list is whole */
    assert_non_null(strstr(cluster_trouble(bench.cluster), "410"));
    run_for(&bench, 3100);
    assert_string_equal(nodes_of(&bench), "b@19");
    run_for(&bench, 10000);
    assert_string_equal(nodes_of(&bench), "b@19 c@29");
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

/* An API server that was restored from a backup does not know our version, and never will. */
static void a_server_that_is_behind_is_listed_again(void **state)
{
    static const struct script_step steps[] = {
        NO_PODS,
        ASK(LIST("nodes"), 200, .answer = PAGE("1589", "", META("a", "1"))),
        ASK(WATCH("nodes", "1589"), 504,
            .answer =
                "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Timeout\",\"code\":504,"
                "\"message\":\"Too large resource version: 1589, current: 1464\"}"),
        ASK(LIST("nodes"), 200, .answer = PAGE("1464", "", META("a", "1") "," META("b", "2"))),
        QUIET("1464"),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 10000);
    assert_string_equal(nodes_of(&bench), "a@1 b@2");
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

/* Most of a cluster gone between two lists is believed when the third one in a row says so. */
static void a_sudden_loss_is_believed_when_it_is_repeated(void **state)
{
    static const struct script_step steps[] = {
        NO_PODS,
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "", META("a", "1") "," META("b", "2"))),
        ASK(WATCH("nodes", "7"), 410, .answer = EXPIRED),
        ASK(LIST("nodes"), 200, .answer = PAGE("20", "", "")),
        ASK(LIST("nodes"), 200, .answer = PAGE("21", "", "")),
        ASK(LIST("nodes"), 200, .answer = PAGE("22", "", "")),
        QUIET("22"),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 2500);
    assert_string_equal(nodes_of(&bench), "a@1 b@2");
    assert_non_null(strstr(cluster_trouble(bench.cluster), "holds 0 where there were 2"));
    run_for(&bench, 20000);
    assert_string_equal(nodes_of(&bench), "");
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

/* An object that cannot be read is there; the others that are missing are missed all the same. */
static void one_unreadable_object_takes_no_doubt_away(void **state)
{
    static const struct script_step steps[] = {
        NO_PODS,
        ASK(LIST("nodes"), 200,
            .answer = PAGE("7", "", META("a", "1") "," META("b", "2") "," META("c", "3"))),
        ASK(WATCH("nodes", "7"), 410, .answer = EXPIRED),
        ASK(LIST("nodes"), 200, .answer = PAGE("20", "", BAD("a", "19"))),
        ASK(LIST("nodes"), 200, .answer = PAGE("21", "", BAD("a", "19"))),
        ASK(LIST("nodes"), 200, .answer = PAGE("22", "", BAD("a", "19"))),
        QUIET("22"),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 2500);
    assert_string_equal(nodes_of(&bench), "a@1 b@2 c@3");
    assert_non_null(strstr(cluster_trouble(bench.cluster), "holds 0 where there were 3"));
    run_for(&bench, 20000);
    assert_string_equal(nodes_of(&bench), "a@1");
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

static void a_list_that_fails_half_way_keeps_everything(void **state)
{
    static const struct script_step steps[] = {
        ASK(LIST("pods"), 200, .hangs = true),
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "", META("a", "1") "," META("b", "2"))),
        ASK(WATCH("nodes", "7"), 410, .answer = EXPIRED),
        ASK(LIST("nodes"), 200, .answer = PAGE("20", "t", BAD("b", "19"))),
        ASK(LIST("nodes") "&continue=t", 410, .answer = EXPIRED),
        ASK(LIST("nodes"), 200, .answer = "{\"metadata\":{\"resourceVersion\":\"21\"}}"),
        ASK(LIST("nodes"), 200, .answer = "<html>"),
        ASK(LIST("nodes"), 500, .answer = "boom"),
        ASK(LIST("nodes"), 0, .fails = ERROR_UNKNOWN_OUTCOME),
        ASK(LIST("nodes"), 200, .answer = PAGE("22", "t", "")),
        ASK(LIST("nodes") "&continue=t", 200, .answer = PAGE("22", "t", "")),
        ASK(LIST("nodes"), 200, .hangs = true),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 3 * MINUTE_MS);
    assert_true(script_is_played(bench.script));
    assert_string_equal(nodes_of(&bench), "a@1 b@2");
    assert_non_null(strstr(cluster_trouble(bench.cluster), "nodes, 7 in a row: "));
    assert_non_null(strstr(cluster_trouble(bench.cluster), "repeats a page"));
    assert_int_equal(map_count(cluster_snapshot(bench.cluster)->unreadable), 0);
    bench_close(&bench);
}

static void a_cut_stream_goes_on_from_the_last_whole_event(void **state)
{
    static const struct script_step steps[] = {
        NO_PODS,
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "", "")),
        ASK(WATCH("nodes", "7"), 200, .delay_ms = 10, .fails = ERROR_UNKNOWN_OUTCOME,
            .answer = EVENT("ADDED", META("a", "8")) "{\"type\":\"ADDED\",\"obj"),
        ASK(WATCH("nodes", "8"), 200, .delay_ms = 10, .hangs = true,
            .answer = EVENT("ADDED", META("b", "9"))),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 500);
    assert_non_null(strstr(cluster_trouble(bench.cluster), "connection lost"));
    run_for(&bench, 3000);
    assert_string_equal(nodes_of(&bench), "a@8 b@9");
    assert_string_equal(cluster_trouble(bench.cluster), "");
    bench_close(&bench);
}

static void a_frame_that_makes_no_sense_lists_again(void **state)
{
    static const char *const frames[] = {
        "{\"type\":\"ADDED\"}\n",
        "not json\n",
        EVENT("DREAM", META("a", "8")),
        EVENT("ADDED", "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}"),
        EVENT("ERROR", "{}"),
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(frames); i++) {
        const struct script_step steps[] = {
            NO_PODS,
            ASK(LIST("nodes"), 200, .answer = PAGE("7", "", META("a", "1"))),
            ASK(WATCH("nodes", "7"), 200, .hangs = true, .answer = frames[i]),
            ASK(LIST("nodes"), 200, .answer = PAGE("9", "", META("a", "8"))),
            QUIET("9"),
        };
        struct bench bench;
        start(&bench, steps, COUNT_OF(steps));
        run_for(&bench, 5000);
        if (!script_is_played(bench.script))
            fail_msg("%s: %s", frames[i], bench.script->transcript->chars);
        assert_string_equal(nodes_of(&bench), "a@8");
        bench_close(&bench);
    }
}

static void an_event_without_end_is_not_collected_for_ever(void **state)
{
    owned(chars) char *event = mem_new(5 * 1024 * 1024 + 1);
    memset(event, 'x', 5 * 1024 * 1024);
    memcpy(event, "{\"", 2);
    const struct script_step steps[] = {
        NO_PODS,
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "", "")),
        ASK(WATCH("nodes", "7"), 200, .hangs = true, .answer = event),
        ASK(LIST("nodes"), 200, .hangs = true),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 500);
    assert_non_null(strstr(cluster_trouble(bench.cluster), "longer than"));
    bench_close(&bench);
}

static void silence_ends_a_watch(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_GET, LIST("pods"), 200, .hangs = true },
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "", META("a", "1"))),
        ASK(WATCH("nodes", "7"), 200, .delay_ms = 60000, .hangs = true, .answer = BOOKMARK("8")),
        QUIET("8"),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 179000);
    assert_false(script_is_played(bench.script));
    run_for(&bench, 5000);
    assert_true(script_is_played(bench.script));
    assert_string_equal(nodes_of(&bench), "a@1");
    assert_non_null(strstr(cluster_trouble(bench.cluster), "no bookmark for 120 s"));
    assert_false(cluster_snapshot(bench.cluster)->is_known); /* the pods were never listed */
    bench_close(&bench);
}

static void a_broken_watch_is_not_waited_for(void **state)
{
    static const struct script_step steps[] = {
        ASK(LIST("pods"), 200, .hangs = true),
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "", "")),
        ASK(WATCH("nodes", "7"), 200, .hangs = true, .answer = "not json\n"),
        ASK(LIST("nodes"), 429, .retry_after = "9"),
        ASK(LIST("nodes"), 200, .delay_ms = 75000, .answer = PAGE("8", "", "")),
        QUIET("8"),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 145000); /* the silence that began with the broken watch ends nothing */
    assert_non_null(strstr(cluster_trouble(bench.cluster), "the server is busy"));
    run_for(&bench, 30000);
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

static void failures_back_off_to_half_a_minute_and_obey_the_server(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_GET, LIST("pods"), 200, .hangs = true },
        ASK(LIST("nodes"), 500),
        ASK(LIST("nodes"), 500),
        ASK(LIST("nodes"), 500),
        ASK(LIST("nodes"), 500),
        ASK(LIST("nodes"), 500),
        ASK(LIST("nodes"), 500),
        ASK(LIST("nodes"), 500),
        ASK(LIST("nodes"), 500),
        ASK(LIST("nodes"), 0, .hangs = true),
    };
    static const int64_t most[] = { 2000, 4000, 8000, 16000, 30000, 30000, 30000, 30000 };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 5 * MINUTE_MS);
    int64_t before = 0;
    size_t count = 0;
    int64_t origin = loop_now(bench.loop) - 5 * MINUTE_MS;
    for (const char *line = bench.script->transcript->chars; *line; line = strchr(line, '\n') + 1) {
        int64_t at = strtoll(line, NULL, 10) - origin;
        if (!strstr(line, "nodes") || strstr(line, "nodes") > strchr(line, '\n'))
            continue;
        if (count > 0 && (at - before < most[count - 1] / 2 || at - before > most[count - 1]))
            fail_msg("wait %zu was %d ms", count, (int)(at - before));
        before = at;
        count++;
    }
    assert_int_equal(count, COUNT_OF(most) + 1);
    bench_close(&bench);

    static const struct script_step slow[] = {
        { HTTP_GET, LIST("pods"), 200, .hangs = true },
        ASK(LIST("nodes"), 429, .answer = "busy", .retry_after = "9"),
        ASK(LIST("nodes"), 0, .hangs = true),
    };
    start(&bench, slow, COUNT_OF(slow));
    run_for(&bench, 8900);
    assert_false(script_is_played(bench.script));
    run_for(&bench, 200);
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

/* What a server asks for at most costs it five minutes of our attention, and is shown. */
static void no_server_silences_itself_for_a_day(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_GET, LIST("pods"), 200, .hangs = true },
        ASK(LIST("nodes"), 429, .answer = "busy", .retry_after = "80000"),
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "", META("a", "1"))),
        QUIET("7"),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 5 * MINUTE_MS - SECOND_MS);
    assert_false(script_is_played(bench.script));
    assert_non_null(strstr(cluster_trouble(bench.cluster), "asked to wait 22h13m, and sluice "
                                                           "waits at most 5m"));
    run_for(&bench, 2 * SECOND_MS);
    assert_true(script_is_played(bench.script));
    assert_string_equal(nodes_of(&bench), "a@1");
    bench_close(&bench);
}

static void a_server_that_ends_each_watch_at_once_is_not_asked_in_a_circle(void **state)
{
    static const struct script_step steps[] = {
        NO_PODS,
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "", "")),
        ASK(WATCH("nodes", "7"), 200),
        QUIET("7"),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 900);
    assert_false(script_is_played(bench.script));
    run_for(&bench, 1200);
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

static void an_unreadable_object_is_not_absent(void **state)
{
    static const struct script_step steps[] = {
        NO_PODS,
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "", META("a", "1") "," BAD("b", "2"))),
        ASK(WATCH("nodes", "7"), 200, .delay_ms = 1000, .hangs = true,
            .answer = EVENT("MODIFIED", BAD("a", "8")) "|" EVENT(
                "MODIFIED", META("b", "9")) "|" EVENT("ERROR", EXPIRED)),
        ASK(LIST("nodes"), 200, .answer = PAGE("20", "", BAD("a", "19"))),
        ASK(WATCH("nodes", "20"), 200, .delay_ms = 9000, .hangs = true,
            .answer = EVENT("DELETED", BAD("a", "21"))),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    const struct map *unreadable = cluster_snapshot(bench.cluster)->unreadable;
    run_for(&bench, 500);
    assert_string_equal(nodes_of(&bench), "a@1");
    assert_non_null(strstr(map_get(unreadable, "nodes/b"), "metadata/labels"));
    run_for(&bench, 1000);
    assert_string_equal(nodes_of(&bench), "a@1"); /* as it was known before */
    assert_non_null(map_get(unreadable, "nodes/a"));
    run_for(&bench, 1000);
    assert_string_equal(nodes_of(&bench), "a@1 b@9");
    assert_null(map_get(unreadable, "nodes/b"));
    run_for(&bench, 3200);
    assert_string_equal(nodes_of(&bench), "a@1"); /* b vanished, a is there and not understood */
    assert_non_null(map_get(unreadable, "nodes/a"));
    run_for(&bench, 10000);
    assert_string_equal(nodes_of(&bench), "");
    assert_int_equal(map_count(unreadable), 0);
    bench_close(&bench);
}

#define POD(uid, version, spec)                                                                    \
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"s\",\"uid\":\"" uid                             \
    "\",\"resourceVersion\":\"" version "\"},\"spec\":" spec "}"
#define ON(node, containers) "{\"nodeName\":\"" node "\",\"containers\":" containers "}"

/* "UID UID!" of the pods on the node; a "!" says that it is a stand-in. */
static const char *pods_on(const struct bench *bench, const char *node)
{
    static char out[256];
    owned(text) struct text *uids = text_new(sizeof out - 1);
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(cluster_snapshot(bench->cluster), node,
                                                     &count);

    for (size_t i = 0; i < count; i++) {
        assert_true(pod_must_leave(pods[i]));
        text_add(uids, "%s%s%s", i > 0 ? " " : "", pods[i]->uid, pods[i]->is_unread ? "!" : "");
    }
    text_copy(out, sizeof out, uids->chars);
    return out;
}

/* No node with a pod looks idle because that pod cannot be read. */
static void a_pod_that_cannot_be_read_stands_on_its_node(void **state)
{
    static const struct script_step steps[] = {
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "", META("a", "1"))),
        QUIET("7"),
        ASK(LIST("pods"), 200,
            .answer = PAGE("5", "", POD("first", "1", ON("a", "7")) "," POD("second", "1", "{}"))),
        ASK(WATCH("pods", "5"), 200, .delay_ms = 1000, .hangs = true,
            .answer = EVENT("MODIFIED", POD("second", "6", ON("a", "7"))) "|" EVENT(
                "ADDED",
                POD("third", "7",
                    ON("a",
                       "[]"))) "|" EVENT("MODIFIED",
                                         POD("third", "8",
                                             ON("a",
                                                "7"))) "|" EVENT("MODIFIED",
                                                                 POD("first", "9",
                                                                     ON("a",
                                                                        "[]"))) "|" EVENT("ERROR",
                                                                                          EXPIRED)),
        ASK(LIST("pods"), 200,
            .answer = PAGE("20", "",
                           POD("first", "9", ON("a", "7")) "," POD("second", "6", ON("a", "7")))),
        ASK(WATCH("pods", "20"), 200, .hangs = true),
    };
    struct bench bench;

    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 500);
    assert_string_equal(pods_on(&bench, "a"), "first!");
    run_for(&bench, 1000);
    assert_string_equal(pods_on(&bench, "a"), "first! second!"); /* it was bound meanwhile */
    run_for(&bench, 2000);
    assert_string_equal(pods_on(&bench, "a"), "first! second! third"); /* as it was known before */
    assert_int_equal(map_count(cluster_snapshot(bench.cluster)->unreadable), 3);
    run_for(&bench, 1000);
    assert_string_equal(pods_on(&bench, "a"), "first second! third");
    run_for(&bench, 10000);
    assert_string_equal(pods_on(&bench, "a"), "second! first");
    assert_int_equal(map_count(cluster_snapshot(bench.cluster)->unreadable), 2);
    bench_close(&bench);
}

static void pods_are_known_by_their_uid(void **state)
{
    static const struct script_step steps[] = {
        ASK(LIST("nodes"), 200, .answer = PAGE("7", "", "")),
        QUIET("7"),
        ASK(LIST("pods"), 200, .answer = PAGE("5", "", META("a", "1"))),
        ASK(WATCH("pods", "5"), 200, .hangs = true,
            .answer = EVENT("ADDED", "{\"metadata\":{\"name\":\"a\",\"namespace\":\"s\","
                                     "\"uid\":\"second\",\"resourceVersion\":\"6\"}}")),
    };
    struct bench bench;
    (void)state;
    start(&bench, steps, COUNT_OF(steps));
    run_for(&bench, 100);
    const struct map *pods = cluster_snapshot(bench.cluster)->pods;
    assert_int_equal(map_count(pods), 2);
    assert_non_null(map_get(pods, "u-a"));
    assert_non_null(map_get(pods, "second"));
    assert_true(was_asked(&bench, WATCH("pods", "5")));
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_become_one_map_and_events_change_it),
        cmocka_unit_test(a_list_is_as_old_as_its_first_page),
        cmocka_unit_test(a_page_is_asked_for_while_the_one_before_is_read),
        cmocka_unit_test(a_page_that_fails_ends_those_beside_it),
        cmocka_unit_test(frames_may_come_in_any_pieces),
        cmocka_unit_test(a_bookmark_renews_the_age_and_the_place),
        cmocka_unit_test(an_expired_watch_lists_again_and_drops_what_vanished),
        cmocka_unit_test(a_server_that_is_behind_is_listed_again),
        cmocka_unit_test(a_sudden_loss_is_believed_when_it_is_repeated),
        cmocka_unit_test(one_unreadable_object_takes_no_doubt_away),
        cmocka_unit_test(a_list_that_fails_half_way_keeps_everything),
        cmocka_unit_test(a_cut_stream_goes_on_from_the_last_whole_event),
        cmocka_unit_test(a_frame_that_makes_no_sense_lists_again),
        cmocka_unit_test(an_event_without_end_is_not_collected_for_ever),
        cmocka_unit_test(silence_ends_a_watch),
        cmocka_unit_test(a_broken_watch_is_not_waited_for),
        cmocka_unit_test(failures_back_off_to_half_a_minute_and_obey_the_server),
        cmocka_unit_test(no_server_silences_itself_for_a_day),
        cmocka_unit_test(a_server_that_ends_each_watch_at_once_is_not_asked_in_a_circle),
        cmocka_unit_test(an_unreadable_object_is_not_absent),
        cmocka_unit_test(a_pod_that_cannot_be_read_stands_on_its_node),
        cmocka_unit_test(pods_are_known_by_their_uid),
    };
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
