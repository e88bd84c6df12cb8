/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A child process becomes a user with some groups, as the kernel sees it, and asks the service on
 * its real unix socket.  Only root can become another user.
 */
#pragma once

#include "tests/cli/door_scene.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { GUEST = 65534, OPERATORS = 61001, DISPATCHERS = 61002, ADMINS = 61003, VIEWERS = 61004 };

static const char access_settings[] = "access:\n"
                                      "  operator: {groups: '61001'}\n"
                                      "  dispatcher: {groups: '61009, 61002'}\n"
                                      "  admin: {groups: '61003'}\n";

/* A user of the machine.  login: the user of its login session; 0: as the test's. */
struct user {
    uid_t uid;
    gid_t group;
    uid_t login;
};

static inline void become(const struct user *user)
{
    FILE *file = user->login ? fopen("/proc/self/loginuid", "w") : NULL;

    if (file) {
        fprintf(file, "%u", (unsigned)user->login);
        if (fclose(file) != 0)
            _exit(98);
    }
    if (user->uid != 0 &&
        (setgroups(1, &user->group) < 0 || setgid(GUEST) < 0 || setuid(user->uid) < 0))
        _exit(99);
}

/* In the child: a connection on which the request was written. */
static inline int send_to_service(const char *path, const char *request)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (!text_copy(address.sun_path, sizeof address.sun_path, path) ||
        connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        write(fd, request, strlen(request)) < 0)
        _exit(97);
    return fd;
}

static inline void send_request(const char *path, const char *request, int out)
{
    int fd = send_to_service(path, request);
    char bytes[4096];
    ssize_t got;

    while ((got = read(fd, bytes, sizeof bytes)) > 0) {
        if (write(out, bytes, (size_t)got) != got)
            _exit(96);
        if (memmem(bytes, (size_t)got, "text/event-stream", strlen("text/event-stream")))
            break; /* it would not end by itself */
    }
    _exit(0);
}

/* The whole answer to one request of this user. */
static inline char *ask_as(struct scene *scene, const struct user *user, const char *method,
                           const char *path, const char *body)
{
    owned(chars) char *request = text_format("%s %s HTTP/1.1\r\nHost: localhost\r\n"
                                             "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
                                             method, path, strlen(body), body);
    struct text *answer = text_new(TEXT_UNBOUNDED);
    char bytes[4096];
    int ends[2], status = 0;
    ssize_t got;
    pid_t child;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        become(user);
        send_request(scene->config->socket, request, ends[1]);
    }
    close(ends[1]);
    while (waitpid(child, &status, WNOHANG) == 0)
        loop_run_until(scene->loop, loop_now(scene->loop) + TURN_MS);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    while ((got = read(ends[0], bytes, sizeof bytes)) > 0)
        text_add_bytes(answer, bytes, (size_t)got);
    close(ends[0]);
    return text_take(answer);
}

static inline int status_of(const char *answer)
{
    return atoi(answer + strlen("HTTP/1.1 "));
}
