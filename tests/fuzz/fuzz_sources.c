/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What Prometheus, CloudWatch and Cloud Monitoring answer: points are counts or unknown, and an
 * answer that is none is an error.  The first byte chooses source and status.
 */
#include "broker/sources/source_parts.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>

enum { STEPS = 60 };

static const struct source_kind *const kinds[] = { &source_prometheus, &source_cloudwatch,
                                                   &source_monitoring };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const int statuses[] = { 200, 200, 400, 503 };
    owned(chars) char *body = fuzz_chars(bytes, size);
    struct source_settings settings = { .name = "fuzz", .endpoint = "http://127.0.0.1:1" };
    struct source source = { .settings = &settings,
                             .kind = kinds[size > 0 ? bytes[0] % COUNT_OF(kinds) : 0] };
    double points[STEPS];
    struct source_line line = { .name = (char *)(uintptr_t) "arrivals", .points = points };
    struct source_part part = {
        .lines = &line,
        .line_count = 1,
        .span = { { 1700000040000 }, { 1700000040000 + STEPS * MINUTE_MS }, MINUTE_MS },
    };
    struct http_answer answer = {
        .status = statuses[size > 0 ? bytes[0] / 64 : 0],
        .body = size > 0 ? body + 1 : "",
        .body_size = size > 0 ? size - 1 : 0,
    };
    struct error err = { 0 };
    char *next = NULL;

    for (size_t i = 0; i < STEPS; i++)
        points[i] = NAN;
    if (source.kind->read(&source, &part, &answer, &next, &err) < 0) {
        fuzz_expect_error(&err);
        require(!next);
    }
    for (size_t i = 0; i < STEPS; i++)
        require(isnan(points[i]) || points[i] >= 0);
    mem_free(next);
    return 0;
}
