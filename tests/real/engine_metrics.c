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

struct scrapes {
    const struct engine_scrape *items;
    size_t count;
};

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
                         struct scrapes scrapes, double factor)
{
    for (size_t i = 0; i < scrapes.count; i++)
        printf("%s%s{instance=\"%s-%zu:8000\"%s%s%s} %.17g %.3f\n", series->name, suffix,
               has_flag('m') ? "shared" : model, scrapes.items[i].scrape.instance, series->labels,
               *more ? "," : "", more, factor * series->value(&scrapes.items[i]),
               scrapes.items[i].scrape.at_s);
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

/* A family of one series: its labels are those behind the model. */
static void print_gauge(const struct series *gauge, struct scrapes scrapes)
{
    owned(chars) char *labels = with_model(gauge->labels);
    const struct series series = { gauge->name, labels, gauge->value };

    print_family(gauge->name, "gauge");
    print_series(&series, "", "", scrapes, 1);
}

static void print_counter(const struct series *counter, struct scrapes scrapes)
{
    owned(chars) char *labels = with_model(counter->labels);
    const struct series series = { counter->name, labels, counter->value };

    print_family(counter->name, "counter");
    print_series(&series, "_total", "", scrapes, 1);
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

/* Of all requests that ended: the shares below its bounds are those of the law. */
struct histogram {
    const char *family;
    const double *bounds;
    size_t count;
    double (*share)(double bound);
    double mean;
};

static void print_histogram(const struct histogram *histogram, struct scrapes scrapes)
{
    owned(chars) char *labels = with_model("");
    const struct series series = { histogram->family, labels, ended };

    print_family(histogram->family, "histogram");
    for (size_t i = 0; i <= histogram->count; i++) {
        bool is_last = i == histogram->count;
        owned(chars) char *le = is_last ? text_format("le=\"+Inf\"")
                                        : text_format("le=\"%.1f\"", histogram->bounds[i]);

        print_series(&series, "_bucket", le, scrapes,
                     is_last ? 1 : histogram->share(histogram->bounds[i]));
    }
    print_series(&series, "_sum", "", scrapes, histogram->mean);
    print_series(&series, "_count", "", scrapes, 1);
}

static void print_gaps(const char *family, struct scrapes scrapes)
{
    owned(chars) char *labels = with_model("");
    const struct series sum = { family, labels, gap_seconds };
    const struct series all = { family, labels, gaps };

    print_family(family, "histogram");
    print_series(&all, "_bucket", "le=\"+Inf\"", scrapes, 1);
    print_series(&sum, "_sum", "", scrapes, 1);
    print_series(&all, "_count", "", scrapes, 1);
}

/* Without a model, as vLLM shows it. */
static void print_cache(struct scrapes scrapes)
{
    owned(chars) char *labels = text_format(
        ",engine=\"0\",block_size=\"16\",num_gpu_blocks=\"8000\""
        ",enable_prefix_caching=\"%s\"",
        has_flag('c') ? "True" : "False");
    const struct series series = { "vllm:cache_config_info", labels, yes };

    print_family(series.name, "gauge");
    print_series(&series, "", "", scrapes, 1);
}

static void print_vllm(struct scrapes scrapes)
{
    static const double wait_bounds[] = { 0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10 };
    owned(chars) char *labels = with_model("");
    const struct series steps = { "vllm:iteration_tokens_total", labels, iterations };
    bool is_old = has_flag('o');

    print_family("vllm:iteration_tokens_total", "histogram");
    print_series(&steps, "_bucket", "le=\"+Inf\"", scrapes, 1);
    print_series(&steps, "_count", "", scrapes, 1);
    print_counter(&(struct series){ "vllm:generation_tokens", "", generated }, scrapes);
    print_counter(&(struct series){ "vllm:prompt_tokens", "", prompts }, scrapes);
    if (!is_old && !has_flag('c'))
        print_counter(&(struct series){ "vllm:prompt_tokens_by_source", ",source=\"local_compute\"",
                                        prompts },
                      scrapes);
    if (has_flag('c'))
        print_counter(&(struct series){ "vllm:prefix_cache_hits", "", cached }, scrapes);
    print_gaps(is_old ? "vllm:time_per_output_token_seconds" : "vllm:inter_token_latency_seconds",
               scrapes);
    print_gauge(&(struct series){ "vllm:num_requests_running", "", running }, scrapes);
    print_gauge(&(struct series){ "vllm:num_requests_waiting", "", waiting }, scrapes);
    print_counter(&(struct series){ "vllm:request_success", ",finished_reason=\"length\"", ended },
                  scrapes);
    print_gauge(&(struct series){ is_old ? "vllm:gpu_cache_usage_perc" : "vllm:kv_cache_usage_perc",
                                  "", cache_used },
                scrapes);
    print_histogram(&(struct histogram){ "vllm:request_generation_tokens", token_bounds,
                                         COUNT_OF(token_bounds), share_below, 200 },
                    scrapes);
    print_histogram(&(struct histogram){ "vllm:request_prompt_tokens", token_bounds,
                                         COUNT_OF(token_bounds), share_prompt, 500 },
                    scrapes);
    print_histogram(&(struct histogram){ "vllm:request_queue_time_seconds", wait_bounds,
                                         COUNT_OF(wait_bounds), share_wait, 0 },
                    scrapes);
    print_cache(scrapes);
}

static void print_sglang(struct scrapes scrapes)
{
    print_counter(&(struct series){ "sglang:generation_tokens", "", generated }, scrapes);
    print_gaps("sglang:inter_token_latency_seconds", scrapes);
    print_gauge(&(struct series){ "sglang:num_running_reqs", ",tp_rank=\"0\"", running }, scrapes);
    print_gauge(&(struct series){ "sglang:num_queue_reqs", ",tp_rank=\"0\"", waiting }, scrapes);
    print_gauge(&(struct series){ "sglang:max_total_num_tokens", "", cache_size }, scrapes);
    print_histogram(&(struct histogram){ "sglang:generation_tokens_histogram", token_bounds,
                                         COUNT_OF(token_bounds), share_below, 200 },
                    scrapes);
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
        print_sglang((struct scrapes){ scrapes, (size_t)play.scrapes * instances });
    else
        print_vllm((struct scrapes){ scrapes, (size_t)play.scrapes * instances });
    printf("# EOF\n");
    mem_free(scrapes);
    return 0;
}
