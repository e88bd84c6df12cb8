/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One SSH session, from the connection to the log-in: the host's key is compared with the pinned
 * ones before the user's name is sent.  Its bytes go over a socket, or through a channel of another
 * hop (the jump host).  Private to the SSH client.
 */
#pragma once

#include "base/error.h"
#include "base/ssh/ssh_agent.h"
#include "base/world/ssh.h"

#include <libssh2.h>
#include <stdbool.h>

struct ssh_hop;

/* The socket is connected and does not block; the caller closes it after ssh_hop_free(). */
struct ssh_hop *ssh_hop_new(const struct ssh_host *host, int fd)
    __attribute__((returns_nonnull, warn_unused_result));

/* Through `outer`, which is logged in: asks it for a channel to the host's address first. */
struct ssh_hop *ssh_hop_through(const struct ssh_host *host, struct ssh_hop *outer)
    __attribute__((returns_nonnull, warn_unused_result));

/* An inner hop before its outer one.  NULL is legal. */
void ssh_hop_free(struct ssh_hop *hop);

/* Goes on until the user is logged in.  ERROR_DENIED, ERROR_TRANSIENT, ERROR_INVALID. */
enum ssh_pace ssh_hop_step(struct ssh_hop *hop, struct error *err);

/* Says goodbye, if that does not block. */
void ssh_hop_leave(struct ssh_hop *hop);

LIBSSH2_SESSION *ssh_hop_session(const struct ssh_hop *hop);

/* Whether libssh2 is in the middle of sending a packet.  Then only the call that began it may be
   repeated on this session. */
bool ssh_hop_is_sending(const struct ssh_hop *hop);

/* Fills err: "USER@ADDRESS:PORT: WHAT: what libssh2 says". */
void ssh_hop_fail(const struct ssh_hop *hop, enum error_kind kind, const char *what,
                  struct error *err);

/* After SSH_AGAIN: the descriptor to wait for, and whether until it can be written, too. */
int ssh_hop_descriptor(const struct ssh_hop *hop, bool *ret_is_sending);

/* Appends "USER@ADDRESS:PORT". */
void ssh_host_print(const struct ssh_host *host, struct text *out);
int ssh_host_port(const struct ssh_host *host);
