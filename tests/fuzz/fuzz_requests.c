/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bytes on the service's socket: what reaches the handler is a request that keeps the rules, and
 * the server is there for the next client.
 */
#include "base/world/http_server.h"
#include "base/world/loop.h"
#include "tests/fuzz/fuzz.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { TURNS = 40 };

static struct loop *loop;
static struct sockaddr_un address = { .sun_family = AF_UNIX };

static void answer(void *context, struct http_call *call)
{
    const char *target = http_call_target(call);
    size_t size;
    const char *body = http_call_body(call, &size);

    (void)context;
    require(http_call_peer(call).is_local);
    require(target[0] == '/');
    for (const char *at = target; *at; at++)
        require((unsigned char)*at > 0x20 && (unsigned char)*at != 0x7f);
    require(body && body[size] == '\0');
    http_call_answer(call, &(struct http_reply){ .status = 200, .body = "{}", .body_size = 2 });
}

static void open_server(void)
{
    char folder[] = "/tmp/fuzz-requests-XXXXXX";
    struct error err = { 0 };

    loop = loop_libevent_new(&err);
    require(loop && mkdtemp(folder));
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
    require(http_server_listen_unix(http_server_new(loop, answer, NULL), address.sun_path, 0600,
                                    &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char answers[4096];
    int fd;

    if (!loop)
        open_server();
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    require(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    if (size > 0)
        (void)!send(fd, bytes, size, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    for (int i = 0; i < TURNS; i++)
        event_base_loop(loop_event_base(loop), EVLOOP_NONBLOCK | EVLOOP_ONCE);
    while (recv(fd, answers, sizeof answers, 0) > 0)
        continue;
    close(fd);
    for (int i = 0; i < TURNS; i++)
        event_base_loop(loop_event_base(loop), EVLOOP_NONBLOCK | EVLOOP_ONCE);
    return 0;
}
