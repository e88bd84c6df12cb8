/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is asked about engines, how answers become scrapes, and that nothing absent becomes zero.
 */
#include "base/file.h"
#include "base/input/json.h"
#include "broker/sources/engine_scrapes.h"
#include "tests/sources/source_bench.h"

#include <math.h>

#define URL "http://127.0.0.1:9090/api/v1/query_range"
#define EMPTY "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}"

enum { STEP_S = 15, STEPS = 5, QUESTIONS = 21 };

/* In the order in which they are asked. */
enum asked {
    SERIES,
    TIMES,
    ITERATIONS,
    GENERATED,
    COMPUTED,
    PROMPTS,
    GAP_SECONDS,
    GAPS,
    RUNNING,
    LEAST,
    MEAN,
    WAITING,
    FINISHED,
    CACHED,
    DRAFTED,
    PREEMPTED,
    KV,
    WAITS,
    CACHE,
    OUT,
    IN,
};

static const struct source_settings settings = {
    .name = "metrics",
    .kind = "prometheus",
    .endpoint = "http://127.0.0.1:9090",
};

static void the_questions_are_made_of_the_table(void **state)
{
    static const struct {
        const char *engine;
        enum engine_name name;
        enum engine_question question;
        const char *selector;
        const char *want;
    } rows[] = {
        { "vllm", NAME_ITERATIONS, ASK_VALUE, "model_name=\"a\"",
          "sum by (instance, engine) (vllm:iteration_tokens_total_count{model_name=\"a\"})" },
        { "vllm", NAME_ITERATIONS, ASK_TIME, "",
          "max by (instance, engine) (timestamp(vllm:iteration_tokens_total_count{}))" },
        { "vllm", NAME_COMPUTED, ASK_VALUE, "a=\"b\"",
          "sum by (instance, engine) (vllm:prompt_tokens_by_source_total{source=\"local_compute\","
          "a=\"b\"}) or (sum by (instance, engine) (vllm:prompt_tokens_total{a=\"b\"}) - sum by "
          "(instance, engine) (vllm:prompt_tokens_cached_total{a=\"b\"}))" },
        { "vllm", NAME_GAPS, ASK_VALUE, "",
          "sum by (instance, engine) (vllm:inter_token_latency_seconds_count{}) or sum by "
          "(instance, "
          "engine) (vllm:time_per_output_token_seconds_count{})" },
        { "sglang", NAME_RUNNING, ASK_LEAST, "",
          "max by (instance) (min_over_time(sglang:num_running_reqs{}[15s]))" },
        { "tgi", NAME_GAPS, ASK_VALUE, "job=\"x\"",
          "sum by (instance) (tgi_batch_inference_duration_count{method=\"decode\",job=\"x\"})" },
        { "tgi", NAME_ITERATIONS, ASK_VALUE, "", NULL },
        { "vllm", NAME_WAITS, ASK_BUCKETS, "",
          "sum by (le) (increase(vllm:request_queue_time_seconds_bucket{}[15s]))" },
        { "vllm", NAME_PREEMPTED, ASK_GROWTH, "",
          "sum(increase(vllm:num_preemptions_total{}[15s]))" },
        { "dynamo", NAME_GENERATED, ASK_VALUE, "", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct engine_kind *kind = engine_kind_find(rows[i].engine);
        owned(chars) char *have = engine_query(kind, rows[i].name, rows[i].question,
                                               rows[i].selector, STEP_S * SECOND_MS);

        if (!text_equal(have, rows[i].want) && (have || rows[i].want))
            fail_msg("%zu: %s", i, have ?: "nothing");
    }
    assert_null(engine_kind_find("triton"));
    assert_string_equal(engine_kind_of("sglang:num_requests_total")->name, "sglang");
    assert_null(engine_kind_of("http_requests_total"));
}

static void metrics_name_an_engine_and_its_labels(void **state)
{
    static const struct {
        const char *metrics;
        const char *kind; /* NULL: refused */
        const char *selector;
    } rows[] = {
        { "vllm{model_name=\"chat\"}", "vllm", "model_name=\"chat\"" },
        { "sglang", "sglang", "" },
        { "tgi{}", "tgi", "" },
        { "vllm{a=\"}\"}", "vllm", "a=\"}\"" },
        { "vllm{", NULL, "expected matchers in braces" },
        { "vllm{a=\"b\"", NULL, "expected matchers in braces" },
        { "vllm:num_requests_running", NULL, "unknown engine \"vllm:num" },
        { "", NULL, "unknown engine \"\"; known: vllm, sglang, tgi, dynamo" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct engine_kind *kind = NULL;
        owned(chars) char *selector = NULL;
        struct error err = { 0 };
        int result = engine_metrics_parse(rows[i].metrics, &kind, &selector, &err);

        if ((result == 0) != (rows[i].kind != NULL) ||
            (result == 0 &&
             (!text_equal(kind->name, rows[i].kind) || !text_equal(selector, rows[i].selector))) ||
            (result < 0 && !strstr(err.text, rows[i].selector)))
            fail_msg("%s: %s, %s", rows[i].metrics, selector ?: "", err.text);
    }
}

/* No more points of a series than a server gives, and whole steps. */
static void long_spans_are_asked_in_longer_steps(void **state)
{
    static const struct {
        int64_t span_ms;
        int64_t step_ms;
    } rows[] = { { HOUR_MS, 15000 },
                 { DAY_MS, 15000 },
                 { 2 * DAY_MS, 30000 },
                 { 7 * DAY_MS, 60000 },
                 { 31LL * DAY_MS, 15000 * 18 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct engine_question_set set = { 0 };
        struct wall_time to = { MIDNIGHT * SECOND_MS + 7001 };

        engine_question_set_span(&set, (struct wall_time){ to.ms - rows[i].span_ms }, to);
        assert_int_equal(set.step_ms, rows[i].step_ms);
        assert_int_equal(set.to.ms, MIDNIGHT * SECOND_MS);
        assert_int_equal((set.to.ms - set.from.ms) % set.step_ms, 0);
        assert_in_range(set.to.ms - set.from.ms, rows[i].span_ms - set.step_ms - 15000,
                        rows[i].span_ms);
        assert_true((set.to.ms - set.from.ms) / set.step_ms < 11000);
    }
}

/* Every name of an engine begins as its own do: the table has no row of another engine. */
static void names_are_those_of_their_engine(void **state)
{
    static const char *const names[] = { "vllm", "sglang", "tgi", "dynamo" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct engine_kind *kind = engine_kind_find(names[i]);

        assert_non_null(strstr(engine_kind_names(), names[i]));
        for (int name = 0; name < ENGINE_NAMES; name++)
            for (int at = 0; at < ENGINE_OTHER_NAMES && kind->names[name][at]; at++)
                assert_true(engine_kind_of(kind->names[name][at]) == kind);
    }
}

/* vLLM's names are those that a real one served: all but those of speculative decoding, which was
   off. */
static void names_of_vllm_are_real(void **state)
{
    const struct engine_kind *kind = engine_kind_find("vllm");
    owned(text) struct text *served = file_read(SLUICE_SOURCE "/tests/sources/vllm-0.32.0.txt",
                                                1 << 20, NULL);

    (void)state;
    assert_non_null(served);
    for (int name = 0; name < ENGINE_NAMES; name++) {
        bool is_histogram = name >= NAME_TOKENS_OUT && name <= NAME_WAITS;
        const char *first = kind->names[name][0];
        owned(chars) char *line = text_format("\n%.*s%s{", (int)strcspn(first, "{"), first,
                                              is_histogram ? "_bucket" : "");

        if ((strstr(served->chars, line) != NULL) == (name == NAME_DRAFTED))
            fail_msg("%s", line + 1);
    }
}

/* A series from midnight on: values with blanks between them, "-" for no point. */
static char *series_of(const char *labels, const char *values)
{
    struct text *out = text_new(TEXT_UNBOUNDED);
    const char *separator = "";
    long long time = MIDNIGHT;

    text_add(out, "{\"metric\":{%s},\"values\":[", labels);
    for (; *values; time += STEP_S) {
        size_t length = strcspn(values, " ");

        if (values[0] != '-') {
            text_add(out, "%s[%lld,\"%.*s\"]", separator, time, (int)length, values);
            separator = ",";
        }
        values += length + (values[length] == ' ');
    }
    text_add(out, "]}");
    return text_take(out);
}

static char *answer_of(const char *labels, const char *values)
{
    owned(chars) char *series = series_of(labels, values);

    return text_format(
        "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[%s]}}", series);
}

struct heard {
    struct engine_scrapes *scrapes;
    struct error err;
    int calls;
};

static void hear(void *context, struct engine_scrapes *scrapes, const struct error *err)
{
    struct heard *heard = context;

    heard->scrapes = scrapes;
    heard->calls++;
    if (err)
        heard->err = *err;
}

/* An answer that differs from those of a good engine. */
struct other {
    enum asked at;
    int status;
    const char *body;
};

#define A "\"instance\":\"a:8000\",\"engine\":\"0\""

static const char *const good[QUESTIONS][2] = {
    [SERIES] = { "", "1 1 1 1 1" },
    [TIMES] = { A, "1794787190.5 1794787205.5 1794787220.5 1794787220.5 1794787250.5" },
    [ITERATIONS] = { A, "100 200 300 300 500" },
    [GENERATED] = { A, "1000 2000 3000 3000 NaN" },
    [COMPUTED] = { A, "50 60 70 70 90" },
    [PROMPTS] = { A, "100 120 140 140 180" },
    [GAP_SECONDS] = { A, "10 20 30 30 50" },
    [GAPS] = { A, "900 1900 2900 2900 4900" },
    [RUNNING] = { A, "9 12 8 8 14" },
    [LEAST] = { A, "9 8 - - 14" },
    [MEAN] = { A, "9 10 - - 14" },
    [WAITING] = { A, "0 2 0 0 0" },
    [FINISHED] = { "", "- - - - 400" },
    [PREEMPTED] = { "", "- - - - 3" },
    [KV] = { "", "- - - - 0.95" },
    [WAITS] = { "\"le\":\"+Inf\"", "- - - - 400" },
    [CACHE] = { A ",\"num_gpu_blocks\":\"100\",\"block_size\":\"16\",\"enable_prefix_caching\":"
                  "\"True\"",
                "1" },
};

static void play(const struct other *others, size_t count, struct source_bench *bench,
                 struct heard *heard)
{
    struct script_step steps[QUESTIONS];
    char *bodies[QUESTIONS];
    const struct engine_question_set set = {
        .kind = engine_kind_find("vllm"),
        .selector = "model_name=\"a\"",
        .from = { MIDNIGHT * SECOND_MS },
        .to = { (MIDNIGHT + (STEPS - 1) * STEP_S) * SECOND_MS },
        .step_ms = STEP_S * SECOND_MS,
    };

    *heard = (struct heard){ 0 };
    for (int i = 0; i < QUESTIONS; i++) {
        bodies[i] = good[i][0] ? answer_of(good[i][0], good[i][1]) : mem_copy_chars(EMPTY);
        steps[i] = (struct script_step){
            .method = HTTP_POST, .url = URL, .status = 200, .answer = bodies[i]
        };
    }
    for (size_t i = 0; i < count; i++) {
        steps[others[i].at].status = others[i].status;
        steps[others[i].at].answer = others[i].body;
    }
    bench_open(bench, &settings, steps, QUESTIONS);
    assert_int_equal(engine_scrapes_ask(bench->source, &set, hear, heard, &heard->err), 0);
    assert_int_equal(heard->calls, 0);
    loop_run(bench->loop);
    assert_int_equal(heard->calls, 1);
    for (int i = 0; i < QUESTIONS; i++)
        mem_free(bodies[i]);
}

static void points_become_scrapes(void **state)
{
    struct source_bench bench;
    struct heard heard;

    (void)state;
    play(NULL, 0, &bench, &heard);
    if (!heard.scrapes)
        fail_msg("%s", heard.err.text);

    const struct engine_scrapes *scrapes = heard.scrapes;

    assert_int_equal(scrapes->count, 4); /* of five steps one repeats the scrape before */
    assert_int_equal(scrapes->instance_count, 1);
    assert_string_equal(scrapes->instances[0], "a:8000 0");
    assert_true(scrapes->scrapes[1].at_s == 1794787205.5);
    assert_true(scrapes->scrapes[1].counters[PROFILE_ITERATIONS] == 200);
    assert_true(scrapes->scrapes[1].counters[PROFILE_PREFILL] == 60);
    assert_true(scrapes->scrapes[1].running_least == 8 && scrapes->scrapes[1].running_mean == 10);
    assert_true(isnan(scrapes->scrapes[2].running_least));
    assert_true(isnan(scrapes->scrapes[3].counters[PROFILE_GENERATED]));
    assert_true(scrapes->slots_seen == 12 && scrapes->running_most == 14);
    assert_true(scrapes->computed == 40 && scrapes->prompts == 80);
    assert_true(scrapes->cache_tokens == 1600 && !scrapes->has_cache_off);
    assert_true(scrapes->totals[NAME_PREEMPTED] == 3 && scrapes->totals[NAME_KV_USAGE] == 0.95);
    assert_true(isnan(scrapes->totals[NAME_CACHED]) && isnan(scrapes->totals[NAME_DRAFTED]));
    assert_null(scrapes->out.shape);
    assert_non_null(strstr(scrapes->out.why.text, "no series called so"));
    assert_int_equal(scrapes->wait_count, 1);
    engine_scrapes_free(heard.scrapes);
    bench_close(&bench);
}

#define MATRIX(series)                                                                             \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[" series "]}}"

static const struct {
    const char *name;
    struct other other;
    enum error_kind kind;
    const char *want;
} refusals[] = {
    { "two series of one instance",
      { SERIES, 200, MATRIX("{\"metric\":{},\"values\":[[1794787200,\"2\"]]}") },
      ERROR_INVALID,
      "2 series have the same instance, engine" },
    { "no right to ask", { TIMES, 403, "" }, ERROR_DENIED, "403" },
    { "a bad selector",
      { SERIES, 400, "{\"error\":\"parse error\"}" },
      ERROR_INVALID,
      "vllm:iteration_tokens_total_count: refused: 400 parse error" },
    { "half of an answer",
      { GAPS, 200, "{\"status\":\"success\",\"warnings\":[\"cut\"],\"data\":{}}" },
      ERROR_CORRUPT,
      "partial: cut" },
    { "a point between steps",
      { ITERATIONS, 200, MATRIX("{\"metric\":{},\"values\":[[1794787203,\"2\"]]}") },
      ERROR_CORRUPT,
      "not on one of the steps" },
    { "a point after the end",
      { ITERATIONS, 200, MATRIX("{\"metric\":{},\"values\":[[1794787275,\"2\"]]}") },
      ERROR_CORRUPT,
      "not on one of the steps" },
    { "a value that is none",
      { ITERATIONS, 200, MATRIX("{\"metric\":{},\"values\":[[1794787200,\"many\"]]}") },
      ERROR_CORRUPT,
      "\"many\"" },
    { "no values", { ITERATIONS, 200, MATRIX("{\"metric\":{}}") }, ERROR_CORRUPT, "values" },
    { "no times of scrapes", { TIMES, 200, EMPTY }, ERROR_NOT_FOUND, "no series of vllm with" },
};

static void what_cannot_be_read_ends_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        struct source_bench bench;
        struct heard heard;

        play(&refusals[i].other, 1, &bench, &heard);
        if (heard.scrapes || heard.err.kind != refusals[i].kind ||
            !strstr(heard.err.text, refusals[i].want) || !strstr(heard.err.text, "source metrics"))
            fail_msg("%s: %s, %s", refusals[i].name, error_kind_name(heard.err.kind),
                     heard.err.text);
        bench_close(&bench);
    }
}

/* A series that is absent is unknown in all scrapes, and so is what is no number. */
static void what_is_absent_is_not_zero(void **state)
{
    static const struct {
        struct other other;
        enum profile_counter counter;
    } rows[] = {
        { { ITERATIONS, 200, EMPTY }, PROFILE_ITERATIONS },
        { { GENERATED, 200, EMPTY }, PROFILE_GENERATED },
        { { COMPUTED, 200, EMPTY }, PROFILE_PREFILL },
        { { GAPS, 200, MATRIX("{\"metric\":{" A "},\"values\":[[1794787200,\"NaN\"]]}") },
          PROFILE_GAPS },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct source_bench bench;
        struct heard heard;

        play(&rows[i].other, 1, &bench, &heard);
        if (!heard.scrapes)
            fail_msg("%zu: %s", i, heard.err.text);
        for (size_t at = 0; at < heard.scrapes->count; at++)
            assert_true(isnan(heard.scrapes->scrapes[at].counters[rows[i].counter]));
        engine_scrapes_free(heard.scrapes);
        bench_close(&bench);
    }
}

/* Prompts are all computed where no cache is, and only there. */
static void prompts_stand_in_where_nothing_is_cached(void **state)
{
    static const struct {
        struct other second; /* beside the computed ones, which are absent */
        bool is_counted;
    } rows[] = {
        { { CACHED, 200, MATRIX("{\"metric\":{},\"values\":[[1794787260,\"0\"]]}") }, true },
        { { CACHED, 200, MATRIX("{\"metric\":{},\"values\":[[1794787260,\"7\"]]}") }, false },
        { { CACHED, 200, EMPTY }, false },
        { { CACHE, 200,
            MATRIX("{\"metric\":{\"enable_prefix_caching\":\"False\"},\"values\":[]}") },
          true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct other others[] = { { COMPUTED, 200, EMPTY }, rows[i].second };
        struct source_bench bench;
        struct heard heard;

        play(others, COUNT_OF(others), &bench, &heard);
        assert_non_null(heard.scrapes);
        if (isnan(heard.scrapes->computed) == rows[i].is_counted)
            fail_msg("%zu: %g", i, heard.scrapes->computed);
        assert_true(isnan(heard.scrapes->scrapes[0].counters[PROFILE_PREFILL]) !=
                    rows[i].is_counted);
        engine_scrapes_free(heard.scrapes);
        bench_close(&bench);
    }
}

#define B_PROMPTS                                                                                  \
    "{\"metric\":{\"instance\":\"b:8000\",\"engine\":\"0\"},\"values\":[[1794787200,\"0\"],"       \
    "[1794787260,\"800\"]]}"

/* The share of prompts that is computed: where nothing counts the computed ones, the prompts say
   nothing of it either.  Taken as none computed, they would make prompts look cheap. */
static void the_computed_share_is_of_what_both_counters_saw(void **state)
{
    static const struct {
        const char *name;
        const char *computed; /* of one instance */
        const char *more;     /* prompts of another one */
    } rows[] = {
        { "both all the time", "50 60 70 70 90", "" },
        { "computed ones are dropped", "50 60 - - -", "" },
        { "computed ones begin later", "- - 70 70 90", "" },
        { "an instance that does not count them", "50 60 70 70 90", "," B_PROMPTS },
        { "no numbers", "50 60 NaN NaN NaN", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *computed = answer_of(A, rows[i].computed);
        owned(chars) char *mine = series_of(A, good[PROMPTS][1]);
        owned(chars) char *prompts = text_format(
            "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[%s%s]}}", mine,
            rows[i].more);
        const struct other others[] = { { COMPUTED, 200, computed }, { PROMPTS, 200, prompts } };
        struct source_bench bench;
        struct heard heard;

        play(others, COUNT_OF(others), &bench, &heard);
        if (!heard.scrapes)
            fail_msg("%s: %s", rows[i].name, heard.err.text);
        if (!(heard.scrapes->computed / heard.scrapes->prompts == 0.5))
            fail_msg("%s: %g of %g", rows[i].name, heard.scrapes->computed, heard.scrapes->prompts);
        engine_scrapes_free(heard.scrapes);
        bench_close(&bench);
    }
}

/* What froze, fell or sleeps makes fewer scrapes, or one that is no interval; never a quick one. */
static void what_stands_still_tells_nothing(void **state)
{
    static const struct {
        const char *name;
        struct other other;
        size_t scrapes;
        enum profile_drop drop; /* of the interval between the first two */
    } rows[] = {
        { "time is frozen",
          { TIMES, 200,
            MATRIX("{\"metric\":{" A "},\"values\":[[1794787200,\"1794787190.5\"],"
                   "[1794787215,\"1794787190.5\"],[1794787260,\"1794787190.5\"]]}") },
          1,
          PROFILE_UNKNOWN },
        { "a counter is reset",
          { GENERATED, 200,
            MATRIX("{\"metric\":{" A "},\"values\":[[1794787200,\"9000\"],[1794787215,\"40\"]]}") },
          4,
          PROFILE_RESTART },
        { "it sleeps",
          { LEAST, 200,
            MATRIX("{\"metric\":{" A "},\"values\":[[1794787200,\"0\"],[1794787215,\"0\"]]}") },
          4,
          PROFILE_IDLE },
        { "what ran is not told", { LEAST, 200, EMPTY }, 4, PROFILE_UNKNOWN },
        { "what ran is no number",
          { LEAST, 200,
            MATRIX("{\"metric\":{" A "},\"values\":[[1794787200,\"NaN\"],[1794787215,\"NaN\"]]}") },
          4,
          PROFILE_UNKNOWN },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct source_bench bench;
        struct heard heard;

        play(&rows[i].other, 1, &bench, &heard);
        if (!heard.scrapes)
            fail_msg("%s: %s", rows[i].name, heard.err.text);

        owned(profile_intervals) struct profile_intervals *intervals = profile_intervals_new(
            heard.scrapes->scrapes, heard.scrapes->count);

        if (heard.scrapes->count != rows[i].scrapes ||
            (intervals->count > 0 && intervals->items[0].drop != rows[i].drop))
            fail_msg("%s: %zu scrapes, %s", rows[i].name, heard.scrapes->count,
                     profile_drop_name(intervals->items[0].drop));
        engine_scrapes_free(heard.scrapes);
        bench_close(&bench);
    }
}

#define BUCKET(le, count) "{\"metric\":{\"le\":\"" le "\"},\"values\":[[1794787200,\"" count "\"]]}"

/* Lengths are no times: neither a day nor service_max has to do with them. */
static void lengths_are_spoken_of_in_tokens(void **state)
{
    static const struct {
        const char *body;
        const char *want; /* NULL: it is a histogram */
    } rows[] = {
        { MATRIX(BUCKET("100000", "900") "," BUCKET("200000", "1000") "," BUCKET(
              "+Inf", "1000") "," BUCKET("sum", "6e7")),
          NULL },
        { MATRIX(BUCKET("1000", "900") "," BUCKET("+Inf", "1000") "," BUCKET("sum", "9e5")),
          "10.0 of 100 requests are longer than the last bucket, 1000 tokens: add buckets above "
          "it, "
          "or give measured lengths as tokens_file" },
        { MATRIX(BUCKET("1000", "1000") "," BUCKET("+Inf", "1000") "," BUCKET("sum", "2e6")),
          "the mean of 2000 tokens is not one of lengths whose mean is between 0 and 1000 tokens" },
        { MATRIX(BUCKET("1000", "1000") "," BUCKET("+Inf", "1000") "," BUCKET("sum", "NaN")),
          "the sum of the lengths is nan tokens" },
        { MATRIX(BUCKET("2e7", "1000") "," BUCKET("+Inf", "1000") "," BUCKET("sum", "9e9")),
          "a length of 2e+07 tokens is over 1e+07" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct other other = { OUT, 200, rows[i].body };
        struct source_bench bench;
        struct heard heard;

        play(&other, 1, &bench, &heard);
        if (!heard.scrapes)
            fail_msg("%zu: %s", i, heard.err.text);

        const struct engine_lengths *out = &heard.scrapes->out;

        if ((out->shape != NULL) != !rows[i].want ||
            (rows[i].want && !strstr(out->why.text, rows[i].want)))
            fail_msg("%zu: %s", i, out->why.text);
        if (out->shape)
            assert_true(out->shape->mean_s == 60000);
        engine_scrapes_free(heard.scrapes);
        bench_close(&bench);
    }
}

static void a_source_may_be_closed_meanwhile(void **state)
{
    const struct script_step step = { .method = HTTP_POST, .url = URL, .hangs = true };
    const struct engine_question_set set = {
        .kind = engine_kind_find("vllm"),
        .selector = "",
        .from = { MIDNIGHT * SECOND_MS },
        .to = { (MIDNIGHT + 60) * SECOND_MS },
        .step_ms = STEP_S * SECOND_MS,
    };
    struct source_bench bench;
    struct heard heard = { 0 };

    (void)state;
    bench_open(&bench, &settings, &step, 1);
    assert_int_equal(engine_scrapes_ask(bench.source, &set, hear, &heard, &heard.err), 0);
    loop_run_until(bench.loop, loop_now(bench.loop) + 1000);
    assert_int_equal(bench.script->in_flight, 1);
    bench_close(&bench);
    assert_int_equal(heard.calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_questions_are_made_of_the_table),
        cmocka_unit_test(metrics_name_an_engine_and_its_labels),
        cmocka_unit_test(long_spans_are_asked_in_longer_steps),
        cmocka_unit_test(names_are_those_of_their_engine),
        cmocka_unit_test(names_of_vllm_are_real),
        cmocka_unit_test(points_become_scrapes),
        cmocka_unit_test(what_cannot_be_read_ends_it),
        cmocka_unit_test(what_is_absent_is_not_zero),
        cmocka_unit_test(prompts_stand_in_where_nothing_is_cached),
        cmocka_unit_test(the_computed_share_is_of_what_both_counters_saw),
        cmocka_unit_test(what_stands_still_tells_nothing),
        cmocka_unit_test(lengths_are_spoken_of_in_tokens),
        cmocka_unit_test(a_source_may_be_closed_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
