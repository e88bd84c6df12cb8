/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Why a unix socket cannot be opened, where its permissions are the reason.
 */
#include "base/memory.h"
#include "base/text.h"
#include "base/world/http.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char *user_name(uid_t uid)
{
    const struct passwd *user = getpwuid(uid);

    return user ? mem_copy_chars(user->pw_name) : text_format("%ju", (uintmax_t)uid);
}

static char *group_name(gid_t gid)
{
    const struct group *group = getgrgid(gid);

    return group ? mem_copy_chars(group->gr_name) : text_format("%ju", (uintmax_t)gid);
}

static bool is_closed_to_us(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool is_closed = fd >= 0 && text_copy(address.sun_path, sizeof address.sun_path, path) &&
                     connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 &&
                     (errno == EACCES || errno == EPERM);

    if (fd >= 0)
        close(fd);
    return is_closed;
}

int http_socket_check(const char *path, struct error *err)
{
    owned(chars) char *us = user_name(geteuid());
    struct stat status;

    if (!is_closed_to_us(path))
        return 0;
    if (stat(path, &status) < 0)
        return error_set(
            err, ERROR_DENIED,
            "%s: a folder on the way to it is closed to you (user %s): ask the user that "
            "runs the service, or run this as that user",
            path, us);

    owned(chars) char *owner = user_name(status.st_uid);
    owned(chars) char *group = group_name(status.st_gid);
    unsigned mode = status.st_mode & 07777;

    if ((mode & 0060) != 0060 || status.st_gid == 0)
        return error_set(err, ERROR_DENIED,
                         "%s: you (user %s) may not open it: it belongs to user %s, group %s, mode "
                         "%04o; run this as user %s",
                         path, us, owner, group, mode, owner);
    return error_set(err, ERROR_DENIED,
                     "%s: you (user %s) may not open it: it belongs to user %s, group %s, mode "
                     "%04o; become a member of group %s (usermod -aG %s %s, then log in again), or "
                     "run this as user %s",
                     path, us, owner, group, mode, group, group, us, owner);
}
