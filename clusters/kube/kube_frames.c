/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each object of a watch's body is an event: its type, and the object that it is about.
 */
#include "clusters/kube/kube_frames.h"

#include "base/input/json.h"
#include "clusters/kube/kube_error.h"
#include "clusters/kube/kube_objects.h"

#include <string.h>

/* An ERROR event's object is a Status. */
static const struct kube_member of_a_status[] = {
    { "kind", NULL },   { "status", NULL },  { "code", NULL },
    { "reason", NULL }, { "message", NULL }, { "details", NULL },
};

struct kube_frames {
    kube_event_fn on_event;
    void *context;
    struct kube_member members[3]; /* of an event */
    struct kube_member *object_members;
    struct kube_objects *objects;
    int count;        /* of events in the bytes that are being read */
    struct error err; /* of an event */
};

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

static int read_event(struct kube_frames *frames, const json_t *frame, struct error *err)
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

    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (text_equal(types[i].name, type))
            return frames->on_event(frames->context, types[i].type, object, err);
    return error_set(err, ERROR_CORRUPT, "an event of the unknown type \"%.40s\"", type);
}

static void on_frame(void *context, const json_t *frame)
{
    struct kube_frames *frames = context;

    if (frames->err.kind == ERROR_NONE && read_event(frames, frame, &frames->err) == 0)
        frames->count++;
}

/* The members of the object, then those of a Status: of two with one name the first counts. */
static struct kube_member *with_a_status(const struct kube_member *members)
{
    struct kube_member *all = NULL;
    size_t count = 0;

    while (members[count].name)
        count++;
    all = mem_new_array(count + COUNT_OF(of_a_status) + 1, sizeof *all);
    memcpy(all, members, count * sizeof *all);
    memcpy(all + count, of_a_status, sizeof of_a_status);
    return all;
}

struct kube_frames *kube_frames_new(const struct kube_member *members, kube_event_fn on_event,
                                    void *context)
{
    struct kube_frames *frames = mem_new(sizeof *frames);

    frames->on_event = on_event;
    frames->context = context;
    frames->members[0] = (struct kube_member){ "type", NULL };
    frames->object_members = members ? with_a_status(members) : NULL;
    frames->members[1] = (struct kube_member){ "object", frames->object_members };
    kube_frames_reset(frames);
    return frames;
}

void kube_frames_free(struct kube_frames *frames)
{
    if (!frames)
        return;
    kube_objects_free(frames->objects);
    mem_free(frames->object_members);
    mem_free(frames);
}

void kube_frames_reset(struct kube_frames *frames)
{
    kube_objects_free(frames->objects);
    frames->objects = kube_objects_of_watch(frames->members, on_frame, frames);
    frames->err = (struct error){ 0 };
}

int kube_frames_add(struct kube_frames *frames, const char *bytes, size_t size, struct error *err)
{
    frames->count = 0;
    kube_objects_add(frames->objects, bytes, size);
    if (frames->err.kind != ERROR_NONE) {
        *err = frames->err;
        return -1;
    }
    return kube_objects_check(frames->objects, err) < 0 ? -1 : frames->count;
}
