/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fills the disk of a folder, which is small, and makes space again.
 */
#pragma once

#include "base/text.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static inline void small_disk_fill(const char *folder)
{
    owned(chars) char *path = text_format("%s/filler", folder);
    char bytes[4096] = { 1 };
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    assert_return_code(fd, errno);
    while (write(fd, bytes, sizeof bytes) > 0)
        ;
    assert_int_equal(errno, ENOSPC);
    close(fd);
}

static inline void small_disk_make_space(const char *folder)
{
    owned(chars) char *path = text_format("%s/filler", folder);

    assert_return_code(unlink(path), errno);
}
