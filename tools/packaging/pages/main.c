/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of the build, not of the product: writes the manual pages and the completions for shells
 * from the tables that the programs themselves use.
 *
 *     sluice-pages FOLDER VERSION DATE
 *
 * makes FOLDER/man/sluice.1, FOLDER/man/sluice-COMMAND.1, FOLDER/man/sluice-simulator.1,
 * FOLDER/completion/sluice (bash), _sluice (zsh) and sluice.fish.
 */
#include "base/file.h"
#include "broker/terminal/commands.h"
#include "tools/packaging/pages/completion.h"
#include "tools/packaging/pages/man_page.h"
#include "tools/simulator/command.h"

#include <stdio.h>

static const struct command_option no_options[] = { { 0 } };

static int write_text(const char *folder, const char *name, const struct text *text,
                      struct error *err)
{
    owned(chars) char *path = text_format("%s/%s", folder, name);

    return file_write(path, text->chars, text->length, 0644, err);
}

static int write_man_page(const char *folder, const struct manual *manual,
                          const struct command *command, struct error *err)
{
    owned(text) struct text *page = text_new(TEXT_UNBOUNDED);
    owned(chars) char *name = man_page_name(manual->root, command);
    owned(chars) char *file = text_format("%s.1", name);

    man_page_print(page, manual, command);
    return write_text(folder, file, page, err);
}

static int write_man_pages(const char *folder, const struct manual *manual, struct error *err)
{
    if (write_man_page(folder, manual, manual->root, err) < 0)
        return -1;
    for (const struct command *at = manual->root->children; at && at->name; at++)
        if (write_man_page(folder, manual, at, err) < 0)
            return -1;
    return 0;
}

static int write_completions(const char *folder, struct error *err)
{
    static const struct {
        const char *name;
        void (*print)(struct text *out, const struct command *root,
                      const struct command_option *common);
    } shells[] = {
        { "sluice", completion_bash },
        { "_sluice", completion_zsh },
        { "sluice.fish", completion_fish },
    };

    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        owned(text) struct text *script = text_new(TEXT_UNBOUNDED);

        shells[i].print(script, &sluice_commands, sluice_common_options);
        if (write_text(folder, shells[i].name, script, err) < 0)
            return -1;
    }
    return 0;
}

static int write_all(const char *folder, const char *version, const char *date, struct error *err)
{
    owned(chars) char *man = text_format("%s/man", folder);
    owned(chars) char *completion = text_format("%s/completion", folder);
    const struct manual sluice = { &sluice_commands, sluice_common_options, version, date };
    const struct manual simulator = { &simulator_command, no_options, version, date };

    if (file_make_folder(man, 0755, err) < 0 || file_make_folder(completion, 0755, err) < 0)
        return -1;
    if (write_man_pages(man, &sluice, err) < 0 || write_man_pages(man, &simulator, err) < 0)
        return -1;
    return write_completions(completion, err);
}

int main(int argc, char **argv)
{
    struct error err = { 0 };

    mem_setup();
    if (argc != 4) {
        fprintf(stderr, "usage: sluice-pages FOLDER VERSION DATE\n");
        return EXIT_USAGE;
    }
    if (write_all(argv[1], argv[2], argv[3], &err) < 0) {
        fprintf(stderr, "sluice-pages: %s\n", err.text);
        return EXIT_ERROR;
    }
    return EXIT_DONE;
}
