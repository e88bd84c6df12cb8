/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which refusals mean the clock, and by how much it is then set.
 */
#include "base/memory.h"
#include "providers/aws/aws_clock.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* 2026-11-16T00:00:00Z, a Monday. */
static const struct wall_time midnight = { 1794787200000 };

static void only_what_means_the_clock_sets_it(void **state)
{
    static const struct {
        const char *name;
        int status;
        const char *body;
        const char *header; /* x-amzn-query-error */
        const char *date;
        int64_t before_ms;
        bool is_set;
        int64_t ahead_ms;
    } rows[] = {
        { "skewed", 400, "{\"__type\":\"x#RequestTimeTooSkewed\"}", NULL, "01:00:00", 0, true,
          HOUR_MS },
        { "in the header", 403, "", "RequestExpired;Sender", "00:01:00", 0, true, MINUTE_MS },
        { "ours is ahead", 403, "RequestInTheFuture", NULL, "00:00:00", HOUR_MS, true, 0 },
        { "a wrong signature, and a clock that is right", 403, "SignatureDoesNotMatch", NULL,
          "00:01:00", 0, false, 0 },
        { "a signature that expired", 403, "SignatureDoesNotMatch", NULL, "00:06:00", 0, true,
          6 * MINUTE_MS },
        { "set already", 400, "RequestTimeTooSkewed", NULL, "01:00:00", HOUR_MS, false, HOUR_MS },
        { "another refusal", 400, "AccessDenied", NULL, "01:00:00", 0, false, 0 },
        { "a failure", 500, "RequestTimeTooSkewed", NULL, "01:00:00", 0, false, 0 },
        { "no date", 400, "RequestTimeTooSkewed", NULL, NULL, 0, false, 0 },
        { "all is well", 200, "RequestTimeTooSkewed", NULL, "01:00:00", 0, false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char date[64];
        struct http_header headers[2];
        struct http_answer answer = {
            rows[i].status, rows[i].body, strlen(rows[i].body), 0, headers, 0
        };
        struct aws_clock clock = { rows[i].before_ms };

        if (rows[i].date) {
            snprintf(date, sizeof date, "Mon, 16 Nov 2026 %s GMT", rows[i].date);
            headers[answer.header_count++] = (struct http_header){ "date", date };
        }
        if (rows[i].header)
            headers[answer.header_count++] = (struct http_header){ "x-amzn-query-error",
                                                                   rows[i].header };
        if (aws_clock_correct(&clock, midnight, &answer) != rows[i].is_set ||
            clock.ahead_ms != rows[i].ahead_ms)
            fail_msg("%s: %lld", rows[i].name, (long long)clock.ahead_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_means_the_clock_sets_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
