/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one door outside.  Whatever the service learns or does passes through these five: time, the
 * network (HTTP and SSH), chance and storage.  Two sets exist: the real one (libevent, libcurl,
 * libssh2, the kernel's random numbers, SQLite) and the simulated one (virtual time, the
 * simulator's answers, a seed, a journal in memory).  The code above is the same in both.
 */
#pragma once

#include "base/random.h"
#include "base/world/http.h"
#include "base/world/loop.h"
#include "base/world/ssh.h"

struct journal; /* broker/journal/journal.h; floor 0 only hands it on */

struct world {
    struct loop *loop;
    struct http *http;
    struct random *random;
    struct journal *journal;
    struct ssh *ssh; /* NULL where nothing is asked over SSH */
};
