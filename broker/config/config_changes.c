/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What differs between two configurations: their files, setting by setting.  A file that the
 * configuration names (service times, lengths) is not compared.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/config/config_tables.h"

#include <string.h>

/* The settings of a file: key -> {text, line}, in its order. */
static json_t *settings_of(const struct config *config)
{
    json_t *settings = json_object();

    config_flatten(yaml_root(config->document), "", settings);
    return settings;
}

/* A text of the file.  The path of a webhook's URL may be a secret, and events are for everyone who
   may look: its place is shown. */
static json_t *shown(const char *key, const json_t *setting)
{
    const char *text = json_text_or(setting, "text", "");
    size_t length = strlen(key);
    const char *place = strstr(text, "://");
    owned(chars) char *cut = NULL;

    if (!setting)
        return json_null();
    if (!place || !text_starts_with(key, "webhooks.") || length < 4 ||
        !text_equal(key + length - 4, ".url"))
        return json_text(text);
    place += 3;
    cut = text_format("%.*s/...", (int)(place + strcspn(place, "/?#") - text), text);
    return json_text(cut);
}

static void add(json_t *rows, const char *key, const json_t *before, const json_t *after)
{
    const json_t *there = after ?: before;

    json_array_append_new(rows, json_make("{ss ss so so sO}", "key", key, "change",
                                          !before  ? "added"
                                          : !after ? "removed"
                                                   : "changed",
                                          "before", shown(key, before), "after", shown(key, after),
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
