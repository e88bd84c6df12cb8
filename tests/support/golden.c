/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Comparing with, and accepting, expected texts.
 */
#include "tests/support/golden.h"

#include "base/file.h"
#include "base/memory.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

enum { GOLDEN_LIMIT = 16 * 1024 * 1024 };

static void accept(const char *path, const char *text)
{
    owned(chars) char *folder = file_beside(path, "");
    struct error err;

    if (file_make_folder(folder, 0755, &err) < 0 ||
        file_write(path, text, strlen(text), 0644, &err) < 0)
        fail_msg("%s", err.text);
}

static void fail_difference(const char *path, const char *want, const char *got)
{
    int line = 1;

    for (;;) {
        size_t want_length = strcspn(want, "\n");
        size_t got_length = strcspn(got, "\n");

        if (want_length != got_length || memcmp(want, got, want_length + 1) != 0)
            fail_msg("%s:%d: expected\n    %.*s\nbut got\n    %.*s\n"
                     "(SLUICE_ACCEPT_GOLDENS=1 rewrites the file)",
                     path, line, (int)want_length, want, (int)got_length, got);
        want += want_length + 1;
        got += got_length + 1;
        line++;
    }
}

void golden_check(const char *path, const char *text)
{
    owned(chars) char *full = text_format("%s/tests/%s", SLUICE_SOURCE, path);
    owned(text) struct text *want = NULL;
    struct error err;

    if (getenv("SLUICE_ACCEPT_GOLDENS")) {
        accept(full, text);
        return;
    }
    want = file_read(full, GOLDEN_LIMIT, &err);
    if (want == NULL)
        fail_msg("%s (SLUICE_ACCEPT_GOLDENS=1 writes it)", err.text);
    else if (strcmp(want->chars, text) != 0)
        fail_difference(path, want->chars, text);
}
