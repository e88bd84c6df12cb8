/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * URLs: escaping what goes in, taking apart what comes.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>

/* Appends `chars`, percent-escaped but for unreserved characters (RFC 3986, section 2.3). */
void url_add_escaped(struct text *out, const char *chars);

/* A new string with each %s of the format replaced by the next argument, escaped; %% is a percent
   sign.  Other conversions are not known.  The caller frees it with mem_free(). */
char *url_format(const char *format, ...)
    __attribute__((format(printf, 1, 2), returns_nonnull, warn_unused_result));

/* The scheme, host, port (0: none said) and target ("/path?query", "/" when absent) of an absolute
   http or https URL without user information; ERROR_INVALID otherwise. */
struct url {
    char scheme[8];
    char host[256];
    int port;
    const char *target; /* points into the given characters, or is "/" */
};
int url_parse(const char *chars, struct url *ret_url, struct error *err)
    __attribute__((warn_unused_result));

/* The decoded value of a query parameter of a target, or NULL; the caller frees it.  Here and in
   url_split() an escape that is malformed or means NUL stays as it is written. */
char *url_query(const char *target, const char *name) __attribute__((warn_unused_result));

/* The decoded path segments of a target ("/api/v1/nodes/a%2Fb?x" gives 4); empty ones are left
   out.  Free with url_segments_free(). */
struct url_segments {
    char **items;
    size_t count;
};
struct url_segments url_split(const char *target) __attribute__((warn_unused_result));
void url_segments_free(struct url_segments *segments);
