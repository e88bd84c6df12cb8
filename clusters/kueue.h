/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What of Kueue's objects is read and written: a ClusterQueue's nominalQuota.  It has the same form
 * in v1beta1 (servers since 0.4) and in v1beta2 (since 0.15); served.h picks one.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

/* In managedFields; Kueue's lists are atomic, so the field inside is not listed. */
#define KUEUE_QUOTA_FIELD "f:spec/f:resourceGroups"

/* The caller frees it. */
char *kueue_path(const char *cluster_queue) __attribute__((returns_nonnull, warn_unused_result));

/* The flavor's nominalQuota of the resource.  ERROR_INVALID: it has none; ERROR_CORRUPT: it is not
   a whole number. */
int kueue_quota(const json_t *queue, const char *flavor, const char *resource, int64_t *ret_quota,
                struct error *err) __attribute__((warn_unused_result));

/* A merge patch that sets it: the whole of resourceGroups, which has no merge key, with the
   resourceVersion, so that the server refuses it when the queue changed since.  The flavor must be
   there. */
json_t *kueue_patch(const json_t *queue, const char *flavor, const char *resource, int64_t quota)
    __attribute__((returns_nonnull, warn_unused_result));
