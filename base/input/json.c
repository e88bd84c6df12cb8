/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checked reading of JSON on jansson.  All typed readers go through read_member(), which walks the
 * path and writes the one form of error.
 */
#include "base/input/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Memory of a parsed foreign document: "[]," has three bytes, and takes a hundred. */
enum { FOREIGN_MOST = 256 * 1024 * 1024 };

static json_t *parse(const char *bytes, size_t size, const char *source, size_t flags,
                     struct error *err)
{
    const char *nul = memchr(bytes, '\0', size);
    json_error_t problem;
    json_t *json;

    if (nul) { /* jansson takes it for the end and lets through whatever follows */
        error_set(err, ERROR_CORRUPT, "%s: a NUL byte after %td bytes", source, nul - bytes);
        return NULL;
    }
    json = json_loadb(bytes, size, flags | JSON_DECODE_ANY, &problem);
    if (json == NULL) {
        /* jansson quotes the text at the error, which could be a part of a credential. */
        const char *shown = strstr(problem.text, " near '");
        int length = (int)(shown ? (size_t)(shown - problem.text) : strlen(problem.text));

        error_set(err, ERROR_CORRUPT, "%s:%d:%d: %.*s", source, problem.line, problem.column,
                  length, problem.text);
    }
    return json;
}

json_t *json_parse(const char *bytes, size_t size, const char *source, struct error *err)
{
    return parse(bytes, size, source, JSON_REJECT_DUPLICATES, err);
}

json_t *json_parse_foreign(const char *bytes, size_t size, const char *source, struct error *err)
{
    json_t *json;

    mem_bound_json(FOREIGN_MOST);
    json = parse(bytes, size, source, 0, err);
    mem_bound_json(0);
    return json;
}

static const char *type_phrase(json_type type)
{
    switch (type) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a fractional number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
        return "null";
    }
    return "nothing";
}

/* The value at a path or NULL.  If the path ends at a value that is no object, *ret_blocked gets
   that value and the length of the path up to it. */
struct blocked {
    const json_t *value;
    size_t length;
};

static json_t *walk(const json_t *root, const char *path, struct blocked *ret_blocked)
{
    const json_t *at = root;
    const char *key = path;

    for (;;) {
        size_t length = strcspn(key, "/");
        json_t *value;

        if (at == NULL || json_is_null(at))
            return NULL;
        if (!json_is_object(at)) {
            *ret_blocked = (struct blocked){ at, key > path ? (size_t)(key - path) - 1 : 0 };
            return NULL;
        }
        value = json_object_getn(at, key, length);
        if (key[length] == '\0')
            return json_is_null(value) ? NULL : value;
        at = value;
        key += length + 1;
    }
}

json_t *json_at(const json_t *root, const char *path)
{
    struct blocked blocked;

    return walk(root, path, &blocked);
}

static int wrong_type(const char *path, size_t length, const char *wanted, const json_t *found,
                      struct error *err)
{
    return error_set(err, ERROR_CORRUPT, "%.*s%sexpected %s, found %s", (int)length, path,
                     length ? ": " : "", wanted, type_phrase(json_typeof(found)));
}

/* What a caller asks for. */
struct member {
    const char *path;
    json_type type;
    bool is_needed;
};

/* 1: found and of the type; 0: absent (only when it may be); -1: error. */
static int read_member(const json_t *root, struct member member, json_t **ret, struct error *err)
{
    const char *path = member.path;
    struct blocked blocked = { 0 };
    json_t *value = walk(root, path, &blocked);
    bool is_boolean = member.type == JSON_TRUE;

    if (blocked.value)
        return wrong_type(path, blocked.length, "an object", blocked.value, err);
    if (value == NULL && member.is_needed)
        return error_set(err, ERROR_CORRUPT, "%s: missing, expected %s", path,
                         type_phrase(member.type));
    if (value == NULL)
        return 0;
    if (is_boolean ? !json_is_boolean(value) : json_typeof(value) != member.type)
        return wrong_type(path, strlen(path), type_phrase(member.type), value, err);
    *ret = value;
    return 1;
}

static int read_text(const json_t *root, const char *path, bool is_needed, const char **ret,
                     struct error *err)
{
    json_t *value;
    int found = read_member(root, (struct member){ path, JSON_STRING, is_needed }, &value, err);

    if (found > 0)
        *ret = json_string_value(value);
    return found < 0 ? -1 : 0;
}

static int read_int(const json_t *root, const char *path, bool is_needed, int64_t *ret,
                    struct error *err)
{
    json_t *value;
    int found = read_member(root, (struct member){ path, JSON_INTEGER, is_needed }, &value, err);

    if (found > 0)
        *ret = json_integer_value(value);
    return found < 0 ? -1 : 0;
}

static int read_bool(const json_t *root, const char *path, bool is_needed, bool *ret,
                     struct error *err)
{
    json_t *value;
    int found = read_member(root, (struct member){ path, JSON_TRUE, is_needed }, &value, err);

    if (found > 0)
        *ret = json_is_true(value);
    return found < 0 ? -1 : 0;
}

static int read_container(const json_t *root, struct member member, json_t **ret, struct error *err)
{
    return read_member(root, member, ret, err) < 0 ? -1 : 0;
}

int json_need_text(const json_t *root, const char *path, const char **ret, struct error *err)
{
    return read_text(root, path, true, ret, err);
}

int json_need_int(const json_t *root, const char *path, int64_t *ret, struct error *err)
{
    return read_int(root, path, true, ret, err);
}

int json_need_bool(const json_t *root, const char *path, bool *ret, struct error *err)
{
    return read_bool(root, path, true, ret, err);
}

