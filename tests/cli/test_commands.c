/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Commands without a service: what the help says, how a mistake is answered, and that a broken
 * configuration is named by file, line and key while nothing is written.
 */
#include "tests/cli/said.h"
#include "tests/cli/small_world.h"
#include "tests/support/golden.h"

#include <dirent.h>
#include <string.h>

/* Examples are to be copied as they are. */
static void expect_narrow(const char *name, const char *page)
{
    enum { COLUMNS = 100 };
    const char *end = strstr(page, "\nExamples:\n") ?: page + strlen(page);

    while (page < end) {
        size_t length = strcspn(page, "\n");

        if (length > COLUMNS)
            fail_msg("%s: %zu columns: %.*s", name, length, (int)length, page);
        page += length + 1;
    }
}

static void no_help_is_wider_than_100_columns(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(said) struct said all = expect_code(folder, 0, "--help");

    (void)state;
    expect_narrow("sluice", all.out->chars);
    for (const struct command *command = sluice_commands.children; command->name; command++) {
        owned(chars) char *line = text_format("%s --help", command->name);
        owned(said) struct said one = expect_code(folder, 0, line);

        expect_narrow(command->name, one.out->chars);
    }
}

static void the_help_of_each_command_is_as_reviewed(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(said) struct said all = expect_code(folder, 0, "--help");

    (void)state;
    golden_check("golden/cli/help.txt", all.out->chars);
    for (const struct command *command = sluice_commands.children; command->name; command++) {
        owned(chars) char *long_form = text_format("%s --help", command->name);
        owned(chars) char *word_form = text_format("help %s", command->name);
        owned(chars) char *golden = text_format("golden/cli/help-%s.txt", command->name);
        owned(said) struct said one = expect_code(folder, 0, long_form);
        owned(said) struct said other = expect_code(folder, 0, word_form);

        golden_check(golden, one.out->chars);
        assert_string_equal(one.out->chars, other.out->chars);
    }
}

