/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a backtest's numbers rest on, in sentences.
 */
#include "broker/backtest/backtest_print.h"
#include "broker/sizing/engine_facts.h"
#include "windows/forecast/forecast_parts.h"

#include <inttypes.h>
#include <math.h>

const char *const backtest_caveats[] = {
    "The oracle is found by descent: a better one may exist, and then all shares are a little "
    "lower. By how much at most, the bound says; it holds for every policy that meets every "
    "target, and a "
    "policy that misses some may pass it.",
    "Lead times and evicted work are constants here; in a real fleet they vary, and "
    "machines can be out of stock.",
    "A policy's replicas start and stop with its nodes' slots; images and models that load slowly "
    "count as lead time only as far as --up says so.",
    "One recorded past is one sample: with few weeks the shares of targets met are uncertain by "
    "several per cent.",
    "Arrivals inside a step of the record are drawn anywhere in it; bursts shorter than a step are "
    "not in it.",
    NULL,
};

enum { NAMES_LIMIT = 1024, LINE_LIMIT = 1024 };

struct teller {
    void (*line)(void *context, const char *text);
    void *context;
};

static void say(const struct teller *teller, char *text)
{
    teller->line(teller->context, text);
    mem_free(text);
}

/* The rows left out by --policy, and the figures that are missing without them. */
static void say_played(const struct backtest_inputs *inputs, const struct backtest *backtest,
                       const struct teller *teller)
{
    owned(text) struct text *names = text_new(NAMES_LIMIT);

    if (inputs->setup.played == 0)
        return;
    for (size_t i = 0; i < backtest->count; i++)
        text_add(names, "%s%s", i > 0 ? ", " : "", backtest->rows[i].policy->name);
    say(teller, text_format("Played: %s%s (--policy).", names->chars,
                            backtest->has_limit ? ", and the bound" : ""));
    if (!backtest_row(backtest, POLICY_STATIC))
        say(teller,
            text_format("Money: not told, since %s was not played.", policies[POLICY_STATIC].name));
}

static void say_recovered(const struct backtest_inputs *inputs, const struct backtest *backtest,
                          const struct teller *teller)
{
    const char *oracle = policies[policies_oracle()].name;
    const struct backtest_row *peak = backtest_row(backtest, POLICY_STATIC);

    if (backtest->has_recovered)
        say(teller,
            text_format("Recovered: research GPU-hours over those of static-peak, as a share of "
                        "what %s recovers; at equal: the best level, in hindsight, that met %g %%, "
                        "or a mix of it with its neighbour that meets just that.",
                        oracle, inputs->attainment));
    else
        say(teller, text_format("Recovered: not told, since that takes %s and %s.",
                                policies[POLICY_STATIC].name, oracle));
    if (backtest->has_recovered && 100 * peak->tuned.attainment < inputs->attainment)
        say(teller,
            text_format("Recovered says little here: static-peak met %.1f %% of its targets, so it "
                        "holds too little, and a plan that meets more has to recover less. Compare "
                        "GPU-hours of plans that meet as much.",
                        100 * peak->tuned.attainment));
}

static bool is_engine(const struct backtest_inputs *inputs, const struct demand_series *series)
{
    for (size_t i = 0; i < inputs->setup.queue_count; i++)
        if (inputs->queues[i].series == series)
            return service_shape_engine(inputs->queues[i].shape) != NULL;
    return false;
}

static void say_limit(const struct backtest_inputs *inputs, const struct backtest *backtest,
                      const struct teller *teller)
{
    const struct backtest_row *oracle = backtest_row(backtest, policies_oracle());
    double taken_h = oracle ? backtest_node_hours(backtest, &oracle->tuned) : 0;
    double least_h = backtest->limit.node_h;

    require(!(backtest->unbounded && backtest->has_limit));

    owned(text) struct text *out = text_new(LINE_LIMIT);

    if (backtest->unbounded && is_engine(inputs, backtest->unbounded))
        say(teller, text_format("Bound: not told. A replica of queue %s serves many requests at "
                                "once, and the proof gives each request a server of its own.",
                                backtest->unbounded->queue));
    else if (backtest->unbounded)
        say(teller, text_format("Bound: not told. Queue %s is unknown while others are known.",
                                backtest->unbounded->queue));
    if (!backtest->has_limit)
        return;
    text_add(out,
             "Bound: a policy that meets every target needs %.0f node-hours at least%s, provably",
             least_h, backtest->limit.has_moves ? ", moves counted" : ", moves not counted");
    if (oracle)
        text_add(out, "; the oracle takes %.0f, %.1f %% more", taken_h,
                 least_h > 0 ? 100 * (taken_h / least_h - 1) : 0);
    say(teller, text_format("%s.", out->chars));
}

