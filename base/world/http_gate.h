/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which connections and TLS handshakes an HTTP server takes on, and how many it refused.
 *
 * A handshake costs the loop about a millisecond, before we know who asks.  So there are two token
 * buckets for handshakes: one for each address, and one for all.  A handshake is refused when the
 * client's first message has arrived, before anything is computed for it.
 */
#pragma once

#include "base/timestamp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEER_FROM_SIZE = 64 };

/* `burst` at once, then one in each period. */
struct http_rate {
    int64_t burst;
    int64_t period_ms;
};

/* How much of a server its clients may use. */
struct http_server_limits {
    size_t local_connections;   /* by unix sockets */
    size_t tcp_connections;     /* by TCP */
    size_t address_connections; /* by TLS, for each http_peer.from */
    struct http_rate handshakes;
    struct http_rate address_handshakes; /* for each http_peer.from */
};

/* Those of a new server: 256, 512 and 64 connections, each at most a quarter of the files that the
   process may have open; 50 handshakes at once, then 50 a second; of one address 40 at once, then
   10 a second. */
struct http_server_limits http_server_limits(void);

/* Why a connection was refused. */
enum http_refusal {
    HTTP_REFUSED_CONNECTIONS,
    HTTP_REFUSED_ADDRESS_CONNECTIONS,
    HTTP_REFUSED_HANDSHAKES,
    HTTP_REFUSED_ADDRESS_HANDSHAKES,
    HTTP_REFUSALS,
};

/* "address_connections" */
const char *http_refusal_name(enum http_refusal refusal) __attribute__((returns_nonnull));

/* The rest is private to the HTTP server. */
struct http_gate;

struct http_gate *http_gate_new(void) __attribute__((returns_nonnull, warn_unused_result));
void http_gate_free(struct http_gate *gate);

/* Other limits than http_server_limits(). */
void http_gate_limit(struct http_gate *gate, const struct http_server_limits *limits);
const struct http_server_limits *http_gate_limits(const struct http_gate *gate);

/* Whether the handshake may begin.  `from` is http_peer.from; now_ms never goes back. */
bool http_gate_takes_handshake(struct http_gate *gate, const char *from, int64_t now_ms);

/* Counts a connection or handshake that was refused. */
void http_gate_refuse(struct http_gate *gate, enum http_refusal refusal, const char *from);
int64_t http_gate_refused(const struct http_gate *gate, enum http_refusal refusal);

/* Logs what was refused since the last line: at most one line in ten seconds for each reason. */
void http_gate_tell(struct http_gate *gate, int64_t now_ms);

/* How many addresses are remembered. */
size_t http_gate_addresses(const struct http_gate *gate);

static inline void owned_http_gate(struct http_gate **gate)
{
    http_gate_free(*gate);
}
