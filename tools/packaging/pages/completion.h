/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Completion for shells, made of the tables of a program with commands.  A shell then offers the
 * commands, the options of each, and the words that an option or an argument may be.  Names of
 * nodes and transfers are not offered: that would ask the service at each key.
 */
#pragma once

#include "base/input/options.h"

/* What a value may be.  The words of COMPLETE_WORDS are separated by spaces. */
enum complete_kind { COMPLETE_NOTHING, COMPLETE_WORDS, COMPLETE_FILE, COMPLETE_FOLDER };

/* What an option's argument says that its value is: "table|json", "FILE", "DIR", "N".  Appends the
   words. */
enum complete_kind complete_value(const char *argument, struct text *words);

/* The same for the first argument of a command: "{check,repair}", "[release HOST]", "[FILE...]". */
enum complete_kind complete_argument(const char *arguments, struct text *words);

/* Appends the script for one shell. */
void completion_bash(struct text *out, const struct command *root,
                     const struct command_option *common);
void completion_zsh(struct text *out, const struct command *root,
                    const struct command_option *common);
void completion_fish(struct text *out, const struct command *root,
                     const struct command_option *common);

/* Calls visit for each option of a command: its own, the common ones that it does not replace, and
   --help. */
typedef void completion_visit_fn(void *context, const struct command_option *option);
void completion_each_option(const struct command *command, const struct command_option *common,
                            completion_visit_fn *visit, void *context);
