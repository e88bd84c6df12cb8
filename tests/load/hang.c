/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * hang KIND COUNT SECONDS DOOR [CERTIFICATE KEY]: clients that hold connections of the service and
 * do nothing useful with them.  DOOR is the path of a unix socket, or ADDRESS:PORT of TLS.  Prints
 * how many the service has cut off after SECONDS at most, and when the first and the last.
 */
#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS_MOST = 64, RECEIVE_BYTES = 4096, TURN_MS = 200, HOST_SIZE = 64, LINE_SIZE = 512 };

static const struct kind {
    const char *name;
    const char *request; /* HOST: of the door.  NULL: not even a handshake */
    bool sends;          /* a byte more every second */
    int reads;           /* so many bytes every second */
} kinds[] = {
    { "silent", NULL, false, 0 },
    { "headers", "GET /v1/version HTTP/1.1\r\nHost: HOST\r\nX: ", true, 0 },
    { "body",
      "POST /v1/plan HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n"
      "Content-Length: 1000\r\n\r\n",
      true, 0 },
    { "drip", "GET /v1/events?count=10000 HTTP/1.1\r\nHost: HOST\r\n\r\n", false, 64 },
    { "deaf", "GET /v1/events?count=10000 HTTP/1.1\r\nHost: HOST\r\n\r\n", false, 0 },
    { "idle", "GET /v1/version HTTP/1.1\r\nHost: HOST\r\n\r\n", false, 4096 },
    /* plays a machine that vanishes, from a network of its own: the last row */
    { "stream", "GET /v1/changes HTTP/1.1\r\nHost: HOST\r\n\r\n", false, 0 },
};

struct client {
    int fd;
    SSL *ssl;        /* NULL: not by TLS */
    bool is_watched; /* the other end is on this machine, in the system's table */
    bool is_cut;
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "hang: %s\n", what);
    exit(1);
}

static int64_t now_ms(void)
{
    struct timespec spec;

    clock_gettime(CLOCK_MONOTONIC, &spec);
    return (int64_t)spec.tv_sec * SECOND_MS + spec.tv_nsec / 1000000;
}

static int connect_local(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (!text_copy(address.sun_path, sizeof address.sun_path, path) ||
        connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        fail(path);
    return fd;
}

/* The system takes little for a client that reads nothing. */
static int connect_remote(const char *host, int port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int size = RECEIVE_BYTES;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) < 0 ||
        inet_pton(AF_INET, host, &address.sin_addr) != 1 ||
        connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        fail(host);
    return fd;
}

static void send_bytes(const struct client *client, const char *bytes, size_t size)
{
    if (client->ssl)
        (void)SSL_write(client->ssl, bytes, (int)size);
    else
        (void)send(client->fd, bytes, size, MSG_NOSIGNAL);
}

static void begin(struct client *client, const struct kind *kind, const char *host,
                  SSL_CTX *context)
{
    const char *place = kind->request ? strstr(kind->request, "HOST") : NULL;
    owned(chars) char *request = NULL;

    if (!place)
        return;
    if (context) {
        client->ssl = SSL_new(context);
        if (!client->ssl || SSL_set_fd(client->ssl, client->fd) != 1 ||
            SSL_connect(client->ssl) != 1)
            fail("the handshake failed");
    }
    request = text_format("%.*s%s%s", (int)(place - kind->request), kind->request, host,
                          place + strlen("HOST"));
    send_bytes(client, request, strlen(request));
}

static void act(const struct client *client, const struct kind *kind)
{
    char bytes[RECEIVE_BYTES];

    if (kind->sends)
        send_bytes(client, "x", 1);
    if (kind->reads == 0)
        return;
    if (client->ssl)
        (void)SSL_read(client->ssl, bytes, kind->reads);
    else
        (void)recv(client->fd, bytes, (size_t)kind->reads, MSG_DONTWAIT);
}

/* A client of TCP that takes nothing does not hear that it was cut off: that stands behind what it
   has not taken.  So the table of the system says whether a process still has the other end. */
