/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One pass over a copy of the bytes.  Names and texts are written into one block: decoded they are
 * never longer than what they were read from.
 */
#include "base/input/xml.h"

#include "base/memory.h"
#include "base/text.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

struct xml_document {
    char *chars; /* of all names and texts */
    size_t size; /* of `chars` */
    struct xml_element *elements;
};

/* An element that is not closed yet. */
struct level {
    struct xml_element *element;
    struct xml_element *last; /* child */
    const char *raw;          /* its name as written, with its prefix */
    size_t raw_length;
};

struct reader {
    const char *start;
    const char *at;
    const char *end;
    const char *source;
    struct xml_document *document;
    size_t count; /* of elements */
    char *out;    /* the next free character of document->chars */
    char *text;   /* of the innermost element, not terminated; NULL: it has children */
    struct level levels[XML_DEPTH_MAX];
    size_t depth;
    struct error *err;
};

static bool refuse(const struct reader *reader, const char *what)
{
    size_t line = 1;

    for (const char *at = reader->start; at < reader->at && at < reader->end; at++)
        line += *at == '\n';
    error_set(reader->err, ERROR_CORRUPT, "%s:%zu: %s", reader->source, line, what);
    return false;
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static bool is_blank(const char *from, const char *to)
{
    while (from < to && is_space(*from))
        from++;
    return from == to;
}

static bool is_name(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '-' || byte == '.' ||
           byte == ':' || (byte & 0x80);
}

static bool is_at(const struct reader *reader, const char *word)
{
    size_t length = strlen(word);

    return (size_t)(reader->end - reader->at) >= length && memcmp(reader->at, word, length) == 0;
}

/* Goes behind the next `word`. */
static bool skip_past(struct reader *reader, const char *word, const char *what)
{
    const char *found = memmem(reader->at, (size_t)(reader->end - reader->at), word, strlen(word));

    if (!found)
        return refuse(reader, what);
    reader->at = found + strlen(word);
    return true;
}

static void skip_spaces(struct reader *reader)
{
    while (reader->at < reader->end && is_space(*reader->at))
        reader->at++;
}

static size_t take_name(struct reader *reader)
{
    const char *from = reader->at;

    while (reader->at < reader->end && is_name(*reader->at))
        reader->at++;
    return (size_t)(reader->at - from);
}

static void put_code_point(struct reader *reader, unsigned long code)
{
    if (code < 0x80) {
        *reader->out++ = (char)code;
        return;
    }
    if (code < 0x800) {
        *reader->out++ = (char)(0xc0 | (code >> 6));
    } else if (code < 0x10000) {
        *reader->out++ = (char)(0xe0 | (code >> 12));
        *reader->out++ = (char)(0x80 | ((code >> 6) & 0x3f));
    } else {
        *reader->out++ = (char)(0xf0 | (code >> 18));
        *reader->out++ = (char)(0x80 | ((code >> 12) & 0x3f));
        *reader->out++ = (char)(0x80 | ((code >> 6) & 0x3f));
    }
    *reader->out++ = (char)(0x80 | (code & 0x3f));
}

/* "#10" or "#x1F600", without the & and the semicolon. */
static bool put_number(struct reader *reader, const char *chars, size_t length)
{
    unsigned base = length > 1 && chars[1] == 'x' ? 16 : 10;
    size_t first = base == 16 ? 2 : 1;
    unsigned long code = 0;

    if (first == length)
        return refuse(reader, "a reference to no character");
    for (size_t i = first; i < length; i++) {
        char digit = chars[i];
        unsigned value = digit >= '0' && digit <= '9'   ? (unsigned)(digit - '0')
                         : digit >= 'a' && digit <= 'f' ? (unsigned)(digit - 'a') + 10
                         : digit >= 'A' && digit <= 'F' ? (unsigned)(digit - 'A') + 10
                                                        : UINT_MAX;

        if (value >= base || code > 0x10ffff)
            return refuse(reader, "a reference that is no number of a character");
        code = code * base + value;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || code == 0xfffe || code == 0xffff ||
        (code < ' ' && !is_space((char)code)))
        return refuse(reader, "a reference to a character that XML does not have");
    put_code_point(reader, code);
    return true;
}

static bool put_reference(struct reader *reader)
{
    static const struct {
        const char *name;
        char byte;
    } entities[] = {
        { "amp", '&' }, { "lt", '<' }, { "gt", '>' }, { "quot", '"' }, { "apos", '\'' }
    };
    const char *name = reader->at + 1;
    size_t left = (size_t)(reader->end - name);
    const char *semicolon = memchr(name, ';', left < 16 ? left : 16);
    size_t length = semicolon ? (size_t)(semicolon - name) : 0;

    if (length == 0)
        return refuse(reader, "& without the name of an entity");
    if (name[0] == '#') {
        if (!put_number(reader, name, length))
            return false;
        reader->at = semicolon + 1;
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(entities); i++) {
        if (strlen(entities[i].name) != length || memcmp(entities[i].name, name, length) != 0)
            continue;
        *reader->out++ = entities[i].byte;
        reader->at = semicolon + 1;
        return true;
    }
    return refuse(reader, "an entity that XML does not define");
}

/* Characters up to the next '<'. */
static bool read_text(struct reader *reader)
{
    char *from = reader->out;

    while (reader->at < reader->end && *reader->at != '<') {
        char byte = *reader->at;

        if (byte == '&') {
            if (!put_reference(reader))
                return false;
            continue;
        }
        if ((byte >= 0 && byte < ' ' && !is_space(byte)) || byte == 0x7f)
            return refuse(reader, "a control character");
        *reader->out++ = byte;
        reader->at++;
    }
    if (reader->text)
        return true;
    if (!is_blank(from, reader->out))
        return refuse(reader, reader->depth > 0 ? "text beside elements"
                                                : "text outside the document's element");
    reader->out = from;
    return true;
}

static void end_text(struct reader *reader)
{
    *reader->out++ = '\0';
    reader->text = NULL;
}

/* Skips the attributes after the name of a start tag. */
static bool skip_attributes(struct reader *reader, bool *ret_is_empty)
{
    for (;;) {
        const char *before = reader->at;

        skip_spaces(reader);
        if (is_at(reader, "/>") || is_at(reader, ">")) {
            *ret_is_empty = *reader->at == '/';
            reader->at += *ret_is_empty ? 2 : 1;
            return true;
        }
        if (reader->at == before || take_name(reader) == 0)
            return refuse(reader, "a start tag that is not closed");
        skip_spaces(reader);
        if (!is_at(reader, "="))
            return refuse(reader, "an attribute without a value");
        reader->at++;
        skip_spaces(reader);
        if (!is_at(reader, "\"") && !is_at(reader, "'"))
            return refuse(reader, "an attribute whose value has no quotes");

        const char quote[] = { *reader->at++, '\0' };
        const char *value = reader->at;

        if (!skip_past(reader, quote, "an attribute that does not end"))
            return false;
        if (memchr(value, '<', (size_t)(reader->at - value)))
            return refuse(reader, "< in an attribute");
    }
}

static void close_element(struct reader *reader)
{
    struct level *level = &reader->levels[--reader->depth];

    if (reader->text) {
        level->element->text = reader->text;
        end_text(reader);
    }
}

/* The text so far was only the space before this element. */
static bool enter_element(struct reader *reader, const char *raw, size_t raw_length)
{
    struct level *parent = reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;
    struct xml_element *element;
    const char *prefix_end = memchr(raw, ':', raw_length);
    const char *name = prefix_end ? prefix_end + 1 : raw;

    if (!parent && reader->count > 0)
        return refuse(reader, "a second element beside the document's");
    if (reader->depth == XML_DEPTH_MAX)
        return refuse(reader, "elements within elements, more than 64 deep");
    if (reader->text && !is_blank(reader->text, reader->out))
        return refuse(reader, "text beside elements");
    if (name == raw + raw_length)
        return refuse(reader, "an element without a name");
    if (reader->text)
        reader->out = reader->text;

    element = &reader->document->elements[reader->count++];
    *element = (struct xml_element){ .name = reader->out, .text = "" };
    memcpy(reader->out, name, (size_t)(raw + raw_length - name));
    reader->out += raw + raw_length - name;
    *reader->out++ = '\0';
    if (parent && parent->last)
        parent->last->next = element;
    else if (parent)
        parent->element->child = element;
    if (parent)
        parent->last = element;
    reader->levels[reader->depth++] =
        (struct level){ .element = element, .raw = raw, .raw_length = raw_length };
    reader->text = reader->out;
    return true;
}

static bool read_start_tag(struct reader *reader)
{
    const char *raw = ++reader->at;
    size_t raw_length = take_name(reader);
    bool is_empty = false;

    if (raw_length == 0 || !enter_element(reader, raw, raw_length))
        return raw_length == 0 ? refuse(reader, "< without a name") : false;
    if (!skip_attributes(reader, &is_empty))
        return false;
    if (is_empty)
        close_element(reader);
    return true;
}

static bool read_end_tag(struct reader *reader)
{
    const struct level *level;
    const char *raw = reader->at += 2;
    size_t raw_length = take_name(reader);

    skip_spaces(reader);
    if (!is_at(reader, ">"))
        return refuse(reader, "an end tag that is not closed");
    reader->at++;
    if (reader->depth == 0)
        return refuse(reader, "an end tag without its start");
    level = &reader->levels[reader->depth - 1];
    if (raw_length != level->raw_length || memcmp(raw, level->raw, raw_length) != 0)
        return refuse(reader, "an end tag of another element");
    close_element(reader);
    return true;
}

static bool read_item(struct reader *reader)
{
    if (is_at(reader, "<!--"))
        return skip_past(reader, "-->", "a comment that does not end");
    if (is_at(reader, "<!"))
        return refuse(reader, "a DOCTYPE or CDATA, which no answer needs");
    if (is_at(reader, "<?"))
        return skip_past(reader, "?>", "an instruction that does not end");
    if (is_at(reader, "</"))
        return read_end_tag(reader);
    if (is_at(reader, "<"))
        return read_start_tag(reader);
    return read_text(reader);
}

static bool read_document(struct reader *reader)
{
    if (is_at(reader, "\xef\xbb\xbf")) /* byte order mark */
        reader->at += 3;
    while (reader->at < reader->end)
        if (!read_item(reader))
            return false;
    if (reader->depth > 0)
        return refuse(reader, "it ends within an element");
    return reader->count > 0 || refuse(reader, "it has no element");
}

/* An upper bound of the number of elements. */
static size_t count_starts(const char *chars, size_t size)
{
    size_t count = 0;

    for (size_t i = 0; i + 1 < size; i++)
        count += chars[i] == '<' && chars[i + 1] != '/' && chars[i + 1] != '!';
    return count;
}

struct xml_document *xml_parse(const char *bytes, size_t size, const char *source,
                               struct error *err)
{
    owned(chars) char *copy = NULL;
    size_t starts = size <= XML_SIZE_MAX ? count_starts(bytes, size) : 0;

    if (size > XML_SIZE_MAX || starts > XML_ELEMENTS_MAX) {
        error_set(err, ERROR_CORRUPT, "%s: too large", source);
        return NULL;
    }
    copy = mem_new(size + 1);
    if (size > 0)
        memcpy(copy, bytes, size);
    text_mend(copy);
    if (strlen(copy) != size || (size > 0 && memcmp(copy, bytes, size) != 0)) {
        error_set(err, ERROR_CORRUPT, "%s: not UTF-8", source);
        return NULL;
    }

    struct xml_document *document = mem_new(sizeof *document);
    struct reader reader = { .start = copy,
                             .at = copy,
                             .end = copy + size,
                             .source = source,
                             .document = document,
                             .err = err };

    document->chars = reader.out = mem_new(size + 1);
    document->size = size;
    document->elements = mem_new_array(starts + 1, sizeof *document->elements);
    bool is_read = read_document(&reader);

    explicit_bzero(copy, size);
    require((size_t)(reader.out - document->chars) <= size);
    if (is_read)
        return document;
    xml_document_free(document);
    return NULL;
}

void xml_document_free(struct xml_document *document)
{
    if (!document)
        return;
    explicit_bzero(document->chars, document->size);
    mem_free(document->chars);
    mem_free(document->elements);
    mem_free(document);
}

const struct xml_element *xml_root(const struct xml_document *document)
{
    return document->elements;
}

static const struct xml_element *find(const struct xml_element *at, const char *name, size_t length)
{
    while (at && (strncmp(at->name, name, length) != 0 || at->name[length] != '\0'))
        at = at->next;
    return at;
}

const struct xml_element *xml_first(const struct xml_element *from, const char *path)
{
    while (from && *path) {
        size_t length = strcspn(path, "/");

        from = find(from->child, path, length);
        path += length + (path[length] == '/');
    }
    return from;
}

const struct xml_element *xml_next(const struct xml_element *element)
{
    return find(element->next, element->name, strlen(element->name));
}

const char *xml_text_or(const struct xml_element *from, const char *path, const char *otherwise)
{
    const struct xml_element *element = xml_first(from, path);

    return element ? element->text : otherwise;
}

int xml_need_text(const struct xml_element *from, const char *path, const char **ret,
                  struct error *err)
{
    const struct xml_element *element = xml_first(from, path);

    if (!element || element->child || element->text[0] == '\0')
        return error_set(err, ERROR_CORRUPT, "%s: is missing", path);
    *ret = element->text;
    return 0;
}

int xml_need_int(const struct xml_element *from, const char *path, int64_t *ret, struct error *err)
{
    const char *text = NULL;
    long long value = 0;

    if (xml_need_text(from, path, &text, err) < 0)
        return -1;
    if (!text_to_int(text, INT64_MIN, INT64_MAX, &value))
        return error_set(err, ERROR_CORRUPT, "%s: \"%.40s\" is no whole number", path, text);
    *ret = value;
    return 0;
}
