/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See refusals.h.
 */
#include "broker/access/refusals.h"

#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"

/* Of one person and reason. */
struct story {
    enum refusal_reason reason;
    int64_t until_ms; /* no further line before */
    int64_t left_out;
    char *by;   /* of the last one that was left out */
    char *path; /* the same */
    char *why;  /* the same */
};

struct refusals {
    struct loop *loop;
    struct timer *timer;
    struct map *stories;
    int64_t counts[REFUSAL_REASONS];
};

static const char *const reason_names[REFUSAL_REASONS] = {
    [REFUSAL_IDENTITY] = "identity",
    [REFUSAL_PERMISSION] = "permission",
    [REFUSAL_RATE] = "rate",
    [REFUSAL_ORIGIN] = "origin",
};

const char *refusal_reason_name(enum refusal_reason reason)
{
    require(reason < REFUSAL_REASONS);
    return reason_names[reason];
}

static void clear(struct story *story)
{
    mem_free(steal(&story->by));
    mem_free(steal(&story->path));
    mem_free(steal(&story->why));
}

static void story_free(void *value)
{
    clear(value);
    mem_free(value);
}

static void tell(const struct story *story, const struct refusal *last)
{
    log_info("request_refused", FIELD_TEXT("reason", reason_names[story->reason]),
             FIELD_TEXT("by", last->by), FIELD_TEXT("path", last->path),
             FIELD_TEXT("why", last->why), FIELD_INT("count", story->left_out + 1));
}

/* Tells what was left out, and forgets who is quiet. */
static void on_timer(void *context)
{
    struct refusals *refusals = context;
    int64_t now_ms = loop_now(refusals->loop);
    const char *key;
    void *value;

    for (size_t i = 0; map_next(refusals->stories, &i, &key, &value);) {
        struct story *story = value;

        if (story->until_ms > now_ms)
            continue;
        if (story->left_out == 0) {
            map_remove(refusals->stories, key);
            continue;
        }
        story->left_out--; /* the last one, which the line tells */
        tell(story, &(struct refusal){ .by = story->by, .path = story->path, .why = story->why });
        story->left_out = 0;
        story->until_ms = now_ms + REFUSALS_TELL_MS;
        clear(story);
    }
    if (map_count(refusals->stories) > 0)
        timer_set(refusals->timer, REFUSALS_TELL_MS);
}

struct refusals *refusals_new(struct loop *loop)
{
    struct refusals *refusals = mem_new(sizeof *refusals);

    refusals->loop = loop;
    refusals->stories = map_new(story_free);
    refusals->timer = timer_new(loop, on_timer, refusals);
    return refusals;
}

void refusals_free(struct refusals *refusals)
{
    if (!refusals)
        return;
    timer_free(refusals->timer);
    map_free(refusals->stories);
    mem_free(refusals);
}

/* Over the bound all further persons are told as one. */
static struct story *find(struct refusals *refusals, const struct refusal *refusal)
{
    owned(chars) char *key = text_format("%s %s", reason_names[refusal->reason], refusal->who);
    struct story *story = map_get(refusals->stories, key);

    if (!story && map_count(refusals->stories) >= REFUSALS_KEPT_MOST) {
        mem_free(key);
        key = mem_copy_chars(reason_names[refusal->reason]);
        story = map_get(refusals->stories, key);
    }
    if (story)
        return story;
    story = mem_new(sizeof *story);
    story->reason = refusal->reason;
    map_set(refusals->stories, key, story);
    return story;
}

void refusals_add(struct refusals *refusals, const struct refusal *refusal)
{
    int64_t now_ms = loop_now(refusals->loop);
    struct story *story;

    require(refusal->reason < REFUSAL_REASONS);
    refusals->counts[refusal->reason]++;
    story = find(refusals, refusal);
    timer_set_sooner(refusals->timer, REFUSALS_TELL_MS);
    if (story->until_ms == 0) {
        story->until_ms = now_ms + REFUSALS_TELL_MS;
        tell(story, refusal);
        return;
    }
    story->left_out++;
    clear(story);
    story->by = mem_copy_chars(refusal->by);
    story->path = mem_copy_chars(refusal->path);
    story->why = mem_copy_chars(refusal->why);
}

int64_t refusals_count(const struct refusals *refusals, enum refusal_reason reason)
{
    require(reason < REFUSAL_REASONS);
    return refusals->counts[reason];
}

size_t refusals_kept(const struct refusals *refusals)
{
    return map_count(refusals->stories);
}
