/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice replay: a demand file against a number of servers, or of replicas that are engines,
 * without a configuration.
 */
#include "base/input/json.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "broker/capacity/engine_options.h"
#include "broker/sizing/demand_input.h"
#include "broker/sizing/engine_facts.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "windows/queueing/search_targets.h"
#include "windows/servers/engine_lengths.h"
#include "windows/servers/erlang.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

const struct command_option replay_options[] = {
    { "demand", 'd', "FILE", "arrivals as CSV, plain or gzip (required)", false },
    { "queue", 'q', "NAME", "the queue, if the file has several", false },
    { "servers", 0, "N",
      "servers, each for one request at a time, or replicas of an engine (required)", false },
    { "service", 0, "DURATION",
      "mean service time (required without --iteration); with --slots: the time of a request in a "
      "full batch",
      false },
    { "service-cv", 0, "V",
      "standard deviation of service times over their mean (default 1: exponential); for an "
      "engine, of the lengths of answers",
      false },
    ENGINE_OPTIONS,
    { "scale", 0, "X", "arrivals are multiplied by this (default 1)", false },
    { "seeds", 0, "N", "replay with N seeds; the worst result is reported (default 1)", false },
    { "seed", 0, "N", "start value of the random numbers (default 1)", false },
    { "days", 0, "N", "only the last N days of the file (default: all)", false },
    { "target", 0, "DURATION",
      "count the requests that wait longer than this (default 0s: all that wait)", false },
    { "ttft-target", 0, "DURATION", "engine: count the first tokens that take longer than this",
      false },
    { "itl-target", 0, "DURATION",
      "engine: count the requests whose later tokens take longer than this on average", false },
    { "percentile", 0, "P", "also show the wait that P of 100 requests do not exceed (default 98)",
      false },
    DEMAND_INPUT_OPTIONS,
    { "time-zone", 0, "ZONE", "the zone of times in the file without an offset (default UTC)",
      false },
    { 0 },
};

struct replay_command {
    struct demand_options demand;
    struct search_setup setup;
    struct service_shape *shape;
    struct engine_law law; /* of an engine that is whole */
    bool lacks_lengths;    /* no option gives token lengths: those of the demand's rows are used */
    int64_t slots;         /* as asked for */
    int64_t servers;
    int64_t days;
    double requests_per_s;
};

/* An engine without lengths takes them from the demand's rows: command->law then waits for them. */
static struct service_shape *shape_of_law(struct replay_command *command,
                                          const struct command_call *call,
                                          const struct engine *engine, double cv, struct error *err)
{
    const struct engine_tokens tokens = { engine->mean_in, engine->mean_out, cv, SERVICE_BY_CV };

    command->law = engine->law;
    command->law.slots = (int)command->slots;
    command->lacks_lengths = engine->mean_out < 1;
    if (command->lacks_lengths) {
        if (call_text(call, "service-cv"))
            error_set(err, ERROR_INVALID, "--service-cv needs --tokens-out beside it");
        return NULL;
    }
    return service_shape_of_engine(engine_new_by_law(&command->law, &tokens), "options", err);
}

/* The shape of a server of one request at a time, or of an engine, by its law or in the short
   form.  NULL without an error: command->lacks_lengths. */
static struct service_shape *read_shape(struct replay_command *command,
                                        const struct command_call *call, struct error *err)
{
    int64_t service_ms = 0;
    double cv = 1;

    if (call_duration(call, "service", &service_ms, err) < 0 ||
        call_double(call, "service-cv", (struct double_range){ 0, 100 }, &cv, err) < 0)
        return NULL;

    double service_s = (double)service_ms / SECOND_MS;
    struct engine *engine = engine_options_read(call, service_s, true, err);
    struct service_shape *shape = NULL;

    if (err->kind != ERROR_NONE)
        return NULL;
    if (service_ms > DAY_MS || (!engine && service_ms <= 0)) {
        error_set(err, ERROR_INVALID,
                  service_ms > 0 ? "--service: more than a day"
                                 : "--demand, --servers and --service are required");
    } else if (engine_has_tokens(engine)) {
        shape = shape_of_law(command, call, engine, cv, err);
    } else {
        shape = service_shape_new(SERVICE_BY_CV, service_s, cv, "options");
        if (engine)
            service_shape_set_slots(shape, engine->law.slots, engine->law.router);
    }
    mem_free(engine);
    return shape;
}

