/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See document.h.
 */
#include "tests/support/document.h"

#include "base/file.h"
#include "base/text.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

enum { DOCUMENT_LIMIT = 1 << 20 };

void document_check(const char *path, const char *name, const char *want)
{
    struct error err = { 0 };
    owned(text) struct text *document = file_read(path, DOCUMENT_LIMIT, &err);
    owned(chars) char *mark = text_format("<!-- generated: %s -->\n", name);
    owned(text) struct text *next = text_new(DOCUMENT_LIMIT);
    char *begin;
    char *end;

    if (!document)
        fail_msg("%s", err.text);
    begin = strstr(document->chars, mark);
    end = begin ? strstr(begin, "<!-- end -->") : NULL;
    if (!end)
        fail_msg("%s has no marks for %s", path, name);
    begin += strlen(mark);
    if ((size_t)(end - begin) == strlen(want) && memcmp(begin, want, strlen(want)) == 0)
        return;
    if (!getenv("SLUICE_ACCEPT_GOLDENS"))
        fail_msg("%s: the table %s is not what the code says; tools/accept_goldens writes it", path,
                 name);
    text_add_bytes(next, document->chars, (size_t)(begin - document->chars));
    text_add(next, "%s%s", want, end);
    if (file_write(path, next->chars, next->length, 0644, &err) < 0)
        fail_msg("%s", err.text);
}
