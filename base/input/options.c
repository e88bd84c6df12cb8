/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The command line: words walk down the tree as long as they name children, everything else is an
 * option or an argument of the command that was reached.
 */
#include "base/input/options.h"

#include "base/array.h"
#include "base/input/nearest.h"
#include "base/input/options_tree.h"
#include "base/memory.h"
#include "base/timestamp.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct exit_meaning exit_meanings[] = {
    { EXIT_DONE, "Done, or there was nothing to do." },
    { EXIT_ERROR, "An error." },
    { EXIT_DIFFERENT, "Differences, or a degraded state." },
    { EXIT_REFUSED, "Refused by policy, or it waits for a second person." },
    { EXIT_INFEASIBLE, "The targets cannot be met within the reservation." },
    { EXIT_PARTIAL, "Done in part." },
    { EXIT_USAGE, "The command line has a mistake." },
    { EXIT_TRY_AGAIN, "Try again: another process holds the journal." },
    { EXIT_NOT_ALLOWED, "The person's role, or the permissions of the socket, do not allow it." },
    { EXIT_INTERRUPTED, "Interrupted." },
    { 0 },
};

enum { MESSAGE_LIMIT = 4096 };

struct given {
    const struct command_option *option;
    const char *value; /* NULL: a flag */
};

struct command_call {
    const struct command *root;
    const struct command *command;
    const struct command_option *common;
    ARRAY(struct given) given;
    ARRAY(const char *) arguments;
    bool wants_help;
};

/* What is left of the command line. */
struct words {
    char **at;     /* ends with NULL */
    bool is_plain; /* after "--": no more options */
};

static void owned_call(struct command_call *call)
{
    array_clear(&call->given);
    array_clear(&call->arguments);
}

static void print_error(const struct command_call *call, const char *sentence)
{
    owned(text) struct text *path = text_new(MESSAGE_LIMIT);

    command_add_path(path, call->root, call->command);
    fprintf(stderr, "%s: %s\n", path->chars, sentence);
}

int call_fail(const struct command_call *call, int code, const struct error *err)
{
    print_error(call, err->text);
    return code;
}

int call_usage_error(const struct command_call *call, const char *format, ...)
{
    owned(text) struct text *path = text_new(MESSAGE_LIMIT);
    char sentence[MESSAGE_LIMIT];
    va_list args;

    va_start(args, format);
    text_print_arguments(sentence, sizeof sentence, format, args);
    va_end(args);
    print_error(call, sentence);
    command_add_path(path, call->root, call->command);
    fprintf(stderr, "Run \"%s --help\" for how to use it.\n", path->chars);
    return EXIT_USAGE;
}

static const struct command_option *find_by_letter(const struct command_call *call, char letter)
{
    const struct command_option *tables[] = { call->command->options, call->common };

    for (size_t i = 0; i < COUNT_OF(tables); i++)
        for (const struct command_option *option = tables[i]; option && option->name; option++)
            if (option->letter == letter)
                return option;
    return NULL;
}

static const struct command_option *find_by_name(const struct command_call *call, const char *name)
{
    const struct command_option *option = option_find(call->command->options, name);

    return option ? option : option_find(call->common, name);
}

static int fail_unknown_option(const struct command_call *call, const char *name)
{
    const struct command_option *tables[] = { call->command->options, call->common };
    struct nearest nearest = nearest_to(name);

    for (size_t i = 0; i < COUNT_OF(tables); i++)
        for (const struct command_option *option = tables[i]; option && option->name; option++)
            nearest_offer(&nearest, option->name);
    nearest_offer(&nearest, "help");
    if (nearest.name)
        return call_usage_error(call, "unknown option --%s, did you mean --%s?", name,
                                nearest.name);
    return call_usage_error(call, "unknown option --%s", name);
}

static int fail_unknown_command(const struct command_call *call, const char *name)
{
    const struct command_synonym *synonym = call->command->synonyms;
    struct nearest nearest = nearest_to(name);

    for (; synonym && synonym->word; synonym++)
        if (text_equal(synonym->word, name))
            return call_usage_error(call, "unknown command \"%s\", did you mean \"%s\"?", name,
                                    synonym->command);
    for (const struct command *child = call->command->children; child->name; child++)
        nearest_offer(&nearest, child->name);
    if (call->command == call->root)
        nearest_offer(&nearest, "help");
    if (nearest.name)
        return call_usage_error(call, "unknown command \"%s\", did you mean \"%s\"?", name,
                                nearest.name);
    return call_usage_error(call, "unknown command \"%s\"", name);
}

