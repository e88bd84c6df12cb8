/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Demand files in which rows tell the tokens of requests: logs with a row for each request, as
 * public traces are, and counts with mean lengths beside them.
 */
#include "tests/support/folder.h"
#include "tests/windows/told.h"
#include "windows/demand/demand_rows.h"

#include <math.h>

#define NOON "busy 1m 2026-11-17T12:00:00Z: 5 6"
#define AZURE "arrival_utc_iso_ms,queue,input_tokens,output_tokens\n"
#define BURST "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
#define MOONCAKE "timestamp,input_length,output_length,hash_ids\n"
#define BEGIN "2026-11-17T12:00:00Z"

/* A row is a request: counted by steps of a second, of which those without a row had none. */
struct form {
    const char *name;
    const char *zone;
    const char *begin; /* of times that count from there */
    const char *file;
    const char *want;
};

static const struct form logs[] = {
    { "requests of two queues", NULL, NULL,
      AZURE "2026-11-17T12:00:03.979Z,code,4808,10\n2026-11-17T12:00:04.031Z,chat,3180,8\n"
            "2026-11-17T12:00:05.999Z,code,110,27\n2026-11-17T12:00:07.000Z,code,7433,14\n",
      "chat 1s 2026-11-17T12:00:03Z: 0 1 0 0 0 [3180/8]; code 1s 2026-11-17T12:00:03Z: "
      "1 0 1 0 1 [4808/10 110/27 7433/14]" },
    { "without a queue, as a file of Azure's of 2023", NULL, NULL,
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2026-11-17 12:00:00.9799600,4808,10\n"
      "2026-11-17 12:00:01.0319600,3180,8\n",
      "busy 1s " BEGIN ": 1 1 [4808/10 3180/8]" },
    { "of 2024", "Asia/Tokyo", NULL,
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2026-11-17 12:00:00.979960+00:00,4808,10\n"
      "2026-11-17 12:00:01+00:00,3180,8\n",
      "busy 1s " BEGIN ": 1 1 [4808/10 3180/8]" },
    { "a step alone", NULL, NULL, AZURE BEGIN ",code,5,10\n" BEGIN ",code,6,10\n",
      "code 1s " BEGIN ": 2 [5/10 6/10]" },
    { "in any order", NULL, NULL,
      AZURE "2026-11-17T12:00:01.3Z,code,3,1\n2026-11-17T12:00:00.3Z,code,4,1\n"
            "2026-11-17T12:00:01.1Z,code,5,1\n",
      "code 1s " BEGIN ": 1 2 [3/1 4/1 5/1]" },
    { "by priority", NULL, NULL,
      "t,prompt_tokens,completion_tokens,priority\n" BEGIN ",5,10,high\n" BEGIN ",6,10,low\n" BEGIN
      ",7,10,low\n",
      "busy 1s " BEGIN ": 1+2 [5/10 6/10 7/10]" },
    { "in a zone", "Europe/Berlin", NULL,
      "t,input_tokens,output_tokens\n2026-11-17 13:00:00.3,5,10\n2026-11-17 13:00:01.1,6,10\n",
      "busy 1s " BEGIN ": 1 1 [5/10 6/10]" },
    { "through the hour that occurs twice", "Europe/Berlin", NULL,
      "t,input_tokens,output_tokens\n2026-10-25 02:59:59.1,5,10\n2026-10-25 02:59:59.9,6,10\n"
      "2026-10-25 02:00:00,7,10\n2026-10-25 02:00:00.9,8,10\n",
      "busy 1s 2026-10-25T00:59:59Z: 2 2 [5/10 6/10 7/10 8/10]" },
    { "through it, with rows that are not quite in the order of time", "Europe/Berlin", NULL,
      "t,input_tokens,output_tokens\n2026-10-25 02:59:59,5,10\n2026-10-25 02:59:57,6,10\n"
      "2026-10-25 02:59:58,6,10\n2026-10-25 02:00:01,7,10\n2026-10-25 02:00:00,8,10\n",
      "busy 1s 2026-10-25T00:59:57Z: 1 1 1 1 1 [5/10 6/10 6/10 7/10 8/10]" },
    { "by ten seconds it is its second pass", "Europe/Berlin", NULL,
      "t,input_tokens,output_tokens\n2026-10-25 02:59:59,5,10\n2026-10-25 02:59:50,6,10\n"
      "2026-10-25 02:59:49,6,10\n2026-10-25 02:59:39,7,10\n",
      ":5: queue busy, 2026-10-25T02:59:39: this hour occurs twice, and the rows go through it" },
    { "with a row between that has an offset", "Europe/Berlin", NULL,
      "t,input_tokens,output_tokens\n2026-10-25 02:59:59.1,5,10\n2026-10-25 00:59:59.2Z,6,10\n"
      "2026-10-25 02:59:59.3,7,10\n2026-10-25 02:00:00,8,10\n",
      "busy 1s 2026-10-25T00:59:59Z: 3 1 [5/10 6/10 7/10 8/10]" },
    { "once only", "Europe/Berlin", NULL,
      "t,input_tokens,output_tokens\n2026-10-25 02:59:51,5,10\n2026-10-25 03:00:00,5,10\n",
      ":2: queue busy, 2026-10-25T02:59:51: the rows do not go through this hour twice" },
    { "an answer that failed arrived, and has no length", NULL, NULL,
      AZURE BEGIN ",code,5,0\n" BEGIN ",code,6,\n" BEGIN ",code,7,8\n",
      "code 1s " BEGIN ": 3 [7/8 and 2]" },
    { "seconds since the beginning, as BurstGPT's", NULL, BEGIN,
      BURST "0,GPT-3,472,18,490,Conversation log\n0.5,GPT-4,1087,230,1317,API log\n"
            "1,GPT-3,417,0,417,API log\n",
      "GPT-3 1s " BEGIN ": 1 1 [472/18 and 1]; GPT-4 1s " BEGIN ": 1 0 [1087/230]" },
    { "with an offset", NULL, "2026-11-17T13:00+01:00", BURST "0.5,GPT-4,472,18,490,API log\n",
      "GPT-4 1s " BEGIN ": 1 [472/18]" },
    { "milliseconds, as Mooncake's", NULL, BEGIN,
      MOONCAKE "0,6758,500,\"[0, 1]\"\n300,7322,490,\"[0, 14]\"\n1000,7236,794,\"[27]\"\n",
      "busy 1s " BEGIN ": 2 1 [6758/500 7322/490 7236/794]" },
    { "a unit by name", NULL, BEGIN, "time_ms,input_tokens,output_tokens\n999,5,6\n1000,7,8\n",
      "busy 1s " BEGIN ": 1 1 [5/6 7/8]" },
    { "and in brackets", NULL, BEGIN, "Time (s),input_tokens,output_tokens\n0.9,5,6\n1,7,8\n",
      "busy 1s " BEGIN ": 1 1 [5/6 7/8]" },
    { "no unit", NULL, BEGIN, "time,input_tokens,output_tokens\n5,6,7\n",
      ":1: \"time\" counts from the file's beginning (\"5\"), and nothing says in what: name it "
      "time_s or time_ms" },
    { "no beginning", NULL, NULL, BURST "5,GPT-3,472,18,490,API log\n",
      ":2: Timestamp: \"5\" counts from the file's beginning: expected --begin, the time at which "
      "it began" },
    { "a beginning without an offset", NULL, "2026-11-17 12:00",
      BURST "5,GPT-3,472,18,490,API log\n", ":2: --begin: \"2026-11-17 12:00\" lacks an offset" },
    { "a beginning of what has dates", NULL, BEGIN, AZURE BEGIN ",code,5,6\n",
      ":2: --begin is the beginning of times that count from it, and \"arrival_utc_iso_ms\" holds "
      "\"" BEGIN "\"" },
    { "a number that is no time from there", NULL, BEGIN,
      BURST "5,GPT-3,472,18,490,API log\n-6,GPT-3,472,18,490,API log\n",
      ":3: Timestamp: expected a number of seconds since the file's beginning, found \"-6\"" },
    { "a number too far from it", NULL, BEGIN, MOONCAKE "0,5,6,7\n1e300,5,6,7\n",
      ":3: timestamp: expected a number of milliseconds since the file's beginning, found "
      "\"1e300\"" },
    { "no whole token", NULL, NULL, AZURE BEGIN ",code,5,6\n" BEGIN ",code,5.5,6\n",
      ":3: input tokens: expected a whole number of tokens, 0 to 10000000, found \"5.5\"" },
    { "words for tokens", NULL, NULL, AZURE BEGIN ",code,5,many\n",
      ":2: output tokens: expected a whole number of tokens" },
    { "no time at all", NULL, NULL, "id,input_tokens,output_tokens\nx7,5,6\n",
      ":2: no column holds times: expected one like" },
    { "tokens of prompts alone", NULL, NULL, "t,input_tokens\n" BEGIN ",5\n",
      ":1: \"input_tokens\" holds the tokens of prompts, and no column those of their answers: "
      "expected output_tokens beside it" },
    { "tokens of answers alone", NULL, NULL, "t,queue,GeneratedTokens\n" BEGIN ",chat,5\n",
      ":1: \"GeneratedTokens\" holds the tokens of answers, and no column those of their prompts: "
      "expected ContextTokens beside it" },
    { "two of a kind", NULL, NULL, "t,input_tokens,prompt_tokens,output_tokens\n" BEGIN ",5,6,7\n",
      ":1: the columns input_tokens and prompt_tokens may both be meant" },
    { "a total of tokens", NULL, NULL, "t,input_tokens,output_tokens,total\n" BEGIN ",5,6,11\n",
      ":1: \"total\" may be the number of requests, or say something of a request: name it "
      "\"count\", "
      "or take it out" },
    { "records of JSON", NULL, NULL,
      "{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 6}\n",
      ":1: is JSON: expected a table, with the names of its columns in the first line" },
    { "a count beside tokens: their means", NULL, NULL,
      "t,count,input_tokens,output_tokens\n2026-11-17T12:00:00Z,5,100.4,20.6\n"
      "2026-11-17T12:01:00Z,0,NaN,\n2026-11-17T12:02:00Z,6,0,1\n",
      "busy 1m " BEGIN ": 5 0 6 [100/21x5 0/1x6]" },
    { "that are left out of a step", NULL, NULL,
      "t,requests,input_tokens,output_tokens\n2026-11-17T12:00:00Z,5,,20\n"
      "2026-11-17T12:01:00Z,6,7,0\n",
      "busy 1m " BEGIN ": 5 6 [ and 2]" },
    { "twice", NULL, NULL,
      "t,count,input_tokens,output_tokens\n" BEGIN ",5,100,20\n" BEGIN ",5,100,30\n"
      "2026-11-17T12:01:00Z,5,100,30\n",
      ":3: queue busy, 2026-11-17T12:00:00Z: stands twice in the file" },
    { "a rate beside tokens: of as many requests as the step has", NULL, NULL,
      "t,rps,input_tokens,output_tokens\n2026-11-17T12:00:00Z,0.5,100,20\n"
      "2026-11-17T12:01:00Z,0,7,8\n2026-11-17T12:02:00Z,0.25,0,1\n",
      "busy 1m " BEGIN ": 30 0 15 [100/20x30 0/1x15]" },
    { "with its unit", NULL, NULL,
      "t,rate,input_tokens,output_tokens\n2026-11-17T12:00:00Z,30/min,100,20\n"
      "2026-11-17T12:05:00Z,15/min,3,1\n",
      "busy 5m " BEGIN ": 150 75 [100/20x150 3/1x75]" },
    { "rates and counts by turns", NULL, NULL,
      "t,queue,count,input_tokens,output_tokens\n2026-11-17T12:00:00Z,chat,0.5/s,100,20\n"
      "2026-11-17T12:01:00Z,chat,30,100,20\n",
      ": queue chat: some rows with tokens tell a rate, and others a count" },
    { "a count beside tokens of prompts alone", NULL, NULL,
      "t,count,input_tokens\n2026-11-17T12:00:00Z,5,x\n2026-11-17T12:01:00Z,6,x\n", NOON },
    { "a model is a queue of logs only", NULL, NULL,
      "t,model,count\n2026-11-17T12:00:00Z,a,5\n2026-11-17T12:01:00Z,a,6\n", NOON },
};

