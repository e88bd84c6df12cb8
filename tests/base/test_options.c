/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The command line: what is parsed, what is answered to mistakes, the help page.
 */
#include "base/file.h"
#include "base/input/options.h"
#include "base/memory.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* What the last run saw. */
static struct text *seen;

static void note(struct command_call *call, const char *option)
{
    const char *value = call_text(call, option);

    text_add(seen, "%s=%s ", option, value ? value : "-");
}

static int run_list(struct command_call *call)
{
    int64_t limit = 9;
    struct error err;

    if (call_int(call, "limit", (struct int_range){ 1, 10 }, &limit, &err) < 0)
        return call_fail(call, EXIT_USAGE, &err);
    text_add(seen, "%s: ", call_command(call)->name);
    note(call, "config");
    text_add(seen, "limit=%d all=%d ", (int)limit, call_flag(call, "all"));
    for (size_t i = 0; i < call_repeat(call, "label"); i++)
        text_add(seen, "label=%s ", call_text_at(call, "label", i));
    if (call_text(call, "check"))
        text_add(seen, "check=%s%d ", call_text(call, "check"), call_flag(call, "check"));
    for (size_t i = 0; i < call_argument_count(call); i++)
        text_add(seen, "[%s]", call_argument(call, i));
    return EXIT_DIFFERENT;
}

static const struct command_option common[] = {
    { "config", 'c', "FILE", "The configuration", false },
    { 0 },
};
static const struct command_option list_options[] = {
    { "limit", 'n', "COUNT", "How many at most", false },
    { "all", 'a', NULL, "Also those that ended", false },
    { "label", 0, "TEXT", "With this label", true },
    { "check", 0, "[=exit|nagios]", "Judge", false },
    { 0 },
};
static const struct command_help list_help = { "List moves", "Newest first.\n",
                                               "tool move list\ntool move list -n 5 a\n" };
static const struct command_help move_help = { "Moves", NULL, NULL };
static const struct command_help need_help = { "Needs one", "", "tool need a\n" };
static const struct command_help root_help = { "A tool", NULL, "" };
static const struct command move_children[] = {
    { "list", "[POOL...]", 0, 2, COMMAND_READS, list_options, &list_help, run_list, NULL, NULL },
    { 0 },
};
static const struct command children[] = {
    { "move", NULL, 0, 0, COMMAND_READS, NULL, &move_help, NULL, move_children, NULL },
    { "need", "POOL", 1, 1, COMMAND_WRITES, list_options, &need_help, run_list, NULL, NULL },
    { 0 },
};
static const struct command_synonym synonyms[] = { { "transfer", "move" }, { 0 } };
static const struct command root = {
    .name = "tool", .help = &root_help, .children = children, .synonyms = synonyms
};

enum { ARGUMENTS = 10 };

static const struct {
    const char *words[ARGUMENTS];
    int code;
    const char *seen;   /* by the command */
    const char *errors; /* on standard error; NULL: not looked at */
} runs[] = {
    { { "move", "list" }, 2, "list: config=- limit=9 all=0 ", "" },
    { { "-c", "f", "move", "list", "a", "--limit=3", "b", "-a" },
      2,
      "list: config=f limit=3 all=1 [a][b]",
      "" },
    { { "move", "list", "--label", "x", "--label=y=z", "--config", "-c" },
      2,
      "list: config=-c limit=9 all=0 label=x label=y=z ",
      "" },
    { { "move", "list", "--", "--all", "-" }, 2, "list: config=- limit=9 all=0 [--all][-]", "" },
    { { "need", "move" }, 2, "need: config=- limit=9 all=0 [move]", "" },
    { { "mvoe" },
      64,
      "",
      "tool: unknown command \"mvoe\", did you mean \"move\"?\n"
      "Run \"tool --help\" for how to use it.\n" },
    { { "move", "xyzzy" },
      64,
      "",
      "tool move: unknown command \"xyzzy\"\nRun \"tool move --help\" for how to use it.\n" },
    { { "move", "list", "--limt", "3" },
      64,
      "",
      "tool move list: unknown option --limt, did you mean --limit?\n"
      "Run \"tool move list --help\" for how to use it.\n" },
    { { "move", "list", "--xyzzy" },
      64,
      "",
      "tool move list: unknown option --xyzzy\n"
      "Run \"tool move list --help\" for how to use it.\n" },
    { { "move", "list", "-x" },
      64,
      "",
      "tool move list: unknown option -x\nRun \"tool move list --help\" for how to use it.\n" },
    { { "move", "list", "-n5" },
      64,
      "",
      "tool move list: unknown option -n5: write -n and its value apart\n"
      "Run \"tool move list --help\" for how to use it.\n" },
    { { "move", "list", "--limit" },
      64,
      "",
      "tool move list: --limit needs a value: COUNT\n"
      "Run \"tool move list --help\" for how to use it.\n" },
    { { "move", "list", "--check", "a" }, 2, "list: config=- limit=9 all=0 check=1 [a]", "" },
    { { "move", "list", "--check=nagios" }, 2, "list: config=- limit=9 all=0 check=nagios1 ", "" },
    { { "move", "list", "--check=icinga" },
      64,
      "",
      "tool move list: --check: \"icinga\" is none of [=exit|nagios]\n"
      "Run \"tool move list --help\" for how to use it.\n" },
    { { "move", "list", "--all=1" },
      64,
      "",
      "tool move list: --all takes no value\n"
      "Run \"tool move list --help\" for how to use it.\n" },
    { { "move", "list", "-n", "1", "-n", "2" },
      64,
      "",
      "tool move list: --limit is given twice\n"
      "Run \"tool move list --help\" for how to use it.\n" },
    { { "move", "list", "-n", "11" },
      64,
      "",
      "tool move list: --limit: expected a whole number from 1 to 10, found \"11\"\n" },
    { { "move", "list", "a", "b", "c" },
      64,
      "",
      "tool move list: unexpected argument \"c\"\n"
      "Run \"tool move list --help\" for how to use it.\n" },
    { { "need" },
      64,
      "",
      "tool need: an argument is missing: POOL\n"
      "Run \"tool need --help\" for how to use it.\n" },
    { { "help", "nede" },
      64,
      "",
      "tool: unknown command \"nede\", did you mean \"need\"?\n"
      "Run \"tool --help\" for how to use it.\n" },
    { { "transfer" },
      64,
      "",
      "tool: unknown command \"transfer\", did you mean \"move\"?\n"
      "Run \"tool --help\" for how to use it.\n" },
    { { "help", "exit-codes" }, 0, "", "" },
    { { "--version" },
      64,
      "",
      "tool: unknown option --version\nRun \"tool --help\" for how to use it.\n" },
    { { "move" }, 64, "", NULL },
    { { NULL }, 64, "", NULL },
    { { "need", "--help" }, 0, "", "" },
    { { "move", "list", "a", "b", "c", "-h" }, 0, "", "" },
    { { "help" }, 0, "", "" },
};

