/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Objects are cut out where a row of them is: in the array "items" of a list's top level, or the
 * whole of a watch.  All other bytes make the head, which must be JSON by itself.  What is between
 * two objects is checked here, what is in one by the decoder.
 */
#include "clusters/kube_objects.h"

#include "base/json.h"
#include "base/text.h"

#include <string.h>

enum { OBJECT_LIMIT = 4 * 1024 * 1024, HEAD_LIMIT = 1024 * 1024 };
enum { RAW_LIMIT = 4 * OBJECT_LIMIT, DEPTH_LIMIT = 1000 };
enum { LIST_DEPTH = 2, WATCH_DEPTH = 0 };

struct kube_objects {
    kube_object_fn on_object;
    void *context;
    const char *source; /* of an object, for errors */
    struct text *head;
    struct text *object;
    size_t raw;    /* bytes since the pieces in which the object under way began */
    int row_depth; /* of the brackets around the objects */
    int depth;     /* of the brackets that are open */
    bool is_in_text;
    bool is_escaped;
    bool is_in_row;
    bool is_in_object;
    int bulk_depth;   /* of an array that is left out; 0: none */
    bool is_empty;    /* no object came yet */
    bool needs_comma; /* the last thing in the row was an object of a list */
    struct error err;
};

static struct kube_objects *objects_new(kube_object_fn on_object, void *context)
{
    struct kube_objects *objects = mem_new(sizeof *objects);

    objects->on_object = on_object;
    objects->context = context;
    objects->head = text_new(HEAD_LIMIT);
    objects->object = text_new(OBJECT_LIMIT);
    return objects;
}

struct kube_objects *kube_objects_of_list(kube_object_fn on_object, void *context)
{
    struct kube_objects *objects = objects_new(on_object, context);

    objects->source = "item";
    objects->row_depth = LIST_DEPTH;
    return objects;
}

struct kube_objects *kube_objects_of_watch(kube_object_fn on_object, void *context)
{
    struct kube_objects *objects = objects_new(on_object, context);

    objects->source = "event";
    objects->row_depth = WATCH_DEPTH;
    objects->is_in_row = true;
    return objects;
}

void kube_objects_free(struct kube_objects *objects)
{
    if (!objects)
        return;
    text_free(objects->head);
    text_free(objects->object);
    mem_free(objects);
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
static bool is_bulk(const struct text *object)
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
        if (ends_with_key(object, keys[i]))
            return true;
    return false;
}

static void end_object(struct kube_objects *objects)
{
    owned(json) json_t *object = json_parse_foreign(objects->object->chars, objects->object->length,
                                                    objects->source, &objects->err);

    objects->needs_comma = objects->row_depth == LIST_DEPTH;
    objects->is_empty = false;
    objects->is_in_object = false;
    objects->raw = 0;
    text_reset(objects->object);
    if (object)
        objects->on_object(objects->context, object);
}

/* A byte between two objects that begins none. */
static void read_between(struct kube_objects *objects, char byte)
{
    if (is_space(byte))
        return;
    if (byte == ',' && objects->needs_comma)
        objects->needs_comma = false;
    else
        error_set(&objects->err, ERROR_CORRUPT, "%s: there is a '%c' where an object should be",
                  objects->source, byte);
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

/* The bytes from the last cut up to here go where they belong. */
static void keep(struct kube_objects *objects, const char *from, const char *to)
{
    text_add_bytes(objects->is_in_object ? objects->object : objects->head, from,
                   (size_t)(to - from));
    if (objects->object->is_cut)
        error_set(&objects->err, ERROR_CORRUPT, "%s: longer than %d bytes", objects->source,
                  OBJECT_LIMIT);
    if (objects->head->is_cut)
        error_set(&objects->err, ERROR_CORRUPT, "the head of the list is longer than %d bytes",
                  HEAD_LIMIT);
}

static void deepen(struct kube_objects *objects)
{
    if (++objects->depth > DEPTH_LIMIT)
        error_set(&objects->err, ERROR_CORRUPT, "%s: more than %d brackets are open",
                  objects->source, DEPTH_LIMIT);
}

/* One byte of the row but outside of its objects.  Returns where the next span begins. */
static const char *read_in_row(struct kube_objects *objects, const char *at)
{
    if (*at == '{' && !objects->needs_comma) {
        objects->is_in_object = true;
        deepen(objects);
        return at;
    }
    if (*at == ']' && objects->depth > 0 && (objects->needs_comma || objects->is_empty)) {
        objects->is_in_row = false;
        objects->depth--;
        return at;
    }
    read_between(objects, *at);
    return at + 1;
}

/* An array begins. */
static const char *open_array(struct kube_objects *objects, const char *from, const char *at)
{
    deepen(objects);
    if (!objects->is_in_object && objects->depth == objects->row_depth) {
        keep(objects, from, at);
        objects->is_in_row = ends_with_key(objects->head, "\"items\"");
        objects->is_empty = objects->is_in_row;
        text_add_bytes(objects->head, at, 1);
        return at + 1;
    }
    if (objects->is_in_object && objects->bulk_depth == 0) {
        keep(objects, from, at);
        objects->bulk_depth = is_bulk(objects->object) ? objects->depth : 0;
        text_add_bytes(objects->object, at, 1);
        return at + 1;
    }
    return from;
}

/* An object or array ends. */
static const char *close_any(struct kube_objects *objects, const char *from, const char *at)
{
    if (--objects->depth < 0) {
        error_set(&objects->err, ERROR_CORRUPT, "a '%c' closes nothing", *at);
        return from;
    }
    if (objects->bulk_depth > objects->depth) {
        objects->bulk_depth = 0;
        return at;
    }
    if (!objects->is_in_object || objects->depth > objects->row_depth)
        return from;
    keep(objects, from, at + 1);
    if (objects->err.kind == ERROR_NONE)
        end_object(objects);
    return at + 1;
}

/* One byte of the head or of an object.  Returns where the present span begins. */
static const char *read_byte(struct kube_objects *objects, const char *from, const char *at)
{
    if (is_of_text(objects, *at))
        return from;
    switch (*at) {
    case '"':
        objects->is_in_text = true;
        return from;
    case '{':
        deepen(objects);
        return from;
    case '[':
        return open_array(objects, from, at);
    case '}':
    case ']':
        return close_any(objects, from, at);
    default:
        return from;
    }
}

void kube_objects_add(struct kube_objects *objects, const char *bytes, size_t size)
{
    const char *from = bytes;
    const char *end = bytes + size;

    for (const char *at = bytes; at < end && objects->err.kind == ERROR_NONE; at++) {
        /* Most bytes are inside of texts, and mean nothing there. */
        if (objects->is_in_text && !objects->is_escaped)
            while (*at != '"' && *at != '\\' && at + 1 < end)
                at++;
        if (objects->is_in_row && !objects->is_in_object)
            from = read_in_row(objects, at);
        else
            from = read_byte(objects, from, at);
    }
    if (objects->err.kind == ERROR_NONE && objects->bulk_depth == 0 &&
        (!objects->is_in_row || objects->is_in_object) && from < end)
        keep(objects, from, end);
    objects->raw += size;
    if (objects->err.kind == ERROR_NONE && objects->is_in_object && objects->raw > RAW_LIMIT)
        error_set(&objects->err, ERROR_CORRUPT, "%s: longer than %d bytes as it was sent",
                  objects->source, RAW_LIMIT);
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
