/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See supervisor.h.
 */
#include "base/world/supervisor.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct supervisor {
    struct timer *timer;
    int fd; /* -1: there is no supervisor */
    struct sockaddr_un address;
    socklen_t address_size;
    int64_t watchdog_ms; /* 0: it does not watch */
};

static void tick(void *context)
{
    struct supervisor *supervisor = context;

    supervisor_tell(supervisor, "WATCHDOG=1");
    timer_set(supervisor->timer, supervisor->watchdog_ms / 2);
}

/* A name that begins with '@' is in the abstract namespace: it begins with a zero byte. */
static bool read_address(struct supervisor *supervisor)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un *address = &supervisor->address;

    if (!path || (path[0] != '/' && path[0] != '@'))
        return false;
    address->sun_family = AF_UNIX;
    if (!text_copy(address->sun_path, sizeof address->sun_path, path))
        return false;
    if (path[0] == '@')
        address->sun_path[0] = '\0';
    supervisor->address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    return true;
}

/* WATCHDOG_PID names the process that is watched, if it is set. */
static int64_t read_watchdog_ms(void)
{
    const char *time = getenv("WATCHDOG_USEC");
    const char *pid = getenv("WATCHDOG_PID");
    long long us = 0, watched = 0;

    if (!time || !text_to_int(time, 2000, INT64_MAX, &us))
        return 0;
    if (pid && (!text_to_int(pid, 1, INT32_MAX, &watched) || watched != getpid()))
        return 0;
    return us / 1000;
}

struct supervisor *supervisor_new(struct loop *loop)
{
    struct supervisor *supervisor = mem_new(sizeof *supervisor);

    supervisor->fd = -1;
    supervisor->timer = timer_new(loop, tick, supervisor);
    if (read_address(supervisor))
        supervisor->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    supervisor->watchdog_ms = supervisor->fd >= 0 ? read_watchdog_ms() : 0;
    if (supervisor->watchdog_ms > 0)
        timer_set(supervisor->timer, 0);
    return supervisor;
}

void supervisor_free(struct supervisor *supervisor)
{
    if (!supervisor)
        return;
    timer_free(supervisor->timer);
    if (supervisor->fd >= 0)
        close(supervisor->fd);
    mem_free(supervisor);
}

void supervisor_tell(struct supervisor *supervisor, const char *state)
{
    if (supervisor->fd >= 0 &&
        sendto(supervisor->fd, state, strlen(state), MSG_NOSIGNAL,
               (const struct sockaddr *)&supervisor->address, supervisor->address_size) < 0)
        log_warn("supervisor_silent", FIELD_TEXT("state", state),
                 FIELD_TEXT("text", strerror(errno)));
}

/* The watchdog takes another time while the service runs (sd_notify(3)). */
void supervisor_ask_patience(struct supervisor *supervisor, int64_t patience_ms)
{
    int64_t time_ms = patience_ms > supervisor->watchdog_ms ? patience_ms : supervisor->watchdog_ms;
    owned(chars) char *state = text_format("WATCHDOG_USEC=%" PRId64 "\nWATCHDOG=1", time_ms * 1000);

    if (supervisor->watchdog_ms > 0)
        supervisor_tell(supervisor, state);
}