static bool has_engines(const struct backtest_inputs *inputs)
{
    for (size_t i = 0; i < inputs->setup.queue_count; i++)
        if (service_shape_engine(inputs->queues[i].shape))
            return true;
    return false;
}

static void say_engines(const struct backtest_inputs *inputs, const struct backtest *backtest,
                        const struct teller *teller)
{
    for (size_t i = 0; i < inputs->setup.queue_count; i++) {
        const struct engine *engine = service_shape_engine(inputs->queues[i].shape);
        owned(json) json_t *facts = engine_facts_json(engine);
        owned(chars) char *words = engine ? engine_facts_text(facts) : NULL;

        if (words)
            say(teller, text_format("Queue %s: a server is a replica of %s.",
                                    inputs->queues[i].series->queue, words));
    }
    if (!has_engines(inputs))
        return;
    say(teller, text_format("A replica that goes ends what runs in it; what waits in it goes to "
                            "the others."));
    if (backtest_row(backtest, policies_oracle()))
        say(teller, text_format("The oracle gives such replicas one margin over the load for each "
                                "window occurrence: it is further from the best than elsewhere, "
                                "and shares of it are a little high."));
}

static void say_met(const struct backtest_inputs *inputs, const struct teller *teller)
{
    say(teller,
        text_format("Met: %s within the target in both classes. Below "
                    "%g %% a policy is ranked on that alone (below).",
                    has_engines(inputs)
                        ? "the wait at the percentile and, where they have targets, the times of "
                          "first and later tokens are"
                        : "the wait at the percentile is",
                    inputs->attainment));
}

static void say_fleet(const struct backtest_inputs *inputs, const struct backtest *backtest,
                      const struct teller *teller)
{
    const struct fleet *fleet = &backtest->fleet;
    char up[DURATION_TEXT_SIZE];
    char down[DURATION_TEXT_SIZE];

    say(teller, text_format("Fleet: %d nodes of %d GPUs; %s in transit to production, %s back, %g "
                            "GPU-hours of research lost with each node taken.",
                            fleet->nodes, fleet->gpus_per_node, duration_format(fleet->up_ms, up),
                            duration_format(fleet->down_ms, down), fleet->evicted_h));
    if (inputs->setup.played != 0 && inputs->nodes == 0)
        say(teller,
            text_format("The fleet's size is a fifth over the peak of what the windows need and "
                        "of what was played: another choice of policies may change it, unless "
                        "--nodes gives it."));
}

static void say_without(const struct backtest_inputs *inputs, const struct teller *teller)
{
    owned(text) struct text *names = text_new(NAMES_LIMIT);

    for (const struct forecast_part_row *row = forecast_parts; row->name; row++)
        if (inputs->setup.without & row->part)
            text_add(names, "%s%s (%s)", names->length > 0 ? ", " : "", row->name, row->meaning);
    say(teller, text_format("Left out of our forecasts: %s (--without).", names->chars));
}

/* What the other windows took, in per cent of what the judged ones took. */
static void add_trials(const struct windows_choice *choice, struct text *out)
{
    for (size_t at = 1; at < WINDOWS_TRIALS; at++) {
        const struct windows_trial *trial = &choice->trials[at];

        text_add(out, "%s%zu windows ", at > 1 ? ", " : "", trial->windows);
        if (!trial->is_played)
            text_add(out, "could not be proposed");
        else if (isinf(trial->hours))
            text_add(out, "did not meet it");
        else
            text_add(out, "took %.0f %%", 100 * trial->hours / choice->trials[0].hours);
    }
}

/* Why the windows were chosen. */
static void add_reason(const struct backtest_inputs *inputs, struct text *out)
{
    const struct windows_choice *choice = &inputs->choice;
    double met = inputs->attainment;

    if (choice->weeks == 0 && inputs->setup.first_week == 1 && choice->regularity > 0)
        text_add(out,
                 "After a single whole week others are proposed if its weekdays are alike: if the "
                 "time of day explains %d %% of what they need. Here it explains %.0f %%",
                 WINDOWS_REGULAR, 100 * choice->regularity);
    else if (choice->weeks == 0)
        text_add(out, "No week before the first week judged could be played to choose others");
    else if (isinf(choice->trials[0].hours))
        text_add(out,
                 "No others were tried: on the weeks before the first week judged (%zu), "
                 "sluice-daily did not meet %g %%",
                 choice->weeks, met);
    else {
        text_add(out,
                 "They were chosen on the weeks before the first week judged (%zu). There "
                 "sluice-daily met %g %% with the judged windows. Of its GPU-hours, ",
                 choice->weeks, met);
        add_trials(choice, out);
    }
    text_add(out, " (--plan-windows).");
}

