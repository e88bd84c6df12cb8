/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Files that may be gzip: what is unpacked stays below its limit, and packs again.
 */
#include "base/file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"

enum { LIMIT = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct error err = { 0 };
    owned(text) struct text *content = file_read_unpacked(fuzz_file(bytes, size), LIMIT, &err);
    owned(text) struct text *packed = NULL;
    owned(text) struct text *again = NULL;

    if (!content) {
        fuzz_expect_error(&err);
        return 0;
    }
    require(content->length <= LIMIT);
    packed = file_pack(content->chars, content->length);
    again = file_read_unpacked(fuzz_file((const uint8_t *)packed->chars, packed->length), LIMIT,
                               &err);
    require(again && again->length == content->length);
    require(memcmp(again->chars, content->chars, content->length) == 0);
    return 0;
}
