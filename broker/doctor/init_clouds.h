/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Asks the clouds what clusters do not know of their nodes, for a first configuration: to which
 * group a node belongs.  It only reads.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>

/* The keys of `providers.CLOUD` without `kind`, for each cloud of the groups (init_survey.h): what
   the nodes show of the account, replaced by what is given for it ({CLOUD: {KEY: VALUE}}).
   ERROR_INVALID: a key or value that the kind does not take, or a cloud that no group is of. */
json_t *init_accounts(const json_t *groups, const json_t *given, struct error *err)
    __attribute__((warn_unused_result));

/* Sets two members of each group: `group`, the name that the cloud has for it, where the node did
   not show it; and `group_unknown`, why it is null still, or null.  A cloud that does not answer is
   not asked for its other groups. */
void init_ask_clouds(const json_t *accounts, int64_t timeout_ms, json_t *groups);

/* Sets `group_unknown` without asking. */
void init_ask_nothing(json_t *groups);
