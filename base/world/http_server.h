/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server, on libevent's evhttp: unix sockets with the peer's credentials, TCP on loopback,
 * and TLS with the client's certificate.  One handler gets every call and answers it, at once or
 * later.
 *
 * Refused before the handler sees them: methods not in enum http_method, absolute-form targets,
 * requests with both Content-Length and Transfer-Encoding, bodies over 1 MiB, headers that take
 * longer than 10 s.  A client that takes nothing of its answer for 30 s, or not all of it in two
 * minutes, is cut off.  TCP connections and TLS handshakes over http_server_limits() are refused.
 * With too many connections on unix sockets, the user who has the most of them loses one: the
 * oldest without a request under way, else the oldest GET.  If there is none, the new connection is
 * closed.
 */
#pragma once

#include "base/error.h"
#include "base/world/http.h"
#include "base/world/http_gate.h"
#include "base/world/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct tls_identity;
struct text;
struct http_server;
struct http_call; /* one request that waits for its answer */

struct http_peer {
    bool is_local;     /* came by a unix socket: uid, gid and pid are the kernel's word */
    bool is_encrypted; /* came by TLS */
    uid_t uid;
    gid_t gid;
    pid_t pid;
    char from[PEER_FROM_SIZE]; /* of TCP: "10.0.0.7", or the network "2001:db8:0:1::/64", because
                                  one machine may have all its addresses */
};

/* Must answer each call once, now or later. */
typedef void (*http_handler_fn)(void *context, struct http_call *call);

struct http_server *http_server_new(struct loop *loop, http_handler_fn handler, void *context)
    __attribute__((returns_nonnull, warn_unused_result));

/* As http_server_new(), for a server all of whose connections are TLS.  Borrows the identity. */
struct http_server *http_server_new_tls(struct loop *loop, const struct tls_identity *identity,
                                        http_handler_fn handler, void *context)
    __attribute__((returns_nonnull, warn_unused_result));

/* Ends all connections and removes the unix sockets that it made.  Calls that were not answered
   yet become invalid.  Not from inside the handler or an on_close. */
void http_server_free(struct http_server *server);

/* Another time than two minutes for a client to take its answer. */
void http_server_limit_answers(struct http_server *server, int64_t deadline_ms);

/* Other limits than http_server_limits(). */
void http_server_limit(struct http_server *server, const struct http_server_limits *limits);

/* How many connections were refused for that reason since the server was made.  The log has a line
   `connections_refused` in ten seconds at most, with their number. */
int64_t http_server_refused(const struct http_server *server, enum http_refusal refusal);

/* New connections get this identity, which is borrowed; it replaces one of http_server_new_tls().
   The connections that exist keep theirs. */
void http_server_renew(struct http_server *server, const struct tls_identity *identity);

/* Ends the connections that exist, because their clients may not be believed any more: idle ones
   at once, the others after their answer.  The caller ends their streams. */
void http_server_retire(struct http_server *server);

/* Binds a unix socket with this mode (for example 0660).  A dead socket file in the way is
   replaced, a live one is ERROR_CONFLICT.  The path's length limit is checked. */
int http_server_listen_unix(struct http_server *server, const char *path, mode_t mode,
                            struct error *err) __attribute__((warn_unused_result));

/* Binds 127.0.0.1.  port 0: any; *ret_port says which. */
int http_server_listen_loopback(struct http_server *server, int port, int *ret_port,
                                struct error *err) __attribute__((warn_unused_result));

/* Whether it is an address that http_server_listen_tls() can bind; ERROR_INVALID. */
int http_server_check_address(const char *address, struct error *err)
    __attribute__((warn_unused_result));

/* Binds "10.0.0.7:8443" or "[::]:8443", of a server for TLS.  port 0: any; *ret_port (may be NULL)
   says which.  ERROR_INVALID: not an address and port. */
int http_server_listen_tls(struct http_server *server, const char *address, int *ret_port,
                           struct error *err) __attribute__((warn_unused_result));

/* The request of a call; all of it is valid until the answer. */
enum http_method http_call_method(const struct http_call *call);
const char *http_call_target(const struct http_call *call); /* "/v1/status?since=5", undecoded */
const char *http_call_header(const struct http_call *call, const char *name); /* or NULL */
const char *http_call_body(const struct http_call *call, size_t *ret_size);   /* terminated */
struct http_peer http_call_peer(const struct http_call *call);

/* Whether the process at the other end of a unix socket was a member of the group when it
   connected.  False when the connection has ended. */
bool http_call_has_group(const struct http_call *call, gid_t group);

/* tls_peer_names() of a call by TLS; NULL: no certificate, or another kind of call. */
struct text *http_call_certificate_names(const struct http_call *call);

/* tls_peer_ends() of a call by TLS; 0: no certificate, or another kind of call. */
struct wall_time http_call_certificate_ends(const struct http_call *call);

/* Whether a call by TLS names in its header Host a name of the server's certificate.  A browser
   that was led here under another name (DNS rebinding) does not. */
bool http_call_names_server(const struct http_call *call);

/* Whether the client is still there to hear the answer. */
bool http_call_has_client(const struct http_call *call);

/* The user who logged in to the session of that process: sudo and su do not change it.  The kernel
   lets only root set it, so it says which person acts as root, and gives no right.  LOGIN_NONE: the
   process belongs to no login (cron, a service). */
enum http_login { LOGIN_UNKNOWN, LOGIN_NONE, LOGIN_KNOWN };
enum http_login http_call_login(const struct http_call *call, uid_t *ret_uid);

/* Valid until http_call_answer() returns, which copies it. */
struct http_reply {
    int status;
    const char *content_type;          /* NULL: application/json */
    const struct http_header *headers; /* further ones; may be NULL */
    size_t header_count;
    const void *body; /* NULL: none */
    size_t body_size;
};

/* Answers and ends the call. */
void http_call_answer(struct http_call *call, const struct http_reply *reply);

/* Before the answer or stream begins: sends this header, too. */
void http_call_add_header(struct http_call *call, const struct http_header *header);

/* Streaming: begin, then pieces, then end. on_close is called once when the client closes the
   connection before the end; the call is invalid after it, and after http_call_stream_end(). */
void http_call_stream_begin(struct http_call *call, const char *content_type,
                            void (*on_close)(void *context), void *context);

/* False when the client reads too slowly (1 MiB is waiting): the caller should end the stream. */
bool http_call_stream_send(struct http_call *call, const void *bytes, size_t size);
void http_call_stream_end(struct http_call *call);

/* Cuts the connection without an answer: how the simulator loses one. */
void http_call_drop(struct http_call *call);

static inline void owned_http_server(struct http_server **server)
{
    http_server_free(*server);
}
