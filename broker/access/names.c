/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See names.h.  glibc returns 0 and no entry for a name that does not exist; every other code means
 * that some source of names did not answer (nsswitch.conf(5)).
 */
#include "broker/access/names.h"

#include "base/array.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/world/worker.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { ENTRY_SIZE = 4 << 10, ENTRY_SIZE_MOST = 4 << 20, KEY_SIZE = 16 };

struct name {
    struct wall_time asked; /* when it was asked for last */
    struct wall_time until; /* it is used until then */
    bool is_pinned;         /* always, and never asked for again */
    char chars[];
};

/* A user whose name is wanted. */
struct wish {
    uid_t uid;
    int64_t ends_ms;    /* the wait, by loop_now() */
    names_done_fn done; /* NULL: no call waits */
    void *context;
};

/* While it is under way, it is the thread's. */
struct question {
    struct names *names; /* the loop's */
    uid_t uid;
    char *answer; /* NULL: none */
    bool has_failed;
};

struct names {
    struct map *users; /* uid as text -> struct name */
    ARRAY(struct wish) wishes;
    struct loop *loop; /* of the wishes */
    struct timer *timer;
    struct worker *worker;     /* NULL: none was needed yet */
    struct question *question; /* NULL: none is under way */
};

static const struct names_source the_system = { getpwuid_r, getgrnam_r };
static const struct names_source *source = &the_system;

void names_set_source(const struct names_source *other)
{
    source = other ?: &the_system;
}

struct names *names_new(void)
{
    struct names *names = mem_new(sizeof *names);

    names->users = map_new(mem_free);
    return names;
}

void names_free(struct names *names)
{
    if (!names)
        return;
    names_stop(names);
    map_free(names->users);
    mem_free(names);
}

/* Whether a question that failed with this code is worth a buffer of twice the size. */
static bool grow(int code, size_t *size, char **buffer)
{
    if (code != ERANGE || *size >= ENTRY_SIZE_MOST)
        return false;
    mem_free(*buffer);
    *size *= 2;
    *buffer = mem_new(*size);
    return true;
}

/* NULL: there is none, or (*ret_failed) it cannot be found out now. */
static char *ask_user(uid_t uid, bool *ret_failed)
{
    size_t size = ENTRY_SIZE;
    owned(chars) char *buffer = mem_new(size);
    struct passwd entry;
    struct passwd *found;
    int code;

    do {
        found = NULL;
        code = source->user(uid, &entry, buffer, size, &found);
    } while (code == EINTR || grow(code, &size, &buffer));
    *ret_failed = code != 0;
    return code == 0 && found ? mem_copy_chars(found->pw_name) : NULL;
}

static bool is_used(const struct name *name, struct wall_time now)
{
    return name->is_pinned || (now.ms >= name->asked.ms && now.ms < name->until.ms);
}

static bool is_new(const struct name *name, struct wall_time now)
{
    return name->is_pinned || (now.ms >= name->asked.ms && now.ms < name->asked.ms + NAMES_AGE_MS);
}

/* Makes room: those that are not used any more go, else all that can be asked for again. */
static void forget_old(struct names *names, struct wall_time now)
{
    for (int all = 0; all < 2 && map_count(names->users) >= NAMES_KEPT_MOST; all++) {
        const char *key;
        void *value;

        for (size_t i = 0; map_next(names->users, &i, &key, &value);) {
            const struct name *name = value;

            if (!name->is_pinned && (all || !is_used(name, now)))
                map_remove(names->users, key);
        }
    }
}

static struct name *find(const struct names *names, uid_t uid)
{
    char key[KEY_SIZE];

    text_print(key, sizeof key, "%u", (unsigned)uid);
    return map_get(names->users, key);
}

static struct name *keep(struct names *names, uid_t uid, struct wall_time now, const char *answer)
{
    owned(chars) char *number = text_format("uid %u", (unsigned)uid);
    size_t length = strlen(answer ?: number) + 1;
    struct name *name = mem_new(sizeof *name + length);
    char key[KEY_SIZE];

    text_print(key, sizeof key, "%u", (unsigned)uid);
    memcpy(name->chars, answer ?: number, length);
    name->asked = now;
    name->until.ms = now.ms + (answer ? NAMES_USED_MS : NAMES_AGE_MS);
    if (map_count(names->users) >= NAMES_KEPT_MOST)
        forget_old(names, now);
    map_set(names->users, key, name);
    return name;
}

/* A directory server that does not answer now takes no name away. */
static struct name *take(struct names *names, const struct question *question, struct wall_time now)
{
    struct name *old = find(names, question->uid);

    if (!question->has_failed || !old || !is_used(old, now))
        return keep(names, question->uid, now, question->answer);
    old->asked = now;
    return old;
}

static struct name *ask_now(struct names *names, uid_t uid, struct wall_time now)
{
    struct question question = { .uid = uid };
    struct name *name;

    question.answer = ask_user(uid, &question.has_failed);
    name = take(names, &question, now);
    mem_free(question.answer);
    return name;
}

void names_user(struct names *names, uid_t uid, struct wall_time now, char *out, size_t size)
{
    const struct name *name = find(names, uid);

    if (!name || !is_new(name, now))
        name = ask_now(names, uid, now);
    text_copy(out, size, name->chars);
}

void names_pin(struct names *names, uid_t uid)
{
    ask_now(names, uid, (struct wall_time){ 0 })->is_pinned = true;
}

