/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The demo's world: replicas that serve many at once are planned and played by two readers of one
 * block, which must mean the same to both; and what its report says of them.
 */
#include "broker/config/config.h"
#include "broker/demo/demo_report.h"
#include "broker/demo/demo_world.h"
#include "tests/cli/said.h"
#include "tests/support/folder.h"
#include "tools/simulator/model/scenario.h"
#include "windows/servers/engine.h"

#include <math.h>

static void check_engine(const struct config_queue *queue, const struct scenario_queue *played)
{
    const struct engine *engine = queue->service->engine;
    const struct engine_plan *plan = &played->engine;

    assert_int_equal(plan->slots, engine->law.slots);
    assert_true(plan->iteration_s == engine->law.iteration_s);
    assert_true(plan->per_request_s == engine->law.per_request_s);
    assert_true(plan->prefill_s == engine->law.prefill_s);
    assert_true(fabs(plan->tokens_in - engine->mean_in) < 0.5);
    assert_true(fabs(plan->tokens_out - engine->mean_out) < 0.5);
    assert_true(fabs(plan->tokens_cv - engine->cv_out) < 0.01); /* of a table of lengths */
    assert_int_equal(plan->choice, CHOICE_LEAST);
    assert_int_equal(engine->law.router, ENGINE_LEAST_OUTSTANDING);
    assert_true(queue->ttft_target_s > 0);
    assert_true(played->first_token_target_s == queue->ttft_target_s);
}

static void two_queues_have_replicas_that_serve_many(void **state)
{
    struct error err = { 0 };
    owned(demo_world) struct demo_world *world = demo_world_new(&demo_google, NULL, NULL, 1, &err);
    const int nodes[] = { 20, 10 };
    struct config *config = world ? config_read(world->config_path, &err) : NULL;
    owned(scenario) struct scenario *scenario = NULL;
    size_t engines = 0;
    size_t by_cache = 0;

    (void)state;
    if (!config || demo_world_populate(world, nodes, "", 1, &err) < 0)
        fail_msg("%s", err.text);
    scenario = scenario_read(world->config_path, world->world_path, &err);
    if (!scenario)
        fail_msg("%s", err.text);
    assert_int_equal(scenario->queues.count, config->queue_count);
    for (size_t i = 0; i < config->queue_count; i++) {
        const struct scenario_queue *played = &scenario->queues.items[i];

        assert_string_equal(played->name, config->queues[i].name);
        assert_int_equal(played->engine.slots > 0, config->queues[i].service->engine != NULL);
        if (played->engine.slots == 0)
            continue;
        engines++;
        by_cache += config->queues[i].service->engine->is_kv_limited;
        check_engine(&config->queues[i], played);
    }
    assert_int_equal(engines, 2); /* one of them limited by its slots, one by its cache */
    assert_int_equal(by_cache, 1);
    config_free(config);
}

/* Each way to write an engine, as the broker and as the world read it. */
static void the_world_reads_an_engine_as_the_broker_does(void **state)
{
    static const struct {
        const char *keys;
        int slots;
        int in;
        double out, cv, iteration_s;
        enum engine_choice choice;
    } cases[] = {
        { "slots: 8, router: random", 8, 0, 256, 0.5, 10.0 / 256, CHOICE_RANDOM },
        { "slots: 8, iteration: 20ms, tokens_out: 200, router: round-robin", 8, 0, 200, 1, 0.02,
          CHOICE_IN_TURN },
        { "slots: 64, iteration: 20ms, tokens_in: 1000, tokens_out: 200, kv_tokens: 11999, "
          "router: central",
          10, 1000, 200, 1, 0.02, CHOICE_CENTRAL },
        { "slots: 64, iteration: 20ms, tokens_in: 1000, tokens_out: 200, kv_tokens: 900", 1, 1000,
          200, 1, 0.02, CHOICE_LEAST },
        { "slots: 64, iteration: 500us, tokens_out: 200, tokens_law: constant", 64, 0, 200, 0,
          0.0005, CHOICE_LEAST },
    };
    struct error err = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(chars) char *text = text_format("{%s}", cases[i].keys);
        owned(yaml_document) struct yaml_document *block = yaml_parse(text, strlen(text), "block",
                                                                      &err);
        struct scenario_queue queue = { .service_ms = 10000, .service_cv = 0.5 };

        assert_non_null(block);
        assert_int_equal(scenario_read_engine(&queue, yaml_root(block), &err), 0);
        assert_int_equal(queue.engine.slots, cases[i].slots);
        assert_int_equal(queue.engine.tokens_in, cases[i].in);
        assert_true(queue.engine.tokens_out == cases[i].out);
        assert_true(queue.engine.tokens_cv == cases[i].cv);
        assert_true(queue.engine.iteration_s == cases[i].iteration_s);
        assert_int_equal(queue.engine.choice, cases[i].choice);
    }
}

