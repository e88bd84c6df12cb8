/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The frame splitter.  Lines already read are dropped in one go, when more bytes come.
 */
#include "clusters/kube_frames.h"

#include "base/json.h"
#include "base/text.h"
#include "clusters/kube_error.h"

#include <string.h>

enum { LINE_LIMIT = 4 * 1024 * 1024, BUFFER_LIMIT = 4 * LINE_LIMIT };

struct kube_frames {
    struct text *bytes;
    size_t read; /* of bytes: taken by kube_frames_next() */
};

struct kube_frames *kube_frames_new(void)
{
    struct kube_frames *frames = mem_new(sizeof *frames);
    frames->bytes = text_new(BUFFER_LIMIT);
    return frames;
}

void kube_frames_free(struct kube_frames *frames)
{
    if (!frames)
        return;
    text_free(frames->bytes);
    mem_free(frames);
}

void kube_frames_reset(struct kube_frames *frames)
{
    text_reset(frames->bytes);
    frames->read = 0;
}

void kube_frames_add(struct kube_frames *frames, const char *bytes, size_t size)
{
    text_drop(frames->bytes, frames->read);
    frames->read = 0;
    text_add_bytes(frames->bytes, bytes, size);
}

/* The ERROR event carries a Status, as the answer to a request would. */
static int server_error(const json_t *status, struct error *err)
{
    struct kube_answer answer = {
        .status = 200,
        .body = status,
        .text = "",
    };
    if (kube_error_of_answer(&answer, err) == 0)
        return error_set(err, ERROR_CORRUPT, "an ERROR event without a Status");
    return -1;
}

static int read_event(json_t *frame, struct kube_event *ret_event, struct error *err)
{
    static const struct {
        const char *name;
        enum kube_event_type type;
    } types[] = {
        { "ADDED", KUBE_EVENT_SET },
        { "MODIFIED", KUBE_EVENT_SET },
        { "DELETED", KUBE_EVENT_DELETED },
        { "BOOKMARK", KUBE_EVENT_BOOKMARK },
    };
    const char *type = NULL;
    json_t *object = NULL;
    if (json_need_text(frame, "type", &type, err) < 0 ||
        json_need_object(frame, "object", &object, err) < 0)
        return -1;
    if (text_equal(type, "ERROR"))
        return server_error(object, err);

    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (text_equal(types[i].name, type)) {
            ret_event->type = types[i].type;
            ret_event->object = object;
            ret_event->frame = json_incref(frame);
            return 1;
        }
    }
    return error_set(err, ERROR_CORRUPT, "an event of the unknown type \"%.40s\"", type);
}

int kube_frames_next(struct kube_frames *frames, struct kube_event *ret_event, struct error *err)
{
    if (frames->bytes->is_cut)
        return error_set(err, ERROR_CORRUPT, "the stream sent more than %d bytes at once",
                         BUFFER_LIMIT);
    for (;;) {
        const char *line = frames->bytes->chars + frames->read;
        size_t left = frames->bytes->length - frames->read;
        const char *end = memchr(line, '\n', left);
        size_t length = end ? (size_t)(end - line) : left;
        if (length > LINE_LIMIT)
            return error_set(err, ERROR_CORRUPT, "a line is longer than %d bytes", LINE_LIMIT);
        if (!end)
            return 0;

        frames->read += length + 1;
        if (length == 0 || (length == 1 && line[0] == '\r'))
            continue;
        owned(json) json_t *frame = json_parse_foreign(line, length, "event", err);
        return frame ? read_event(frame, ret_event, err) : -1;
    }
}
