/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many commands may run at a time, in all and on each host (base/world/ssh.h).
 */
#pragma once

#include "base/world/ssh.h"

struct ssh_places;

struct ssh_places *ssh_places_new(void) __attribute__((returns_nonnull, warn_unused_result));
void ssh_places_free(struct ssh_places *places);

/* Takes a place for a command on this machine, and on its jump host; false: there is none for its
   priority, and nothing is taken. */
bool ssh_places_take(struct ssh_places *places, const struct ssh_host *host,
                     enum ssh_priority priority) __attribute__((warn_unused_result));
void ssh_places_leave(struct ssh_places *places, const struct ssh_host *host);

static inline void owned_ssh_places(struct ssh_places **places)
{
    ssh_places_free(*places);
}
