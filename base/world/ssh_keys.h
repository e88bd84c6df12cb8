/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pinned host keys: the keys that a machine may show.  Pure functions.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* 0: the text has at least one key, each of a type that sluice takes (ssh-ed25519, ecdsa-sha2-*)
   and none that cannot be read.  Keys are on lines of their own, or have commas between them; what
   follows a key on its line is a comment.  -1: ERROR_INVALID. */
int ssh_keys_check(const char *pinned, struct error *err) __attribute__((warn_unused_result));

/* Whether the key in SSH's wire format is among the pinned ones. */
bool ssh_keys_hold(const char *pinned, const char *key, size_t size);

/* Appends the types to ask the machine for, with commas between them: first those of the pinned
   keys, then all others.  So a machine that lost its pinned key still shows which one it has. */
void ssh_keys_add_types(const char *pinned, struct text *out);

/* Appends "SHA256:..." as ssh-keygen -l prints it. */
void ssh_keys_add_fingerprint(const void *key, size_t size, struct text *out);

/* The same for each pinned key, with " or " between them. */
void ssh_keys_add_fingerprints(const char *pinned, struct text *out);
