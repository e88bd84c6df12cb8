/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The words for a queue's targets in sentences for people: one row for each figure.
 */
#pragma once

#include "windows/queueing/replay_result.h"

struct target_words {
    const char *one;  /* "a first token takes" */
    const char *many; /* "first tokens take" */
    int digits;       /* digits of its seconds after the point */
};

struct target_words target_words(enum replay_figure figure);

/* The words of a figure as JSON names it (search_target_name()); any other name gives those of the
   wait. */
struct target_words target_words_named(const char *name);
