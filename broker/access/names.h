/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The names of this machine's users and groups.  A directory server may be behind them (LDAP), so a
 * question can take long or fail: answers about users are kept for a while, and a failure is not
 * "there is none".
 */
#pragma once

#include "base/error.h"
#include "base/timestamp.h"
#include "base/world/loop.h"

#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { NAMES_KEPT_MOST = 1024, NAMES_AGE_MS = 60 * SECOND_MS };

struct names;

struct names *names_new(void) __attribute__((returns_nonnull, warn_unused_result));
void names_free(struct names *names);

/* The user's name, or "uid 1000" if that is not known; asked again after NAMES_AGE_MS.  It asks
   here and now, unless names_has() the user. */
void names_user(struct names *names, uid_t uid, struct wall_time now, char *out, size_t size);

/* Whether the user's name was found out less than NAMES_AGE_MS ago. */
bool names_has(const struct names *names, uid_t uid, struct wall_time now);

/* is_over: names_stop() was called, and nothing is known. */
typedef void (*names_done_fn)(void *context, bool is_over);

/* Finds the name out in a thread, because a directory server may not answer, and then calls `done`
   in the loop; names_has() the user then.  Only while names_has() is false. */
void names_learn(struct names *names, struct loop *loop, uid_t uid, names_done_fn done,
                 void *context);

/* Waits for a question that is under way, and calls what names_learn() has not called yet. */
void names_stop(struct names *names);

/* The number of the group with this name, or that the name writes as a number.  ERROR_INVALID:
   there is none.  ERROR_TRANSIENT: it cannot be found out now. */
int names_group(const char *name, gid_t *ret_group, struct error *err)
    __attribute__((warn_unused_result));

/* For tests: what is asked instead of getpwuid_r() and getgrnam_r(); NULL restores. */
struct names_source {
    int (*user)(uid_t uid, struct passwd *entry, char *buffer, size_t size, struct passwd **found);
    int (*group)(const char *name, struct group *entry, char *buffer, size_t size,
                 struct group **found);
};
void names_set_source(const struct names_source *source);

static inline void owned_names(struct names **names)
{
    names_free(*names);
}
