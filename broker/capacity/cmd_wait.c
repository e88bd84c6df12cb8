/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice wait: the closed forms, for checking by hand.  It asks no service (but for --for, which is
 * wait_for.h) and reads nothing.
 * Servers take one request at a time (windows/servers/erlang.h), or are engines
 * (windows/servers/engine_wait.h).
 */
#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "broker/capacity/engine_options.h"
#include "broker/capacity/wait_for.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/rate.h"
#include "windows/servers/engine_wait.h"
#include "windows/servers/erlang.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct command_option wait_options[] = {
    { "servers", 0, "N", "servers, each for one request at a time (required without --slots)",
      false },
    { "replicas", 0, "N", "replicas of an engine, instead of --servers (default 1)", false },
    { "rate", 0, "RATE", "arrivals, as 1.2/s, 70/m or 4000/h (required)", false },
    { "high", 0, "RATE",
      "the part of --rate that is served first; the other requests wait behind it", false },
    { "service", 0, "DURATION", "mean service time, as 25s (required without --iteration)", false },
    { "percentile", 0, "P", "the wait that P of 100 requests do not exceed (default 98)", false },
    ENGINE_OPTIONS,
    { "for", 0, "WHAT",
      "wait for the service instead: settled, CLUSTER=NODES, or the ID of a transfer or move",
      false },
    { "timeout", 0, "DURATION", "with --for: the longest wait (default 45m)", false },
    CLIENT_OPTIONS,
    { 0 },
};

struct question {
    struct station station;
    struct engine *engine; /* NULL: one request at a time */
    struct engine_station replicas;
    double rate;
    double high; /* negative: one class */
    double service_s;
    double percentile;
};

struct answer {
    const char *class;
    double rate;
    double mean_s;
    double quantile_s;
};

static int parse_rate(const struct command_call *call, const char *option, double *ret,
                      struct error *err)
{
    const char *text = call_text(call, option);

    if (!text || rate_parse(text, ret))
        return 0;
    return error_set(err, ERROR_INVALID, "--%s: \"%s\" is not a rate: write it like 1.2/s or 70/m",
                     option, text);
}

static int read_servers(const struct command_call *call, int64_t *ret, struct error *err)
{
    if (call_text(call, "servers") && call_text(call, "replicas"))
        return error_set(err, ERROR_INVALID, "--servers and --replicas: give one of them");
    if (call_int(call, "servers", (struct int_range){ 1, ERLANG_SERVERS_MAX }, ret, err) < 0)
        return -1;
    return call_int(call, "replicas", (struct int_range){ 1, ENGINE_REPLICAS_MAX }, ret, err);
}

/* 0, or -1: the options do not make a question. */
static int read_question(struct command_call *call, struct question *question, struct error *err)
{
    int64_t servers = 0;
    int64_t service_ms = 0;

    *question = (struct question){ .rate = -1, .high = -1, .percentile = 98 };
    if (read_servers(call, &servers, err) < 0 ||
        call_duration(call, "service", &service_ms, err) < 0 ||
        call_double(call, "percentile", (struct double_range){ 0.001, 99.999 },
                    &question->percentile, err) < 0 ||
        parse_rate(call, "rate", &question->rate, err) < 0 ||
        parse_rate(call, "high", &question->high, err) < 0)
        return -1;
    question->service_s = (double)service_ms / 1000;
    question->engine = engine_options_read(call, question->service_s, false, err);
    if (err->kind != ERROR_NONE)
        return -1;
    if (question->rate < 0 || (!question->engine && (servers == 0 || service_ms == 0)))
        return error_set(err, ERROR_INVALID,
                         "--servers, --rate and --service are required (and not zero)");
    if (question->high > question->rate)
        return error_set(err, ERROR_INVALID, "--high is a part of --rate and cannot be more");
    question->station = (struct station){ (int)(servers > 0 ? servers : 1),
                                          1 / question->service_s };
    if (question->engine)
        question->replicas = engine_station_of(question->engine, question->station.servers);
    return 0;
}

static struct answer engine_answer(const struct question *question, const char *class)
{
    const struct engine_station *station = &question->replicas;
    double high = question->high;
    double low = question->rate - question->high;
    double p = question->percentile / 100;

