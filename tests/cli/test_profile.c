/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice profile as a person gives it: its mistakes, and the blocks that it prints of played
 * engines.  What it asks a real Prometheus is in tests/real/profile.
 */
#include "broker/capacity/profile_report.h"
#include "tests/cli/said.h"
#include "tests/support/folder.h"
#include "tests/support/golden.h"
#include "tests/windows/engine_play.h"

#include <math.h>

static const char config[] =
    "time_zone: UTC\n"
    "schedules: s\n"
    "clusters: {prod-a: {role: production, kubeconfig: k}}\n"
    "reservations: {main: {machine: m, region: r, zone: z, gpus_per_node: 8, nodes: 8}}\n"
    "providers: {google: {kind: gcp}}\n"
    "pools: {a: {cluster: prod-a, reservation: main, provider: google, project: p, group: g}}\n"
    "workloads:\n"
    "  chat-8x: {queue: chat, gpus: 8, clusters: {prod-a: {}}}\n"
    "  other-8x: {queue: other, gpus: 8, clusters: {prod-a: {}}}\n"
    "  batch-8x: {queue: batch, gpus: 8, clusters: {prod-a: {}}}\n"
    "  plain-8x: {queue: plain, gpus: 8, clusters: {prod-a: {}}}\n"
    "sources:\n"
    "  metrics: {kind: prometheus, endpoint: 'http://127.0.0.1:9', token: absent}\n"
    "  jobs: {kind: cloudwatch, region: us-east-1}\n"
    "queues:\n"
    "  chat: {wait_target: 1s, service: 1s, source: metrics,\n"
    "         arrivals: 'vllm:request_success_total{model_name=\"chat\"}'}\n"
    "  other: {wait_target: 1s, service: 1s, source: metrics, arrivals: http_requests_total}\n"
    "  batch: {wait_target: 1s, service: 1s, source: jobs, arrivals: batch}\n"
    "  plain: {wait_target: 1s, service: 1s}\n";

static const struct {
    const char *options;
    int code;
    const char *text;
} mistakes[] = {
    { "", 64, "--engine is required (vllm, sglang, tgi, dynamo)" },
    { "--engine vllm", 64, "--prometheus is required" },
    { "--engine triton --prometheus http://127.0.0.1:9", 64, "--engine" },
    { "--engine vllm --prometheus http://127.0.0.1:9 --since 5m", 64, "--since: expected 10m" },
    { "--engine vllm --prometheus http://127.0.0.1:9 --since soon", 64, "--since" },
    { "--engine vllm --prometheus http://127.0.0.1:9 --to 2999-01-01T00:00:00Z", 64,
      "--to: is in the future" },
    { "--engine vllm --prometheus http://127.0.0.1:9 --slots 0", 64, "--slots" },
    { "absent", 1, "no queue absent" },
    { "other", 64, "what the queue names is no engine's own metric" },
    { "plain --engine vllm", 64, "the queue has no source" },
    { "batch --engine vllm", 1, "only prometheus knows" },
    { "chat", 1, "absent" }, /* the token's file */
};

static void mistakes_are_named(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = test_folder_write(folder, "sluice.yaml", config);

    (void)state;
    assert_int_equal(chdir(folder), 0);
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        owned(chars) char *line = text_format("profile --config %s%s%s", path,
                                              *mistakes[i].options ? " " : "", mistakes[i].options);
        owned(said) struct said said = say(folder, folder, line);

        if (said.code != mistakes[i].code || !strstr(said.err->chars, mistakes[i].text))
            fail_msg("%s: %d, %s", mistakes[i].options, said.code, said.err->chars);
    }
    assert_int_equal(chdir("/"), 0);
}

/* What the walk through the questions brings, made by hand. */
static struct engine_scrapes *scrapes_of(const struct engine_play *play, size_t instances)
{
    struct engine_scrapes *scrapes = mem_new(sizeof *scrapes);
    size_t each = (size_t)play->scrapes;
    struct engine_scrape *played = mem_new_array(each, sizeof *played);
    const struct service_part tokens[] = { { 0, 100, 3935 },
                                           { 100, 500, 5250 },
                                           { 500, 1000, 815 } };
    const struct service_part prompts[] = { { 200, 500, 5000 }, { 500, 1000, 5000 } };
    static const struct service_bucket waits[] = { { 0.3, 9900 },
                                                   { 0.5, 9990 },
                                                   { INFINITY, 10000 } };
    struct error err = { 0 };

