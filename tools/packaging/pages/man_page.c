/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Manual pages.  Each sentence begins a new line, and each "-" is written as "\-", so that options
 * can be copied from a page and searched for in it.  For the same reason no word is broken.
 */
#include "tools/packaging/pages/man_page.h"

#include <string.h>

static const struct command_option help_option = { "help", 'h', NULL, "show this help", false };

char *man_page_name(const struct command *root, const struct command *command)
{
    return command == root ? text_format("%s", root->name)
                           : text_format("%s-%s", root->name, command->name);
}

static void add_char(struct text *out, char c)
{
    switch (c) {
    case '\\':
        text_add(out, "\\e");
        break;
    case '-':
        text_add(out, "\\-");
        break;
    case '\'':
        text_add(out, "\\(aq");
        break;
    case '`':
        text_add(out, "\\(ga");
        break;
    case '^':
        text_add(out, "\\(ha");
        break;
    case '~':
        text_add(out, "\\(ti");
        break;
    default:
        text_add_bytes(out, &c, 1);
    }
}

/* Characters that stand for themselves; at the start of a line a "." would be a macro. */
static void add_plain(struct text *out, const char *chars, size_t length)
{
    bool begins_line = out->length == 0 || out->chars[out->length - 1] == '\n';

    if (length > 0 && begins_line && *chars == '.')
        text_add(out, "\\&");
    for (size_t i = 0; i < length; i++)
        add_char(out, chars[i]);
}

static bool ends_sentence(const char *chars, size_t length)
{
    return length > 2 && strchr(".!?:", chars[length - 3]) && chars[length - 2] == ' ' &&
           chars[length - 1] == ' ';
}

/* One line of prose: `code` becomes bold, and a sentence that follows two spaces a new line. */
static void add_prose_line(struct text *out, const char *line, size_t length)
{
    bool is_bold = false;

    for (size_t i = 0; i < length; i++) {
        bool is_closed = is_bold || memchr(line + i + 1, '`', length - i - 1);

        if (line[i] == '`' && is_closed) {
            is_bold = !is_bold;
            text_add(out, is_bold ? "\\fB" : "\\fR");
        } else if (line[i] == ' ' && i + 1 < length && ends_sentence(line, i + 2)) {
            text_add(out, "\n");
            i++;
        } else {
            add_plain(out, line + i, 1);
        }
    }
    text_add(out, "\n");
}

static void add_prose(struct text *out, const char *prose)
{
    bool is_item = false, is_first = false;

    while (prose && *prose) {
        size_t length = strcspn(prose, "\n");
        bool begins_item = text_starts_with(prose, "- ");
        bool goes_on = text_starts_with(prose, "  ");

        if (begins_item)
            text_add(out, ".IP \\(bu 2\n");
        else if (length > 0 && (is_first || (is_item && !goes_on)))
            text_add(out, ".PP\n");
        if (length > 0)
            add_prose_line(out, prose + (begins_item || goes_on ? 2 : 0),
                           length - (begins_item || goes_on ? 2 : 0));
        is_item = begins_item || (is_item && length > 0 && goes_on);
        is_first = length == 0;
        prose += length + (prose[length] == '\n');
    }
}

static void add_option(struct text *out, const struct command_option *option)
{
    text_add(out, ".TP\n\\fB");
    if (option->letter)
        text_add(out, "\\-%c\\fR, \\fB", option->letter);
    text_add(out, "\\-\\-");
    add_plain(out, option->name, strlen(option->name));
    text_add(out, "\\fR");
    if (option->argument) {
        text_add(out, " \\fI");
        add_plain(out, option->argument, strlen(option->argument));
        text_add(out, "\\fR");
    }
    text_add(out, "\n");
    add_prose_line(out, option->help, strlen(option->help));
    if (option->may_repeat)
        text_add(out, "It may be repeated.\n");
}

static bool is_among(const struct command_option *table, const char *name)
{
    for (; table && table->name; table++)
        if (text_equal(table->name, name))
            return true;
    return false;
}

