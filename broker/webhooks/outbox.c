/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See outbox.h.
 */
#include "broker/webhooks/outbox.h"

#include "base/input/json.h"
#include "base/text.h"
#include "broker/webhooks/message.h"

static int64_t seq_of(const json_t *row)
{
    return json_int_or(row, "seq", 0);
}

void outbox_clear(struct outbox *outbox)
{
    outbox_forget(outbox, INT64_MAX);
    array_clear(&outbox->rows);
    array_clear(&outbox->jumps);
}

struct wall_time outbox_at(const struct outbox *outbox, const json_t *row)
{
    struct wall_time at = { json_int_or(row, "at", 0) };

    for (size_t i = 0; i < outbox->jumps.count; i++)
        if (outbox->jumps.items[i].seq > seq_of(row))
            at.ms += outbox->jumps.items[i].by_ms;
    return at;
}

void outbox_jump(struct outbox *outbox, int64_t by_ms)
{
    *array_add(&outbox->jumps) = (struct outbox_jump){ INT64_MAX, by_ms };
}

void outbox_note(struct outbox *outbox, const json_t *row)
{
    int64_t by_s = json_int_or(row, "event/by_s", 0);

    if (!text_equal(json_text_or(row, "event/event", ""), "clock_followed"))
        return;
    for (size_t i = 0; i < outbox->jumps.count; i++) /* that row may be of an earlier process */
        if (outbox->jumps.items[i].seq == INT64_MAX &&
            outbox->jumps.items[i].by_ms / SECOND_MS == by_s) {
            outbox->jumps.items[i].seq = seq_of(row);
            return;
        }
    *array_add(&outbox->jumps) = (struct outbox_jump){ seq_of(row), by_s * SECOND_MS };
}

void outbox_add(struct outbox *outbox, json_t *row)
{
    size_t count = outbox->rows.count;

    require(count == 0 || seq_of(outbox->rows.items[count - 1]) < seq_of(row));
    *array_add(&outbox->rows) = json_incref(row);
}

json_t *outbox_next(const struct outbox *outbox, const struct config_webhook *hook, int64_t seq)
{
    for (size_t i = 0; i < outbox->rows.count; i++)
        if (seq_of(outbox->rows.items[i]) > seq && message_is_wanted(hook, outbox->rows.items[i]))
            return outbox->rows.items[i];
    return NULL;
}

int64_t outbox_count(const struct outbox *outbox, const struct config_webhook *hook, int64_t seq)
{
    int64_t count = 0;

    for (size_t i = 0; i < outbox->rows.count; i++)
        count += seq_of(outbox->rows.items[i]) > seq &&
                 message_is_wanted(hook, outbox->rows.items[i]);
    return count;
}

void outbox_forget(struct outbox *outbox, int64_t seq)
{
    size_t gone = 0;

    while (gone < outbox->rows.count && seq_of(outbox->rows.items[gone]) <= seq)
        json_decref(outbox->rows.items[gone++]);
    for (size_t i = gone; i < outbox->rows.count; i++)
        outbox->rows.items[i - gone] = outbox->rows.items[i];
    outbox->rows.count -= gone;
    while (outbox->jumps.count > 0 && outbox->jumps.items[0].seq <= seq)
        array_remove(&outbox->jumps, 0);
}
