/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A row is a number of seven-bit groups: its value, its kind, and whether its time and line are as
 * far from the last row's as those were from the row before.  Where they are not, two more numbers
 * follow.  A value with a fraction follows as it is in memory.
 */
#include "windows/demand/packed.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    REGULAR = 1,
    LOCAL = 2,
    KIND_SHIFT = 2,
    VALUE_SHIFT = 4,
    ROW_BYTES_MAX = 40, /* four numbers of ten bytes */
};

static uint64_t fold(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static int64_t unfold(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static void put(struct packed *packed, uint64_t value)
{
    while (value >= 0x80) {
        packed->bytes[packed->size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    packed->bytes[packed->size++] = (uint8_t)value;
}

static uint64_t take(struct packed_cursor *cursor)
{
    const uint8_t *bytes = cursor->packed->bytes;
    uint64_t value = 0;

    for (int shift = 0;; shift += 7) {
        uint8_t byte = bytes[cursor->at++];

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
}

static void make_room(struct packed *packed, size_t size)
{
    size_t capacity = packed->capacity > 0 ? packed->capacity : 64;

    while (capacity < packed->size + size)
        capacity += capacity / 2;
    if (capacity > packed->capacity) {
        packed->bytes = mem_resize(packed->bytes, capacity, 1);
        packed->capacity = capacity;
    }
}

/* Times and lines of a file are far from the ends of their type, and wrap where they are not. */
static int64_t less(int64_t left, int64_t right)
{
    return (int64_t)((uint64_t)left - (uint64_t)right);
}

static int64_t more(int64_t left, int64_t right)
{
    return (int64_t)((uint64_t)left + (uint64_t)right);
}

void packed_add(struct packed *packed, const struct packed_row *row)
{
    struct packed_state *last = &packed->last;
    int64_t ms_step = less(row->ms, last->ms);
    int64_t line_step = less(row->line, last->line);
    bool is_regular = ms_step == last->ms_step && line_step == last->line_step;
    uint64_t head = (is_regular ? REGULAR : 0) | (row->is_local ? LOCAL : 0) |
                    (uint64_t)row->kind << KIND_SHIFT;

    make_room(packed, ROW_BYTES_MAX);
    if (row->kind == PACKED_COUNT)
        head |= (uint64_t)row->value << VALUE_SHIFT;
    put(packed, head);
    if (!is_regular) {
        put(packed, fold(less(ms_step, last->ms_step)));
        put(packed, fold(less(line_step, last->line_step)));
    }
    if (row->kind != PACKED_COUNT) {
        memcpy(packed->bytes + packed->size, &row->value, sizeof row->value);
        packed->size += sizeof row->value;
    }
    if (packed->count == 0)
        packed->first_line = row->line;
    packed->is_unsorted = packed->is_unsorted || (packed->count > 0 && ms_step < 0);
    packed->has_local = packed->has_local || row->is_local;
    packed->count++;
    *last = (struct packed_state){ row->ms, ms_step, row->line, line_step };
}

bool packed_next(struct packed_cursor *cursor, struct packed_row *ret_row)
{
    struct packed_state *state = &cursor->state;
    uint64_t head;

    if (cursor->at == cursor->packed->size)
        return false;
    head = take(cursor);
    if (!(head & REGULAR)) {
        state->ms_step = more(state->ms_step, unfold(take(cursor)));
        state->line_step = more(state->line_step, unfold(take(cursor)));
    }
    state->ms = more(state->ms, state->ms_step);
    state->line = more(state->line, state->line_step);
    ret_row->ms = state->ms;
    ret_row->line = state->line;
    ret_row->is_local = head & LOCAL;
    ret_row->kind = (enum packed_kind)(head >> KIND_SHIFT & 3);
    ret_row->value = (double)(head >> VALUE_SHIFT);
    if (ret_row->kind != PACKED_COUNT) {
        memcpy(&ret_row->value, cursor->packed->bytes + cursor->at, sizeof ret_row->value);
        cursor->at += sizeof ret_row->value;
    }
    return true;
}

/* From their third row on they are the same bytes whatever comes before them. */
void packed_append(struct packed *packed, const struct packed *more_rows)
{
    struct packed_cursor cursor = packed_begin(more_rows);
    struct packed_row row;

    for (int i = 0; i < 2 && packed_next(&cursor, &row); i++)
        packed_add(packed, &row);
    if (more_rows->count <= 2)
        return;
    make_room(packed, more_rows->size - cursor.at);
    memcpy(packed->bytes + packed->size, more_rows->bytes + cursor.at, more_rows->size - cursor.at);
    packed->size += more_rows->size - cursor.at;
    packed->count += more_rows->count - 2;
    packed->last = more_rows->last;
    packed->is_unsorted = packed->is_unsorted || more_rows->is_unsorted;
    packed->has_local = packed->has_local || more_rows->has_local;
}

static int compare_rows(const void *left, const void *right)
{
    const struct packed_row *a = left;
    const struct packed_row *b = right;

    if (a->ms != b->ms)
        return a->ms < b->ms ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

void packed_sort(struct packed *packed)
{
    struct packed_cursor cursor = packed_begin(packed);
    struct packed sorted = { 0 };
    struct packed_row *rows;

    if (!packed->is_unsorted)
        return;
    rows = mem_new_array(packed->count, sizeof *rows);
    for (size_t i = 0; i < packed->count; i++)
        (void)packed_next(&cursor, &rows[i]);
    qsort(rows, packed->count, sizeof *rows, compare_rows);
    for (size_t i = 0; i < packed->count; i++)
        packed_add(&sorted, &rows[i]);
    mem_free(rows);
    packed_clear(packed);
    *packed = sorted;
}

void packed_merge(struct packed *packed, int64_t step_ms)
{
    struct packed_cursor cursor = packed_begin(packed);
    struct packed merged = { 0 };
    struct packed_row sum = { 0 };
    struct packed_row row;

    while (packed_next(&cursor, &row)) {
        row.ms -= (row.ms % step_ms + step_ms) % step_ms;
        if (sum.value > 0 && row.ms == sum.ms) {
            sum.value += row.value;
            continue;
        }
        if (sum.value > 0)
            packed_add(&merged, &sum);
        sum = row;
    }
    if (sum.value > 0)
        packed_add(&merged, &sum);
    packed_clear(packed);
    *packed = merged;
}

void packed_clear(struct packed *packed)
{
    mem_free(packed->bytes);
    *packed = (struct packed){ 0 };
}
