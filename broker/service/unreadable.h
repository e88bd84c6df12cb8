/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Records of the journal that could not be read: they are set aside, reported in the status, and
 * not acted on.  A transfer among them keeps its claims, so no other transfer takes its node and
 * machine.
 */
#pragma once

#include "base/map.h"
#include "broker/health/health.h"
#include "broker/journal/journal.h"
#include "broker/service/service.h"

#include <jansson.h>

struct unreadable {
    json_t *records;    /* as journal_put_aside() writes them */
    size_t kept;        /* so many of them, the first, were set aside before this start */
    struct map *claims; /* claim -> holder: those of unknown transfers */
};

void unreadable_init(struct unreadable *unreadable);
void unreadable_clear(struct unreadable *unreadable);

/* Call when all else is loaded.  Moves unreadable records to their own kind, and writes their
   stand-ins, in one commit.  Reads the records that were set aside before. */
int unreadable_load(struct service *service, struct error *err) __attribute__((warn_unused_result));

/* Whether a transfer that cannot be read has the machine or its node. */
bool unreadable_holds(const struct service *service, const struct config_pool *pool,
                      const char *instance, const char *uid);

/* The number that need a person: transfers that were under way. */
int unreadable_operators(const struct service *service);

/* Adds a condition for each. */
void unreadable_warn(const struct service *service, struct health *health);
