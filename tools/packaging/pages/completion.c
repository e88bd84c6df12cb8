/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the completions of all shells have in common: which options a command has, and what a value
 * may be.
 */
#include "tools/packaging/pages/completion.h"

#include <string.h>

static const struct command_option help_option = { "help", 'h', NULL, "show this help", false };

static void add_word(struct text *words, const char *word, size_t length)
{
    text_add(words, "%s%.*s", words->length ? " " : "", (int)length, word);
}

enum complete_kind complete_value(const char *argument, struct text *words)
{
    if (!argument)
        return COMPLETE_NOTHING;
    if (text_equal(argument, "FILE"))
        return COMPLETE_FILE;
    if (text_equal(argument, "DIR") || text_equal(argument, "FOLDER"))
        return COMPLETE_FOLDER;
    if (!strchr(argument, '|'))
        return COMPLETE_NOTHING;
    while (*argument) {
        size_t length = strcspn(argument, "|");

        add_word(words, argument, length);
        argument += length + (argument[length] == '|');
    }
    return COMPLETE_WORDS;
}

/* Words in small letters are written as they are; a name in capitals stands for something else. */
enum complete_kind complete_argument(const char *arguments, struct text *words)
{
    static const char small[] = "abcdefghijklmnopqrstuvwxyz-";
    enum complete_kind kind = COMPLETE_NOTHING;

    while (arguments && *arguments) {
        size_t length = strcspn(arguments, " ,|[]{}.");

        if (length > 0 && strspn(arguments, small) == length)
            add_word(words, arguments, length);
        else if (strncmp(arguments, "FILE", length) == 0 || strncmp(arguments, "PLAN", length) == 0)
            kind = length > 0 ? COMPLETE_FILE : kind;
        arguments += length + (arguments[length] != '\0');
    }
    return words->length ? COMPLETE_WORDS : kind;
}

static bool is_among(const struct command_option *table, const char *name)
{
    for (; table && table->name; table++)
        if (text_equal(table->name, name))
            return true;
    return false;
}

void completion_each_option(const struct command *command, const struct command_option *common,
                            completion_visit_fn *visit, void *context)
{
    for (const struct command_option *at = command->options; at && at->name; at++)
        visit(context, at);
    for (const struct command_option *at = common; at->name; at++)
        if (!is_among(command->options, at->name))
            visit(context, at);
    visit(context, &help_option);
}
