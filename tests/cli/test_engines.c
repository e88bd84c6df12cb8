/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Commands that plan for a queue whose replicas are engines: eight requests at once in each, so
 * that a plan which takes a request for a server asks for eight times as many.
 */
#include "tests/cli/planned.h"

#include <math.h>

#define WITH " -c @/sluice.yaml -d @/week.csv "

/* A request alone takes 81 s, in a full batch 88 s. */
#define ALONE "service: 81s"
#define ENGINE "engine: {slots: 8, iteration: 40ms, iteration_per_request: 0.5ms, tokens_out: 2000}"

/* The folder of planned.h with another chat. */
static char *folder_with(const char *chat)
{
    static const char was[] = "  chat: {wait_target: 20s, service: 30s}\n";
    char *folder = planned_folder();
    const char *at = strstr(planned_config, was);
    owned(chars) char *config = text_format("%.*s  chat: {wait_target: 20s, %s}\n%s",
                                            (int)(at - planned_config), planned_config, chat,
                                            at + strlen(was));

    planned_put(folder, "sluice.yaml", config);
    return folder;
}

static json_t *json_of(const char *folder, const char *line)
{
    owned(said) struct said said = expect_code(folder, 0, line);

    return planned_json(&said);
}

static double suggested(const char *chat)
{
    owned(test_folder) char *folder = folder_with(chat);
    owned(json) json_t *root = json_of(folder, "windows --suggest --count 3 -o json" WITH);

    return json_number_value(json_object_get(root, "floor"));
}

/* Other queues need the same in both; chat alone is a sixth of what it would be. */
static void proposed_windows_count_replicas(void **state)
{
    double none = suggested("scale_up: 0.0001, " ALONE);
    double alone = suggested(ALONE) - none;
    double engines = suggested(ENGINE) - none;

    (void)state;
    assert_true(alone > 0);
    if (!(engines > alone / 10 && engines < alone / 4))
        fail_msg("%g GPU-hours for engines, %g for one request at a time", engines, alone);
}

/* Of the windows of `day` and `night` the first, and its queue chat. */
static const json_t *chat_by_day(const json_t *root)
{
    return json_array_get(json_at(json_array_get(json_at(root, "windows"), 0), "queues"), 0);
}

static double number(const json_t *row, const char *key)
{
    if (!json_is_number(json_object_get(row, key)))
        fail_msg("%s is no number", key);
    return json_number_value(json_object_get(row, key));
}

static const char explain_line[] = "explain workload chat-2x --window day --seeds 2 -o json" WITH;

/* 500 requests more in half an hour are 0.672 a second; a replica ends 8 in 88 s. */
static void an_engine_is_explained_by_its_slots_and_how_full_they_are(void **state)
{
    owned(test_folder) char *folder = folder_with(ENGINE);
    owned(json) json_t *root = json_of(folder, explain_line);
    owned(said) struct said table = expect_code(folder, 0,
                                                "explain workload chat-2x --seeds 2" WITH);
    const json_t *row = chat_by_day(root);
    const json_t *engine = json_object_get(row, "engine");

    (void)state;
    assert_int_equal(json_int_or(engine, "slots", 0), 8);
    assert_string_equal(json_text_or(engine, "limit", ""), "slots");
    assert_true(fabs(number(engine, "capacity_per_s") - 8. / 88) < 1e-9);
    assert_true(number(row, "replicas_for_target") >= 5 && number(row, "replicas_for_target") <= 9);
    assert_true(fabs(number(engine, "longest_s") / (log(2 * 65536) * 88) - 1) < 0.01);
    assert_non_null(strstr(table.out->chars, "the longest request takes 10"));
    for (size_t i = 0; i < 3; i++) {
        const json_t *wait = json_array_get(json_at(row, "waits"), i);
        double utilisation = number(row, "peak_per_s") / (number(wait, "replicas") * 8 / 88);

        assert_true(fabs(number(wait, "peak_utilisation") - utilisation) < 1e-6);
        assert_true(utilisation >= 1 || number(wait, "peak_occupancy") < utilisation);
        assert_true(json_bool_or(wait, "is_met", i == 0) == (i > 0));
        assert_string_equal(json_text_or(wait, "binds", ""), "wait");
        assert_true(number(wait, "ttft_s") >= number(wait, "wait_s"));
        assert_true(number(wait, "itl_s") > 0.0405 && number(wait, "itl_s") <= 0.0441);
    }
    assert_true(json_is_null(json_object_get(row, "ttft")));
    assert_non_null(strstr(table.out->chars, "8 slots (slot-limited), an iteration of 40ms + "
                                             "500us a request; 0 tokens in, 2000 out (cv 1)"));
    assert_non_null(strstr(table.out->chars, "service     81 s alone, tokens (cv 1), by "
                                             "configuration"));
    assert_non_null(strstr(table.out->chars, " % of what they can end arrives, "));
}

