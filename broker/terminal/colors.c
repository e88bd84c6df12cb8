/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See colors.h.
 */
#include "broker/terminal/colors.h"

#include "broker/health/conditions.h"

#include <string.h>

enum color { PLAIN, GOOD, NOTE, WARNING, CRITICAL };

/* Of the terminal's own palette (ECMA-48), so that they can be read on light and on dark. */
static const char *const codes[] = { "", "\033[32m", "\033[36m", "\033[33m", "\033[1;31m" };
static const char plain[] = "\033[0m";

/* Words that no condition has. */
static const struct {
    const char *word;
    enum color color;
} words[] = {
    { "OK", GOOD },           { "SETTLED", GOOD },     { "READY IN TIME", GOOD },
    { "approved", GOOD },     { "sending", GOOD },     { "GROWING", NOTE },
    { "LEAVING", NOTE },      { "MOVING", NOTE },      { "WAITING", NOTE },
    { "RECLAIM", NOTE },      { "waits", WARNING },    { "HELD", WARNING },
    { "UNKNOWN", WARNING },   { "WARN", WARNING },     { "warning:", WARNING },
    { "rejected", CRITICAL }, { "failing", CRITICAL }, { "NO ANSWER", CRITICAL },
    { "APPROVAL", WARNING },
};

bool colors_wanted(const char *option, bool is_terminal, const char *no_color, const char *term)
{
    if (text_equal(option, "always"))
        return true;
    return !text_equal(option, "never") && is_terminal && !(no_color && no_color[0] != '\0') &&
           !(term && text_equal(term, "dumb"));
}

static bool is_word(const char *at, size_t length, const char *word)
{
    return word[0] != '\0' && strlen(word) == length && memcmp(at, word, length) == 0;
}

static enum color color_of(const char *at, size_t length)
{
    static const enum color severities[] = {
        [SEVERITY_NOTE] = NOTE, [SEVERITY_WARNING] = WARNING, [SEVERITY_CRITICAL] = CRITICAL
    };

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (is_word(at, length, words[i].word))
            return words[i].color;
    for (int kind = 0; kind < CONDITION_KINDS; kind++) {
        const struct condition_row *row = condition_row((enum condition_kind)kind);

        if (is_word(at, length, row->word))
            return severities[row->severity];
    }
    return PLAIN;
}

static void add(const char *at, size_t length, enum color color, struct text *out)
{
    text_add(out, "%s", codes[color]);
    text_add_bytes(out, at, length);
    text_add(out, "%s", color == PLAIN ? "" : plain);
}

/* Up to two spaces, or a word's end within a list. */
static size_t word_length(const char *at, const char *end)
{
    size_t length = 0;

    while (at + length < end && at[length] != ',' &&
           !(at[length] == ' ' && (at + length + 1 == end || at[length + 1] == ' ')))
        length++;
    return length;
}

/* The sign before a change of a plan: "  + node ...". */
static enum color color_of_sign(const char *line, size_t length)
{
    if (length < 4 || line[0] != ' ' || line[1] != ' ' || line[3] != ' ')
        return PLAIN;
    switch (line[2]) {
    case '+':
        return GOOD;
    case '-':
    case '!':
        return CRITICAL;
    case '~':
    case '>':
        return NOTE;
    default:
        return PLAIN;
    }
}

/* The words of a cell, with commas between them; what follows them is not painted. */
static void add_states(const char *at, const char *end, struct text *out)
{
    for (bool is_word = true; at < end && is_word;) {
        size_t length = word_length(at, end);

        add(at, length, color_of(at, length), out);
        at += length;
        is_word = end - at > 2 && at[0] == ',' && at[1] == ' ';
        if (is_word)
            text_add(out, ", ");
        at += is_word ? 2 : 0;
    }
    text_add_bytes(out, at, (size_t)(end - at));
}

/* states: where the column STATE begins; 0: there is none. */
static void add_line(const char *line, size_t length, size_t states, struct text *out)
{
    size_t first = word_length(line, line + length);
    enum color sign = color_of_sign(line, length);
    enum color color = color_of(line, first);

    if (sign != PLAIN) {
        text_add(out, "  ");
        add(line + 2, 1, sign, out);
        text_add_bytes(out, line + 3, length - 3);
    } else if (states > 0 && length > states && line[states - 1] == ' ') {
        text_add_bytes(out, line, states);
        add_states(line + states, line + length, out);
    } else if (color == PLAIN && length > 5 && memcmp(line, "WARN ", 5) == 0) {
        add(line, 4, WARNING, out);
        text_add_bytes(out, line + 4, length - 4);
    } else {
        add(line, first, color, out);
        text_add_bytes(out, line + first, length - first);
    }
}

/* The place of the title STATE, if the line has titles. */
static size_t states_at(const char *line, size_t length)
{
    static const char title[] = "  STATE";

    for (size_t i = 0; i + strlen(title) <= length; i++)
        if (memcmp(line + i, title, strlen(title)) == 0 &&
            (i + strlen(title) == length || line[i + strlen(title)] == ' '))
            return i + 2;
    return 0;
}

void colors_add(const char *lines, struct text *out)
{
    size_t states = 0;

    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");

        if (length == 0)
            states = 0; /* a table ends with an empty line */
        else if (states_at(lines, length) > 0)
            states = states_at(lines, length);
        add_line(lines, length, states, out);
        lines += length;
        if (*lines == '\n') {
            text_add(out, "\n");
            lines++;
        }
    }
}
