/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Completion for zsh: a function for each command, of calls of _arguments.
 */
#include "tools/packaging/pages/completion.h"

#include <string.h>

/* In single quotes; "[", "]" and ":" have a meaning in the specifications of _arguments. */
static void add_quoted(struct text *out, const char *chars)
{
    for (; *chars; chars++) {
        if (*chars == '\'') {
            text_add(out, "'\\''");
            continue;
        }
        if (strchr("[]:\\", *chars))
            text_add(out, "\\");
        text_add_bytes(out, chars, 1);
    }
}

static void add_action(struct text *out, enum complete_kind kind, const char *words)
{
    switch (kind) {
    case COMPLETE_NOTHING:
        text_add(out, ": ");
        return;
    case COMPLETE_WORDS:
        text_add(out, ":(%s)", words);
        return;
    case COMPLETE_FILE:
        text_add(out, ":_files");
        return;
    case COMPLETE_FOLDER:
        text_add(out, ":_files -/");
        return;
    }
}

/* `form`: "--name=" or "-n". */
static void add_specification(struct text *out, const struct command_option *option,
                              const char *form)
{
    owned(text) struct text *words = text_new(TEXT_UNBOUNDED);

    text_add(out, " \\\n        '");
    if (option->may_repeat)
        text_add(out, "*");
    else if (option->letter)
        text_add(out, "(-%c --%s)", option->letter, option->name);
    text_add(out, "%s[", form);
    add_quoted(out, option->help);
    text_add(out, "]");
    if (option->argument) {
        text_add(out, ":");
        add_quoted(out, option->argument);
        add_action(out, complete_value(option->argument, words), words->chars);
    }
    text_add(out, "'");
}

static void add_option(void *context, const struct command_option *option)
{
    owned(chars) char *name = text_format("--%s%s", option->name, option->argument ? "=" : "");
    owned(chars) char *letter = text_format("-%c", option->letter);

    if (option->letter)
        add_specification(context, option, letter);
    add_specification(context, option, name);
}

static void add_command(struct text *out, const struct command *command,
                        const struct command_option *common)
{
    owned(text) struct text *words = text_new(TEXT_UNBOUNDED);
    enum complete_kind kind = complete_argument(command->arguments, words);

    text_add(out, "    %s)\n        _arguments", command->name);
    completion_each_option(command, common, add_option, out);
    if (command->argument_max != 0) {
        text_add(out, " \\\n        '%s:", kind == COMPLETE_WORDS ? "1" : "*");
        add_quoted(out, command->arguments);
        add_action(out, kind, words->chars);
        text_add(out, "'");
    }
    text_add(out, "\n        ;;\n");
}

void completion_zsh(struct text *out, const struct command *root,
                    const struct command_option *common)
{
    text_add(out, "#compdef sluice\n"
                  "# Made from the table of commands; edit that.\n\n"
                  "_sluice_commands() {\n"
                  "    local -a commands=(\n");
    for (const struct command *child = root->children; child->name; child++) {
        text_add(out, "        '%s:", child->name);
        add_quoted(out, child->help->summary);
        text_add(out, "'\n");
    }
    text_add(out, "        'help:show a help page'\n    )\n"
                  "    _describe command commands\n"
                  "}\n\n"
                  "_sluice_command() {\n"
                  "    case $1 in\n");
    for (const struct command *child = root->children; child->name; child++)
        add_command(out, child, common);
    text_add(out, "    help)\n        _arguments '1:command:_sluice_commands'\n        ;;\n"
                  "    esac\n"
                  "}\n\n"
                  "_sluice() {\n"
                  "    local line state\n"
                  "    _arguments -C");
    completion_each_option(root, common, add_option, out);
    text_add(out, " \\\n        '1:command:_sluice_commands' \\\n"
                  "        '*::argument:->arguments'\n"
                  "    [[ $state != arguments ]] || _sluice_command $line[1]\n"
                  "}\n\n"
                  "_sluice \"$@\"\n");
}
