/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The forms of the report.  Each figure carries its standard error, and what it rests on: a block
 * that is pasted keeps its own history.
 */
#include "base/input/json.h"
#include "broker/capacity/profile_report.h"

#include <math.h>
#include <string.h>

enum { COMMENT_COLUMN = 34 };

static const double QUANTILE = 0.98;

static const char *const slots_texts[] = {
    [SLOTS_TOLD] = "as --slots says",
    [SLOTS_SEEN_FULL] = "the most that ran while others waited",
    [SLOTS_SEEN] = "the most that ran; nothing ever waited, so there may be more: see --slots",
    [SLOTS_SLOWEST] = "as many as ran at that pace: with more it may be slower",
    [SLOTS_UNKNOWN] = "not known: give --slots, vLLM's --max-num-seqs",
};

/* The number of digits: no standard error is below a thousandth of its figure. */
static const char *seconds(double value, int count, char out[DURATION_TEXT_SIZE])
{
    char digits[32];
    double rounded;

    text_print(digits, sizeof digits, "%.*g", count, value);
    return seconds_format(text_to_double(digits, &rounded) ? rounded : value, out);
}

/* "  key: value           # comment" */
static void add_line(struct text *out, int indent, const char *key, const char *value,
                     const char *comment)
{
    size_t begin = out->length;

    text_add(out, "%*s%s: %s", indent, "", key, value);
    if (*comment)
        text_add(
            out, "%*s# %s",
            (int)(begin + COMMENT_COLUMN > out->length ? begin + COMMENT_COLUMN - out->length : 1),
            "", comment);
    text_add(out, "\n");
}

static void add_coefficient(const struct profile_law *law, enum profile_coefficient at,
                            const char *key, const char *comment, struct text *out)
{
    char value[DURATION_TEXT_SIZE];
    char error[DURATION_TEXT_SIZE];

    require(at < COUNT_OF(law->value));

    owned(chars) char *said = text_format("+- %s%s", seconds(law->error[at], 2, error), comment);

    add_line(out, 2, key, seconds(law->value[at], 4, value), said);
}

static void add_law(const struct profile_law *law, struct text *out)
{
    add_coefficient(law, PROFILE_BASE_S, "iteration", "", out);
    add_coefficient(law, PROFILE_REQUEST_S, "iteration_per_request",
                    law->has_prefill ? "" : "; prompts are in it", out);
    if (law->has_prefill)
        add_coefficient(law, PROFILE_PREFILL_S, "prefill_per_token", "", out);
}

static void add_tokens(const struct profile_report *report, struct text *out)
{
    const struct engine_scrapes *scrapes = report->scrapes;
    double requests = scrapes->out.shape ? scrapes->out.shape->requests : NAN;
    owned(chars) char *in = text_format("%.4g", report->tokens_in);
    owned(chars) char *tokens = text_format("%.4g", report->tokens_out);
    owned(chars) char *cv = text_format("%.3g", report->tokens_cv);
    owned(chars) char *of = text_format("mean of %.0f requests", requests);

    if (isnan(report->tokens_in))
        text_add(out, "  # tokens_in: not known: %s\n", scrapes->in.why.text);
    else
        add_line(out, 2, "tokens_in", in,
                 scrapes->computed < scrapes->prompts ? "computed ones; the others were cached"
                                                      : "mean");
    if (isnan(report->tokens_out)) {
        text_add(out, "  # tokens_out: not known: %s\n", scrapes->out.why.text);
        return;
    }
    add_line(out, 2, "tokens_out", tokens, of);
    add_line(out, 2, "tokens_cv", cv, "within buckets every length is taken as equally likely");
}

static void add_block(const struct profile_report *report, struct text *out)
{
    const struct profile_law *law = &report->law;
    bool is_safe = law->method == PROFILE_SAFE;

    require(report->slots_by < COUNT_OF(slots_texts));

    owned(chars) char *slots = text_format("%lld", (long long)report->slots);
    char value[DURATION_TEXT_SIZE];
    char pace[DURATION_TEXT_SIZE];

    if (is_safe) {
        owned(chars) char *service = text_format("%.4g tokens at %s, the slowest pace (%.3g ran)",
                                                 report->tokens_out,
                                                 seconds(law->slowest_s, 4, pace), law->slowest_at);

        add_line(out, 0, "service", seconds(report->service_s, 4, value), service);
        if (report->scrapes->out.shape)
            text_add(out, "service_cv: %.3g\n", report->tokens_cv);
    }
    text_add(out, "engine:\n");
    if (report->slots_by == SLOTS_UNKNOWN)
        text_add(out, "  # slots: %s\n", slots_texts[SLOTS_UNKNOWN]);
    else
        add_line(out, 2, "slots", slots, slots_texts[report->slots_by]);
    if (is_safe)
        return;
    add_law(law, out);
    add_tokens(report, out);
    if (!isnan(report->scrapes->cache_tokens) && !isnan(report->tokens_in)) {
        owned(chars) char *tokens = text_format("%.0f", report->scrapes->cache_tokens);

        add_line(out, 2, "kv_tokens", tokens, "of the smallest cache");
    }
}