int json_need_object(const json_t *root, const char *path, json_t **ret, struct error *err)
{
    return read_container(root, (struct member){ path, JSON_OBJECT, true }, ret, err);
}

int json_need_array(const json_t *root, const char *path, json_t **ret, struct error *err)
{
    return read_container(root, (struct member){ path, JSON_ARRAY, true }, ret, err);
}

int json_find_text(const json_t *root, const char *path, const char **ret, struct error *err)
{
    return read_text(root, path, false, ret, err);
}

int json_find_int(const json_t *root, const char *path, int64_t *ret, struct error *err)
{
    return read_int(root, path, false, ret, err);
}

int json_find_bool(const json_t *root, const char *path, bool *ret, struct error *err)
{
    return read_bool(root, path, false, ret, err);
}

int json_find_object(const json_t *root, const char *path, json_t **ret, struct error *err)
{
    return read_container(root, (struct member){ path, JSON_OBJECT, false }, ret, err);
}

int json_find_array(const json_t *root, const char *path, json_t **ret, struct error *err)
{
    return read_container(root, (struct member){ path, JSON_ARRAY, false }, ret, err);
}

const char *json_text_or(const json_t *root, const char *path, const char *otherwise)
{
    const json_t *value = json_at(root, path);

    return json_is_string(value) ? json_string_value(value) : otherwise;
}

int64_t json_int_or(const json_t *root, const char *path, int64_t otherwise)
{
    const json_t *value = json_at(root, path);

    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

bool json_bool_or(const json_t *root, const char *path, bool otherwise)
{
    const json_t *value = json_at(root, path);

    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

char *json_print(const json_t *json)
{
    char *chars = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);

    require(chars);
    return chars;
}

char *json_print_pretty(const json_t *json)
{
    owned(chars) char *chars = json_dumps(json, JSON_INDENT(2) | JSON_ENCODE_ANY);

    require(chars);
    return text_format("%s\n", chars);
}

json_t *json_text(const char *chars)
{
    json_t *json = json_string(chars);

    if (json == NULL) {
        owned(chars) char *mended = mem_copy_chars(chars);

        text_mend(mended);
        json = json_string(mended);
    }
    require(json);
    return json;
}

void json_put(json_t *object, const char *key, json_t *value)
{
    require(value);
    if (json_object_set(object, key, value) < 0) {
        owned(chars) char *mended = mem_copy_chars(key);

        text_mend(mended);
        require(json_object_set(object, mended, value) == 0);
    }
    json_decref(value);
}

/* What json_make() is at. */
struct maker {
    const char *format;
    const char *at;
    va_list arguments;
};

static void make_failed(const struct maker *maker, const char *why)
{
    fprintf(stderr, "sluice: json_make(\"%s\"): %s\n", maker->format, why);
    require_failed("json_make()", __FILE__, __LINE__);
}

static char next_letter(struct maker *maker)
{
    maker->at += strspn(maker->at, " ,:");
    if (*maker->at == '\0')
        make_failed(maker, "it ends too soon");
    return *maker->at++;
}

static const char *next_chars(struct maker *maker)
{
    const char *chars = va_arg(maker->arguments, const char *);

    if (!chars)
        make_failed(maker, "a text is NULL");
    return chars;
}

/* The value behind the letter; NULL: one that may be left out is. */
static json_t *make_one(struct maker *maker, char letter);

static json_t *make_object(struct maker *maker)
{
    json_t *object = json_object();

    for (char letter = next_letter(maker); letter != '}'; letter = next_letter(maker)) {
        const char *key;
        json_t *value;

        if (letter != 's')
            make_failed(maker, "a key is no text");
        key = next_chars(maker);
        value = make_one(maker, next_letter(maker));
        if (value)
            json_put(object, key, value);
    }
    return object;
}

static json_t *make_array(struct maker *maker)
{
    json_t *array = json_array();

    for (char letter = next_letter(maker); letter != ']'; letter = next_letter(maker))
        json_array_append_new(array, make_one(maker, letter)); /* NULL: left out */
    return array;
}

static json_t *make_text(struct maker *maker)
{
    const char *chars;
    bool is_left_out;

    if (*maker->at != '*' && *maker->at != '?')
        return json_text(next_chars(maker));
    is_left_out = *maker->at++ == '*';
    chars = va_arg(maker->arguments, const char *);
    return chars ? json_text(chars) : is_left_out ? NULL : json_null();
}

static json_t *make_one(struct maker *maker, char letter)
{
    json_t *json = NULL;

    switch (letter) {
    case '{':
        return make_object(maker);
    case '[':
        return make_array(maker);
    case 's':
        return make_text(maker);
    case 'i':
        return json_integer(va_arg(maker->arguments, int));
    case 'I':
        return json_integer(va_arg(maker->arguments, json_int_t));
    case 'b':
        return json_boolean(va_arg(maker->arguments, int));
    case 'f':
        json = json_real(va_arg(maker->arguments, double));
        break;
    case 'o':
        json = va_arg(maker->arguments, json_t *);
        break;
    case 'O':
        json = json_incref(va_arg(maker->arguments, json_t *));
        break;
    case 'n':
        return json_null();
    default:
        make_failed(maker, "it has an unknown letter");
    }
    if (!json)
        make_failed(maker, "a value is NULL, or no number");
    return json;
}

json_t *json_make(const char *format, ...)
{
    struct maker maker = { .format = format, .at = format };
    json_t *json;

    va_start(maker.arguments, format);
    json = make_one(&maker, next_letter(&maker));
    va_end(maker.arguments);
    if (maker.at[strspn(maker.at, " ,:")] != '\0')
        make_failed(&maker, "there is more behind its end");
    return json;
}