static void rows_of_single_requests_are_found_by_their_tokens(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(logs); i++)
        check_told(logs[i].name, logs[i].zone, logs[i].begin, logs[i].file, logs[i].want);
}

/* Three queues by turns, two requests a second in all, as many rows. */
static struct text *long_log(int count)
{
    struct text *csv = text_new(32 << 20);

    text_add(csv, "t_ms,queue,input_tokens,output_tokens\n");
    for (int i = 0; i < count; i++)
        text_add(csv, "%d,%s,%d,%d\n", i * 500,
                 i % 50 == 0   ? "b"
                 : i % 50 == 1 ? "c"
                               : "a",
                 i, i % 977);
    return csv;
}

static void read_parts(const struct text *csv, size_t part_bytes, struct demand_rows *rows)
{
    struct demand_feed feed = { .source = "f.csv", .bytes = csv->chars, .size = csv->length };
    struct error err = { 0 };

    *rows = (struct demand_rows){ .begin = BEGIN };
    if (demand_rows_read(rows, &feed, false, part_bytes, &err) < 0)
        fail_msg("%s", err.text);
    demand_block_clear(&feed.rest);
    for (size_t i = 0; i < rows->queues.count; i++)
        packed_merge(&rows->queues.items[i].classes[DEMAND_LOW], MINUTE_MS);
}

