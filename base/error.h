/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Errors are values that live on the caller's stack: a kind, which says what the caller may do
 * about it, and one sentence for people.  There is nothing to free.
 *
 * A function that can fail returns int (0 or -1) or a pointer (NULL on failure), takes
 * `struct error *err` last, and leaves its other outputs untouched on failure.  The leaf writes
 * the sentence, each layer may prefix it once with error_context(), and the layer that decides not
 * to pass it on logs it, once.
 *
 *     if (file_read(path, limit, &bytes, err) < 0)
 *         return error_context(err, "schedule of window %s", name);
 */
#pragma once

#include <stdint.h>

enum error_kind {
    ERROR_NONE,
    ERROR_TRANSIENT,       /* did not happen; try again after a backoff */
    ERROR_THROTTLED,       /* did not happen; wait err->retry_after_ms */
    ERROR_NO_CAPACITY,     /* did not happen; the cloud has no machine now: plan again */
    ERROR_UNKNOWN_OUTCOME, /* may have happened: look before you repeat it */
    ERROR_NOT_FOUND,       /* the object is not there */
    ERROR_CONFLICT,        /* another writer was first, or it exists already: read again */
    ERROR_DENIED,          /* refused by permission, policy or quota: a person must act */
    ERROR_INVALID,         /* the input is wrong: correct it */
    ERROR_CORRUPT,         /* stored data or an answer does not make sense */
    ERROR_BUG,             /* our own mistake */
    ERROR_KIND_COUNT,
};

enum { ERROR_TEXT_SIZE = 512 };

/* A reason that code must tell from others of the same kind.  Each is a constant of the module that
   reports it, and is compared by its address. */
struct error_cause {
    const char *name; /* "disruption budget" */
};

struct error {
    enum error_kind kind;
    const struct error_cause *cause; /* NULL: no reason that code tells apart */
    int64_t retry_after_ms; /* least time to wait; 0: no server asked for one.  Only error_wait()
                               sets what a server asks for */
    int leaf;               /* offset in `text` of what the leaf wrote */
    char text[ERROR_TEXT_SIZE];
};

/* Sets kind and sentence.  err may be NULL.  Keeps errno.  A text that is cut ends in "+".
   Always -1, so that `return error_set(...)` is one line. */
int error_set(struct error *err, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As error_set(), with ": " and the text of errno at the end. */
int error_errno(struct error *err, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "CONTEXT: " in front of the sentence; kind and cause stay.  Always -1. */
int error_context(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets the cause of an existing error; err may be NULL.  Always -1. */
int error_because(struct error *err, const struct error_cause *cause);

/* The sentence without the contexts in front of it.  Borrowed from err. */
const char *error_leaf(const struct error *err) __attribute__((returns_nonnull));

/* Notes that a server asked for a pause.  At most five minutes of it count, because one answer must
   not stop requests to a URL for a day.  If the server asked for more, the sentence says so first.
   err may be NULL; nothing changes for 0. */
enum { ERROR_WAIT_MOST_MS = 5 * 60 * 1000 };
void error_wait(struct error *err, int64_t asked_ms);

/* The kind in lower case with underscores: "unknown_outcome".  Never NULL. */
const char *error_kind_name(enum error_kind kind);

/* The kind with this name from error_kind_name(); ERROR_BUG for an unknown name. */
enum error_kind error_kind_of_name(const char *name);
