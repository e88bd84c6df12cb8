/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input as a file, for readers that take a path.
 */
#pragma once

#include "base/file.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Writes the bytes to a file in memory, and returns its path; the next call reuses it. */
static inline const char *fuzz_file(const uint8_t *bytes, size_t size)
{
    static char path[64];
    static int fd = -1;

    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    require(fd >= 0 && ftruncate(fd, 0) == 0);
    require(pwrite(fd, bytes, size, 0) == (ssize_t)size);
    return path;
}
