/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The patches of an API server: JSON merge patch (RFC 7386), JSON patch (RFC 6902) and strategic
 * merge patch (lists of known members merge by a key), on plain JSON.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>

void patch_merge(json_t *into, const json_t *patch);

/* ERROR_INVALID: the object may have changed in part; throw it away. */
int patch_apply_operations(json_t *object, const json_t *operations, struct error *err)
    __attribute__((warn_unused_result));

void patch_merge_strategic(json_t *into, const json_t *patch);

/* By which member the entries of that list merge ("name" for "containers"); NULL: the list is
   replaced as a whole. */
const char *patch_merge_key(const char *list);

/* The entry whose member `key` has the same value as in `like`; SIZE_MAX: none. */
size_t patch_find_entry(const json_t *list, const char *key, const json_t *like);
