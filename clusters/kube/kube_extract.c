/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is kept is kept byte for byte, so that the decoder judges it; a member that is left out is
 * removed with one of the commas around it.
 */
#include "clusters/kube/kube_extract.h"

#include "base/input/json.h"

#include <string.h>

enum { KEPT_LIMIT = 4 * 1024 * 1024, RAW_LIMIT = 4 * KEPT_LIMIT, DEPTH_LIMIT = 1000 };
enum { LEVELS = 12 }; /* deeper than that everything is wanted */

struct kube_extract {
    const char *source;
    struct text *kept;
    size_t raw; /* bytes of the object so far */
    int depth;  /* of the brackets that are open */
    /* The wanted members in each open bracket, and in the next value. */
    const struct kube_member *levels[LEVELS];
    const struct kube_member *of_value;
    int left_out_at; /* the depth of a member that is left out; 0: none */
    /* In `kept`: begin and end of the last JSON string, which may be a member's name; equal: there
       is no such string. */
    size_t text_from, text_to;
    bool is_in_text;
    bool is_escaped;
};

struct kube_extract *kube_extract_new(const char *source, const struct kube_member *members)
{
    struct kube_extract *extract = mem_new(sizeof *extract);

    extract->source = source;
    extract->kept = text_new(KEPT_LIMIT);
    extract->levels[0] = extract->of_value = members;
    return extract;
}

void kube_extract_free(struct kube_extract *extract)
{
    if (!extract)
        return;
    text_free(extract->kept);
    mem_free(extract);
}

static const struct kube_member *wanted_here(const struct kube_extract *extract)
{
    return extract->depth < LEVELS ? extract->levels[extract->depth] : NULL;
}

/* Keeps the bytes from the last cut up to here. */
static void keep(struct kube_extract *extract, const char *from, const char *to)
{
    if (extract->left_out_at == 0)
        text_add_bytes(extract->kept, from, (size_t)(to - from));
}

/* The wanted member of that name.  A name that is written with escapes could be any of them: it is
   kept, with its whole value. */
static const struct kube_member *find(const struct kube_member *members, const char *name,
                                      size_t length)
{
    static const struct kube_member any = { 0 };

    for (const struct kube_member *member = members; member->name; member++)
        if (strlen(member->name) == length && memcmp(member->name, name, length) == 0)
            return member;
    return memchr(name, '\\', length) ? &any : NULL;
}

/* A colon: the text before it is a member's name. */
static void name_ends(struct kube_extract *extract)
{
    struct text *kept = extract->kept;
    size_t from = extract->text_from, to = extract->text_to;
    const struct kube_member *member = NULL;

    if (to <= from + 1 || to > kept->length) /* no text is there: let the decoder say so */
        return;
    member = find(wanted_here(extract), kept->chars + from + 1, to - from - 2);
    extract->text_to = from;
    if (member) {
        extract->of_value = member->members;
    } else {
        extract->left_out_at = extract->depth;
        text_end_at(kept, from);
    }
}

static void bracket_opens(struct kube_extract *extract)
{
    extract->depth++;
    if (extract->depth < LEVELS)
        extract->levels[extract->depth] = extract->of_value;
}

/* The last member of an object was left out: the comma before it is removed, too. */
static void drop_comma(struct text *kept)
{
    size_t length = kept->length;

    while (length > 0 && json_is_space(kept->chars[length - 1]))
        length--;
    text_end_at(kept, length > 0 && kept->chars[length - 1] == ',' ? length - 1 : length);
}

/* One byte that is in no text.  Returns where the span begins that is to be kept next. */
static const char *read_byte(struct kube_extract *extract, const char *from, const char *at)
{
    bool is_kept = extract->left_out_at == 0;
    bool ends_left_out = extract->left_out_at == extract->depth;

    switch (*at) {
    case '"':
        extract->is_in_text = true;
        if (is_kept)
            extract->text_from = extract->kept->length + (size_t)(at - from);
        return from;
    case ':':
        if (!is_kept || !wanted_here(extract))
            return from;
        keep(extract, from, at);
        name_ends(extract);
        return at;
    case ',':
        if (!ends_left_out)
            return from;
        extract->left_out_at = 0;
        return at + 1;
    case '{':
    case '[':
        bracket_opens(extract);
        return from;
    case '}':
    case ']':
        if (ends_left_out)
            drop_comma(extract->kept);
        extract->left_out_at = ends_left_out ? 0 : extract->left_out_at;
        extract->depth--;
        extract->of_value = wanted_here(extract);
        return ends_left_out ? at : from;
    default:
        return from;
    }
}

/* Returns the last byte of the text, or of these bytes. */
static const char *read_text(struct kube_extract *extract, const char *from, const char *at,
                             const char *end)
{
    for (; at < end; at++) {
        if (extract->is_escaped) {
            extract->is_escaped = false;
        } else if (*at == '\\') {
            extract->is_escaped = true;
        } else if (*at == '"') {
            extract->is_in_text = false;
            if (extract->left_out_at == 0)
                extract->text_to = extract->kept->length + (size_t)(at + 1 - from);
            return at;
        }
    }
    return end - 1;
}

static int check(const struct kube_extract *extract, struct error *err)
{
    if (extract->kept->is_cut)
        return error_set(err, ERROR_CORRUPT, "%s: longer than %d bytes", extract->source,
                         KEPT_LIMIT);
    if (extract->raw > RAW_LIMIT)
        return error_set(err, ERROR_CORRUPT, "%s: longer than %d bytes as it was sent",
                         extract->source, RAW_LIMIT);
    if (extract->depth > DEPTH_LIMIT)
        return error_set(err, ERROR_CORRUPT, "%s: more than %d brackets are open", extract->source,
                         DEPTH_LIMIT);
    return 0;
}

const char *kube_extract_add(struct kube_extract *extract, const char *bytes, const char *end,
                             struct error *err)
{
    const char *from = bytes, *at = bytes;

    if (extract->depth == 0) {
        text_reset(extract->kept);
        extract->raw = 0;
        extract->text_from = extract->text_to = 0;
    }
    do {
        if (extract->is_in_text)
            at = read_text(extract, from, at, end);
        else
            from = read_byte(extract, from, at);
        at++;
    } while (at < end && extract->depth > 0);
    keep(extract, from, at);
    extract->raw += (size_t)(at - bytes);
    return check(extract, err) < 0 ? NULL : at;
}

const struct text *kube_extract_result(const struct kube_extract *extract)
{
    return extract->depth == 0 && extract->kept->length > 0 ? extract->kept : NULL;
}