/* Whether an argument written as "this|that" names the value; any value fits another argument. */
static bool is_choice(const char *argument, const char *value)
{
    size_t length = strlen(value);

    if (!strchr(argument, '|'))
        return true;
    argument += strspn(argument, "[=");
    for (const char *at = argument; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strcspn(at, "|]") == length && strncmp(at, value, length) == 0)
            return true;
    return false;
}

/* Stores an option; `attached` is the text after "=", or NULL.  Returns 0 or an exit code. */
static int take_option(struct command_call *call, const struct command_option *option,
                       const char *attached, struct words *words)
{
    bool is_alone = option->argument && option->argument[0] == '[' && !attached;

    if (!option->may_repeat && call_repeat(call, option->name) > 0)
        return call_usage_error(call, "--%s is given twice", option->name);
    if (option->argument == NULL && attached)
        return call_usage_error(call, "--%s takes no value", option->name);
    if (is_alone)
        attached = "";
    if (option->argument && attached == NULL) {
        if (*words->at == NULL)
            return call_usage_error(call, "--%s needs a value: %s", option->name, option->argument);
        attached = *words->at++;
    }
    if (option->argument && !is_alone && !is_choice(option->argument, attached))
        return call_usage_error(call, "--%s: \"%s\" is none of %s", option->name, attached,
                                option->argument);
    *array_add(&call->given) = (struct given){ option, attached };
    return 0;
}

static int take_long_option(struct command_call *call, const char *word, struct words *words)
{
    size_t length = strcspn(word, "=");
    owned(chars) char *name = text_format("%.*s", (int)length, word);
    const char *attached = word[length] == '=' ? word + length + 1 : NULL;
    const struct command_option *option = find_by_name(call, name);

    if (option)
        return take_option(call, option, attached, words);
    if (!text_equal(name, "help"))
        return fail_unknown_option(call, name);
    if (attached)
        return call_usage_error(call, "--help takes no value");
    call->wants_help = true;
    return 0;
}

static int take_short_option(struct command_call *call, const char *word, struct words *words)
{
    const struct command_option *option = find_by_letter(call, word[1]);

    if (word[2] != '\0')
        return call_usage_error(call, "unknown option %s: write -%c and its value apart", word,
                                word[1]);
    if (option)
        return take_option(call, option, NULL, words);
    if (word[1] != 'h')
        return call_usage_error(call, "unknown option %s", word);
    call->wants_help = true;
    return 0;
}

/* A word that is no option: a child's name while one is possible, else an argument. */
static int take_word(struct command_call *call, const char *word)
{
    const struct command *child = NULL;

    if (call->arguments.count == 0)
        child = command_find_child(call->command, word);
    if (child) {
        call->command = child;
        return 0;
    }
    if (call->command->children && call->command->argument_max == 0)
        return fail_unknown_command(call, word);
    *array_add(&call->arguments) = word;
    return 0;
}

static int take_words(struct command_call *call, struct words *words)
{
    int code = 0;

    while (code == 0 && *words->at) {
        const char *word = *words->at++;

        if (words->is_plain || word[0] != '-' || word[1] == '\0')
            code = take_word(call, word);
        else if (text_equal(word, "--"))
            words->is_plain = true;
        else if (word[1] == '-')
            code = take_long_option(call, word + 2, words);
        else
            code = take_short_option(call, word, words);
        if (call->wants_help)
            return 0;
    }
    return code;
}

static int check_arguments(const struct command_call *call)
{
    const struct command *command = call->command;
    const char *arguments = command->arguments ? command->arguments : "";
    size_t count = call->arguments.count;

    if (count < (size_t)command->argument_min)
        return call_usage_error(call, "an argument is missing: %s", arguments);
    if (command->argument_max >= 0 && count > (size_t)command->argument_max)
        return call_usage_error(call, "unexpected argument \"%s\"",
                                call->arguments.items[command->argument_max]);
    return 0;
}

static int print_help(const struct command_call *call, FILE *stream)
{
    owned(text) struct text *page = text_new(TEXT_UNBOUNDED);

    command_help(call->root, call->command, call->common, page);
    fputs(page->chars, stream);
    return EXIT_DONE;
}