/* Tokens of 42 ms ask for four running at most, which leaves no request to wait. */
static void the_target_that_binds_is_named(void **state)
{
    static const struct {
        const char *chat;
        const char *binds;
        const char *said;
    } rows[] = {
        { "ttft_target: 200ms, " ENGINE, "ttft", "a first token takes" },
        { "itl_target: 42ms, " ENGINE, "itl", "each later token of a request takes" },
    };
    owned(test_folder) char *plain = folder_with(ENGINE);
    owned(json) json_t *without = json_of(plain, explain_line);
    double replicas = number(chat_by_day(without), "replicas_for_target");

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = folder_with(rows[i].chat);
        owned(json) json_t *root = json_of(folder, explain_line);
        owned(said) struct said table = expect_code(folder, 0,
                                                    "explain workload chat-2x --seeds 2" WITH);
        const json_t *row = chat_by_day(root);
        const json_t *less = json_array_get(json_at(row, "waits"), 0);

        assert_true(number(row, "replicas_for_target") > replicas);
        assert_string_equal(json_text_or(row, "binds", ""), rows[i].binds);
        assert_false(json_bool_or(less, "is_met", true));
        assert_true(number(less, "wait_s") <= 20);
        if (!strstr(table.out->chars, rows[i].said))
            fail_msg("%s", table.out->chars);
    }
}

/* The burst of Tuesday fills batches, and no request waits: the day is late by its tokens. */
static void a_bad_day_is_told_by_the_target_that_is_worst_on_it(void **state)
{
    static const struct {
        const char *chat;
        const char *target;
        const char *note;
        const char *day;
    } rows[] = {
        { "itl_target: 42ms, " ENGINE, "itl",
          "queue chat: on 2026-11-17 alone 98 of 100 later tokens take up to 0.04",
          ": there 98 of 100 later tokens take up to 0.04" },
        { "ttft_target: 200ms, " ENGINE, "ttft",
          "queue chat: on 2026-11-17 alone 98 of 100 first tokens take up to ",
          ": there 98 of 100 first tokens take up to " },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = folder_with(rows[i].chat);
        owned(said) struct said told = expect_code(folder, 0, "allocate --seeds 2" WITH);
        owned(said) struct said why = expect_code(folder, 0,
                                                  "explain workload chat-2x --seeds 2" WITH);
        owned(json) json_t *plan = json_of(folder, "allocate --seeds 2 -o json" WITH);
        owned(json)
            json_t *each = json_of(folder, "allocate --seeds 2 --slo each-day -o json" WITH);
        const json_t *late = json_object_get(chat_by_day(plan), "late_day");

        if (!strstr(told.out->chars, rows[i].note))
            fail_msg("%s", told.out->chars);
        if (!strstr(why.out->chars, rows[i].day))
            fail_msg("%s", why.out->chars);
        assert_string_equal(json_text_or(late, "target", ""), rows[i].target);
        assert_string_equal(json_text_or(late, "at", ""), "2026-11-17T13:00:00Z");
        assert_false(json_bool_or(late, "is_met", true));
        late = json_object_get(chat_by_day(each), "late_day");
        assert_true(json_bool_or(late, "is_met", false));
    }
}

/* Where each day counts, the moment that binds lies on the worst day, and is of its target. */
static void the_moment_that_binds_is_of_the_worst_day(void **state)
{
    owned(test_folder) char *folder = folder_with("slo: each-day, itl_target: 42ms, " ENGINE);
    owned(json) json_t *root = json_of(folder, explain_line);
    const json_t *row = chat_by_day(root);

    (void)state;
    assert_string_equal(json_text_or(row, "binding_day_target", ""), "itl");
    assert_string_equal(json_text_or(row, "binds", ""), "itl");
    assert_true(text_starts_with(json_text_or(row, "binding_day_at", ""), "2026-11-17T13:00"));
    assert_true(text_starts_with(json_text_or(row, "binding_at", ""), "2026-11-17T"));
}

