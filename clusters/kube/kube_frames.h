/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of a watch as events.  Bytes come in any pieces; an event may be 4 MiB long.
 */
#pragma once

#include "base/error.h"
#include "clusters/kube/kube_extract.h"

#include <jansson.h>
#include <stddef.h>

struct kube_frames;

enum kube_event_type {
    KUBE_EVENT_SET, /* ADDED or MODIFIED */
    KUBE_EVENT_DELETED,
    KUBE_EVENT_BOOKMARK,
};

/* object is borrowed, for the call only.  Returns 0, or -1 when the event cannot be used: the
   stream is then ended. */
typedef int (*kube_event_fn)(void *context, enum kube_event_type type, const json_t *object,
                             struct error *err);

/* members are those wanted of an object (NULL: all); they must outlive it. */
struct kube_frames *kube_frames_new(const struct kube_member *members, kube_event_fn on_event,
                                    void *context)
    __attribute__((returns_nonnull, warn_unused_result));
void kube_frames_free(struct kube_frames *frames);

/* Forgets what has not been read: a new stream begins. */
void kube_frames_reset(struct kube_frames *frames);

/* Returns how many events ended with these bytes. -1 when one is too long or not an event, when
   on_event() refused it, or when it is an event ERROR of the server (err is then the same as
   for an HTTP answer with that Status).  No event is passed on after that, until the reset. */
int kube_frames_add(struct kube_frames *frames, const char *bytes, size_t size, struct error *err)
    __attribute__((warn_unused_result));
