/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See sentence.h.
 */
#include "broker/webhooks/sentence.h"

#include "base/input/json.h"
#include "base/text.h"

const char *sentence_plural(size_t number)
{
    return number == 1 ? "" : "s";
}

char *sentence_leaving(const json_t *move, const char *when)
{
    size_t leaving = json_array_size(json_object_get(move, "leaving"));
    const char *only = leaving == 1
                           ? json_string_value(json_array_get(json_object_get(move, "leaving"), 0))
                           : NULL;

    return text_format("%zu node%s of %s%s%s%s leave%s %s, for %s (%s)", leaving,
                       sentence_plural(leaving), json_text_or(move, "cluster", "?"),
                       only ? " (" : "", only ?: "", only ? ")" : "", leaving == 1 ? "s" : "", when,
                       json_text_or(move, "to", "?"), json_text_or(move, "reason", "?"));
}

char *sentence_when(const json_t *move)
{
    return json_bool_or(move, "is_emergency", false)
               ? mem_copy_chars("at once, without notice")
               : text_format("at %s", json_text_or(move, "departure", "?"));
}

char *sentence_staying(const json_t *move)
{
    size_t staying = json_array_size(json_object_get(move, "staying"));

    return staying == 0 ? mem_copy_chars("")
                        : text_format("; %zu stay%s", staying, staying == 1 ? "s" : "");
}

static void add_sentences(struct text *out, const char *title, const json_t *rows)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) {
        const char *text = json_text_or(row, "text", "");

        if (i == SENTENCE_CONDITIONS_MOST) {
            text_add(out, ". %s: %zu more", title, json_array_size(rows) - i);
            break;
        }
        if (json_object_get(row, "severity_before"))
            text_add(out, ". Now %s: %s", json_text_or(row, "severity", ""), text);
        else
            text_add(out, ". %s: %s", title, text);
    }
}

char *sentence_health(const struct sentence_change *change)
{
    struct text *text = text_new(TEXT_UNBOUNDED);

    if (text_equal(change->before, change->after))
        text_add(text, "Health is still %s", change->after);
    else
        text_add(text, "Health was %s and is %s", change->before, change->after);
    add_sentences(text, "Began", change->began);
    add_sentences(text, "Ended", change->ended);
    return text_take(text);
}
