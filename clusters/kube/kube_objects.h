/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The objects in an answer of an API server, a list's items or a watch's events: each is decoded
 * and handed on as soon as its last byte is there, with the members that are wanted, so that memory
 * never holds more than one of them and a list's head.
 */
#pragma once

#include "base/error.h"
#include "clusters/kube/kube_extract.h"

#include <jansson.h>
#include <stddef.h>

struct kube_objects;

/* object is borrowed, for the call only. */
typedef void (*kube_object_fn)(void *context, const json_t *object);

/* The objects in "items" of one JSON object.  Before the first item on_head is called with the
   members in front of "items", if these are valid JSON alone.  `members` must outlive it. */
struct kube_objects *kube_objects_of_list(const struct kube_member *members, kube_object_fn on_head,
                                          kube_object_fn on_object, void *context)
    __attribute__((returns_nonnull, warn_unused_result));

/* The objects of an endless body, one after the other. */
struct kube_objects *kube_objects_of_watch(const struct kube_member *members,
                                           kube_object_fn on_object, void *context)
    __attribute__((returns_nonnull, warn_unused_result));

void kube_objects_free(struct kube_objects *objects);

/* After an error no object is passed on; in a list, those before the error do not count.
 */
void kube_objects_add(struct kube_objects *objects, const char *bytes, size_t size);

/* From inside on_head or on_object: passes on nothing more, and sets this error. */
void kube_objects_fail(struct kube_objects *objects, const struct error *err);

/* The first error so far. */
int kube_objects_check(const struct kube_objects *objects, struct error *err)
    __attribute__((warn_unused_result));

/* A list without its items ("items" is empty then), or the first error of the list. */
json_t *kube_objects_end(struct kube_objects *objects, struct error *err)
    __attribute__((warn_unused_result));
