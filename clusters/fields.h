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

#define GPU_RESOURCE "nvidia.com/gpu"

/* The GPUs in the map of quantities at the path; 0 where there is none. */
int field_gpus(const json_t *object, const char *path, int *ret_count, struct error *err)
    __attribute__((warn_unused_result));

/* The accelerators in it that field_gpus() does not count, such as "nvidia.com/mig-1g.10gb 7,
   amd.com/gpu 8"; NULL for none, and the caller frees it.  Which resources are meant is a table in
   fields.c. */
char *field_other_gpus(const json_t *object, const char *path) __attribute__((warn_unused_result));

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
