/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Names as of vLLM 0.32 (and those that it had before), SGLang 0.5, TGI 3 and Dynamo 0.7.  What an
 * engine does not count has no row: nothing is made up for it.
 */
#include "broker/sources/engines.h"

#include "base/memory.h"

#include <string.h>

static const struct engine_kind kinds[] = {
    {
        .name = "vllm",
        .prefix = "vllm:",
        .by = "instance, engine",
        .names = {
            [NAME_ITERATIONS] = { "vllm:iteration_tokens_total_count" },
            [NAME_GENERATED] = { "vllm:generation_tokens_total" },
            [NAME_COMPUTED] = { "vllm:prompt_tokens_by_source_total{source=\"local_compute\"}",
                                "vllm:prompt_tokens_total - vllm:prompt_tokens_cached_total" },
            [NAME_PROMPTS] = { "vllm:prompt_tokens_total" },
            [NAME_GAP_SECONDS] = { "vllm:inter_token_latency_seconds_sum",
                                   "vllm:time_per_output_token_seconds_sum" },
            [NAME_GAPS] = { "vllm:inter_token_latency_seconds_count",
                            "vllm:time_per_output_token_seconds_count" },
            [NAME_RUNNING] = { "vllm:num_requests_running" },
            [NAME_WAITING] = { "vllm:num_requests_waiting_by_reason{reason=\"capacity\"}",
                               "vllm:num_requests_waiting" },
            [NAME_FINISHED] = { "vllm:request_success_total" },
            [NAME_CACHED] = { "vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total" },
            [NAME_DRAFTED] = { "vllm:spec_decode_num_draft_tokens_total" },
            [NAME_PREEMPTED] = { "vllm:num_preemptions_total" },
            [NAME_KV_USAGE] = { "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc" },
            [NAME_TOKENS_OUT] = { "vllm:request_generation_tokens" },
            [NAME_TOKENS_IN] = { "vllm:request_prompt_tokens" },
            [NAME_WAITS] = { "vllm:request_queue_time_seconds" },
            [NAME_CACHE] = { "vllm:cache_config_info" },
        },
    },
    {
        .name = "sglang",
        .prefix = "sglang:",
        .by = "instance",
        .names = {
            [NAME_GENERATED] = { "sglang:generation_tokens_total" },
            [NAME_COMPUTED] = { "sglang:prompt_tokens_total - sglang:cached_tokens_total" },
            [NAME_PROMPTS] = { "sglang:prompt_tokens_total" },
            [NAME_GAP_SECONDS] = { "sglang:inter_token_latency_seconds_sum",
                                   "sglang:time_per_output_token_seconds_sum" },
            [NAME_GAPS] = { "sglang:inter_token_latency_seconds_count",
                            "sglang:time_per_output_token_seconds_count" },
            [NAME_RUNNING] = { "sglang:num_running_reqs" },
            [NAME_WAITING] = { "sglang:num_queue_reqs" },
            [NAME_FINISHED] = { "sglang:num_requests_total" },
            [NAME_CACHED] = { "sglang:cached_tokens_total" },
            [NAME_DRAFTED] = { "sglang:spec_verify_calls_total" },
            [NAME_PREEMPTED] = { "sglang:num_retracted_requests_total" },
            [NAME_KV_USAGE] = { "sglang:token_usage" },
            [NAME_TOKENS_OUT] = { "sglang:generation_tokens_histogram" },
            [NAME_TOKENS_IN] = { "sglang:prompt_tokens_histogram" },
            [NAME_WAITS] = { "sglang:queue_time_seconds" },
            [NAME_CACHE] = { "sglang:max_total_num_tokens" },
        },
    },
    {
        .name = "tgi",
        .prefix = "tgi_",
        .by = "instance",
        .names = {
            [NAME_GAP_SECONDS] = { "tgi_batch_inference_duration_sum{method=\"decode\"}" },
            [NAME_GAPS] = { "tgi_batch_inference_duration_count{method=\"decode\"}" },
            [NAME_RUNNING] = { "tgi_batch_current_size" },
            [NAME_WAITING] = { "tgi_queue_size" },
            [NAME_FINISHED] = { "tgi_request_success" },
            [NAME_TOKENS_OUT] = { "tgi_request_generated_tokens" },
            [NAME_TOKENS_IN] = { "tgi_request_input_length" },
            [NAME_WAITS] = { "tgi_request_queue_duration" },
        },
        .gaps_are_iterations = true,
    },
    {
        .name = "dynamo",
        .prefix = "dynamo_",
        .by = "instance",
        .names = {
            [NAME_TOKENS_OUT] = { "dynamo_frontend_output_sequence_tokens" },
            [NAME_TOKENS_IN] = { "dynamo_frontend_input_sequence_tokens" },
            [NAME_FINISHED] = { "dynamo_frontend_requests_total" },
        },
        .advice = "its front end counts for all workers together, which tells no law: ask the "
                  "workers' own counters, with --engine vllm or --engine sglang",
    },
};

const struct engine_kind *engine_kind_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (text_equal(kinds[i].name, name))
            return &kinds[i];
    return NULL;
}

const struct engine_kind *engine_kind_of(const char *metric)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (text_starts_with(metric, kinds[i].prefix))
            return &kinds[i];
    return NULL;
}

