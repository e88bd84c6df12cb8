/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tells systemd how the service is, by the protocol of sd_notify(3): a datagram to the socket that
 * the environment variable NOTIFY_SOCKET names.  Without that variable nothing is sent.
 */
#pragma once

#include "base/world/loop.h"

struct supervisor;

/* Also says "WATCHDOG=1", at half the time that WATCHDOG_USEC gives, while the loop turns. */
struct supervisor *supervisor_new(struct loop *loop)
    __attribute__((returns_nonnull, warn_unused_result));
void supervisor_free(struct supervisor *supervisor);

/* Asks the watchdog for this much patience from now on, because the loop will not turn for long; 0:
   for as much as WATCHDOG_USEC gives.  Without a watchdog nothing is sent. */
void supervisor_ask_patience(struct supervisor *supervisor, int64_t patience_ms);

/* Sends a state, such as "READY=1" or "STOPPING=1".  What is not delivered is logged. */
void supervisor_tell(struct supervisor *supervisor, const char *state);

static inline void owned_supervisor(struct supervisor **supervisor)
{
    supervisor_free(*supervisor);
}
