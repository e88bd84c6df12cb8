/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See changes.h.
 */
#include "broker/api/changes.h"

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

enum { LOOK_MS = SECOND_MS, SILENCE_MS = 15 * SECOND_MS, FULL_WAIT_MS = 10 * SECOND_MS };

struct reader {
    struct changes_reader fns;
    char *person;
    uint64_t revision; /* that it was told last */
    int64_t told_ms;
};

struct changes {
    struct loop *loop;
    uint64_t (*revision)(const void *context);
    const void *context;
    struct timer *timer;
    ARRAY(struct reader *) readers;
};

static void reader_free(struct reader *reader)
{
    mem_free(reader->person);
    mem_free(reader);
}

static bool tell(struct changes *changes, struct reader *reader, uint64_t revision)
{
    owned(chars) char *event = text_format("event: change\ndata: {\"revision\":%" PRIu64 "}\n\n",
                                           revision);

    reader->revision = revision;
    reader->told_ms = loop_now(changes->loop);
    return reader->fns.send(reader->fns.context, event, strlen(event));
}

static bool keep(struct changes *changes, struct reader *reader)
{
    static const char alive[] = ": alive\n\n";

    if (loop_now(changes->loop) - reader->told_ms < SILENCE_MS)
        return true;
    reader->told_ms = loop_now(changes->loop);
    return reader->fns.send(reader->fns.context, alive, strlen(alive));
}

static void drop(struct changes *changes, size_t at)
{
    struct reader *reader = changes->readers.items[at];

    array_remove(&changes->readers, at);
    reader->fns.end(reader->fns.context);
    reader_free(reader);
}

static bool is_over(const struct changes *changes, const struct reader *reader)
{
    return reader->fns.ends.ms > 0 && loop_wall(changes->loop).ms >= reader->fns.ends.ms;
}

static void look(void *context)
{
    struct changes *changes = context;
    uint64_t revision = changes->revision(changes->context);

    for (size_t i = changes->readers.count; i-- > 0;) {
        struct reader *reader = changes->readers.items[i];

        if (is_over(changes, reader) ||
            (reader->revision != revision ? !tell(changes, reader, revision)
                                          : !keep(changes, reader)))
            drop(changes, i);
    }
    if (changes->readers.count > 0)
        timer_set_sooner(changes->timer, LOOK_MS);
}

struct changes *changes_new(struct loop *loop, uint64_t (*revision)(const void *context),
                            const void *context)
{
    struct changes *changes = mem_new(sizeof *changes);

    changes->loop = loop;
    changes->revision = revision;
    changes->context = context;
    changes->timer = timer_new(loop, look, changes);
    return changes;
}

void changes_free(struct changes *changes)
{
    if (!changes)
        return;
    while (changes->readers.count > 0)
        drop(changes, changes->readers.count - 1);
    array_clear(&changes->readers);
    timer_free(changes->timer);
    mem_free(changes);
}

int changes_check(const struct changes *changes, const char *person, struct error *err)
{
    size_t own = 0;

    for (size_t i = 0; i < changes->readers.count; i++)
        own += text_equal(changes->readers.items[i]->person, person);
    if (own >= CHANGES_PERSON_MOST)
        error_set(err, ERROR_THROTTLED, "%s follows the changes %zu times already", person, own);
    else if (changes->readers.count >= CHANGES_READERS_MOST)
        error_set(err, ERROR_THROTTLED, "%zu readers follow the changes already",
                  changes->readers.count);
    else
        return 0;
    error_wait(err, FULL_WAIT_MS);
    return -1;
}

void changes_add(struct changes *changes, const struct changes_reader *reader)
{
    struct reader *added;

    if (changes->readers.count >= CHANGES_READERS_MOST) {
        reader->end(reader->context);
        return;
    }
    added = mem_new(sizeof *added);
    added->fns = *reader;
    added->person = mem_copy_chars(reader->person);
    *array_add(&changes->readers) = added;
    if (!tell(changes, added, changes->revision(changes->context)))
        drop(changes, changes->readers.count - 1);
    timer_set_sooner(changes->timer, LOOK_MS);
}

void changes_forget(struct changes *changes, const void *context)
{
    for (size_t i = 0; i < changes->readers.count; i++) {
        struct reader *reader = changes->readers.items[i];

        if (reader->fns.context != context)
            continue;
        array_remove(&changes->readers, i);
        reader_free(reader);
        return;
    }
}