static const struct mistake mistakes[] = {
    { "statsu", 64, "did you mean \"status\"?" },
    { "help statsu", 64, "did you mean \"status\"?" },
    { "status --wach", 64, "did you mean --watch?" },
    { "status -x", 64, "unknown option -x" },
    { "status -o xml", 64, "json" },
    { "doctor -o name", 64, "csv" },
    { "cancel t-1", 64, "did you mean \"abort\"?" },
    { "drain", 64, "did you mean \"reclaim\"?" },
    { "help logs", 64, "did you mean \"events\"?" },
    { "health", 64, "did you mean \"status\"?" },
    { "alerts", 64, "did you mean \"status\"?" },
    { "report", 64, "did you mean \"backtest\"?" },
    { "abort t-1", 64, "--reason is required" },
    { "unfreeze --node= -c @/sluice.yaml", 64, "need a name" },
    { "freeze --cluster= --for 1h --reason x -c @/sluice.yaml", 64, "need a name" },
    { "wait --for settled --rate 1/s -c @/sluice.yaml", 64, "the closed form" },
    { "wait --for nothing -c @/sluice.yaml", 64, "neither settled" },
    { "wait --for nowhere=3 -c @/sluice.yaml", 64, "no cluster nowhere" },
    { "wait --for settled -c @/sluice.yaml", 1, "start it with `sluice serve --config " },
    { "abort --reason x", 64, "TRANSFER | MOVE | NODE" },
    { "abort t-1 --reason x --for 0s", 64, "--until TIME or --for DURATION" },
    { "abort t-1 --reason x -c @/sluice.yaml", 1, "start it with `sluice serve --config " },
    { "reclaim --to prod-a --reason x --nodes 1 -o csv -c @/sluice.yaml", 64, "`reclaim list`" },
    { "status --watch=2", 64, "takes no value" },
    { "status here", 64, "unexpected argument \"here\"" },
    { "transfers one two", 64, "unexpected argument \"two\"" },
    { "serve --log-level loud", 64, "loud is not a level" },
    { "reclaim", 64, "--to and --reason are required" },
    { "reclaim --to prod-a --reason x -c @/sluice.yaml", 64, "--nodes and --gpus" },
    { "reclaim --to prod-a --reason x --nodes 0 -c @/sluice.yaml", 64, "whole number from 1" },
    { "reclaim --to prod-a --reason x --nodes 1 --gpus 8 -c @/sluice.yaml", 64,
      "one of --nodes and --gpus" },
    { "approve a-1 --reject", 64, "--reject needs --reason" },
    { "approve --reject --reason x", 64, "--reject needs the ID" },
    { "approve a-1 -o csv", 64, "`approve list`" },
    { "approve a-1 -c @/sluice.yaml", 1, "start it with `sluice serve --config " },
    { "freeze --for 2h", 64, "--reason is required" },
    { "freeze --reason x -c @/sluice.yaml", 64, "--until TIME or --for DURATION" },
    { "freeze --reason x --for soon -c @/sluice.yaml", 64, "--for" },
    { "freeze --reason x --until tomorrow -c @/sluice.yaml", 64, "2026-11-17T12:12:05Z" },
    { "hosts lift", 64, "release HOST" },
    { "hosts release", 64, "release HOST" },
    { "hosts release one two", 64, "unexpected argument \"two\"" },
    { "hosts -c @/sluice.yaml", 1, "start it with `sluice serve --config " },
    { "status -c @/none.yaml", 1, "none.yaml" },
    { "status -c @/sluice.yaml", 1, "start it with `sluice serve --config " },
    { "transfers -c @/sluice.yaml", 1, "start it with `sluice serve --config " },
    { "plan --in-force -c @/sluice.yaml", 1, "start it with `sluice serve --config " },
    { "plan -c @/sluice.yaml", 1, "`sluice allocate` writes them" },
    { "apply @/none.json -c @/sluice.yaml", 1, "none.json" },
    { "freeze --reason x --for 1h -c @/sluice.yaml", 1, "start it with `sluice serve --config " },
    { "reclaim --to prod-a --reason x --nodes 1 -c @/sluice.yaml", 1, "no service answers at " },
};

static void a_mistake_is_answered_with_what_to_do(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *config = test_folder_write(folder, "sluice.yaml", small_config);
    owned(chars) char *schedules = text_format("%s/schedules", folder);
    struct error err;

    (void)state;
    assert_int_equal(file_make_folder(schedules, 0755, &err), 0);
    expect_mistakes(folder, mistakes, COUNT_OF(mistakes));
}

static void exit_codes_and_version_have_a_word_of_their_own(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(said) struct said codes = expect_code(folder, 0, "help exit-codes");
    owned(said) struct said option = expect_code(folder, 0, "--version");
    owned(said) struct said command = expect_code(folder, 0, "version");
    owned(said) struct said yaml = expect_code(folder, 0, "version -o yaml");

    (void)state;
    golden_check("golden/cli/exit-codes.txt", codes.out->chars);
    assert_string_equal(option.out->chars, command.out->chars);
    assert_true(text_starts_with(yaml.out->chars, "version: \""));
}

/* Each synonym names a command, and is none itself. */
static void synonyms_name_commands(void **state)
{
    const struct command_synonym *synonym = sluice_commands.synonyms;

    (void)state;
    for (; synonym->word; synonym++) {
        size_t known = 0;

        for (const struct command *command = sluice_commands.children; command->name; command++) {
            known += text_equal(command->name, synonym->command);
            assert_string_not_equal(command->name, synonym->word);
        }
        if (known != 1)
            fail_msg("%s: there is no command %s", synonym->word, synonym->command);
    }
}

/* The same name twice in a table would make the second one silent.  (A common option may be
   replaced.) */
