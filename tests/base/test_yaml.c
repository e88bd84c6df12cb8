/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * YAML: the tree, every refused construct with its words, limits, typed values.
 */
#include "base/input/json.h"
#include "base/input/yaml.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "tests/support/folder.h"
#include "tests/support/golden.h"
#include "tests/support/unit.h"

#include <string.h>
#include <time.h>

static struct yaml_document *parse(const char *chars, struct error *err)
{
    return yaml_parse(chars, strlen(chars), "f.yaml", err);
}

static void builds_the_tree_in_the_order_of_the_file(void **state)
{
    struct error err = { 0 };
    owned(yaml_document) struct yaml_document *document = parse("# head\n"
                                                                "pools:\n"
                                                                "  b: { zone: 'x', empty: }\n"
                                                                "  a:\n"
                                                                "    list: [1, [2, 3], {k: v}]\n"
                                                                "text: |\n"
                                                                "  two\n"
                                                                "  lines\n",
                                                                &err);
    const struct yaml_node *root, *pools, *list;

    (void)state;
    assert_string_equal(err.text, "");
    root = yaml_root(document);
    assert_string_equal(yaml_source(document), "f.yaml");
    assert_int_equal(root->kind, YAML_MAPPING);
    assert_int_equal(root->count, 2);
    assert_null(root->parent);
    assert_null(root->key);
    pools = yaml_get(root, "pools");
    assert_int_equal(pools->count, 2);
    assert_string_equal(pools->children[0].key, "b");
    assert_int_equal(pools->children[0].line, 3);
    assert_true(yaml_get(&pools->children[0], "zone")->is_quoted);
    assert_string_equal(yaml_get(&pools->children[0], "empty")->text, "");
    assert_ptr_equal(pools->children[1].parent, pools);
    list = yaml_get(&pools->children[1], "list");
    assert_int_equal(list->kind, YAML_SEQUENCE);
    assert_int_equal(list->count, 3);
    assert_string_equal(list->children[1].children[1].text, "3");
    assert_string_equal(yaml_get(&list->children[2], "k")->text, "v");
    assert_ptr_equal(list->children[2].parent, list);
    assert_string_equal(yaml_get(root, "text")->text, "two\nlines\n");
    assert_null(yaml_get(root, "none"));
    assert_null(yaml_get(list, "none"));
}

static void nothing_but_comments_is_an_empty_mapping(void **state)
{
    static const char *const files[] = { "", "# a\n", "---\n", "---\n# a\n", "\n\n" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        owned(yaml_document) struct yaml_document *document = parse(files[i], NULL);

        assert_non_null(document);
        assert_int_equal(yaml_root(document)->kind, YAML_MAPPING);
        assert_int_equal(yaml_root(document)->count, 0);
        assert_null(yaml_root(document)->text);
    }
}

static const struct {
    const char *chars, *error;
} refused[] = {
    { "a: 1\nb: &x 2\n", "f.yaml:2: anchors (&name) are not allowed" },
    { "a: &x [1]\n", "f.yaml:1: anchors (&name) are not allowed" },
    { "a: &x\n  b: 1\n", "f.yaml:1: anchors (&name) are not allowed" },
    { "a: 1\n\nb: *x\n", "f.yaml:3: aliases (*name) are not allowed" },
    { "*x : 1\n", "f.yaml:1: aliases (*name) are not allowed" },
    { "a: !!int 1\n", "f.yaml:1: tags (!name) are not allowed" },
    { "a: !x [1]\n", "f.yaml:1: tags (!name) are not allowed" },
    { "!x {a: 1}\n", "f.yaml:1: tags (!name) are not allowed" },
    { "a: ! b\n", "f.yaml:1: tags (!name) are not allowed" },
    { "a:\n  <<: {b: 1}\n", "f.yaml:2: merge keys (<<) are not allowed" },
    { "a: 1\nb: 2\na: 3\n", "f.yaml:3: the key \"a\" stands twice in one mapping" },
    { "x: {a: 1, 'a': 3}\n", "f.yaml:1: the key \"a\" stands twice in one mapping" },
    { "a: 1\n---\nb: 2\n", "f.yaml:2: a second document (---) is not allowed" },
    { "%YAML 1.1\n---\na: 1\n", "f.yaml:1: directives (%YAML, %TAG) are not allowed" },
    { "%TAG ! x\n---\na: 1\n", "f.yaml:1: directives (%YAML, %TAG) are not allowed" },
    { "? [a]\n: 1\n", "f.yaml:1: a key must be a word, not a mapping or a list" },
    { "{a: 1}: 1\n", "f.yaml:1: a key must be a word, not a mapping or a list" },
    { "'': 1\n", "f.yaml:1: a key must not be empty" },
    { "?\n: 1\n", "f.yaml:1: a key must not be empty" },
    { "a: \"x\\0y\"\n", "f.yaml:1: a NUL character is not allowed" },
    { "a: [1\nb: 2\n", "f.yaml:2: did not find expected ',' or ']' while parsing a flow sequence" },
    { "a: 1\n b: 2\n", "f.yaml:2: mapping values are not allowed in this context" },
    { "a:\n\t- b\n", "f.yaml:2: found character that cannot start any token while scanning for the "
                     "next token" },
    { "a: 1\nb: \xff\n", "f.yaml:2: invalid leading UTF-8 octet" },
    { "a: 1\nb: \x01\n", "f.yaml:2: control characters are not allowed" },
};

