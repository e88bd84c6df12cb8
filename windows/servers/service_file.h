/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Service times in files.  A file of one queue has a column of seconds, or seconds and how many
 * requests took so long; names of columns are not needed.  The table that a snapshot writes beside
 * its demand has the columns queue, mean_s, from_s, to_s, count: a row a part, of many queues.
 */
#pragma once

#include "base/array.h"
#include "base/text.h"
#include "windows/servers/service_shape.h"

/* Errors name the file and, where one is at fault, the line. */
struct service_shape *service_file_read(const char *path, struct error *err)
    __attribute__((warn_unused_result));

struct service_table {
    struct service_row {
        char *queue;
        struct service_shape *shape;
    } * rows;
    size_t count;
};

struct service_table *service_table_read(const char *path, struct error *err)
    __attribute__((warn_unused_result));
void service_table_free(struct service_table *table);

/* NULL if the table has no row for the queue, or there is no table. */
const struct service_shape *service_table_find(const struct service_table *table,
                                               const char *queue);

/* The same, but the caller then owns it; the table no longer has it. */
struct service_shape *service_table_take(struct service_table *table, const char *queue)
    __attribute__((warn_unused_result));

/* The header, and the rows of one queue. */
void service_table_begin(struct text *out);
void service_table_add(struct text *out, const char *queue, const struct service_shape *shape);

/* "last-week.csv.gz" has its table of `what` in "last-week.WHAT.csv"; the caller frees it. */
char *demand_table_path(const char *demand, const char *what)
    __attribute__((returns_nonnull, warn_unused_result));

/* The same of "service". */
char *service_table_path(const char *demand) __attribute__((returns_nonnull, warn_unused_result));

static inline void owned_service_table(struct service_table **table)
{
    service_table_free(*table);
}