    scrapes->scrapes = mem_new_array(each * instances, sizeof *scrapes->scrapes);
    scrapes->instances = mem_new_array(instances, sizeof *scrapes->instances);
    scrapes->instance_count = instances;
    for (size_t i = 0; i < instances; i++) {
        scrapes->instances[i] = text_format("10.0.0.%zu:8000 0", i + 1);
        engine_play(play, 1 + i, i, 1.79e9, played);
        for (size_t at = 0; at < each; at++)
            scrapes->scrapes[scrapes->count++] = played[at].scrape;
    }
    for (int i = 0; i < ENGINE_NAMES; i++)
        scrapes->totals[i] = NAN;
    scrapes->totals[NAME_KV_USAGE] = 0.4;
    scrapes->totals[NAME_PREEMPTED] = 0;
    scrapes->slots_seen = 16;
    scrapes->running_most = 16;
    scrapes->prompts = 1e6;
    scrapes->computed = 8e5;
    scrapes->cache_tokens = 128000;
    scrapes->out.shape = service_shape_measured(tokens, COUNT_OF(tokens), 200, "", &err);
    scrapes->in.shape = service_shape_measured(prompts, COUNT_OF(prompts), 500, "", &err);
    assert_non_null(scrapes->out.shape);
    assert_non_null(scrapes->in.shape);
    scrapes->waits = mem_new_array(COUNT_OF(waits), sizeof *scrapes->waits);
    memcpy(scrapes->waits, waits, sizeof waits);
    scrapes->wait_count = COUNT_OF(waits);
    mem_free(played);
    return scrapes;
}

enum change {
    NO_CHANGE,
    SHORT,
    SPECULATIVE,
    NO_ITERATIONS,
    FULL_CACHE,
    NEVER_WAITED,
    NO_LENGTHS,
    FRONT_END,
    LATE_WAITS,
};

static void change_scrapes(enum change change, struct engine_scrapes *scrapes)
{
    switch (change) {
    case NO_CHANGE:
    case FRONT_END:
        break;
    case SHORT:
        scrapes->count = 10;
        break;
    case SPECULATIVE:
        scrapes->totals[NAME_DRAFTED] = 4711;
        break;
    case NO_ITERATIONS:
        for (size_t i = 0; i < scrapes->count; i++)
            scrapes->scrapes[i].counters[PROFILE_ITERATIONS] = NAN;
        scrapes->computed = scrapes->prompts = scrapes->cache_tokens = NAN;
        break;
    case FULL_CACHE:
        scrapes->totals[NAME_KV_USAGE] = 0.97;
        scrapes->totals[NAME_PREEMPTED] = 12;
        break;
    case NEVER_WAITED:
        scrapes->slots_seen = NAN;
        break;
    case NO_LENGTHS:
        service_shape_free(steal(&scrapes->out.shape));
        error_set(&scrapes->out.why, ERROR_INVALID,
                  "12 requests were measured, and 100 are needed");
        break;
    case LATE_WAITS:
        scrapes->waits[0].count = 9000;
        scrapes->waits[1].count = 9700;
        break;
    }
}

static const struct {
    const char *name;
    enum change change;
    const char *engine;
    int64_t slots;
    size_t instances;
    bool has_law;
    bool is_whole;
} reports[] = {
    { "counters", NO_CHANGE, "vllm", 24, 3, true, true },
    { "gaps", NO_ITERATIONS, "sglang", 0, 1, true, true },
    { "short", SHORT, "vllm", 0, 1, true, false },
    { "speculative", SPECULATIVE, "vllm", 64, 1, true, false },
    { "full-cache", FULL_CACHE, "vllm", 0, 1, true, true },
    { "never-waited", NEVER_WAITED, "vllm", 0, 1, true, true },
    { "no-lengths", NO_LENGTHS, "vllm", 24, 1, true, false },
    { "late-waits", LATE_WAITS, "vllm", 24, 1, true, true },
    { "front-end", FRONT_END, "dynamo", 24, 1, false, false },
};

