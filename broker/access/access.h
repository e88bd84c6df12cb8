/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who asks, and what that person may do.
 *
 * On the unix socket the kernel says which user and groups the process had when it connected.  Root
 * and the service's own user are admins.  Others have the highest role that `access.ROLE.groups`
 * gives one of their groups.  Who has none is a viewer, unless `access.viewer.groups` is set.
 *
 * Over TLS it is the client's certificate: its names have the highest role whose
 * `access.ROLE.certificates` has one of them, and none else.  A request with a bearer token has the
 * token's role alone, by `access.ROLE.claims`.
 */
#pragma once

#include "base/error.h"
#include "base/timestamp.h"
#include "base/world/http_server.h"
#include "broker/access/names.h"
#include "broker/access/role.h"

#include <stdbool.h>
#include <stddef.h>

struct access;
struct groups;
struct key_source;

/* One entry of the section `access`. */
struct access_rule {
    char *name;         /* of the role */
    char *groups;       /* unix groups by name or number, with commas; NULL: none */
    char *certificates; /* names of client certificates, with commas; NULL: none */
    char *claims;       /* of tokens: CLAIM=VALUE, with commas; NULL: none */
};

enum { PERSON_NAME_SIZE = 128 };

/* The section `tokens`; its issuer is NULL when it is absent. */
struct access_tokens {
    char *issuer;
    char *audience;
    char *keys;     /* path of the issuer's key set, absolute; NULL: it comes from keys_url */
    char *keys_url; /* NULL: it comes from keys */
    char *person;   /* the claim that names the person */
};

/* What the configuration says; borrowed. */
struct access_rules {
    const struct access_rule *items;
    size_t count;
    const struct access_tokens *tokens; /* NULL or without an issuer: tokens are not read */
};

enum access_door {
    DOOR_SOCKET,
    DOOR_METRICS, /* the metrics port: anyone */
    DOOR_TLS,
};

struct person {
    enum access_door door;
    enum access_role role;
    bool has_token;              /* it is a token's, not a certificate's */
    struct wall_time ends;       /* of that token or certificate; 0: the person does not end */
    char name[PERSON_NAME_SIZE]; /* "ada"; "root (login ada)" for root by sudo or su */
    char key[PERSON_NAME_SIZE];  /* whose rates count: one for all names of a user */
};

/* The cause of a refusal that another role would not have met. */
extern const struct error_cause access_not_allowed;

/* The cause of a refusal of a person who is not known: no certificate and no token, or one that is
   not believed. */
extern const struct error_cause access_not_known;

/* Adds the groups of the rules to `groups`, which it borrows.  A group without a number gives no
   role to anyone, and without keys no token is believed. */
struct access *access_new(const struct access_rules *rules, struct groups *groups)
    __attribute__((returns_nonnull, warn_unused_result));
void access_free(struct access *access);

/* -1 and the reason: the number of a group of the rules is not known. */
int access_check_groups(const struct access *access, struct error *err);

/* Reads the keys of tokens from that file.  -1: those of before, if any, stay in use. */
int access_read_keys(struct access *access, const char *path, struct error *err)
    __attribute__((warn_unused_result));

/* Where the keys of tokens come from if the rules name no file: borrowed; NULL: from nowhere. */
void access_set_source(struct access *access, struct key_source *source);

/* The person at the other end of the call at that time.  On the socket the name is only the user's
   number until access_name().  ERROR_DENIED with the cause access_not_known: a person who shows
   nothing, an ended certificate, or a token that is not believed. */
int access_see(const struct access *access, const struct http_call *call, struct wall_time now,
               struct person *ret_person, struct error *err) __attribute__((warn_unused_result));

/* Whether a user's name is missing for access_name(), which a directory server may know.  Then it
   is found out in a thread, and names_learn() calls `done`; this function may find that another
   name is missing then.  Call it for requests that are within their rate.  The names of root and of
   the service's own user are never missing. */
bool access_learn(const struct access *access, const struct http_call *call, struct loop *loop,
                  names_done_fn done, void *context);

/* names_stop() for what access_learn() has not called yet. */
void access_stop(struct access *access);

/* Completes the name, as far as it is known. */
void access_name(const struct access *access, const struct http_call *call, struct wall_time now,
                 struct person *person);

/* Whether the person may do what needs the role.  ERROR_DENIED with the cause access_not_allowed
   says who the person is, which role that is, and how to get the one that is needed. */
int access_check(const struct access *access, const struct person *person, enum access_role need,
                 struct error *err) __attribute__((warn_unused_result));

static inline void owned_access(struct access **access)
{
    access_free(*access);
}
