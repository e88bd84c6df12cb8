/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One command on a session that is logged in: its input, its output, its end.  Private to the SSH
 * client.
 */
#pragma once

#include "base/ssh/ssh_hop.h"

struct ssh_talk;

/* The hop must outlive it; the request is copied. */
struct ssh_talk *ssh_talk_new(const struct ssh_request *request)
    __attribute__((returns_nonnull, warn_unused_result));

/* Wipes input and output.  Before ssh_hop_free().  NULL is legal. */
void ssh_talk_free(struct ssh_talk *talk);

/* Goes on until the command's end was seen.  ERROR_TRANSIENT only before it was sent. */
enum ssh_pace ssh_talk_step(struct ssh_talk *talk, struct ssh_hop *hop, struct error *err);

/* Whether a part of the command may have left. */
bool ssh_talk_is_sent(const struct ssh_talk *talk);

/* After SSH_DONE.  Borrowed from the talk. */
struct ssh_answer ssh_talk_answer(const struct ssh_talk *talk);
