/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See page.h.
 */
#include "broker/api/page.h"

#include "base/text.h"

#include <string.h>

static const struct {
    const char *ending, *type;
} types[] = {
    { ".html", "text/html; charset=utf-8" },
    { ".css", "text/css; charset=utf-8" },
    { ".js", "text/javascript; charset=utf-8" },
    { ".svg", "image/svg+xml" },
};

/* Nothing is loaded but files of this server, no text becomes code, and no page of another site may
   show this one in a frame. */
static const struct http_header headers[] = {
    { "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
      "require-trusted-types-for 'script'; trusted-types 'none'" },
    { "Cache-Control", "no-cache" },
    { "X-Content-Type-Options", "nosniff" },
    { "X-Frame-Options", "DENY" },
    { "Referrer-Policy", "no-referrer" },
    { "Cross-Origin-Opener-Policy", "same-origin" },
    { "Cross-Origin-Resource-Policy", "same-origin" },
};

static const char *type_of(const char *name)
{
    const char *ending = strrchr(name, '.');

    for (size_t i = 0; ending && i < COUNT_OF(types); i++)
        if (text_equal(ending, types[i].ending))
            return types[i].type;
    return "application/octet-stream";
}

bool page_answer(struct http_call *call, const char *name)
{
    for (const struct page_file *file = page_files; file->name; file++) {
        if (!text_equal(file->name, name ?: "index.html"))
            continue;
        http_call_answer(call, &(struct http_reply){ .status = 200,
                                                     .content_type = type_of(file->name),
                                                     .headers = headers,
                                                     .header_count = COUNT_OF(headers),
                                                     .body = file->bytes,
                                                     .body_size = file->size });
        return true;
    }
    return false;
}
