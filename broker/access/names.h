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

enum {
    NAMES_KEPT_MOST = 1024,
    NAMES_AGE_MS = 60 * SECOND_MS, /* then a name is asked for again */
    NAMES_USED_MS = HOUR_MS,       /* so long the old one is used if no answer comes */
    NAMES_WAIT_MS = 5 * SECOND_MS, /* so long one waits for an answer */
};

struct names;

struct names *names_new(void) __attribute__((returns_nonnull, warn_unused_result));
void names_free(struct names *names);

/* The user's name, or "uid 1000" if that is not known.  It asks here and now, unless it asked less
   than NAMES_AGE_MS ago. */
void names_user(struct names *names, uid_t uid, struct wall_time now, char *out, size_t size);

/* Asks here and now, and keeps the answer for ever. */
void names_pin(struct names *names, uid_t uid);

/* The user's name, or "uid 1000" unless names_has() the user.  It never asks. */
void names_tell(const struct names *names, uid_t uid, struct wall_time now, char *out, size_t size);

/* Whether an answer about the user is known that may still be used: a name for NAMES_USED_MS, that
   there is none for NAMES_AGE_MS. */
bool names_has(const struct names *names, uid_t uid, struct wall_time now);

/* is_over: names_stop() was called, and nothing is known. */
typedef void (*names_done_fn)(void *context, bool is_over);

/* Finds the name out in a thread, because a directory server may not answer, and then calls `done`
   in the loop; after NAMES_WAIT_MS without an answer as well.  names_has() the user then.  Only
   while names_has() is false. */
void names_learn(struct names *names, struct loop *loop, uid_t uid, names_done_fn done,
                 void *context);

/* Asks again in the thread for a name that is older than NAMES_AGE_MS.  Nobody waits for it. */
void names_renew(struct names *names, struct loop *loop, uid_t uid);

/* Calls what names_learn() has not called yet.  It does not wait for a question that is under way:
   its answer is dropped. */
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
