/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A folder of a test's own, gone with everything in it when the test ends well, and its files.
 *
 *     owned(test_folder) char *folder = test_folder_new();
 */
#pragma once

#include "base/memory.h"
#include "base/text.h"

/* Below $TMPDIR or /tmp. */
char *test_folder_new(void) __attribute__((returns_nonnull, warn_unused_result));

/* Removes it; folder may be NULL. */
void test_folder_free(char *folder);

/* Writes a file below the folder and returns its path, which the caller frees. */
char *test_folder_write(const char *folder, const char *name, const char *chars)
    __attribute__((returns_nonnull, warn_unused_result));

/* The bytes of a file, 16 MiB at most; the caller frees them. */
struct text *test_file_read(const char *path) __attribute__((returns_nonnull, warn_unused_result));

/* Overwrites the file where it is, and does not wait for the disk as file_write() does. */
void test_file_write(const char *path, const char *bytes, size_t size);

static inline void owned_test_folder(char **folder)
{
    test_folder_free(*folder);
}