/* Comments of at most a line's length. */
static void add_comment(struct text *out, const char *sentence)
{
    enum { LINE = 96 };
    size_t length = strlen(sentence);

    while (length > LINE) {
        size_t at = LINE;

        while (at > 0 && sentence[at] != ' ')
            at--;
        if (at == 0)
            break;
        text_add(out, "# %.*s\n", (int)at, sentence);
        sentence += at + 1;
        length = strlen(sentence);
    }
    text_add(out, "# %s\n", sentence);
}

static void add_origin(const struct profile_report *report, struct text *out)
{
    const struct profile_ask *ask = report->ask;
    char from[WALL_TEXT_SIZE];
    char to[WALL_TEXT_SIZE];
    owned(chars) char *sentence = text_format(
        "sluice profile: %s of {%s}, %s, from %s to %s", ask->kind->name, ask->selector,
        ask->source, wall_format(ask->from, from), wall_format(ask->to, to));

    add_comment(out, sentence);
}

static void add_intervals(const struct profile_report *report, struct text *out)
{
    const struct profile_law *law = &report->law;
    owned(text) struct text *sentence = text_new(TEXT_UNBOUNDED);
    size_t all = 0;
    bool is_first = true;

    for (int drop = 0; drop < PROFILE_DROPS; drop++)
        all += law->dropped[drop];
    text_add(sentence, "rests on %zu of %zu intervals between scrapes of %zu instance%s",
             law->dropped[PROFILE_USED], all, report->scrapes->instance_count,
             report->scrapes->instance_count == 1 ? "" : "s");
    for (int drop = PROFILE_USED + 1; drop < PROFILE_DROPS; drop++)
        if (law->dropped[drop] > 0) {
            text_add(sentence, "%s %s %zu", is_first ? "; left out:" : ",",
                     profile_drop_name((enum profile_drop)drop), law->dropped[drop]);
            is_first = false;
        }
    add_comment(out, sentence->chars);
}

static void add_quality(const struct profile_law *law, struct text *out)
{
    owned(text) struct text *sentence = text_new(TEXT_UNBOUNDED);

    text_add(sentence,
             "batch: %.3g to %.3g requests ran, %.3g in the mean, deviation %.3g; the fit explains "
             "%.3g %% of how iterations differ, and leaves %.2g %% of the time",
             law->batch.least, law->batch.most, law->batch.mean, law->batch.deviation,
             100 * law->explained, 100 * law->residual);
    if (law->compared > 1)
        text_add(sentence, "; %zu instances by themselves lie %.2g %% apart", law->compared,
                 100 * law->apart);
    add_comment(out, sentence->chars);
    if (law->method == PROFILE_BY_GAPS)
        add_comment(out, "the time between tokens counts long iterations more often: iteration may "
                         "be 5 % too great, iteration_per_request, with prompts in it, 3 %");
    if (law->method == PROFILE_BY_COUNTERS && !law->has_prefill && law->prefill_share > 0)
        text_add(out, "# prompts take less than %.2g %% of the time: left out\n",
                 100 * law->prefill_share);
}

static void add_waits(const struct profile_report *report, struct text *out)
{
    const struct engine_scrapes *scrapes = report->scrapes;
    double least;
    double most;

    if (profile_quantile(scrapes->waits, scrapes->wait_count, QUANTILE, &least, &most) < 0)
        return;
    if (isinf(most))
        text_add(out, "# queue wait: p98 > %g s, the last bound of its buckets\n", least);
    else if (least > 0)
        text_add(out, "# queue wait: p98 > %g s and <= %g s\n", least, most);
    else
        text_add(out, "# queue wait: p98 <= %g s, the first bound of its buckets\n", most);
}

static void add_limits(const struct profile_report *report, struct text *out)
{
    const double *totals = report->scrapes->totals;
    owned(text) struct text *sentence = text_new(TEXT_UNBOUNDED);

    if (!report->is_kv_limited)
        return;
    text_add(sentence, "the cache limits it (");
    if (!isnan(totals[NAME_KV_USAGE]))
        text_add(sentence, "up to %.0f %% used", 100 * totals[NAME_KV_USAGE]);
    if (totals[NAME_PREEMPTED] > 0)
        text_add(sentence, "%s%.0f preemptions", isnan(totals[NAME_KV_USAGE]) ? "" : ", ",
                 totals[NAME_PREEMPTED]);
    text_add(sentence, "): how many run moves with the lengths");
    add_comment(out, sentence->chars);
}

