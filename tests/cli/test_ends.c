/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Capacity that ends: no window counts on it, and no move brings a node to it, whether the
 * configuration says so or the cloud.
 */
#include "broker/doctor/pool_match.h"
#include "broker/service/service_parts.h"
#include "tests/cli/small_world.h"

#include <stdlib.h>

enum { START_HOUR = 6 };

/* The text with each `from` replaced; the caller frees it. */
static char *replaced(const char *chars, const char *from, const char *to)
{
    struct text *out = text_new(TEXT_UNBOUNDED);
    const char *found;

    while ((found = strstr(chars, from))) {
        text_add(out, "%.*s%s", (int)(found - chars), chars, to);
        chars = found + strlen(from);
    }
    text_add(out, "%s", chars);
    return text_take(out);
}

/* The small world with a reservation that ends, on Google or on AWS, and what is said of its end.
 */
struct scene {
    const char *setting; /* of the reservation */
    const char *world;
    bool is_aws;
    int nodes; /* of production by day, where 10 are wanted */
    bool warns;
};

/* Nor does an operator get nodes that are about to go. */
static void expect_no_reclaim(struct rehearsal *rehearsal)
{
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss si ss sb}", "cluster", "prod-a", "nodes", 10,
                                            "reason", "launch", "is_new", 1);

    assert_null(service_reclaim(rehearsal->service, request, "test", &err));
}

static void play(const struct scene *scene)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *ending = text_format("nodes: 16%s}", scene->setting);
    owned(chars) char *config = replaced(small_config, "nodes: 16}", ending);
    owned(chars) char *aws = replaced(config, "project: p,", "");
    owned(chars) char *amazon = replaced(
        aws,
        "google: {kind: gcp, endpoint: 'http://127.0.0.1:1/gcp', metadata: "
        "'http://127.0.0.1:1/gcp'}",
        "google: {kind: aws, region: us-east5, "
        "autoscaling_endpoint: 'http://127.0.0.1:1/aws/autoscaling', "
        "ec2_endpoint: 'http://127.0.0.1:1/aws/ec2'}");
    owned(chars) char *world = text_format("seed: 7\n%s%s", small_machines, scene->world);
    struct rehearsal *rehearsal = world_start(folder, scene->is_aws ? amazon : config, world,
                                              START_HOUR, 7);

    struct wall_time *ends = &rehearsal->config->reservations[0].ends;
    const struct wall_time known = *ends;

    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    ends->ms = 0; /* the schedules were applied before it was known */
    apply(rehearsal, 10, 6);
    *ends = known;
    rehearsal_run(rehearsal, 2 * HOUR_MS); /* 08:05 */
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), scene->nodes);
    assert_int_equal(nodes_of(rehearsal, "research-a-east"), 16 - scene->nodes);
    assert_int_equal(warns_of(rehearsal, "ends from"), scene->warns);
    if (scene->nodes < 10)
        expect_no_reclaim(rehearsal);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), scene->nodes);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
    rehearsal_close(rehearsal);
}

/* Orders two nodes for production; the refusal says what ends, when, and what is needed. */
static void reclaim_two(struct rehearsal *rehearsal, struct wall_time ends, int64_t takes_ms)
{
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss si ss sb}", "cluster", "prod-a", "nodes", 2,
                                            "reason", "launch", "is_new", 1);
    struct wall_time until = { loop_wall(rehearsal->loop).ms + takes_ms };
    owned(json) json_t *answer = service_reclaim(rehearsal->service, request, "test", &err);
    char ends_text[WALL_TEXT_SIZE], until_text[WALL_TEXT_SIZE];
    owned(chars) char *refusal = text_format(
        "the capacity of reservation east ends at %s, and a move that begins now must serve until "
        "%s to pay off",
        wall_format(ends, ends_text), wall_format(until, until_text));

    assert_int_equal(answer != NULL, ends.ms > until.ms);
    if (!answer) {
        assert_int_equal(err.kind, ERROR_DENIED);
        assert_string_equal(err.text, refusal);
    }
}

/* A reclaim gives no notice, so its move is shorter: it may bring nodes that no plan moves, and all
   are there before the capacity ends. */