static void a_cache_that_holds_fewer_is_named(void **state)
{
    owned(test_folder) char *folder = folder_with(
        "engine: {slots: 64, iteration: 40ms, iteration_per_request: 0.5ms, tokens_in: 1000, "
        "tokens_out: 2000, kv_tokens: 16000}");
    owned(said) struct said table = expect_code(folder, 0,
                                                "explain workload chat-2x --seeds 2" WITH);
    owned(json) json_t *root = json_of(folder, explain_line);
    const json_t *engine = json_object_get(chat_by_day(root), "engine");

    (void)state;
    assert_int_equal(json_int_or(engine, "slots", 0), 8);
    assert_int_equal(json_int_or(engine, "slots_asked", 0), 64);
    assert_string_equal(json_text_or(engine, "limit", ""), "kv");
    assert_non_null(strstr(table.out->chars, "8 slots of 64: the cache of 16000 tokens holds no "
                                             "more (KV-limited)"));
}

/* What is supposed is what the file would say: one that says it has nothing to change. */
static void another_engine_is_supposed_as_the_file_would_say_it(void **state)
{
    static const struct {
        const char *suppose;
        const char *chat;
    } rows[] = {
        { "--engine chat.slots=16", "engine: {slots: 16, iteration: 40ms, iteration_per_request: "
                                    "0.5ms, tokens_out: 2000}" },
        { "--engine chat.tokens_out=x1.5", "engine: {slots: 8, iteration: 40ms, "
                                           "iteration_per_request: 0.5ms, tokens_out: 3000}" },
        { "--engine chat.times=x0.5", "engine: {slots: 8, iteration: 20ms, iteration_per_request: "
                                      "0.25ms, tokens_out: 2000}" },
        { "--engine chat.prefill_per_token=100us --engine chat.tokens_in=4000 "
          "--engine chat.router=random",
          "engine: {slots: 8, iteration: 40ms, iteration_per_request: 0.5ms, tokens_out: 2000, "
          "prefill_per_token: 100us, tokens_in: 4000, router: random}" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *before = folder_with(ENGINE);
        owned(test_folder) char *after = folder_with(rows[i].chat);
        owned(chars) char *line = text_format("whatif --seeds 2 -o json %s" WITH, rows[i].suppose);
        owned(json) json_t *supposed = json_of(before, line);
        owned(json) json_t *real = json_of(after, "whatif --seeds 2 -o json" WITH);
        owned(json) json_t *was = json_of(before, "whatif --seeds 2 -o json" WITH);

        if (!json_equal(json_object_get(supposed, "windows"), json_object_get(real, "windows")))
            fail_msg("%s is not as if the file said so", rows[i].suppose);
        assert_false(
            json_equal(json_object_get(supposed, "windows"), json_object_get(was, "windows")));
        assert_int_equal(json_array_size(json_at(supposed, "engines")), 1);
        assert_int_equal(json_array_size(json_at(was, "engines")), 0);
    }
}

#define PLAN "allocate --seeds 2" WITH

/* What the numbers rest on stands in the files, and the targets beside the wait in the answer. */
static void a_plan_says_which_engines_and_targets_it_is_for(void **state)
{
    owned(test_folder) char *folder = folder_with("ttft_target: 200ms, " ENGINE);
    owned(said) struct said table = expect_code(folder, 0, PLAN);
    owned(json) json_t *root = json_of(folder, "allocate --seeds 2 -o json" WITH);
    owned(text) struct text *file = said_file(folder, "schedules/day.yaml");
    const json_t *chat = chat_by_day(root);

    (void)state;
    assert_non_null(strstr(file->chars, "# engine of chat, by configuration: 8 slots (slot-limited)"
                                        ", an iteration of 40ms + 500us a request; 0 tokens in, "
                                        "2000 out (cv 1); "));
    assert_null(strstr(file->chars, "# engine of speech"));
    assert_non_null(strstr(table.out->chars, "queue chat: 98 of 100 first tokens take up to 0."));
    assert_non_null(strstr(table.out->chars, " s, the target is 0.2 s: the tightest target\n"));
    assert_string_equal(json_text_or(chat, "binds", ""), "ttft");
    assert_true(number(chat, "ttft_s") > 0.04 && number(chat, "ttft_s") <= 0.2);
    assert_true(number(chat, "ttft_target_s") == 0.2);
    assert_true(json_is_null(json_object_get(chat, "itl_s")));
}

/* Waits are met with one replica less than first tokens ask for. */
static void a_file_that_makes_first_tokens_late_misses(void **state)
{
    static const char line[] = "    prod-a: 5\n";
    owned(test_folder) char *folder = folder_with("ttft_target: 200ms, " ENGINE);
    planned_run(folder, PLAN);
    owned(text) struct text *file = said_file(folder, "schedules/day.yaml");
    const char *at = strstr(file->chars, line);

    (void)state;
    assert_non_null(at);

    owned(chars) char *edited = text_format("%.*s    prod-a: 4\n%s", (int)(at - file->chars),
                                            file->chars, at + strlen(line));

    planned_put(folder, "schedules/day.yaml", edited);
    owned(json) json_t *root = json_of(folder, explain_line);
    const json_t *chat = chat_by_day(root);

    assert_true(number(chat, "wait_in_file_s") <= 20);
    assert_false(json_bool_or(chat, "is_met_in_file", true));
}

static void a_plan_that_is_short_names_the_target_that_is_missed(void **state)
{
    owned(test_folder) char *folder = folder_with("itl_target: 41ms, " ENGINE);
    owned(said) struct said said = expect_code(
        folder, 4,
        "whatif --seeds 1 --without draw-4x --reservation east=9 --reservation west=3" WITH);

    (void)state;
    if (!strstr(said.err->chars, "queue chat misses its target in window day: 98 of 100 later "
                                 "tokens take up to 0.04"))
        fail_msg("%s", said.err->chars);
}

/* The part that stays when a node goes keeps within twice its targets. */
static void engines_that_stay_are_enough_when_a_node_is_lost(void **state)
{
    owned(test_folder) char *folder = folder_with(ENGINE);
    owned(json) json_t *root = json_of(folder, "allocate --seeds 2 --lose node -o json" WITH);
    const json_t *chat = chat_by_day(root);
    double degraded = number(chat, "replicas_degraded");

    (void)state;
    assert_true(degraded > 0 && degraded <= number(chat, "replicas_for_target"));
    assert_true(number(chat, "replicas_lost") > 0);
    assert_true(number(chat, "replicas_granted") - number(chat, "replicas_lost") >= degraded);
}

static void parts_of_a_plan_of_engines_are_the_whole(void **state)
{
    owned(test_folder) char *folder = folder_with("ttft_target: 200ms, " ENGINE);
    planned_run(folder, PLAN);
    owned(text) struct text *whole = said_file(folder, "schedules/day.yaml");

    (void)state;
    planned_put(folder, "schedules/day.yaml", "");
    planned_run(folder, PLAN "--threads 1 --shard 1/2 --out @/parts");
    planned_run(folder, PLAN "--shard 2/2 --out @/parts");
    planned_run(folder, PLAN "--merge @/parts");
    owned(text) struct text *merged = said_file(folder, "schedules/day.yaml");

    assert_string_equal(whole->chars, merged->chars);
}

#define REPLAY "replay -d @/week.csv --queue chat --servers 7 "
#define LAW "--slots 8 --iteration 40ms --iteration-per-request 0.5ms --tokens-out 2000 "

static void a_replay_tells_first_and_later_tokens(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    owned(json) json_t *root = json_of(folder, REPLAY LAW "--ttft-target 200ms --itl-target 42ms "
                                                          "--seeds 2 -o json");
    owned(json) json_t *brief = json_of(folder, REPLAY "--slots 8 --service 88s -o json");
    owned(json) json_t *plain = json_of(folder, REPLAY "--service 88s -o json");
    owned(said) struct said table = expect_code(folder, 0, REPLAY LAW);
    const json_t *class = json_array_get(json_at(root, "classes"), 0);
    const json_t *ttft = json_object_get(class, "ttft");
    const json_t *itl = json_object_get(class, "itl");
    const json_t *slower = json_array_get(json_at(brief, "classes"), 0);

    (void)state;
    assert_true(number(class, "wait_p90_s") == 0);
    assert_true(number(ttft, "p50_s") >= 0.0405 && number(ttft, "p98_s") <= 0.1);
    assert_true(number(ttft, "max_s") > number(class, "wait_max_s"));
    assert_true(number(itl, "p50_s") >= 0.0405 && number(itl, "max_s") <= 0.0441);
    assert_true(number(ttft, "violations") > 0 && number(itl, "violations") > 0);
    assert_int_equal(json_int_or(json_object_get(root, "engine"), "slots", 0), 8);
    assert_true(number(slower, "wait_mean_s") > number(class, "wait_mean_s"));
    assert_true(number(slower, "wait_mean_s") < 60);
    assert_true(json_is_null(json_object_get(slower, "ttft")));
    assert_true(json_is_null(json_object_get(plain, "engine")));
    assert_true(number(json_array_get(json_at(plain, "classes"), 0), "wait_mean_s") >
                10000); /* drowns */
    assert_non_null(strstr(table.out->chars, "FIRST_TOKEN"));
    assert_non_null(strstr(table.out->chars, "LATER_TOKENS"));
}

static const struct mistake replay_mistakes[] = {
    { REPLAY "--slots 8", 64, "--slots needs --iteration and --tokens-out, or --service" },
    { REPLAY "--service 8s " LAW, 64, "give one of them" },
    { REPLAY "--service 8s --ttft-target 1s", 64, "need an engine with --iteration" },
    { REPLAY "--service 8s --slots 4 --itl-target 1s", 64, "need an engine with --iteration" },
    { REPLAY "--iteration 40ms --tokens-out 20", 64, "--iteration needs --slots" },
    { REPLAY LAW "--itl-target soon", 64, "--itl-target" },
};

static void a_replay_of_half_an_engine_is_a_mistake(void **state)
{
    owned(test_folder) char *folder = planned_folder();

    (void)state;
    expect_mistakes(folder, replay_mistakes, COUNT_OF(replay_mistakes));
}

static const struct mistake mistakes[] = {
    { "whatif --engine chat.slots" WITH, 1, "write it like chat.slots=128" },
    { "whatif --engine talk.slots=9" WITH, 1, "there is no queue \"talk\"" },
    { "whatif --engine chat.seats=9" WITH, 1, "\"seats\" is not a number of an engine" },
    { "whatif --engine chat.slots=9000" WITH, 1, "slots" },
    { "whatif --engine chat.slots=x0" WITH, 1, "expected x and a number over 0" },
    { "whatif --engine chat.slots=x1000" WITH, 1, "slots of 8000 is not possible" },
    { "whatif --engine chat.slots=x1.01" WITH, 1,
      "queue chat: slots is 8, a whole number, and x1.01 leaves it so: give a value, as slots=9" },
    { "whatif --engine chat.slots=x0.95" WITH, 1, "x0.95 leaves it so: give a value, as slots=7" },
    { "whatif --engine chat.times=3" WITH, 1, "write it like times=x0.6" },
    { "whatif --engine speech.slots=4" WITH, 1, "queue speech has no engine whose slots could" },
    { "whatif --engine chat.iteration=30s" WITH, 1, "iteration" },
    { "whatif --engine chat.iteration=10s --engine chat.iteration_per_request=1s "
      "--engine chat.tokens_out=20 --engine chat.slots=16" WITH,
      1, "wait_target: must be at least" },
};

static void what_cannot_be_supposed_is_said(void **state)
{
    owned(test_folder) char *folder = folder_with(ENGINE);

    (void)state;
    expect_mistakes(folder, mistakes, COUNT_OF(mistakes));
}

#define OTHER " -c @/sluice.yaml -d @/speech.csv "
#define WAITS "engine: {slots: 8, iteration: 40ms}"
#define MEASURED "engine: {slots: 8, iteration: 40ms, tokens_file: tokens.csv}"
#define CONSTANT                                                                                   \
    "engine: {slots: 8, iteration: 40ms, tokens_in: 10, tokens_out: 20, tokens_law: constant}"

static const struct {
    const char *chat;
    const char *line;
    const char *says;
} impossible[] = {
    { WAITS, "whatif --engine chat.slots=16" OTHER,
      "queue chat: its engine waits for lengths, and the demand has no rows for it" },
    { WAITS, "whatif --without chat-2x --engine chat.slots=16" OTHER,
      "queue chat: its engine waits for lengths, and the demand has no rows for it" },
    { WAITS, "whatif --engine chat.times=x0.5" OTHER,
      "queue chat: its engine waits for lengths, and the demand has no rows for it" },
    { MEASURED, "whatif --engine chat.tokens_cv=2" WITH,
      "queue chat: its lengths are measured (tokens_file), and tokens_cv says nothing of them" },
    { MEASURED, "whatif --engine chat.tokens_law=constant" WITH,
      "queue chat: its lengths are measured (tokens_file), and tokens_law says nothing of them" },
    { MEASURED, "whatif --engine chat.tokens_out=x1000 --engine chat.tokens_out=x1000" WITH,
      "queue chat: a length of 2e+07 tokens is not possible: at most 10000000" },
    { CONSTANT, "whatif --engine chat.tokens_cv=2" WITH,
      "tokens_cv of 2 is not that of constant lengths" },
    { CONSTANT, "whatif --engine chat.kv_tokens=x2" WITH,
      "queue chat: kv_tokens is 0, and no factor changes that: give a value, as kv_tokens=100" },
    { CONSTANT, "whatif --engine chat.router=x2" WITH, "queue chat: router is no number" },
    { CONSTANT, "whatif --engine chat.times=x1000" WITH,
      "queue chat: iteration of 40 is not possible" },
    { CONSTANT, "whatif --engine speech.times=x1000 --engine speech.times=x1000" WITH,
      "queue speech: service of 1.2e+07 is not possible" },
};

static void put_measured(const char *folder)
{
    owned(text) struct text *pairs = text_new(1 << 16);

    text_add(pairs, "input_tokens,output_tokens\n");
    for (int i = 0; i < 100; i++)
        text_add(pairs, "7,20\n");
    planned_put(folder, "tokens.csv", pairs->chars);
    planned_put(folder, "speech.csv",
                "t,queue,count\n2026-11-16T05:00:00Z,speech,5\n2026-11-16T05:30:00Z,speech,5\n");
}

/* What would change nothing, or nothing that can be planned for, is not taken for an answer. */
static void a_supposition_without_effect_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(impossible); i++) {
        owned(test_folder) char *folder = folder_with(impossible[i].chat);
        const struct mistake mistake = { impossible[i].line, 1, impossible[i].says };

        put_measured(folder);
        expect_mistakes(folder, &mistake, 1);
    }
}

