/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Temporary folders.
 */
#include "tests/support/folder.h"

#include "base/file.h"
#include "base/text.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_FOLDERS = 8 };

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
