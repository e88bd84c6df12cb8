/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of the unix groups that the configuration names.
 *
 * Each group is asked for once when it is added.  A group that is not found then is asked for again
 * by groups_retry(): after 2 s, then after twice the time, up to 5 minutes.  One question asks for
 * one group, and a thread waits for the answer, because a directory server may take minutes.
 */
#pragma once

#include "base/error.h"
#include "base/world/loop.h"

#include <stddef.h>
#include <sys/types.h>

struct groups;

struct groups *groups_new(void) __attribute__((returns_nonnull, warn_unused_result));
void groups_free(struct groups *groups);

/* Adds the group of that name or number, and waits for the answer.  Only before groups_retry().
   Returns its index. */
size_t groups_add(struct groups *groups, const char *name);

/* The group's number.  -1 and the reason (err may be NULL): it is not known, see names_group(). */
int groups_number(const struct groups *groups, size_t index, gid_t *ret_number, struct error *err)
    __attribute__((warn_unused_result));

/* Asks again for the groups whose number is not known, and calls heard(context) in the loop after
   each answer.  libevent loops only. */
void groups_retry(struct groups *groups, struct loop *loop, void (*heard)(void *context),
                  void *context);

/* Asks no more.  It does not wait for the question under way.  Before the loop is freed. */
void groups_stop(struct groups *groups);

static inline void owned_groups(struct groups **groups)
{
    groups_free(*groups);
}
