/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * When Google ends a machine, as the list of its group says it.
 */
#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "providers/gcp/gcp_machine.h"
#include "tests/support/unit.h"

#include <string.h>

/* 2026-09-30T11:30:00Z */
#define END_MS INT64_C(1790767800000)
#define END "\"terminationTimestamp\":\"2026-09-30T04:30:00.000-07:00\""

static void the_list_tells_the_end_of_a_machine(void **state)
{
    static const struct {
        const char *scheduling;
        bool is_corrupt;
        int64_t ends_ms;
    } rows[] = {
        { "", false, 0 },
        { ",\"scheduling\":{}", false, 0 },
        { ",\"scheduling\":{" END "}", false, END_MS },
        /* a graceful shutdown begins before, and is no reason to count on the machine for longer */
        { ",\"scheduling\":{\"gracefulShutdownTimestamp\":\"2026-09-30T11:20:00Z\"," END "}", false,
          END_MS - 10 * MINUTE_MS },
        { ",\"scheduling\":{\"gracefulShutdownTimestamp\":\"2026-09-30T11:40:00Z\"," END "}", false,
          END_MS },
        { ",\"scheduling\":{\"terminationTimestamp\":\"soon\"}", true, 0 },
        { ",\"scheduling\":{\"terminationTimestamp\":\"2026-09-30T11:30:00\"}", true, 0 },
        { ",\"scheduling\":{\"terminationTimestamp\":1790767800}", true, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *chars = text_format(
            "{\"name\":\"g-1\",\"currentAction\":\"NONE\",\"instanceStatus\":\"RUNNING\"%s}",
            rows[i].scheduling);
        struct error err = { 0 };
        owned(json) json_t *item = json_parse_foreign(chars, strlen(chars), "test", &err);
        struct instance instance = { 0 };
        int result = gcp_read_member(item, &instance, &err);

        print_message("      %s\n", rows[i].scheduling);
        assert_int_equal(result, rows[i].is_corrupt ? -1 : 0);
        assert_int_equal(err.kind, rows[i].is_corrupt ? ERROR_CORRUPT : ERROR_NONE);
        if (!rows[i].is_corrupt)
            assert_int_equal(instance.ends.ms, rows[i].ends_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_tells_the_end_of_a_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
