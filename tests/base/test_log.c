/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Log lines: forms, quoting, secrets, levels.
 */
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "tests/support/unit.h"

static char *last;

static void keep_line(void *context, const char *line)
{
    (void)context;
    mem_free(last);
    last = mem_copy_chars(line);
}

static int64_t fixed_clock(void *context)
{
    (void)context;
    return 1500;
}

static int set_up(void **state)
{
    (void)state;
    log_set_clock(fixed_clock, NULL);
    log_set_sink(keep_line, NULL);
    log_setup(LOG_INFO, LOG_FORM_TEXT);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    log_set_clock(NULL, NULL);
    log_set_sink(NULL, NULL);
    log_setup(LOG_INFO, LOG_FORM_TEXT);
    mem_free(steal(&last));
    return 0;
}

static void text_lines_quote_what_needs_it(void **state)
{
    (void)state;
    log_warn("drain_late", FIELD_TEXT("node", "gpu-7"), FIELD_INT("pods", -3),
             FIELD_TEXT("text", "two words"), FIELD_TEXT("empty", ""),
             FIELD_TEXT("odd", "a=\"b\"\n\x01"));
    assert_string_equal(last,
                        "1970-01-01T00:00:01.500Z level=warn event=drain_late node=gpu-7 "
                        "pods=-3 text=\"two words\" empty=\"\" odd=\"a=\\\"b\\\"\\n\\u0001\"");
}

static void json_lines_can_be_read_back(void **state)
{
    owned(json) json_t *line = NULL;

    (void)state;
    log_setup(LOG_INFO, LOG_FORM_JSON);
    log_info("step", FIELD_TEXT("text", "a \"b\"\n\\ \x7f \xc3\xa4"), FIELD_INT("n", 5),
             FIELD_TEXT("bytes", "\xff!"));
    line = json_loads(last, 0, NULL);
    assert_non_null(line);
    assert_string_equal(json_string_value(json_object_get(line, "event")), "step");
    assert_string_equal(json_string_value(json_object_get(line, "level")), "info");
    assert_string_equal(json_string_value(json_object_get(line, "text")),
                        "a \"b\"\n\\ \x7f \xc3\xa4");
    assert_string_equal(json_string_value(json_object_get(line, "bytes")), "?!");
    assert_int_equal(json_integer_value(json_object_get(line, "n")), 5);
}

static void secrets_are_never_printed(void **state)
{
    (void)state;
    log_error("call", FIELD_TEXT("token", "abc"), FIELD_TEXT("Authorization", "abc"),
              FIELD_TEXT("password", "abc"), FIELD_INT("secret", 5), FIELD_TEXT("key", "abc"));
    assert_string_equal(last, "1970-01-01T00:00:01.500Z level=error event=call token=*** "
                              "Authorization=*** password=*** secret=*** key=***");
}

static void lower_levels_are_left_out(void **state)
{
    enum log_level level = LOG_INFO;

    (void)state;
    log_debug("x", FIELD_INT("a", 1));
    assert_null(last);
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    log_error("x", FIELD_INT("a", 1));
    assert_null(last);
    assert_true(log_level_parse("debug", &level));
    assert_int_equal(level, LOG_DEBUG);
    assert_false(log_level_parse("loud", &level));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_lines_quote_what_needs_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(json_lines_can_be_read_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(secrets_are_never_printed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lower_levels_are_left_out, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
