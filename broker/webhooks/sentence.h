/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The sentences of messages, for people.  A returned text is the caller's.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* Conditions in one message: further ones are only counted. */
enum { SENTENCE_CONDITIONS_MOST = 20 };

/* "s", or nothing for one. */
const char *sentence_plural(size_t number) __attribute__((returns_nonnull));

/* "3 nodes of research-a leave", with the name if it is one.  move: of the picture (picture.h). */
char *sentence_leaving(const json_t *move, const char *when)
    __attribute__((returns_nonnull, warn_unused_result));

/* "at 2025-11-17T12:30:00Z" */
char *sentence_when(const json_t *move) __attribute__((returns_nonnull, warn_unused_result));

/* "; 2 stay", or nothing. */
char *sentence_staying(const json_t *move) __attribute__((returns_nonnull, warn_unused_result));

struct sentence_change {
    const char *before, *after; /* the worst severity */
    const json_t *began;        /* conditions; with `severity_before` those that were told before */
    const json_t *ended;        /* conditions */
};

/* How health has changed: "Health was ok and is warning. Began: ..." */
char *sentence_health(const struct sentence_change *change)
    __attribute__((returns_nonnull, warn_unused_result));
