/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The process at the other end of a unix socket.  Private to the HTTP server.
 *
 * User, groups and PID are those of the moment at which it connected, and the kernel keeps them
 * with the socket (unix(7), SO_PEERCRED, SO_PEERGROUPS).
 */
#pragma once

#include "base/world/http_server.h"

/* The peer of a connection; of TCP all but `from` is zero. */
struct http_peer peer_read(int fd);

/* Whether the peer had the group, as its own or as a further one. */
bool peer_has_group(int fd, gid_t group);

/* See http_call_login(). */
enum http_login peer_login(int fd, pid_t pid, uid_t *ret_uid);
