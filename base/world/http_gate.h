/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which connections and TLS handshakes a server takes on, and how many it refused.  Private to the
 * HTTP server.
 *
 * A handshake costs the loop about a millisecond, before we know who asks.  So there are two token
 * buckets for handshakes: one for each address, and one for all.  A handshake is refused when the
 * client's first message has arrived, before anything is computed for it.
 */
#pragma once

#include "base/world/http_server.h"

struct http_gate;

struct http_gate *gate_new(void) __attribute__((returns_nonnull, warn_unused_result));
void gate_free(struct http_gate *gate);

/* Other limits than http_server_limits(). */
void gate_limit(struct http_gate *gate, const struct http_server_limits *limits);
const struct http_server_limits *gate_limits(const struct http_gate *gate);

/* Whether the handshake may begin.  `from` is http_peer.from; now_ms never goes back. */
bool gate_takes_handshake(struct http_gate *gate, const char *from, int64_t now_ms);

/* Counts a connection or handshake that was refused. */
void gate_refuse(struct http_gate *gate, enum http_refusal refusal, const char *from);
int64_t gate_refused(const struct http_gate *gate, enum http_refusal refusal);

/* Logs what was refused since the last line: at most one line in ten seconds for each reason. */
void gate_tell(struct http_gate *gate, int64_t now_ms);

/* How many addresses are remembered. */
size_t gate_addresses(const struct http_gate *gate);

static inline void owned_http_gate(struct http_gate **gate)
{
    gate_free(*gate);
}
