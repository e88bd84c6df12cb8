/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice backtest: what each planning policy would have left to research on later weeks, which the
 * policy had not seen, and which targets it would have met.
 */
#include "base/file.h"
#include "base/input/json.h"
#include "base/meter.h"
#include "broker/backtest/backtest_print.h"
#include "broker/sizing/demand_input.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_LIMIT = 1 << 14 };

const struct command_option backtest_options[] = {
    { "demand", 'd', "FILE", "arrivals as CSV, plain or gzip, three weeks or more (required)",
      false },
    DEMAND_INPUT_OPTIONS,
    { "service", 0, "DURATION", "read no configuration; all queues have this mean service time",
      false },
    { "service-cv", 0, "V",
      "with --service: standard deviation of service times over their mean (default 1)", false },
    { "wait-target", 0, "DURATION", "with --service: the wait target of all queues (default 30s)",
      false },
    { "percentile", 0, "P",
      "with --service: P of 100 requests must not wait longer than the target (default 98)",
      false },
    { "gpus", 0, "N",
      "with --service: GPUs of a replica (default 1); 16: two nodes, 24: three nodes", false },
    { "slots", 0, "N",
      "a replica serves N requests at once; --service is then their time in a full batch", false },
    { "router", 0, "NAME",
      "with --slots: least-outstanding (default), random, round-robin or central", false },
    { "time-zone", 0, "ZONE",
      "with --service: the zone of windows, and of times without an offset (default UTC)", false },
    { "queue", 'q', "NAME", "with --service: this queue only", false },
    { "scale", 0, "X", "arrivals are multiplied by this (default 1)", false },
    { "load", 0, "X", "instead of --scale: scale each queue to this mean load, in busy servers",
      false },
    { "policy", 0, "NAME[,NAME]",
      "play only these policies; the name `bound` adds the bound (default: all)", true },
    { "without", 0, "PART[,PART]",
      "leave parts of sluice's forecast out, to see what they improve; ? lists the parts", true },
    { "missed", 0, NULL, "also list the window occurrences that sluice's plans missed, and why",
      false },
    { "learn", 0, "WEEKS", "weeks before the first judged week (default 2)", false },
    { "origins", 0, "N", "judge the last N weeks only (default: all)", false },
    { "plan-windows", 0, "WINDOWS",
      "windows that policies plan by: auto, judged, or N proposed ones (default: auto with "
      "--service, else judged)",
      false },
    { "nodes", 0, "N", "nodes of the fleet (default: a fifth over the highest peak)", false },
    { "follow", 0, "DURATION",
      "policy sluice-follow plans each window again, this long before it begins (default 1h)",
      false },
    { "up", 0, "DURATION",
      "time that a node takes to move to production (default 30m, or lead.prior_p95)", false },
    { "down", 0, "DURATION",
      "time that a node takes to move back to research (default 30m, or lead.prior_p50)", false },
    { "evicted", 0, "DURATION", "work that each GPU loses when its node is taken (default 15m)",
      false },
    { "price", 0, "X", "price of a GPU-hour (default 2.50)", false },
    { "attainment", 0, "P", "per cent of window occurrences that must meet the target (default 95)",
      false },
    { "seeds", 0, "N", "search with N seeds; the worst result counts (default 8)", false },
    { "seed", 0, "N", "start value of the random numbers (default 1)", false },
    { "threads", 0, "N", "threads (default 2); the answer does not depend on it", false },
    { "csv", 0, "FILE", "write the frontier: the result of each policy at each level", false },
    { "html", 0, "FILE", "write a report with the frontier as a picture", false },
    { 0 },
};

static int write_text(const char *path, const struct text *text, struct error *err)
{
    return file_write(path, text->chars, text->length, 0666, err);
}

/* The options as they were given; threads change nothing. */
static void add_line(const struct command_call *call, struct text *out)
{
    text_add(out, "sluice backtest");
    for (const struct command_option *option = backtest_options; option->name; option++)
        for (size_t i = 0; i < call_repeat(call, option->name); i++)
            if (!text_equal(option->name, "threads"))
                text_add(out, " --%s%s%s", option->name, option->argument ? " " : "",
                         option->argument ? call_text_at(call, option->name, i) : "");
    if (call_text(call, "config"))
        text_add(out, " --config %s", call_text(call, "config"));
}

static int write_files(const struct command_call *call, const struct backtest_inputs *inputs,
                       const struct backtest *backtest, struct error *err)
{
    owned(text) struct text *csv = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *html = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *line = text_new(LINE_LIMIT);

    backtest_csv(backtest, csv);
    add_line(call, line);
    backtest_html(inputs, backtest, line->chars, html);
    if (call_text(call, "csv") && write_text(call_text(call, "csv"), csv, err) < 0)
        return -1;
    return call_text(call, "html") ? write_text(call_text(call, "html"), html, err) : 0;
}

/* A long run must not end with a file that cannot be written. */
static int check_files(const struct command_call *call, struct error *err)
{
    static const char *const options[] = { "csv", "html" };

    for (size_t i = 0; i < COUNT_OF(options); i++)
        if (call_text(call, options[i]) && file_can_write(call_text(call, options[i]), err) < 0)
            return error_context(err, "--%s", options[i]);
    return 0;
}

/* On a terminal, the progress is shown while it runs. */
static struct meter *show_progress(struct backtest_inputs *inputs)
{
    struct meter *meter = meter_new(client_wants_json(inputs->call) ? -1 : STDERR_FILENO);

    inputs->setup.report = (struct progress_report){ meter_show, meter };
    return meter;
}

static int plan(struct backtest_inputs *inputs, struct error *err)
{
    owned(meter) struct meter *meter = show_progress(inputs);

    return backtest_inputs_plan(inputs, err);
}

static struct backtest *play(struct backtest_inputs *inputs, struct error *err)
{
    owned(meter) struct meter *meter = show_progress(inputs);

    return backtest_run(&inputs->setup, err);
}

static int run(struct backtest_inputs *inputs)
{
    struct command_call *call = inputs->call;
    struct error err = { 0 };

    if (check_files(call, &err) < 0 || backtest_inputs_read(inputs, &err) < 0 ||
        plan(inputs, &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);

    owned(backtest) struct backtest *backtest = play(inputs, &err);

    if (!backtest)
        return call_fail(call, EXIT_ERROR, &err);
    if (client_wants_json(call)) {
        owned(json) json_t *root = backtest_json(inputs, backtest);

        json_object_set_new(root, "demand",
                            demand_input_json(inputs->demand, &inputs->demand_options));

        client_print_json(call, root);
    } else {
        owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

        backtest_print(inputs, backtest, out);
        fputs(out->chars, stdout);
    }
    if (write_files(call, inputs, backtest, &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);
    return EXIT_DONE;
}

int cmd_backtest(struct command_call *call)
{
    owned(backtest_inputs) struct backtest_inputs inputs;
    struct error err = { 0 };

    if (backtest_inputs_options(&inputs, call, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    return run(&inputs);
}
