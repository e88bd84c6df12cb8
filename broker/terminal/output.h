/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What commands print for people: times in one zone (times.h), and colours where the terminal has
 * them (colors.h).
 */
#pragma once

#include "base/input/options.h"
#include "base/text.h"

#include <stdbool.h>

/* Whether standard output of the command gets colours. */
bool output_has_colors(const struct command_call *call);

/* Prints whole lines on standard output. */
void output_print(const struct command_call *call, const char *lines);
