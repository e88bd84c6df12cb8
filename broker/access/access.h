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
 * `access.ROLE.certificates` has one of them, and none else.
 */
#pragma once

#include "base/error.h"
#include "base/world/http_server.h"
#include "broker/access/role.h"

#include <stddef.h>

struct access;

/* One entry of the section `access`. */
struct access_rule {
    char *name;         /* of the role */
    char *groups;       /* unix groups by name or number, with commas; NULL: none */
    char *certificates; /* names of client certificates, with commas; NULL: none */
};

enum { PERSON_NAME_SIZE = 128 };

enum access_door {
    DOOR_SOCKET,
    DOOR_METRICS, /* the metrics port: anyone */
    DOOR_TLS,
};

struct person {
    enum access_door door;
    enum access_role role;
    char name[PERSON_NAME_SIZE]; /* "ada"; "root (login ada)" for root by sudo or su */
    char key[PERSON_NAME_SIZE];  /* whose rates count: one for all names of a user */
};

/* The cause of a refusal that another role would not have met. */
extern const struct error_cause access_not_allowed;

/* Finds the groups of the rules.  ERROR_INVALID: a group does not exist. */
struct access *access_new(const struct access_rule *rules, size_t count, struct error *err)
    __attribute__((warn_unused_result));
void access_free(struct access *access);

/* The number of the group with this name, or that the name writes as a number.  ERROR_INVALID:
   there is none. */
int access_find_group(const char *name, gid_t *ret_group, struct error *err)
    __attribute__((warn_unused_result));

/* The person at the other end of the call. */
struct person access_see(const struct access *access, const struct http_call *call);

/* Whether the person may do what needs the role.  ERROR_DENIED with the cause access_not_allowed
   says who the person is, which role that is, and how to get the one that is needed. */
int access_check(const struct access *access, const struct person *person, enum access_role need,
                 struct error *err) __attribute__((warn_unused_result));

static inline void owned_access(struct access **access)
{
    access_free(*access);
}
