/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The listening sockets of the HTTP server: unix, TCP on loopback, and TCP for TLS.
 */
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/world/http_connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128, ADDRESS_TEXT_SIZE = 64 };

/* A peer that confirms nothing for so long has vanished: so long after we sent something, or, while
   nothing is sent, after the first probe. */
enum { VANISHED_S = 30, PROBE_AFTER_S = 15, PROBE_EACH_S = 5 };

/* Without descriptors left, accepting fails again at once, forever: the listener pauses until the
   next tick. */
static void on_accept_fails(struct evconnlistener *listener, void *context)
{
    (void)context;
    evconnlistener_disable(listener);
    log_warn("accept_failed", FIELD_TEXT("text", strerror(errno)));
}

/* Not a socket that another server has put there since. */
static void remove_socket(const struct unix_socket *socket)
{
    struct stat status;

    if (lstat(socket->path, &status) == 0 && status.st_dev == socket->device &&
        status.st_ino == socket->inode)
        unlink(socket->path);
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

/* "127.0.0.1:8443", "[::]:8443" */
static void name_address(const struct sockaddr *address, char *out, size_t size)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
    char host[INET6_ADDRSTRLEN] = "";

    if (address->sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
        text_print(out, size, "[%s]:%d", host, ntohs(six->sin6_port));
    } else {
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
        text_print(out, size, "%s:%d", host, ntohs(four->sin_port));
    }
}

/* The connections that it accepts inherit these. */
static bool set_options(int fd)
{
    const unsigned vanished_ms = VANISHED_S * SECOND_MS;
    const struct {
        int level, name, value;
    } options[] = {
        { SOL_SOCKET, SO_REUSEADDR, 1 },
        { SOL_SOCKET, SO_KEEPALIVE, 1 },
        { IPPROTO_TCP, TCP_KEEPIDLE, PROBE_AFTER_S },
        { IPPROTO_TCP, TCP_KEEPINTVL, PROBE_EACH_S },
    };

    for (size_t i = 0; i < COUNT_OF(options); i++)
        if (setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                       sizeof options[i].value) < 0)
            return false;
    return setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &vanished_ms, sizeof vanished_ms) == 0;
}

/* Binds a TCP socket and tells its port. */
static int listen_tcp(struct http_server *server, const struct sockaddr *address, socklen_t size,
                      int *ret_port, struct error *err)
{
    char where[ADDRESS_TEXT_SIZE];
    struct sockaddr_storage bound;
    socklen_t bound_size = sizeof bound;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    name_address(address, where, sizeof where);
    if (fd < 0)
        return error_errno(err, ERROR_TRANSIENT, "cannot make a socket");
    if (!set_options(fd) || bind(fd, address, size) < 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &bound_size) < 0) {
        error_errno(err, errno == EADDRINUSE ? ERROR_CONFLICT : ERROR_DENIED, "cannot bind %s",
                    where);
        close(fd);
        return -1;
    }
    if (listen_on(server, fd, where, err) < 0)
        return -1;
    if (ret_port)
        *ret_port = ntohs(bound.ss_family == AF_INET6
                              ? ((const struct sockaddr_in6 *)(const void *)&bound)->sin6_port
                              : ((const struct sockaddr_in *)(const void *)&bound)->sin_port);
    return 0;
}

int http_server_listen_loopback(struct http_server *server, int port, int *ret_port,
                                struct error *err)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return listen_tcp(server, (const struct sockaddr *)&address, sizeof address, ret_port, err);
}

/* "10.0.0.7:8443" or "[::]:8443"; 0: it is neither. */
static socklen_t parse_address(const char *chars, struct sockaddr_storage *out)
{
    struct sockaddr_in *four = (struct sockaddr_in *)(void *)out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)out;
    const char *colon = strrchr(chars, ':');
    size_t length = colon ? (size_t)(colon - chars) : 0;
    bool is_six = length > 2 && chars[0] == '[' && chars[length - 1] == ']';
    owned(chars) char *host = text_format("%.*s", (int)(is_six ? length - 2 : length),
                                          chars + is_six);
    long long port;

    if (!colon || !text_to_int(colon + 1, 0, UINT16_MAX, &port))
        return 0;
    if (is_six && inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        return sizeof *six;
    }
    if (!is_six && inet_pton(AF_INET, host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        return sizeof *four;
    }
    return 0;
}

static int refuse_address(const char *address, struct error *err)
{
    return error_set(err, ERROR_INVALID,
                     "\"%s\" is not an IP address and a port, such as 0.0.0.0:8443 or [::]:8443",
                     address);
}

int http_server_check_address(const char *address, struct error *err)
{
    struct sockaddr_storage parsed = { 0 };

    return parse_address(address, &parsed) > 0 ? 0 : refuse_address(address, err);
}

int http_server_listen_tls(struct http_server *server, const char *address, int *ret_port,
                           struct error *err)
{
    struct sockaddr_storage parsed = { 0 };
    socklen_t size = parse_address(address, &parsed);

    require(server->identity); /* never plain TCP beyond this machine */
    if (size == 0)
        return refuse_address(address, err);
    return listen_tcp(server, (const struct sockaddr *)&parsed, size, ret_port, err);
}

void server_remove_sockets(struct http_server *server)
{
    for (size_t i = 0; i < server->sockets.count; i++) {
        remove_socket(&server->sockets.items[i]);
        mem_free(server->sockets.items[i].path);
    }
    array_clear(&server->sockets);
}
