/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of measured engines: what is written is read again, and what no engine is is refused.
 */
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "windows/servers/engine_table.h"

#include <string.h>

#define HEADER                                                                                     \
    "queue,iteration_s,iteration_per_request_s,prefill_per_token_s,tokens_in,tokens_out,tokens_"   \
    "cv\n"

static void what_is_written_is_read_again(void **state)
{
    const struct engine_measure chat = { 0.1 / 3, 1e-4 / 7, 2e-5, 512.5, 250, 1.25 };
    const struct engine_measure other = { 0.02, 0, 0, 0, 1, 0 };
    owned(test_folder) char *folder = test_folder_new();
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    struct error err = { 0 };

    (void)state;
    engine_table_begin(out);
    engine_table_add(out, "chat", &chat);
    engine_table_add(out, "other", &other);

    owned(chars) char *path = test_folder_write(folder, "week.engine.csv", out->chars);
    owned(engine_table) struct engine_table *table = engine_table_read(path, &err);

    assert_non_null(table);
    assert_int_equal(table->count, 2);
    assert_memory_equal(engine_table_find(table, "chat"), &chat, sizeof chat);
    assert_memory_equal(engine_table_find(table, "other"), &other, sizeof other);
    assert_null(engine_table_find(table, "third"));
    assert_null(engine_table_find(NULL, "chat"));
    assert_memory_equal(out->chars, HEADER, strlen(HEADER));
}

static const struct {
    const char *text;
    const char *want;
} refusals[] = {
    { "queue,iteration_s\nchat,1\n", ":1: expected the columns queue, iteration_s" },
    { HEADER "chat,0.02,0.001,0,0,250\n", ":2: " },
    { HEADER "chat,0.02,0.001,0,0,250,one\n", ":2: tokens_cv: expected a number" },
    { HEADER "chat,0.02,0.001,0,0,nan,1\n", ":2: tokens_out: expected a number" },
    { HEADER "chat,0.02,0.001,0,0,0.5,1\n", ":2: tokens_out: expected a number from 1" },
    { HEADER "chat,-0.02,0.001,0,0,250,1\n", ":2: iteration_s: expected a number from 0" },
    { HEADER "chat,0,0,0,0,250,1\n", ":2: an iteration takes no time" },
    { HEADER "chat,0.02,0,0,0,250,1\nchat,0.02,0,0,0,250,1\n",
      ":3: queue chat stands in two places" },
    { HEADER "chat,0.02,0.001,0,0,250,1", ":2: the last line has no line end" },
};

static void what_is_no_engine_is_refused_with_its_line(void **state)
{
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        owned(chars) char *path = test_folder_write(folder, "week.engine.csv", refusals[i].text);
        struct error err = { 0 };

        assert_null(engine_table_read(path, &err));
        if (!strstr(err.text, refusals[i].want) || !strstr(err.text, "week.engine.csv"))
            fail_msg("%zu: %s", i, err.text);
    }
}

static void its_path_is_beside_the_demand(void **state)
{
    static const char *const rows[][2] = { { "a/week.csv.gz", "a/week.engine.csv" },
                                           { "week.csv", "week.engine.csv" },
                                           { "week", "week.engine.csv" } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *path = engine_table_path(rows[i][0]);

        assert_string_equal(path, rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(what_is_no_engine_is_refused_with_its_line),
        cmocka_unit_test(its_path_is_beside_the_demand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
