/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a test and the process whose disk it holds agree on: a small file that both have mapped.
 * The process is an ordinary one, into which held_disk.so is loaded before its libraries.
 */
#pragma once

#include <stdint.h>

/* The variable of the environment that names the file. */
#define HELD_DISK "HELD_DISK"

struct held_disk {
    int64_t is_held; /* a sync waits until it is allowed */
    int64_t allowed; /* how many syncs may end meanwhile */
    int64_t waiting; /* 1: a sync waits */
    int64_t synced;  /* how many ended */
    int64_t fails;   /* 1: each fails, as on a dead disk */
};
