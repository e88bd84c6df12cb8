/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Completion for fish: one line for each command and option, with its help.
 */
#include "tools/packaging/pages/completion.h"

struct place {
    struct text *out;
    const char *condition;
};

/* In single quotes, where "\" and "'" have a meaning. */
static void add_quoted(struct text *out, const char *chars)
{
    text_add(out, "'");
    for (; *chars; chars++) {
        if (*chars == '\'' || *chars == '\\')
            text_add(out, "\\");
        text_add_bytes(out, chars, 1);
    }
    text_add(out, "'");
}

static void add_kind(struct text *out, enum complete_kind kind, const char *words)
{
    switch (kind) {
    case COMPLETE_NOTHING:
        text_add(out, " -x");
        return;
    case COMPLETE_WORDS:
        text_add(out, " -x -a '%s'", words);
        return;
    case COMPLETE_FILE:
        text_add(out, " -r -F");
        return;
    case COMPLETE_FOLDER:
        text_add(out, " -x -a '(__fish_complete_directories)'");
        return;
    }
}

static void add_option(void *context, const struct command_option *option)
{
    const struct place *place = context;
    owned(text) struct text *words = text_new(TEXT_UNBOUNDED);

    text_add(place->out, "complete -c sluice -n '%s' -l %s", place->condition, option->name);
    if (option->letter)
        text_add(place->out, " -s %c", option->letter);
    if (option->argument)
        add_kind(place->out, complete_value(option->argument, words), words->chars);
    text_add(place->out, " -d ");
    add_quoted(place->out, option->help);
    text_add(place->out, "\n");
}

static void add_command(struct text *out, const struct command *command,
                        const struct command_option *common)
{
    owned(text) struct text *words = text_new(TEXT_UNBOUNDED);
    owned(chars) char *condition = text_format("__fish_seen_subcommand_from %s", command->name);
    struct place place = { out, condition };

    text_add(out, "\ncomplete -c sluice -n '__fish_use_subcommand' -a %s -d ", command->name);
    add_quoted(out, command->help->summary);
    text_add(out, "\n");
    switch (complete_argument(command->arguments, words)) {
    case COMPLETE_WORDS:
        text_add(out, "complete -c sluice -n '%s' -a '%s'\n", condition, words->chars);
        break;
    case COMPLETE_FILE:
        text_add(out, "complete -c sluice -n '%s' -F\n", condition);
        break;
    case COMPLETE_FOLDER:
    case COMPLETE_NOTHING:
        break;
    }
    completion_each_option(command, common, add_option, &place);
}

void completion_fish(struct text *out, const struct command *root,
                     const struct command_option *common)
{
    struct place place = { out, "__fish_use_subcommand" };

    text_add(out, "# fish completion for sluice.  Made from the table of commands; edit that.\n"
                  "complete -c sluice -f\n"
                  "complete -c sluice -n '__fish_use_subcommand' -a help -d 'show a help page'\n"
                  "complete -c sluice -n '__fish_seen_subcommand_from help' -a '");
    for (const struct command *child = root->children; child->name; child++)
        text_add(out, "%s%s", child == root->children ? "" : " ", child->name);
    text_add(out, "'\n");
    completion_each_option(root, common, add_option, &place);
    for (const struct command *child = root->children; child->name; child++)
        add_command(out, child, common);
}
