/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many nodes and replicas are wanted at a moment, with a reach into the windows to come.
 */
#include "base/input/yaml.h"
#include "base/text.h"
#include "broker/planning/targets.h"
#include "tests/support/unit.h"
#include "windows/calendar/calendar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char nights[] = "day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
                             "night: {days: mon-sun, from: '20:00', to: '08:00'}\n";
static const char peaks[] = "day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
                            "peak: {days: mon-sun, from: '08:30', to: '12:30', within: day}\n"
                            "night: {days: mon-sun, from: '20:00', to: '08:00'}\n";

/* A config with one pool and one workload, and the schedules in force. */
struct scene {
    struct config config;
    struct config_cluster cluster;
    struct config_reservation reservation;
    struct config_pool pool;
    struct config_workload workload;
    struct map *book;
};

static char cluster_name[] = "prod-a";
static char machine_name[] = "a3";
static char region_name[] = "us";
static char workload_name[] = "chat";

static void scene_begin(struct scene *scene, const char *windows, const char *zone)
{
    struct error err = { 0 };
    owned(yaml_document) struct yaml_document *document = yaml_parse(windows, strlen(windows),
                                                                     "test", &err);

    memset(scene, 0, sizeof *scene);
    assert_non_null(document);
    scene->config.windows = window_set_read(yaml_root(document), time_zone_open(zone, &err), &err);
    if (!scene->config.windows)
        fail_msg("%s", err.text);
    scene->cluster.name = cluster_name;
    scene->reservation = (struct config_reservation){ .machine = machine_name,
                                                      .region = region_name,
                                                      .zone_index = 1 };
    scene->pool.cluster = &scene->cluster;
    scene->pool.group = 1;
    scene->pool.reservation = &scene->reservation;
    scene->workload.name = workload_name;
    scene->book = targets_book_new();
}

static void owned_scene(struct scene *scene)
{
    window_set_free(scene->config.windows);
    map_free(scene->book);
}

/* nodes < 0: the schedule does not name the pool; replicas likewise. */
static void add_schedule(struct scene *scene, const char *window, int nodes, int replicas)
{
    struct schedule *schedule = schedule_new();
    int counts[] = { 99, nodes, 77 };

    if (nodes >= 0)
        schedule_set_nodes(
            schedule, (struct schedule_path){ machine_name, region_name, cluster_name }, counts, 3);
    if (replicas >= 0)
        schedule_set_replicas(schedule, workload_name, cluster_name, replicas);
    map_set(scene->book, window, schedule);
}

static struct wall_time at(const char *chars)
{
    struct wall_time wall;
    struct error err = { 0 };

    if (wall_parse(chars, false, &wall, &err) < 0)
        fail_msg("%s", err.text);
    return wall;
}

static struct horizon horizon_at(const struct scene *scene, const char *when,
                                 const struct reach *reach)
{
    return (struct horizon){ &scene->config, scene->book, at(when), *reach };
}

/* "WANTED (now NOW) by WINDOW, due WHEN" */
static void expect(const struct scene *scene, const char *when, int64_t look_ms, const char *want)
{
    struct reach reach = { 0, look_ms, 1000 };
    struct horizon horizon = horizon_at(scene, when, &reach);
    struct target target = target_nodes(&horizon, &scene->pool);
    struct wall_time due = target_due(&horizon, &scene->pool, target.now);
    char due_text[WALL_TEXT_SIZE];
    owned(chars) char *got = text_format("%" PRId64 " (now %" PRId64 ") by %s, due %s",
                                         target.wanted, target.now, target.window,
                                         due.ms ? wall_format(due, due_text) : "-");

    if (!text_equal(got, want))
        fail_msg("at %s, reach %" PRId64 " min\n  want: %s\n  got:  %s", when, look_ms / MINUTE_MS,
                 want, got);
}

/* Nodes that are on their way already are not short for the window that they serve. */
static void what_is_short_is_due_when_it_is_short(void **state)
{
    owned(scene) struct scene scene;

    static const struct reach reach = { 0, HOUR_MS, 1000 };
    static const struct {
        int64_t have;
        const char *due;
    } cases[] = {
        { 4, "-" }, /* short already */
        { 6, "2026-11-17T08:00:00Z" },
        { 9, "2026-11-17T08:00:00Z" },
        { 10, "2026-11-17T08:30:00Z" },
        { 14, "-" },
    };

    (void)state;
    scene_begin(&scene, peaks, "UTC");
    add_schedule(&scene, "day", 10, 1);
    add_schedule(&scene, "peak", 14, 1);
    add_schedule(&scene, "night", 6, 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct horizon horizon = horizon_at(&scene, "2026-11-17T07:40:00Z", &reach);
        struct wall_time due = target_due(&horizon, &scene.pool, cases[i].have);
        char text[WALL_TEXT_SIZE];

        assert_string_equal(due.ms ? wall_format(due, text) : "-", cases[i].due);
    }
}

