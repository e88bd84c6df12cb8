/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whole files.  What the caller may do about a failure follows from errno in one place,
 * file_error().
 */
#define ZLIB_CONST /* its input is const then */
#include "base/file.h"

#include "base/array.h"
#include "base/file_stream.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { CHUNK_SIZE = 64 * 1024, FILES_MOST = 65536 };

static void owned_folder(DIR **folder)
{
    if (*folder)
        closedir(*folder);
}

int file_error(const char *path, const char *act, struct error *err)
{
    enum error_kind kind = ERROR_TRANSIENT;

    if (errno == ENOENT || errno == ENOTDIR)
        kind = ERROR_NOT_FOUND;
    else if (errno == EACCES || errno == EPERM || errno == EROFS)
        kind = ERROR_DENIED;
    else if (errno == EISDIR || errno == ENAMETOOLONG || errno == ELOOP || errno == EEXIST)
        kind = ERROR_INVALID;
    return error_errno(err, kind, "%s: cannot %s", path, act);
}

static int fail_size(const char *path, size_t limit, struct error *err)
{
    return error_set(err, ERROR_INVALID, "%s: larger than %zu bytes", path, limit);
}

static int open_to_read(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? file_error(path, "open", err) : fd;
}

/* The next bytes; 0: the end, -1: error. */
static ssize_t read_some(int fd, const char *path, char *chunk, size_t size, struct error *err)
{
    ssize_t got;

    do
        got = read(fd, chunk, size);
    while (got < 0 && errno == EINTR);
    return got < 0 ? file_error(path, "read", err) : got;
}

struct text *file_read_open(int fd, const char *path, size_t limit, struct error *err)
{
    owned(text) struct text *content = text_new(limit);
    char chunk[CHUNK_SIZE];
    ssize_t got = 1;

    while (got > 0 && (got = read_some(fd, path, chunk, sizeof chunk, err)) > 0) {
        text_add_bytes(content, chunk, (size_t)got);
        if (content->is_cut)
            got = fail_size(path, limit, err);
    }
    return got < 0 ? NULL : steal(&content);
}

struct text *file_read(const char *path, size_t limit, struct error *err)
{
    owned(fd) int fd = open_to_read(path, err);

    return fd < 0 ? NULL : file_read_open(fd, path, limit, err);
}

int file_sha256(const char *path, char out[SHA256_TEXT_SIZE], struct error *err)
{
    owned(fd) int fd = open_to_read(path, err);
    struct crypto_digest *digest = crypto_digest_new();
    char chunk[CHUNK_SIZE];
    ssize_t got = fd < 0 ? -1 : 1;

    while (got > 0 && (got = read_some(fd, path, chunk, sizeof chunk, err)) > 0)
        crypto_digest_add(digest, chunk, (size_t)got);
    if (got == 0)
        crypto_digest_end(digest, out);
    else
        crypto_digest_free(digest);
    return (int)got;
}

struct text *file_pack(const void *bytes, size_t size)
{
    enum { GZIP_WINDOW = MAX_WBITS + 16, MEMORY_LEVEL = 8 };
    struct text *out = text_new(TEXT_UNBOUNDED);
    unsigned char chunk[1 << 14];
    z_stream stream = { 0 };
    int code;

    require(size <= UINT_MAX);
    require(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                         Z_DEFAULT_STRATEGY) == Z_OK);
    stream.next_in = bytes;
    stream.avail_in = (uInt)size;
    do {
        stream.next_out = chunk;
        stream.avail_out = sizeof chunk;
        code = deflate(&stream, Z_FINISH);
        require(code == Z_OK || code == Z_STREAM_END);
        text_add_bytes(out, chunk, sizeof chunk - stream.avail_out);
    } while (code != Z_STREAM_END);
    deflateEnd(&stream);
    return out;
}

struct text *file_read_unpacked(const char *path, size_t limit, struct error *err)
{
    owned(text) struct text *content = text_new(limit);
    owned(file_stream) struct file_stream *stream = file_stream_open(path, INT64_MAX, err);
    char chunk[CHUNK_SIZE];
    ssize_t got = stream ? 1 : -1;

    while (got > 0 && (got = file_stream_read(stream, chunk, sizeof chunk, err)) > 0) {
        text_add_bytes(content, chunk, (size_t)got);
        if (content->is_cut)
            return fail_size(path, content->limit, err), NULL;
    }
    return got < 0 ? NULL : steal(&content);
}

static int write_all(int fd, const char *path, const char *bytes, size_t size, struct error *err)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return file_error(path, "write", err);
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

/* Without this a rename may be lost at a power failure although the file itself was synced. */
static int sync_folder_of(const char *path, struct error *err)
{
    owned(chars) char *folder = file_beside(path, ".");
    owned(fd) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return file_error(folder, "sync", err);
    return 0;
}

