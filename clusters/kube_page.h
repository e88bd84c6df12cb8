/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One page of a list, read as it arrives: each item is decoded and handed on as soon as its last
 * byte is there, so that memory never holds more than one item and the page's head.  An item may be
 * 4 MiB long.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stddef.h>

struct kube_page;

/* item is borrowed, for the call only. */
typedef void (*kube_item_fn)(void *context, const json_t *item);

struct kube_page *kube_page_new(kube_item_fn on_item, void *context)
    __attribute__((returns_nonnull, warn_unused_result));
void kube_page_free(struct kube_page *page);

/* What was handed on before an error counts for nothing then. */
void kube_page_add(struct kube_page *page, const char *bytes, size_t size);

/* The page without its items ("items" is empty then), or the first error of the page. */
json_t *kube_page_end(struct kube_page *page, struct error *err)
    __attribute__((warn_unused_result));
