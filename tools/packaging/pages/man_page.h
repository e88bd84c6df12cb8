/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Manual pages, in the macros of man(7), made of a command's tables and help.  The prose of the
 * help is wrapped text: paragraphs, and lists whose items begin with "- ".
 */
#pragma once

#include "base/input/options.h"

/* What all pages of one release have in common. */
struct manual {
    const struct command *root;          /* the program */
    const struct command_option *common; /* options that every command takes */
    const char *version;
    const char *date; /* YYYY-MM-DD */
};

/* "sluice-status" for a command of a program, "sluice" for the program itself.  The caller frees
   it. */
char *man_page_name(const struct command *root, const struct command *command)
    __attribute__((returns_nonnull, warn_unused_result));

/* Appends the page of the program, or of one of its commands. */
void man_page_print(struct text *out, const struct manual *manual, const struct command *command);
