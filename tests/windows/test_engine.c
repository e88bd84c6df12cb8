/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Engines are made of a law and of lengths: by a distribution, or from measured pairs in a file.
 */
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "windows/servers/engine_lengths.h"
#include "windows/servers/service_time.h"

#include <math.h>
#include <string.h>

static const struct engine_law small = { .slots = 16, .iteration_s = 0.010, .per_request_s = 5e-4 };

static void lengths_by_law_are_whole_and_have_the_mean(void **state)
{
    static const struct {
        struct engine_tokens tokens;
        double median;
        double cv;
    } rows[] = {
        { { 500, 200, 1, SERVICE_BY_CV }, 139, 1 },    { { 0, 200, 0, SERVICE_BY_CV }, 200, 0 },
        { { 0, 300, 1.5, SERVICE_BY_CV }, 166, 1.5 },  { { 0, 300, 1, SERVICE_LOGNORMAL }, 212, 1 },
        { { 0, 250.5, 1, SERVICE_CONSTANT }, 250, 0 }, { { 100, 1, 1, SERVICE_BY_CV }, 1, 0 },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct engine_tokens tokens = rows[row].tokens;

        if (tokens.law == SERVICE_CONSTANT)
            tokens.cv = 0;

        struct engine *engine = engine_new_by_law(&small, &tokens);

        for (int i = 0; i < ENGINE_LENGTHS; i++) {
            assert_true(engine->out[i] >= 1 && floorf(engine->out[i]) == engine->out[i]);
            assert_true((double)engine->in[i] == tokens.mean_in);
        }
        assert_true(fabs(engine->mean_out - tokens.mean_out) <= 0.5 / ENGINE_LENGTHS);
        assert_true(fabs((double)engine->out[ENGINE_LENGTHS / 2] - rows[row].median) <= 1);
        assert_true(fabs(engine->cv_out - rows[row].cv) < 0.02);
        assert_int_equal(engine->law.slots, 16);
        assert_false(engine->is_kv_limited);
        mem_free(engine);
    }
}

/* 100,000 tokens of cache, and 1,000 + 250 / 2 a request: 88 fit. */
static void the_cache_limits_the_slots(void **state)
{
    struct engine_law law = { .slots = 256, .iteration_s = 0.02, .kv_tokens = 100000 };
    struct engine *engine = engine_new_by_law(&law, &(struct engine_tokens){ 1000, 250, 0, 0 });

    (void)state;
    assert_int_equal(engine->law.slots, 88);
    assert_true(engine->is_kv_limited);
    mem_free(engine);
}

/* A CSV with this header, and so many rows of each kind. */
static char *write_rows(const char *folder, const char *header, const char *first,
                        const char *second, int count)
{
    owned(text) struct text *out = text_new(1 << 20);

    text_add(out, "%s\n", header);
    for (int i = 0; i < count; i++)
        text_add(out, "%s\n%s\n", first, second);
    return test_folder_write(folder, "tokens.csv", out->chars);
}

static void every_known_trace_is_understood_and_pairs_stay_together(void **state)
{
    static const struct {
        const char *header;
        const char *first;
        const char *second;
    } rows[] = {
        { "arrival,queue,input_tokens,output_tokens", "2023-11-16T18:17:03Z,chat,4000,10",
          "2023-11-16T18:17:04Z,chat,7,900" },
        { "TIMESTAMP,ContextTokens,GeneratedTokens", "2023-11-16 18:17:03,4000,10",
          "2023-11-16 18:17:04,7,900" },
        { "Timestamp,Model,Request tokens,Response tokens,Total tokens", "5,chat,4000,10,4010",
          "6,chat,7,900,907" },
        { "output_length;input_length", "10;4000", "900;7" },
        { "PROMPT_TOKENS\tCompletion_Tokens", "4000\t10", "7\t900" },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        owned(chars) char *path = write_rows(folder, rows[row].header, rows[row].first,
                                             rows[row].second, 75);
        struct token_pairs pairs;
        struct error err = { 0 };

        assert_int_equal(token_pairs_read(&pairs, path, "chat", &err), 0);
        assert_int_equal(pairs.list.count, 150);

        struct engine *engine = engine_new_by_pairs(&small, &pairs);

        for (int i = 0; i < ENGINE_LENGTHS; i++)
            assert_true(engine->out[i] == (i < ENGINE_LENGTHS / 2 ? 10 : 900) &&
                        engine->in[i] == (i < ENGINE_LENGTHS / 2 ? 4000 : 7));
        assert_true(engine->mean_out == 455 && engine->mean_in == 2003.5);
        mem_free(engine);
        token_pairs_clear(&pairs);
    }
}

