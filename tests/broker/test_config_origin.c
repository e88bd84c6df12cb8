/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where each setting comes from, and what differs between two files.
 */
#include "base/file.h"
#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "broker/config/config.h"
#include "tests/cli/small_world.h"

#include <string.h>

static struct config *read_text(const char *folder, const char *text)
{
    owned(chars) char *path = test_folder_write(folder, "sluice.yaml", text);
    struct error err = { 0 };
    struct config *config = config_read(path, &err);

    if (!config)
        fail_msg("%s", err.text);
    return config;
}

static const json_t *row_of(const json_t *rows, const char *key)
{
    const json_t *row;
    const json_t *found = NULL;
    size_t i;

    json_array_foreach(rows, i, row) {
        if (!text_equal(json_text_or(row, "key", ""), key))
            continue;
        if (found)
            fail_msg("%s is there twice", key);
        found = row;
    }
    return found;
}

static void expect_row(const json_t *rows, const char *key, const char *value, const char *origin)
{
    const json_t *row = row_of(rows, key);
    const char *have = row ? json_text_or(row, "origin", "") : "";

    if (!row || !text_equal(json_string_value(json_object_get(row, "value")), value) ||
        strlen(have) < strlen(origin) ||
        !text_equal(have + strlen(have) - strlen(origin), origin)) {
        owned(chars) char *text = row ? json_print(row) : mem_copy_chars("nothing");

        fail_msg("%s: %s", key, text);
    }
}

static void each_setting_has_an_origin(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(config) struct config *config = read_text(folder, small_config);
    owned(json) json_t *rows = config_origins(config);

    (void)state;
    expect_row(rows, "time_zone", "UTC", "sluice.yaml:1");
    expect_row(rows, "poll", "15s", "default");
    expect_row(rows, "drain.notice", "5m", "sluice.yaml:8");
    expect_row(rows, "guard.breaker_pause", "30m", "default");
    expect_row(rows, "traces.endpoint", NULL, "default");
    expect_row(rows, "pools.prod-a-east.node_max", "0", "default");
    expect_row(rows, "holidays", NULL, "default");
    assert_null(row_of(rows, "listen.address")); /* there is no `listen` */
    assert_null(row_of(rows, "listen"));
    assert_null(row_of(rows, "queues.q.engine.slots"));
}

/* No line of the file is lost, and none is told twice. */
static void each_line_of_the_file_is_there_once(void **state)
{
    static const char more[] = "access:\n  operator: {groups: 'oncall, 61001'}\n"
                               "holidays:\n  2026-12-25: sunday\n  country: [DE, FR]\n"
                               "accelerators: {example.com/npu: 1}\n"
                               "join: {labels: 'a, b'}\n";
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *text = text_format("%s%s", small_config, more);
    owned(config) struct config *config = read_text(folder, text);
    owned(json) json_t *rows = config_origins(config);
    size_t lines = 0, least = 0;
    const json_t *row;
    size_t i;

    (void)state;
    expect_row(rows, "access.operator.groups", "oncall, 61001", "");
    expect_row(rows, "access.operator.claims", NULL, "default");
    expect_row(rows, "holidays.2026-12-25", "sunday", "");
    expect_row(rows, "accelerators.example.com/npu", "1", "");
    expect_row(rows, "join.labels", "a, b", "");
    expect_row(rows, "holidays.country", "[DE, FR]", "");
    json_array_foreach(rows, i, row) {
        assert_ptr_equal(row_of(rows, json_text_or(row, "key", "")), row);
        lines += json_is_integer(json_object_get(row, "line"));
    }
    for (const char *at = text; (at = strstr(at, ": ")); at++)
        least += at[2] != '{' && at[2] != '[' && at[2] != '"';
    assert_true(lines >= least);
}

static void changes_are_told_in_the_words_of_the_files(void **state)
{
    static const struct {
        const char *before, *after;
        const char *says;
    } rows[] = {
        { "", "repack_nodes: 3\n",
          "[{\"key\":\"repack_nodes\",\"change\":\"changed\",\"before\":\"0\",\"after\":\"3\"," },
        { "holidays: {country: [DE, FR]}\n", "holidays: {country: [DE]}\n",
          "[{\"key\":\"holidays.country\",\"change\":\"changed\",\"before\":\"[DE, "
          "FR]\",\"after\":\"[DE]\""
          "," },
        { "", "access: {admin: {groups: '7'}}\n",
          "[{\"key\":\"access.admin.groups\",\"change\":\"added\",\"before\":null,\"after\":"
          "\"7\"," },
        { "access: {admin: {groups: '7'}}\n", "",
          "[{\"key\":\"access.admin.groups\",\"change\":\"removed\",\"before\":\"7\",\"after\":"
          "null," },
        { "", "webhooks: {a: {url: 'https://b.example.com/Hunter2', secret_file: c}}\n",
          "[{\"key\":\"webhooks.a.url\",\"change\":\"added\",\"before\":null,\"after\":"
          "\"https://b.example.com/...\"," },
        { "# a comment\n", "\n\n", "[]" },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool is_repack = i == 0;
        owned(chars) char *first = text_format("%s%s", small_config, rows[i].before);
        owned(chars) char *second = text_format("%s%s", small_config,
                                                is_repack ? "" : rows[i].after);
        char *number = is_repack ? strstr(second, "repack_nodes: 0") : NULL;
        owned(config) struct config *before = read_text(folder, first);
        owned(config) struct config *after = NULL;
        owned(json) json_t *changes = NULL;
        owned(chars) char *text = NULL;

        if (number)
            number[strlen("repack_nodes: ")] = '3';
        after = read_text(folder, second);
        changes = config_changes(before, after);
        text = json_print(changes);
        if (!text_starts_with(text, rows[i].says))
            fail_msg("%s", text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_setting_has_an_origin),
        cmocka_unit_test(each_line_of_the_file_is_there_once),
        cmocka_unit_test(changes_are_told_in_the_words_of_the_files),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
