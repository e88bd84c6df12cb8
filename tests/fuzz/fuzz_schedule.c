/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A schedule file: what was read prints, reads again as the same, and prints the same.
 */
#include "tests/fuzz/fuzz.h"
#include "windows/allocation/schedule.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct error err = { 0 };
    owned(schedule) struct schedule *schedule = schedule_parse((const char *)bytes, size,
                                                               "fuzz.yaml", &err);
    owned(schedule) struct schedule *again = NULL;
    owned(text) struct text *first = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *second = text_new(TEXT_UNBOUNDED);

    if (!schedule) {
        fuzz_expect_error(&err);
        return 0;
    }
    schedule_print(schedule, NULL, first);
    again = schedule_parse(first->chars, first->length, "again.yaml", &err);
    require(again);
    schedule_print(again, NULL, second);
    require(first->length == second->length);
    require(memcmp(first->chars, second->chars, first->length) == 0);
    return 0;
}
