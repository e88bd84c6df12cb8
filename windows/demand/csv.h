/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tables as text, a row at a time, in place: the fields point into the bytes given.  A row is a
 * line; its fields are parted by commas, semicolons or tabs, as the header is, and may stand in
 * double quotes ("" is a quote), without line ends inside.  Blanks around a field that is not in
 * quotes are not part of it.  Every row has as many fields as the header.
 *
 * Blank lines and comments (a line that begins with #) are skipped.  The last line may lack its
 * line end; is_cut says so, because the file may then have been cut inside a number, which cannot
 * be told from a smaller number.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { CSV_FIELDS_MAX = 1024, CSV_NAME_CHARS = 64 };

struct csv {
    const char *source; /* names the file in errors */
    char *at;
    char *end;
    int line;       /* of the current row, from 1 */
    char delimiter; /* , ; or a tab */
    bool is_cut;    /* the last line had no line end */
    bool may_name;  /* the first field holds names, so that a # may begin one */
    char *fields[CSV_FIELDS_MAX];
    size_t count;
    size_t columns; /* fields of the header */
};

/* Reads the header; its names are then in csv->fields.  The byte at bytes[size] is written to. */
int csv_open(struct csv *csv, char *bytes, size_t size, const char *source, struct error *err)
    __attribute__((warn_unused_result));

/* 1: a row is in csv->fields; 0: the end; -1: an error with file and line. */
int csv_next(struct csv *csv, struct error *err) __attribute__((warn_unused_result));

/* The column with that name in any case; -1: none.  While the header is in csv->fields. */
int csv_column(const struct csv *csv, const char *name);

/* A column's name without case, blanks and marks: "Queue Name" is queuename. false: it is too long
   for any known name. */
bool csv_plain_name(const char *field, char plain[CSV_NAME_CHARS]);

/* "FILE:LINE: sentence", ERROR_INVALID, -1. */
int csv_error(const struct csv *csv, int line, struct error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