static void expect_once(const struct command *command, const struct command_option *options)
{
    for (const struct command_option *option = options; option && option->name; option++) {
        for (const struct command_option *other = option + 1; other->name; other++)
            if (text_equal(option->name, other->name) ||
                (option->letter && option->letter == other->letter))
                fail_msg("%s: --%s and --%s are one option", command->name, option->name,
                         other->name);
    }
}

static void an_option_has_one_meaning(void **state)
{
    const struct command *command = sluice_commands.children;

    (void)state;
    expect_once(&sluice_commands, sluice_common_options);
    for (; command->name; command++) {
        expect_once(command, command->options);
        for (const struct command *other = command + 1; other->name; other++)
            if (text_equal(command->name, other->name) ||
                (command->options && command->options == other->options))
                fail_msg("%s and %s have one name or one table of options", command->name,
                         other->name);
    }
}

static int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* What is put behind the good configuration. */
static const struct {
    const char *lines;
    const char *says;
} breaks[] = {
    { "pol: 15s\n", "sluice.yaml:24: pol: " },
    { "poll: soon\n", "sluice.yaml:24: poll: " },
    { "guard: {attempts: 0}\n", "sluice.yaml:24: guard.attempts: " },
    { "guard:\n  fresh: [1]\n", "sluice.yaml:25: guard.fresh: " },
};

static void a_broken_configuration_starts_nothing(void **state)
{
    static const char *const lines[] = { "serve", "status", "transfers",
                                         "plan",  "apply",  "freeze --reason x --for 1h" };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(breaks); i++) {
        owned(chars) char *text = text_format("%s%s", small_config, breaks[i].lines);
        owned(chars) char *config = test_folder_write(folder, "sluice.yaml", text);

        for (size_t k = 0; k < COUNT_OF(lines); k++) {
            owned(chars) char *line = text_format("%s -c @/sluice.yaml", lines[k]);
            owned(said) struct said said = expect_code(folder, 1, line);

            if (!strstr(said.err->chars, breaks[i].says))
                fail_msg("sluice %s: lacks \"%s\":\n%s", line, breaks[i].says, said.err->chars);
            assert_int_equal(count_entries(folder), 3); /* ., .. and sluice.yaml */
        }
    }
}

static void a_broken_file_is_named_with_line_and_key(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *config = test_folder_write(folder, "sluice.yaml", small_config);
    owned(chars) char *schedules = text_format("%s/schedules", folder);
    owned(chars) char *day = NULL;
    owned(chars) char *plan = test_folder_write(folder, "plan.json", "{\"schedules\": 3}\n");
    struct error err;

    (void)state;
    assert_int_equal(file_make_folder(schedules, 0755, &err), 0);
    day = test_folder_write(folder, "schedules/day.yaml",
                            "workloads:\n  chat-2x:\n    prod-a: -12\n");
    for (int i = 0; i < 3; i++) {
        static const char *const lines[] = { "plan", "apply", "apply @/plan.json" };
        static const char *const says[] = { "day.yaml:3: workloads.chat-2x.prod-a: ",
                                            "day.yaml:3: workloads.chat-2x.prod-a: ",
                                            "plan.json: schedules: " };
        owned(chars) char *line = text_format("%s -c @/sluice.yaml", lines[i]);
        owned(said) struct said said = expect_code(folder, 1, line);

        if (!strstr(said.err->chars, says[i]))
            fail_msg("sluice %s: lacks \"%s\":\n%s", line, says[i], said.err->chars);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_help_is_wider_than_100_columns),
        cmocka_unit_test(the_help_of_each_command_is_as_reviewed),
        cmocka_unit_test(a_mistake_is_answered_with_what_to_do),
        cmocka_unit_test(a_broken_configuration_starts_nothing),
        cmocka_unit_test(a_broken_file_is_named_with_line_and_key),
        cmocka_unit_test(exit_codes_and_version_have_a_word_of_their_own),
        cmocka_unit_test(synonyms_name_commands),
        cmocka_unit_test(an_option_has_one_meaning),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
