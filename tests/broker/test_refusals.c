/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the log has of refused requests, in virtual time: each person and reason once in ten
 * seconds, with the number of those in between.
 */
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "broker/access/refusals.h"
#include "tests/support/unit.h"

#include <string.h>

static struct text *lines;

static void keep_line(void *context, const char *line)
{
    (void)context;
    text_add(lines, "%s\n", strstr(line, "request_refused") ?: line);
}

static int set_up(void **state)
{
    (void)state;
    lines = text_new(TEXT_UNBOUNDED);
    log_set_sink(keep_line, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    log_set_sink(NULL, NULL);
    text_free(lines);
    return 0;
}

static void refuse(struct refusals *refusals, enum refusal_reason reason, const char *who)
{
    refusals_add(refusals, &(struct refusal){ reason, who, who, "/v1/apply", "no" });
}

static void expect_lines(const char *wanted)
{
    assert_string_equal(lines->chars, wanted);
    text_reset(lines);
}

static void a_flood_is_told_once_in_ten_seconds(void **state)
{
    owned(loop) struct loop *loop = loop_virtual_new((struct wall_time){ DAY_MS });
    struct refusals *refusals = refusals_new(loop);
    int64_t start_ms = loop_now(loop);

    (void)state;
    for (int i = 0; i < 1000; i++) {
        refuse(refusals, REFUSAL_RATE, "ada");
        if (i % 100 == 0)
            refuse(refusals, REFUSAL_PERMISSION, "ada");
    }
    refuse(refusals, REFUSAL_RATE, "ben");
    expect_lines("request_refused reason=rate by=ada path=/v1/apply why=no count=1\n"
                 "request_refused reason=permission by=ada path=/v1/apply why=no count=1\n"
                 "request_refused reason=rate by=ben path=/v1/apply why=no count=1\n");
    loop_run_until(loop, start_ms + 9 * SECOND_MS);
    expect_lines("");
    loop_run_until(loop, start_ms + 10 * SECOND_MS);
    expect_lines("request_refused reason=rate by=ada path=/v1/apply why=no count=999\n"
                 "request_refused reason=permission by=ada path=/v1/apply why=no count=9\n");
    assert_int_equal(refusals_kept(refusals), 2); /* ben is quiet */
    loop_run_until(loop, start_ms + MINUTE_MS);
    expect_lines("");
    assert_int_equal(refusals_kept(refusals), 0);
    refuse(refusals, REFUSAL_RATE, "ada");
    expect_lines("request_refused reason=rate by=ada path=/v1/apply why=no count=1\n");
    assert_int_equal(refusals_count(refusals, REFUSAL_RATE), 1002);
    assert_int_equal(refusals_count(refusals, REFUSAL_PERMISSION), 10);
    refusals_free(refusals);
}

static void many_persons_are_told_as_one(void **state)
{
    owned(loop) struct loop *loop = loop_virtual_new((struct wall_time){ DAY_MS });
    struct refusals *refusals = refusals_new(loop);

    (void)state;
    for (int i = 0; i < 10 * REFUSALS_KEPT_MOST; i++) {
        owned(chars) char *who = text_format("p%d", i);

        refuse(refusals, REFUSAL_IDENTITY, who);
    }
    assert_int_equal(refusals_kept(refusals), REFUSALS_KEPT_MOST + 1);
    text_reset(lines);
    loop_run_until(loop, loop_now(loop) + 10 * SECOND_MS);
    expect_lines("request_refused reason=identity by=p10239 path=/v1/apply why=no count=9215\n");
    refusals_free(refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_flood_is_told_once_in_ten_seconds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_persons_are_told_as_one, set_up, tear_down),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
