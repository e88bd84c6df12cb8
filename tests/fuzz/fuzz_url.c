/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * URLs: what is taken apart points into the input, and what is escaped comes back.
 */
#include "base/url.h"
#include "tests/fuzz/fuzz.h"

/* A segment that is escaped and split again is the same. */
static void round_trip(const char *chars)
{
    owned(chars) char *target = NULL;
    struct url_segments segments;

    if (chars[0] == '\0')
        return;
    target = url_format("/%s", chars);
    segments = url_split(target);
    require(segments.count == 1 && strcmp(segments.items[0], chars) == 0);
    url_segments_free(&segments);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    owned(chars) char *chars = fuzz_chars(bytes, size);
    char *value = url_query(chars, "requestId");
    struct url_segments segments = url_split(chars);
    struct error err = { 0 };
    struct url url;

    mem_free(value);
    url_segments_free(&segments);
    round_trip(chars);
    if (url_parse(chars, &url, &err) < 0) {
        fuzz_expect_error(&err);
        return 0;
    }
    require(strcmp(url.scheme, "http") == 0 || strcmp(url.scheme, "https") == 0);
    require(url.host[0] != '\0' && strlen(url.host) < sizeof url.host);
    require(url.port >= 0 && url.port <= 65535);
    require(url.target[0] == '/');
    return 0;
}
