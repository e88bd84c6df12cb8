/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The error value: cutting, prefixes, errno, names.
 */
#include "base/error.h"
#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <string.h>

static void sets_kind_and_sentence_and_returns_minus_one(void **state)
{
    struct error err = { .retry_after_ms = 7 };

    (void)state;
    errno = EAGAIN;
    assert_int_equal(error_set(&err, ERROR_DENIED, "no %s for %d", "quota", 3), -1);
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_int_equal(err.retry_after_ms, 0);
    assert_string_equal(err.text, "no quota for 3");
    assert_int_equal(errno, EAGAIN);
}

static void takes_no_error_at_all(void **state)
{
    (void)state;
    assert_int_equal(error_set(NULL, ERROR_BUG, "x"), -1);
    assert_int_equal(error_errno(NULL, ERROR_BUG, "x"), -1);
    assert_int_equal(error_context(NULL, "x"), -1);
}

static void context_goes_in_front_and_keeps_the_kind(void **state)
{
    struct error err;

    (void)state;
    error_set(&err, ERROR_CONFLICT, "exists");
    err.retry_after_ms = 5;
    assert_int_equal(error_context(&err, "pool %s", "a"), -1);
    assert_string_equal(err.text, "pool a: exists");
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_int_equal(err.retry_after_ms, 5);
}

static void a_cause_and_the_leaf_outlive_contexts(void **state)
{
    static const struct error_cause full = { "a full house" };
    char longer[ERROR_TEXT_SIZE + 100];
    struct error err;

    (void)state;
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    error_set(&err, ERROR_CONFLICT, "exists");
    assert_ptr_equal(err.cause, NULL);
    assert_string_equal(error_leaf(&err), "exists");
    assert_int_equal(error_because(&err, &full), -1);
    error_context(&err, "pool %s", "a");
    error_context(&err, "cluster %s", "b");
    assert_ptr_equal(err.cause, &full);
    assert_string_equal(error_leaf(&err), "exists");
    error_context(&err, "%s", longer);
    error_context(&err, "%s", longer);
    assert_string_equal(error_leaf(&err), "");
    error_set(&err, ERROR_CONFLICT, "another");
    assert_ptr_equal(err.cause, NULL);
    assert_string_equal(error_leaf(&err), "another");
    assert_int_equal(error_because(NULL, &full), -1);
}

static void a_sentence_may_quote_the_former_one(void **state)
{
    struct error err;

    (void)state;
    error_set(&err, ERROR_INVALID, "inner");
    error_set(&err, ERROR_INVALID, "outer (%s)", err.text);
    assert_string_equal(err.text, "outer (inner)");
}

static void errno_is_told_in_words(void **state)
{
    struct error err;

    (void)state;
    errno = ENOENT;
    error_errno(&err, ERROR_NOT_FOUND, "open %s", "f");
    assert_string_equal(err.text, "open f: No such file or directory");
    assert_int_equal(errno, ENOENT);
}

static void a_text_that_is_cut_ends_in_plus(void **state)
{
    char exact[ERROR_TEXT_SIZE], longer[ERROR_TEXT_SIZE + 100];
    struct error err;

    (void)state;
    memset(exact, 'x', sizeof exact);
    exact[sizeof exact - 1] = '\0';
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    error_set(&err, ERROR_BUG, "%s", exact);
    assert_string_equal(err.text, exact);
    error_set(&err, ERROR_BUG, "%s", longer);
    assert_int_equal(strlen(err.text), ERROR_TEXT_SIZE - 1);
    assert_int_equal(err.text[ERROR_TEXT_SIZE - 2], '+');
    error_set(&err, ERROR_BUG, "%s", exact);
    error_context(&err, "a");
    assert_memory_equal(err.text, "a: xxx", 6);
    assert_int_equal(err.text[ERROR_TEXT_SIZE - 2], '+');
    error_context(&err, "%s", longer);
    assert_int_equal(err.text[ERROR_TEXT_SIZE - 2], '+');
    errno = ENOENT;
    error_errno(&err, ERROR_BUG, "%s", exact);
    assert_int_equal(err.text[ERROR_TEXT_SIZE - 2], '+');
}

static void every_kind_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < ERROR_KIND_COUNT; kind++)
        assert_int_equal(error_kind_of_name(error_kind_name((enum error_kind)kind)), kind);
    assert_string_equal(error_kind_name(ERROR_UNKNOWN_OUTCOME), "unknown_outcome");
    assert_string_equal(error_kind_name(ERROR_KIND_COUNT), "bug");
    assert_int_equal(error_kind_of_name("nonsense"), ERROR_BUG);
    assert_int_equal(error_kind_of_name(NULL), ERROR_BUG);
}

static void a_sentence_is_always_utf8(void **state)
{
    struct error err = { 0 };
    char chars[ERROR_TEXT_SIZE + 2] = "a";

    (void)state;
    for (size_t i = 1; i + 2 < sizeof chars; i += 2)
        memcpy(chars + i, "\xc3\xa9", 3);
    error_set(&err, ERROR_CORRUPT, "%s", chars);
    error_context(&err, "x");
    owned(json) json_t *cut = json_string(err.text);
    assert_non_null(cut);
    error_set(&err, ERROR_CORRUPT, "a '%c' from somebody", '\xff');
    assert_string_equal(err.text, "a '?' from somebody");
}

static void a_server_is_waited_for_five_minutes_at_most(void **state)
{
    static const struct {
        int64_t asked_ms, want_ms;
        const char *text;
    } cases[] = {
        { 0, 7, "busy" },
        { -1, 7, "busy" },
        { 1000, 1000, "busy" },
        { 300000, 300000, "busy" },
        { 300001, 300000, "the server asked to wait 5m, and sluice waits at most 5m: busy" },
        { 80000000, 300000, "the server asked to wait 22h13m, and sluice waits at most 5m: busy" },
        { INT64_MAX, 300000, NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };

        error_set(&err, ERROR_THROTTLED, "busy");
        err.retry_after_ms = 7;
        error_wait(&err, cases[i].asked_ms);
        assert_int_equal(err.retry_after_ms, cases[i].want_ms);
        assert_int_equal(err.kind, ERROR_THROTTLED);
        if (cases[i].text)
            assert_string_equal(err.text, cases[i].text);
    }
    error_wait(NULL, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_kind_and_sentence_and_returns_minus_one),
        cmocka_unit_test(takes_no_error_at_all),
        cmocka_unit_test(context_goes_in_front_and_keeps_the_kind),
        cmocka_unit_test(a_cause_and_the_leaf_outlive_contexts),
        cmocka_unit_test(a_sentence_may_quote_the_former_one),
        cmocka_unit_test(errno_is_told_in_words),
        cmocka_unit_test(a_text_that_is_cut_ends_in_plus),
        cmocka_unit_test(a_sentence_is_always_utf8),
        cmocka_unit_test(every_kind_has_a_name_of_its_own),
        cmocka_unit_test(a_server_is_waited_for_five_minutes_at_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
