/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A TCP proxy on one port of loopback, for tests/real/proxies: proxy PORT TARGET.  Port 0 is any;
 * it prints the one it has.  It copies bytes both ways until it is killed, and its connections die
 * with it.
 */
#include "base/memory.h"
#include "base/text.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdio.h>

static struct sockaddr_in target;

static void pass_on(struct bufferevent *from, void *to)
{
    bufferevent_write_buffer(to, bufferevent_get_input(from));
}

static void last_byte_is_out(struct bufferevent *end, void *context)
{
    (void)context;
    bufferevent_free(end);
}

static void last_end_fails(struct bufferevent *end, short what, void *context)
{
    (void)context;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        bufferevent_free(end);
}

/* The two ends of a connection have each other as context.  What one said last still reaches the
 * other one. */
static void end_closes(struct bufferevent *end, short what, void *context)
{
    struct bufferevent *other = context;

    if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
        return;
    bufferevent_write_buffer(other, bufferevent_get_input(end));
    bufferevent_free(end);
    if (evbuffer_get_length(bufferevent_get_output(other)) == 0)
        bufferevent_free(other);
    else
        bufferevent_setcb(other, NULL, last_byte_is_out, last_end_fails, NULL);
}

static void came(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                 int size, void *context)
{
    struct event_base *base = evconnlistener_get_base(listener);
    struct bufferevent *client = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
    struct bufferevent *server = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);

    (void)address;
    (void)size;
    (void)context;
    require(client && server);
    bufferevent_setcb(client, pass_on, NULL, end_closes, server);
    bufferevent_setcb(server, pass_on, NULL, end_closes, client);
    bufferevent_enable(client, EV_READ | EV_WRITE);
    bufferevent_enable(server, EV_READ | EV_WRITE);
    /* A failure is told to end_closes(). */
    (void)bufferevent_socket_connect(server, (struct sockaddr *)&target, sizeof target);
}

static struct sockaddr_in loopback(long long port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                 .sin_port = htons((uint16_t)port) };
}

int main(int argc, char **argv)
{
    struct event_base *base = event_base_new();
    struct evconnlistener *listener;
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    long long here = 0;
    long long there = 0;

    if (argc != 3 || !text_to_int(argv[1], 0, 65535, &here) ||
        !text_to_int(argv[2], 1, 65535, &there)) {
        fprintf(stderr, "usage: proxy PORT TARGET\n");
        return 64;
    }
    address = loopback(here);
    target = loopback(there);
    listener = evconnlistener_new_bind(base, came, NULL, LEV_OPT_REUSEABLE | LEV_OPT_CLOSE_ON_FREE,
                                       -1, (struct sockaddr *)&address, sizeof address);
    if (!listener ||
        getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &size) < 0) {
        perror("proxy");
        return 1;
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    event_base_dispatch(base);
    return 0;
}
