/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See demand_feed.h.
 */
#include "windows/demand/demand_feed.h"

#include "base/file_stream.h"
#include "base/memory.h"

#include <string.h>

enum { READ_SIZE = 64 * 1024 };

/* The most bytes of a line: more is no table. */
static const size_t line_max = (size_t)64 << 20;

static void make_room(struct demand_block *block, size_t size)
{
    if (block->capacity >= size + 1)
        return;
    block->capacity = size + size / 4 + 1;
    block->bytes = mem_resize(block->bytes, block->capacity, 1);
}

static ssize_t read_some(struct demand_feed *feed, char *bytes, size_t size, struct error *err)
{
    if (feed->stream)
        return file_stream_read(feed->stream, bytes, size, err);
    if (size > feed->size)
        size = feed->size;
    if (size > 0)
        memcpy(bytes, feed->bytes, size);
    feed->bytes += size;
    feed->size -= size;
    return (ssize_t)size;
}

int demand_feed_fill(struct demand_feed *feed, size_t size, struct error *err)
{
    struct demand_block *rest = &feed->rest;

    while (rest->size < size && !feed->is_end) {
        ssize_t got;

        make_room(rest, size);
        got = read_some(feed, rest->bytes + rest->size, size - rest->size, err);
        if (got < 0)
            return -1;
        feed->is_end = got == 0;
        rest->size += (size_t)got;
    }
    return 0;
}

void demand_feed_drop(struct demand_feed *feed, size_t size)
{
    feed->rest.size -= size;
    memmove(feed->rest.bytes, feed->rest.bytes + size, feed->rest.size);
}

/* How many bytes of the rest are whole lines, of so many bytes at least; 0: the line goes on. */
static size_t whole_lines(const struct demand_feed *feed, size_t size)
{
    const struct demand_block *rest = &feed->rest;
    const char *end = rest->size >= size
                          ? memchr(rest->bytes + size - 1, '\n', rest->size - (size - 1))
                          : NULL;

    if (end)
        return (size_t)(end - rest->bytes) + 1;
    return feed->is_end ? rest->size : 0;
}

int demand_feed_take(struct demand_feed *feed, size_t size, struct demand_block *block,
                     struct error *err)
{
    size_t lines = 0;
    struct demand_block taken;

    for (size_t wanted = size; lines == 0; wanted += READ_SIZE) {
        if (demand_feed_fill(feed, wanted, err) < 0)
            return -1;
        if (feed->is_end && feed->rest.size == 0)
            return 0;
        lines = whole_lines(feed, size);
        if (wanted > size + line_max)
            return error_set(err, ERROR_INVALID, "%s: a line has more than %zu bytes", feed->source,
                             line_max);
    }
    taken = feed->rest;
    feed->rest = *block;
    feed->rest.size = 0;
    make_room(&feed->rest, taken.size - lines);
    memcpy(feed->rest.bytes, taken.bytes + lines, taken.size - lines);
    feed->rest.size = taken.size - lines;
    taken.size = lines;
    *block = taken;
    return 1;
}

void demand_block_clear(struct demand_block *block)
{
    mem_free(block->bytes);
    *block = (struct demand_block){ 0 };
}
