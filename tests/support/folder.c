/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See folder.h.
 */
#include "tests/support/folder.h"

#include "base/file.h"
#include "tests/support/unit.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_FOLDERS = 8, FILE_LIMIT = 16 << 20 };

char *test_folder_new(void)
{
    const char *parent = getenv("TMPDIR");
    char *folder = text_format("%s/sluice-test-XXXXXX", parent && *parent ? parent : "/tmp");

    require(mkdtemp(folder));
    return folder;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

void test_folder_free(char *folder)
{
    if (folder == NULL)
        return;
    nftw(folder, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    mem_free(folder);
}

char *test_folder_write(const char *folder, const char *name, const char *chars)
{
    char *path = text_format("%s/%s", folder, name);

    require(file_write(path, chars, strlen(chars), 0644, NULL) == 0);
    return path;
}

struct text *test_file_read(const char *path)
{
    struct error err = { 0 };
    struct text *bytes = file_read(path, FILE_LIMIT, &err);

    if (!bytes)
        fail_msg("%s", err.text);
    return bytes;
}

void test_file_write(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}