static void add_refusals(const struct profile_report *report, struct text *out)
{
    const struct profile_law *law = &report->law;
    bool is_safe = law->method == PROFILE_SAFE;

    for (int method = 0; method < (int)law->method && method < PROFILE_SAFE; method++) {
        owned(chars) char *sentence = text_format("not by %s: %s",
                                                  profile_method_name((enum profile_method)method),
                                                  law->why[method].text);

        if (method == 0 || strcmp(law->why[method].text, law->why[0].text) != 0)
            add_comment(out, sentence);
    }
    if (is_safe)
        add_comment(out, "SAFE FORM: no law could be measured; this asks for more replicas than "
                         "one would");
}

void profile_report_yaml(const struct profile_report *report, struct text *out)
{
    add_origin(report, out);
    if (!report->has_law) {
        owned(chars) char *sentence = text_format("no law: %s", report->why.text);

        add_comment(out, sentence);
        if (!isnan(report->tokens_out))
            text_add(out, "# tokens_in: %.4g, tokens_out: %.4g, tokens_cv: %.3g\n",
                     report->tokens_in, report->tokens_out, report->tokens_cv);
        return;
    }
    add_intervals(report, out);
    add_refusals(report, out);
    if (report->law.method != PROFILE_SAFE)
        add_quality(&report->law, out);
    add_limits(report, out);
    add_waits(report, out);
    add_block(report, out);
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *law_json(const struct profile_law *law)
{
    static const char *const names[PROFILE_TERMS] = { "iteration_s", "iteration_per_request_s",
                                                      "prefill_per_token_s" };
    json_t *covariance = json_array();
    json_t *root = json_object();

    for (int a = 0; a < (law->has_prefill ? 3 : 2); a++) {
        json_t *row = json_array();

        json_object_set_new(
            root, names[a],
            json_make("{s:f, s:f}", "value", law->value[a], "standard_error", law->error[a]));
        for (int b = 0; b < (law->has_prefill ? 3 : 2); b++)
            json_array_append_new(row, json_real(law->covariance[a][b]));
        json_array_append_new(covariance, row);
    }
    json_object_set_new(root, "covariance", covariance);
    json_object_set_new(root, "batch",
                        json_make("{s:f, s:f, s:f, s:f}", "least", law->batch.least, "mean",
                                  law->batch.mean, "most", law->batch.most, "deviation",
                                  law->batch.deviation));
    json_object_set_new(root, "explained", number(law->explained));
    json_object_set_new(root, "residual", number(law->residual));
    json_object_set_new(root, "instances_compared", json_integer((json_int_t)law->compared));
    json_object_set_new(root, "instances_apart", number(law->apart));
    return root;
}

static json_t *intervals_json(const struct profile_law *law)
{
    json_t *root = json_object();

    for (int drop = 0; drop < PROFILE_DROPS; drop++)
        json_object_set_new(root, profile_drop_name((enum profile_drop)drop),
                            json_integer((json_int_t)law->dropped[drop]));
    return root;
}

static json_t *waits_json(const struct engine_scrapes *scrapes)
{
    double least = NAN;
    double most = NAN;

    if (profile_quantile(scrapes->waits, scrapes->wait_count, QUANTILE, &least, &most) < 0)
        return json_null();
    return json_make("{s:f, s:f, s:o}", "quantile", QUANTILE, "more_than_s", least, "at_most_s",
                     number(most));
}

json_t *profile_report_json(const struct profile_report *report)
{
    const struct profile_ask *ask = report->ask;
    const struct profile_law *law = &report->law;
    bool has_law = report->has_law && law->method != PROFILE_SAFE;
    bool has_slots = report->has_law && report->slots_by != SLOTS_UNKNOWN;
    owned(text) struct text *yaml = text_new(TEXT_UNBOUNDED);
    json_t *instances = json_array();
    const char *why = report->has_law ? law->why[PROFILE_BY_COUNTERS].text : report->why.text;
    char from[WALL_TEXT_SIZE];
    char to[WALL_TEXT_SIZE];

    profile_report_yaml(report, yaml);
    for (size_t i = 0; i < report->scrapes->instance_count; i++)
        json_array_append_new(instances, json_text(report->scrapes->instances[i]));
    return json_make(
        "{s:s, s:s, s:s, s:s, s:s, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, "
        "s:o, s:o, s:s}",
        "engine", ask->kind->name, "source", ask->source, "selector", ask->selector, "from",
        wall_format(ask->from, from), "to", wall_format(ask->to, to), "method",
        report->has_law ? profile_method_name(law->method) : NULL, "why",
        *why ? json_text(why) : json_null(), "law", has_law ? law_json(law) : json_null(), "slots",
        has_slots ? json_integer(report->slots) : json_null(), "service_s",
        number(report->service_s), "tokens_in", number(report->tokens_in), "tokens_out",
        number(report->tokens_out), "tokens_cv", number(report->tokens_cv), "kv_tokens",
        number(report->scrapes->cache_tokens), "waits", waits_json(report->scrapes),
        "is_kv_limited", report->is_kv_limited, "is_whole", report->is_whole, "intervals",
        intervals_json(law), "instances", instances, "yaml", yaml->chars);
}
