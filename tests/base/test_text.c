/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bounded text, exact numbers and the nearest name.
 */
#include "base/input/json.h"
#include "base/input/nearest.h"
#include "base/text.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void grows_and_cuts_at_the_limit(void **state)
{
    owned(text) struct text *text = text_new(100);

    (void)state;
    for (int i = 0; i < 33; i++)
        text_add(text, "%03d", i);
    assert_int_equal(text->length, 99);
    assert_false(text->is_cut);
    text_add(text, "x");
    assert_false(text->is_cut);
    text_add(text, "yz");
    assert_true(text->is_cut);
    assert_int_equal(text->length, 100);
    assert_int_equal(strlen(text->chars), 100);
    assert_int_equal(text->chars[99], 'x');
    text_add_bytes(text, "more", 4);
    assert_int_equal(text->length, 100);
}

static void one_long_piece_is_whole_or_cut(void **state)
{
    owned(text) struct text *whole = text_new(1000);
    owned(text) struct text *cut = text_new(10);

    (void)state;
    text_add(whole, "%0500d", 7);
    assert_int_equal(whole->length, 500);
    assert_int_equal(whole->chars[499], '7');
    text_add(cut, "%s", "abcdefghijklmnop");
    assert_string_equal(cut->chars, "abcdefghij");
    assert_true(cut->is_cut);
}

static void holds_bytes_and_drops_from_the_front(void **state)
{
    owned(text) struct text *text = text_new(64);

    (void)state;
    text_add_bytes(text, "a\0bc", 4);
    assert_int_equal(text->length, 4);
    text_drop(text, 2);
    assert_string_equal(text->chars, "bc");
    text_reset(text);
    assert_string_equal(text->chars, "");
    text_add_bytes(text, NULL, 0);
    assert_int_equal(text->length, 0);
}

static void take_hands_the_characters_on(void **state)
{
    struct text *text = text_new(64);
    owned(chars) char *taken = NULL;
    owned(chars) char *made = text_format("%s-%d", "a", 5);

    (void)state;
    text_add(text, "abc");
    taken = text_take(text);
    assert_string_equal(taken, "abc");
    assert_string_equal(made, "a-5");
    text_free(NULL);
}

static void copies_what_fits(void **state)
{
    char out[4];

    (void)state;
    assert_true(text_copy(out, sizeof out, "abc"));
    assert_string_equal(out, "abc");
    assert_false(text_copy(out, sizeof out, "abcd"));
    assert_string_equal(out, "abc");
}

static void compares_with_null(void **state)
{
    (void)state;
    assert_true(text_equal(NULL, NULL));
    assert_false(text_equal(NULL, ""));
    assert_false(text_equal("", NULL));
    assert_true(text_equal("a", "a"));
    assert_false(text_equal("a", "A"));
    assert_true(text_starts_with("abc", "ab"));
    assert_true(text_starts_with("abc", ""));
    assert_false(text_starts_with("ab", "abc"));
}

static const struct {
    const char *chars;
    bool is_valid;
    long long value;
} ints[] = {
    { "0", true, 0 },
    { "007", true, 7 },
    { "-5", true, -5 },
    { "9223372036854775807", true, LLONG_MAX },
    { "-9223372036854775808", true, LLONG_MIN },
    { "9223372036854775808", false, 0 },
    { "", false, 0 },
    { "-", false, 0 },
    { "+5", false, 0 },
    { " 5", false, 0 },
    { "5 ", false, 0 },
    { "5x", false, 0 },
    { "0x5", false, 0 },
    { "1.0", false, 0 },
    { "--1", false, 0 },
};

static void reads_whole_integers_only(void **state)
{
    long long value = 42;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ints); i++) {
        print_message("    \"%s\"\n", ints[i].chars);
        value = 42;
        assert_int_equal(text_to_int(ints[i].chars, LLONG_MIN, LLONG_MAX, &value),
                         ints[i].is_valid);
        assert_true(value == (ints[i].is_valid ? ints[i].value : 42));
    }
    assert_false(text_to_int("11", 0, 10, &value));
    assert_false(text_to_int("-1", 0, 10, &value));
    assert_true(text_to_int("10", 0, 10, &value));
}

static const struct {
    const char *chars;
    bool is_valid;
    double value;
} doubles[] = {
    { "0.25", true, 0.25 }, { "-1e3", true, -1000 }, { ".5", true, 0.5 },   { "3", true, 3 },
    { "", false, 0 },       { "inf", false, 0 },     { "nan", false, 0 },   { "0x1p3", false, 0 },
    { "1e999", false, 0 },  { " 1", false, 0 },      { "1 ", false, 0 },    { "+1", false, 0 },
    { "1e", false, 0 },     { "-", false, 0 },       { "1.2.3", false, 0 },
};

