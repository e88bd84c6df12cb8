/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See protobuf.h.  The numbers are those of the generated.proto files of k8s.io/api and
 * k8s.io/apimachinery.
 */
#include "tools/simulator/apiserver/protobuf.h"

#include "base/input/json.h"
#include "base/text.h"

#include <string.h>

enum kind { TEXT, TEXTS, NUMBER, OBJECT, MAP };

struct member {
    unsigned number;
    const char *name;
    enum kind kind;
    const struct member *inner; /* of OBJECT */
};

static const struct member metadata[] = {
    { 1, "name", TEXT, NULL },
    { 2, "generateName", TEXT, NULL },
    { 3, "namespace", TEXT, NULL },
    { 5, "uid", TEXT, NULL },
    { 11, "labels", MAP, NULL },
    { 12, "annotations", MAP, NULL },
    { 0 },
};
static const struct member resource[] = {
    { 1, "namespace", TEXT, NULL }, { 2, "verb", TEXT, NULL },
    { 3, "group", TEXT, NULL },     { 4, "version", TEXT, NULL },
    { 5, "resource", TEXT, NULL },  { 6, "subresource", TEXT, NULL },
    { 7, "name", TEXT, NULL },      { 0 },
};
static const struct member path[] = { { 1, "path", TEXT, NULL }, { 2, "verb", TEXT, NULL }, { 0 } };
static const struct member review_spec[] = {
    { 1, "resourceAttributes", OBJECT, resource },
    { 2, "nonResourceAttributes", OBJECT, path },
    { 0 },
};
static const struct member preconditions[] = { { 1, "uid", TEXT, NULL }, { 0 } };
static const struct member delete_options[] = {
    { 1, "gracePeriodSeconds", NUMBER, NULL },
    { 2, "preconditions", OBJECT, preconditions },
    { 4, "propagationPolicy", TEXT, NULL },
    { 5, "dryRun", TEXTS, NULL },
    { 0 },
};
static const struct member named[] = { { 1, "metadata", OBJECT, metadata }, { 0 } };
static const struct member review[] = { { 1, "metadata", OBJECT, metadata },
                                        { 2, "spec", OBJECT, review_spec },
                                        { 0 } };
static const struct member eviction[] = { { 1, "metadata", OBJECT, metadata },
                                          { 2, "deleteOptions", OBJECT, delete_options },
                                          { 0 } };
static const struct member type_meta[] = { { 1, "apiVersion", TEXT, NULL },
                                           { 2, "kind", TEXT, NULL },
                                           { 0 } };

static const struct {
    const char *kind;
    const struct member *members;
} kinds[] = {
    { "Namespace", named },
    { "SelfSubjectReview", named },
    { "SelfSubjectAccessReview", review },
    { "Eviction", eviction },
    { "DeleteOptions", delete_options },
};

struct bytes {
    const unsigned char *at, *end;
};

static bool read_number(struct bytes *in, uint64_t *ret)
{
    *ret = 0;
    for (unsigned shift = 0; in->at < in->end && shift < 64; shift += 7) {
        unsigned char byte = *in->at++;

        *ret |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* The next field: a number, or bytes.  False at the end, and for what is damaged. */
static bool next_field(struct bytes *in, unsigned *ret_field, uint64_t *ret_value,
                       struct bytes *ret_bytes)
{
    uint64_t tag, length;

    *ret_bytes = (struct bytes){ 0 };
    *ret_value = 0;
    if (!read_number(in, &tag))
        return false;
    *ret_field = (unsigned)(tag >> 3);
    if ((tag & 7) == 0)
        return read_number(in, ret_value);
    if ((tag & 7) != 2 || !read_number(in, &length) || length > (uint64_t)(in->end - in->at))
        return false;
    *ret_bytes = (struct bytes){ in->at, in->at + length };
    in->at += length;
    return true;
}

static char *text_of(const struct bytes *bytes)
{
    return text_format("%.*s", (int)(bytes->end - bytes->at), (const char *)bytes->at);
}

static const struct member *member_of(const struct member *members, unsigned number)
{
    for (; members->number; members++)
        if (members->number == number)
            return members;
    return NULL;
}

/* An entry of a map: a key and a value. */
static void add_pair(json_t *map, struct bytes entry)
{
    owned(chars) char *key = NULL;
    owned(chars) char *value = NULL;
    struct bytes bytes;
    unsigned field;
    uint64_t number;

    while (next_field(&entry, &field, &number, &bytes)) {
        char **into = field == 1 ? &key : &value;

        mem_free(*into);
        *into = bytes.at ? text_of(&bytes) : NULL;
    }
    if (key)
        json_put(map, key, json_text(value ?: ""));
}

static json_t *holder_of(json_t *object, const char *name, json_t *fresh)
{
    if (!json_object_get(object, name))
        json_object_set(object, name, fresh);
    json_decref(fresh);
    return json_object_get(object, name);
}

/* Objects are nested three deep at most. */
static json_t *decode(struct bytes in, const struct member *members)
{
    json_t *object = json_object();
    struct bytes bytes;
    unsigned field;
    uint64_t number;

    while (next_field(&in, &field, &number, &bytes)) {
        const struct member *member = member_of(members, field);
        owned(chars) char *chars = bytes.at ? text_of(&bytes) : NULL;

        if (!member)
            continue;
        if (member->kind == NUMBER)
            json_put(object, member->name, json_integer((json_int_t)number));
        else if (member->kind == OBJECT)
            json_put(object, member->name, decode(bytes, member->inner));
        else if (member->kind == MAP)
            add_pair(holder_of(object, member->name, json_object()), bytes);
        else if (member->kind == TEXTS)
            json_array_append_new(holder_of(object, member->name, json_array()),
                                  json_text(chars ?: ""));
        else if (chars && chars[0])
            json_put(object, member->name, json_text(chars));
    }
    return object;
}

json_t *protobuf_decode(const char *bytes, size_t size, struct error *err)
{
    static const char magic[4] = { 'k', '8', 's', '\0' };
    struct bytes in, part, raw = { 0 };
    owned(json) json_t *type = NULL;
    json_t *object;
    unsigned field;
    uint64_t number;

    if (size < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0) {
        error_set(err, ERROR_INVALID, "the body is no object of Kubernetes in protobuf");
        return NULL;
    }
    in.at = (const unsigned char *)bytes + sizeof magic;
    in.end = (const unsigned char *)bytes + size;
    while (next_field(&in, &field, &number, &part)) {
        if (field == 1 && !type)
            type = decode(part, type_meta);
        else if (field == 2)
            raw = part;
    }
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (!text_equal(json_text_or(type, "kind", ""), kinds[i].kind))
            continue;
        object = decode(raw, kinds[i].members);
        json_object_update(object, type);
        return object;
    }
    error_set(err, ERROR_INVALID, "the simulator does not read a %s in protobuf",
              json_text_or(type, "kind", "body"));
    return NULL;
}
