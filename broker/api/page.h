/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The files of the web page (broker/web), which the program carries.  They hold no data: the page
 * asks for that by the API, as the person who looks at it.
 */
#pragma once

#include "base/world/http_server.h"

#include <stdbool.h>
#include <stddef.h>

struct page_file {
    const char *name;
    const char *bytes;
    size_t size;
};

/* Made by cmake/web.cmake from broker/web; the last one has no name. */
extern const struct page_file page_files[];

/* Answers with the file of that name (NULL: index.html); false: there is none. */
bool page_answer(struct http_call *call, const char *name);
