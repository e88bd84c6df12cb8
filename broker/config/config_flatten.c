/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A file's settings, one text each, as people would write them on one line.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/config/config_tables.h"

static bool is_line(const struct yaml_node *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->children[i].kind != YAML_SCALAR)
            return false;
    return true;
}

/* "[a, b]", "{}", or the scalar. */
static char *text_of(const struct yaml_node *node)
{
    struct text *out = text_new(TEXT_UNBOUNDED);

    if (node->kind == YAML_SCALAR) {
        text_add(out, "%s", node->text);
        return text_take(out);
    }
    text_add(out, "%s", node->kind == YAML_SEQUENCE ? "[" : "{");
    for (size_t i = 0; i < node->count; i++)
        text_add(out, "%s%s", i > 0 ? ", " : "", node->children[i].text);
    text_add(out, "%s", node->kind == YAML_SEQUENCE ? "]" : "}");
    return text_take(out);
}

void config_flatten(const struct yaml_node *node, const char *key, json_t *settings)
{
    bool is_list = node->kind == YAML_SEQUENCE;

    if (node->kind == YAML_SCALAR || node->count == 0 || (is_list && is_line(node))) {
        owned(chars) char *text = text_of(node);

        json_object_set_new(settings, key, json_make("{ss si}", "text", text, "line", node->line));
        return;
    }
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_node *child = &node->children[i];
        owned(chars) char *name = is_list
                                      ? text_format("%s.%zu", key, i + 1)
                                      : text_format("%s%s%s", key, key[0] ? "." : "", child->key);

        config_flatten(child, name, settings);
    }
}