static void lengths_out_of_files_are_refused(void **state)
{
    static const char text[] = "{slots: 8, iteration: 20ms, tokens_file: lengths.csv}";
    struct error err = { 0 };
    owned(yaml_document) struct yaml_document *block = yaml_parse(text, strlen(text), "block",
                                                                  &err);
    struct scenario_queue queue = { .service_ms = 10000 };

    (void)state;
    assert_non_null(block);
    assert_int_equal(scenario_read_engine(&queue, yaml_root(block), &err), -1);
    assert_non_null(strstr(err.text, "the simulator needs tokens_out"));
}

/* Takes standard output for a moment. */
static struct text *printed(const char *folder, const json_t *report)
{
    owned(chars) char *path = text_format("%s/report", folder);
    int file = open_output(path);
    int keep = dup(1);

    fflush(NULL);
    dup2(file, 1);
    demo_report_print(report);
    fflush(NULL);
    dup2(keep, 1);
    close(keep);
    close(file);
    return take_output(path);
}

/* A part of the night: what the whole report has, without the hours that it takes. */
static void the_report_fits_its_schema(void **state)
{
    static const int nodes[] = { 20, 10 };
    static const char text[] = "workloads: {}\n";
    struct error err = { 0 };
    owned(demo_world) struct demo_world *world = demo_world_new(&demo_google, NULL, NULL, 1, &err);
    struct rehearsal *rehearsal = NULL;
    struct demo_play play = { .world = world, .edge_count = 1, .edges[0].window = "weekday-day" };
    owned(schedule) struct schedule *schedule = schedule_parse(text, strlen(text), "schedule",
                                                               &err);
    struct schedule *schedules[DEMO_EDGES_MAX];
    owned(json) json_t *report = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(schedules); i++)
        schedules[i] = schedule;
    if (!world || !schedule || demo_world_populate(world, nodes, "", 1, &err) < 0)
        fail_msg("%s", err.text);
    rehearsal = rehearsal_open(world->config_path, world->world_path, world->start, 1, &err);
    if (!rehearsal ||
        simulator_write_kubeconfigs(rehearsal->simulator, world->folder, "http://127.0.0.1:1",
                                    &err) < 0 ||
        rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
    rehearsal_run(rehearsal, HOUR_MS);
    play.rehearsal = rehearsal;
    play.schedules = schedules;
    play.edges[0].begins = world->start;
    report = demo_report_make(&play);
    schema_fits_made("demo", report);
    rehearsal_close(rehearsal);
}

static void the_report_shows_first_tokens_where_there_are_tokens(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(json) json_t *report = json_make(
        "{s[{ss si sf sf sf sf sf sf sb}, {ss si sf sf sf sf sn sn sb}]}", "queues", "queue",
        "chat", "requests", 828117, "wait_p98_s", 0.04, "wait_p98_high_s", 0.03, "wait_p98_low_s",
        0.05, "wait_target_s", 10.0, "ttft_p98_s", 0.19, "ttft_target_s", 0.5, "is_met", 1, "queue",
        "image", "requests", 31123, "wait_p98_s", 61.0, "wait_p98_high_s", 4.0, "wait_p98_low_s",
        70.0, "wait_target_s", 60.0, "ttft_p98_s", "ttft_target_s", "is_met", 0);
    owned(text) struct text *said = printed(folder, report);

    (void)state;
    assert_non_null(
        strstr(said->chars,
               "QUEUE  REQUESTS     P98  P98 HIGH  P98 LOW  TARGET  TTFT P98  TARGET  STATE\n"
               "chat     828117   0.04s     0.03s    0.05s     10s     0.19s   0.50s  OK\n"
               "image     31123  61.00s     4.00s   70.00s     60s         -       -  OVER\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_queues_have_replicas_that_serve_many),
        cmocka_unit_test(the_world_reads_an_engine_as_the_broker_does),
        cmocka_unit_test(lengths_out_of_files_are_refused),
        cmocka_unit_test(the_report_fits_its_schema),
        cmocka_unit_test(the_report_shows_first_tokens_where_there_are_tokens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
