/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inside clusters/ only: the members of API objects, read into what the snapshot keeps.  A member
 * of the wrong type is an error for the whole object; an absent one leaves the output as
 * documented.
 */
#pragma once

#include "base/error.h"
#include "base/shared_text.h"
#include "base/timestamp.h"

#include <jansson.h>
#include <stdbool.h>

/* A count that is there and cannot be read. */
enum { DEVICES_UNREADABLE = -1 };

/* Adds the extended resources in the map at the path to `counts`, an object of integers.  The
   greater count wins, and a count of 0 is not added.  A count that cannot be read is
   DEVICES_UNREADABLE.  Only a path to something other than a map is an error. */
int field_devices(const json_t *object, const char *path, json_t *counts, struct error *err)
    __attribute__((warn_unused_result));

/* The greater of the count that is there and this one; unreadable is the greatest. */
void devices_raise(json_t *counts, const char *resource, json_int_t count);

/* The counts as a packed map. */
const char *devices_pack(const json_t *counts) __attribute__((returns_nonnull, warn_unused_result));

/* The number that a quantity such as "40Gi", "132", "1500m" or "1e3" is; NAN: it is none. */
double field_quantity(const char *quantity);

/* Untouched when absent. */
int field_time(const json_t *object, const char *path, struct wall_time *ret_wall,
               struct error *err) __attribute__((warn_unused_result));

/* A shared text, "" when absent; field_name() refuses absent and empty ones. */
int field_text(const json_t *object, const char *path, const char **ret_copy, struct error *err)
    __attribute__((warn_unused_result));
int field_name(const json_t *object, const char *path, const char **ret_copy, struct error *err)
    __attribute__((warn_unused_result));

/* A map of texts, packed. */
int field_map(const json_t *object, const char *path, packed_filter_fn is_wanted,
              const char **ret_packed, struct error *err) __attribute__((warn_unused_result));

/* The conditions that a healthy node does not have, as text for people; "" for none. */
int field_troubles(const json_t *object, const char **ret_copy, struct error *err)
    __attribute__((warn_unused_result));

/* The bits of struct node's `marks`. */
int field_marks(const json_t *object, unsigned *ret_marks, struct error *err)
    __attribute__((warn_unused_result));

/* Whether the condition of that type has that status ("True"). */
int field_condition(const json_t *object, const char *type, const char *status, bool *ret_is,
                    struct error *err) __attribute__((warn_unused_result));