static void a_pool_grows_ahead_and_shrinks_in_time(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_begin(&scene, nights, "UTC");
    add_schedule(&scene, "day", 10, 40);
    add_schedule(&scene, "night", 6, 20);
    expect(&scene, "2026-11-17T06:00:00Z", 0, "6 (now 6) by night, due -");
    expect(&scene, "2026-11-17T07:29:59Z", 30 * MINUTE_MS, "6 (now 6) by night, due -");
    expect(&scene, "2026-11-17T07:30:00Z", 30 * MINUTE_MS,
           "10 (now 6) by day, due 2026-11-17T08:00:00Z");
    expect(&scene, "2026-11-17T08:00:00Z", 30 * MINUTE_MS, "10 (now 10) by day, due -");
    expect(&scene, "2026-11-17T19:59:59Z", 30 * MINUTE_MS, "10 (now 10) by day, due -");
    expect(&scene, "2026-11-17T20:00:00Z", 30 * MINUTE_MS, "6 (now 6) by night, due -");
    /* a night shorter than the reach is no reason to give anything away */
    expect(&scene, "2026-11-17T20:00:00Z", 12 * HOUR_MS,
           "10 (now 6) by day, due 2026-11-18T08:00:00Z");
    expect(&scene, "2026-11-17T20:00:00Z", 60 * HOUR_MS,
           "10 (now 6) by day, due 2026-11-18T08:00:00Z");
}

static void the_greatest_within_reach_counts_and_the_first_need_is_due(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_begin(&scene, peaks, "UTC");
    add_schedule(&scene, "day", 10, 1);
    add_schedule(&scene, "peak", 14, 1);
    add_schedule(&scene, "night", 6, 1);
    expect(&scene, "2026-11-17T07:40:00Z", 30 * MINUTE_MS,
           "10 (now 6) by day, due 2026-11-17T08:00:00Z");
    expect(&scene, "2026-11-17T07:40:00Z", 60 * MINUTE_MS,
           "14 (now 6) by peak, due 2026-11-17T08:00:00Z");
    expect(&scene, "2026-11-17T08:10:00Z", 30 * MINUTE_MS,
           "14 (now 10) by peak, due 2026-11-17T08:30:00Z");
    expect(&scene, "2026-11-17T12:30:00Z", 60 * MINUTE_MS, "10 (now 10) by day, due -");
    expect(&scene, "2026-11-17T19:40:00Z", 60 * MINUTE_MS, "10 (now 10) by day, due -");
}

static void the_clock_on_the_wall_decides(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_begin(&scene, nights, "Europe/Berlin");
    add_schedule(&scene, "day", 10, 1);
    add_schedule(&scene, "night", 6, 1);
    /* 28 to 29 March 2026: the night has eleven hours, 19:00Z to 06:00Z */
    expect(&scene, "2026-03-28T18:59:59Z", 0, "10 (now 10) by day, due -");
    expect(&scene, "2026-03-28T19:00:00Z", 0, "6 (now 6) by night, due -");
    expect(&scene, "2026-03-29T05:29:59Z", 30 * MINUTE_MS, "6 (now 6) by night, due -");
    expect(&scene, "2026-03-29T05:30:00Z", 30 * MINUTE_MS,
           "10 (now 6) by day, due 2026-03-29T06:00:00Z");
    /* 24 to 25 October 2026: thirteen hours, 18:00Z to 07:00Z */
    expect(&scene, "2026-10-24T18:00:00Z", 0, "6 (now 6) by night, due -");
    expect(&scene, "2026-10-25T06:29:59Z", 30 * MINUTE_MS, "6 (now 6) by night, due -");
    expect(&scene, "2026-10-25T06:30:00Z", 30 * MINUTE_MS,
           "10 (now 6) by day, due 2026-10-25T07:00:00Z");
}

