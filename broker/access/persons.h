/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which person stands behind a name that events record (access.h): "ada", "root (login ada)" and
 * "ada@example.com" are one.  For acts that need two persons, a doubt counts as the same person.
 */
#pragma once

#include <stdbool.h>

/* The person, in lower case; "" when the name is of none that is known: root without a login, or a
   user without a name.  The caller frees it with mem_free(). */
char *person_behind(const char *name) __attribute__((returns_nonnull, warn_unused_result));

/* Whether the names are of two persons, both known. */
bool persons_differ(const char *name, const char *other);

/* Whether the names are one, or of one person who is known. */
bool persons_agree(const char *name, const char *other);