/* Three of four requests are long, as one row says. */
static void a_pair_counts_for_as_many_requests_as_it_has(void **state)
{
    struct token_pair items[] = {
        { 4000, 900, 75.5F }, { 7, 10, 20 }, { 9, 10, 5 }, { 1, 1, 0.1F }
    };
    struct token_pairs pairs = { .list = { items, 4, 4 }, .requests = 100.6 };
    struct engine *engine = engine_new_by_pairs(&small, &pairs);
    int counts[4] = { 0 };

    (void)state;
    for (int i = 0; i < ENGINE_LENGTHS; i++)
        for (int at = 0; at < 4; at++)
            counts[at] += engine->in[i] == items[at].in && engine->out[i] == items[at].out;
    for (int at = 0; at < 4; at++)
        if (fabs(counts[at] - (double)items[at].count / 100.6 * ENGINE_LENGTHS) > 1)
            fail_msg("%g: %d", (double)items[at].in, counts[at]);
    mem_free(engine);
}

static void only_rows_of_the_queue_and_with_an_answer_count(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = write_rows(folder, "Model,Request tokens,Response tokens",
                                         "chat,40,20\nchat,40,0", "code,9000,3", 120);
    struct token_pairs pairs;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(token_pairs_read(&pairs, path, "chat", &err), 0);
    assert_int_equal(pairs.list.count, 120);
    assert_int_equal(pairs.unanswered, 120);
    for (size_t i = 0; i < pairs.list.count; i++)
        assert_true(pairs.list.items[i].in == 40 && pairs.list.items[i].out == 20);
    token_pairs_clear(&pairs);
}

static void errors_name_the_line(void **state)
{
    static const struct {
        const char *header;
        const char *row;
        const char *want;
    } rows[] = {
        { "input_tokens,output_tokens", "40,many", ":2: output tokens: expected a whole number" },
        { "input_tokens,output_tokens", "4.5,6", ":2: input tokens: expected a whole number" },
        { "input_tokens,output_tokens", "-1,6", ":2: input tokens: expected a whole number" },
        { "input_tokens,output_tokens", "1,20000000", ":2: output tokens: expected a whole" },
        { "input_tokens,requests", "40,2", ":1: no column of output tokens: expected one named" },
        { "tokens,output_tokens", "40,2", ":1: no column of input tokens: expected one named" },
        { "input_tokens,prompt_tokens,output_tokens", "1,2,3",
          ":1: the columns input_tokens and prompt_tokens may both be meant" },
        { "queue,input_tokens,output_tokens", "code,1,2",
          ": 0 requests of chat with an answer, and 100 are needed" },
        { "input_tokens,output_tokens", "1,2", ": 4 requests with an answer, and 100 are needed" },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        owned(chars) char *path = write_rows(folder, rows[row].header, rows[row].row, rows[row].row,
                                             2);
        owned(chars) char *want = text_format("%s%s", path, rows[row].want);
        struct token_pairs pairs;
        struct error err = { 0 };

        assert_int_equal(token_pairs_read(&pairs, path, "chat", &err), -1);
        assert_true(strncmp(err.text, want, strlen(want)) == 0 ||
                    (print_message("%s\n%s\n", err.text, want), false));
    }
}

static void a_file_that_was_cut_is_refused(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = test_folder_write(folder, "cut.csv",
                                                "input_tokens,output_tokens\n1,2\n3,4");
    struct token_pairs pairs;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(token_pairs_read(&pairs, path, "chat", &err), -1);
    assert_non_null(strstr(err.text, ":3: the last line has no line end"));
}

