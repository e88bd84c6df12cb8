/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The metrics of played engines (tests/windows/engine_play.h) as OpenMetrics text, for promtool:
 *
 *     engine_metrics MODEL BEGIN_S SCRAPES INSTANCES LOW HIGH FLAGS
 *
 * R1 of the tests: 10 ms + 0.5 ms b, 20 us a token of a prompt of 500, 16 slots, answers of 200.
 * FLAGS: r an instance begins again, o names of older vLLM, c prompts from a cache that are not
 * counted, s SGLang, m an instance with other models.
 */
#include "base/text.h"
#include "tests/windows/engine_play.h"

#include <stdio.h>
#include <stdlib.h>

static const char *model;
static const char *flags;

/* Bounds of vLLM's histograms of tokens and of waits. */
static const double token_bounds[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000 };

static bool has_flag(char flag)
{
    return strchr(flags, flag) != NULL;
}

struct series {
    const char *name;
    const char *labels;
    double (*value)(const struct engine_scrape *scrape);
};

#define VALUE(name, expression)                                                                    \
    static double name(const struct engine_scrape *scrape)                                         \
    {                                                                                              \
        (void)scrape;                                                                              \
        return expression;                                                                         \
    }
VALUE(iterations, scrape->scrape.counters[PROFILE_ITERATIONS])
VALUE(generated, scrape->scrape.counters[PROFILE_GENERATED])
VALUE(prompts, scrape->scrape.counters[PROFILE_PREFILL])
VALUE(cached, scrape->scrape.counters[PROFILE_PREFILL] / 2)
VALUE(gap_seconds, scrape->scrape.counters[PROFILE_GAP_SECONDS])
VALUE(gaps, scrape->scrape.counters[PROFILE_GAPS])
VALUE(running, scrape->scrape.running_least)
VALUE(waiting, scrape->waiting)
VALUE(ended, scrape->requests)
VALUE(cache_used, 0.4)
VALUE(cache_size, 128000)
VALUE(yes, 1)

static void print_series(const struct series *series, const char *suffix, const char *more,
                         const struct engine_scrape *scrapes, size_t count, double factor)
{
    for (size_t i = 0; i < count; i++)
        printf("%s%s{instance=\"%s-%zu:8000\"%s%s%s} %.17g %.3f\n", series->name, suffix,
               has_flag('m') ? "shared" : model, scrapes[i].scrape.instance, series->labels,
               *more ? "," : "", more, factor * series->value(&scrapes[i]), scrapes[i].scrape.at_s);
}

/* promtool wants all samples of a family together. */
static void print_family(const char *family, const char *type)
{
    printf("# TYPE %s %s\n", family, type);
}

static char *with_model(const char *more)
{
    return has_flag('s') ? text_format(",model_name=\"%s\"%s", model, more)
                         : text_format(",engine=\"0\",model_name=\"%s\"%s", model, more);
}

static void print_plain(const char *family, const char *type, const char *suffix,
                        double (*value)(const struct engine_scrape *), const char *more,
                        const struct engine_scrape *scrapes, size_t count)
{
    owned(chars) char *labels = with_model(more);
    owned(chars) char *name = text_format("%s%s", family, suffix);
    const struct series series = { name, labels, value };

    print_family(family, type);
    print_series(&series, "", "", scrapes, count, 1);
}

static double share_below(double bound)
{
    return 1 - pow(1 - 1 / 200.0, bound);
}

static double share_prompt(double bound)
{
    return bound >= 500;
}

static double share_wait(double bound)
{
    return bound > 0 ? 1 : 0;
}

/* A histogram of all requests that ended: the shares below its bounds are those of the law. */
static void print_histogram(const char *family, const double *bounds, size_t bound_count,
                            double (*share)(double), double mean,
                            const struct engine_scrape *scrapes, size_t count)
{
    owned(chars) char *labels = with_model("");
    const struct series series = { family, labels, ended };

    print_family(family, "histogram");
    for (size_t i = 0; i <= bound_count; i++) {
        owned(chars) char *le = i < bound_count ? text_format("le=\"%.1f\"", bounds[i])
                                                : text_format("le=\"+Inf\"");

        print_series(&series, "_bucket", le, scrapes, count,
                     i < bound_count ? share(bounds[i]) : 1);
    }
    print_series(&series, "_sum", "", scrapes, count, mean);
    print_series(&series, "_count", "", scrapes, count, 1);
}

static void print_gaps(const char *family, const struct engine_scrape *scrapes, size_t count)
{
    owned(chars) char *labels = with_model("");
    const struct series sum = { family, labels, gap_seconds };
    const struct series all = { family, labels, gaps };

    print_family(family, "histogram");
    print_series(&all, "_bucket", "le=\"+Inf\"", scrapes, count, 1);
    print_series(&sum, "_sum", "", scrapes, count, 1);
    print_series(&all, "_count", "", scrapes, count, 1);
}

