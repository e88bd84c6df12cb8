/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See names.h.  glibc returns 0 and no entry for a name that does not exist; every other code means
 * that some source of names did not answer (nsswitch.conf(5)).
 */
#include "broker/access/names.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { ENTRY_SIZE = 4 << 10, ENTRY_SIZE_MOST = 4 << 20, KEY_SIZE = 16 };

struct name {
    struct wall_time until;
    char chars[];
};

struct names {
    struct map *users; /* uid as text -> struct name */
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

void names_user(struct names *names, uid_t uid, struct wall_time now, char *out, size_t size)
{
    char key[KEY_SIZE];
    struct name *name;

    text_print(key, sizeof key, "%u", (unsigned)uid);
    name = map_get(names->users, key);
    if (!name || name->until.ms <= now.ms || name->until.ms > now.ms + NAMES_AGE_MS) {
        owned(chars) char *answer = ask_user(uid);
        size_t length = strlen(answer) + 1;

        name = mem_new(sizeof *name + length);
        memcpy(name->chars, answer, length);
        name->until.ms = now.ms + NAMES_AGE_MS;
        if (map_count(names->users) >= NAMES_KEPT_MOST)
            forget_old(names, now);
        map_set(names->users, key, name);
    }
    text_copy(out, size, name->chars);
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
