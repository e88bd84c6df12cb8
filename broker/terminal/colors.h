/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Colours for words that say how things are: those that begin a line, those of a table's column
 * STATE, and the signs of a plan.  They are added to lines that are laid out and cut already, so no
 * text from elsewhere gets one by itself, and nothing is said by colour alone.
 */
#pragma once

#include "base/input/options.h"
#include "base/text.h"

#include <stdbool.h>

/* The option of all commands: a row for an array of struct command_option. */
/* clang-format off */
#define COLOR_OPTION                                                                               \
    { "color", 0, "auto|always|never",                                                             \
      "colours (default auto: on a terminal, unless $NO_COLOR is set or $TERM is dumb)", false }
/* clang-format on */

/* Whether that --color (NULL: auto) means colours; is_terminal: where they would be printed. */
bool colors_wanted(const char *option, bool is_terminal, const char *no_color, const char *term);

/* Adds the lines to `out`, with colours. */
void colors_add(const char *lines, struct text *out);
