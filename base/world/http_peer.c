/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See http_peer.h.
 *
 * The login user is read by PID from /proc, and a PID may get a new owner.  A pidfd that the kernel
 * took from the socket (SO_PEERPIDFD, Linux 6.5) stays with the process that connected: if that
 * process lives after the read, the PID was still its own.  Older kernels give only a pidfd of the
 * process that has the PID now.
 */
#include "base/world/http_peer.h"

#include "base/memory.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* linux/socket.h of x86 and ARM */
#endif

enum { GROUPS_MOST = 65536, LOGIN_TEXT_SIZE = 32 };

/* Of IPv6 the network; of IPv4 in IPv6 the IPv4 address. */
static void write_from(int fd, char out[PEER_FROM_SIZE])
{
    static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
    struct sockaddr_storage peer = { 0 };
    struct sockaddr_in *four = (struct sockaddr_in *)(void *)&peer;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&peer;
    socklen_t size = sizeof peer;
    char text[INET6_ADDRSTRLEN] = "";

    if (getpeername(fd, (struct sockaddr *)&peer, &size) < 0)
        text_copy(out, PEER_FROM_SIZE, "unknown");
    else if (peer.ss_family == AF_INET)
        text_copy(out, PEER_FROM_SIZE, inet_ntop(AF_INET, &four->sin_addr, text, sizeof text));
    else if (memcmp(&six->sin6_addr, mapped, sizeof mapped) == 0)
        text_copy(
            out, PEER_FROM_SIZE,
            inet_ntop(AF_INET, (const char *)&six->sin6_addr + sizeof mapped, text, sizeof text));
    else {
        memset((char *)&six->sin6_addr + 8, 0, 8);
        text_print(out, PEER_FROM_SIZE, "%s/64",
                   inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text));
    }
}

struct http_peer peer_read(int fd)
{
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    int domain = 0;
    socklen_t domain_size = sizeof domain;

    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size);
    if (domain != AF_UNIX) {
        struct http_peer peer = { 0 };
        int on = 1;

        /* Pieces of a stream must not wait for the acknowledgement of the piece before. */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        write_from(fd, peer.from);
        return peer;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
        return (
            struct http_peer){ .is_local = true, .uid = (uid_t)-1, .gid = (gid_t)-1, .pid = -1 };
    return (struct http_peer){
        .is_local = true, .uid = credentials.uid, .gid = credentials.gid, .pid = credentials.pid
    };
}

bool peer_has_group(int fd, gid_t group)
{
    struct http_peer peer = peer_read(fd);
    gid_t few[64];
    gid_t *groups = few;
    socklen_t size = sizeof few;
    bool has = false;

    if (!peer.is_local || peer.uid == (uid_t)-1)
        return false;
    if (peer.gid == group)
        return true;
    int result = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, few, &size);

    if (result < 0 && errno == ERANGE && size / sizeof *groups <= GROUPS_MOST) {
        groups = mem_new(size);
        result = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size);
    }
    for (size_t i = 0; result == 0 && !has && i < size / sizeof *groups; i++)
        has = groups[i] == group;
    if (groups != few)
        mem_free(groups);
    return has;
}

/* A descriptor of the process, or -1. */
static int open_process(int fd, pid_t pid)
{
#if defined(__x86_64__) || defined(__aarch64__)
    int process = -1;
    socklen_t size = sizeof process;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process, &size) == 0)
        return process;
    if (errno != ENOPROTOOPT)
        return -1;
#else
    (void)fd;
#endif
    return pidfd_open(pid, 0);
}

static bool is_alive(int process)
{
    struct pollfd wait = { .fd = process, .events = POLLIN };

    return poll(&wait, 1, 0) == 0;
}

/* The text of /proc/PID/loginuid: a number, 4294967295 without a login.  The kernel gives it whole
   in one read. */
static bool read_login(pid_t pid, long long *ret_uid)
{
    owned(chars) char *path = text_format("/proc/%d/loginuid", (int)pid);
    char said[LOGIN_TEXT_SIZE] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, said, sizeof said - 1) : -1;

    if (fd >= 0)
        close(fd);
    said[strcspn(said, "\n")] = '\0';
    return got > 0 && text_to_int(said, 0, UINT32_MAX, ret_uid);
}

enum http_login peer_login(int fd, pid_t pid, uid_t *ret_uid)
{
    long long uid = 0;

    if (pid <= 0) /* of another PID namespace */
        return LOGIN_UNKNOWN;

    int process = open_process(fd, pid);
    bool is_known = process >= 0 && read_login(pid, &uid) && is_alive(process);

    if (process >= 0)
        close(process);
    if (!is_known)
        return LOGIN_UNKNOWN;
    if (uid == UINT32_MAX)
        return LOGIN_NONE;
    *ret_uid = (uid_t)uid;
    return LOGIN_KNOWN;
}