static void a_slower_gpu_is_told_where_a_replica_serves_one_request(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    owned(said) struct said said = expect_code(folder, 0,
                                               "whatif --estimate --engine speech.times=x2" WITH);
    owned(json)
        json_t *root = json_of(folder, "whatif --estimate -o json --engine speech.times=x2" WITH);
    const json_t *row = json_array_get(json_at(root, "engines"), 0);

    (void)state;
    assert_non_null(strstr(said.out->chars, "queue speech as if: a replica serves one request at a "
                                            "time, in 24 s; an assumption (--engine) over "));
    assert_true(number(row, "service_s") == 24);
}

/* Slots and a time at a full batch say nothing of other slots, but of a faster GPU. */
static void the_short_form_can_be_faster_and_no_more(void **state)
{
    owned(test_folder) char *folder = folder_with("service: 88s, engine: {slots: 8}");
    owned(test_folder) char *fast = folder_with("service: 44s, engine: {slots: 8}");
    owned(said) struct said slots = expect_code(folder, 1, "whatif --engine chat.slots=16" WITH);
    owned(json) json_t *supposed = json_of(
        folder, "whatif --seeds 2 -o json --engine chat.times=x0.5" WITH);
    owned(json) json_t *real = json_of(fast, "whatif --seeds 2 -o json" WITH);

    (void)state;
    assert_non_null(strstr(slots.err->chars, "only the time in a full batch of its slots is "
                                             "known, which says nothing of another slots"));
    assert_true(json_equal(json_object_get(supposed, "windows"), json_object_get(real, "windows")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proposed_windows_count_replicas),
        cmocka_unit_test(an_engine_is_explained_by_its_slots_and_how_full_they_are),
        cmocka_unit_test(the_target_that_binds_is_named),
        cmocka_unit_test(a_bad_day_is_told_by_the_target_that_is_worst_on_it),
        cmocka_unit_test(the_moment_that_binds_is_of_the_worst_day),
        cmocka_unit_test(a_cache_that_holds_fewer_is_named),
        cmocka_unit_test(another_engine_is_supposed_as_the_file_would_say_it),
        cmocka_unit_test(a_plan_says_which_engines_and_targets_it_is_for),
        cmocka_unit_test(a_file_that_makes_first_tokens_late_misses),
        cmocka_unit_test(a_plan_that_is_short_names_the_target_that_is_missed),
        cmocka_unit_test(engines_that_stay_are_enough_when_a_node_is_lost),
        cmocka_unit_test(parts_of_a_plan_of_engines_are_the_whole),
        cmocka_unit_test(a_replay_tells_first_and_later_tokens),
        cmocka_unit_test(a_replay_of_half_an_engine_is_a_mistake),
        cmocka_unit_test(what_cannot_be_supposed_is_said),
        cmocka_unit_test(a_supposition_without_effect_is_refused),
        cmocka_unit_test(a_slower_gpu_is_told_where_a_replica_serves_one_request),
        cmocka_unit_test(the_short_form_can_be_faster_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
