/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Some codes can only mean a wrong clock.  Others mean it when the clocks are far enough apart;
 * otherwise they mean a wrong key.
 */
#include "providers/aws/aws_clock.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *code;
    int64_t apart_ms; /* the code is believed when the clocks are this far apart */
} codes[] = {
    { "RequestTimeTooSkewed", 10 * SECOND_MS },
    { "RequestExpired", 10 * SECOND_MS },
    { "RequestInTheFuture", 10 * SECOND_MS },
    { "InvalidSignatureException", 4 * MINUTE_MS },
    { "SignatureDoesNotMatch", 4 * MINUTE_MS },
    { "AuthFailure", 4 * MINUTE_MS },
    { "IncompleteSignatureException", 4 * MINUTE_MS },
};

bool aws_clock_correct(struct aws_clock *clock, struct wall_time ours,
                       const struct http_answer *answer)
{
    static const char *const places[] = { "x-amzn-query-error", "x-amzn-errortype" };
    const char *date = http_header_find(answer->headers, answer->header_count, "Date");
    struct wall_time theirs;

    if (answer->status < 400 || answer->status >= 500 || !date || !wall_parse_http(date, &theirs))
        return false;

    int64_t ahead_ms = theirs.ms - ours.ms;
    int64_t apart_ms = llabs(ahead_ms - clock->ahead_ms);

    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        bool is_named = strstr(answer->body, codes[i].code);

        for (size_t at = 0; at < COUNT_OF(places); at++) {
            const char *said = http_header_find(answer->headers, answer->header_count, places[at]);

            is_named = is_named || (said && strstr(said, codes[i].code));
        }
        if (is_named && apart_ms >= codes[i].apart_ms) {
            clock->ahead_ms = ahead_ms;
            return true;
        }
    }
    return false;
}