/* Parts end within minutes, and before more rows came than are kept. */
static void where_a_log_is_cut_has_no_influence(void **state)
{
    static const size_t bytes[] = { 999, 60000, 300000, 1 << 20, 0 };
    owned(text) struct text *csv = long_log(300000);
    owned(demand_rows) struct demand_rows whole = { 0 };

    (void)state;
    read_parts(csv, (size_t)1 << 30, &whole);
    for (size_t i = 0; i < COUNT_OF(bytes); i++) {
        owned(demand_rows) struct demand_rows found = { 0 };

        read_parts(csv, bytes[i], &found);
        assert_int_equal(found.queues.count, 3);
        for (size_t at = 0; at < 3; at++) {
            const struct demand_queue *a = &whole.queues.items[at];
            const struct demand_queue *b = &found.queues.items[at];

            assert_string_equal(a->name, b->name);
            assert_int_equal(a->classes[DEMAND_LOW].count, 2500);
            assert_int_equal(b->classes[DEMAND_LOW].size, a->classes[DEMAND_LOW].size);
            assert_memory_equal(b->classes[DEMAND_LOW].bytes, a->classes[DEMAND_LOW].bytes,
                                a->classes[DEMAND_LOW].size);
            assert_int_equal(b->tokens.pairs.list.count, a->tokens.pairs.list.count);
            assert_memory_equal(b->tokens.pairs.list.items, a->tokens.pairs.list.items,
                                a->tokens.pairs.list.count * sizeof(struct token_pair));
            assert_true(b->tokens.pairs.requests == a->tokens.pairs.requests);
            assert_int_equal(b->tokens.pairs.unanswered, a->tokens.pairs.unanswered);
        }
    }
}

