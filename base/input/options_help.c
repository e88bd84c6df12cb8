/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Looking things up in the command tree, and the help page of a command.
 */
#include "base/input/options_tree.h"
#include "base/text.h"

#include <string.h>

enum { PATH_LIMIT = 1024, LABEL_SIZE = 64, COLUMNS = 100 };

static const struct command_option help_option = { "help", 'h', NULL, "show this help", false };

const struct command *command_find_child(const struct command *command, const char *name)
{
    for (const struct command *child = command->children; child && child->name; child++)
        if (text_equal(child->name, name))
            return child;
    return NULL;
}

const struct command_option *option_find(const struct command_option *table, const char *name)
{
    for (; table && table->name; table++)
        if (text_equal(table->name, name))
            return table;
    return NULL;
}

static bool add_path_below(struct text *out, const struct command *at,
                           const struct command *command)
{
    size_t length = out->length;

    text_add(out, "%s%s", length ? " " : "", at->name);
    if (at == command)
        return true;
    for (const struct command *child = at->children; child && child->name; child++)
        if (add_path_below(out, child, command))
            return true;
    out->length = length;
    out->chars[length] = '\0';
    return false;
}

void command_add_path(struct text *out, const struct command *root, const struct command *command)
{
    add_path_below(out, root, command);
}

static void option_label(const struct command_option *option, char out[LABEL_SIZE])
{
    char letter[] = "    ";

    if (option->letter)
        text_print(letter, sizeof letter, "-%c, ", option->letter);
    text_print(out, LABEL_SIZE, "%s--%s%s%s", letter, option->name,
               option->argument && option->argument[0] != '[' ? " " : "",
               option->argument ? option->argument : "");
}

static int widest_option(const struct command_option *table, int width)
{
    char label[LABEL_SIZE];

    for (; table && table->name; table++) {
        option_label(table, label);
        if ((int)strlen(label) > width)
            width = (int)strlen(label);
    }
    return width;
}

static bool is_among(const struct command_option *table, const char *name)
{
    for (; table && table->name; table++)
        if (strcmp(table->name, name) == 0)
            return true;
    return false;
}

/* Words from the column `indent` on, to which further lines are indented. */
static void add_wrapped(struct text *out, const char *words, int indent)
{
    int column = indent;

    while (*words) {
        int length = (int)strcspn(words, " ");

        if (column > indent && column + 1 + length > COLUMNS) {
            text_add(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            text_add(out, " ");
            column++;
        }
        text_add(out, "%.*s", length, words);
        column += length;
        words += length + (words[length] == ' ');
    }
    text_add(out, "\n");
}

/* `own`: a command's options, which replace the common ones of the same name; or NULL. */
static void add_options(struct text *out, const struct command_option *table,
                        const struct command_option *own, int width)
{
    char label[LABEL_SIZE];

    for (; table && table->name; table++) {
        if (is_among(own, table->name))
            continue;
        owned(chars) char *help = text_format("%s%s", table->help,
                                              table->may_repeat ? " (may be repeated)" : "");

        option_label(table, label);
        text_add(out, "  %-*s  ", width, label);
        add_wrapped(out, help, width + 4);
    }
}

static void add_commands(struct text *out, const struct command *children)
{
    int width = 0;

    for (const struct command *child = children; child->name; child++)
        if ((int)strlen(child->name) > width)
            width = (int)strlen(child->name);
    text_add(out, "\nCommands:\n");
    for (const struct command *child = children; child->name; child++) {
        text_add(out, "  %-*s  ", width, child->name);
        add_wrapped(out, child->help->summary, width + 4);
    }
}

static void add_examples(struct text *out, const char *examples)
{
    text_add(out, "\nExamples:\n");
    while (*examples) {
        size_t length = strcspn(examples, "\n");

        text_add(out, "%s%.*s\n", length ? "  " : "", (int)length, examples);
        examples += length + (examples[length] == '\n');
    }
}

static bool is_empty(const char *chars)
{
    return !chars || *chars == '\0';
}

static void add_usage(struct text *out, const struct command *root, const struct command *command)
{
    owned(text) struct text *path = text_new(PATH_LIMIT);
    const char *arguments = command->arguments ? command->arguments : "";

    command_add_path(path, root, command);
    text_add(out, "\nUsage: %s%s [OPTIONS]%s%s\n", path->chars, command->children ? " COMMAND" : "",
             *arguments ? " " : "", arguments);
}

void command_help(const struct command *root, const struct command *command,
                  const struct command_option *common, struct text *out)
{
    const struct command_option own_help[] = { help_option, { 0 } };
    int width = widest_option(own_help, widest_option(common, widest_option(command->options, 0)));

    text_add(out, "%s\n", command->help->summary);
    add_usage(out, root, command);
    if (!is_empty(command->help->text))
        text_add(out, "\n%s", command->help->text);
    if (command->children)
        add_commands(out, command->children);
    text_add(out, "\nOptions:\n");
    add_options(out, command->options, NULL, width);
    add_options(out, common, command->options, width);
    add_options(out, own_help, NULL, width);
    if (!is_empty(command->help->examples))
        add_examples(out, command->help->examples);
}
