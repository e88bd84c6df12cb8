/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See output.h.
 */
#include "broker/terminal/output.h"

#include "broker/terminal/colors.h"
#include "broker/terminal/times.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool output_has_colors(const struct command_call *call)
{
    return colors_wanted(call_text(call, "color"), isatty(STDOUT_FILENO), getenv("NO_COLOR"),
                         getenv("TERM"));
}

void output_print(const struct command_call *call, const char *lines)
{
    owned(chars) char *local = times_local(lines);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

    text_tame(local, true);
    if (output_has_colors(call))
        colors_add(local, out);
    fputs(output_has_colors(call) ? out->chars : local, stdout);
}