/* Of each four of 287,705 answers one, from the first to the last, and not always the same one. */
static void of_very_many_rows_a_sample_of_lengths_is_kept(void **state)
{
    owned(text) struct text *csv = long_log(300000);
    owned(demand_rows) struct demand_rows rows = { 0 };
    const struct demand_tokens *tokens;
    size_t kept[4] = { 0 };
    size_t answers = 0;
    size_t at = 0;

    (void)state;
    read_parts(csv, 0, &rows);
    tokens = &rows.queues.items[2].tokens;
    assert_string_equal(rows.queues.items[2].name, "a");
    for (int i = 0; i < 300000; i++) {
        const struct token_pair *pair = &tokens->pairs.list.items[at];

        if (i % 50 < 2 || i % 977 == 0)
            continue;
        if (at < tokens->pairs.list.count && pair->in == (float)i) {
            assert_int_equal(answers / 4, at);
            assert_true(pair->out == (float)(i % 977) && pair->count == 1);
            kept[answers % 4]++;
            at++;
        }
        answers++;
    }
    assert_int_equal(tokens->pairs.list.count, at);
    assert_in_range(at, answers / 4, answers / 4 + 1);
    for (int i = 0; i < 4; i++)
        assert_in_range(kept[i], answers / 16 - 600, answers / 16 + 600);
    assert_true(tokens->pairs.requests == (double)answers);
    assert_int_equal(tokens->pairs.unanswered, 300000 / 50 * 48 - answers);
    assert_int_equal(rows.queues.items[0].tokens.stride, 1);
}