static void what_no_schedule_names_is_left_alone(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_begin(&scene, nights, "UTC");
    expect(&scene, "2026-11-17T07:30:00Z", 48 * HOUR_MS, "-1 (now -1) by night, due -");
    add_schedule(&scene, "night", -1, 5);
    expect(&scene, "2026-11-17T07:30:00Z", HOUR_MS, "-1 (now -1) by night, due -");
    /* named by the next window only: it is wanted then, and from its edge on */
    add_schedule(&scene, "day", 4, -1);
    expect(&scene, "2026-11-17T06:30:00Z", HOUR_MS, "-1 (now -1) by night, due -");
    expect(&scene, "2026-11-17T07:30:00Z", HOUR_MS, "4 (now -1) by day, due 2026-11-17T08:00:00Z");
    /* zero is a number */
    add_schedule(&scene, "night", 0, 0);
    expect(&scene, "2026-11-17T21:00:00Z", HOUR_MS, "0 (now 0) by night, due -");
}

/* Over the weekday's noon and into the night. */
static void an_event_counts_like_a_window_when_it_has_a_schedule(void **state)
{
    static const char events[] = "launch: {from: 2026-11-17 12:00, to: 2026-11-17 22:00,"
                                 " multiplier: 2}\n"
                                 "morning: {from: 2026-11-18 06:00, to: 2026-11-18 10:00,"
                                 " multiplier: 2}\n";
    owned(yaml_document) struct yaml_document *document = yaml_parse(events, strlen(events), "test",
                                                                     NULL);
    struct error err = { 0 };
    owned(scene) struct scene scene;

    (void)state;
    scene_begin(&scene, nights, "UTC");
    assert_int_equal(calendar_read(scene.config.windows, NULL, yaml_root(document), &err), 0);
    add_schedule(&scene, "day", 10, 40);
    add_schedule(&scene, "night", 6, 20);

    /* without a schedule the week goes on beneath it, with all its edges */
    expect(&scene, "2026-11-17T11:45:00Z", 30 * MINUTE_MS, "10 (now 10) by day, due -");
    expect(&scene, "2026-11-17T19:59:00Z", 0, "10 (now 10) by day, due -");
    expect(&scene, "2026-11-17T20:00:00Z", 0, "6 (now 6) by night, due -");
    expect(&scene, "2026-11-17T20:00:00Z", 12 * HOUR_MS,
           "10 (now 6) by day, due 2026-11-18T08:00:00Z");
    expect(&scene, "2026-11-17T07:00:00Z", 18 * HOUR_MS,
           "10 (now 6) by day, due 2026-11-17T08:00:00Z");

    expect(&scene, "2026-11-18T07:00:00Z", 90 * MINUTE_MS,
           "10 (now 6) by day, due 2026-11-18T08:00:00Z");

    add_schedule(&scene, "launch", 14, 60);
    expect(&scene, "2026-11-17T11:29:59Z", 30 * MINUTE_MS, "10 (now 10) by day, due -");
    expect(&scene, "2026-11-17T11:30:00Z", 30 * MINUTE_MS,
           "14 (now 10) by launch, due 2026-11-17T12:00:00Z");
    expect(&scene, "2026-11-17T21:59:59Z", 30 * MINUTE_MS, "14 (now 14) by launch, due -");
    expect(&scene, "2026-11-17T22:00:00Z", 30 * MINUTE_MS, "6 (now 6) by night, due -");
}

static void replicas_follow_the_same_rule(void **state)
{
    static const struct reach reach = { 0, 30 * MINUTE_MS, 1000 };
    owned(scene) struct scene scene;
    struct horizon horizon;
    struct target target;

    (void)state;
    scene_begin(&scene, nights, "UTC");
    add_schedule(&scene, "day", 10, 40);
    add_schedule(&scene, "night", 6, 20);
    horizon = horizon_at(&scene, "2026-11-17T07:30:00Z", &reach);
    target = target_replicas(&horizon, &scene.workload, &scene.cluster);
    assert_int_equal(target.now, 20);
    assert_int_equal(target.wanted, 40);
    add_schedule(&scene, "day", 10, -1);
    horizon = horizon_at(&scene, "2026-11-17T12:00:00Z", &reach);
    target = target_replicas(&horizon, &scene.workload, &scene.cluster);
    assert_int_equal(target.wanted, -1);
}

/* Fourteen nodes at ten a wave are two waves; what the pool has does not matter, what the windows
   want does. */
