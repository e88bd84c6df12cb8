/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which cloud makes the tokens for a cluster.
 */
#include "providers/aws/aws_eks.h"
#include "providers/kinds.h"

struct kube_login *provider_log_in(struct world *world, const struct kube_login_settings *settings)
{
    require(settings->eks);
    return aws_eks_log_in(world, settings);
}
