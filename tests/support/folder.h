/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A folder of a test's own, gone with everything in it when the test ends well.
 *
 *     owned(test_folder) char *folder = test_folder_new();
 */
#pragma once

#include "base/memory.h"

/* Below $TMPDIR or /tmp. */
char *test_folder_new(void) __attribute__((returns_nonnull, warn_unused_result));

/* Removes it; folder may be NULL. */
void test_folder_free(char *folder);

/* Writes a file below the folder and returns its path, which the caller frees. */
char *test_folder_write(const char *folder, const char *name, const char *chars)
    __attribute__((returns_nonnull, warn_unused_result));

static inline void owned_test_folder(char **folder)
{
    test_folder_free(*folder);
}
