/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Answers of Google Cloud, of any status: a kind and a sentence.  The first byte is the status.
 */
#include "providers/gcp/gcp_errors.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const int statuses[] = { 200, 400, 401, 403, 404, 409, 412, 429, 500, 503 };
    owned(chars) char *chars = fuzz_chars(bytes, size);
    struct error err = { 0 };
    owned(json) json_t *body = size > 1 ? json_parse_foreign(chars + 1, size - 1, "cloud", &err)
                                        : NULL;
    struct gcp_answer answer = {
        .status = statuses[size > 0 ? bytes[0] % COUNT_OF(statuses) : 0],
        .body = body,
        .text = size > 0 ? chars + 1 : "",
        .is_mutation = size > 0 && bytes[0] >= 128,
    };
    struct error trouble = { 0 };

    if (gcp_error_of_answer(&answer, &err) < 0) {
        fuzz_expect_error(&err);
        /* A server that failed does not say that nothing happened. */
        require(!answer.is_mutation || answer.status < 500 || err.kind != ERROR_TRANSIENT);
    }
    if (body)
        gcp_error_of_attempt(body, &trouble);
    return 0;
}
