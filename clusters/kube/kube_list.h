/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inside clusters/ only: one collection read whole, in pages.  A page says where the next begins
 * before it brings its items: the server prepares one while the other is read.  No more than two
 * are under way.
 */
#pragma once

#include "clusters/kube/kube_objects.h"
#include "clusters/kube/kube_session.h"

struct kube_list;

/* The end of the list: the version to watch from, or the first error.  Either is borrowed.  After
   an error the items that came before do not count, and the rest of the page is not read.  The list
   may be freed in the call. */
typedef void (*kube_list_end_fn)(void *context, const char *resource_version,
                                 const struct error *err);

/* -1 ends the list with this error. */
typedef int (*kube_item_fn)(void *context, const json_t *item, struct error *err);

struct kube_list_request {
    const char *path;
    const struct kube_member *members; /* of an item */
    kube_item_fn on_item;              /* items of two pages may be mixed */
    kube_list_end_fn on_end;
    void *context;
};

/* path and members must outlive the list. */
struct kube_list *kube_list_new(struct kube_session *session,
                                const struct kube_list_request *request)
    __attribute__((returns_nonnull, warn_unused_result));

/* The target of one page.  first: the target of the first page, with its limit; token: what the
   page before gave to go on with, NULL: none.  The caller frees it. */
char *kube_list_page(const char *first, const char *token)
    __attribute__((returns_nonnull, warn_unused_result));

/* Ends what is in flight; on_end is not called. */
void kube_list_free(struct kube_list *list);