static void a_large_move_begins_a_lead_time_earlier_for_each_wave(void **state)
{
    static const struct {
        int64_t wave_nodes;
        const char *when;
        int64_t wanted;
        int64_t group;
    } rows[] = {
        { 14, "2026-11-17T06:49:59Z", 6, 1 },
        { 14, "2026-11-17T06:50:00Z", 20, 1 },
        { 13, "2026-11-17T05:49:59Z", 6, 1 },
        { 13, "2026-11-17T05:50:00Z", 20, 1 },
        { 7, "2026-11-17T05:50:00Z", 20, 1 },
        { 6, "2026-11-17T04:50:00Z", 20, 1 },
        { 6, "2026-11-17T04:49:59Z", 6, 1 },
        { 1, "2026-11-16T20:00:00Z", 20, 1 },
        /* no wave takes a part of a group */
        { 13, "2026-11-17T05:50:00Z", 20, 7 },
        { 13, "2026-11-17T05:49:59Z", 6, 7 },
        { 9, "2026-11-17T05:50:00Z", 20, 1 },
        { 9, "2026-11-17T04:50:00Z", 20, 5 },
    };
    owned(scene) struct scene scene;

    (void)state;
    scene_begin(&scene, nights, "UTC");
    scene.config.pools = &scene.pool;
    scene.config.pool_count = 1;
    add_schedule(&scene, "day", 20, 40);
    add_schedule(&scene, "night", 6, 20);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct reach reach = { 10 * MINUTE_MS, HOUR_MS, rows[i].wave_nodes };

        struct horizon horizon = horizon_at(&scene, rows[i].when, &reach);

        scene.pool.group = rows[i].group;
        assert_int_equal(target_nodes(&horizon, &scene.pool).wanted, rows[i].wanted);
    }
}

static void one_window_for_all_has_no_edges(void **state)
{
    owned(scene) struct scene scene;

    (void)state;
    scene_begin(&scene, "all: {days: mon-sun, from: '00:00', to: '24:00'}\n", "UTC");
    add_schedule(&scene, "all", 7, 1);
    expect(&scene, "2026-11-17T12:00:00Z", 400 * (int64_t)DAY_MS, "7 (now 7) by all, due -");
}

/* Windows that want more than there is, one after the other, are one time of want. */
static void a_pool_lacks_nodes_since_a_window_wanted_more(void **state)
{
    owned(scene) struct scene scene;
    static const struct reach reach = { 0, HOUR_MS, 1000 };
    static const struct {
        const char *at;
        int64_t have;
        const char *since;
    } rows[] = {
        { "2026-11-17T09:00:00Z", 6, "2026-11-17T08:00:00Z" },
        { "2026-11-17T09:00:00Z", 9, "2026-11-17T08:30:00Z" }, /* 8 by day, 10 in the peak */
        { "2026-11-17T09:00:00Z", 12, "2026-11-17T08:30:00Z" },
        { "2026-11-17T13:00:00Z", 7, "2026-11-17T08:00:00Z" },
        { "2026-11-18T03:00:00Z", 5, "2026-11-11T03:00:00Z" }, /* all want 6: a week is enough */
        { "2026-11-17T08:00:00Z", 6, "2026-11-17T08:00:00Z" },
    };

    (void)state;
    scene_begin(&scene, peaks, "UTC");
    add_schedule(&scene, "day", 8, 0);
    add_schedule(&scene, "peak", 10, 0);
    add_schedule(&scene, "night", 6, 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct horizon horizon = horizon_at(&scene, rows[i].at, &reach);
        struct wall_time since = target_since(&horizon, &scene.pool, rows[i].have);
        char text[WALL_TEXT_SIZE];

        assert_string_equal(wall_format(since, text), rows[i].since);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_short_is_due_when_it_is_short),
        cmocka_unit_test(a_pool_lacks_nodes_since_a_window_wanted_more),
        cmocka_unit_test(a_pool_grows_ahead_and_shrinks_in_time),
        cmocka_unit_test(the_greatest_within_reach_counts_and_the_first_need_is_due),
        cmocka_unit_test(the_clock_on_the_wall_decides),
        cmocka_unit_test(what_no_schedule_names_is_left_alone),
        cmocka_unit_test(an_event_counts_like_a_window_when_it_has_a_schedule),
        cmocka_unit_test(replicas_follow_the_same_rule),
        cmocka_unit_test(a_large_move_begins_a_lead_time_earlier_for_each_wave),
        cmocka_unit_test(one_window_for_all_has_no_edges),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
