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
    struct wall_time until;
    char chars[];
};

/* A user whose name is wanted. */
struct wish {
    uid_t uid;
    names_done_fn done;
    void *context;
};

struct names {
    struct map *users; /* uid as text -> struct name */
    ARRAY(struct wish) wishes;
    struct loop *loop;     /* of the wishes */
    struct worker *worker; /* NULL: none was needed yet */
    bool is_asking;
    uid_t asked;  /* while is_asking the thread's, as is the answer */
    char *answer; /* NULL: none */
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

static char *ask_user(uid_t uid)
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
    return code == 0 && found ? mem_copy_chars(found->pw_name)
                              : text_format("uid %u", (unsigned)uid);
}

static void forget_old(struct names *names, struct wall_time now)
{
    const char *key;
    void *value;

    for (size_t i = 0; map_next(names->users, &i, &key, &value);)
        if (((const struct name *)value)->until.ms <= now.ms)
            map_remove(names->users, key);
    if (map_count(names->users) >= NAMES_KEPT_MOST)
        map_clear(names->users);
}

static const struct name *find(const struct names *names, uid_t uid, struct wall_time now)
{
    char key[KEY_SIZE];
    const struct name *name;

    text_print(key, sizeof key, "%u", (unsigned)uid);
    name = map_get(names->users, key);
    return name && name->until.ms > now.ms && name->until.ms <= now.ms + NAMES_AGE_MS ? name : NULL;
}

static const struct name *keep(struct names *names, uid_t uid, struct wall_time now,
                               const char *answer)
{
    size_t length = strlen(answer) + 1;
    struct name *name = mem_new(sizeof *name + length);
    char key[KEY_SIZE];

    text_print(key, sizeof key, "%u", (unsigned)uid);
    memcpy(name->chars, answer, length);
    name->until.ms = now.ms + NAMES_AGE_MS;
    if (map_count(names->users) >= NAMES_KEPT_MOST)
        forget_old(names, now);
    map_set(names->users, key, name);
    return name;
}

bool names_has(const struct names *names, uid_t uid, struct wall_time now)
{
    return find(names, uid, now) != NULL;
}

void names_user(struct names *names, uid_t uid, struct wall_time now, char *out, size_t size)
{
    const struct name *name = find(names, uid, now);

    if (!name) {
        owned(chars) char *answer = ask_user(uid);

        name = keep(names, uid, now, answer);
    }
    text_copy(out, size, name->chars);
}

/* In the worker's thread. */
static void ask_asked(void *context)
{
    struct names *names = context;

    names->answer = ask_user(names->asked);
}

static void begin_next(struct names *names);

/* All who wait for this user are told; one that is told may wish for another. */
static void hear(void *context)
{
    struct names *names = context;
    owned(chars) char *answer = steal(&names->answer);
    uid_t uid = names->asked;

    names->is_asking = false;
    (void)keep(names, uid, loop_wall(names->loop), answer);
    for (size_t i = 0; i < names->wishes.count;) {
        struct wish wish = names->wishes.items[i];

        if (wish.uid != uid) {
            i++;
            continue;
        }
        array_remove(&names->wishes, i);
        wish.done(wish.context, false);
        i = 0;
    }
    begin_next(names);
}

static void begin_next(struct names *names)
{
    struct error err;

    if (names->is_asking || names->wishes.count == 0)
        return;
    names->asked = names->wishes.items[0].uid;
    names->is_asking = true;
    if (!names->worker)
        names->worker = worker_new(names->loop, &err);
    if (names->worker) {
        worker_begin(names->worker, ask_asked, hear, names);
    } else { /* without a thread it is asked here */
        ask_asked(names);
        hear(names);
    }
}

void names_learn(struct names *names, struct loop *loop, uid_t uid, names_done_fn done,
                 void *context)
{
    require(!names->loop || names->loop == loop);
    names->loop = loop;
    *array_add(&names->wishes) = (struct wish){ uid, done, context };
    begin_next(names);
}

void names_stop(struct names *names)
{
    worker_free(steal(&names->worker));
    mem_free(steal(&names->answer));
    names->is_asking = false;
    while (names->wishes.count > 0) {
        struct wish wish = names->wishes.items[0];

        array_remove(&names->wishes, 0);
        wish.done(wish.context, true);
    }
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
