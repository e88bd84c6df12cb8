/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What each fuzz target has: libFuzzer calls LLVMFuzzerTestOneInput() with any bytes.  A target
 * aborts when the code under test breaks a promise (require()), and the sanitizers do for the rest.
 * A finding goes to tests/fuzz/seeds/NAME, and becomes a case of the unit tests first.
 */
#pragma once

#include "base/error.h"
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerInitialize(int *count, char ***words);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Once, before the first input; a target needs nothing of its own. */
int LLVMFuzzerInitialize(int *count, char ***words)
{
    (void)count;
    (void)words;
    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return 0;
}

/* The input as a string that ends with NUL, to be freed with mem_free(). */
static inline char *fuzz_chars(const uint8_t *bytes, size_t size)
{
    char *chars = mem_new(size + 1);

    if (size > 0)
        memcpy(chars, bytes, size);
    return chars;
}

/* By jansson, which refuses what is none. */
static inline bool fuzz_is_utf8(const char *chars)
{
    owned(json) json_t *json = json_string(chars);

    return json != NULL;
}

/* An error must be a sentence in UTF-8, and of a kind. */
static inline void fuzz_expect_error(const struct error *err)
{
    require(err->kind != ERROR_NONE && err->text[0] != '\0');
    require(fuzz_is_utf8(err->text));
}
