/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Several files that belong together.  Each is first written in full beside its place.  When all
 * are written, they take their places, one rename after the other.  An error or a crash before the
 * renames leaves all old files.  A crash between two renames leaves files that end in ".new", which
 * file_set_is_cut_short() finds.
 */
#pragma once

#include "base/array.h"
#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct file_set {
    ARRAY(char *) paths; /* not in place yet */
};

/* Writes `path`.new, mode 0666 less the umask. */
int file_set_add(struct file_set *set, const char *path, const void *bytes, size_t size,
                 struct error *err) __attribute__((warn_unused_result));

/* Puts all in place.  After an error some may be; the others are gone. */
int file_set_place(struct file_set *set, struct error *err) __attribute__((warn_unused_result));

/* Removes what is not in place. */
void file_set_clear(struct file_set *set);

/* Whether an earlier set was replaced only in part (a `path`.new exists); forgets it if asked. */
bool file_set_is_cut_short(const char *path, bool forgets);

static inline void owned_file_set(struct file_set *set)
{
    file_set_clear(set);
}