/* Without a model, as vLLM shows it. */
static void print_cache(const struct engine_scrape *scrapes, size_t count)
{
    owned(chars) char *labels = text_format(
        ",engine=\"0\",block_size=\"16\",num_gpu_blocks=\"8000\""
        ",enable_prefix_caching=\"%s\"",
        has_flag('c') ? "True" : "False");
    const struct series series = { "vllm:cache_config_info", labels, yes };

    print_family(series.name, "gauge");
    print_series(&series, "", "", scrapes, count, 1);
}

static void print_vllm(const struct engine_scrape *scrapes, size_t count)
{
    static const double wait_bounds[] = { 0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10 };
    owned(chars) char *labels = with_model("");
    const struct series steps = { "vllm:iteration_tokens_total", labels, iterations };
    bool is_old = has_flag('o');

    print_family("vllm:iteration_tokens_total", "histogram");
    print_series(&steps, "_bucket", "le=\"+Inf\"", scrapes, count, 1);
    print_series(&steps, "_count", "", scrapes, count, 1);
    print_plain("vllm:generation_tokens", "counter", "_total", generated, "", scrapes, count);
    print_plain("vllm:prompt_tokens", "counter", "_total", prompts, "", scrapes, count);
    if (!is_old && !has_flag('c'))
        print_plain("vllm:prompt_tokens_by_source", "counter", "_total", prompts,
                    ",source=\"local_compute\"", scrapes, count);
    if (has_flag('c'))
        print_plain("vllm:prefix_cache_hits", "counter", "_total", cached, "", scrapes, count);
    print_gaps(is_old ? "vllm:time_per_output_token_seconds" : "vllm:inter_token_latency_seconds",
               scrapes, count);
    print_plain("vllm:num_requests_running", "gauge", "", running, "", scrapes, count);
    print_plain("vllm:num_requests_waiting", "gauge", "", waiting, "", scrapes, count);
    print_plain("vllm:request_success", "counter", "_total", ended, ",finished_reason=\"length\"",
                scrapes, count);
    print_plain(is_old ? "vllm:gpu_cache_usage_perc" : "vllm:kv_cache_usage_perc", "gauge", "",
                cache_used, "", scrapes, count);
    print_histogram("vllm:request_generation_tokens", token_bounds, COUNT_OF(token_bounds),
                    share_below, 200, scrapes, count);
    print_histogram("vllm:request_prompt_tokens", token_bounds, COUNT_OF(token_bounds),
                    share_prompt, 500, scrapes, count);
    print_histogram("vllm:request_queue_time_seconds", wait_bounds, COUNT_OF(wait_bounds),
                    share_wait, 0, scrapes, count);
    print_cache(scrapes, count);
}

static void print_sglang(const struct engine_scrape *scrapes, size_t count)
{
    print_plain("sglang:generation_tokens", "counter", "_total", generated, "", scrapes, count);
    print_gaps("sglang:inter_token_latency_seconds", scrapes, count);
    print_plain("sglang:num_running_reqs", "gauge", "", running, ",tp_rank=\"0\"", scrapes, count);
    print_plain("sglang:num_queue_reqs", "gauge", "", waiting, ",tp_rank=\"0\"", scrapes, count);
    print_plain("sglang:max_total_num_tokens", "gauge", "", cache_size, "", scrapes, count);
    print_histogram("sglang:generation_tokens_histogram", token_bounds, COUNT_OF(token_bounds),
                    share_below, 200, scrapes, count);
}

/* In the middle the instance begins again, and its counters with it. */
static void restart(struct engine_scrape *scrapes, size_t count)
{
    struct engine_scrape before = scrapes[count / 2];

    for (size_t i = count / 2; i < count; i++) {
        for (int at = 0; at < PROFILE_COUNTERS; at++)
            scrapes[i].scrape.counters[at] -= before.scrape.counters[at];
        scrapes[i].requests -= before.requests;
    }
}

int main(int argc, char **argv)
{
    struct engine_play play = {
        .base_s = 0.010,
        .request_s = 0.0005,
        .prefill_s = 20e-6,
        .slots = 16,
        .tokens_in = 500,
        .tokens_out = 200,
        .noise = 0.05,
        .scrape_s = 15,
        .waves = 2,
    };
    struct engine_scrape *scrapes;
    size_t instances;

    if (argc != 8)
        return 64;
    model = argv[1];
    flags = argv[7];
    play.scrapes = (int)strtol(argv[3], NULL, 10);
    instances = (size_t)strtol(argv[4], NULL, 10);
    play.low = strtod(argv[5], NULL);
    play.high = strtod(argv[6], NULL);
    scrapes = mem_new_array((size_t)play.scrapes * instances, sizeof *scrapes);
    for (size_t i = 0; i < instances; i++)
        engine_play(&play, 1 + i, i, strtod(argv[2], NULL) + 3 * (double)i,
                    &scrapes[i * (size_t)play.scrapes]);
    if (has_flag('r'))
        restart(scrapes, (size_t)play.scrapes);
    if (has_flag('s'))
        print_sglang(scrapes, (size_t)play.scrapes * instances);
    else
        print_vllm(scrapes, (size_t)play.scrapes * instances);
    printf("# EOF\n");
    mem_free(scrapes);
    return 0;
}
