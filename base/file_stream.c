/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * zlib hands a file that is not gzip through as it is.
 */
#include "base/file_stream.h"

#include "base/file.h"
#include "base/memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER_SIZE = 256 * 1024 };

struct file_stream {
    char *path;
    gzFile file;
    int64_t left; /* bytes that may still come */
    int64_t limit;
};

struct file_stream *file_stream_open(const char *path, int64_t limit, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct file_stream *stream;

    if (fd < 0) {
        file_error(path, "open", err);
        return NULL;
    }
    stream = mem_new(sizeof *stream);
    stream->path = mem_copy_chars(path);
    stream->left = stream->limit = limit;
    stream->file = gzdopen(fd, "rb");
    require(stream->file);
    require(gzbuffer(stream->file, BUFFER_SIZE) == 0);
    return stream;
}

ssize_t file_stream_read(struct file_stream *stream, void *bytes, size_t size, struct error *err)
{
    int got = gzread(stream->file, bytes, size < INT_MAX ? (unsigned)size : INT_MAX);
    int code;

    gzerror(stream->file, &code);
    if (code == Z_ERRNO)
        return file_error(stream->path, "read", err);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
        return error_set(err, ERROR_CORRUPT, "%s: the gzip data is damaged or cut short",
                         stream->path);
    stream->left -= got;
    if (stream->left < 0)
        return error_set(err, ERROR_INVALID, "%s: larger than %" PRId64 " bytes", stream->path,
                         stream->limit);
    return got;
}

void file_stream_close(struct file_stream *stream)
{
    if (!stream)
        return;
    gzclose_r(stream->file);
    mem_free(stream->path);
    mem_free(stream);
}