static bool is_held(const struct client *client)
{
    struct sockaddr_in ours = { 0 }, theirs = { 0 };
    socklen_t our_size = sizeof ours, their_size = sizeof theirs;
    FILE *table = fopen("/proc/net/tcp", "re");
    char line[LINE_SIZE];
    bool is_found = false;

    if (!table || getsockname(client->fd, (struct sockaddr *)&ours, &our_size) < 0 ||
        getpeername(client->fd, (struct sockaddr *)&theirs, &their_size) < 0) {
        if (table)
            fclose(table);
        return false; /* it was reset */
    }
    while (!is_found && fgets(line, sizeof line, table)) {
        unsigned local = 0, remote = 0;
        unsigned long inode = 0;

        is_found = sscanf(line, "%*s %*x:%x %*x:%x %*x %*s %*s %*s %*s %*s %lu", &local, &remote,
                          &inode) == 3 &&
                   local == ntohs(theirs.sin_port) && remote == ntohs(ours.sin_port) && inode > 0;
    }
    fclose(table);
    return is_found;
}

static bool is_cut(const struct client *client)
{
    struct pollfd wish = { .fd = client->fd, .events = POLLRDHUP };

    return (poll(&wish, 1, 0) > 0 && (wish.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) ||
           (client->is_watched && !is_held(client));
}

static void hang(struct client *clients, int count, const struct kind *kind, int seconds)
{
    int64_t begin_ms = now_ms(), acted_ms = begin_ms, first_ms = 0, last_ms = 0;
    int cut = 0;

    while (cut < count && now_ms() - begin_ms < (int64_t)seconds * SECOND_MS) {
        bool acts = now_ms() - acted_ms >= SECOND_MS;

        poll(NULL, 0, TURN_MS);
        if (acts)
            acted_ms = now_ms();
        for (int i = 0; i < count; i++) {
            if (clients[i].is_cut)
                continue;
            clients[i].is_cut = is_cut(&clients[i]);
            if (clients[i].is_cut) {
                last_ms = now_ms() - begin_ms;
                first_ms = cut++ == 0 ? last_ms : first_ms;
            } else if (acts) {
                act(&clients[i], kind);
            }
        }
    }
    printf("%s cut %d of %d after %.1f to %.1f s\n", kind->name, cut, count,
           (double)first_ms / SECOND_MS, (double)last_ms / SECOND_MS);
}

static SSL_CTX *client_context(const char *certificate, const char *key)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    if (!context || SSL_CTX_use_certificate_file(context, certificate, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
        fail(certificate);
    return context;
}

int main(int argc, char **argv)
{
    struct client clients[CLIENTS_MOST] = { 0 };
    const struct kind *kind = NULL;
    char host[HOST_SIZE] = "localhost";
    SSL_CTX *context = NULL;
    int count, port = 0;

    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; argc >= 5 && i < COUNT_OF(kinds); i++)
        if (text_equal(kinds[i].name, argv[1]))
            kind = &kinds[i];
    count = kind ? atoi(argv[2]) : 0;
    if (count < 1 || count > CLIENTS_MOST)
        fail("hang KIND COUNT SECONDS DOOR [CERTIFICATE KEY]");
    if (argv[4][0] != '/') {
        size_t length = strcspn(argv[4], ":");

        text_print(host, sizeof host, "%.*s", (int)length, argv[4]);
        port = argv[4][length] ? atoi(argv[4] + length + 1) : 0;
    }
    if (argc == 7)
        context = client_context(argv[5], argv[6]);
    for (int i = 0; i < count; i++) {
        clients[i].fd = port ? connect_remote(host, port) : connect_local(argv[4]);
        clients[i].is_watched = port > 0 && kind != &kinds[COUNT_OF(kinds) - 1];
        begin(&clients[i], kind, host, context);
        if (fcntl(clients[i].fd, F_SETFL, O_NONBLOCK) < 0)
            fail("fcntl");
    }
    hang(clients, count, kind, atoi(argv[3]));
    for (int i = 0; i < count; i++) {
        SSL_free(clients[i].ssl);
        close(clients[i].fd);
    }
    SSL_CTX_free(context);
    return 0;
}