/* Runs with one of the standard streams in a file; returns what was written there. */
static struct text *capture(int stream, const char *const *words, int *ret_code)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = text_format("%s/out", folder);
    char *argv[ARGUMENTS + 2] = { mem_copy_chars("tool") };
    int argc = 1, kept, fd;

    while (argc <= ARGUMENTS && words[argc - 1]) {
        argv[argc] = mem_copy_chars(words[argc - 1]);
        argc++;
    }
    fflush(NULL);
    kept = dup(stream);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    require(kept >= 0 && fd >= 0 && dup2(fd, stream) == stream);
    *ret_code = command_main(&root, common, argc, argv);
    fflush(NULL);
    require(dup2(kept, stream) == stream);
    close(kept);
    close(fd);
    for (int i = 0; i < argc; i++)
        mem_free(argv[i]);
    return file_read(path, 65536, NULL);
}

static void parses_or_says_what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        owned(text) struct text *errors = NULL;
        int code;

        seen = text_new(4096);
        errors = capture(STDERR_FILENO, runs[i].words, &code);
        print_message("    %s\n", errors->chars);
        assert_string_equal(seen->chars, runs[i].seen);
        assert_int_equal(code, runs[i].code);
        if (runs[i].errors)
            assert_string_equal(errors->chars, runs[i].errors);
        text_free(steal(&seen));
    }
}

static const char list_page[] = "List moves\n"
                                "\n"
                                "Usage: tool move list [OPTIONS] [POOL...]\n"
                                "\n"
                                "Newest first.\n"
                                "\n"
                                "Options:\n"
                                "  -n, --limit COUNT          How many at most\n"
                                "  -a, --all                  Also those that ended\n"
                                "      --label TEXT           With this label (may be repeated)\n"
                                "      --check[=exit|nagios]  Judge\n"
                                "  -c, --config FILE          The configuration\n"
                                "  -h, --help                 show this help\n"
                                "\n"
                                "Examples:\n"
                                "  tool move list\n"
                                "  tool move list -n 5 a\n";

static void the_help_of_a_command_is_one_page(void **state)
{
    static const char *const by_word[] = { "help", "move", "list", NULL };
    static const char *const by_option[] = { "move", "list", "--help", NULL };
    int code;
    owned(text) struct text *first = capture(STDOUT_FILENO, by_word, &code);
    owned(text) struct text *second = capture(STDOUT_FILENO, by_option, &code);

    (void)state;
    assert_string_equal(first->chars, list_page);
    assert_string_equal(second->chars, list_page);
    assert_int_equal(code, 0);
}

static void the_help_of_a_group_lists_its_commands(void **state)
{
    owned(text) struct text *page = text_new(4096);

    (void)state;
    command_help(&root, &root, common, page);
    assert_string_equal(page->chars, "A tool\n"
                                     "\n"
                                     "Usage: tool COMMAND [OPTIONS]\n"
                                     "\n"
                                     "Commands:\n"
                                     "  move  Moves\n"
                                     "  need  Needs one\n"
                                     "\n"
                                     "Options:\n"
                                     "  -c, --config FILE  The configuration\n"
                                     "  -h, --help         show this help\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_or_says_what_is_wrong),
        cmocka_unit_test(the_help_of_a_command_is_one_page),
        cmocka_unit_test(the_help_of_a_group_lists_its_commands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
