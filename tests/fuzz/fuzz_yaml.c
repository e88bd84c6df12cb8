/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * YAML: a tree within its bounds, or an error that names file and line.
 */
#include "base/input/yaml.h"
#include "tests/fuzz/fuzz.h"

enum { DEPTH_MAX = 64 };

/* The tree hangs together: each child knows its parent and line. */
static void walk(const struct yaml_node *node, int depth)
{
    require(depth < DEPTH_MAX && node->line >= 1);
    require(node->kind != YAML_SCALAR || (node->text && node->count == 0));
    for (size_t i = 0; i < node->count; i++) {
        require(node->children[i].parent == node);
        require((node->kind == YAML_MAPPING) == (node->children[i].key != NULL));
        walk(&node->children[i], depth + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct error err = { 0 };
    owned(yaml_document) struct yaml_document *document = yaml_parse((const char *)bytes, size,
                                                                     "fuzz.yaml", &err);

    if (!document) {
        fuzz_expect_error(&err);
        require(strstr(err.text, "fuzz.yaml") != NULL);
        return 0;
    }
    walk(yaml_root(document), 0);
    return 0;
}
