/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checked reading of JSON.  A path names members with '/' between them
 * ("metadata/resourceVersion"); a key that itself holds a slash is read with jansson's own
 * functions.  Errors name the full path: `nodes/gpu-7: status/capacity: expected an object, found a
 * string`.
 *
 * The *_need_* functions fail when the member is absent or null; the *_find_* functions leave the
 * output untouched then.  A member of the wrong type is an error for both: nothing is ever guessed.
 * Every error here is ERROR_CORRUPT.
 */
#pragma once

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* One whole JSON text.  `source` names it in errors, which give line and column.  Trailing bytes,
   duplicate keys and embedded NUL are refused. */
json_t *json_parse(const char *bytes, size_t size, const char *source, struct error *err)
    __attribute__((warn_unused_result));

/* As json_parse(), but duplicate keys are let through (answers of servers we do not own), and what
   would take more than 256 MB of memory is ERROR_CORRUPT. */
json_t *json_parse_foreign(const char *bytes, size_t size, const char *source, struct error *err)
    __attribute__((warn_unused_result));

/* White space between values; RFC 8259, section 2. */
static inline bool json_is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

/* The value at a path, borrowed; NULL when absent or null.  root may be NULL. */
json_t *json_at(const json_t *root, const char *path);

int json_need_text(const json_t *root, const char *path, const char **ret, struct error *err)
    __attribute__((warn_unused_result));
int json_need_int(const json_t *root, const char *path, int64_t *ret, struct error *err)
    __attribute__((warn_unused_result));
int json_need_bool(const json_t *root, const char *path, bool *ret, struct error *err)
    __attribute__((warn_unused_result));
int json_need_object(const json_t *root, const char *path, json_t **ret, struct error *err)
    __attribute__((warn_unused_result));
int json_need_array(const json_t *root, const char *path, json_t **ret, struct error *err)
    __attribute__((warn_unused_result));

int json_find_text(const json_t *root, const char *path, const char **ret, struct error *err)
    __attribute__((warn_unused_result));
int json_find_int(const json_t *root, const char *path, int64_t *ret, struct error *err)
    __attribute__((warn_unused_result));
int json_find_bool(const json_t *root, const char *path, bool *ret, struct error *err)
    __attribute__((warn_unused_result));
int json_find_object(const json_t *root, const char *path, json_t **ret, struct error *err)
    __attribute__((warn_unused_result));
int json_find_array(const json_t *root, const char *path, json_t **ret, struct error *err)
    __attribute__((warn_unused_result));

/* For display and for optional members: the text at the path, or `otherwise`. */
const char *json_text_or(const json_t *root, const char *path, const char *otherwise);
int64_t json_int_or(const json_t *root, const char *path, int64_t otherwise);
bool json_bool_or(const json_t *root, const char *path, bool otherwise);

/* Compact, keys in the order of insertion; the caller frees it with mem_free(). */
char *json_print(const json_t *json) __attribute__((returns_nonnull, warn_unused_result));

/* For people and goldens: two spaces, a newline at the end. */
char *json_print_pretty(const json_t *json) __attribute__((returns_nonnull, warn_unused_result));

/* THE conversion from text to JSON, also for foreign bytes: a byte that is not valid UTF-8 becomes
   '?'. (jansson's own function returns NULL for such a text, and the member would be missing.) */
json_t *json_text(const char *chars) __attribute__((returns_nonnull, warn_unused_result));

/* Sets a member; takes the value, which must not be NULL.  The key is mended as json_text() does.
 */
void json_put(json_t *object, const char *key, json_t *value);

/* Builds a value from a format like json_pack()'s; supported are s s? s* i I b f o O n {} and [].
   Texts and keys are mended as json_text() does.  Aborts when the format does not fit, because
   formats are never input. */
json_t *json_make(const char *format, ...) __attribute__((returns_nonnull, warn_unused_result));
