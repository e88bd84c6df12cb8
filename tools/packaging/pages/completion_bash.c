/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Completion for bash.  It needs nothing of the package bash-completion.  bash itself takes a "="
 * as a word of its own, so `--output=ta` arrives as three words.
 */
#include "tools/packaging/pages/completion.h"

/* "$prev" is the option that waits for a value; "$command" is empty before the command. */
static const char head[] =
    "# bash completion for sluice.  Made from the table of commands; edit that.\n"
    "_sluice() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command='' options='' words='' takes='' at=1\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=''\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    COMPREPLY=()\n";

static const char find[] = "    for ((; at < COMP_CWORD; at++)); do\n"
                           "        case ${COMP_WORDS[at]} in\n"
                           "        %s)\n"
                           "            ((at++))\n"
                           "            [[ ${COMP_WORDS[at]} != = ]] || ((at++))\n"
                           "            ;;\n"
                           "        -*) ;;\n"
                           "        *)\n"
                           "            command=${COMP_WORDS[at]}\n"
                           "            break\n"
                           "            ;;\n"
                           "        esac\n"
                           "    done\n";

static const char tail[] = "    if [[ $command == help ]]; then\n"
                           "        words=$commands\n"
                           "    fi\n"
                           "    if [[ $cur == -* ]]; then\n"
                           "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
                           "    elif [[ $takes == file ]]; then\n"
                           "        compopt -o filenames 2>/dev/null\n"
                           "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                           "    elif [[ $takes == folder ]]; then\n"
                           "        compopt -o filenames 2>/dev/null\n"
                           "        mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
                           "    elif [[ $takes != value ]]; then\n"
                           "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                           "    fi\n"
                           "}\n"
                           "complete -F _sluice sluice\n";

static void add_pattern(struct text *out, const struct command_option *option)
{
    text_add(out, "%s--%s", out->length ? " | " : "", option->name);
    if (option->letter)
        text_add(out, " | -%c", option->letter);
}

static void add_name(void *context, const struct command_option *option)
{
    struct text *out = context;

    text_add(out, "%s--%s", out->length ? " " : "", option->name);
    if (option->letter)
        text_add(out, " -%c", option->letter);
}

static void add_kind(struct text *out, enum complete_kind kind, const char *words)
{
    switch (kind) {
    case COMPLETE_NOTHING:
        text_add(out, "takes='value'");
        return;
    case COMPLETE_WORDS:
        text_add(out, "takes='words' words='%s'", words);
        return;
    case COMPLETE_FILE:
        text_add(out, "takes='file'");
        return;
    case COMPLETE_FOLDER:
        text_add(out, "takes='folder'");
        return;
    }
}

static void add_value_row(void *context, const struct command_option *option)
{
    owned(text) struct text *pattern = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *words = text_new(TEXT_UNBOUNDED);

    if (!option->argument)
        return;
    add_pattern(pattern, option);
    text_add(context, "        %s) ", pattern->chars);
    add_kind(context, complete_value(option->argument, words), words->chars);
    text_add(context, " ;;\n");
}

/* The row of one command in `case $command`; the program itself has the commands as its words. */
static void add_command(struct text *out, const struct command *command, const char *pattern,
                        const struct command_option *common)
{
    owned(text) struct text *names = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *rows = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *words = text_new(TEXT_UNBOUNDED);
    enum complete_kind kind = complete_argument(command->arguments, words);

    completion_each_option(command, common, add_name, names);
    completion_each_option(command, common, add_value_row, rows);
    text_add(out, "    %s)\n        options='%s'\n", pattern, names->chars);
    if (command->children) {
        text_add(out, "        words=\"$commands help\"\n");
    } else {
        text_add(out, "        ");
        add_kind(out, kind, words->chars);
        text_add(out, "\n");
    }
    if (rows->length)
        text_add(out, "        case $prev in\n%s        esac\n", rows->chars);
    text_add(out, "        ;;\n");
}

void completion_bash(struct text *out, const struct command *root,
                     const struct command_option *common)
{
    owned(text) struct text *pattern = text_new(TEXT_UNBOUNDED);
    const char *between = "";

    text_add(out, "%s    local commands='", head);
    for (const struct command *child = root->children; child->name; child++) {
        text_add(out, "%s%s", between, child->name);
        between = " ";
    }
    text_add(out, "'\n");
    for (const struct command_option *at = common; at->name; at++)
        if (at->argument)
            add_pattern(pattern, at);
    text_add(out, find, pattern->chars);
    text_add(out, "    case $command in\n");
    add_command(out, root, "''", common);
    for (const struct command *child = root->children; child->name; child++)
        add_command(out, child, child->name, common);
    text_add(out, "    esac\n%s", tail);
}
