/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See yaml.h.  libyaml's emitter decides where quotes are needed for the syntax; this file decides
 * where they are needed so that a text stays a text.
 */
#include "base/input/json.h"
#include "base/input/yaml.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

static int add_bytes(void *context, unsigned char *bytes, size_t size)
{
    struct text *out = context;

    text_add_bytes(out, (const char *)bytes, size);
    return 1;
}

/* Whether a reader of YAML 1.1 or 1.2 could take the text for another thing: a number, a time, a
   truth value, nothing. */
static bool is_ambiguous(const char *text)
{
    static const char *const words[] = {
        "true", "false", "yes", "no", "on", "off", "y", "n", "null"
    };

    if (text[0] == '\0' || strchr("0123456789+-.~=<", text[0]))
        return true;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

/* libyaml fails for want of memory, or because of a wrong order of events: both are bugs here. */
static void emit(yaml_emitter_t *emitter, yaml_event_t *event)
{
    require(yaml_emitter_emit(emitter, event) == 1);
}

static void emit_scalar(yaml_emitter_t *emitter, const char *text, yaml_scalar_style_t style)
{
    yaml_event_t event;

    require(yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
                                         (int)strlen(text), 1, 1, style) == 1);
    emit(emitter, &event);
}

static void emit_text(yaml_emitter_t *emitter, const char *text)
{
    emit_scalar(emitter, text,
                is_ambiguous(text) ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE);
}

static void emit_value(yaml_emitter_t *emitter, const json_t *value);

static void emit_object(yaml_emitter_t *emitter, json_t *object)
{
    yaml_event_t event;
    const char *key;
    json_t *value;

    require(yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE) ==
            1);
    emit(emitter, &event);
    json_object_foreach(object, key, value) {
        emit_text(emitter, key);
        emit_value(emitter, value);
    }
    require(yaml_mapping_end_event_initialize(&event) == 1);
    emit(emitter, &event);
}

static void emit_array(yaml_emitter_t *emitter, const json_t *array)
{
    yaml_event_t event;
    json_t *value;
    size_t i;

    require(yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                                 YAML_BLOCK_SEQUENCE_STYLE) == 1);
    emit(emitter, &event);
    json_array_foreach(array, i, value)
        emit_value(emitter, value);
    require(yaml_sequence_end_event_initialize(&event) == 1);
    emit(emitter, &event);
}

static void emit_value(yaml_emitter_t *emitter, const json_t *value)
{
    if (json_is_object(value)) {
        emit_object(emitter, (json_t *)(uintptr_t)value);
    } else if (json_is_array(value)) {
        emit_array(emitter, value);
    } else if (json_is_string(value)) {
        emit_text(emitter, json_string_value(value));
    } else {
        owned(chars) char *plain = json_print(value);

        emit_scalar(emitter, plain, YAML_PLAIN_SCALAR_STYLE);
    }
}

void yaml_print(const json_t *value, struct text *out)
{
    yaml_emitter_t emitter;
    yaml_event_t event;

    require(yaml_emitter_initialize(&emitter) == 1);
    yaml_emitter_set_output(&emitter, add_bytes, out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, -1);
    require(yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) == 1);
    emit(&emitter, &event);
    require(yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) == 1);
    emit(&emitter, &event);
    emit_value(&emitter, value);
    require(yaml_document_end_event_initialize(&event, 1) == 1);
    emit(&emitter, &event);
    require(yaml_stream_end_event_initialize(&event) == 1);
    emit(&emitter, &event);
    yaml_emitter_delete(&emitter);
}