static void say_choice(const struct backtest_inputs *inputs, const struct teller *teller)
{
    owned(text) struct text *line = text_new(LINE_LIMIT);

    text_add(line, "Windows: policies plan by ");
    if (inputs->planned)
        text_add(line,
                 "%zu windows, proposed from what lies before the first week judged. `sluice "
                 "windows --suggest --count %" PRId64 "` proposes windows for a configuration. ",
                 inputs->planned->weekly_count, inputs->plan_windows);
    else
        text_add(line, "the windows that are judged. ");
    add_reason(inputs, line);
    say(teller, mem_copy_chars(line->chars));
}

static void say_windows(const struct backtest_inputs *inputs, const struct teller *teller)
{
    if (inputs->is_chosen)
        say_choice(inputs, teller);
    else if (inputs->planned)
        say(teller, text_format("Windows: policies plan by %zu windows proposed from what lies "
                                "before the first week judged (--plan-windows).",
                                inputs->planned->weekly_count));
    else
        say(teller, mem_copy_chars("Windows: policies plan by the windows that are judged. Other "
                                   "windows often take fewer GPU-hours; try --plan-windows auto."));
}

static void say_changes(const struct backtest_inputs *inputs, const struct teller *teller)
{
    if (inputs->load > 0)
        say(teller, text_format("Scaled: each queue's arrivals keep their shape and get a mean "
                                "load of %g servers (--load).",
                                inputs->load));
    else if (inputs->scale < 1 || inputs->scale > 1)
        say(teller, text_format("Scaled: arrivals are multiplied by %g (--scale).", inputs->scale));
    if (inputs->setup.without != 0)
        say_without(inputs, teller);
    say_windows(inputs, teller);
}

/* What GPU-hours leave out. */
static void say_unknown(const struct backtest_inputs *inputs, const struct backtest *backtest,
                        const struct teller *teller)
{
    const struct coverage *coverage = &backtest->coverage;
    double all = (double)coverage->judged;
    owned(chars) char *weeks = coverage->blanks > 0
                                   ? text_format("%zu of %zu weeks as a whole; ", coverage->blanks,
                                                 backtest_weeks(backtest))
                                   : mem_copy_chars("");

    if (coverage->left_out == 0)
        return;
    say(teller,
        text_format("Unknown: %.2f %% of the judged time (%smost in queue %s: %.2f %%). GPU-hours, "
                    "moves and money leave out the time in which the demand of a queue is unknown.",
                    100 * (double)coverage->left_out / all, weeks,
                    inputs->queues[coverage->worst].series->queue,
                    100 * (double)coverage->unknown[coverage->worst] / all));
}

void backtest_basis(const struct backtest_inputs *inputs, const struct backtest *backtest,
                    void (*line)(void *context, const char *text), void *context)
{
    const struct teller teller = { line, context };
    char from[WALL_TEXT_SIZE];
    char to[WALL_TEXT_SIZE];
    size_t weeks = backtest_weeks(backtest);
    size_t queues = inputs->setup.queue_count;

    require(backtest->count > 0 && weeks > 0 && queues > 0);
    say(&teller,
        text_format("Judged: %zu week%s from %s to %s, each planned from what lies before it; %zu "
                    "window occurrences of %zu queue%s, %" PRId64 " requests.",
                    weeks, weeks == 1 ? "" : "s",
                    wall_format(course_week(&backtest->judged, backtest->first_week), from),
                    wall_format(backtest->judged.end, to), backtest->rows[0].tuned.spans, queues,
                    queues == 1 ? "" : "s", backtest->requests));
    say_unknown(inputs, backtest, &teller);
    say_met(inputs, &teller);
    say_recovered(inputs, backtest, &teller);
    say_limit(inputs, backtest, &teller);
    say_engines(inputs, backtest, &teller);
    say_fleet(inputs, backtest, &teller);
    if (backtest_row(backtest, POLICY_STATIC))
        say(&teller, text_format("Money: %.2f per GPU-hour (--price), a week, over static-peak.",
                                 inputs->price));
    say_played(inputs, backtest, &teller);
    say_changes(inputs, &teller);
}
