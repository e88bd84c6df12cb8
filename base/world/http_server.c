/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Listening, and watching over connections: how many there are, who is at the other end, and how
 * long a request may take to arrive.  The cap of unix sockets is apart from that of TCP, so that a
 * flood on one door does not close the other; and on a unix socket the user with the most
 * connections loses one to the others.
 */
#include "base/world/http_server.h"

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/world/http_connection.h"
#include "base/world/http_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http_struct.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    LOCAL_CONNECTIONS = 256,
    TCP_CONNECTIONS = 512,
    REQUEST_DEADLINE_MS = 10 * SECOND_MS,
    IDLE_DEADLINE_MS = 60 * SECOND_MS,
    WRITE_DEADLINE_S = 30,
    ANSWER_DEADLINE_MS = 120 * SECOND_MS,
    SWEEP_MS = 200,
    PAUSE_MS = 2 * SECOND_MS,
    HEADERS_SIZE = 32768,
    BODY_SIZE = 1 << 20,
    BACKLOG = 128,
};

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
    ARRAY(struct unix_socket) sockets;
    size_t tcp_count;
    int64_t answer_deadline_ms;
    bool is_ending;
};

struct call_list *server_calls(struct http_server *server)
{
    return &server->calls;
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

    if (!connection->peer.is_local) {
        if (++server->tcp_count > TCP_CONNECTIONS)
            cut(connection);
    } else if (shares_taken(&server->connections) > LOCAL_CONNECTIONS) {
        server_doom(shares_giver(&server->connections, connection) ?: connection);
    }
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

/* Without descriptors left, accepting fails again at once, forever: the listener pauses until the
   next tick. */
static void on_accept_fails(struct evconnlistener *listener, void *context)
{
    (void)context;
    evconnlistener_disable(listener);
    log_warn("accept_failed", FIELD_TEXT("text", strerror(errno)));
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
    while ((call = find_lost_stream(server)))
        call_close_stream(call);
    evhttp_foreach_bound_socket(server->evhttp, enable_listener, NULL);
    timer_set_sooner(server->tick, TAILQ_EMPTY(&server->connections) ? PAUSE_MS : SWEEP_MS);
}

/* libevent asks for a bufferevent when it has accepted; the descriptor is put in after that. */
static struct bufferevent *on_accept(struct event_base *base, void *context)
{
    struct http_server *server = context;
    struct connection *connection = mem_new(sizeof *connection);
    struct bufferevent *bufferevent = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);

    require(bufferevent);
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

    (void)buffer;
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

    if (call)
        server->handler(server->context, call);
}

struct http_server *http_server_new(struct loop *loop, http_handler_fn handler, void *context)
{
    struct http_server *server = mem_new(sizeof *server);

    require(loop_event_base(loop));
    server->loop = loop;
    server->handler = handler;
    server->context = context;
    server->answer_deadline_ms = ANSWER_DEADLINE_MS;
    TAILQ_INIT(&server->connections);
    TAILQ_INIT(&server->calls);
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

void http_server_limit_answers(struct http_server *server, int64_t deadline_ms)
{
    require(deadline_ms > 0);
    server->answer_deadline_ms = deadline_ms;
}

/* Not a socket that another server has put there since. */
static void remove_socket(const struct unix_socket *socket)
{
    struct stat status;

    if (lstat(socket->path, &status) == 0 && status.st_dev == socket->device &&
        status.st_ino == socket->inode)
        unlink(socket->path);
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
    for (size_t i = 0; i < server->sockets.count; i++) {
        remove_socket(&server->sockets.items[i]);
        mem_free(server->sockets.items[i].path);
    }
    array_clear(&server->sockets);
    timer_free(server->tick);
    mem_free(server);
}

static int listen_on(struct http_server *server, int fd, const char *where, struct error *err)
{
    const unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC;
    struct evconnlistener *listener;

    if (listen(fd, BACKLOG) < 0) {
        error_errno(err, ERROR_TRANSIENT, "cannot listen on %s", where);
        close(fd);
        return -1;
    }
    listener = evconnlistener_new(loop_event_base(server->loop), NULL, NULL, flags, 0, fd);
    require(listener && evhttp_bind_listener(server->evhttp, listener));
    evconnlistener_set_error_cb(listener, on_accept_fails);
    server_tick_soon(server);
    return 0;
}

/* Whether the path is free, after taking a dead socket away. */
static int clear_path(const char *path, const struct sockaddr_un *address, struct error *err)
{
    struct stat status;

    if (lstat(path, &status) < 0)
        return errno == ENOENT ? 0 : error_errno(err, ERROR_DENIED, "%s", path);
    if (!S_ISSOCK(status.st_mode))
        return error_set(err, ERROR_INVALID, "%s is in the way and is no socket", path);

    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return error_errno(err, ERROR_TRANSIENT, "cannot make a socket");

    bool is_dead = connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 &&
                   errno == ECONNREFUSED;

    close(fd);
    if (!is_dead)
        return error_set(err, ERROR_CONFLICT, "another process listens on %s", path);
    if (unlink(path) < 0)
        return error_errno(err, ERROR_DENIED, "cannot remove the dead socket %s", path);
    return 0;
}

static int bind_unix(const char *path, mode_t mode, struct stat *ret_status, struct error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (!text_copy(address.sun_path, sizeof address.sun_path, path))
        return error_set(err, ERROR_INVALID, "the socket's path is longer than %zu characters: %s",
                         sizeof address.sun_path - 1, path);
    if (clear_path(path, &address, err) < 0)
        return -1;

    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return error_errno(err, ERROR_TRANSIENT, "cannot make a socket");

    /* Closed to all until the mode is set. */
    mode_t mask = umask(0777);
    int is_bound = bind(fd, (const struct sockaddr *)&address, sizeof address);

    umask(mask);
    if (is_bound < 0 || chmod(path, mode) < 0 || lstat(path, ret_status) < 0) {
        error_errno(err, ERROR_DENIED, "cannot bind %s", path);
        close(fd);
        return -1;
    }
    return fd;
}

int http_server_listen_unix(struct http_server *server, const char *path, mode_t mode,
                            struct error *err)
{
    struct stat status;
    int fd = bind_unix(path, mode, &status, err);

    if (fd < 0 || listen_on(server, fd, path, err) < 0)
        return -1;
    *array_add(&server->sockets) = (struct unix_socket){ mem_copy_chars(path), status.st_dev,
                                                         status.st_ino };
    return 0;
}

int http_server_listen_loopback(struct http_server *server, int port, int *ret_port,
                                struct error *err)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    socklen_t size = sizeof address;
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return error_errno(err, ERROR_TRANSIENT, "cannot make a socket");
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0) {
        error_errno(err, errno == EADDRINUSE ? ERROR_CONFLICT : ERROR_DENIED,
                    "cannot bind port %d of 127.0.0.1", port);
        close(fd);
        return -1;
    }
    if (listen_on(server, fd, "127.0.0.1", err) < 0)
        return -1;
    if (ret_port)
        *ret_port = ntohs(address.sin_port);
    return 0;
}