static void reads_finite_decimals_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(doubles); i++) {
        double value = 42;

        print_message("    \"%s\"\n", doubles[i].chars);
        assert_int_equal(text_to_double(doubles[i].chars, &value), doubles[i].is_valid);
        assert_true(value == (doubles[i].is_valid ? doubles[i].value : 42));
    }
}

static const struct {
    const char *wanted;
    const char *name; /* among status, serve, plan, pools, transfers */
} guesses[] = {
    { "status", "status" }, { "staus", "status" },
    { "sttaus", "status" }, { "poools", "pools" },
    { "pln", "plan" },      { "tranfsers", "transfers" },
    { "xyz", NULL },        { "reservation", NULL },
    { "p", NULL },          { "transfer", "transfers" },
};

static void guesses_the_name_that_was_meant(void **state)
{
    static const char *const names[] = { "status", "serve", "plan", "pools", "transfers" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(guesses); i++) {
        struct nearest nearest = nearest_to(guesses[i].wanted);

        print_message("    %s\n", guesses[i].wanted);
        for (size_t j = 0; j < COUNT_OF(names); j++)
            nearest_offer(&nearest, names[j]);
        assert_true(text_equal(nearest.name, guesses[i].name));
    }
}

static void a_name_too_long_is_not_guessed_at(void **state)
{
    static const char longest[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    struct nearest nearest = nearest_to(longest);

    (void)state;
    nearest_offer(&nearest, longest);
    assert_null(nearest.name);
}

static void what_is_not_utf8_becomes_a_question_mark(void **state)
{
    static const char *const cases[][2] = {
        { "plain", "plain" },
        { "Gr\xc3\xb6\xc3\x9f"
          "e \xe2\x82\xac \xf0\x9f\x98\x80",
          "Gr\xc3\xb6\xc3\x9f"
          "e \xe2\x82\xac \xf0\x9f\x98\x80" },
        { "\xff", "?" },
        { "a\xc3", "a?" },
        { "\xc3"
          "b",
          "?b" },
        { "\xe2\x82", "??" },
        { "\xc0\xaf", "??" },
        { "\xed\xa0\x80", "???" },
        { "\xf4\x90\x80\x80", "????" },
        { "\xe0\x9f\x80", "???" },
        { "", "" },
    };
    char out[4];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(chars) char *chars = mem_copy_chars(cases[i][0]);
        owned(json) json_t *valid = NULL;

        text_mend(chars);
        assert_string_equal(chars, cases[i][1]);
        valid = json_string(chars); /* jansson agrees */
        assert_non_null(valid);
    }
    assert_false(text_copy(out, sizeof out, "ab\xc3\xb6"));
    assert_string_equal(out, "ab");
}

/* Characters of one to four bytes, and what is none. */
static const struct {
    const char *chars;
    bool is_valid;
} letters[] = {
    { "n", true },
    { "\xc3\xb6", true },
    { "\xe2\x82\xac", true },
    { "\xf0\x9f\x98\x80", true },
    { "\xff", false },
    { "\xe2\x82", false },
    { "\x80", false },
    { "\xed\xa0\x80", false },
    { "\xf4\x90\x80\x80", false },
};

enum { SWEEP_LENGTH = 700 };

/* `offset` plain letters and then only the one. */
static char *text_of(const char *letter, size_t offset)
{
    struct text *text = text_new(SWEEP_LENGTH + 4);

    text_add(text, "%.*s", (int)offset, "xxxx");
    while (text->length < SWEEP_LENGTH)
        text_add(text, "%s", letter);
    return text_take(text);
}

static bool is_utf8(const char *chars)
{
    owned(json) json_t *json = json_string(chars);

    return json != NULL;
}

/* A beginning of the source that lacks less than a character of what had room. */
static void expect_cut(const char *cut, const char *source, size_t room)
{
    assert_true(is_utf8(cut));
    assert_true(text_starts_with(source, cut));
    assert_true(strlen(cut) <= room && strlen(cut) + 4 > room);
}

static int cut_everywhere(const char *source, size_t room)
{
    char out[SWEEP_LENGTH];
    owned(text) struct text *text = text_new(room);

    assert_false(text_copy(out, room + 1, source));
    expect_cut(out, source, room);
    assert_false(text_print(out, room + 1, "%s", source));
    expect_cut(out, source, room);
    text_add(text, "%s", source);
    assert_true(text->is_cut);
    expect_cut(text->chars, source, room);
    assert_int_equal(text_cut(source, room), strlen(text->chars));
    return 4;
}

static int cut_in_formats(const char *source)
{
    owned(chars) char *forty = text_format("%.40s", source);
    owned(chars) char *sixty = text_format("%-.60s", source);
    owned(chars) char *hundred = text_format("%.120s", source);
    owned(chars) char *two_hundred = text_format("%210.200s", source);
    owned(chars) char *slice = text_format("%.*s", 41, source);

    expect_cut(forty, source, 40);
    expect_cut(sixty, source, 60);
    expect_cut(hundred, source, 120);
    expect_cut(two_hundred + strspn(two_hundred, " "), source, 200);
    assert_int_equal(strlen(two_hundred), 210);
    assert_int_equal(strlen(slice), 41); /* bytes, as C has it */
    return 5;
}

