/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What differs between two configurations: their files, setting by setting.  A file that the
 * configuration names (service times, lengths) is not compared.
 */
#include "base/input/json.h"
#include "broker/config/config_tables.h"

/* The settings of a file: key -> {text, line}, in its order. */
static json_t *settings_of(const struct config *config)
{
    json_t *settings = json_object();

    config_flatten(yaml_root(config->document), "", settings);
    return settings;
}

static void add(json_t *rows, const char *key, const json_t *before, const json_t *after)
{
    const json_t *there = after ?: before;

    json_array_append_new(
        rows,
        json_make("{ss ss so so sO}", "key", key, "change",
                  !before  ? "added"
                  : !after ? "removed"
                           : "changed",
                  "before", before ? json_incref(json_object_get(before, "text")) : json_null(),
                  "after", after ? json_incref(json_object_get(after, "text")) : json_null(),
                  "line", json_object_get(there, "line")));
}

json_t *config_changes(const struct config *before, const struct config *after)
{
    owned(json) json_t *old = settings_of(before);
    owned(json) json_t *next = settings_of(after);
    json_t *rows = json_array();
    const char *key;
    json_t *value;

    json_object_foreach(next, key, value) {
        const json_t *was = json_object_get(old, key);

        if (!was || !json_equal(json_object_get(was, "text"), json_object_get(value, "text")))
            add(rows, key, was, value);
    }
    json_object_foreach(old, key, value)
        if (!json_object_get(next, key))
            add(rows, key, value, NULL);
    return rows;
}