/* Two clients by turns: a sample of every second row would have one of them only. */
static struct text *log_of_turns(int count, int period)
{
    struct text *csv = text_new(32 << 20);

    text_add(csv, "t_ms,input_tokens,output_tokens\n");
    for (int i = 0; i < count; i++)
        text_add(csv, "%d,5,%d\n", i * 500, i % period == 0 ? 1000 : 10);
    return csv;
}

static void a_sample_is_like_its_log_whatever_the_log_repeats(void **state)
{
    /* so many that every second row was kept, and every fourth */
    static const struct {
        int count;
        int period;
    } logs_of_turns[] = { { 150000, 2 }, { 300000, 4 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(logs_of_turns); i++) {
        int period = logs_of_turns[i].period;
        owned(text) struct text *csv = log_of_turns(logs_of_turns[i].count, period);
        owned(demand_rows) struct demand_rows rows = { 0 };
        const struct token_pairs *pairs;
        double mean = 10 + 990.0 / period;
        double sum = 0;

        read_parts(csv, 0, &rows);
        pairs = &rows.queues.items[0].tokens.pairs;
        for (size_t at = 0; at < pairs->list.count; at++)
            sum += (double)pairs->list.items[at].out;
        assert_true(fabs(sum / (double)pairs->list.count / mean - 1) < 0.02);
    }
}

/* A rate of an hour is of more requests than the same rate of a minute. */
static void rates_over_steps_that_change_are_refused(void **state)
{
    owned(text) struct text *csv = text_new(1 << 20);
    struct error err = { 0 };

    (void)state;
    text_add(csv, "t,rps,input_tokens,output_tokens\n");
    for (int i = 0; i < 240; i++)
        text_add(csv, "2026-11-%02dT%02d:00:00Z,0.5,100,20\n", 1 + i / 24, i % 24);
    for (int i = 0; i < 1440; i++)
        text_add(csv, "2026-11-11T%02d:%02d:00Z,0.5,100,20\n", i / 60, i % 60);

    owned(demand) struct demand *demand = parse(csv->chars, NULL, false, &err);

    assert_null(demand);
    assert_string_equal(err.text, "in/busy.csv: queue busy: its rows tell rates and tokens, and "
                                  "their step changes (1m to 1h): write counts");
}

/* Whose a row is has one rule, wherever the file is named. */
static void a_log_and_a_file_of_lengths_have_the_same_queues(void **state)
{
    static const struct {
        const char *columns;
        const char *queue;
        int out; /* of its first row */
    } rows[] = {
        { "queue,model", "chat", 10 },  { "model,queue", "b", 11 }, { "model,other", "chat", 10 },
        { "Queue Name,x", "chat", 10 }, { "x,queue_id", "b", 11 },  { "x,y", "busy", 10 },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(text) struct text *csv = text_new(1 << 20);
        owned(token_pairs) struct token_pairs pairs = { 0 };
        struct error err = { 0 };

        text_add(csv, "t,%s,input_tokens,output_tokens\n", rows[i].columns);
        for (int at = 0; at < 400; at++)
            text_add(csv, BEGIN ",%s,5,%d\n", at % 2 ? "code,b" : "chat,a", 10 + at % 2);

        owned(chars) char *path = test_folder_write(folder, "tokens.csv", csv->chars);
        owned(demand) struct demand *demand = parse(csv->chars, NULL, false, &err);
        const struct demand_series *series = demand ? demand_find(demand, rows[i].queue) : NULL;

        if (!series || token_pairs_read(&pairs, path, rows[i].queue, &err) < 0)
            fail_msg("%s: %s", rows[i].columns, err.text);
        assert_int_equal(series->tokens->list.count, pairs.list.count);
        assert_memory_equal(series->tokens->list.items, pairs.list.items,
                            pairs.list.count * sizeof(struct token_pair));
        assert_true(pairs.list.items[0].out == (float)rows[i].out);
    }
}

/* Seconds of eight months are too many, and ten seconds of six years and a half. */
static void a_log_of_very_many_steps_is_counted_by_longer_ones(void **state)
{
    static const struct {
        const char *last;
        int step_s;
        uint32_t first;
        uint32_t second;
    } rows[] = {
        { "2021-07-06T00:00:00Z", 1, 1, 0 },
        { "2021-07-07T00:00:00Z", 10, 2, 1 },
        { "2027-03-19T00:00:00Z", 10, 2, 1 },
        { "2027-03-22T00:00:00Z", 60, 2, 1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *log = text_format(
            "t,input_tokens,output_tokens\n2020-11-17T00:00:50Z,1,2\n"
            "2020-11-17T00:00:59Z,1,2\n2020-11-17T00:01:00Z,1,2\n"
            "%s,1,2\n",
            rows[i].last);
        struct error err = { 0 };
        owned(demand) struct demand *demand = parse(log, NULL, false, &err);

        if (!demand)
            fail_msg("%s", err.text);
        assert_int_equal(demand->series[0].step_ms, rows[i].step_s * SECOND_MS);
        assert_int_equal(demand_at(&demand->series[0], DEMAND_LOW, 0), rows[i].first);
        assert_int_equal(demand_at(&demand->series[0], DEMAND_LOW, 1), rows[i].second);
        assert_int_equal(demand_at(&demand->series[0], DEMAND_LOW, demand->series[0].count - 1), 1);
        assert_int_equal(demand_unknown(&demand->series[0]), 0);
    }
}

/* What a step without a row means, unless it is among the gaps. */
static void silence_of_a_log_is_zero_and_a_gap_is_unknown(void **state)
{
    static const char log[] = "t,queue,input_tokens,output_tokens\n"
                              "2026-11-17T12:00:01.3Z,chat,5,6\n2026-11-17T12:00:04.3Z,chat,5,6\n"
                              "2026-11-17T12:00:00.3Z,code,5,6\n";
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *gaps = test_folder_write(
        folder, "gaps.csv",
        "trace,gap_start,gap_end\nchat,2026-11-17T12:00:02Z,2026-11-17T12:00:03Z\n"
        "chart,2026-11-17T12:00:02Z,2026-11-17T12:00:03Z\n"
        "chat,2026-11-18T12:00:02Z,2026-11-18T12:00:03Z\n");
    struct demand_options options = { .gaps = gaps };
    struct error err = { 0 };
    owned(demand) struct demand *demand = demand_parse(log, strlen(log), "in/busy.csv", &options,
                                                       &err);

    (void)state;
    if (!demand)
        fail_msg("%s", err.text);

    owned(text) struct text *found = told(demand);

    assert_string_equal(found->chars, "chat 1s " BEGIN ": 0 1 - 0 1 [5/6 5/6]; code 1s " BEGIN
                                      ": 1 0 0 0 0 [5/6]");
    assert_int_equal(demand->facts.gaps, 3);
    assert_int_equal(demand->facts.idle_gaps, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_single_requests_are_found_by_their_tokens),
        cmocka_unit_test(where_a_log_is_cut_has_no_influence),
        cmocka_unit_test(of_very_many_rows_a_sample_of_lengths_is_kept),
        cmocka_unit_test(a_sample_is_like_its_log_whatever_the_log_repeats),
        cmocka_unit_test(rates_over_steps_that_change_are_refused),
        cmocka_unit_test(a_log_and_a_file_of_lengths_have_the_same_queues),
        cmocka_unit_test(a_log_of_very_many_steps_is_counted_by_longer_ones),
        cmocka_unit_test(silence_of_a_log_is_zero_and_a_gap_is_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
