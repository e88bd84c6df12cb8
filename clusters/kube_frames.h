/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of a watch, cut into events: one JSON object a line.  Bytes come in any pieces; a line
 * may be 4 MiB long.
 */
#pragma once

#include "base/error.h"
#include "base/memory.h"

#include <jansson.h>
#include <stddef.h>

struct kube_frames;

enum kube_event_type {
    KUBE_EVENT_SET, /* ADDED or MODIFIED */
    KUBE_EVENT_DELETED,
    KUBE_EVENT_BOOKMARK,
};

struct kube_event {
    enum kube_event_type type;
    json_t *frame;  /* owned */
    json_t *object; /* inside frame */
};

struct kube_frames *kube_frames_new(void) __attribute__((returns_nonnull, warn_unused_result));
void kube_frames_free(struct kube_frames *frames);

/* Forgets what has not been read: a new stream begins. */
void kube_frames_reset(struct kube_frames *frames);

void kube_frames_add(struct kube_frames *frames, const char *bytes, size_t size);

/* 1 and the next event; 0 when no whole line is left; -1 when the line is too long or no event, or
   when it is the server's ERROR (kind as that Status would be as an answer). */
int kube_frames_next(struct kube_frames *frames, struct kube_event *ret_event, struct error *err)
    __attribute__((warn_unused_result));

static inline void owned_kube_event(struct kube_event *event)
{
    json_decref(event->frame);
}
