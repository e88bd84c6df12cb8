/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * --watch: an answer of the service, asked for again every two seconds.
 */
#pragma once

#include "base/input/options.h"
#include "broker/config/config.h"

#include <jansson.h>

/* The option of commands that can watch: a row for an array of struct command_option. */
/* clang-format off */
#define WATCH_OPTION                                                                               \
    { "watch", 'w', NULL,                                                                          \
      "look again every two seconds: on a terminal as a screen, else as JSON lines", false }
/* clang-format on */

struct watch_view {
    bool is_open;   /* groups row by row */
    size_t columns; /* of the screen */
};

struct watched {
    const char *path; /* of the service's API */
    void (*draw)(const json_t *answer, struct watch_view view, struct text *out);
    bool is_tail; /* the newest row is the last one */
};

/* Until a person ends it; returns the exit code.  While the service does not answer, the screen
   keeps the last answer and says so.  Only a first look that fails ends the command. */
int watch_run(const struct command_call *call, const struct config *config,
              const struct watched *watched);
