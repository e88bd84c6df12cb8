/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From libyaml's events to a tree.  The events append to one flat list, in the order of the file,
 * each entry knowing the position of its parent; the limits are checked at each event, so that a
 * hostile file costs no more than what it takes to reach the limit.  At the end the list becomes
 * one block of nodes in which the children of a node stand side by side.
 */
#include "base/input/yaml.h"

#include "base/array.h"
#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdarg.h>
#include <string.h>
#include <yaml.h>

enum { SIZE_LIMIT = 256 * 1024, DEPTH_LIMIT = 32, NODE_LIMIT = 10000 };

struct yaml_document {
    char *source;
    ARRAY(char *) strings;   /* owns what key and text of the nodes point to */
    struct yaml_node *nodes; /* [0] is the root */
};

/* A node while the file is being read. */
struct draft {
    struct yaml_node node;
    size_t parent; /* position in the list */
    size_t first;  /* where the children will stand */
};

/* A mapping or sequence that has begun and not ended. */
struct open_node {
    size_t position;
    struct map *keys;        /* of a mapping: those seen */
    const char *pending_key; /* of a mapping: the key whose value comes next */
};

struct composer {
    struct yaml_document *document;
    ARRAY(struct draft) drafts;
    struct open_node open[DEPTH_LIMIT];
    size_t depth;
    bool has_document;
};

static void owned_composer(struct composer *composer)
{
    for (size_t i = 0; i < composer->depth; i++)
        map_free(composer->open[i].keys);
    array_clear(&composer->drafts);
}

static void owned_parser(yaml_parser_t *parser)
{
    yaml_parser_delete(parser);
}

static void owned_event(yaml_event_t *event)
{
    yaml_event_delete(event);
}

static int refuse(const struct composer *composer, const yaml_event_t *event, const char *sentence,
                  struct error *err)
{
    return error_set(err, ERROR_INVALID, "%s:%zu: %s", composer->document->source,
                     event->start_mark.line + 1, sentence);
}

static struct open_node *innermost(struct composer *composer)
{
    return composer->depth ? &composer->open[composer->depth - 1] : NULL;
}

static const char *keep_chars(struct composer *composer, const yaml_char_t *chars)
{
    char *copy = text_format("%s", (const char *)chars);

    *array_add(&composer->document->strings) = copy;
    return copy;
}

/* A scalar in the place of a key. */
static int take_key(struct composer *composer, const yaml_event_t *event, struct error *err)
{
    struct open_node *mapping = innermost(composer);
    const char *key = keep_chars(composer, event->data.scalar.value);
    bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

    if (is_plain && text_equal(key, "<<"))
        return refuse(composer, event, "merge keys (<<) are not allowed", err);
    if (*key == '\0')
        return refuse(composer, event, "a key must not be empty", err);
    if (map_get(mapping->keys, key))
        return error_set(err, ERROR_INVALID, "%s:%zu: the key \"%s\" stands twice in one mapping",
                         composer->document->source, event->start_mark.line + 1, key);
    map_set(mapping->keys, key, composer->document);
    mapping->pending_key = key;
    return 0;
}

static bool is_key_expected(struct composer *composer)
{
    const struct open_node *parent = innermost(composer);

    return parent && parent->keys && parent->pending_key == NULL;
}

/* Appends a node below the innermost open one. */
static int add_draft(struct composer *composer, const yaml_event_t *event, enum yaml_kind kind,
                     struct error *err)
{
    struct open_node *parent = innermost(composer);
    struct draft *draft;

    if (composer->drafts.count == NODE_LIMIT)
        return refuse(composer, event, "more than 10,000 values", err);
    draft = array_add(&composer->drafts);
    draft->node.kind = kind;
    draft->node.line = (int)event->start_mark.line + 1;
    draft->node.source = composer->document->source;
    if (parent == NULL)
        return 0;
    draft->parent = parent->position;
    draft->node.key = parent->pending_key;
    parent->pending_key = NULL;
    composer->drafts.items[parent->position].node.count++;
    return 0;
}

static int take_scalar(struct composer *composer, const yaml_event_t *event, struct error *err)
{
    struct yaml_node *node;

    if (event->data.scalar.tag)
        return refuse(composer, event, "tags (!name) are not allowed", err);
    if (event->data.scalar.anchor)
        return refuse(composer, event, "anchors (&name) are not allowed", err);
    if (strlen((const char *)event->data.scalar.value) != event->data.scalar.length)
        return refuse(composer, event, "a NUL character is not allowed", err);
    if (is_key_expected(composer))
        return take_key(composer, event, err);
    if (add_draft(composer, event, YAML_SCALAR, err) < 0)
        return -1;
    node = &composer->drafts.items[composer->drafts.count - 1].node;
    node->text = keep_chars(composer, event->data.scalar.value);
    node->is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return 0;
}

static int begin_collection(struct composer *composer, const yaml_event_t *event,
                            enum yaml_kind kind, struct error *err)
{
    bool is_mapping = kind == YAML_MAPPING;

    if (is_mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag)
        return refuse(composer, event, "tags (!name) are not allowed", err);
    if (is_mapping ? event->data.mapping_start.anchor : event->data.sequence_start.anchor)
        return refuse(composer, event, "anchors (&name) are not allowed", err);
    if (is_key_expected(composer))
        return refuse(composer, event, "a key must be a word, not a mapping or a list", err);
    if (composer->depth == DEPTH_LIMIT)
        return refuse(composer, event, "nested deeper than 32 levels", err);
    if (add_draft(composer, event, kind, err) < 0)
        return -1;
    composer->open[composer->depth++] = (struct open_node){
        .position = composer->drafts.count - 1,
        .keys = is_mapping ? map_new(NULL) : NULL,
    };
    return 0;
}

