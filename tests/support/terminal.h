/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A terminal that a test looks at: what is written to `slave` comes out of `master`.
 */
#pragma once

#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct terminal {
    int master;
    int slave;
};

static inline void terminal_open(struct terminal *terminal, unsigned short columns)
{
    struct winsize size = { .ws_row = 24, .ws_col = columns };

    terminal->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal->master >= 0);
    assert_int_equal(grantpt(terminal->master), 0);
    assert_int_equal(unlockpt(terminal->master), 0);
    terminal->slave = open(ptsname(terminal->master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal->slave >= 0);
    assert_int_equal(ioctl(terminal->slave, TIOCSWINSZ, &size), 0);
}

static inline void terminal_close(const struct terminal *terminal)
{
    close(terminal->slave);
    close(terminal->master);
}
