/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What http_server.c (watching over connections), http_listen.c (listening), http_shares.c (who has
 * how many) and http_call.c (one request and its answer) share.  Private to these.
 *
 * libevent 2.1 tells of a connection only when its first request is complete, and its timeouts
 * start again with each byte.  So we keep a record of each connection from its accept on, with a
 * deadline of our own.  Until libevent tells us of the connection, the record knows the descriptor
 * and, as descriptors are used again, the inode of the socket behind it.
 */
#pragma once

#include "base/array.h"
#include "base/world/http_server.h"

#include <event2/http.h>
#include <sys/queue.h>

struct connection {
    TAILQ_ENTRY(connection) links;
    struct http_server *server;
    struct bufferevent *fresh; /* a reference, until the descriptor is known */
    int fd;
    ino_t inode;
    struct http_peer peer;
    int64_t deadline_ms;             /* INT64_MAX: none */
    struct evhttp_connection *evcon; /* known from the first request on */
    struct http_call *call;          /* that is being answered */
    bool is_idle;                    /* kept alive: nothing of the next request came yet */
    bool is_retired;                 /* to be cut after its answer */
    bool is_doomed;                  /* to be cut in the next turn */
};

struct http_call {
    TAILQ_ENTRY(http_call) links;
    TAILQ_ENTRY(http_call) queue; /* while is_waiting */
    bool is_waiting;              /* for its turn to be handed to the handler */
    struct http_server *server;
    struct connection *connection; /* NULL: the client went away */
    struct evhttp_request *request;
    enum http_method method;
    struct http_peer peer;
    char *target;
    char *body;
    size_t body_size;
    void (*on_close)(void *context);
    void *close_context;
    bool is_stream;
};

TAILQ_HEAD(connection_list, connection);
TAILQ_HEAD(call_list, http_call);

struct unix_socket {
    char *path;
    dev_t device;
    ino_t inode;
};

struct http_server {
    struct loop *loop;
    struct evhttp *evhttp;
    struct timer *tick;
    http_handler_fn handler;
    void *context;
    struct connection_list connections;
    struct call_list calls;
    struct call_list waiting;
    struct timer *handing;
    ARRAY(struct unix_socket) sockets;
    struct http_gate *gate;
    size_t tcp_count;
    int64_t answer_deadline_ms;
    const struct tls_identity *identity; /* NULL: its connections are not TLS */
    bool is_ending;
};

/* Called when all connections of the unix sockets are in use: returns the one to close for the new
   connection, which is in the list.  It belongs to the user with the most connections.  The oldest
   idle one is taken, else the oldest that only reads.  NULL: all connections of that user are
   changing something, and the new one is closed.  So no user and no client that leaves connections
   open can block urgent requests. */
struct connection *shares_giver(const struct connection_list *list,
                                const struct connection *newcomer);

/* Connections by unix sockets that are not about to be cut. */
size_t shares_taken(const struct connection_list *list);

/* The call for a complete request, or NULL after refusing it. */
struct http_call *call_new(struct http_server *server, struct connection *connection,
                           struct evhttp_request *request);

/* The connection ends: the record is about to go. */
void call_lose_connection(struct http_call *call);
void call_free(struct http_call *call);

/* A complete call that the handler has not seen, and whose client is gone. */
void call_discard(struct http_call *call);

/* For a stream without a connection: frees the call and tells its owner. */
void call_close_stream(struct http_call *call);

/* NULL: its connections are not TLS. */
const struct tls_identity *server_identity(const struct http_server *server);

struct call_list *server_calls(struct http_server *server);

/* Removes the files of its unix sockets, and forgets them.  http_listen.c */
void server_remove_sockets(struct http_server *server);

/* Looks after connections and calls in the next turn. */
void server_tick_soon(struct http_server *server);

/* The answer begins to leave: from now on the client has a limited time to take it. */
void server_expect_reader(struct connection *connection);

/* Cuts the connection in the next turn: libevent may be on the stack. */
void server_doom(struct connection *connection);