static void blocks_are_printed_with_what_they_rest_on(void **state)
{
    const struct engine_play play = { .base_s = 0.010,
                                      .request_s = 0.0005,
                                      .prefill_s = 20e-6,
                                      .slots = 16,
                                      .tokens_in = 500,
                                      .tokens_out = 200,
                                      .noise = 0.05,
                                      .scrape_s = 15,
                                      .low = 0.8,
                                      .high = 3.6,
                                      .waves = 2,
                                      .scrapes = 240 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(reports); i++) {
        owned(engine_scrapes) struct engine_scrapes *scrapes = scrapes_of(&play,
                                                                          reports[i].instances);
        const struct profile_ask ask = {
            .kind = engine_kind_find(reports[i].engine),
            .source = "metrics",
            .selector = "model_name=\"chat\"",
            .from = { 1790000000000 },
            .to = { 1790003600000 },
            .slots = reports[i].slots,
        };
        owned(text) struct text *yaml = text_new(TEXT_UNBOUNDED);
        owned(chars) char *path = text_format("golden/cli/profile-%s.txt", reports[i].name);
        struct profile_report report;

        change_scrapes(reports[i].change, scrapes);
        profile_report_make(&report, &ask, scrapes);
        profile_report_yaml(&report, yaml);
        if (report.has_law != reports[i].has_law || report.is_whole != reports[i].is_whole)
            fail_msg("%s: law %d, whole %d: %s", reports[i].name, report.has_law, report.is_whole,
                     yaml->chars);
        golden_check(path, yaml->chars);

        owned(json) json_t *root = profile_report_json(&report);

        schema_fits_made("profile", root);
        assert_string_equal(json_text_or(root, "yaml", ""), yaml->chars);
        assert_true(json_is_null(json_object_get(root, "law")) ==
                    (!report.has_law || report.law.method == PROFILE_SAFE));
    }
}

/* Slots that were only seen at the slowest pace are all that the safe form may count on. */
static void the_safe_form_counts_on_no_more_than_was_seen(void **state)
{
    const struct engine_play play = { .base_s = 0.010,
                                      .request_s = 0.0005,
                                      .prefill_s = 20e-6,
                                      .slots = 64,
                                      .tokens_in = 500,
                                      .tokens_out = 200,
                                      .scrape_s = 15,
                                      .low = 2,
                                      .high = 2,
                                      .scrapes = 10 };
    owned(engine_scrapes) struct engine_scrapes *scrapes = scrapes_of(&play, 1);
    const struct profile_ask ask = {
        .kind = engine_kind_find("vllm"), .source = "metrics", .selector = "", .slots = 64
    };
    struct profile_report report;

    (void)state;
    profile_report_make(&report, &ask, scrapes);
    assert_true(report.has_law && report.law.method == PROFILE_SAFE);
    assert_in_range(report.slots, 3, 16);
    assert_true(report.slots <= report.law.slowest_at);
    assert_true(fabs(report.service_s - 200 * report.law.slowest_s) < 1e-9);
}

/* No more requests ever run than the cache holds, however many slots there are. */
static void an_engine_that_its_cache_limits_is_measured_by_gaps(void **state)
{
    const struct engine_play play = { .base_s = 0.010,
                                      .request_s = 0.0005,
                                      .prefill_s = 20e-6,
                                      .slots = 86,
                                      .tokens_in = 500,
                                      .tokens_out = 200,
                                      .noise = 0.05,
                                      .scrape_s = 15,
                                      .low = 1,
                                      .high = 6.5,
                                      .waves = 2,
                                      .scrapes = 240 };
    const struct profile_ask ask = {
        .kind = engine_kind_find("sglang"), .source = "metrics", .selector = "", .slots = 256
    };
    const double usages[] = { 0.95, 0.5 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(usages); i++) {
        owned(engine_scrapes) struct engine_scrapes *scrapes = scrapes_of(&play, 1);
        struct profile_report report;

        change_scrapes(NO_ITERATIONS, scrapes);
        scrapes->totals[NAME_KV_USAGE] = usages[i];
        scrapes->running_most = scrapes->slots_seen = 86;
        profile_report_make(&report, &ask, scrapes);
        if (!report.has_law ||
            report.law.method != (usages[i] > 0.9 ? PROFILE_BY_GAPS : PROFILE_SAFE))
            fail_msg("%g: %s: %s", usages[i], profile_method_name(report.law.method),
                     report.law.why[PROFILE_BY_GAPS].text);
        assert_int_equal(report.slots_by, usages[i] > 0.9 ? SLOTS_TOLD : SLOTS_SLOWEST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(blocks_are_printed_with_what_they_rest_on),
        cmocka_unit_test(an_engine_that_its_cache_limits_is_measured_by_gaps),
        cmocka_unit_test(the_safe_form_counts_on_no_more_than_was_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
