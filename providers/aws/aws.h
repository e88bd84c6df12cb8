/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * AWS: a pool is an Auto Scaling group.  sluice uses the group's own verbs, because they change its
 * size together with the instance.  EKS's number of nodes is never written: it may be stale, and
 * would then end other nodes.
 */
#pragma once

#include "providers/aws/aws_credentials.h"
#include "providers/aws/aws_pool.h"
#include "providers/common/provider.h"

/* The keys of `providers.NAME`; a struct provider_account.  Texts that are not set are NULL. */
struct aws_settings {
    struct aws_account whose;
    const char *autoscaling_endpoint; /* overrides the public URL */
    const char *ec2_endpoint;
    const char *eks_endpoint;
    const char *iam_endpoint;
};

extern const struct provider_kind aws_kind;
