/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading a YAML tree: entries, typed scalars, and errors that name file, line and key.
 */
#include "base/input/yaml.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"

#include <inttypes.h>
#include <stdarg.h>

const struct yaml_node *yaml_get(const struct yaml_node *mapping, const char *key)
{
    for (size_t i = 0; i < mapping->count; i++)
        if (text_equal(mapping->children[i].key, key))
            return &mapping->children[i];
    return NULL;
}

/* "pools.prod-a.zones[2]"; nothing for the root.  The depth is bounded by the parser. */
static void add_path(struct text *out, const struct yaml_node *node)
{
    if (node->parent == NULL)
        return;
    add_path(out, node->parent);
    if (node->key)
        text_add(out, "%s%s", out->length ? "." : "", node->key);
    else
        text_add(out, "[%td]", node - node->parent->children);
}

int yaml_error(struct error *err, const struct yaml_node *node, const char *format, ...)
{
    owned(text) struct text *path = text_new(ERROR_TEXT_SIZE);
    char sentence[ERROR_TEXT_SIZE];
    va_list args;

    va_start(args, format);
    text_print_arguments(sentence, sizeof sentence, format, args);
    va_end(args);
    add_path(path, node);
    return error_set(err, ERROR_INVALID, "%s:%d: %s%s%s", node->source, node->line, path->chars,
                     path->length ? ": " : "", sentence);
}

static bool is_nothing(const struct yaml_node *node)
{
    return node->kind == YAML_SCALAR && !node->is_quoted &&
           (*node->text == '\0' || text_equal(node->text, "~") || text_equal(node->text, "null"));
}

/* "expected WANTED, found ..." */
static int fail_type(const struct yaml_node *node, const char *wanted, struct error *err)
{
    if (node->kind == YAML_MAPPING)
        return yaml_error(err, node, "expected %s, found a mapping", wanted);
    if (node->kind == YAML_SEQUENCE)
        return yaml_error(err, node, "expected %s, found a list", wanted);
    if (is_nothing(node))
        return yaml_error(err, node, "expected %s, found nothing", wanted);
    return yaml_error(err, node, "expected %s, found %s\"%s\"", wanted,
                      node->is_quoted ? "the text " : "", node->text);
}

int yaml_expect(const struct yaml_node *node, enum yaml_kind kind, struct error *err)
{
    static const char *const phrases[] = {
        [YAML_SCALAR] = "a single value",
        [YAML_SEQUENCE] = "a list",
        [YAML_MAPPING] = "a mapping",
    };

    require(node);
    if (node->kind == kind)
        return 0;
    return fail_type(node, phrases[kind], err);
}

int yaml_text(const struct yaml_node *node, const char **ret, struct error *err)
{
    if (node->kind != YAML_SCALAR || is_nothing(node))
        return fail_type(node, "a text", err);
    *ret = node->text;
    return 0;
}

/* Whether the node may be read as something other than text. */
static bool is_plain(const struct yaml_node *node)
{
    return node->kind == YAML_SCALAR && !node->is_quoted;
}

int yaml_int(const struct yaml_node *node, int64_t min, int64_t max, int64_t *ret,
             struct error *err)
{
    long long value;

    if (!is_plain(node) || !text_to_int(node->text, INT64_MIN, INT64_MAX, &value))
        return fail_type(node, "a whole number", err);
    if (value < min && max == INT64_MAX)
        return yaml_error(err, node, "must be at least %" PRId64 ", found %lld", min, value);
    if (value < min || value > max)
        return yaml_error(err, node, "must be from %" PRId64 " to %" PRId64 ", found %lld", min,
                          max, value);
    *ret = value;
    return 0;
}

int yaml_double(const struct yaml_node *node, double min, double max, double *ret,
                struct error *err)
{
    double value;

    if (!is_plain(node) || !text_to_double(node->text, &value))
        return fail_type(node, "a number", err);
    if (value < min || value > max)
        return yaml_error(err, node, "must be from %g to %g, found %s", min, max, node->text);
    *ret = value;
    return 0;
}

int yaml_bool(const struct yaml_node *node, bool *ret, struct error *err)
{
    bool is_true = is_plain(node) && text_equal(node->text, "true");

    if (!is_true && !(is_plain(node) && text_equal(node->text, "false")))
        return fail_type(node, "true or false", err);
    *ret = is_true;
    return 0;
}

int yaml_duration(const struct yaml_node *node, int64_t min_ms, int64_t max_ms, int64_t *ret_ms,
                  struct error *err)
{
    char min[DURATION_TEXT_SIZE], max[DURATION_TEXT_SIZE];
    int64_t value;

    if (node->kind != YAML_SCALAR || duration_parse(node->text, &value, NULL) < 0)
        return fail_type(node, "a duration like 90s, 5m or 1h30m", err);
    if (value < min_ms && max_ms == INT64_MAX)
        return yaml_error(err, node, "must be at least %s, found %s", duration_format(min_ms, min),
                          node->text);
    if (value < min_ms || value > max_ms)
        return yaml_error(err, node, "must be from %s to %s, found %s",
                          duration_format(min_ms, min), duration_format(max_ms, max), node->text);
    *ret_ms = value;
    return 0;
}

int yaml_seconds(const struct yaml_node *node, double min_s, double max_s, double *ret_s,
                 struct error *err)
{
    char min[DURATION_TEXT_SIZE], max[DURATION_TEXT_SIZE];
    double value;

    if (node->kind != YAML_SCALAR || seconds_parse(node->text, &value, NULL) < 0)
        return fail_type(node, "a duration like 250us, 0.5ms, 20ms or 1.5s", err);
    if (value < min_s || value > max_s)
        return yaml_error(err, node, "must be from %s to %s, found %s", seconds_format(min_s, min),
                          seconds_format(max_s, max), node->text);
    *ret_s = value;
    return 0;
}
