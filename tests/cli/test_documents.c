/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The documents hold tables that are made from the code's own tables.
 */
#include "broker/api/api.h"
#include "broker/config/config.h"
#include "broker/transfer/steps.h"
#include "tests/cli/said.h"
#include "tests/support/document.h"
#include "tests/support/folder.h"

enum { DOCUMENT_LIMIT = 1 << 20 };

/* A bar would end the cell. */
static void add_escaped(const char *chars, struct text *out)
{
    for (; *chars; chars++)
        text_add(out, "%s%c", *chars == '|' ? "\\" : "", *chars);
}

static void add_commands(struct text *out)
{
    text_add(out, "| command | what it does | changes something |\n|---|---|---|\n");
    for (const struct command *command = sluice_commands.children; command->name; command++) {
        text_add(out, "| `sluice %s%s", command->name, command->arguments[0] ? " " : "");
        add_escaped(command->arguments, out);
        text_add(out, "` | %s | %s |\n", command->help->summary,
                 command->mode == COMMAND_WRITES ? "yes" : "no");
    }
}

static void add_diagram(struct text *out)
{
    text_add(out, "```mermaid\n");
    steps_diagram(out);
    text_add(out, "```\n");
}

static void add_steps(struct text *out)
{
    text_add(out, "| step | what it does | if late | can be undone |\n|---|---|---|---|\n");
    for (int i = 0; i < STEP_COUNT; i++) {
        const struct step *step = &transfer_steps[i];
        const char *late = step->late == LATE_OWN    ? "has its own deadline"
                           : step->late == LATE_UNDO ? "goes back"
                           : step->late == LATE_NEXT ? "goes on"
                           : step->late == LATE_BACK ? "another attempt"
                                                     : "keeps trying, calls for a person";

        text_add(out, "| %s | %s | %s | %s |\n", step->name, step->does, late, step_way_back(i));
    }
}

static void add_roles(struct text *out)
{
    text_add(out, "| role | what it may do more |\n|---|---|\n");
    for (int i = ACCESS_VIEWER; i < ACCESS_ROLE_COUNT; i++)
        text_add(out, "| `%s` | %s |\n", access_role_name((enum access_role)i),
                 access_role_help((enum access_role)i));
}

/* The example's figures, with the command that people are told to give. */
static void add_wait(struct text *out)
{
    static const char line[] =
        "wait --slots 16 --iteration 10ms --iteration-per-request 0.5ms --tokens-out 200 "
        "--rate 40/s --replicas 10";
    owned(test_folder) char *folder = test_folder_new();
    owned(said) struct said said = expect_code(folder, 0, line);

    text_add(out, "```\n$ sluice %s\n%s```\n", line, said.out->chars);
}

static const struct {
    const char *path;
    const char *name;
    void (*add)(struct text *out);
} tables[] = {
    { "README.md", "commands", add_commands },
    { "ARCHITECTURE.md", "diagram", add_diagram },
    { "ARCHITECTURE.md", "steps", add_steps },
    { "broker/README.md", "settings", config_document },
    { "windows/ENGINES.md", "wait", add_wait },
    { "docs/access.md", "roles", add_roles },
    { "docs/access.md", "routes", api_document },
};

static void documents_say_what_the_code_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        owned(text) struct text *want = text_new(DOCUMENT_LIMIT);

        tables[i].add(want);
        document_check(tables[i].path, tables[i].name, want->chars);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_say_what_the_code_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