static int read_targets(const struct command_call *call, struct replay_target *target,
                        struct error *err)
{
    static const char *const names[] = { "ttft-target", "itl-target" };
    struct replay_limit *const limits[] = { &target->ttft, &target->itl };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        limits[i]->percentile = target->percentile;
        if (call_text(call, names[i]) &&
            seconds_parse(call_text(call, names[i]), &limits[i]->limit_s, err) < 0)
            return error_context(err, "--%s", names[i]);
    }
    return 0;
}

/* Servers that are no engines have no tokens, so no targets for tokens. */
static int check_targets(const struct replay_command *command, struct error *err)
{
    const struct engine *engine = service_shape_engine(command->shape);
    const struct replay_target *target = &command->setup.target;

    if (command->lacks_lengths)
        return 0;
    if ((target->ttft.limit_s > 0 || target->itl.limit_s > 0) && !engine_has_tokens(engine))
        return error_set(err, ERROR_INVALID,
                         "--ttft-target and --itl-target need an engine with --iteration");
    return 0;
}

static int read_options(struct command_call *call, struct replay_command *command,
                        struct error *err)
{
    int64_t seeds = 1;
    int64_t seed = 1;
    struct search_setup *setup = &command->setup;

    *command = (struct replay_command){ .slots = 0 };
    setup->scale = 1;
    setup->target = (struct replay_target){ .wait_ms = 0, .percentile = 98 };
    if (call_int(call, "servers", (struct int_range){ 1, ERLANG_SERVERS_MAX }, &command->servers,
                 err) < 0 ||
        call_int(call, "slots", (struct int_range){ 1, ENGINE_SLOTS_MAX }, &command->slots, err) <
            0 ||
        call_double(call, "scale", (struct double_range){ 0, 1e6 }, &setup->scale, err) < 0 ||
        call_int(call, "seeds", (struct int_range){ 1, 1000 }, &seeds, err) < 0 ||
        call_int(call, "seed", (struct int_range){ 0, INT64_MAX }, &seed, err) < 0 ||
        call_int(call, "days", (struct int_range){ 1, 36500 }, &command->days, err) < 0 ||
        call_duration(call, "target", &setup->target.wait_ms, err) < 0 ||
        call_double(call, "percentile", (struct double_range){ 0.001, 100 },
                    &setup->target.percentile, err) < 0 ||
        read_targets(call, &setup->target, err) < 0)
        return -1;
    if (!call_text(call, "demand") || command->servers == 0)
        return error_set(err, ERROR_INVALID, "--demand, --servers and --service are required");
    command->shape = read_shape(command, call, err);
    if (err->kind != ERROR_NONE || check_targets(command, err) < 0)
        return -1;
    command->demand = demand_input_options(call, NULL);
    setup->seeds = (int)seeds;
    setup->seed = (uint64_t)seed;
    return 0;
}

static const struct demand_series *choose_queue(const struct demand *demand, const char *queue,
                                                struct error *err)
{
    const struct demand_series *series = &demand->series[0];

    if (queue) {
        series = demand_need(demand, queue, err);
    } else if (demand->count > 1) {
        error_set(err, ERROR_INVALID,
                  "the demand has %zu queues; choose one with --queue (%s, ...)", demand->count,
                  series->queue);
        series = NULL;
    }
    return series;
}

static double larger(double left, double right)
{
    return left > right ? left : right;
}

static void take_worst_spread(struct replay_spread *worst, const struct replay_spread *found)
{
    worst->violations = found->violations > worst->violations ? found->violations
                                                              : worst->violations;
    worst->mean_s = larger(worst->mean_s, found->mean_s);
    worst->p50_s = larger(worst->p50_s, found->p50_s);
    worst->p90_s = larger(worst->p90_s, found->p90_s);
    worst->p98_s = larger(worst->p98_s, found->p98_s);
    worst->p99_s = larger(worst->p99_s, found->p99_s);
    worst->max_s = larger(worst->max_s, found->max_s);
    worst->quantile_s = larger(worst->quantile_s, found->quantile_s);
}

