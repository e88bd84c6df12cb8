/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a test and the process that it will kill agree on: a small file that both have mapped.  The
 * process is an ordinary one, into which mortal_journal.so is loaded before its libraries.
 */
#pragma once

#include <stdint.h>

/* The variable of the environment that names the file. */
#define MORTAL_ORDERS "MORTAL_ORDERS"

/* When, of the commit that is named: before a byte of it is written, or when it is safe on the disk
   and the process does not know it yet. */
enum mortal_moment { MORTAL_BEFORE, MORTAL_AFTER };

struct mortal_orders {
    int64_t commits; /* of SQLite databases with a WAL, since this was set to 0 */
    int64_t kill_at; /* the commit at which the process kills itself; 0: never */
    int64_t moment;
    int64_t serial; /* of these orders: a commit that began under others does not count */
};
