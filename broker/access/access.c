/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See access.h.
 */
#include "broker/access/access.h"

#include "base/array.h"
#include "base/input/json.h"
#include "base/text.h"
#include "base/text_items.h"
#include "base/trust.h"
#include "broker/access/bearer.h"
#include "broker/access/groups.h"
#include "broker/access/key_source.h"
#include "broker/access/names.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { NAME_SIZE = 40 };

struct access {
    const struct groups *groups;
    ARRAY(struct group_role {
        size_t group; /* its index in `groups` */
        enum access_role role;
    }) group_roles;
    char *group_names[ACCESS_ROLE_COUNT];       /* as configured; NULL: none */
    char *certificate_names[ACCESS_ROLE_COUNT]; /* the same */
    char *claims[ACCESS_ROLE_COUNT];            /* the same */
    struct web_keys *keys;                      /* of tokens, from a file; NULL: none */
    struct key_source *source;                  /* the same, from a URL; NULL: none */
    struct access_tokens tokens;                /* copies; without the path */
    struct names *names;                        /* of users */
    char us[NAME_SIZE];                         /* the service's own user */
};

const struct error_cause access_not_allowed = { "permission" };
const struct error_cause access_not_known = { "identity" };

static void add_groups(struct access *access, const struct access_rule *rule, enum access_role role,
                       struct groups *groups)
{
    const char *rest = rule->groups;
    const char *item;
    size_t length;

    access->group_names[role] = mem_copy_chars(rule->groups);
    while (text_items_next(&rest, &item, &length)) {
        owned(chars) char *name = text_format("%.*s", (int)length, item);

        *array_add(&access->group_roles) = (struct group_role){ groups_add(groups, name), role };
    }
}

static void copy_tokens(struct access *access, const struct access_tokens *tokens)
{
    access->tokens = (struct access_tokens){ .issuer = mem_copy_chars(tokens->issuer),
                                             .audience = mem_copy_chars(tokens->audience),
                                             .person = mem_copy_chars(tokens->person) };
}

static void add_rule(struct access *access, const struct access_rule *rule, struct groups *groups)
{
    enum access_role role = access_role_find(rule->name);

    require(role != ACCESS_NONE); /* the configuration was checked */
    if (rule->groups)
        add_groups(access, rule, role, groups);
    access->certificate_names[role] = mem_copy_chars(rule->certificates);
    access->claims[role] = mem_copy_chars(rule->claims);
}

struct access *access_new(const struct access_rules *rules, struct groups *groups)
{
    struct access *access = mem_new(sizeof *access);

    access->groups = groups;
    access->names = names_new();
    names_pin(access->names, 0);
    names_pin(access->names, geteuid());
    names_tell(access->names, geteuid(), (struct wall_time){ 0 }, access->us, sizeof access->us);
    for (size_t i = 0; i < rules->count; i++)
        add_rule(access, &rules->items[i], groups);
    if (rules->tokens && rules->tokens->issuer)
        copy_tokens(access, rules->tokens);
    return access;
}

int access_check_groups(const struct access *access, struct error *err)
{
    gid_t number;

    for (size_t i = 0; i < access->group_roles.count; i++) {
        const struct group_role *row = &access->group_roles.items[i];

        if (groups_number(access->groups, row->group, &number, err) < 0)
            return error_context(err, "access.%s.groups", access_role_name(row->role));
    }
    return 0;
}

int access_read_keys(struct access *access, const char *path, struct error *err)
{
    owned(text) struct text *text = trust_read(path, WEB_KEYS_SIZE_MOST, err);
    struct web_keys *keys = text ? web_keys_parse(text->chars, text->length, path, err) : NULL;

    if (!keys)
        return error_context(err, "tokens.keys");
    web_keys_free(access->keys);
    access->keys = keys;
    return 0;
}

void access_set_source(struct access *access, struct key_source *source)
{
    access->source = source;
}

void access_free(struct access *access)
{
    if (!access)
        return;
    array_clear(&access->group_roles);
    for (size_t i = 0; i < ACCESS_ROLE_COUNT; i++) {
        mem_free(access->group_names[i]);
        mem_free(access->certificate_names[i]);
        mem_free(access->claims[i]);
    }
    web_keys_free(access->keys);
    names_free(access->names);
    mem_free(access->tokens.issuer);
    mem_free(access->tokens.audience);
    mem_free(access->tokens.person);
    mem_free(access);
}

