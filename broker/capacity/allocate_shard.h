/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The searches of a plan shared among machines: each computes a shard into a file, and one joins
 * the files to the plan that a single machine would have made.  A shard's file tells all that its
 * numbers were made from; files that do not belong together are refused, by name.
 */
#pragma once

#include "broker/capacity/allocate_inputs.h"

struct shard {
    size_t part; /* from 0; people count from 1 */
    size_t parts;
};

/* "3/8". */
bool shard_parse(const char *text, struct shard *ret);

/* Writes the plan's known cells to shard-3-of-8.json in the folder; returns the file's path, which
   the caller frees.  NULL on an error; a file that has another answer to the same input is one, and
   stays.  A file of other input is replaced. */
char *shard_write(const struct allocate_inputs *inputs, const struct allocate_plan *plan,
                  struct shard shard, const char *folder, struct error *err)
    __attribute__((warn_unused_result));

/* Fills the plan's cells from all *.json files of the folder.  The same shard twice is allowed when
   its numbers are equal.  A missing one, or two results for one cell, is an error that names it. */
int shard_merge(const struct allocate_inputs *inputs, struct allocate_plan *plan,
                const char *folder, struct error *err) __attribute__((warn_unused_result));
