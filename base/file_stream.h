/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A file some bytes at a time, plain or gzip (told by its first bytes; it may have several parts),
 * for files that need not fit into memory.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct file_stream;

/* More than `limit` unpacked bytes are ERROR_INVALID at the read that reaches them. */
struct file_stream *file_stream_open(const char *path, int64_t limit, struct error *err)
    __attribute__((warn_unused_result));

/* Up to `size` bytes; 0: the end; -1: error, ERROR_CORRUPT for gzip data that is damaged, or that
   bytes follow which are none. */
ssize_t file_stream_read(struct file_stream *stream, void *bytes, size_t size, struct error *err)
    __attribute__((warn_unused_result));

/* NULL is legal. */
void file_stream_close(struct file_stream *stream);

static inline void owned_file_stream(struct file_stream **stream)
{
    file_stream_close(*stream);
}
