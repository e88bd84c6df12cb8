/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requests that wait already.  A plan sizes a window for what will arrive in it.  After hours with
 * too few servers new requests queue behind the old ones, for days if few servers are to spare.
 *
 * Work is in seconds of a server.  It is a fluid here: it grows by what arrives over what servers
 * do (Newell, "Applications of Queueing Theory", 1982, chapter 2), so chance alone makes none.
 */
#pragma once

#include <stdint.h>

/* The work that waits after `time_ms`, in which requests arrived for `load` servers. */
double backlog_after(double work_s, double load, int servers, int64_t time_ms);

/* The servers that serve this work within an hour, when a plan that follows the day is made again,
   on top of `servers` for what arrives; 0 while a new request waits no longer than its target
   behind it. */
int backlog_servers(double work_s, int servers, int64_t target_ms);