/* For each figure the worse of the previous value and that of one more repetition. */
static void take_worst(struct replay_class *worst, const struct replay_class *found)
{
    worst->count = found->count;
    worst->violations = found->violations > worst->violations ? found->violations
                                                              : worst->violations;
    worst->mean_s = larger(worst->mean_s, found->mean_s);
    worst->p50_s = larger(worst->p50_s, found->p50_s);
    worst->p90_s = larger(worst->p90_s, found->p90_s);
    worst->p98_s = larger(worst->p98_s, found->p98_s);
    worst->p99_s = larger(worst->p99_s, found->p99_s);
    worst->max_s = larger(worst->max_s, found->max_s);
    worst->quantile_s = larger(worst->quantile_s, found->quantile_s);
    take_worst_spread(&worst->ttft, &found->ttft);
    take_worst_spread(&worst->itl, &found->itl);
}

static int run_seeds(struct replay_command *command, struct replay_result *worst, struct error *err)
{
    clock_t begin = clock();
    double requests = 0;

    require(command->servers > 0 && command->setup.seeds > 0); /* else nothing was the worst */
    for (int seed = 0; seed < command->setup.seeds; seed++) {
        owned(arrivals) struct arrivals *arrivals = search_arrivals(&command->setup, seed, err);
        struct replay_result result;

        if (!arrivals || replay_report(arrivals, (int)command->servers, &command->setup.target,
                                       &result, err) < 0)
            return -1;
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            take_worst(&worst->classes[class], &result.classes[class]);
            requests += (double)result.classes[class].count;
        }
    }

    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;

    command->requests_per_s = seconds > 0 ? requests / seconds : 0;
    return 0;
}

static const char *class_name(const struct demand_series *series, int class)
{
    if (series->is_single)
        return "all";
    return class == DEMAND_HIGH ? "high" : "low";
}

static bool has_tokens(const struct replay_command *command)
{
    return search_has_tokens(command->setup.service);
}

static json_t *spread_json(const struct replay_command *command, const struct replay_spread *found)
{
    return has_tokens(command)
               ? json_make("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "mean_s", found->mean_s,
                           "p50_s", found->p50_s, "p90_s", found->p90_s, "p98_s", found->p98_s,
                           "p99_s", found->p99_s, "max_s", found->max_s, "quantile_s",
                           found->quantile_s, "violations", (json_int_t)found->violations)
               : json_null();
}

static json_t *result_json(const struct replay_command *command, const struct demand *demand,
                           const struct replay_result *result, size_t steps_known)
{
    const struct demand_series *series = command->setup.series;

    require(steps_known <= series->count);

    json_t *root = json_make(
        "{s:s, s:I, s:f, s:f, s:f, s:i, s:I, s:I, s:f, s:f}", "queue", series->queue, "servers",
        (json_int_t)command->servers, "service_s", command->shape->mean_s, "service_cv",
        command->shape->cv, "scale", command->setup.scale, "seeds", command->setup.seeds,
        "steps_known", (json_int_t)steps_known, "steps_unknown",
        (json_int_t)(series->count - steps_known), "percentile", command->setup.target.percentile,
        "requests_per_s", command->requests_per_s);
    json_t *classes = json_array();

    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        const struct replay_class *found = &result->classes[class];

        if (!series->counts[class])
            continue;
        json_array_append_new(
            classes,
            json_make("{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:o, s:o}", "class",
                      class_name(series, class), "requests", (json_int_t)found->count,
                      "wait_mean_s", found->mean_s, "wait_p50_s", found->p50_s, "wait_p90_s",
                      found->p90_s, "wait_p98_s", found->p98_s, "wait_p99_s", found->p99_s,
                      "wait_max_s", found->max_s, "wait_quantile_s", found->quantile_s,
                      "violations", (json_int_t)found->violations, "ttft",
                      spread_json(command, &found->ttft), "itl",
                      spread_json(command, &found->itl)));
    }
    json_object_set_new(root, "engine", engine_facts_json(service_shape_engine(command->shape)));
    json_object_set_new(root, "classes", classes);
    json_object_set_new(root, "demand", demand_input_json(demand, &command->demand));
    return root;
}

static void print_spread(const char *class, const char *what, const struct replay_spread *found)
{
    printf("%-6s %12s %11.4f %10.4f %10.4f %10.4f %10.4f %10.4f %12" PRId64 "\n", class, what,
           found->mean_s, found->p50_s, found->p90_s, found->p98_s, found->p99_s, found->max_s,
           found->violations);
}

