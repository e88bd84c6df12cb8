/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * XML as web services answer it: elements and text, five entities and numeric references.
 * Attributes, namespaces, comments and processing instructions are skipped.  Refused are a DOCTYPE
 * (so nothing is ever expanded), CDATA, text beside elements, bytes that are not UTF-8, and what is
 * larger than 32 MiB, 64 levels or a million elements.  No copy of a text outlives its document:
 * some are keys.
 *
 *     <R><Items><member><Id>1</Id></member></Items></R>
 *     for (item = xml_first(root, "Items/member"); item; item = xml_next(item))
 *         id = xml_text_or(item, "Id", "");
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { XML_SIZE_MAX = 32 * 1024 * 1024, XML_DEPTH_MAX = 64, XML_ELEMENTS_MAX = 1000000 };

/* Read only; all texts live as long as the document. */
struct xml_element {
    const char *name; /* without the prefix of a namespace */
    const char *text; /* of an element without children, as it is written; otherwise "" */
    const struct xml_element *child; /* the first; NULL: none */
    const struct xml_element *next;  /* of the same parent; NULL: this is the last */
};

struct xml_document;

/* One whole document.  `source` names it in errors, which give the line: ERROR_CORRUPT.  The caller
   frees it. */
struct xml_document *xml_parse(const char *bytes, size_t size, const char *source,
                               struct error *err) __attribute__((warn_unused_result));
void xml_document_free(struct xml_document *document); /* NULL is legal */

const struct xml_element *xml_root(const struct xml_document *document)
    __attribute__((returns_nonnull));

/* The first element at a path of names below `from` ("Result/Group"); NULL: there is none, or
   `from` is NULL. */
const struct xml_element *xml_first(const struct xml_element *from, const char *path);

/* The next element of the same parent with the same name; NULL: there is none. */
const struct xml_element *xml_next(const struct xml_element *element);

/* The text at a path; `otherwise` when the element is absent. */
const char *xml_text_or(const struct xml_element *from, const char *path, const char *otherwise);

/* The text at a path; ERROR_CORRUPT when the element is absent, empty, or has children. */
int xml_need_text(const struct xml_element *from, const char *path, const char **ret,
                  struct error *err) __attribute__((warn_unused_result));

/* The same as a whole decimal number. */
int xml_need_int(const struct xml_element *from, const char *path, int64_t *ret, struct error *err)
    __attribute__((warn_unused_result));

static inline void owned_xml_document(struct xml_document **document)
{
    xml_document_free(*document);
}