static enum access_role role_on_socket(const struct access *access, const struct http_call *call)
{
    uid_t uid = http_call_peer(call).uid;
    enum access_role role = access->group_names[ACCESS_VIEWER] ? ACCESS_NONE : ACCESS_VIEWER;

    if (uid == 0 || uid == geteuid())
        return ACCESS_ADMIN;
    for (size_t i = 0; i < access->group_roles.count; i++) {
        const struct group_role *row = &access->group_roles.items[i];
        gid_t group;

        if (groups_number(access->groups, row->group, &group, NULL) < 0)
            continue;
        if (row->role > role && http_call_has_group(call, group))
            role = row->role;
    }
    return role;
}

bool access_learn(const struct access *access, const struct http_call *call, struct loop *loop,
                  names_done_fn done, void *context)
{
    uid_t users[] = { http_call_peer(call).uid, http_call_peer(call).uid };

    if (!http_call_peer(call).is_local)
        return false;
    if (http_call_login(call, &users[1]) != LOGIN_KNOWN)
        users[1] = users[0];
    for (size_t i = 0; i < COUNT_OF(users); i++)
        if (!names_has(access->names, users[i], loop_wall(loop))) {
            names_learn(access->names, loop, users[i], done, context);
            return true;
        }
    for (size_t i = 0; i < COUNT_OF(users); i++)
        names_renew(access->names, loop, users[i]);
    return false;
}

void access_stop(struct access *access)
{
    names_stop(access->names);
}

/* A person who works as another user is named as well.  An ordinary user's own login adds nothing.
 */
void access_name(const struct access *access, const struct http_call *call, struct wall_time now,
                 struct person *person)
{
    uid_t uid = http_call_peer(call).uid;
    uid_t login = uid;
    enum http_login is = http_call_login(call, &login);
    size_t size = sizeof person->name;
    char user[NAME_SIZE];
    char other[NAME_SIZE];

    if (person->door != DOOR_SOCKET)
        return;
    names_tell(access->names, uid, now, user, sizeof user);
    if (is == LOGIN_KNOWN && login != uid) {
        names_tell(access->names, login, now, other, sizeof other);
        text_print(person->name, size, "%s (login %s)", user, other);
    } else if (is == LOGIN_UNKNOWN && uid == 0) {
        text_print(person->name, size, "%s (login unknown)", user);
    } else {
        text_copy(person->name, size, user);
    }
}

static enum access_role role_of_name(const struct access *access, const char *name)
{
    for (int role = ACCESS_ROLE_COUNT - 1; role > ACCESS_NONE; role--)
        if (text_items_have(access->certificate_names[role], name))
            return (enum access_role)role;
    return ACCESS_NONE;
}

/* The handshake has checked the certificate once; a kept connection may outlive it. */
static int check_end(const struct http_call *call, struct wall_time now, struct error *err)
{
    struct wall_time end = http_call_certificate_ends(call);
    char text[WALL_TEXT_SIZE];

    if (now.ms < end.ms)
        return 0;
    return error_set(err, ERROR_DENIED,
                     "the client certificate, or one of its authorities, ended at %s: renew it",
                     wall_format(end, text));
}

/* The person has the first name of the certificate that gives the highest role, else its first. */
static int see_certificate(const struct access *access, const struct http_call *call,
                           struct wall_time now, struct person *person, struct error *err)
{
    owned(text) struct text *names = http_call_certificate_names(call);

