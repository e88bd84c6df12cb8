/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Times as people read them on a terminal: all in the zone of the schedules, each with its
 * abbreviation ("2026-11-17 07:12 EST").  Answers have times in UTC (RFC 3339), also within
 * sentences; here is where all of them are changed.
 */
#pragma once

#include "base/text.h"

#include <stdbool.h>

/* Begins a command: in UTC until a zone is known, or always.  Before the first call texts stay as
   they are. */
void times_begin(bool is_utc);

/* The zone by its name in the IANA database; one that this machine does not know changes nothing.
   NULL is legal. */
void times_use_zone(const char *name);

/* A copy of the text, in which each time in UTC is one of that zone; seconds only where they are
   not zero.  The caller frees it with mem_free(). */
char *times_local(const char *chars) __attribute__((returns_nonnull, warn_unused_result));
