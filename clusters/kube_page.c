/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The items of the top level's "items" are cut out; all other bytes make the head, which must be
 * JSON by itself.  What is between two items is checked here, what is in one by the decoder.
 */
#include "clusters/kube_page.h"

#include "base/json.h"
#include "base/text.h"

#include <string.h>

enum { ITEM_LIMIT = 4 * 1024 * 1024, HEAD_LIMIT = 1024 * 1024 };

struct kube_page {
    kube_item_fn on_item;
    void *context;
    struct text *head;
    struct text *item;
    int depth; /* of the brackets that are open */
    bool is_in_text;
    bool is_escaped;
    bool is_in_array; /* "items" is open, at depth 2 */
    bool is_in_item;
    int bulk_depth;   /* of an array that is left out; 0: none */
    bool is_empty;    /* no item came yet */
    bool needs_comma; /* the last thing in the array was an item */
    struct error err;
};

struct kube_page *kube_page_new(kube_item_fn on_item, void *context)
{
    struct kube_page *page = mem_new(sizeof *page);

    page->on_item = on_item;
    page->context = context;
    page->head = text_new(HEAD_LIMIT);
    page->item = text_new(ITEM_LIMIT);
    return page;
}

void kube_page_free(struct kube_page *page)
{
    if (!page)
        return;
    text_free(page->head);
    text_free(page->item);
    mem_free(page);
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

/* Whether the text ends with this key and its colon. */
static bool ends_with_key(const struct text *text, const char *key)
{
    const char *chars = text->chars;
    size_t length = text->length;
    size_t size = strlen(key);

    while (length > 0 && is_space(chars[length - 1]))
        length--;
    if (length == 0 || chars[length - 1] != ':')
        return false;
    for (length--; length > 0 && is_space(chars[length - 1]);)
        length--;
    return length > size && chars[length - size - 1] != '\\' &&
           strncmp(chars + length - size, key, size) == 0;
}

/* Arrays that are most of an object and that nobody here reads: not worth a tree. */
static bool is_bulk(const struct text *item)
{
    static const char *const keys[] = {
        "\"managedFields\"",
        "\"images\"",
        "\"env\"",
        "\"volumeMounts\"",
        "\"containerStatuses\"",
        "\"initContainerStatuses\"",
        "\"tolerations\"",
        "\"podIPs\"",
        "\"hostIPs\"",
        "\"command\"",
        "\"args\"",
        "\"ports\"",
        "\"addresses\"",
        "\"volumesAttached\"",
    };

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (ends_with_key(item, keys[i]))
            return true;
    return false;
}

static void end_item(struct kube_page *page)
{
    owned(json) json_t *item = NULL;

    page->needs_comma = true;
    page->is_empty = false;
    page->is_in_item = false;
    if (page->item->is_cut) {
        error_set(&page->err, ERROR_CORRUPT, "an item is longer than %d bytes", ITEM_LIMIT);
        return;
    }
    item = json_parse_foreign(page->item->chars, page->item->length, "item", &page->err);
    text_reset(page->item);
    if (item)
        page->on_item(page->context, item);
}

/* A byte between two items that begins none. */
static void read_between(struct kube_page *page, char byte)
{
    if (is_space(byte))
        return;
    if (byte == ',' && page->needs_comma)
        page->needs_comma = false;
    else
        error_set(&page->err, ERROR_CORRUPT, "items: there is a '%c' where an object should be",
                  byte);
}

/* Whether the byte belongs to the text that began before it; ends that text. */
static bool is_of_text(struct kube_page *page, char byte)
{
    if (!page->is_in_text)
        return false;
    if (page->is_escaped)
        page->is_escaped = false;
    else if (byte == '\\')
        page->is_escaped = true;
    else if (byte == '"')
        page->is_in_text = false;
    return true;
}

/* The bytes from the last cut up to here go where they belong. */
static void keep(struct kube_page *page, const char *from, const char *to)
{
    text_add_bytes(page->is_in_item ? page->item : page->head, from, (size_t)(to - from));
}

/* One byte inside the array but outside of its items.  Returns where the next span begins. */
static const char *read_in_array(struct kube_page *page, const char *at)
{
    if (*at == '{' && !page->needs_comma) {
        page->is_in_item = true;
        page->depth++;
        return at;
    }
    if (*at == ']' && (page->needs_comma || page->is_empty)) {
        page->is_in_array = false;
        page->depth--;
        return at;
    }
    read_between(page, *at);
    return at + 1;
}

/* An array begins. */
static const char *open_array(struct kube_page *page, const char *from, const char *at)
{
    page->depth++;
    if (page->depth == 2) {
        keep(page, from, at);
        page->is_in_array = ends_with_key(page->head, "\"items\"");
        page->is_empty = page->is_in_array;
        text_add_bytes(page->head, at, 1);
        return at + 1;
    }
    if (page->is_in_item && page->bulk_depth == 0) {
        keep(page, from, at);
        page->bulk_depth = is_bulk(page->item) ? page->depth : 0;
        text_add_bytes(page->item, at, 1);
        return at + 1;
    }
    return from;
}

/* An object or array ends. */
static const char *close_any(struct kube_page *page, const char *from, const char *at)
{
    page->depth--;
    if (page->bulk_depth > page->depth) {
        page->bulk_depth = 0;
        return at;
    }
    if (!page->is_in_item || page->depth > 2)
        return from;
    keep(page, from, at + 1);
    end_item(page);
    return at + 1;
}

/* One byte of the head or of an item.  Returns where the present span begins. */
static const char *read_byte(struct kube_page *page, const char *from, const char *at)
{
    if (is_of_text(page, *at))
        return from;
    switch (*at) {
    case '"':
        page->is_in_text = true;
        return from;
    case '{':
        page->depth++;
        return from;
    case '[':
        return open_array(page, from, at);
    case '}':
    case ']':
        return close_any(page, from, at);
    default:
        return from;
    }
}

void kube_page_add(struct kube_page *page, const char *bytes, size_t size)
{
    const char *from = bytes;
    const char *end = bytes + size;

    for (const char *at = bytes; at < end && page->err.kind == ERROR_NONE; at++) {
        /* Most bytes are inside of texts, and mean nothing there. */
        if (page->is_in_text && !page->is_escaped)
            while (*at != '"' && *at != '\\' && at + 1 < end)
                at++;
        if (page->is_in_array && !page->is_in_item)
            from = read_in_array(page, at);
        else
            from = read_byte(page, from, at);
    }
    if (page->err.kind == ERROR_NONE && page->bulk_depth == 0 &&
        (!page->is_in_array || page->is_in_item) && from < end)
        keep(page, from, end);
}

json_t *kube_page_end(struct kube_page *page, struct error *err)
{
    if (page->err.kind == ERROR_NONE && page->head->is_cut)
        error_set(&page->err, ERROR_CORRUPT, "the head of the list is longer than %d bytes",
                  HEAD_LIMIT);
    if (page->err.kind != ERROR_NONE) {
        *err = page->err;
        return NULL;
    }
    return json_parse_foreign(page->head->chars, page->head->length, "answer", err);
}
