/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice demo: plans a weekday from the seven days before it and plays it, with the real service in
 * virtual time against four simulated clusters; then says what it was worth and whether a promise
 * was broken.
 */
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/demo/demo_play.h"
#include "broker/demo/demo_report.h"
#include "broker/sizing/allocate_model.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <stdio.h>

enum { SCHEDULE_LIMIT = 1 << 18, SEEDS = 4, THREADS = 2 };

const struct command_option demo_options[] = {
    { "demand", 'd', "FILE",
      "play a recorded demand (CSV, plain or gzip) instead of a generated one", false },
    { "day", 0, "YYYY-MM-DD",
      "play this day of the file (default: the first weekday with a week of demand before it)",
      false },
    { "clouds", 0, NULL,
      "a fleet on Google, AWS and Azure; one of them does not answer for half an hour", false },
    { "slurm", 0, NULL, "research is scheduled by Slurm: 24.11 and 22.05", false },
    { "seed", 0, "N", "start value of the random numbers (default 1)", false },
    { "quiet", 'q', NULL, "show no board, only the result", false },
    { "log", 0, NULL, "write the service's log to standard error", false },
    { 0 },
};

/* Everything of one demo, in the order of making. */
struct demo {
    struct demo_world *world;
    struct config *config;
    struct demand *past;
    struct allocate_model *model;
    struct allocate_plan *plan;
    struct rehearsal *rehearsal;
};

static void clear(struct demo *demo)
{
    rehearsal_close(demo->rehearsal);
    allocate_plan_free(demo->plan);
    allocate_model_free(demo->model);
    demand_free(demo->past);
    config_free(demo->config);
    demo_world_free(demo->world);
}

static int make_plan(struct demo *demo, struct error *err)
{
    struct demand_options options = { 0 };
    struct allocate_model_options model = {
        .days = DEMO_PAST_DAYS,
        .scale = 1,
        .seeds = SEEDS,
        .threads = THREADS,
        .seed = 1,
    };

    demo->config = config_read(demo->world->config_path, err);
    demo->past = demo->config ? demand_read(demo->world->past_path, &options, err) : NULL;
    if (!demo->past)
        return -1;
    demo->model = allocate_model_new(demo->config, demo->past, &model, err);
    demo->plan = demo->model ? allocate_plan(demo->model, err) : NULL;
    if (!demo->plan)
        return error_context(err, "planning");
    if (!demo->plan->is_feasible)
        return error_set(err, ERROR_NO_CAPACITY, "the demand of %s does not fit the demo's nodes",
                         demo->world->source);
    return 0;
}

static const struct schedule *schedule_at(const struct demo *demo, struct wall_time at)
{
    const struct window *window = window_at(demo->config->windows, at);

    return demo->plan->schedules[window - demo->config->windows->items];
}

/* Starts the world as the schedule of that hour wants it. */
static int populate(const struct demo *demo, uint64_t seed, struct error *err)
{
    const struct schedule *schedule = schedule_at(demo, demo->world->start);
    owned(text) struct text *replicas = text_new(1 << 16);
    int nodes[DEMO_RESERVATIONS_MAX];

    for (size_t i = 0; i < demo->world->layout->count; i++)
        nodes[i] = demo_wanted(demo->config, schedule, i);
    for (size_t i = 0; i < schedule->replicas_count; i++) {
        const struct schedule_replicas *row = &schedule->replicas[i];
        bool is_first = i == 0 || !text_equal(schedule->replicas[i - 1].workload, row->workload);

        if (is_first)
            text_add(replicas, "%s  %s: {", i > 0 ? "}\n" : "", row->workload);
        text_add(replicas, "%s%s: %d", is_first ? "" : ", ", row->cluster, row->replicas);
    }
    text_add(replicas, "}\n");
    return demo_world_populate(demo->world, nodes, replicas->chars, seed, err);
}

static json_t *schedule_texts(const struct demo *demo)
{
    json_t *texts = json_object();

    for (size_t i = 0; i < demo->config->windows->count; i++) {
        owned(text) struct text *text = text_new(SCHEDULE_LIMIT);

        schedule_print(demo->plan->schedules[i], NULL, text);
        json_put(texts, demo->config->windows->items[i].name, json_text(text->chars));
    }
    return texts;
}

static int start_service(struct demo *demo, uint64_t seed, struct error *err)
{
    owned(json) json_t *texts = schedule_texts(demo);
    owned(json) json_t *plan = NULL;

    demo->rehearsal = rehearsal_open(demo->world->config_path, demo->world->world_path,
                                     demo->world->start, seed, err);
    if (!demo->rehearsal ||
        simulator_write_kubeconfigs(demo->rehearsal->simulator, demo->world->folder,
                                    "http://127.0.0.1:1", err) < 0 ||
        rehearsal_start(demo->rehearsal, err) < 0)
        return -1;
    rehearsal_run(demo->rehearsal, 5 * SECOND_MS);
    plan = service_apply(demo->rehearsal->service, texts, NULL, "demo", err);
    return plan ? 0 : -1;
}

static int read_day(const struct command_call *call, struct civil_date *ret_day, struct error *err)
{
    owned(chars) char *noon = text_format("%sT12:00:00Z", call_text(call, "day"));
    struct wall_time wall;

    if (!call_text(call, "demand"))
        return error_set(err, ERROR_INVALID, "--day chooses a day of the --demand file");
    if (wall_parse(noon, false, &wall, err) < 0)
        return error_context(err, "--day");
    *ret_day = civil_date_of_day(wall.ms / DAY_MS);
    return 0;
}

static int run(struct demo *demo, struct command_call *call, int64_t seed, struct error *err)
{
    struct demo_play play = { .is_quiet = call_flag(call, "quiet") || client_wants_json(call) };
    owned(json) json_t *report = NULL;
    struct civil_date day;

    if (call_text(call, "day") && read_day(call, &day, err) < 0)
        return -1;
    demo->world = demo_world_new(call_flag(call, "slurm")    ? &demo_slurm
                                 : call_flag(call, "clouds") ? &demo_clouds
                                                             : &demo_google,
                                 call_text(call, "demand"), call_text(call, "day") ? &day : NULL,
                                 (uint64_t)seed, err);
    if (!demo->world)
        return -1;
    if (!play.is_quiet)
        fprintf(stderr, "Planning from 7 days of demand (%s) ...\n", demo->world->source);
    if (make_plan(demo, err) < 0 || populate(demo, (uint64_t)seed, err) < 0 ||
        start_service(demo, (uint64_t)seed, err) < 0)
        return -1;
    play.rehearsal = demo->rehearsal;
    play.world = demo->world;
    play.schedules = demo->plan->schedules;
    if (demo_play_run(&play, err) < 0)
        return -1;
    report = demo_report_make(&play);
    client_show(call, report, demo_report_print);
    return demo_report_is_good(report) ? EXIT_DONE : EXIT_DIFFERENT;
}

int cmd_demo(struct command_call *call)
{
    struct demo demo = { 0 };
    struct error err = { 0 };
    int64_t seed = 1;
    int code;

    if (call_int(call, "seed", (struct int_range){ 0, INT64_MAX }, &seed, &err) < 0)
        return call_fail(call, EXIT_USAGE, &err);
    log_setup(call_flag(call, "log") ? LOG_INFO : LOG_SILENT, LOG_FORM_TEXT);
    code = run(&demo, call, seed, &err);
    clear(&demo);
    return code < 0 ? call_fail(call, EXIT_ERROR, &err) : code;
}
