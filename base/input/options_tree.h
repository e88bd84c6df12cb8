/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What options.c (parsing, answers) and options_help.c (pages) share; private to them.
 */
#pragma once

#include "base/input/options.h"

/* The child of that name, or NULL. */
const struct command *command_find_child(const struct command *command, const char *name);

/* The option of that name in a table that ends with an empty entry, or NULL. */
const struct command_option *option_find(const struct command_option *table, const char *name);

/* Appends "sluice status"; nothing when the command is not in the tree. */
void command_add_path(struct text *out, const struct command *root, const struct command *command);