    if (text_equal(class, "high"))
        return (struct answer){ class, high, engine_high_mean(station, high, low),
                                engine_high_quantile(station, high, low, p) };
    if (text_equal(class, "low"))
        return (struct answer){ class, low, engine_low_mean(station, high, low),
                                engine_low_quantile(station, high, low, p) };
    return (struct answer){ class, question->rate, engine_state(station, question->rate).wait_s,
                            engine_quantile(station, question->rate, p) };
}

static struct answer plain_answer(const struct question *question, const char *class)
{
    const struct station station = question->station;
    double rates[2] = { question->high, question->rate - question->high };
    double p = question->percentile / 100;

    if (text_equal(class, "high"))
        return (struct answer){ class, rates[0], erlang_class_mean(station, rates, 2, 0),
                                erlang_high_quantile(station, rates[0], rates[1], p) };
    if (text_equal(class, "low"))
        return (struct answer){ class, rates[1], erlang_class_mean(station, rates, 2, 1),
                                erlang_low_quantile(station, rates[0], rates[1], p) };
    return (struct answer){ class, question->rate, erlang_mean_wait(station, question->rate),
                            erlang_quantile(station, question->rate, p) };
}

static size_t find_answers(const struct question *question, struct answer answers[2])
{
    static const char *const names[] = { "all", "high", "low" };
    const char *const *class = question->high < 0 ? names : names + 1;
    size_t count = question->high < 0 ? 1 : 2;

    for (size_t i = 0; i < count; i++)
        answers[i] = question->engine ? engine_answer(question, class[i])
                                      : plain_answer(question, class[i]);
    return count;
}

/* The whole load that is asked about. */
struct load {
    double erlangs; /* requests in service */
    double service_s;
    double utilisation;
    double waiting; /* share that waits */
    double first_token_s;
};

static struct load find_load(const struct question *question)
{
    double erlangs = question->rate / question->station.mu;
    struct engine_state state;

    if (!question->engine)
        return (struct load){ .erlangs = erlangs,
                              .service_s = question->service_s,
                              .utilisation = erlangs / question->station.servers,
                              .waiting = erlang_c(question->station.servers, erlangs) };
    state = engine_state(&question->replicas, question->rate);
    return (struct load){ .erlangs = state.running,
                          .service_s = state.residence_s,
                          .utilisation = question->rate / engine_capacity(&question->replicas),
                          .waiting = state.waiting,
                          .first_token_s = engine_first_token_s(
                              question->engine, question->replicas.replicas, question->rate) };
}

/* JSON has no infinity. */
static json_t *seconds_or_null(double seconds)
{
    return isfinite(seconds) ? json_real(seconds) : json_null();
}

static json_t *engine_json(const struct question *question, const struct load *load)
{
    const struct engine *engine = question->engine;
    double slots = (double)engine->law.slots * question->replicas.replicas;
    bool is_short = engine->is_short;

    return json_make("{s:i, s:b, s:s, s:f, s:f, s:f, s:o, s:o, s:o}", "slots", engine->law.slots,
                     "is_kv_limited", engine->is_kv_limited, "router",
                     engine_router_name(engine->law.router), "capacity_per_s",
                     engine_capacity(&question->replicas), "running_mean", load->erlangs,
                     "occupancy", load->erlangs / slots, "token_mean_s",
                     seconds_or_null(is_short ? NAN : load->service_s / engine->mean_out),
                     "first_token_mean_s", seconds_or_null(is_short ? NAN : load->first_token_s),
                     "floor_s", seconds_or_null(is_short ? NAN : engine_floor_s(engine)));
}

