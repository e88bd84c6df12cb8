/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See own_nodes.h.
 */
#include "providers/ssh/own_nodes.h"

#include "base/input/yaml.h"
#include "base/memory.h"

#include <string.h>

#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

enum { NAME_MOST = 63, PREFIX_MOST = 253 };

static bool is_name(const char *text, size_t length, size_t most)
{
    return length > 0 && length <= most && strspn(text, ALNUM "-_.") >= length &&
           strchr(ALNUM, text[0]) && strchr(ALNUM, text[length - 1]);
}

/* PREFIX/NAME or NAME. */
static bool is_key(const char *text, size_t length)
{
    const char *slash = memchr(text, '/', length);
    size_t prefix = slash ? (size_t)(slash - text) : 0;

    if (!slash)
        return is_name(text, length, NAME_MOST);
    return is_name(text, prefix, PREFIX_MOST) && is_name(slash + 1, length - prefix - 1, NAME_MOST);
}

static bool is_value(const char *text, size_t length)
{
    return length == 0 || is_name(text, length, NAME_MOST);
}

static bool is_label(const char *text, size_t length)
{
    const char *equal = memchr(text, '=', length);

    return equal && is_key(text, (size_t)(equal - text)) &&
           is_value(equal + 1, length - (size_t)(equal - text) - 1);
}

int own_labels_check(const char *labels, struct error *err)
{
    for (const char *at = labels; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!is_label(at, strcspn(at, ",")))
            return error_set(err, ERROR_INVALID,
                             "expected `key=value,key=value` of labels as Kubernetes has them, "
                             "found \"%.*s\"",
                             (int)strcspn(at, ","), at);
    return 0;
}

static const char *part(const struct yaml_node *taint, const char *key)
{
    const struct yaml_node *node = yaml_get(taint, key);

    return node && node->kind == YAML_SCALAR ? node->text : "";
}

static bool is_taint(const struct yaml_node *taint)
{
    static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute" };
    bool has_effect = false, has_value;

    if (taint->kind != YAML_MAPPING)
        return false;
    has_value = yaml_get(taint, "value") != NULL;
    for (size_t i = 0; i < COUNT_OF(effects); i++)
        has_effect |= text_equal(effects[i], part(taint, "effect"));
    return has_effect && taint->count == (has_value ? 3 : 2) &&
           is_key(part(taint, "key"), strlen(part(taint, "key"))) &&
           (!has_value || yaml_get(taint, "value")->kind == YAML_SCALAR) &&
           is_value(part(taint, "value"), strlen(part(taint, "value")));
}

static struct yaml_document *read_taints(const char *taints)
{
    owned(chars) char *list = text_format("[%s]", taints ?: "");

    return yaml_parse(list, strlen(list), "taints", NULL);
}

int own_taints_check(const char *taints, struct error *err)
{
    owned(yaml_document) struct yaml_document *list = read_taints(taints);
    bool is_good = list && yaml_root(list)->kind == YAML_SEQUENCE;

    for (size_t i = 0; is_good && i < yaml_root(list)->count; i++)
        is_good = is_taint(&yaml_root(list)->children[i]);
    if (is_good)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "expected `{key: KEY, value: VALUE, effect: EFFECT}`, with commas between; "
                     "EFFECT is NoSchedule, PreferNoSchedule or NoExecute");
}

/* format: of the key, the value and the effect.  Texts are quoted: YAML has `true` and 1, too. */
static void print_each(const char *taints, const char *format, struct text *out)
{
    owned(yaml_document) struct yaml_document *list = read_taints(taints);

    require(list);
    for (size_t i = 0; i < yaml_root(list)->count; i++) {
        const struct yaml_node *taint = &yaml_root(list)->children[i];
        const char *const parts[] = { part(taint, "key"), part(taint, "value"),
                                      part(taint, "effect") };
        size_t next = 0;

        for (const char *at = format; *at != '\0'; at++)
            if (*at == '$')
                text_add(out, "%s", parts[next++]);
            else
                text_add_bytes(out, at, 1);
    }
}

void own_taints_print(const char *taints, struct text *out)
{
    print_each(taints, "{key: \"$\", value: \"$\", effect: \"$\"}, ", out);
}

/* `+`: those of the operator's own config.yaml stay. */
void own_k3s_config_print(const char *labels, const char *taints, struct text *out)
{
    if (labels)
        text_add(out, "node-label+:\n");
    for (const char *at = labels; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        text_add(out, "  - \"%.*s\"\n", (int)strcspn(at, ","), at);
    if (taints)
        text_add(out, "node-taint+:\n");
    print_each(taints, "  - \"$=$:$\"\n", out);
}