static int end_collection(struct composer *composer)
{
    map_free(composer->open[--composer->depth].keys);
    return 0;
}

static int begin_document(struct composer *composer, const yaml_event_t *event, struct error *err)
{
    if (composer->has_document)
        return refuse(composer, event, "a second document (---) is not allowed", err);
    if (event->data.document_start.version_directive ||
        event->data.document_start.tag_directives.start !=
            event->data.document_start.tag_directives.end)
        return refuse(composer, event, "directives (%YAML, %TAG) are not allowed", err);
    composer->has_document = true;
    return 0;
}

static int take_event(struct composer *composer, const yaml_event_t *event, struct error *err)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(composer, event, err);
    case YAML_MAPPING_START_EVENT:
        return begin_collection(composer, event, YAML_MAPPING, err);
    case YAML_SEQUENCE_START_EVENT:
        return begin_collection(composer, event, YAML_SEQUENCE, err);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        return end_collection(composer);
    case YAML_ALIAS_EVENT:
        return refuse(composer, event, "aliases (*name) are not allowed", err);
    case YAML_DOCUMENT_START_EVENT:
        return begin_document(composer, event, err);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return 0;
    }
    return 0;
}

/* libyaml gives the place of every mistake except a byte that is no UTF-8. */
static int fail_syntax(const struct composer *composer, const yaml_parser_t *parser,
                       const char *bytes, struct error *err)
{
    size_t line = parser->problem_mark.line + 1;

    if (parser->error == YAML_READER_ERROR) {
        line = 1;
        for (size_t i = 0; i < parser->problem_offset; i++)
            line += bytes[i] == '\n';
    }
    return error_set(err, ERROR_INVALID, "%s:%zu: %s%s%s", composer->document->source, line,
                     parser->problem ? parser->problem : "not YAML", parser->context ? " " : "",
                     parser->context ? parser->context : "");
}

static int compose(struct composer *composer, const char *bytes, size_t size, struct error *err)
{
    owned(parser) yaml_parser_t parser;
    bool is_done = false;

    require(yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, size);
    while (!is_done) {
        owned(event) yaml_event_t event = { 0 };

        if (!yaml_parser_parse(&parser, &event))
            return fail_syntax(composer, &parser, bytes, err);
        if (take_event(composer, &event, err) < 0)
            return -1;
        is_done = event.type == YAML_STREAM_END_EVENT;
    }
    return 0;
}

/* A file of comments has no node at all, and "---" alone an empty one. */
static void make_empty_mapping(struct composer *composer)
{
    struct draft *root;

    if (composer->drafts.count == 0) {
        root = array_add(&composer->drafts);
        root->node.line = 1;
        root->node.source = composer->document->source;
        root->node.kind = YAML_MAPPING;
        return;
    }
    root = &composer->drafts.items[0];
    if (root->node.kind == YAML_SCALAR && !root->node.is_quoted && *root->node.text == '\0') {
        root->node.kind = YAML_MAPPING;
        root->node.text = NULL;
    }
}

/* Lays the list out: each collection gets a range for its children, in the order in which the
   collections began.  A node then takes the next free place in its parent's range. */
static struct yaml_node *lay_out(struct composer *composer)
{
    struct draft *drafts = composer->drafts.items;
    size_t count = composer->drafts.count;
    struct yaml_node *nodes = mem_new_array(count, sizeof *nodes);
    size_t *place = mem_new_array(count, sizeof *place); /* draft to node */
    size_t *taken = mem_new_array(count, sizeof *taken); /* of each draft's stretch */
    size_t next = 1;

    for (size_t i = 0; i < count; i++) {
        drafts[i].first = next;
        next += drafts[i].node.count;
    }
    for (size_t i = 0; i < count; i++) {
        size_t parent = drafts[i].parent;

        place[i] = i ? drafts[parent].first + taken[parent]++ : 0;
        nodes[place[i]] = drafts[i].node;
        nodes[place[i]].parent = i ? &nodes[place[parent]] : NULL;
        nodes[place[i]].children = drafts[i].node.count ? &nodes[drafts[i].first] : NULL;
    }
    mem_free(place);
    mem_free(taken);
    return nodes;
}

struct yaml_document *yaml_parse(const char *bytes, size_t size, const char *source,
                                 struct error *err)
{
    owned(yaml_document) struct yaml_document *document = mem_new(sizeof *document);
    owned(composer) struct composer composer = { .document = document };

    if (size > SIZE_LIMIT) {
        error_set(err, ERROR_INVALID, "%s: larger than 256 kB", source);
        return NULL;
    }
    document->source = mem_copy_chars(source);
    if (compose(&composer, bytes, size, err) < 0)
        return NULL;
    make_empty_mapping(&composer);
    document->nodes = lay_out(&composer);
    return steal(&document);
}

struct yaml_document *yaml_read(const char *path, struct error *err)
{
    owned(text) struct text *content = file_read(path, SIZE_LIMIT, err);

    return content ? yaml_parse(content->chars, content->length, path, err) : NULL;
}

void yaml_document_free(struct yaml_document *document)
{
    if (document == NULL)
        return;
    for (size_t i = 0; i < document->strings.count; i++)
        mem_free(document->strings.items[i]);
    array_clear(&document->strings);
    mem_free(document->nodes);
    mem_free(document->source);
    mem_free(document);
}

const struct yaml_node *yaml_root(const struct yaml_document *document)
{
    return document->nodes;
}

const char *yaml_source(const struct yaml_document *document)
{
    return document->source;
}