void names_tell(const struct names *names, uid_t uid, struct wall_time now, char *out, size_t size)
{
    const struct name *name = find(names, uid);

    if (name && is_used(name, now))
        text_copy(out, size, name->chars);
    else
        text_print(out, size, "uid %u", (unsigned)uid);
}

bool names_has(const struct names *names, uid_t uid, struct wall_time now)
{
    const struct name *name = find(names, uid);

    return name && is_used(name, now);
}

/* In the worker's thread. */
static void ask(void *context)
{
    struct question *question = context;

    question->answer = ask_user(question->uid, &question->has_failed);
}

static void question_free(void *context)
{
    struct question *question = context;

    mem_free(question->answer);
    mem_free(question);
}

static void begin_next(struct names *names);

/* Takes a wish out, and tells who waits; one that is told may wish for another. */
static void end_wish(struct names *names, size_t at, bool is_over)
{
    struct wish wish = names->wishes.items[at];

    array_remove(&names->wishes, at);
    if (wish.done)
        wish.done(wish.context, is_over);
}

static void hear(void *context)
{
    struct question *question = context;
    struct names *names = question->names;
    uid_t uid = question->uid;

    names->question = NULL;
    (void)take(names, question, loop_wall(names->loop));
    question_free(question);
    for (size_t i = 0; i < names->wishes.count;) {
        if (names->wishes.items[i].uid != uid) {
            i++;
            continue;
        }
        end_wish(names, i, false);
        i = 0;
    }
    begin_next(names);
}

/* Who waits comes first. */
static const struct wish *next_wish(const struct names *names)
{
    for (size_t i = 0; i < names->wishes.count; i++)
        if (names->wishes.items[i].done)
            return &names->wishes.items[i];
    return names->wishes.count > 0 ? &names->wishes.items[0] : NULL;
}

static void begin_next(struct names *names)
{
    const struct wish *wish = next_wish(names);
    struct question *question;
    struct error err;

    if (names->question || !wish)
        return;
    question = mem_new(sizeof *question);
    *question = (struct question){ .names = names, .uid = wish->uid };
    names->question = question;
    if (!names->worker)
        names->worker = worker_new(names->loop, &err);
    if (names->worker) {
        worker_begin(names->worker, ask, hear, question);
    } else { /* without a thread it is asked here */
        ask(question);
        hear(question);
    }
}

/* The directory server may never answer: who has waited is called by the number, as when it says
   that it does not know the user. */
static void on_timer(void *context)
{
    struct names *names = context;
    int64_t next_ms = INT64_MAX;

    for (size_t i = 0; i < names->wishes.count;) {
        const struct wish *wish = &names->wishes.items[i];
        int64_t left_ms = wish->ends_ms - loop_now(names->loop);

        if (!wish->done || left_ms > 0) {
            next_ms = wish->done && left_ms < next_ms ? left_ms : next_ms;
            i++;
            continue;
        }
        if (!names_has(names, wish->uid, loop_wall(names->loop)))
            (void)keep(names, wish->uid, loop_wall(names->loop), NULL);
        end_wish(names, i, false);
        i = 0;
        next_ms = INT64_MAX;
    }
    if (next_ms < INT64_MAX)
        timer_set(names->timer, next_ms);
}

static void add_wish(struct names *names, struct loop *loop, struct wish wish)
{
    require(!names->loop || names->loop == loop);
    names->loop = loop;
    if (!names->timer)
        names->timer = timer_new(loop, on_timer, names);
    wish.ends_ms = loop_now(loop) + NAMES_WAIT_MS;
    *array_add(&names->wishes) = wish;
    if (wish.done)
        timer_set_sooner(names->timer, NAMES_WAIT_MS);
    begin_next(names);
}

void names_learn(struct names *names, struct loop *loop, uid_t uid, names_done_fn done,
                 void *context)
{
    add_wish(names, loop, (struct wish){ .uid = uid, .done = done, .context = context });
}

void names_renew(struct names *names, struct loop *loop, uid_t uid)
{
    const struct name *name = find(names, uid);

    if (!name || is_new(name, loop_wall(loop)))
        return;
    for (size_t i = 0; i < names->wishes.count; i++)
        if (names->wishes.items[i].uid == uid)
            return;
    add_wish(names, loop, (struct wish){ .uid = uid });
}

void names_stop(struct names *names)
{
    if (names->worker)
        worker_abandon(steal(&names->worker), question_free);
    names->question = NULL;
    timer_free(steal(&names->timer));
    while (names->wishes.count > 0)
        end_wish(names, 0, true);
    array_clear(&names->wishes);
    names->loop = NULL;
}

int names_group(const char *name, gid_t *ret_group, struct error *err)
{
    size_t size = ENTRY_SIZE;
    owned(chars) char *buffer = NULL;
    struct group entry;
    struct group *found;
    long long number;
    int code;

    if (text_to_int(name, 0, UINT32_MAX - 1, &number)) {
        *ret_group = (gid_t)number;
        return 0;
    }
    buffer = mem_new(size);
    do {
        found = NULL;
        code = source->group(name, &entry, buffer, size, &found);
    } while (code == EINTR || grow(code, &size, &buffer));
    if (code != 0)
        return error_set(err, ERROR_TRANSIENT,
                         "cannot find out now whether this machine has a group %.100s: %s", name,
                         strerror(code));
    if (!found)
        return error_set(err, ERROR_INVALID, "this machine has no group %.100s", name);
    *ret_group = found->gr_gid;
    return 0;
}
