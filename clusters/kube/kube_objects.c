/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Objects are cut out of a row of objects: the array "items" at a list's top level, or the whole
 * body of a watch.  All other bytes make the head, which must be JSON by itself.  This file checks
 * the bytes between two objects; the decoder checks the wanted members of an object.
 */
#include "clusters/kube/kube_objects.h"

#include "base/input/json.h"
#include "base/text.h"

#include <string.h>

enum { HEAD_LIMIT = 1024 * 1024 };

struct kube_objects {
    kube_object_fn on_head; /* NULL for a watch */
    kube_object_fn on_object;
    void *context;
    const char *source; /* of an object, for errors */
    struct text *head;
    struct kube_extract *object;
    bool is_list; /* else a watch, whose row has no brackets and no commas */
    int depth;    /* of the head's brackets that are open */
    bool is_in_text;
    bool is_escaped;
    bool is_in_row;
    bool is_in_object;
    bool is_empty;    /* no object came yet */
    bool needs_comma; /* the last thing in the row was an object of a list */
    struct error err;
};

static struct kube_objects *objects_new(const char *source, const struct kube_member *members,
                                        kube_object_fn on_object, void *context)
{
    struct kube_objects *objects = mem_new(sizeof *objects);

    objects->on_object = on_object;
    objects->context = context;
    objects->source = source;
    objects->head = text_new(HEAD_LIMIT);
    objects->object = kube_extract_new(source, members);
    return objects;
}

struct kube_objects *kube_objects_of_list(const struct kube_member *members, kube_object_fn on_head,
                                          kube_object_fn on_object, void *context)
{
    struct kube_objects *objects = objects_new("item", members, on_object, context);

    objects->is_list = true;
    objects->on_head = on_head;
    return objects;
}

struct kube_objects *kube_objects_of_watch(const struct kube_member *members,
                                           kube_object_fn on_object, void *context)
{
    struct kube_objects *objects = objects_new("event", members, on_object, context);

    objects->is_in_row = true;
    return objects;
}

void kube_objects_free(struct kube_objects *objects)
{
    if (!objects)
        return;
    text_free(objects->head);
    kube_extract_free(objects->object);
    mem_free(objects);
}

/* Whether the text ends with this key and its colon. */
static bool ends_with_key(const struct text *text, const char *key)
{
    const char *chars = text->chars;
    size_t length = text->length;
    size_t size = strlen(key);

    while (length > 0 && json_is_space(chars[length - 1]))
        length--;
    if (length == 0 || chars[length - 1] != ':')
        return false;
    for (length--; length > 0 && json_is_space(chars[length - 1]);)
        length--;
    return length > size && chars[length - size - 1] != '\\' &&
           strncmp(chars + length - size, key, size) == 0;
}

static void end_object(struct kube_objects *objects, const struct text *text)
{
    owned(json) json_t *object = json_parse_foreign(text->chars, text->length, objects->source,
                                                    &objects->err);

    objects->needs_comma = objects->is_list;
    objects->is_empty = false;
    objects->is_in_object = false;
    if (object)
        objects->on_object(objects->context, object);
}

/* Returns what comes after the object, or after these bytes. */
static const char *read_object(struct kube_objects *objects, const char *at, const char *end)
{
    const char *after = kube_extract_add(objects->object, at, end, &objects->err);
    const struct text *text = kube_extract_result(objects->object);

    objects->is_in_object = true;
    if (after && text)
        end_object(objects, text);
    return after ?: end;
}

/* One byte of the row that begins no object. */
static void read_between(struct kube_objects *objects, char byte)
{
    if (json_is_space(byte))
        return;
    if (byte == ',' && objects->needs_comma)
        objects->needs_comma = false;
    else
        error_set(&objects->err, ERROR_CORRUPT, "%s: there is a '%c' where an object should be",
                  objects->source, byte);
}

/* Returns what comes after the part of the row that was read. */
static const char *read_row(struct kube_objects *objects, const char *at, const char *end)
{
    if (objects->is_in_object || (*at == '{' && !objects->needs_comma))
        return read_object(objects, at, end);
    if (*at == ']' && objects->is_list && (objects->needs_comma || objects->is_empty)) {
        objects->is_in_row = false;
        return at;
    }
    read_between(objects, *at);
    return at + 1;
}

/* Whether the byte belongs to the text that began before it; ends that text. */
static bool is_of_text(struct kube_objects *objects, char byte)
{
    if (!objects->is_in_text)
        return false;
    if (objects->is_escaped)
        objects->is_escaped = false;
    else if (byte == '\\')
        objects->is_escaped = true;
    else if (byte == '"')
        objects->is_in_text = false;
    return true;
}

/* The array of the items has just begun. */
static void tell_head(const struct kube_objects *objects)
{
    struct error ignored = { 0 }; /* the end of the list says it again */
    owned(chars) char *chars = text_format("%s]}", objects->head->chars);
    owned(json) json_t *head = json_parse_foreign(chars, strlen(chars), "answer", &ignored);

    if (head)
        objects->on_head(objects->context, head);
}

static void read_head(struct kube_objects *objects, char byte)
{
    bool is_text = is_of_text(objects, byte);
    bool is_items = !is_text && byte == '[' && objects->depth == 1 &&
                    ends_with_key(objects->head, "\"items\"");

    text_add_bytes(objects->head, &byte, 1);
    if (objects->head->is_cut)
        error_set(&objects->err, ERROR_CORRUPT, "the head of the list is longer than %d bytes",
                  HEAD_LIMIT);
    if (is_items) {
        objects->is_in_row = objects->is_empty = true;
        tell_head(objects);
    }
    if (is_text)
        return;
    if (byte == '"')
        objects->is_in_text = true;
    else if (byte == '{' || byte == '[')
        objects->depth++;
    else if ((byte == '}' || byte == ']') && --objects->depth < 0)
        error_set(&objects->err, ERROR_CORRUPT, "a '%c' closes nothing", byte);
}

void kube_objects_add(struct kube_objects *objects, const char *bytes, size_t size)
{
    const char *end = bytes + size;

    for (const char *at = bytes; at < end && objects->err.kind == ERROR_NONE;) {
        if (objects->is_in_row)
            at = read_row(objects, at, end);
        else
            read_head(objects, *at++);
    }
}

void kube_objects_fail(struct kube_objects *objects, const struct error *err)
{
    if (objects->err.kind == ERROR_NONE)
        objects->err = *err;
}

int kube_objects_check(const struct kube_objects *objects, struct error *err)
{
    if (objects->err.kind == ERROR_NONE)
        return 0;
    *err = objects->err;
    return -1;
}

json_t *kube_objects_end(struct kube_objects *objects, struct error *err)
{
    if (kube_objects_check(objects, err) < 0)
        return NULL;
    return json_parse_foreign(objects->head->chars, objects->head->length, "answer", err);
}
