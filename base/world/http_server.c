/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Watching over connections: how many there are, who is at the other end, and how
 * long a request may take to arrive.  The cap of unix sockets is apart from that of TCP, so that a
 * flood on one door does not close the other; and on a unix socket the user with the most
 * connections loses one to the others.
 */
#include "base/world/http_server.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/world/http_connection.h"
#include "base/world/http_gate.h"
#include "base/world/http_peer.h"
#include "base/world/tls_identity.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/http_struct.h>
#include <event2/listener.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    REQUEST_DEADLINE_MS = 10 * SECOND_MS,
    IDLE_DEADLINE_MS = 60 * SECOND_MS,
    WRITE_DEADLINE_S = 30,
    ANSWER_DEADLINE_MS = 120 * SECOND_MS,
    SWEEP_MS = 200,
    PAUSE_MS = 2 * SECOND_MS,
    HANDING_MS = 5, /* of a turn of the loop are the handler's */
    /* In a turn, if the client takes it.  libevent's own 16 kB are thirty turns for the status of
       10,000 nodes. */
    WRITE_SIZE = 1 << 20,
    HEADERS_SIZE = 32768,
    BODY_SIZE = 1 << 20,
    AHEAD_SIZE = 1 << 16, /* what a client may send while it is answered */
};

struct call_list *server_calls(struct http_server *server)
{
    return &server->calls;
}

const struct tls_identity *server_identity(const struct http_server *server)
{
    return server->identity;
}

void server_tick_soon(struct http_server *server)
{
    timer_set_sooner(server->tick, 0);
}

void server_expect_reader(struct connection *connection)
{
    connection->deadline_ms = loop_now(connection->server->loop) +
                              connection->server->answer_deadline_ms;
}

void server_doom(struct connection *connection)
{
    connection->is_doomed = true;
    server_tick_soon(connection->server);
}

static void forget_connection(struct connection *connection)
{
    struct http_server *server = connection->server;

    if (connection->fd >= 0 && !connection->peer.is_local)
        server->tcp_count--;
    if (connection->fresh)
        bufferevent_decref(connection->fresh);
    TAILQ_REMOVE(&server->connections, connection, links);
    mem_free(connection);
}

/* libevent sees it as its end. */
static void cut(struct connection *connection)
{
    shutdown(connection->fd, SHUT_RDWR);
    if (!connection->evcon)
        forget_connection(connection);
}

static size_t count_from(const struct http_server *server, const char *from)
{
    const struct connection *connection;
    size_t count = 0;

    TAILQ_FOREACH(connection, &server->connections, links)
        count += connection->fd >= 0 && text_equal(connection->peer.from, from);
    return count;
}

static void admit_tcp(struct connection *connection)
{
    struct http_server *server = connection->server;
    const struct http_server_limits *limits = http_gate_limits(server->gate);
    const char *from = connection->peer.from;
    enum http_refusal refusal = HTTP_REFUSALS;

    if (++server->tcp_count > limits->tcp_connections)
        refusal = HTTP_REFUSED_CONNECTIONS;
    else if (server->identity && count_from(server, from) > limits->address_connections)
        refusal = HTTP_REFUSED_ADDRESS_CONNECTIONS;
    if (refusal == HTTP_REFUSALS)
        return;
    http_gate_refuse(server->gate, refusal, from);
    cut(connection);
}

static void admit_local(struct connection *connection)
{
    struct http_server *server = connection->server;

    if (shares_taken(&server->connections) <= http_gate_limits(server->gate)->local_connections)
        return;
    http_gate_refuse(server->gate, HTTP_REFUSED_CONNECTIONS, "");
    server_doom(shares_giver(&server->connections, connection) ?: connection);
}

/* Registers a new connection.  Over the cap one is closed: the new one, or on a unix socket the one
   that shares_giver() names. */
static void admit(struct connection *connection)
{
    struct http_server *server = connection->server;
    int fd = (int)bufferevent_getfd(connection->fresh);
    struct stat status;

    bufferevent_decref(connection->fresh);
    connection->fresh = NULL;
    if (fd < 0 || fstat(fd, &status) < 0) {
        forget_connection(connection);
        return;
    }
    connection->fd = fd;
    connection->inode = status.st_ino;
    connection->deadline_ms = loop_now(server->loop) + REQUEST_DEADLINE_MS;
    connection->peer = peer_read(fd);
    connection->peer.is_encrypted = server->identity != NULL;

    if (connection->peer.is_local)
        admit_local(connection);
    else
        admit_tcp(connection);
}

/* Closes a late connection.  Before its first request a connection may have ended without a notice,
   and its descriptor may belong to another one: the inode shows this. */
static void check_deadline(struct connection *connection)
{
    struct stat status;
    bool is_there = connection->evcon ||
                    (fstat(connection->fd, &status) == 0 && status.st_ino == connection->inode);

    if (!is_there) {
        forget_connection(connection);
    } else if (connection->is_doomed && connection->evcon) {
        evhttp_connection_free(connection->evcon);
    } else if (connection->is_doomed ||
               connection->deadline_ms <= loop_now(connection->server->loop)) {
        cut(connection);
    }
}