/* The same columns of tokens. */
static void print_tokens(const struct replay_command *command, const struct replay_result *result)
{
    const struct demand_series *series = command->setup.series;

    for (int class = 0; class < DEMAND_CLASSES && has_tokens(command); class ++)
        if (series->counts[class]) {
            print_spread(class_name(series, class), "FIRST_TOKEN", &result->classes[class].ttft);
            print_spread(class_name(series, class), "LATER_TOKENS", &result->classes[class].itl);
        }
}

static void print_table(const struct replay_command *command, const struct replay_result *result)
{
    const struct demand_series *series = command->setup.series;

    printf("%-6s %12s %11s %10s %10s %10s %10s %10s %12s\n", "CLASS", "REQUESTS", "MEAN_WAIT_S",
           "P50_S", "P90_S", "P98_S", "P99_S", "MAX_S", "VIOLATIONS");
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        const struct replay_class *found = &result->classes[class];

        if (series->counts[class])
            printf("%-6s %12" PRId64 " %11.4f %10.3f %10.3f %10.3f %10.3f %10.3f %12" PRId64 "\n",
                   class_name(series, class), found->count, found->mean_s, found->p50_s,
                   found->p90_s, found->p98_s, found->p99_s, found->max_s, found->violations);
    }
    print_tokens(command, result);
    fprintf(stderr, "%.1f million requests a second of processor time\n",
            command->requests_per_s / 1e6);
}

/* An engine whose lengths no option gives takes those of the queue's rows. */
static int take_lengths(struct replay_command *command, const struct demand_series *series,
                        struct error *err)
{
    if (!command->lacks_lengths)
        return 0;
    if (!series->tokens)
        return error_set(err, ERROR_INVALID,
                         "--tokens-out is needed, the mean length of an answer: the demand has no "
                         "columns of tokens (input_tokens and output_tokens)");
    if (token_pairs_check(series->tokens, "the demand", series->queue, err) < 0)
        return -1;

    fprintf(stderr, "note: lengths are those of the demand's rows (%.12g requests)\n",
            series->tokens->requests);
    command->shape = service_shape_of_engine(engine_new_by_pairs(&command->law, series->tokens),
                                             "the demand's rows", err);
    return command->shape ? check_targets(command, err) : -1;
}

static int replay_demand(struct command_call *call, struct replay_command *command,
                         const struct demand *demand)
{
    struct error err = { 0 };
    const struct demand_series *series = choose_queue(demand, call_text(call, "queue"), &err);

    if (!series || take_lengths(command, series, &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);

    owned(service_time) struct service_time *service = service_time_shaped(command->shape);
    owned(segments) struct segment_list segments = { 0 };
    struct replay_result result = { 0 };
    struct wall_time end = demand_time(series, series->count);
    size_t steps_known = 0;

    segments_of_series(series,
                       (struct wall_span){
                           command->days > 0 ? (struct wall_time){ end.ms - command->days * DAY_MS }
                                             : series->start,
                           end },
                       &segments);
    for (size_t i = 0; i < segments.list.count; i++)
        steps_known += segments.list.items[i].count;
    command->setup.series = series;
    command->setup.segments = &segments;
    command->setup.service = service;
    if (run_seeds(command, &result, &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);
    if (client_wants_json(call)) {
        owned(json) json_t *root = result_json(command, demand, &result, steps_known);

        client_print_json(call, root);
    } else {
        print_table(command, &result);
    }
    return EXIT_DONE;
}

static int run(struct command_call *call, struct replay_command *command)
{
    struct error err = { 0 };

    if (read_options(call, command, &err) < 0)
        return call_usage_error(call, "%s", err.text);

    owned(time_zone) struct time_zone *zone = time_zone_open(call_text_or(call, "time-zone", "UTC"),
                                                             &err);

    if (!zone)
        return call_fail(call, EXIT_ERROR, &err);
    command->demand.zone = zone;

    owned(demand) struct demand *demand = demand_input_read(call_text(call, "demand"),
                                                            &command->demand, &err);

    return demand ? replay_demand(call, command, demand) : call_fail(call, EXIT_ERROR, &err);
}

int cmd_replay(struct command_call *call)
{
    struct replay_command command;
    int code = run(call, &command);

    service_shape_free(command.shape);
    return code;
}
