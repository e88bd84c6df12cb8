/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each request that sluice sends to change or read node groups of AWS.  The service is the word
 * before the colon of its permission; without a permission it is the token service.
 */
#pragma once

#include "providers/common/provider.h"

enum aws_action {
    AWS_DESCRIBE_GROUPS,
    AWS_DESCRIBE_MEMBERS,
    AWS_DESCRIBE_ACTIVITIES,
    AWS_DESCRIBE_HOOKS,
    AWS_DESCRIBE_REFRESHES,
    AWS_TERMINATE,
    AWS_LAUNCH,
    AWS_SET_DESIRED,
    AWS_PROTECT,
    AWS_DESCRIBE_INSTANCES,
    AWS_DESCRIBE_RESERVATIONS,
    AWS_DESCRIBE_NODEGROUP,
    AWS_CALLER_IDENTITY,
    AWS_SIMULATE_POLICY,
    AWS_ACTION_COUNT,
};

extern const struct provider_action aws_actions[AWS_ACTION_COUNT];