char *engine_matchers(const char *matchers)
{
    size_t length = strlen(matchers);
    bool has_braces = length >= 2 && matchers[0] == '{' && matchers[length - 1] == '}';

    return has_braces ? text_format("%.*s", (int)length - 2, matchers + 1)
                      : mem_copy_chars(matchers);
}

int engine_metrics_parse(const char *metrics, const struct engine_kind **ret_kind,
                         char **ret_selector, struct error *err)
{
    size_t length = strcspn(metrics, "{");
    size_t rest = strlen(metrics + length);
    owned(chars) char *name = text_format("%.*s", (int)length, metrics);
    const struct engine_kind *kind = engine_kind_find(name);

    if (!kind)
        return error_set(err, ERROR_INVALID, "unknown engine \"%.40s\"; known: %s", name,
                         engine_kind_names());
    if (rest == 1 || (rest > 0 && metrics[length + rest - 1] != '}'))
        return error_set(err, ERROR_INVALID,
                         "expected matchers in braces after %s, found \"%.80s\"", name,
                         metrics + length);
    *ret_kind = kind;
    *ret_selector = engine_matchers(metrics + length);
    return 0;
}

const char *engine_kind_names(void)
{
    return "vllm, sglang, tgi, dynamo";
}

/* name{its labels, selector}, with a suffix of the name; `length` are its characters. */
static void add_series(struct text *out, const char *name, size_t length, const char *suffix,
                       const char *selector)
{
    size_t bare = strcspn(name, "{");
    size_t labels = bare < length ? length - bare - 2 : 0; /* without the braces */

    text_add(out, "%.*s%s{", (int)(bare < length ? bare : length), name, suffix);
    if (labels > 0)
        text_add(out, "%.*s%s", (int)labels, name + bare + 1, *selector ? "," : "");
    text_add(out, "%s}", selector);
}

struct wrap {
    const char *before; /* what stands around one series */
    const char *after;  /* $step is the step */
};

static const struct wrap wraps[] = {
    [ASK_VALUE] = { "sum by ($by) (", ")" },
    [ASK_GAUGE] = { "max by ($by) (", ")" },
    [ASK_SERIES] = { "max(count by ($by) (", "))" },
    [ASK_TIME] = { "max by ($by) (timestamp(", "))" },
    [ASK_LEAST] = { "max by ($by) (min_over_time(", "[$step]))" },
    [ASK_MEAN] = { "max by ($by) (avg_over_time(", "[$step]))" },
    [ASK_GROWTH] = { "sum(increase(", "[$step]))" },
    [ASK_MOST] = { "max(max_over_time(", "[$step]))" },
    [ASK_BUCKETS] = { "sum by (le) (increase(", "[$step]))" },
};

static void add_filled(struct text *out, const char *template, const char *by, int64_t step_ms)
{
    while (*template) {
        if (text_starts_with(template, "$by")) {
            text_add(out, "%s", by);
            template += strlen("$by");
        } else if (text_starts_with(template, "$step")) {
            text_add(out, "%llds", (long long)(step_ms / 1000));
            template += strlen("$step");
        } else {
            text_add_bytes(out, template ++, 1);
        }
    }
}

/* What a query asks of each of its series. */
struct series_question {
    enum engine_question question;
    const char *by;       /* the labels that tell instances apart */
    const char *selector; /* that the series have to match */
    int64_t step_ms;
};

static void add_wrapped(struct text *out, const struct series_question *asked, const char *name,
                        size_t length)
{
    const struct wrap *wrap = &wraps[asked->question];

    add_filled(out, wrap->before, asked->by, asked->step_ms);
    add_series(out, name, length, asked->question == ASK_BUCKETS ? "_bucket" : "", asked->selector);
    add_filled(out, wrap->after, asked->by, asked->step_ms);
}

char *engine_query(const struct engine_kind *kind, enum engine_name name,
                   enum engine_question question, const char *selector, int64_t step_ms)
{
    const struct series_question asked = { question, kind->by, selector, step_ms };
    struct text *out = text_new(TEXT_UNBOUNDED);

    for (int i = 0; i < ENGINE_OTHER_NAMES && kind->names[name][i]; i++) {
        const char *text = kind->names[name][i];
        const char *minus = strstr(text, " - ");

        text_add(out, "%s", i > 0 ? " or " : "");
        text_add(out, "%s", minus ? "(" : "");
        add_wrapped(out, &asked, text, minus ? (size_t)(minus - text) : strlen(text));
        if (minus) {
            text_add(out, " - ");
            add_wrapped(out, &asked, minus + 3, strlen(minus + 3));
            text_add(out, ")");
        }
    }
    if (out->length > 0)
        return text_take(out);
    text_free(out);
    return NULL;
}

char *engine_histogram(const struct engine_kind *kind, enum engine_name name, const char *selector)
{
    struct text *out;

    if (!kind->names[name][0])
        return NULL;
    out = text_new(TEXT_UNBOUNDED);
    add_series(out, kind->names[name][0], strlen(kind->names[name][0]), "", selector);
    return text_take(out);
}

char *engine_cache_query(const struct engine_kind *kind, const char *selector)
{
    struct text *out;

    if (!kind->names[NAME_CACHE][0])
        return NULL;
    out = text_new(TEXT_UNBOUNDED);
    text_add(out, "%s and on (%s) %s{%s}", kind->names[NAME_CACHE][0], kind->by,
             kind->names[NAME_RUNNING][0], selector);
    return text_take(out);
}
