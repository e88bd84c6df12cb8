/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The audit of a busy fleet: acts that are older than ten thousand events, asked of a service that
 * runs as a program.
 */
#include "broker/journal/journal.h"
#include "tests/cli/programs.h"

enum { ACTS = 60, BUSY = 21000 };

static pid_t programs[2];

static json_t *act_of(int number)
{
    owned(chars) char *cluster = text_format("old-%d", number);

    return json_make("{ss ss s{ss ss ss}}", "event", "freeze", "by", "ada", "freeze", "by", "ada",
                     "reason", "upgrade", "cluster", cluster);
}

/* Three days ago ada did much; since then there were 21,000 events of other kinds. */
static void write_journal(void)
{
    owned(chars) char *path = text_format("%s/sluice.db", folder);
    struct wall_time now = { (int64_t)time(NULL) * SECOND_MS };
    struct error err = { 0 };
    struct journal *journal = journal_sqlite_open(path, &err);
    struct journal_batch *batch;
    uint64_t epoch = 0;

    if (!journal || journal_begin_epoch(journal, &epoch, &err) < 0)
        fail_msg("%s", err.text);
    batch = journal_batch_new(epoch);
    for (int i = 0; i < ACTS + BUSY; i++) {
        bool is_act = i < ACTS;
        owned(json) json_t *event = is_act ? act_of(i)
                                           : json_make("{ss si}", "event", "busy", "number", i);

        journal_event(batch, (struct wall_time){ now.ms - (is_act ? 3 * DAY_MS : HOUR_MS) }, event);
    }
    if (journal_commit(journal, &batch, &err) < 0)
        fail_msg("%s", err.text);
    journal_close(journal);
}

static int open_world(void **state)
{
    (void)state;
    folder = test_folder_new();
    programs[0] = start_simulator();
    write_journal();
    programs[1] = start_service();
    return await_service() ? 0 : -1;
}

static int close_world(void **state)
{
    int code = end_program(programs[1]);

    (void)state;
    if (end_program(programs[0]) != 0 || code != 0)
        return -1;
    test_folder_free(folder);
    return 0;
}

/* How often the words stand in what the command prints, and whether it says that there is more. */
static void expect_count(const char *line, const char *words, size_t count, bool is_more)
{
    owned(chars) char *whole = text_format("%s -c @/sluice.yaml", line);
    owned(said) struct said said = expect_code(folder, EXIT_DONE, whole);
    size_t found = 0;

    for (const char *at = said.out->chars; (at = strstr(at, words)); at += strlen(words))
        found++;
    if (found != count || !strstr(said.err->chars, "--count") == is_more)
        fail_msg("sluice %s: %zu times %s\n%.2000s%s", line, found, words, said.out->chars,
                 said.err->chars);
}

static void an_audit_since_a_time_is_complete(void **state)
{
    (void)state;
    expect_count("audit --since 100h", "old-", ACTS, false);
    expect_count("audit --since 100h --actor ada -o csv", "old-", ACTS, false);
    expect_count("audit --since 100h -o json", "\"old-", ACTS, false);
    expect_count("audit --since 2h", "old-", 0, false);
    expect_count("events --since 100h --actor ada -o wide", "old-", ACTS, false);
}

static void a_bound_says_how_to_see_more(void **state)
{
    (void)state;
    expect_count("audit --actor ada", "old-", 50, true);
    expect_count("audit --actor ada", "old-59", 1, true); /* the last ones */
    expect_count("audit --actor ada -n 100", "old-", ACTS, false);
    expect_count("audit --since 100h -n 7", "old-", 7, true);
    expect_count("events --actor ada -n 5 -o wide", "old-", 5, true);
    expect_count("events --node old -o wide", "old-", 0, false);
    expect_count("events -o wide", "  busy ", 50, false); /* nothing is looked for */
    expect_count("events -n 15000 -o wide", "  busy ", 15000, false);
}

/* Whatever the page, each event stands there once, and in order. */
static void pages_join_without_a_gap(void **state)
{
    owned(said) struct said said = expect_code(folder, EXIT_DONE,
                                               "events -n 25000 -o json -c @/sluice.yaml");
    struct error err = { 0 };
    owned(json) json_t *answer = json_parse(said.out->chars, said.out->length, "events", &err);
    const json_t *events = json_object_get(answer, "events");
    const json_t *event;
    size_t i;

    (void)state;
    assert_true(json_array_size(events) >= ACTS + BUSY);
    json_array_foreach(events, i, event)
        assert_int_equal(json_int_or(event, "seq", 0), (int64_t)i + 1);
    assert_int_equal(json_int_or(answer, "before", -1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_audit_since_a_time_is_complete),
        cmocka_unit_test(a_bound_says_how_to_see_more),
        cmocka_unit_test(pages_join_without_a_gap),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, open_world, close_world);
}