/* Errors and JSON take whatever they are given. */
static int tell(const char *source, size_t length)
{
    owned(chars) char *part = text_format("%.*s", (int)length, source);
    owned(json) json_t *value = json_make("{ss s[s]}", part, part, "list", part);
    struct error err = { 0 };

    assert_int_equal(json_object_size(value), 2);
    error_set(&err, ERROR_INVALID, "%s of %.30s", part, part);
    error_context(&err, "%.70s", part);
    assert_true(is_utf8(err.text));
    return 2;
}

static void text_is_cut_at_characters(void **state)
{
    int cases = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(letters); i++)
        for (size_t offset = 0; offset < 4; offset++) {
            owned(chars) char *source = text_of(letters[i].chars, offset);

            for (size_t length = 1; length < SWEEP_LENGTH - 10; length++) {
                cases += tell(source, length);
                if (letters[i].is_valid)
                    cases += cut_everywhere(source, length);
            }
            if (letters[i].is_valid)
                cases += cut_in_formats(source);
        }
    print_message("sweep text: %d cases\n", cases);
    assert_true(cases > 50000);
}

/* What the C library's own would write. */
static void prints_as_the_c_library_does(void **state)
{
    char ours[400];
    char theirs[400];

    (void)state;
#define SAME(...)                                                                                  \
    text_print(ours, sizeof ours, __VA_ARGS__);                                                    \
    snprintf(theirs, sizeof theirs, __VA_ARGS__);                                                  \
    assert_string_equal(ours, theirs)
    SAME("plain %% text");
    SAME("[%5d] [%-5d] [%05d] [%+d] [% d] [%.3d]", 42, 42, 42, 42, 42, 7);
    SAME("[%*d] [%-*d] [%.*d]", 6, 1, 6, 1, 4, 1);
    SAME("[%u] [%x] [%X] [%#x] [%o] [%08x]", 7u, 255u, 255u, 255u, 8u, 0xbeefu);
    SAME("[%ld] [%lu] [%lld] [%llu]", -1L, ULONG_MAX, LLONG_MIN, ULLONG_MAX);
    SAME("[%zu] [%zd] [%td] [%jd]", SIZE_MAX, (ssize_t)-1, (ptrdiff_t)-5, INTMAX_MIN);
    SAME("[%hhd] [%hu] [%c] [%5c]", 'a', 7, 'x', 'y');
    SAME("[%f] [%.2f] [%8.3f] [%-8.1f] [%g] [%.17g] [%e] [%+.0f]", 0.5, 2.345, 3.14159, 2.5, 1e20,
         0.1, 12345.678, 2.5);
    SAME("[%s] [%10s] [%-10s] [%.3s] [%*s] [%-*s] [%.*s]", "abc", "abc", "abc", "abcdef", 8, "abc",
         -8, "abc", 2, "abc");
    SAME("%.2f%%, %s", 99.5, "");
#undef SAME
}

static void control_characters_command_nothing(void **state)
{
    static const struct {
        const char *chars;
        bool keeps_lines;
        const char *tame;
    } rows[] = {
        { "plain \xC3\xA9\xC2\xA0 text", false, "plain \xC3\xA9\xC2\xA0 text" },
        { "\033[2Jgone\a\x7F", true, "?[2Jgone??" },
        { "a\nREADY b\r", false, "a?READY b?" },
        { "a\nREADY b\r", true, "a\nREADY b?" },
        { "\xC2\x9B"
          "31m red",
          true, "??31m red" },
        { "\xC2", true, "\xC2" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *chars = mem_copy_chars(rows[i].chars);

        text_tame(chars, rows[i].keeps_lines);
        assert_string_equal(chars, rows[i].tame);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_command_nothing),
        cmocka_unit_test(grows_and_cuts_at_the_limit),
        cmocka_unit_test(one_long_piece_is_whole_or_cut),
        cmocka_unit_test(holds_bytes_and_drops_from_the_front),
        cmocka_unit_test(take_hands_the_characters_on),
        cmocka_unit_test(copies_what_fits),
        cmocka_unit_test(what_is_not_utf8_becomes_a_question_mark),
        cmocka_unit_test(text_is_cut_at_characters),
        cmocka_unit_test(prints_as_the_c_library_does),
        cmocka_unit_test(compares_with_null),
        cmocka_unit_test(reads_whole_integers_only),
        cmocka_unit_test(reads_finite_decimals_only),
        cmocka_unit_test(guesses_the_name_that_was_meant),
        cmocka_unit_test(a_name_too_long_is_not_guessed_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
