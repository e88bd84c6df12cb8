/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See trust.h.  Each name is looked up in a folder that is held open, so no other user can put
 * another one there between the judgement and the opening.  Links are followed here, not by the
 * kernel: each is judged as well.
 */
#include "base/trust.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

struct walk {
    const char *path; /* as it was given, for the sentences */
    struct text *rest;
    struct text *at; /* the folder that was come to; "" for the root */
    int folder;
    int links;
    int flags;
    enum trust trust;
    struct error *why;
};

static void note(struct walk *walk, enum trust trust, const char *name, const char *what)
{
    if (trust <= walk->trust)
        return;
    walk->trust = trust;
    if (name)
        error_set(walk->why, ERROR_DENIED, "%s: %s/%s, on the way to it, %s", walk->path,
                  walk->at->chars, name, what);
    else
        error_set(walk->why, ERROR_DENIED, "%s: %s", walk->path, what);
}

/* Checks one folder or link; the file itself if there is no name. */
static void judge(struct walk *walk, const char *name, const struct stat *status)
{
    bool is_sticky = S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX);
    bool is_link = S_ISLNK(status->st_mode); /* its mode says nothing */

    if (status->st_uid != 0 && status->st_uid != geteuid())
        note(walk, TRUST_OTHERS, name, "belongs to another user than root and sluice's own");
    else if (!is_sticky && !is_link && (status->st_mode & S_IWOTH))
        note(walk, TRUST_OTHERS, name, "may be changed by everybody (chmod o-w)");
    else if (!is_sticky && !is_link && (status->st_mode & S_IWGRP))
        note(walk, TRUST_GROUP, name, "may be changed by its group (chmod g-w)");
}

/* Goes on in another folder; the descriptor becomes the walk's. */
static int enter(struct walk *walk, int fd, const char *name, struct error *err)
{
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0) {
        if (fd >= 0)
            close(fd);
        return file_error(walk->path, "open", err);
    }
    judge(walk, name, &status);
    if (name[0] != '\0')
        text_add(walk->at, "/%s", name);
    if (walk->folder >= 0)
        close(walk->folder);
    walk->folder = fd;
    return 0;
}

static int follow(struct walk *walk, const char *name, struct error *err)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(walk->folder, name, target, sizeof target);

    if (length < 0)
        return file_error(walk->path, "open", err);
    if ((size_t)length == sizeof target || walk->links++ == LINKS_MAX) {
        errno = ELOOP;
        return file_error(walk->path, "open", err);
    }

    owned(chars) char *rest = text_format("%.*s/%s", (int)length, target, walk->rest->chars);

    text_reset(walk->rest);
    text_add(walk->rest, "%s", rest);
    return 0;
}

/* Takes the first name of the remaining path; false: there is none. */
static bool take_name(struct walk *walk, char name[NAME_MAX + 1])
{
    size_t skipped = strspn(walk->rest->chars, "/");
    size_t length = strcspn(walk->rest->chars + skipped, "/");
    bool fits = length <= NAME_MAX;

    memcpy(name, walk->rest->chars + skipped, fits ? length : 0);
    name[fits ? length : 0] = '\0';
    length += skipped;
    length += strspn(walk->rest->chars + length, "/");
    text_drop(walk->rest, length);
    return name[0] != '\0';
}

static int begin(struct walk *walk, struct error *err)
{
    bool is_absolute = walk->rest->chars[0] == '/';

    text_reset(walk->at);
    if (!is_absolute)
        text_add(walk->at, ".");
    return enter(walk, open(is_absolute ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC), "", err);
}

/* The descriptor of the last name, -1: error, -2: the path goes on. */
static int step(struct walk *walk, const char *name, struct error *err)
{
    enum { MORE = -2 };
    bool is_last = walk->rest->length == 0;
    struct stat status;
    int fd;

    if (fstatat(walk->folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return file_error(walk->path, "open", err);
    if (S_ISLNK(status.st_mode)) {
        judge(walk, name, &status);
        if (follow(walk, name, err) < 0 || (walk->rest->chars[0] == '/' && begin(walk, err) < 0))
            return -1;
        return MORE;
    }
    if (!is_last) {
        fd = openat(walk->folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return enter(walk, fd, name, err) < 0 ? -1 : MORE;
    }
    fd = openat(walk->folder, name, walk->flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) < 0) {
        file_error(walk->path, "open", err);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    judge(walk, NULL, &status);
    return fd;
}

int trust_open(const char *path, int flags, enum trust *ret_trust, struct error *ret_why,
               struct error *err)
{
    owned(text) struct text *rest = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *at = text_new(TEXT_UNBOUNDED);
    char name[NAME_MAX + 1];
    struct walk walk = {
        .path = path, .rest = rest, .at = at, .folder = -1, .flags = flags, .why = ret_why
    };
    int fd = -2;

    text_add(rest, "%s", path);
    if (begin(&walk, err) < 0)
        return -1;
    while (fd == -2 && take_name(&walk, name))
        fd = step(&walk, name, err);
    close(walk.folder);
    if (fd == -2) /* no name: a folder's */
        return error_set(err, ERROR_INVALID, "%s: is no file", path);
    *ret_trust = walk.trust;
    return fd;
}

struct text *trust_read(const char *path, size_t limit, struct error *err)
{
    enum trust trust = TRUST_OURS;
    struct error why = { 0 };
    owned(fd) int fd = trust_open(path, O_RDONLY, &trust, &why, err);

    if (fd < 0)
        return NULL;
    if (trust == TRUST_OTHERS) {
        if (err)
            *err = why;
        return NULL;
    }
    return file_read_open(fd, path, limit, err);
}

int trust_check_secrecy(const char *path, struct error *err)
{
    struct stat status;

    if (stat(path, &status) < 0)
        return file_error(path, "examine", err);
    if (status.st_mode & (S_IROTH | S_IWOTH))
        return error_set(err, ERROR_DENIED, "%s: every user may read this key (chmod o-rwx)", path);
    return 0;
}

int trust_program(const char *path, struct error *err)
{
    enum trust trust = TRUST_OURS;
    struct error why = { 0 };
    owned(fd) int fd = trust_open(path, O_PATH, &trust, &why, err);

    if (fd < 0)
        return -1;
    if (trust == TRUST_OURS)
        return 0;
    if (err)
        *err = why;
    return error_context(err, "will not be run");
}

enum trust trust_look(const char *path, struct error *ret_why)
{
    enum trust trust = TRUST_OURS;
    owned(fd) int fd = trust_open(path, O_PATH, &trust, ret_why, NULL);

    return fd < 0 ? TRUST_OURS : trust;
}
