/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * zlib's own gzread() leaves out what follows gzip data without a word: rows that were appended to
 * a packed file would be lost.
 */
#include "base/file_stream.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER_SIZE = 256 * 1024, MAGIC_SIZE = 2, GZIP_WINDOW = MAX_WBITS + 16 };

enum state { BEGIN, PLAIN, PACKED, BETWEEN }; /* between two parts that are packed alone */

struct file_stream {
    char *path;
    int fd;
    enum state state;
    bool is_end; /* of the file: nothing follows the buffer */
    z_stream packed;
    int64_t left; /* bytes that may still come */
    int64_t limit;
    unsigned char buffer[BUFFER_SIZE]; /* packed.next_in and avail_in are what is left of it */
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
    stream->fd = fd;
    stream->left = stream->limit = limit;
    require(inflateInit2(&stream->packed, GZIP_WINDOW) == Z_OK);
    return stream;
}

static ssize_t read_some(struct file_stream *stream, void *bytes, size_t size, struct error *err)
{
    ssize_t got;

    do
        got = read(stream->fd, bytes, size);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return file_error(stream->path, "read", err);
    stream->is_end = got == 0;
    return got;
}

/* At least so many bytes, unless the file ends before. */
static int fill(struct file_stream *stream, size_t size, struct error *err)
{
    z_stream *packed = &stream->packed;

    if (packed->avail_in > 0 && packed->avail_in < size)
        memmove(stream->buffer, packed->next_in, packed->avail_in);
    if (packed->avail_in < size)
        packed->next_in = stream->buffer;
    while (packed->avail_in < size && !stream->is_end) {
        ssize_t got = read_some(stream, stream->buffer + packed->avail_in,
                                BUFFER_SIZE - packed->avail_in, err);

        if (got < 0)
            return -1;
        packed->avail_in += (uInt)got;
    }
    return 0;
}

static bool has_magic(const struct file_stream *stream)
{
    static const unsigned char magic[MAGIC_SIZE] = { 0x1f, 0x8b };

    return stream->packed.avail_in >= MAGIC_SIZE &&
           memcmp(stream->packed.next_in, magic, MAGIC_SIZE) == 0;
}

static int damaged(const struct file_stream *stream, struct error *err)
{
    return error_set(err, ERROR_CORRUPT, "%s: the gzip data is damaged or cut short", stream->path);
}

/* Another part begins, or the file ends; tapes fill their blocks with zeros. */
static int go_on(struct file_stream *stream, struct error *err)
{
    z_stream *packed = &stream->packed;

    do {
        for (; packed->avail_in > 0 && *packed->next_in == 0; packed->avail_in--)
            packed->next_in++;
        if (fill(stream, MAGIC_SIZE, err) < 0)
            return -1;
    } while (packed->avail_in > 0 && *packed->next_in == 0);
    if (stream->packed.avail_in == 0)
        return 0;
    if (!has_magic(stream))
        return error_set(err, ERROR_CORRUPT,
                         "%s: gzip data, and then bytes that are not packed: unpack it, and put "
                         "the parts together",
                         stream->path);
    require(inflateReset(&stream->packed) == Z_OK);
    stream->state = PACKED;
    return 0;
}

static ssize_t read_packed(struct file_stream *stream, void *bytes, size_t size, struct error *err)
{
    z_stream *packed = &stream->packed;

    packed->next_out = bytes;
    packed->avail_out = (uInt)size;
    while (packed->avail_out == size) {
        int code;

        if (stream->state == BETWEEN && go_on(stream, err) < 0)
            return -1;
        if (stream->state == BETWEEN)
            return 0;
        if (fill(stream, 1, err) < 0)
            return -1;
        code = inflate(packed, Z_NO_FLUSH);
        if (code == Z_STREAM_END)
            stream->state = BETWEEN;
        else if (code != Z_OK ||
                 (packed->avail_out == size && stream->is_end && packed->avail_in == 0))
            return damaged(stream, err);
    }
    return (ssize_t)(size - packed->avail_out);
}

static ssize_t read_plain(struct file_stream *stream, void *bytes, size_t size, struct error *err)
{
    z_stream *rest = &stream->packed;
    size_t got = rest->avail_in < size ? rest->avail_in : size;

    if (got == 0)
        return stream->is_end ? 0 : read_some(stream, bytes, size, err);
    memcpy(bytes, rest->next_in, got);
    rest->next_in += got;
    rest->avail_in -= (uInt)got;
    return (ssize_t)got;
}

ssize_t file_stream_read(struct file_stream *stream, void *bytes, size_t size, struct error *err)
{
    size_t most = size < INT_MAX ? size : INT_MAX;
    ssize_t got;

    if (stream->state == BEGIN) {
        if (fill(stream, MAGIC_SIZE, err) < 0)
            return -1;
        stream->state = has_magic(stream) ? PACKED : PLAIN;
    }
    got = stream->state == PLAIN ? read_plain(stream, bytes, most, err)
                                 : read_packed(stream, bytes, most, err);
    if (got < 0)
        return -1;
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
    inflateEnd(&stream->packed);
    close(stream->fd);
    mem_free(stream->path);
    mem_free(stream);
}