static void print_json(const struct command_call *call, const struct question *question,
                       const struct load *load, const struct answer *answers, size_t count)
{
    owned(json) json_t *root = json_make(
        "{s:i, s:f, s:f, s:f, s:f, s:b, s:f, s:f}", "servers", question->station.servers,
        "rate_per_s", question->rate, "service_s", load->service_s, "load_erlangs", load->erlangs,
        "utilisation", load->utilisation, "is_stable", load->utilisation < 1, "wait_probability",
        load->waiting, "percentile", question->percentile);
    json_t *classes = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *class = json_make("{s:s, s:f, s:o, s:o}", "class", answers[i].class, "rate_per_s",
                                  answers[i].rate, "wait_mean_s",
                                  seconds_or_null(answers[i].mean_s), "wait_quantile_s",
                                  seconds_or_null(answers[i].quantile_s));

        if (question->percentile == 98)
            json_object_set_new(class, "wait_p98_s", seconds_or_null(answers[i].quantile_s));
        json_array_append_new(classes, class);
    }
    if (question->engine)
        json_object_set_new(root, "engine", engine_json(question, load));
    json_object_set_new(root, "classes", classes);

    client_print_json(call, root);
}

/* The error of the closed form for such a router; for one replica it is exact. */
static const char *router_note(const struct question *question)
{
    static const char *const notes[ENGINE_ROUTERS] = {
        [ENGINE_LEAST_OUTSTANDING] =
            "computed as if all replicas were equally full.  A simulation at 90 % load differs: "
            "with 4\n"
            "          replicas 10 % fewer requests wait than computed here, and the wait at 98 % "
            "is 12 %\n"
            "          longer; with 10 replicas 23 % fewer and 18 % longer",
        [ENGINE_ROUND_ROBIN] = "counts as random: no closed form, waits are shorter than shown",
    };

    return question->replicas.replicas > 1 ? notes[question->engine->law.router] : NULL;
}

static void print_engine(const struct question *question, const struct load *load)
{
    const struct engine *engine = question->engine;
    int replicas = question->replicas.replicas;
    const char *note = router_note(question);

    printf("capacity  %.6g requests a second: %d replica%s of %d slots%s\n",
           engine_capacity(&question->replicas), replicas, replicas == 1 ? "" : "s",
           engine->law.slots, engine->is_kv_limited ? ", limited by the cache" : "");
    printf("load      %.1f %%; on average %.6g slots run (%.1f %%)\n", 100 * load->utilisation,
           load->erlangs, 100 * load->erlangs / engine->law.slots / replicas);
    if (!engine->is_short) {
        printf(
            "tokens    %.6g ms each (%.6g alone, %.6g in a full batch); the first after %.6g s\n",
            1000 * load->service_s / engine->mean_out, 1000 * engine_iteration_s(&engine->law, 1),
            1000 * (question->replicas.fixed_s / engine->mean_out +
                    question->replicas.slope_s / engine->mean_out * engine->law.slots),
            load->first_token_s);
        printf("floor     %.6g ms, one iteration of a full batch: more replicas make no wait "
               "shorter\n",
               1000 * engine_floor_s(engine));
    }
    if (replicas > 1)
        printf("router    %s%s%s\n", engine_router_name(engine->law.router), note ? ": " : "",
               note ? note : "");
}

static void print_table(const struct question *question, const struct load *load,
                        const struct answer *answers, size_t count)
{
    if (question->engine)
        print_engine(question, load);
    else
        printf("load      %.6g erlangs on %d servers (%.1f %%)\n", load->erlangs,
               question->station.servers, 100 * load->utilisation);
    if (!(load->utilisation < 1))
        printf("unstable  more arrives than can be served: the queue grows without end\n");
    printf("P(wait)   %.6g\n", load->waiting);
    printf("\n%-6s %12s %14s %13s%g\n", "CLASS", "RATE_PER_S", "MEAN_WAIT_S", "WAIT_S_P",
           question->percentile);
    for (size_t i = 0; i < count; i++)
        printf("%-6s %12.6g %14.6g %14.6g\n", answers[i].class, answers[i].rate, answers[i].mean_s,
               answers[i].quantile_s);
}

int cmd_wait(struct command_call *call)
{
    struct question question;
    struct answer answers[2];
    struct error err = { 0 };

    if (call_text(call, "for"))
        return wait_for(call);
    if (read_question(call, &question, &err) < 0) {
        mem_free(question.engine);
        return call_usage_error(call, "%s", err.text);
    }

    struct load load = find_load(&question);
    size_t count = find_answers(&question, answers);

    if (client_wants_json(call))
        print_json(call, &question, &load, answers, count);
    else
        print_table(&question, &load, answers, count);
    mem_free(question.engine);
    return EXIT_DONE;
}