static struct http_call *find_lost_stream(struct http_server *server)
{
    struct http_call *call;

    TAILQ_FOREACH(call, &server->calls, links)
        if (call->is_stream && !call->connection)
            return call;
    return NULL;
}

static void enable_listener(struct evhttp_bound_socket *socket, void *context)
{
    (void)context;
    evconnlistener_enable(evhttp_bound_socket_get_listener(socket));
}

static void on_tick(void *context)
{
    struct http_server *server = context;
    struct connection *next = NULL;
    struct http_call *call;

    for (struct connection *connection = TAILQ_FIRST(&server->connections); connection;
         connection = next) {
        next = TAILQ_NEXT(connection, links);
        if (connection->fresh)
            admit(connection);
        else
            check_deadline(connection);
    }
    http_gate_tell(server->gate, loop_now(server->loop));
    while ((call = find_lost_stream(server)))
        call_close_stream(call);
    evhttp_foreach_bound_socket(server->evhttp, enable_listener, NULL);
    timer_set_sooner(server->tick, TAILQ_EMPTY(&server->connections) ? PAUSE_MS : SWEEP_MS);
}

/* The client's first message has arrived; nothing is computed for it yet. */
static int on_hello(SSL *ssl, int *alert, void *context)
{
    struct http_server *server = SSL_get_app_data(ssl);
    struct http_peer peer = peer_read(SSL_get_fd(ssl));

    (void)context;
    if (http_gate_takes_handshake(server->gate, peer.from, loop_now(server->loop)))
        return SSL_CLIENT_HELLO_SUCCESS;
    server_tick_soon(server);
    *alert = SSL_AD_INTERNAL_ERROR;
    return SSL_CLIENT_HELLO_ERROR;
}

static struct bufferevent *new_bufferevent(struct http_server *server, struct event_base *base)
{
    struct bufferevent *bufferevent;

    if (server->identity) {
        SSL *ssl = SSL_new(tls_identity_context(server->identity));

        require(ssl && SSL_set_app_data(ssl, server) == 1);
        bufferevent = bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                                     BEV_OPT_CLOSE_ON_FREE);
        require(bufferevent);
        bufferevent_openssl_set_allow_dirty_shutdown(bufferevent, 1);
        return bufferevent;
    }
    bufferevent = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    require(bufferevent);
    return bufferevent;
}

/* libevent asks for a bufferevent when it has accepted; the descriptor is put in after that. */
static struct bufferevent *on_accept(struct event_base *base, void *context)
{
    struct http_server *server = context;
    struct connection *connection = mem_new(sizeof *connection);
    struct bufferevent *bufferevent = new_bufferevent(server, base);

    require(bufferevent_set_max_single_write(bufferevent, WRITE_SIZE) == 0);
    bufferevent_incref(bufferevent);
    connection->server = server;
    connection->fresh = bufferevent;
    connection->fd = -1;
    TAILQ_INSERT_TAIL(&server->connections, connection, links);
    server_tick_soon(server);
    return bufferevent;
}

static void on_connection_ends(struct evhttp_connection *evcon, void *context)
{
    struct connection *connection = context;
    struct http_call *call = connection->call;

    (void)evcon;
    if (connection->server->is_ending)
        return;
    connection->call = NULL;
    forget_connection(connection);
    if (call)
        call_lose_connection(call);
}

/* The first byte of the next request on a kept connection starts its deadline. */
static void on_input(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *context)
{
    struct connection *connection = context;

    /* evhttp reads on and takes nothing out meanwhile; a stream has no end. */
    if (connection->call && evbuffer_get_length(buffer) > AHEAD_SIZE)
        server_doom(connection);
    if (!connection->is_idle || !info->n_added)
        return;
    connection->is_idle = false;
    connection->deadline_ms = loop_now(connection->server->loop) + REQUEST_DEADLINE_MS;
}

static void on_answer_sent(struct evhttp_request *request, void *context)
{
    struct connection *connection = context;

    (void)request;
    connection->is_idle = true;
    connection->deadline_ms = loop_now(connection->server->loop) + IDLE_DEADLINE_MS;
    if (connection->is_retired)
        server_doom(connection);
}

static void meet(struct connection *connection, struct evhttp_connection *evcon)
{
    static const struct timeval write_deadline = { .tv_sec = WRITE_DEADLINE_S };
    struct bufferevent *bufferevent = evhttp_connection_get_bufferevent(evcon);

    connection->evcon = evcon;
    evhttp_connection_set_closecb(evcon, on_connection_ends, connection);
    evbuffer_add_cb(bufferevent_get_input(bufferevent), on_input, connection);
    /* A stream may be silent for long: reading has our deadline, not libevent's. */
    bufferevent_set_timeouts(bufferevent, NULL, &write_deadline);
}

static struct connection *find_connection(struct http_server *server,
                                          struct evhttp_connection *evcon)
{
    int fd = (int)bufferevent_getfd(evhttp_connection_get_bufferevent(evcon));
    struct connection *connection;
    struct stat status;

