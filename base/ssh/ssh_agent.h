/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One connection to an SSH agent (draft-miller-ssh-agent): its keys, and a signature by one.  It
 * never blocks: libssh2's own client of agents does, and would stop the loop.  Private to the SSH
 * client.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

#include <stddef.h>

enum ssh_pace {
    SSH_DONE,
    SSH_AGAIN,  /* wait for the descriptor, then call again */
    SSH_FAILED, /* the error says why */
};

/* At most so many keys are tried: OpenSSH hangs up after six (MaxAuthTries). */
enum { SSH_AGENT_KEYS = 5 };

struct ssh_agent;

/* ERROR_TRANSIENT: there is no agent at this path. */
struct ssh_agent *ssh_agent_open(const char *path, struct error *err)
    __attribute__((warn_unused_result));
void ssh_agent_free(struct ssh_agent *agent); /* NULL is legal */

/* To wait for: readable, or also writable. */
int ssh_agent_descriptor(const struct ssh_agent *agent);
bool ssh_agent_is_writing(const struct ssh_agent *agent);

/* Asks for the keys of the types that sluice takes. */
enum ssh_pace ssh_agent_list(struct ssh_agent *agent, struct error *err);
size_t ssh_agent_count(const struct ssh_agent *agent);
const struct text *ssh_agent_key(const struct ssh_agent *agent, size_t at); /* wire format */

/* Signs the bytes with a key.  After SSH_AGAIN, call again with the same.  SSH_DONE: appends the
   signature, without the name of its method. */
enum ssh_pace ssh_agent_sign(struct ssh_agent *agent, size_t at, const struct text *bytes,
                             struct text *out, struct error *err);
