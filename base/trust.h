/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who may change the file at a path.  Root and the service's own user may.  Any other user who may
 * write the file, a folder above it or a link on the way to it could decide what we read or run.  A
 * folder with the sticky bit, in which each user may remove only own files, is accepted.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

enum trust {
    TRUST_OURS,   /* only root and we may change it */
    TRUST_GROUP,  /* so may the members of a group */
    TRUST_OTHERS, /* so may all users, or another user who owns it */
};

/* Opens the file for reading, and checks who may change it.  `flags` are added to those of open():
   with O_PATH the file is only examined.  The path is walked folder by folder. ret_trust gets the
   worst result on the way; ret_why names that place as "PATH: sentence" with the kind
   ERROR_DENIED.  The opened file is the one that was checked.  Returns the descriptor, or -1 with
   err: ERROR_NOT_FOUND, ERROR_DENIED (may not be read). */
int trust_open(const char *path, int flags, enum trust *ret_trust, struct error *ret_why,
               struct error *err) __attribute__((warn_unused_result));

/* As file_read(), for a file that holds credentials or decides about them.  ERROR_DENIED if other
   users may change it; a group may, see trust_look(). */
struct text *trust_read(const char *path, size_t limit, struct error *err)
    __attribute__((warn_unused_result));

/* As ssh does: what every user can read is no secret any more.  0 or -1: ERROR_DENIED, and others
   if the file cannot be examined. */
int trust_check_secrecy(const char *path, struct error *err) __attribute__((warn_unused_result));

/* A file that is run: only root and we may change it.  0 or -1: ERROR_DENIED, ERROR_NOT_FOUND. */
int trust_program(const char *path, struct error *err) __attribute__((warn_unused_result));

/* Who may change it, without reading it.  A file that cannot be examined gives TRUST_OURS, because
   reading it will report the error. */
enum trust trust_look(const char *path, struct error *ret_why);
