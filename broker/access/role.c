/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See role.h.
 */
#include "broker/access/role.h"

#include "base/memory.h"
#include "base/text.h"

static const struct {
    const char *name;
    const char *help;
} roles[ACCESS_ROLE_COUNT] = {
    [ACCESS_NONE] = { "none", "nothing" },
    [ACCESS_VIEWER] = { "viewer", "read: status, plans, departures, events, metrics" },
    [ACCESS_OPERATOR] = { "operator", "freeze and unfreeze, abort moves, hold nodes, release hosts "
                                      "from quarantine" },
    [ACCESS_DISPATCHER] = { "dispatcher", "apply schedules; reclaim nodes, and end "
                                          "reclaims; approve both" },
    [ACCESS_ADMIN] = { "admin", "reload the configuration; everything" },
};

const char *access_role_name(enum access_role role)
{
    require(role < ACCESS_ROLE_COUNT);
    return roles[role].name;
}

const char *access_role_help(enum access_role role)
{
    require(role < ACCESS_ROLE_COUNT);
    return roles[role].help;
}

enum access_role access_role_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        if (text_equal(roles[i].name, name))
            return (enum access_role)i;
    return ACCESS_NONE;
}
