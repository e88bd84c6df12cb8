/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Settings tables: defaults, errors, documentation.
 */
#include "base/input/settings.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "tests/support/unit.h"

#include <string.h>

struct sample {
    char *name;
    char *region;
    char *note;
    int64_t count;
    double ratio;
    bool is_on;
    int64_t deadline_ms;
    double step_s;
    const struct yaml_node *extra;
};

static const struct setting table[] = {
    { "name", SETTING_TEXT, offsetof(struct sample, name), NULL, 0, 0, "what it is called" },
    { "region", SETTING_TEXT, offsetof(struct sample, region), "north", 0, 0, "where it is" },
    { "note", SETTING_TEXT, offsetof(struct sample, note), "", 0, 0, "anything" },
    { "count", SETTING_INT, offsetof(struct sample, count), "3", 1, 10, "how many" },
    { "ratio", SETTING_DOUBLE, offsetof(struct sample, ratio), "0.5", 0, 1, "how much" },
    { "on", SETTING_BOOL, offsetof(struct sample, is_on), "true", 0, 0, "whether" },
    { "deadline", SETTING_DURATION, offsetof(struct sample, deadline_ms), "10m", MINUTE_MS, DAY_MS,
      "how long" },
    { "step", SETTING_SECONDS, offsetof(struct sample, step_s), "20ms", 10, 2 * 1000 * 1000,
      "how often" },
    { "extra", SETTING_NODE, offsetof(struct sample, extra), "", 0, 0, "what the caller reads" },
};

static struct yaml_document *parse(const char *chars)
{
    struct yaml_document *document = yaml_parse(chars, strlen(chars), "f.yaml", NULL);

    assert_non_null(document);
    return document;
}

static void fills_every_type(void **state)
{
    owned(yaml_document) struct yaml_document *document = parse(
        "name: a\nregion: south\nnote: ''\ncount: 10\nratio: 1\non: false\ndeadline: 90s\n"
        "step: 250us\nextra: [1, 2]\n");
    struct sample sample;

    (void)state;
    assert_int_equal(
        settings_read(yaml_root(document), table, COUNT_OF(table), &sample, &(struct error){ 0 }),
        0);
    assert_string_equal(sample.name, "a");
    assert_string_equal(sample.region, "south");
    assert_string_equal(sample.note, "");
    assert_int_equal(sample.count, 10);
    assert_true(sample.ratio == 1.0);
    assert_false(sample.is_on);
    assert_int_equal(sample.deadline_ms, 90 * SECOND_MS);
    assert_true(sample.step_s == 250e-6);
    assert_int_equal(sample.extra->count, 2);
    settings_clear(table, COUNT_OF(table), &sample);
    assert_null(sample.name);
    assert_null(sample.extra);
}

static void absent_keys_take_their_defaults(void **state)
{
    owned(yaml_document) struct yaml_document *document = parse("name: a\n");
    struct sample sample, alone;

    (void)state;
    assert_int_equal(settings_read(yaml_root(document), table, COUNT_OF(table), &sample, NULL), 0);
    settings_default(table, COUNT_OF(table), &alone);
    assert_null(alone.name);
    assert_string_equal(sample.region, "north");
    assert_string_equal(alone.region, "north");
    assert_null(sample.note);
    assert_null(sample.extra);
    assert_int_equal(sample.count, 3);
    assert_true(sample.ratio == 0.5);
    assert_true(sample.is_on);
    assert_int_equal(alone.deadline_ms, 10 * MINUTE_MS);
    assert_true(alone.step_s == 0.02 && sample.step_s == 0.02);
    settings_clear(table, COUNT_OF(table), &sample);
    settings_clear(table, COUNT_OF(table), &alone);
}

static const struct {
    const char *chars, *error;
} wrong[] = {
    { "name: a\ncuont: 3\n", "f.yaml:2: box.cuont: unknown key, did you mean \"count\"?" },
    { "name: a\nxyzzy: 3\n", "f.yaml:2: box.xyzzy: unknown key, expected one of: name, region, "
                             "note, count, ratio, on, deadline, step, extra" },
    { "count: 3\n", "f.yaml:1: box: the key \"name\" is missing" },
    { "name: [a]\n", "f.yaml:1: box.name: expected a text, found a list" },
    { "name: a\ncount: 11\n", "f.yaml:2: box.count: must be from 1 to 10, found 11" },
    { "name: a\ncount: x\n", "f.yaml:2: box.count: expected a whole number, found \"x\"" },
    { "name: a\nratio: 2\n", "f.yaml:2: box.ratio: must be from 0 to 1, found 2" },
    { "name: a\non: 1\n", "f.yaml:2: box.on: expected true or false, found \"1\"" },
    { "name: a\ndeadline: 2d\n", "f.yaml:2: box.deadline: must be from 1m to 1d, found 2d" },
    { "name: a\nstep: 9us\n", "f.yaml:2: box.step: must be from 10us to 2s, found 9us" },
    { "name: a\nstep: 20\n", "f.yaml:2: box.step: expected a duration like 250us, 0.5ms, 20ms or "
                             "1.5s, found \"20\"" },
};

/* The lines below a key "box" that stands on no line of its own. */
static struct yaml_document *parse_below_key(const char *chars)
{
    owned(text) struct text *text = text_new(1024);

    text_add(text, "box: {");
    for (; chars[1]; chars++) /* without the last newline */
        text_add(text, "%s%c", *chars == '\n' ? "," : "", *chars);
    text_add(text, "}\n");
    return parse(text->chars);
}

static void mistakes_name_file_line_and_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        owned(yaml_document) struct yaml_document *document = parse_below_key(wrong[i].chars);
        struct sample sample;
        struct error err;

        print_message("    %s\n", wrong[i].error);
        assert_int_equal(settings_read(yaml_get(yaml_root(document), "box"), table, COUNT_OF(table),
                                       &sample, &err),
                         -1);
        assert_string_equal(err.text, wrong[i].error);
        assert_null(sample.name);
        assert_null(sample.region);
    }
}

static void documents_itself_as_markdown(void **state)
{
    owned(text) struct text *out = text_new(4096);

    (void)state;
    settings_document(table, COUNT_OF(table), out);
    assert_string_equal(out->chars, "| `name` | text | required | what it is called |\n"
                                    "| `region` | text | `north` | where it is |\n"
                                    "| `note` | text | none | anything |\n"
                                    "| `count` | whole number, 1 to 10 | `3` | how many |\n"
                                    "| `ratio` | number, 0 to 1 | `0.5` | how much |\n"
                                    "| `on` | boolean | `true` | whether |\n"
                                    "| `deadline` | duration, 1m to 1d | `10m` | how long |\n"
                                    "| `step` | duration, 10us to 2s | `20ms` | how often |\n"
                                    "| `extra` | see below | none | what the caller reads |\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_every_type),
        cmocka_unit_test(absent_keys_take_their_defaults),
        cmocka_unit_test(mistakes_name_file_line_and_key),
        cmocka_unit_test(documents_itself_as_markdown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
