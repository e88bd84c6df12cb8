/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice wait: the closed forms, for checking by hand.  It asks nobody and reads nothing.
 */
#include "base/json.h"
#include "broker/cli/client.h"
#include "broker/cli/commands.h"
#include "broker/cli/rate.h"
#include "windows/erlang.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct command_option wait_options[] = {
    { "servers", 0, "N", "servers, each for one request at a time (required)", false },
    { "rate", 0, "RATE", "arrivals, as 1.2/s, 70/m or 4000/h (required)", false },
    { "high", 0, "RATE", "of these, requests that go first; the others wait behind them", false },
    { "service", 0, "DURATION", "mean time of one service: 25s (required)", false },
    { "percentile", 0, "P", "the wait that P of 100 requests do not exceed (default 98)", false },
    { 0 },
};

const char wait_examples[] = "sluice wait --servers 40 --rate 1.2/s --service 25s\n"
                             "sluice wait --servers 10 --rate 8.5/s --high 3/s --service 1s\n"
                             "sluice wait --servers 40 --rate 1.2/s --service 25s -o json\n";

const char wait_text[] =
    "Poisson arrivals, exponential service, first come first served within a priority.  With at\n"
    "least as much load as servers there is no steady state: the command says so, waits are\n"
    "\"inf\" (null in JSON), and the exit code is 0.\n"
    "\n"
    "JSON: servers, rate_per_s, service_s, load_erlangs, utilisation, is_stable, "
    "wait_probability,\n"
    "percentile, classes: [{class (all, high, low), rate_per_s, wait_mean_s, wait_quantile_s}]; "
    "at\n"
    "percentile 98 each class also has wait_p98_s.\n";

struct question {
    struct station station;
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

/* 0, or -1: the options do not make a question. */
static int read_question(struct command_call *call, struct question *question, struct error *err)
{
    int64_t servers = 0;
    int64_t service_ms = 0;

    *question = (struct question){ .rate = -1, .high = -1, .percentile = 98 };
    if (call_int(call, "servers", 1, ERLANG_SERVERS_MAX, &servers, err) < 0 ||
        call_duration(call, "service", &service_ms, err) < 0 ||
        call_double(call, "percentile", 0.001, 99.999, &question->percentile, err) < 0 ||
        parse_rate(call, "rate", &question->rate, err) < 0 ||
        parse_rate(call, "high", &question->high, err) < 0)
        return -1;
    if (servers == 0 || service_ms == 0 || question->rate < 0)
        return error_set(err, ERROR_INVALID,
                         "--servers, --rate and --service are required (and not zero)");
    if (question->high > question->rate)
        return error_set(err, ERROR_INVALID, "--high is a part of --rate and cannot be more");
    question->service_s = (double)service_ms / 1000;
    question->station = (struct station){ (int)servers, 1 / question->service_s };
    return 0;
}

static size_t find_answers(const struct question *question, struct answer answers[2])
{
    double rates[2] = { question->high, question->rate - question->high };
    double p = question->percentile / 100;

    if (question->high < 0) {
        answers[0] = (struct answer){ "all", question->rate,
                                      erlang_mean_wait(question->station, question->rate),
                                      erlang_quantile(question->station, question->rate, p) };
        return 1;
    }
    answers[0] = (struct answer){ "high", rates[0],
                                  erlang_class_mean(question->station, rates, 2, 0),
                                  erlang_high_quantile(question->station, rates[0], rates[1], p) };
    answers[1] = (struct answer){ "low", rates[1],
                                  erlang_class_mean(question->station, rates, 2, 1),
                                  erlang_low_quantile(question->station, rates[0], rates[1], p) };
    return 2;
}

/* JSON has no infinity. */
static json_t *seconds_or_null(double seconds)
{
    return isfinite(seconds) ? json_real(seconds) : json_null();
}

static void print_json(const struct question *question, double load, const struct answer *answers,
                       size_t count)
{
    owned(json) json_t *root = json_make(
        "{s:i, s:f, s:f, s:f, s:f, s:b, s:f, s:f}", "servers", question->station.servers,
        "rate_per_s", question->rate, "service_s", question->service_s, "load_erlangs", load,
        "utilisation", load / question->station.servers, "is_stable",
        load < question->station.servers, "wait_probability",
        erlang_c(question->station.servers, load), "percentile", question->percentile);
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
    json_object_set_new(root, "classes", classes);

    client_print_json(root);
}

static void print_table(const struct question *question, double load, const struct answer *answers,
                        size_t count)
{
    printf("load      %.6g erlangs on %d servers (%.1f %%)\n", load, question->station.servers,
           100 * load / question->station.servers);
    if (!(load < question->station.servers))
        printf("unstable  more arrives than can be served: the queue grows without end\n");
    printf("P(wait)   %.6g\n", erlang_c(question->station.servers, load));
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

    if (read_question(call, &question, &err) < 0)
        return call_usage_error(call, "%s", err.text);

    double load = question.rate / question.station.mu;
    size_t count = find_answers(&question, answers);

    if (client_wants_json(call))
        print_json(&question, load, answers, count);
    else
        print_table(&question, load, answers, count);
    return EXIT_DONE;
}
