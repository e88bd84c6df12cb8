/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checked reading of JSON: paths, types, the words of errors.
 */
#include "base/input/json.h"
#include "tests/support/unit.h"

#include <string.h>

static json_t *sample(void)
{
    return json_make("{s:{s:s, s:i, s:n, s:f, s:b, s:[i], s:{s:i}}}", "a", "text", "hello", "int",
                     7, "null", "real", 1.5, "bool", 1, "list", 1, "map", "x", 1);
}

static void reads_what_is_there(void **state)
{
    owned(json) json_t *root = sample();
    const char *text;
    int64_t number;
    bool flag;
    json_t *container;
    struct error err;

    (void)state;
    assert_int_equal(json_need_text(root, "a/text", &text, &err), 0);
    assert_string_equal(text, "hello");
    assert_int_equal(json_need_int(root, "a/int", &number, &err), 0);
    assert_int_equal(number, 7);
    assert_int_equal(json_need_bool(root, "a/bool", &flag, &err), 0);
    assert_true(flag);
    assert_int_equal(json_need_object(root, "a/map", &container, &err), 0);
    assert_int_equal(json_need_int(container, "x", &number, &err), 0);
    assert_int_equal(number, 1);
    assert_int_equal(json_need_array(root, "a/list", &container, &err), 0);
    assert_int_equal(json_array_size(container), 1);
    assert_non_null(json_at(root, "a/real"));
    assert_null(json_at(root, "a/null"));
    assert_null(json_at(NULL, "a"));
    assert_null(json_at(root, "a/text/x"));
}

static const struct {
    const char *path, *need, *find; /* errors of reading a text; NULL: none */
} texts[] = {
    { "b", "b: missing, expected a string", NULL },
    { "b/c/d", "b/c/d: missing, expected a string", NULL },
    { "a/null", "a/null: missing, expected a string", NULL },
    { "a/null/x", "a/null/x: missing, expected a string", NULL },
    { "a/int", "a/int: expected a string, found an integer", "as need" },
    { "a/real", "a/real: expected a string, found a fractional number", "as need" },
    { "a/bool", "a/bool: expected a string, found a boolean", "as need" },
    { "a/list", "a/list: expected a string, found an array", "as need" },
    { "a/map", "a/map: expected a string, found an object", "as need" },
    { "a/text/x", "a/text: expected an object, found a string", "as need" },
};

static void tells_absent_from_wrong(void **state)
{
    owned(json) json_t *root = sample();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const char *text = "untouched";
        struct error err = { 0 };

        print_message("    %s\n", texts[i].path);
        assert_int_equal(json_need_text(root, texts[i].path, &text, &err), -1);
        assert_string_equal(err.text, texts[i].need);
        assert_int_equal(err.kind, ERROR_CORRUPT);
        assert_int_equal(json_find_text(root, texts[i].path, &text, &err), texts[i].find ? -1 : 0);
        assert_string_equal(text, "untouched");
    }
}

static void each_reader_takes_its_type_only(void **state)
{
    owned(json) json_t *root = sample();
    int64_t number = 42;
    bool flag = true;
    json_t *container = NULL;
    struct error err;

    (void)state;
    assert_int_equal(json_find_int(root, "a/real", &number, &err), -1);
    assert_string_equal(err.text, "a/real: expected an integer, found a fractional number");
    assert_int_equal(json_find_bool(root, "a/int", &flag, &err), -1);
    assert_string_equal(err.text, "a/int: expected a boolean, found an integer");
    assert_int_equal(json_find_object(root, "a/list", &container, &err), -1);
    assert_string_equal(err.text, "a/list: expected an object, found an array");
    assert_int_equal(json_find_array(root, "a/map", &container, &err), -1);
    assert_int_equal(json_find_int(root, "a/none", &number, &err), 0);
    assert_int_equal(json_find_bool(root, "a/none", &flag, &err), 0);
    assert_int_equal(json_find_object(root, "a/none", &container, &err), 0);
    assert_int_equal(number, 42);
    assert_true(flag);
    assert_null(container);
    assert_int_equal(json_need_int(root, "a", &number, &err), -1);
    assert_int_equal(json_need_text(container, "a", &(const char *){ NULL }, &err), -1);
    assert_string_equal(err.text, "a: missing, expected a string");
}

