/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether files that are read together are other ones, or have other bytes, than at the last look:
 * by device, inode, size and time of change.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

enum { FILE_STAMPS_MOST = 4 };

struct file_stamps {
    const char *paths[FILE_STAMPS_MOST]; /* borrowed; NULL: none */
    struct {
        dev_t device;
        ino_t inode;
        off_t size;
        struct timespec changed;
    } seen[FILE_STAMPS_MOST];
};

/* Looks now.  Call it before the files are read, so that a later change is seen next time. */
bool file_stamps_changed(struct file_stamps *stamps);
