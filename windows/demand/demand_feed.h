/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a demand file in blocks that end at line ends, from a file or from memory.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_stream;

struct demand_block {
    char *bytes; /* with room for a terminator behind them */
    size_t size;
    size_t capacity;
};

struct demand_feed {
    const char *source;         /* names the file in errors */
    struct file_stream *stream; /* NULL: the bytes come from memory, the next two members */
    const char *bytes;
    size_t size;
    struct demand_block rest; /* read, and in no block yet */
    bool is_end;              /* nothing comes after that */
};

/* Reads until `rest` holds so many bytes, or all. */
int demand_feed_fill(struct demand_feed *feed, size_t size, struct error *err)
    __attribute__((warn_unused_result));

/* Takes the first `size` bytes away. */
void demand_feed_drop(struct demand_feed *feed, size_t size);

/* 1: the next lines, of so many bytes in all at least, or the last ones; 0: the end; -1: error.
   The block's memory is used again. */
int demand_feed_take(struct demand_feed *feed, size_t size, struct demand_block *block,
                     struct error *err) __attribute__((warn_unused_result));

void demand_block_clear(struct demand_block *block);