static void refuses_with_file_and_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct error err = { 0 };

        print_message("    %s\n", refused[i].error);
        assert_null(parse(refused[i].chars, &err));
        assert_string_equal(err.text, refused[i].error);
        assert_int_equal(err.kind, ERROR_INVALID);
    }
}

/* `count` times `piece`. */
static char *repeat(const char *piece, size_t count)
{
    struct text *text = text_new(TEXT_UNBOUNDED);

    for (size_t i = 0; i < count; i++)
        text_add_bytes(text, piece, strlen(piece));
    return text_take(text);
}

static const struct {
    const char *piece;
    size_t count;
    const char *error; /* NULL: accepted */
} hostile[] = {
    { "[", 10 * 1024 * 1024, "f.yaml: larger than 256 kB" },
    { "[", 200 * 1024, "f.yaml:1: nested deeper than 32 levels" },
    { "{a: ", 50 * 1024, "f.yaml:1: nested deeper than 32 levels" },
    { "- ", 100 * 1024, "f.yaml:1: nested deeper than 32 levels" },
    { "? ", 100 * 1024, "f.yaml:1: a key must be a word, not a mapping or a list" },
    { "- \n", 9999, NULL },
    { "- \n", 10000, "f.yaml:10000: more than 10,000 values" },
    { "#\n", 128 * 1024, NULL },
    { "#\n", 128 * 1024 + 1, "f.yaml: larger than 256 kB" },
};

static void hostile_files_cost_little(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(hostile); i++) {
        owned(chars) char *chars = repeat(hostile[i].piece, hostile[i].count);
        struct error err = { 0 };
        clock_t start = clock();
        owned(yaml_document) struct yaml_document *document = parse(chars, &err);
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;

        print_message("    %zu times \"%s\": %.3f s\n", hostile[i].count, hostile[i].piece,
                      seconds);
        assert_string_equal(err.text, hostile[i].error ? hostile[i].error : "");
        assert_int_equal(document == NULL, hostile[i].error != NULL);
        assert_true(seconds < 2.0);
    }
}

static void thirty_two_levels_are_allowed(void **state)
{
    owned(chars) char *opening = repeat("[", 32);
    owned(chars) char *closing = repeat("]", 32);
    owned(chars) char *chars = text_format("%s%s", opening, closing);
    owned(yaml_document) struct yaml_document *document = parse(chars, NULL);

    (void)state;
    assert_non_null(document);
}

static const char typed[] = "i: 7\n"
                            "q: '7'\n"
                            "d: 2.5\n"
                            "t: true\n"
                            "y: yes\n"
                            "n:\n"
                            "tilde: ~\n"
                            "dur: 1h30m\n"
                            "m: {a: [1, {deep: x}]}\n"
                            "l: [1]\n"
                            "w: hello\n";

enum type { TEXT, INT, DOUBLE, BOOL, DURATION };