static int print_exit_codes(void)
{
    for (const struct exit_meaning *row = exit_meanings; row->meaning; row++)
        printf("%4d  %s\n", (int)row->code, row->meaning);
    return EXIT_DONE;
}

/* `help`, `help COMMAND`, `help COMMAND CHILD`, `help exit-codes`. */
static int help_on(struct command_call *call, char **names)
{
    if (text_equal(names[0], "exit-codes") && !names[1])
        return print_exit_codes();
    for (; *names; names++) {
        const struct command *child = command_find_child(call->command, *names);

        if (child == NULL && call->command->children)
            return fail_unknown_command(call, *names);
        if (child == NULL)
            return call_usage_error(call, "it has no command \"%s\"", *names);
        call->command = child;
    }
    return print_help(call, stdout);
}

int command_main(const struct command *root, const struct command_option *common, int argc,
                 char **argv)
{
    __attribute__((cleanup(owned_call))) struct command_call call = {
        .root = root,
        .command = root,
        .common = common,
    };
    struct words words = { .at = argv + 1 };
    char version[] = "version";
    char *version_words[] = { version, NULL };
    int code;

    if (argc == 2 && text_equal(argv[1], "--version") && command_find_child(root, "version"))
        words.at = version_words;
    if (argc > 1 && text_equal(argv[1], "help") && command_find_child(root, "help") == NULL)
        return help_on(&call, argv + 2);
    code = take_words(&call, &words);
    if (code != 0)
        return code;
    if (call.wants_help)
        return print_help(&call, stdout);
    if (call.command->run == NULL) {
        print_help(&call, stderr);
        return EXIT_USAGE;
    }
    code = check_arguments(&call);
    return code ? code : call.command->run(&call);
}

/* The at-th value given; asking for an option that the command does not have is a bug. */
static const struct given *find_given(const struct command_call *call, const char *option,
                                      size_t at)
{
    require(find_by_name(call, option));
    for (size_t i = 0; i < call->given.count; i++)
        if (text_equal(call->given.items[i].option->name, option) && at-- == 0)
            return &call->given.items[i];
    return NULL;
}

const char *call_text_at(const struct command_call *call, const char *option, size_t at)
{
    const struct given *given = find_given(call, option, at);

    return given ? given->value : NULL;
}

const char *call_text(const struct command_call *call, const char *option)
{
    return call_text_at(call, option, 0);
}

const char *call_text_or(const struct command_call *call, const char *option, const char *otherwise)
{
    const char *value = call_text(call, option);

    return value ? value : otherwise;
}

bool call_flag(const struct command_call *call, const char *option)
{
    return find_given(call, option, 0) != NULL;
}

size_t call_repeat(const struct command_call *call, const char *option)
{
    size_t count = 0;

    while (find_given(call, option, count))
        count++;
    return count;
}

size_t call_argument_count(const struct command_call *call)
{
    return call->arguments.count;
}

const char *call_argument(const struct command_call *call, size_t at)
{
    return at < call->arguments.count ? call->arguments.items[at] : NULL;
}

const struct command *call_command(const struct command_call *call)
{
    return call->command;
}

int call_int(const struct command_call *call, const char *option, struct int_range range,
             int64_t *ret, struct error *err)
{
    const char *value = call_text(call, option);
    long long number;

    if (value == NULL)
        return 0;
    if (!text_to_int(value, range.min, range.max, &number))
        return error_set(err, ERROR_INVALID,
                         "--%s: expected a whole number from %" PRId64 " to %" PRId64
                         ", found \"%s\"",
                         option, range.min, range.max, value);
    *ret = number;
    return 0;
}

int call_double(const struct command_call *call, const char *option, struct double_range range,
                double *ret, struct error *err)
{
    const char *value = call_text(call, option);
    double number;

    if (value == NULL)
        return 0;
    if (!text_to_double(value, &number) || number < range.min || number > range.max)
        return error_set(err, ERROR_INVALID, "--%s: expected a number from %g to %g, found \"%s\"",
                         option, range.min, range.max, value);
    *ret = number;
    return 0;
}

int call_duration(const struct command_call *call, const char *option, int64_t *ret_ms,
                  struct error *err)
{
    const char *value = call_text(call, option);

    if (value == NULL)
        return 0;
    if (duration_parse(value, ret_ms, err) < 0)
        return error_context(err, "--%s", option);
    return 0;
}
