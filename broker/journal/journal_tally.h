/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The tally of a journal: a small file beside it (JOURNAL.tally) that says how many commits were
 * acknowledged.  SQLite reads a write-ahead log until the first frame that does not fit, and takes
 * what follows for what was never written; so a flipped bit, or an old copy in the journal's place,
 * loses acknowledged commits.  The journal counts its commits too: fewer than the tally
 * says is a loss.
 *
 * The tally is written after the commit, and never synced: it may stay behind, and is never ahead.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* The content of a tally: the number of commits, -1 when there is none, -2 when it cannot be
   read. */
enum { TALLY_MISSING = -1, TALLY_UNREADABLE = -2 };
int64_t tally_read(const char *journal_path) __attribute__((warn_unused_result));

/* Opens it to be written, and makes it where it is missing; the descriptor, or -1. */
int tally_open(const char *journal_path, struct error *err) __attribute__((warn_unused_result));

/* False when it cannot be written: it stays behind then. */
bool tally_write(int fd, int64_t commits);
