/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See access.h.
 */
#include "broker/access/access.h"

#include "base/array.h"
#include "base/text.h"
#include "base/text_items.h"

#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

enum { ENTRY_SIZE = 64 << 10, NAME_SIZE = 40 };

struct access {
    ARRAY(struct group_role {
        gid_t group;
        enum access_role role;
    }) groups;
    char *group_names[ACCESS_ROLE_COUNT];       /* as configured; NULL: none */
    char *certificate_names[ACCESS_ROLE_COUNT]; /* the same */
};

const struct error_cause access_not_allowed = { "permission" };

static void name_user(uid_t uid, char *out, size_t size)
{
    owned(chars) char *buffer = mem_new(ENTRY_SIZE);
    struct passwd entry;
    struct passwd *found = NULL;

    if (getpwuid_r(uid, &entry, buffer, ENTRY_SIZE, &found) == 0 && found)
        text_copy(out, size, found->pw_name);
    else
        text_print(out, size, "uid %u", (unsigned)uid);
}

int access_find_group(const char *name, gid_t *ret_group, struct error *err)
{
    owned(chars) char *buffer = mem_new(ENTRY_SIZE);
    struct group entry;
    struct group *found = NULL;
    long long number;

    if (getgrnam_r(name, &entry, buffer, ENTRY_SIZE, &found) == 0 && found)
        *ret_group = found->gr_gid;
    else if (text_to_int(name, 0, UINT32_MAX - 1, &number))
        *ret_group = (gid_t)number;
    else
        return error_set(err, ERROR_INVALID, "this machine has no group %.100s", name);
    return 0;
}

static enum access_role find_role(const struct access_rule *rule)
{
    enum access_role role = access_role_find(rule->name);

    require(role != ACCESS_NONE); /* the configuration was checked */
    return role;
}

static int add_groups(struct access *access, const struct access_rule *rule, struct error *err)
{
    enum access_role role = find_role(rule);
    const char *rest = rule->groups;
    const char *item;
    size_t length;

    access->group_names[role] = mem_copy_chars(rule->groups);
    while (text_items_next(&rest, &item, &length)) {
        owned(chars) char *name = text_format("%.*s", (int)length, item);
        gid_t group;

        if (access_find_group(name, &group, err) < 0)
            return error_context(err, "access.%s.groups", rule->name);
        *array_add(&access->groups) = (struct group_role){ group, role };
    }
    return 0;
}

struct access *access_new(const struct access_rule *rules, size_t count, struct error *err)
{
    owned(access) struct access *access = mem_new(sizeof *access);

    for (size_t i = 0; i < count; i++) {
        if (rules[i].groups && add_groups(access, &rules[i], err) < 0)
            return NULL;
        if (rules[i].certificates)
            access->certificate_names[find_role(&rules[i])] = mem_copy_chars(rules[i].certificates);
    }
    return steal(&access);
}

void access_free(struct access *access)
{
    if (!access)
        return;
    array_clear(&access->groups);
    for (size_t i = 0; i < ACCESS_ROLE_COUNT; i++) {
        mem_free(access->group_names[i]);
        mem_free(access->certificate_names[i]);
    }
    mem_free(access);
}

static enum access_role role_on_socket(const struct access *access, const struct http_call *call)
{
    uid_t uid = http_call_peer(call).uid;
    enum access_role role = access->group_names[ACCESS_VIEWER] ? ACCESS_NONE : ACCESS_VIEWER;

    if (uid == 0 || uid == geteuid())
        return ACCESS_ADMIN;
    for (size_t i = 0; i < access->groups.count; i++) {
        const struct group_role *row = &access->groups.items[i];

        if (row->role > role && http_call_has_group(call, row->group))
            role = row->role;
    }
    return role;
}

/* A person who works as another user is named as well.  An ordinary user's own login adds nothing.
 */
static void name_on_socket(const struct http_call *call, char *out, size_t size)
{
    uid_t uid = http_call_peer(call).uid;
    uid_t login = uid;
    enum http_login is = http_call_login(call, &login);
    char user[NAME_SIZE];
    char other[NAME_SIZE];

    name_user(uid, user, sizeof user);
    if (is == LOGIN_KNOWN && login != uid) {
        name_user(login, other, sizeof other);
        text_print(out, size, "%s (login %s)", user, other);
    } else if (is == LOGIN_UNKNOWN && uid == 0) {
        text_print(out, size, "%s (login unknown)", user);
    } else {
        text_copy(out, size, user);
    }
}

static enum access_role role_of_name(const struct access *access, const char *name)
{
    for (int role = ACCESS_ROLE_COUNT - 1; role > ACCESS_NONE; role--)
        if (text_items_have(access->certificate_names[role], name))
            return (enum access_role)role;
    return ACCESS_NONE;
}

/* The person has the first name of the certificate that gives the highest role, else its first. */
static void see_certificate(const struct access *access, const struct http_call *call,
                            struct person *person)
{
    owned(text) struct text *names = http_call_certificate_names(call);

    text_copy(person->name, sizeof person->name, "a client without a certificate");
    for (char *at = names ? names->chars : NULL; at && *at;) {
        size_t length = strcspn(at, "\n");
        enum access_role role;

        at[length] = '\0';
        role = role_of_name(access, at);
        if (at == names->chars || role > person->role) {
            text_copy(person->name, sizeof person->name, at);
            person->role = role;
        }
        at += length + 1;
    }
    text_print(person->key, sizeof person->key, "certificate %s", person->name);
}

struct person access_see(const struct access *access, const struct http_call *call)
{
    struct person person = { .role = ACCESS_NONE };

    if (http_call_peer(call).is_local) {
        person.role = role_on_socket(access, call);
        name_on_socket(call, person.name, sizeof person.name);
        text_print(person.key, sizeof person.key, "uid %u", (unsigned)http_call_peer(call).uid);
    } else if (http_call_peer(call).is_encrypted) {
        person.door = DOOR_TLS;
        see_certificate(access, call, &person);
    } else {
        person.door = DOOR_METRICS;
        text_copy(person.name, sizeof person.name, "anyone");
        text_copy(person.key, sizeof person.key, "metrics port");
    }
    return person;
}

/* What gives the role: the groups of the least role that is enough and has some. */
static char *way_to(const struct access *access, const struct person *person, enum access_role need)
{
    char us[NAME_SIZE];

    if (person->door == DOOR_TLS)
        return text_format("access.%s.certificates in the service's configuration names the "
                           "certificates that have it",
                           access_role_name(need));
    for (int role = (int)need; role < ACCESS_ROLE_COUNT; role++)
        if (access->group_names[role])
            return text_format("members of these groups have the role %s: %.100s (usermod -aG "
                               "GROUP %.40s, then log in again)",
                               access_role_name((enum access_role)role), access->group_names[role],
                               person->name);
    name_user(geteuid(), us, sizeof us);
    return text_format("only root and the service's user %s have it, until access.%s.groups in the "
                       "configuration names a unix group",
                       us, access_role_name(need));
}

int access_check(const struct access *access, const struct person *person, enum access_role need,
                 struct error *err)
{
    owned(chars) char *way = NULL;

    if (person->role >= need)
        return 0;
    way = way_to(access, person, need);
    error_set(err, ERROR_DENIED, "you are %s, with the role %s; this needs the role %s: %s",
              person->name, access_role_name(person->role), access_role_name(need), way);
    return error_because(err, &access_not_allowed);
}