static void lenient_readers_fall_back(void **state)
{
    owned(json) json_t *root = sample();

    (void)state;
    assert_string_equal(json_text_or(root, "a/text", "x"), "hello");
    assert_string_equal(json_text_or(root, "a/int", "x"), "x");
    assert_int_equal(json_int_or(root, "a/int", 1), 7);
    assert_int_equal(json_int_or(root, "a/real", 1), 1);
    assert_true(json_bool_or(root, "a/bool", false));
    assert_true(json_bool_or(root, "a/none", true));
}

static const struct {
    const char *bytes;
    size_t size; /* 0: strlen */
    bool is_valid, is_valid_foreign;
    const char *start; /* of the error */
} parses[] = {
    { "{\"a\":1}", 0, true, true, NULL },
    { "3", 0, true, true, NULL },
    { "{\"a\":1,\"a\":2}", 0, false, true, "f:1:" },
    { "{\"a\":1} x", 0, false, false, "f:1:" },
    { "{\n\"a\":}", 0, false, false, "f:2:" },
    { "", 0, false, false, "f:" },
    { "{\"a\":\"\\u0000\"}", 0, false, false, "f:1:" },
    { "\"\xff\"", 0, false, false, "f:1:" },
    { "1\0{", 3, false, false, "f: a NUL byte after 1 bytes" },
};

static void parses_one_whole_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(parses); i++) {
        size_t size = parses[i].size ? parses[i].size : strlen(parses[i].bytes);
        struct error err = { 0 };
        owned(json) json_t *strict = json_parse(parses[i].bytes, size, "f", &err);
        owned(json) json_t *foreign = json_parse_foreign(parses[i].bytes, size, "f", NULL);

        print_message("    %s\n", parses[i].bytes);
        assert_int_equal(strict != NULL, parses[i].is_valid);
        assert_int_equal(foreign != NULL, parses[i].is_valid_foreign);
        if (parses[i].start)
            assert_memory_equal(err.text, parses[i].start, strlen(parses[i].start));
    }
}

/* A plugin that prints its bare token, a damaged key: the error says where, and shows none of it.
 */
static void an_error_shows_nothing_of_the_text(void **state)
{
    static const char *const damaged[] = { "hunter2", "{\"token\": hunter2}",
                                           "{\"a\": \"hunter2\n\"}", "[1 \"hunter2\"]",
                                           "{\"hunter2\"}" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(damaged); i++) {
        struct error err = { 0 };

        assert_null(json_parse(damaged[i], strlen(damaged[i]), "f", &err));
        assert_int_equal(err.kind, ERROR_CORRUPT);
        if (strstr(err.text, "hunter") || strncmp(err.text, "f:1:", 4) != 0)
            fail_msg("%s", err.text);
    }
}

static void prints_in_the_order_of_insertion(void **state)
{
    owned(json) json_t *json = json_make("{s:i, s:[s, n], s:{}}", "z", 1, "a", "x", "m");
    owned(chars) char *compact = json_print(json);
    owned(chars) char *pretty = json_print_pretty(json);

    (void)state;
    assert_string_equal(compact, "{\"z\":1,\"a\":[\"x\",null],\"m\":{}}");
    assert_string_equal(pretty, "{\n  \"z\": 1,\n  \"a\": [\n    \"x\",\n    null\n  ],\n"
                                "  \"m\": {}\n}\n");
}

/* A hundred times the memory that was sent: a server could end us with one answer. */
static void a_small_text_does_not_become_a_huge_tree(void **state)
{
    enum { OBJECTS = 1500000 };
    owned(chars) char *chars = mem_new(3 * OBJECTS + 2);
    struct error err = { 0 };
    int64_t held = mem_held();

    (void)state;
    chars[0] = '[';
    for (int i = 0; i < OBJECTS; i++)
        memcpy(chars + 1 + 3 * i, "{},", 3);
    chars[3 * OBJECTS] = ']'; /* in the place of the last comma */
    assert_null(json_parse_foreign(chars, strlen(chars), "answer", &err));
    assert_int_equal(err.kind, ERROR_CORRUPT);
    assert_int_equal(mem_held(), held);
    /* And the next one is read as ever. */
    owned(json) json_t *small = json_parse_foreign("[1]", 3, "answer", &err);
    assert_non_null(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_there),
        cmocka_unit_test(tells_absent_from_wrong),
        cmocka_unit_test(each_reader_takes_its_type_only),
        cmocka_unit_test(lenient_readers_fall_back),
        cmocka_unit_test(parses_one_whole_text),
        cmocka_unit_test(an_error_shows_nothing_of_the_text),
        cmocka_unit_test(prints_in_the_order_of_insertion),
        cmocka_unit_test(a_small_text_does_not_become_a_huge_tree),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
