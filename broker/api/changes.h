/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): tells
 * readers that the service's state has changed.  An event carries the revision alone; what a reader
 * shows it asks for itself.
 *
 *     event: change
 *     data: {"revision":4711}
 *
 * All changes of a second are one event.  A comment line goes out when nothing has for 15 seconds,
 * so that proxies keep the connection.  A reader that does not keep up is dropped, and so is one
 * whose certificate or token has ended.
 *
 * Readers are functions, so tests play it in virtual time without sockets.
 */
#pragma once

#include "base/error.h"
#include "base/world/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct changes;

/* How many readers there may be in all, and of one person. */
enum { CHANGES_READERS_MOST = 64, CHANGES_PERSON_MOST = 8 };

struct changes_reader {
    void *context;         /* names the reader */
    const char *person;    /* whose readers count together; copied */
    struct wall_time ends; /* the reader is ended then; 0: not by time */
    /* False when the reader does not keep up: it is ended. */
    bool (*send)(void *context, const char *bytes, size_t size);
    /* Ends its connection; the reader is forgotten then. */
    void (*end)(void *context);
};

/* revision(context): another number after each change. */
struct changes *changes_new(struct loop *loop, uint64_t (*revision)(const void *context),
                            const void *context)
    __attribute__((returns_nonnull, warn_unused_result));

/* Ends all readers. */
void changes_free(struct changes *changes);

/* ERROR_THROTTLED: there are as many readers as may be. */
int changes_check(const struct changes *changes, const char *person, struct error *err)
    __attribute__((warn_unused_result));

/* Adds a reader that changes_check() allows, and sends it the revision at once.  One more than
   CHANGES_READERS_MOST is ended at once. */
void changes_add(struct changes *changes, const struct changes_reader *reader);

/* The reader has left: nothing is called for it any more. */
void changes_forget(struct changes *changes, const void *context);