    if (!names)
        return error_set(err, ERROR_DENIED, "show a client certificate or a bearer token");
    if (check_end(call, now, err) < 0)
        return -1;
    text_copy(person->name, sizeof person->name,
              "somebody whose certificate has no email, URI or DNS name in its subjectAltName");
    for (char *at = names->chars; *at;) {
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
    person->ends = http_call_certificate_ends(call);
    return 0;
}

/* The highest role one of whose CLAIM=VALUE the token has. */
static enum access_role role_of_claims(const struct access *access, const json_t *claims)
{
    for (int role = ACCESS_ROLE_COUNT - 1; role > ACCESS_NONE; role--) {
        const char *rest = access->claims[role];
        const char *item;
        size_t length;

        while (text_items_next(&rest, &item, &length)) {
            owned(chars) char *name = text_format("%.*s", (int)length, item);
            char *value = strchr(name, '=');

            require(value); /* the configuration was checked */
            *value = '\0';
            if (bearer_has(claims, name, value + 1))
                return (enum access_role)role;
        }
    }
    return ACCESS_NONE;
}

/* A name for the journal and for people: one line, not longer than a person's. */
static bool is_name(const char *name)
{
    size_t length = strlen(name);

    return length > 0 && length < PERSON_NAME_SIZE && text_is_one_line(name);
}

static int see_token(const struct access *access, const char *token, struct wall_time now,
                     struct person *person, struct error *err)
{
    const struct bearer_rules rules = { access->tokens.issuer, access->tokens.audience };
    const struct web_keys *keys = access->source ? key_source_keys(access->source) : access->keys;
    owned(json) json_t *claims = NULL;
    const char *name;

    if (!keys)
        return error_set(err, ERROR_DENIED,
                         access->tokens.issuer ? "the service cannot read its issuer's keys now"
                                               : "this service reads no tokens");
    claims = bearer_read(token, keys, &rules, now, err);
    if (!claims && access->source && err->cause == &bearer_key_unknown)
        key_source_miss(access->source);
    if (!claims)
        return -1;
    name = json_string_value(json_object_get(claims, access->tokens.person));
    if (!name || !is_name(name))
        return error_set(err, ERROR_DENIED, "the token names no person (claim %s)",
                         access->tokens.person);
    text_copy(person->name, sizeof person->name, name);
    text_print(person->key, sizeof person->key, "token %s", name);
    person->role = role_of_claims(access, claims);
    person->has_token = true;
    person->ends = bearer_ends(claims);
    return 0;
}

/* A token decides alone: who shows a wrong one is not helped by a certificate. */
static int see_remote(const struct access *access, const struct http_call *call,
                      struct wall_time now, struct person *person, struct error *err)
{
    static const char scheme[] = "Bearer ";
    const char *shown = http_call_header(call, "Authorization");

    person->door = DOOR_TLS;
    if (!shown) {
        if (see_certificate(access, call, now, person, err) == 0)
            return 0;
    } else if (strncasecmp(shown, scheme, strlen(scheme)) != 0) {
        error_set(err, ERROR_DENIED, "Authorization: expected Bearer and a token");
    } else if (see_token(access, shown + strlen(scheme), now, person, err) == 0) {
        return 0;
    }
    return error_because(err, &access_not_known);
}

int access_see(const struct access *access, const struct http_call *call, struct wall_time now,
               struct person *ret_person, struct error *err)
{
    struct person person = { .role = ACCESS_NONE };

    if (http_call_peer(call).is_local) {
        person.role = role_on_socket(access, call);
        text_print(person.key, sizeof person.key, "uid %u", (unsigned)http_call_peer(call).uid);
        text_copy(person.name, sizeof person.name, person.key);
    } else if (!http_call_peer(call).is_encrypted) {
        person.door = DOOR_METRICS;
        text_copy(person.name, sizeof person.name, "anyone");
        text_copy(person.key, sizeof person.key, "metrics port");
    } else if (see_remote(access, call, now, &person, err) < 0) {
        return -1;
    }
    *ret_person = person;
    return 0;
}

/* What gives the role: the groups of the least role that is enough and has some. */
static char *way_to(const struct access *access, const struct person *person, enum access_role need)
{
    if (person->door == DOOR_TLS)
        return text_format("access.%s.%s in the service's configuration names the %s that have it",
                           access_role_name(need), person->has_token ? "claims" : "certificates",
                           person->has_token ? "claims of tokens" : "certificates");
    for (int role = (int)need; role < ACCESS_ROLE_COUNT; role++)
        if (access->group_names[role])
            return text_format("members of these groups have the role %s: %.100s (usermod -aG "
                               "GROUP %.40s, then log in again)",
                               access_role_name((enum access_role)role), access->group_names[role],
                               person->name);
    return text_format("only root and the service's user %s have it, until access.%s.groups in the "
                       "configuration names a unix group",
                       access->us, access_role_name(need));
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