static const struct {
    const char *key;
    enum type type;
    const char *error; /* NULL: accepted */
} readings[] = {
    { "i", INT, NULL },
    { "i", DOUBLE, NULL },
    { "i", TEXT, NULL },
    { "q", TEXT, NULL },
    { "d", DOUBLE, NULL },
    { "t", BOOL, NULL },
    { "dur", DURATION, NULL },
    { "q", INT, "f.yaml:2: q: expected a whole number, found the text \"7\"" },
    { "q", DOUBLE, "f.yaml:2: q: expected a number, found the text \"7\"" },
    { "d", INT, "f.yaml:3: d: expected a whole number, found \"2.5\"" },
    { "y", BOOL, "f.yaml:5: y: expected true or false, found \"yes\"" },
    { "n", TEXT, "f.yaml:6: n: expected a text, found nothing" },
    { "tilde", TEXT, "f.yaml:7: tilde: expected a text, found nothing" },
    { "i", DURATION, "f.yaml:1: i: expected a duration like 90s, 5m or 1h30m, found \"7\"" },
    { "l", DURATION, "f.yaml:10: l: expected a duration like 90s, 5m or 1h30m, found a list" },
    { "m", TEXT, "f.yaml:9: m: expected a text, found a mapping" },
    { "l", INT, "f.yaml:10: l: expected a whole number, found a list" },
    { "l", BOOL, "f.yaml:10: l: expected true or false, found a list" },
    { "w", DOUBLE, "f.yaml:11: w: expected a number, found \"hello\"" },
};

static int read_typed(const struct yaml_node *node, enum type type, struct error *err)
{
    const char *text;
    int64_t integer;
    double real;
    bool flag;

    switch (type) {
    case TEXT:
        return yaml_text(node, &text, err);
    case INT:
        return yaml_int(node, INT64_MIN, INT64_MAX, &integer, err);
    case DOUBLE:
        return yaml_double(node, -1e9, 1e9, &real, err);
    case BOOL:
        return yaml_bool(node, &flag, err);
    case DURATION:
        return yaml_duration(node, 0, INT64_MAX, &integer, err);
    }
    return -1;
}

static void typed_values_name_file_line_and_key(void **state)
{
    owned(yaml_document) struct yaml_document *document = parse(typed, NULL);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(readings); i++) {
        const struct yaml_node *node = yaml_get(yaml_root(document), readings[i].key);
        struct error err = { 0 };

        print_message("    %s as type %d\n", readings[i].key, readings[i].type);
        assert_int_equal(read_typed(node, readings[i].type, &err), readings[i].error ? -1 : 0);
        assert_string_equal(err.text, readings[i].error ? readings[i].error : "");
    }
}

static void values_out_of_range_name_the_range(void **state)
{
    owned(yaml_document) struct yaml_document *document = parse(typed, NULL);
    const struct yaml_node *root = yaml_root(document);
    struct error err;
    int64_t integer = 42;
    double real = 42;

    (void)state;
    assert_int_equal(yaml_int(yaml_get(root, "i"), 8, INT64_MAX, &integer, &err), -1);
    assert_string_equal(err.text, "f.yaml:1: i: must be at least 8, found 7");
    assert_int_equal(yaml_int(yaml_get(root, "i"), 0, 6, &integer, &err), -1);
    assert_string_equal(err.text, "f.yaml:1: i: must be from 0 to 6, found 7");
    assert_int_equal(yaml_double(yaml_get(root, "d"), 0, 1, &real, &err), -1);
    assert_string_equal(err.text, "f.yaml:3: d: must be from 0 to 1, found 2.5");
    assert_int_equal(yaml_duration(yaml_get(root, "dur"), 0, 3600000, &integer, &err), -1);
    assert_string_equal(err.text, "f.yaml:8: dur: must be from 0s to 1h, found 1h30m");
    assert_int_equal(yaml_duration(yaml_get(root, "dur"), 7200000, INT64_MAX, &integer, &err), -1);
    assert_string_equal(err.text, "f.yaml:8: dur: must be at least 2h, found 1h30m");
    assert_int_equal(integer, 42);
    assert_true(real == 42);
}