    TAILQ_FOREACH(connection, &server->connections, links)
        if (connection->evcon == evcon)
            return connection;
    TAILQ_FOREACH(connection, &server->connections, links)
        if (!connection->evcon && connection->fd == fd && fstat(fd, &status) == 0 &&
            status.st_ino == connection->inode)
            return connection;
    return NULL;
}

/* Calls are handed on in their order, in each turn of the loop for a short time only: however many
   there are, timers and answers from elsewhere have their turn. */
static void hand_over(void *context)
{
    struct http_server *server = context;
    int64_t began_ms = loop_turn_ms(server->loop);
    struct http_call *call;

    while ((call = TAILQ_FIRST(&server->waiting))) {
        TAILQ_REMOVE(&server->waiting, call, queue);
        call->is_waiting = false;
        if (call->connection)
            server->handler(server->context, call);
        else
            call_discard(call);
        if (loop_turn_ms(server->loop) - began_ms >= HANDING_MS)
            break;
    }
    if (!TAILQ_EMPTY(&server->waiting))
        timer_set(server->handing, 0);
}

static void on_request(struct evhttp_request *request, void *context)
{
    struct http_server *server = context;
    struct evhttp_connection *evcon = evhttp_request_get_connection(request);
    struct connection *connection = find_connection(server, evcon);

    if (!connection) { /* cut already; its last bytes still came through */
        evhttp_send_error(request, HTTP_SERVUNAVAIL, NULL);
        return;
    }
    if (!connection->evcon)
        meet(connection, evcon);
    connection->is_idle = false;
    connection->deadline_ms = INT64_MAX;
    evhttp_request_set_on_complete_cb(request, on_answer_sent, connection);

    struct http_call *call = call_new(server, connection, request);

    if (!call)
        return;
    TAILQ_INSERT_TAIL(&server->waiting, call, queue);
    call->is_waiting = true;
    timer_set_sooner(server->handing, 0);
}

struct http_server *http_server_new(struct loop *loop, http_handler_fn handler, void *context)
{
    struct http_server *server = mem_new(sizeof *server);

    require(loop_event_base(loop));
    server->loop = loop;
    server->handler = handler;
    server->context = context;
    server->answer_deadline_ms = ANSWER_DEADLINE_MS;
    server->gate = http_gate_new();
    TAILQ_INIT(&server->connections);
    TAILQ_INIT(&server->calls);
    TAILQ_INIT(&server->waiting);
    server->handing = timer_new(loop, hand_over, server);
    server->tick = timer_new(loop, on_tick, server);
    server->evhttp = evhttp_new(loop_event_base(loop));
    require(server->evhttp);
    evhttp_set_allowed_methods(server->evhttp, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_PUT |
                                                   EVHTTP_REQ_PATCH | EVHTTP_REQ_DELETE);
    evhttp_set_max_headers_size(server->evhttp, HEADERS_SIZE);
    evhttp_set_max_body_size(server->evhttp, BODY_SIZE);
    evhttp_set_bevcb(server->evhttp, on_accept, server);
    evhttp_set_gencb(server->evhttp, on_request, server);
    return server;
}

struct http_server *http_server_new_tls(struct loop *loop, const struct tls_identity *identity,
                                        http_handler_fn handler, void *context)
{
    struct http_server *server = http_server_new(loop, handler, context);

    http_server_renew(server, identity);
    return server;
}

void http_server_renew(struct http_server *server, const struct tls_identity *identity)
{
    require(identity);
    SSL_CTX_set_client_hello_cb(tls_identity_context(identity), on_hello, NULL);
    server->identity = identity;
}

void http_server_retire(struct http_server *server)
{
    struct connection *connection;

    TAILQ_FOREACH(connection, &server->connections, links) {
        connection->is_retired = true;
        if (!connection->fresh && (!connection->evcon || connection->is_idle))
            server_doom(connection);
    }
}

void http_server_limit(struct http_server *server, const struct http_server_limits *limits)
{
    http_gate_limit(server->gate, limits);
}

int64_t http_server_refused(const struct http_server *server, enum http_refusal refusal)
{
    return http_gate_refused(server->gate, refusal);
}

void http_server_limit_answers(struct http_server *server, int64_t deadline_ms)
{
    require(deadline_ms > 0);
    server->answer_deadline_ms = deadline_ms;
}

static void end_calls(struct http_server *server)
{
    struct http_call *call;

    while ((call = TAILQ_FIRST(&server->calls))) {
        if (call->request && !evhttp_request_get_connection(call->request))
            evhttp_request_free(call->request);
        call_free(call);
    }
}

void http_server_free(struct http_server *server)
{
    struct connection *connection;

    if (!server)
        return;
    server->is_ending = true;
    end_calls(server);
    evhttp_free(server->evhttp);
    while ((connection = TAILQ_FIRST(&server->connections)))
        forget_connection(connection);
    server_remove_sockets(server);
    timer_free(server->tick);
    timer_free(server->handing);
    http_gate_free(server->gate);
    mem_free(server);
}