static void a_reclaim_needs_less_time_than_a_plan(void **state)
{
    static const struct {
        bool is_reclaim; /* of two nodes; production has 6 */
        bool is_plan;    /* of 10 nodes */
        bool has_notice; /* the capacity lasts for the notice, twice, beside the move, twice */
        int64_t over_ms; /* and for so long beyond */
        int nodes;       /* of production at the end of the capacity */
    } rows[] = {
        { true, false, false, -MINUTE_MS, 6 }, { true, false, false, 0, 6 },
        { true, false, false, MINUTE_MS, 8 },  { true, false, true, MINUTE_MS, 8 },
        { true, true, false, MINUTE_MS, 8 },   { true, true, true, MINUTE_MS, 10 },
        { false, true, false, MINUTE_MS, 6 },  { false, true, true, 0, 6 },
        { false, true, true, MINUTE_MS, 10 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        struct rehearsal *rehearsal = small_rehearsal(folder, 41 + i, "");
        struct wall_time *ends = &rehearsal->config->reservations[0].ends;
        /* With half a minute: the plan's turn, the announcement's way and the cordon. */
        int64_t notice_ms = 2 * (rehearsal->config->drain.notice_ms + 30 * SECOND_MS);
        int64_t takes_ms;

        rehearsal_run(rehearsal, 5 * MINUTE_MS);
        takes_ms = survey_pays_off_ms(rehearsal->service, NULL, true);
        assert_int_equal(survey_pays_off_ms(rehearsal->service, NULL, false), takes_ms + notice_ms);
        ends->ms = loop_wall(rehearsal->loop).ms + takes_ms + rows[i].over_ms +
                   (rows[i].has_notice ? notice_ms : 0);
        if (rows[i].is_reclaim)
            reclaim_two(rehearsal, *ends, takes_ms);
        if (rows[i].is_plan) {
            const struct wall_time known = *ends;

            ends->ms = 0; /* the schedules were applied before it was known */
            apply(rehearsal, 10, 10);
            *ends = known;
        }
        rehearsal_run(rehearsal, ends->ms - loop_wall(rehearsal->loop).ms);
        assert_int_equal(nodes_of(rehearsal, "prod-a-east"), rows[i].nodes);
        assert_int_equal(transfers_of(rehearsal, false), 0);
        assert_int_equal(rehearsal_violations(rehearsal), 0);
        rehearsal_close(rehearsal);
    }
}

/* At 06:05 the night is in force.  A schedule for the day is for today's, one for the night also
   for the next, until eight tomorrow. */
static void no_schedule_is_applied_beyond_the_end(void **state)
{
    static const struct {
        const char *ends;
        int day, night; /* nodes */
        const char *refusal;
    } rows[] = {
        { "2026-11-18T08:00:01Z", 10, 6, NULL },
        { "2026-11-18T08:00:00Z", 10, 6,
          "night.yaml:8: compute.a3-megagpu-8g.us-east5.prod-a.counts[0]: 6: reservation east "
          "ends at 2026-11-18T08:00:00Z, and window night needs it until 2026-11-18T08:00:00Z" },
        { "2026-11-17T20:00:00Z", 10, 0,
          "day.yaml:8: compute.a3-megagpu-8g.us-east5.prod-a.counts[0]: 10: reservation east "
          "ends at 2026-11-17T20:00:00Z, and window day needs it until 2026-11-17T20:00:00Z" },
        { "2026-11-17T20:00:01Z", 10, 0, NULL },
        { "2026-11-01T00:00:00Z", 10, 0,
          "day.yaml:8: compute.a3-megagpu-8g.us-east5.prod-a.counts[0]: 10: reservation east "
          "ends at 2026-11-01T00:00:00Z, and window day needs it until 2026-11-17T20:00:00Z" },
        { "2026-11-01T00:00:00Z", 0, 0, NULL },
        { "2026-11-24T06:05:00Z", 10, 0, NULL },
        { "2026-11-24T06:05:01Z", 10, 0,
          "night.yaml:8: compute.a3-megagpu-8g.us-east5.prod-a.counts[0]: 0: fewer than the "
          "pool's static_nodes" },
        { "2026-11-17T20:00:01Z", 10, 1,
          "night.yaml:8: compute.a3-megagpu-8g.us-east5.prod-a.counts[0]: 1: fewer than the "
          "pool's static_nodes" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        struct rehearsal *rehearsal = small_rehearsal(folder, 61, "");
        owned(json) json_t *schedules = small_schedules(rows[i].day, rows[i].night);
        struct error err = { 0 };

        assert_int_equal(
            wall_parse(rows[i].ends, false, &rehearsal->config->reservations[0].ends, NULL), 0);
        rehearsal_run(rehearsal, 5 * MINUTE_MS);

        owned(json) json_t *plan = service_apply(rehearsal->service, schedules, NULL, "test", &err);

        if (plan ? rows[i].refusal != NULL : !text_equal(err.text, rows[i].refusal))
            fail_msg("%s: %s", rows[i].ends, err.text);
        if (plan) { /* an end does not take it out of force */
            rehearsal->config->reservations[0].ends = loop_wall(rehearsal->loop);
            restart(rehearsal);
            assert_int_equal(map_count(rehearsal->service->book), 2);
        }
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(nodes_of(rehearsal, "prod-a-east") >= 2, true);
        assert_int_equal(rehearsal_violations(rehearsal), 0);
        rehearsal_close(rehearsal);
    }
}

static void the_configuration_says_when(void **state)
{
    (void)state;
    play(&(struct scene){ ", ends: '2026-11-17T08:10:00Z'", "", false, 6, true });
    play(&(struct scene){ ", ends: '2026-11-17T10:10:00+02:00'", "", false, 6, true });
    play(&(struct scene){ ", ends: '2026-11-30T08:10:00Z'", "", false, 10, false });
}

/* Half an hour before a Capacity Block ends, EC2 ends its instances.  Google tells the end of each
   machine. */
static void the_cloud_says_when(void **state)
{
    (void)state;
    play(&(struct scene){ "", "aws: {east: {ends: '2026-11-17T08:40:00Z'}}\n", true, 6, true });
    play(&(struct scene){ "", "aws: {east: {ends: '2026-11-30T08:40:00Z'}}\n", true, 10, false });
    play(&(struct scene){ "", "", true, 10, false });
    play(&(struct scene){ "", "gcp: {east: {ends: '2026-11-17T00:10:00.000-08:00'}}\n", false, 6,
                          true });
    play(&(struct scene){ "", "gcp: {east: {ends: '2026-11-30T00:10:00.000-08:00'}}\n", false, 10,
                          false });
}

static void count_ends(void *context, const struct finding *finding)
{
    *(int *)context += finding->verdict == FINDING_WRONG && text_equal(finding->subject, "ends");
}

/* A plan asks no cloud, so what the cloud says must be in the file. */
static void the_doctor_compares_both(void **state)
{
    enum { CLOUD_MS = 1000000 };
    static const struct {
        int64_t cloud_ms, file_ms;
        int wrong;
    } rows[] = {
        { 0, 0, 0 },
        { 0, CLOUD_MS, 0 },
        { CLOUD_MS, 0, 1 },
        { CLOUD_MS, CLOUD_MS, 0 },
        { CLOUD_MS, CLOUD_MS - 1, 0 },
        { CLOUD_MS, CLOUD_MS + 1, 1 },
    };
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = test_folder_write(folder, "sluice.yaml", small_config);
    struct error err = { 0 };
    owned(config) struct config *config = config_read(path, &err);
    owned(map) struct map *nodes = map_new(NULL);
    owned(map) struct map *machines = map_new(NULL);
    struct snapshot snapshot = { .nodes = nodes };
    struct instance lasting = { .name = "a" }, ending = { .name = "b" };
    int wrong = 0;
    const struct pool_match match = { config,    &config->pools[0], machines,
                                      &snapshot, count_ends,        &wrong };

    (void)state;
    map_set(machines, lasting.name, &lasting);
    map_set(machines, ending.name, &ending);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        wrong = 0;
        ending.ends.ms = rows[i].cloud_ms;
        config->reservations[0].ends.ms = rows[i].file_ms;
        pool_match_find(&match);
        assert_int_equal(wrong, rows[i].wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reclaim_needs_less_time_than_a_plan),
        cmocka_unit_test(no_schedule_is_applied_beyond_the_end),
        cmocka_unit_test(the_configuration_says_when),
        cmocka_unit_test(the_cloud_says_when),
        cmocka_unit_test(the_doctor_compares_both),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    setenv("AWS_ACCESS_KEY_ID", "AKIASIMULATED0000000", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "simulated/secret+of/the+simulator0000000", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
