/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Times and durations that people and servers write come back as they are printed.
 */
#include "base/timestamp.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    owned(chars) char *chars = fuzz_chars(bytes, size);
    struct error err = { 0 };
    struct wall_time wall;
    struct wall_time again;
    char text[WALL_TEXT_SIZE];
    char duration[DURATION_TEXT_SIZE];
    int64_t ms;

    if (wall_parse(chars, true, &wall, &err) == 0 && wall.ms > 0) {
        require(wall_parse(wall_format(wall, text), false, &again, &err) == 0);
        require(again.ms == wall.ms);
    }
    (void)wall_parse_http(chars, &wall);
    if (duration_parse(chars, &ms, &err) == 0)
        require(duration_format(ms, duration)[0] != '\0');
    else
        fuzz_expect_error(&err);
    return 0;
}
