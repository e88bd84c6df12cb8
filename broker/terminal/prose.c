/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See prose.h.
 */
#include "broker/terminal/prose.h"

#include "broker/terminal/columns.h"

#include <string.h>

enum { LABEL = 16, SHORTEST = 20, WORD_LEAST = 17 };

struct row {
    const char *chars;
    size_t length;
};

/* Where the sentence begins: after the label, which ends with spaces, or an indentation. */
static size_t label_of(const struct row *row)
{
    size_t spaces = strspn(row->chars, " ");

    if (spaces > 0 && spaces <= LABEL)
        return spaces;
    return row->length > LABEL && row->chars[LABEL - 1] == ' ' && row->chars[LABEL] != ' ' ? LABEL
                                                                                           : 0;
}

static bool is_sentence(const struct row *row, size_t label)
{
    for (size_t i = label; i + 1 < row->length; i++)
        if (row->chars[i] == ' ' && row->chars[i + 1] == ' ')
            return false;
    return true;
}

/* How many bytes of the row fit: whole words, or as many characters where a word is too long. */
static size_t fits(const struct row *row, size_t columns)
{
    size_t shown = 0;
    size_t at = 0;
    size_t space = 0;

    while (at < row->length) {
        size_t wide;
        size_t bytes = columns_step(row->chars + at, row->length - at, &wide);

        if (shown + wide > columns)
            break;
        if (row->chars[at] == ' ')
            space = at;
        shown += wide;
        at += bytes;
    }
    if (at == row->length || row->chars[at] == ' ' || space == 0)
        return at;
    return space;
}

static void wrap(struct row row, size_t label, size_t columns, struct text *out)
{
    text_add_bytes(out, row.chars, label);
    row.chars += label;
    row.length -= label;
    for (;;) {
        size_t size = fits(&row, columns - label);

        text_add_bytes(out, row.chars, size);
        text_add(out, "\n");
        while (size < row.length && row.chars[size] == ' ')
            size++;
        row.chars += size;
        row.length -= size;
        if (row.length == 0)
            return;
        text_add(out, "%*s", (int)label, "");
    }
}

void prose_wrap(const struct text *text, size_t columns, struct text *out)
{
    for (const char *at = text->chars; *at;) {
        struct row row = { at, strcspn(at, "\n") };
        size_t label = label_of(&row);

        at += row.length + (at[row.length] == '\n');
        if (columns >= LABEL + SHORTEST && columns_of(row.chars, row.length) > columns &&
            is_sentence(&row, label)) {
            wrap(row, label, columns, out);
            continue;
        }
        text_add_bytes(out, row.chars, row.length);
        text_add(out, "\n");
    }
}

/* The text, no word of it wider than that. */
static char *with_words(const char *text, size_t most)
{
    struct text *out = text_new(TEXT_UNBOUNDED);

    while (*text) {
        size_t length = strcspn(text, " ");
        owned(chars) char *word = text_format("%.*s", (int)length, text);
        owned(chars) char *shown = columns_shorten(word, most);

        text_add(out, "%s", shown);
        text += length;
        length = strspn(text, " ");
        text_add_bytes(out, text, length);
        text += length;
    }
    return text_take(out);
}

char *prose_fit(const char *text, size_t columns)
{
    size_t most = columns_of(text, strlen(text));

    for (;; most--) {
        owned(chars) char *fitted = with_words(text, most);

        if (most <= WORD_LEAST || columns_of(fitted, strlen(fitted)) <= columns)
            return steal(&fitted);
    }
}

void prose_hang(struct text *out, size_t columns, const char *head, const char *rest)
{
    size_t length = strlen(head);
    bool fits = columns_of(head, length) + columns_of(rest, strlen(rest)) <= columns;

    while (!fits && length > 0 && head[length - 1] == ' ')
        length--;
    text_add(out, "%.*s%s%*s%s\n", (int)length, head, fits ? "" : "\n", fits ? 0 : PROSE_INDENT, "",
             rest);
}

char *prose_pattern(const char *text)
{
    struct text *out = text_new(TEXT_UNBOUNDED);

    while (*text) {
        int length = (int)strcspn(text, " ");
        bool is_name = (int)strcspn(text, "0123456789/") < length;

        text_add(out, "%.*s%s", is_name ? 0 : length, text, is_name ? "..." : "");
        text += length;
        length = (int)strspn(text, " ");
        text_add(out, "%.*s", length, text);
        text += length;
    }
    return text_take(out);
}
