/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * YAML for files that people write: mappings, sequences and scalars, each with its line.  Read by
 * libyaml's events and bounded: 256 kB, depth 32, 10,000 nodes.  Anchors, aliases, tags, merge
 * keys, several documents and duplicate keys are refused with file and line.  A file of nothing but
 * comments is an empty mapping.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum yaml_kind { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING };

struct yaml_node {
    enum yaml_kind kind;
    int line;                   /* 1-based */
    const char *source;         /* the name given to yaml_parse() */
    bool is_quoted;             /* a quoted scalar is always text */
    const char *key;            /* of this entry in its mapping; NULL elsewhere */
    const char *text;           /* scalar */
    struct yaml_node *parent;   /* NULL at the root */
    struct yaml_node *children; /* entries or items, in the order of the file */
    size_t count;
};

struct yaml_document;

/* The JSON value as YAML in block style, one document, with a newline at the end.  A text that a
   reader could take for a number or a truth value is quoted. */
void yaml_print(const json_t *value, struct text *out);

struct yaml_document *yaml_parse(const char *bytes, size_t size, const char *source,
                                 struct error *err) __attribute__((warn_unused_result));
struct yaml_document *yaml_read(const char *path, struct error *err)
    __attribute__((warn_unused_result));

/* (yaml_free is a name that libyaml exports.) */
void yaml_document_free(struct yaml_document *document);

const struct yaml_node *yaml_root(const struct yaml_document *document);
const char *yaml_source(const struct yaml_document *document);

/* The entry of a mapping, or NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *mapping, const char *key);

/* "FILE:LINE: PATH: sentence", kind ERROR_INVALID, -1.  PATH is dotted: pools.prod-a.zone. */
int yaml_error(struct error *err, const struct yaml_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Typed scalars; an error names file, line, key, and the text found. */
int yaml_text(const struct yaml_node *node, const char **ret, struct error *err)
    __attribute__((warn_unused_result));
int yaml_int(const struct yaml_node *node, int64_t min, int64_t max, int64_t *ret,
             struct error *err) __attribute__((warn_unused_result));
int yaml_double(const struct yaml_node *node, double min, double max, double *ret,
                struct error *err) __attribute__((warn_unused_result));
int yaml_bool(const struct yaml_node *node, bool *ret, struct error *err)
    __attribute__((warn_unused_result)); /* true or false, nothing else */
int yaml_duration(const struct yaml_node *node, int64_t min_ms, int64_t max_ms, int64_t *ret_ms,
                  struct error *err) __attribute__((warn_unused_result));
int yaml_seconds(const struct yaml_node *node, double min_s, double max_s, double *ret_s,
                 struct error *err) __attribute__((warn_unused_result));

/* Fails unless the node is of that kind; NULL nodes are a bug. */
int yaml_expect(const struct yaml_node *node, enum yaml_kind kind, struct error *err)
    __attribute__((warn_unused_result));

static inline void owned_yaml_document(struct yaml_document **document)
{
    yaml_document_free(*document);
}