static void add_options(struct text *out, const struct manual *manual,
                        const struct command *command)
{
    text_add(out, ".SH OPTIONS\n");
    for (const struct command_option *at = command->options; at && at->name; at++)
        add_option(out, at);
    for (const struct command_option *at = manual->common; at->name; at++)
        if (!is_among(command->options, at->name))
            add_option(out, at);
    add_option(out, &help_option);
}

static void add_synopsis(struct text *out, const struct manual *manual,
                         const struct command *command)
{
    const char *arguments = command->arguments ? command->arguments : "";

    text_add(out, ".SH SYNOPSIS\n\\fB%s", manual->root->name);
    if (command != manual->root)
        text_add(out, " %s", command->name);
    text_add(out, "\\fR%s [\\fIOPTIONS\\fR]", command->children ? " \\fICOMMAND\\fR" : "");
    if (*arguments) {
        text_add(out, " ");
        add_plain(out, arguments, strlen(arguments));
    }
    text_add(out, "\n");
}

static void add_examples(struct text *out, const char *examples)
{
    if (!examples || *examples == '\0')
        return;
    text_add(out, ".SH EXAMPLES\n.EX\n");
    while (*examples) {
        size_t length = strcspn(examples, "\n");

        add_plain(out, examples, length);
        text_add(out, "\n");
        examples += length + (examples[length] == '\n');
    }
    text_add(out, ".EE\n");
}

static void add_children(struct text *out, const struct command *command)
{
    if (!command->children)
        return;
    text_add(out, ".SH COMMANDS\n");
    for (const struct command *child = command->children; child->name; child++) {
        text_add(out, ".TP\n\\fB%s\\fR\n", child->name);
        add_prose_line(out, child->help->summary, strlen(child->help->summary));
    }
}

/* What holds for a program with commands: the simulator has other files and exit codes. */
static void add_shared_sections(struct text *out, const struct command *root)
{
    if (!root->children)
        return;
    text_add(out, ".SH EXIT STATUS\n");
    for (const struct exit_meaning *row = exit_meanings; row->meaning; row++)
        text_add(out, ".TP\n.B %d\n%s\n", (int)row->code, row->meaning);
    text_add(out, ".SH ENVIRONMENT\n.TP\n.B SLUICE_CONFIG\n"
                  "The configuration, if \\fB\\-\\-config\\fR is not given.\n");
    text_add(out, ".SH FILES\n.TP\n.I sluice.yaml\n"
                  "The configuration, in the current folder or one above it.\n"
                  ".TP\n.I /etc/sluice/config.yaml\n"
                  "The configuration, if there is no other.\n");
}

static void add_see_also(struct text *out, const struct manual *manual,
                         const struct command *command)
{
    if (command != manual->root) {
        text_add(out, ".SH SEE ALSO\n.BR %s (1)\n", manual->root->name);
        return;
    }
    if (!command->children)
        return;
    text_add(out, ".SH SEE ALSO\n");
    for (const struct command *child = command->children; child->name; child++)
        text_add(out, ".BR %s\\-%s (1)%s\n", command->name, child->name, child[1].name ? "," : "");
}

void man_page_print(struct text *out, const struct manual *manual, const struct command *command)
{
    owned(chars) char *name = man_page_name(manual->root, command);

    text_add(out, ".\\\" Made from the tables of commands and broker/help; edit those.\n.TH ");
    for (const char *at = name; *at; at++)
        add_char(out, *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at);
    text_add(out, " 1 %s \"sluice %s\" \"sluice manual\"\n.nh\n.ad l\n.SH NAME\n", manual->date,
             manual->version);
    add_plain(out, name, strlen(name));
    text_add(out, " \\- ");
    add_plain(out, command->help->summary, strlen(command->help->summary));
    text_add(out, "\n");
    add_synopsis(out, manual, command);
    if (command->help->text && *command->help->text) {
        text_add(out, ".SH DESCRIPTION\n");
        add_prose(out, command->help->text);
    }
    add_children(out, command);
    add_options(out, manual, command);
    add_examples(out, command->help->examples);
    add_shared_sections(out, manual->root);
    add_see_also(out, manual, command);
}
