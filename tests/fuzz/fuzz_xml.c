/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * XML of answers: what is read has names and texts in UTF-8, and is a tree within its bounds.
 */
#include "base/input/xml.h"
#include "tests/fuzz/fuzz.h"

static size_t visit(const struct xml_element *element, int depth)
{
    size_t count = 0;

    require(depth <= XML_DEPTH_MAX);
    for (; element; element = element->next) {
        require(element->name[0] != '\0' && fuzz_is_utf8(element->name));
        require(fuzz_is_utf8(element->text));
        require(!element->child || element->text[0] == '\0');
        count += 1 + visit(element->child, depth + 1);
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    owned(chars) char *chars = fuzz_chars(bytes, size);
    struct error err = { 0 };
    owned(xml_document) struct xml_document *document = xml_parse(chars, size, "fuzz", &err);

    if (!document)
        fuzz_expect_error(&err);
    else
        require(visit(xml_root(document), 1) <= size);
    return 0;
}