/* Alone it takes its prompt's prefill and an iteration of one for each token. */
static void times_are_those_of_requests_alone(void **state)
{
    struct engine_law law = small;
    struct error err = { 0 };

    (void)state;
    law.prefill_s = 20e-6;

    struct engine *engine = engine_new_by_law(&law, &(struct engine_tokens){ 1000, 200, 1, 0 });
    owned(service_shape) struct service_shape *shape = service_shape_of_engine(engine, "test",
                                                                               &err);
    owned(service_time) struct service_time *service = service_time_shaped(shape);
    double sum = 0;

    assert_true(fabs(service->mean_s - (0.02 + 200 * 0.0105)) < 1e-6);
    assert_true(fabs(service->cv - 2.1 / 2.12) < 0.01);
    assert_non_null(service->engine);
    assert_int_equal(service->engine->law.slots, 16);
    for (int i = 0; i < SERVICE_TIMES; i++) {
        double alone_s = 0.02 + (double)service->engine->out[i] * 0.0105;

        sum += (double)service->ticks[i];
        assert_true(fabs((double)service->ticks[i] / TICKS_PER_SECOND - alone_s) < 3e-6);
    }
    assert_true(fabs(sum / SERVICE_TIMES / TICKS_PER_SECOND - service->mean_s) < 1e-9);
    assert_string_equal(service_law_name(shape->law, shape->cv), "tokens");
}

/* M/M/B: n running end n / S requests a second. */
static void the_short_form_is_so_many_servers(void **state)
{
    owned(service_shape) struct service_shape *shape = service_shape_new(SERVICE_BY_CV, 6, 1,
                                                                         "test");
    owned(service_time) struct service_time *plain = service_time_shaped(shape);

    (void)state;
    service_shape_set_slots(shape, 64, ENGINE_CENTRAL);

    owned(service_time) struct service_time *service = service_time_shaped(shape);
    const struct engine *engine = service->engine;
    double sum = 0;

    assert_memory_equal(service->ticks, plain->ticks, sizeof plain->ticks);
    for (int n = 1; n <= 64; n++)
        assert_true(fabs(engine_rate(engine, n) - n / 6.0) < 1e-12);
    for (int i = 0; i < ENGINE_LENGTHS; i++)
        sum += (double)engine->out[i];
    assert_true(fabs(sum / ENGINE_LENGTHS - 1) < 1e-6);
    assert_int_equal(engine->law.router, ENGINE_CENTRAL);
    assert_true(engine->is_short && engine->cv_out == 1 && engine_floor_s(engine) == 0);
}

static void one_slot_is_one_request_at_a_time(void **state)
{
    owned(service_shape) struct service_shape *shape = service_shape_new(SERVICE_BY_CV, 6, 1.5,
                                                                         "test");
    owned(service_time) struct service_time *plain = service_time_shaped(shape);
    struct engine_law law = small;
    struct error err = { 0 };

    (void)state;
    service_shape_set_slots(shape, 1, ENGINE_CENTRAL);

    owned(service_time) struct service_time *service = service_time_shaped(shape);

    assert_memory_equal(service, plain, sizeof *plain);
    law.kv_tokens = 200;

    struct engine *engine = engine_new_by_law(&law, &(struct engine_tokens){ 150, 200, 1, 0 });
    owned(service_shape) struct service_shape *full = service_shape_of_engine(engine, "test", &err);
    owned(service_time) struct service_time *alone = service_time_shaped(full);

    assert_null(alone->engine);
    assert_true(fabs(alone->mean_s - 2.1) < 1e-6 && alone->longest > 0);
}

static void what_takes_over_a_day_is_refused(void **state)
{
    struct engine_law law = { .slots = 4, .iteration_s = 10 };
    struct engine *engine = engine_new_by_law(&law, &(struct engine_tokens){ 0, 5000, 1, 0 });
    struct error err = { 0 };

    (void)state;
    assert_null(service_shape_of_engine(engine, "test", &err));
    assert_non_null(strstr(err.text, "a day at most"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_by_law_are_whole_and_have_the_mean),
        cmocka_unit_test(the_cache_limits_the_slots),
        cmocka_unit_test(every_known_trace_is_understood_and_pairs_stay_together),
        cmocka_unit_test(a_pair_counts_for_as_many_requests_as_it_has),
        cmocka_unit_test(only_rows_of_the_queue_and_with_an_answer_count),
        cmocka_unit_test(errors_name_the_line),
        cmocka_unit_test(a_file_that_was_cut_is_refused),
        cmocka_unit_test(times_are_those_of_requests_alone),
        cmocka_unit_test(the_short_form_is_so_many_servers),
        cmocka_unit_test(one_slot_is_one_request_at_a_time),
        cmocka_unit_test(what_takes_over_a_day_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