static int fill(int fd, const char *path, const void *bytes, size_t size, struct error *err)
{
    if (write_all(fd, path, bytes, size, err) < 0)
        return -1;
    return fsync(fd) < 0 ? file_error(path, "sync", err) : 0;
}

static int put_in_place(const char *temporary, const char *path, struct error *err)
{
    return rename(temporary, path) < 0 ? file_error(path, "replace", err) : 0;
}

/* A rename would replace a device or a pipe by a file: /dev/null, for root. */
static bool is_replaceable(const char *path)
{
    struct stat status;

    return lstat(path, &status) < 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) ||
           (S_ISLNK(status.st_mode) && (stat(path, &status) < 0 || S_ISREG(status.st_mode)));
}

int file_write(const char *path, const void *bytes, size_t size, mode_t mode, struct error *err)
{
    if (!is_replaceable(path))
        return error_set(err, ERROR_INVALID, "%s: is not a regular file", path);

    owned(chars) char *temporary = text_format("%s.tmp-XXXXXX", path);
    owned(fd) int fd = mkostemp(temporary, O_CLOEXEC);

    if (fd < 0)
        return file_error(path, "write", err);
    if ((fchmod(fd, mode) < 0 && file_error(path, "set the mode of", err) < 0) ||
        fill(fd, path, bytes, size, err) < 0 || put_in_place(temporary, path, err) < 0) {
        unlink(temporary);
        return -1;
    }
    return sync_folder_of(path, err);
}

int file_can_write(const char *path, struct error *err)
{
    if (!is_replaceable(path))
        return error_set(err, ERROR_INVALID, "%s: is not a regular file", path);

    owned(chars) char *temporary = text_format("%s.tmp-XXXXXX", path);
    owned(fd) int fd = mkostemp(temporary, O_CLOEXEC);

    if (fd < 0)
        return file_error(path, "write", err);
    unlink(temporary);
    return 0;
}

int file_write_new(const char *path, const void *bytes, size_t size, mode_t mode, struct error *err)
{
    owned(fd) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

    if (fd < 0 && errno == EEXIST)
        return error_set(err, ERROR_CONFLICT, "%s is there already, and is never overwritten",
                         path);
    if (fd < 0)
        return file_error(path, "write", err);
    if (fill(fd, path, bytes, size, err) < 0) {
        unlink(path);
        return -1;
    }
    return sync_folder_of(path, err);
}

static int make_one_folder(const char *path, mode_t mode, struct error *err)
{
    struct stat status;

    if (mkdir(path, mode) == 0)
        return 0;
    if (errno == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return 0;
    return file_error(path, "make the folder", err);
}

int file_make_folder(const char *path, mode_t mode, struct error *err)
{
    owned(chars) char *part = mem_copy_chars(path);

    for (char *at = part + 1; *part && *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (make_one_folder(part, mode, err) < 0)
            return -1;
        *at = '/';
    }
    return make_one_folder(path, mode, err);
}

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name);

    return length >= strlen(ending) && text_equal(name + length - strlen(ending), ending);
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

int file_list(const char *folder, const char *ending, struct file_list *ret_list, struct error *err)
{
    owned(folder) DIR *stream = opendir(folder);
    ARRAY(char *) found = { 0 };
    const struct dirent *entry;

    if (stream == NULL)
        return file_error(folder, "list", err);
    while ((errno = 0, entry = readdir(stream)) != NULL)
        if (entry->d_name[0] != '.' && ends_with(entry->d_name, ending))
            *array_add(&found) = mem_copy_chars(entry->d_name);
    if (errno != 0) {
        file_list_free(&(struct file_list){ found.items, found.count });
        return file_error(folder, "list", err);
    }
    if (found.count > 0)
        qsort(found.items, found.count, sizeof *found.items, compare_names);
    *ret_list = (struct file_list){ found.items, found.count };
    return 0;
}

void file_list_free(struct file_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        mem_free(list->names[i]);
    mem_free(list->names);
    *list = (struct file_list){ 0 };
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

char *file_beside(const char *beside, const char *path)
{
    const char *slash = strrchr(beside, '/');

    if (*path == '/' || slash == NULL)
        return mem_copy_chars(path);
    return text_format("%.*s%s", (int)(slash + 1 - beside), beside, path);
}

int file_lock(const char *path, struct error *err)
{
    owned(fd) int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    int locked;

    if (fd < 0)
        return file_error(path, "open", err);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            return error_set(err, ERROR_CONFLICT, "%s: held by another process", path);
        return file_error(path, "lock", err);
    }
    locked = fd;
    fd = -1;
    return locked;
}

void file_allow_many(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES_MOST)
        return;
    limit.rlim_cur = limit.rlim_max < FILES_MOST ? limit.rlim_max : FILES_MOST;
    (void)!setrlimit(RLIMIT_NOFILE, &limit); /* without it the service takes fewer connections */
}
