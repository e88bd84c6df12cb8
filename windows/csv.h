/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Comma-separated values, a row at a time, in place: the fields point into the bytes given.  A row
 * is a line; fields may stand in double quotes ("" is a quote), without line ends inside.  Every
 * row has as many fields as the header.  The last line must end in a line end: where it does not,
 * the file may have been cut inside a number, and that cannot be told from a smaller number.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>

enum { CSV_FIELDS_MAX = 64 };

struct csv {
    const char *source; /* names the file in errors */
    char *at;
    char *end;
    int line; /* of the current row, from 1 */
    char *fields[CSV_FIELDS_MAX];
    size_t count;
    size_t columns; /* fields of the header */
};

/* Reads the header; its names are then in csv->fields, in lower case. */
int csv_open(struct csv *csv, char *bytes, size_t size, const char *source, struct error *err)
    __attribute__((warn_unused_result));

/* 1: a row is in csv->fields; 0: the end; -1: an error with file and line.  Skips blank lines. */
int csv_next(struct csv *csv, struct error *err) __attribute__((warn_unused_result));

/* Parts what follows into at most `count` readers, at line ends; returns how many. */
size_t csv_split(const struct csv *csv, size_t count, struct csv *ret_parts);

/* "FILE:LINE: sentence", ERROR_INVALID, -1. */
int csv_error(const struct csv *csv, int line, struct error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
