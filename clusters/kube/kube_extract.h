/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inside clusters/ only: extracts from one JSON object, as its bytes arrive, the members that
 * sluice reads.  The rest, which is most of it, never reaches the decoder.  It is not even checked
 * to be JSON; damage in it may also lose members beside it.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* A wanted member, in an array whose last name is NULL.  If its value is an object, or an array of
   objects, `members` are those that are wanted of it; NULL: all. */
struct kube_member {
    const char *name;
    const struct kube_member *members;
};

struct kube_extract;

/* source, for errors, and members (NULL: all) must outlive it. */
struct kube_extract *kube_extract_new(const char *source, const struct kube_member *members)
    __attribute__((returns_nonnull, warn_unused_result));
void kube_extract_free(struct kube_extract *extract);

/* Reads up to the end of the object, and returns what comes after it; the first byte of an object
   is its '{'.  An object may have 4 MiB of wanted members, 16 MiB in all, and 1,000 brackets open.
 */
const char *kube_extract_add(struct kube_extract *extract, const char *bytes, const char *end,
                             struct error *err) __attribute__((warn_unused_result));

/* The object that was read last; NULL while one is under way.  Borrowed, until the next begins. */
const struct text *kube_extract_result(const struct kube_extract *extract)
    __attribute__((warn_unused_result));