static void errors_give_the_path(void **state)
{
    owned(yaml_document) struct yaml_document *document = parse(typed, NULL);
    const struct yaml_node *root = yaml_root(document);
    const struct yaml_node *item = &yaml_get(yaml_get(root, "m"), "a")->children[1];
    struct error err;

    (void)state;
    assert_int_equal(yaml_error(&err, &item->children[0], "no %d", 5), -1);
    assert_string_equal(err.text, "f.yaml:9: m.a[1].deep: no 5");
    yaml_error(&err, item, "no");
    assert_string_equal(err.text, "f.yaml:9: m.a[1]: no");
    yaml_error(&err, root, "no");
    assert_string_equal(err.text, "f.yaml:1: no");
    assert_int_equal(yaml_expect(item, YAML_SEQUENCE, &err), -1);
    assert_string_equal(err.text, "f.yaml:9: m.a[1]: expected a list, found a mapping");
    assert_int_equal(yaml_expect(root, YAML_MAPPING, &err), 0);
}

static void reads_a_file(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = test_folder_write(folder, "a.yaml", "a: 1\n");
    owned(chars) char *none = text_format("%s/none.yaml", folder);
    struct error err;
    owned(yaml_document) struct yaml_document *document = yaml_read(path, &err);

    (void)state;
    assert_non_null(document);
    assert_string_equal(yaml_source(document), path);
    assert_null(yaml_read(none, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

/* Pieces of syntax in a random order: whatever comes out, it must not crash or leak. */
static void random_syntax_is_survived(void **state)
{
    static const char *const pieces[] = {
        "a",   "b",     ": ",    "- ", "\n", "  ", "[",           "]",   "{",
        "}",   ", ",    "'",     "\"", "#",  "? ", "|\n",         "&x ", "*x ",
        "!t ", "---\n", "...\n", "<<", "\\", "\t", "%YAML 1.1\n",
    };
    struct random random;
    int accepted = 0;

    (void)state;
    random_seed(&random, 5);
    for (int round = 0; round < 30000; round++) {
        owned(text) struct text *text = text_new(256);

        for (uint64_t left = 1 + random_below(&random, 16); left > 0; left--)
            text_add(text, "%s", pieces[random_below(&random, COUNT_OF(pieces))]);
        {
            owned(yaml_document) struct yaml_document *document = parse(text->chars, NULL);

            accepted += document != NULL;
        }
    }
    print_message("    %d of 30000 accepted\n", accepted);
    assert_true(accepted > 100);
}

/* Every text comes back as the same text, and never as a number, a time or a truth value. */
static void prints_what_reads_back(void **state)
{
    static const char *const texts[] = {
        "",     "prod-a",   "2026-11-17T08:00:00Z",
        "12",   "1e3",      "-",
        "yes",  "No",       "null",
        "~",    "a: b",     "a #b",
        "#a",   "- a",      "[x]",
        "{y}",  "*x",       "&x",
        "!x",   "a\nb",     "\tx",
        " x ",  "'q'",      "\"q\"",
        "a, b", "100 %",    "@x",
        "`x`",  "\xc3\xa9", "0x1f",
        "on",   "a:b",      "? a",
        "| a",  "=",        "<<",
        ".5",   "...",      "---",
        "x\\y",
    };
    owned(json) json_t *rows = json_array();
    owned(json) json_t *value = json_make("{si sb sn sf sO s[] s{}}", "count", 3, "is_known", 1,
                                          "none", "share", 0.5, "texts", rows, "empty", "nothing");
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    owned(yaml_document) struct yaml_document *document = NULL;
    const struct yaml_node *found;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        json_array_append_new(rows, json_text(texts[i]));
    yaml_print(value, out);
    golden_check("golden/base/printed.yaml", out->chars);
    document = parse(out->chars, NULL);
    assert_non_null(document);
    found = yaml_get(yaml_root(document), "texts");
    assert_int_equal(found->count, COUNT_OF(texts));
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_string_equal(found->children[i].text, texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_the_tree_in_the_order_of_the_file),
        cmocka_unit_test(nothing_but_comments_is_an_empty_mapping),
        cmocka_unit_test(refuses_with_file_and_line),
        cmocka_unit_test(hostile_files_cost_little),
        cmocka_unit_test(thirty_two_levels_are_allowed),
        cmocka_unit_test(typed_values_name_file_line_and_key),
        cmocka_unit_test(values_out_of_range_name_the_range),
        cmocka_unit_test(errors_give_the_path),
        cmocka_unit_test(reads_a_file),
        cmocka_unit_test(random_syntax_is_survived),
        cmocka_unit_test(prints_what_reads_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
