/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE table of kinds that the contract is played on.
 */
#include "providers/aws/aws.h"
#include "providers/gcp/gcp.h"
#include "tests/providers/contract/contract.h"

#include <stdlib.h>

#define AWS_ACCOUNT                                                                                \
    "{region: us-east-1, autoscaling_endpoint: 'http://127.0.0.1:1/aws/autoscaling', "             \
    "ec2_endpoint: 'http://127.0.0.1:1/aws/ec2', eks_endpoint: 'http://127.0.0.1:1/aws/eks'}"

/* The simulator's keys. */
static void set_up_aws(void)
{
    setenv("AWS_ACCESS_KEY_ID", "AKIASIMULATED0000000", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "simulated/secret+of/the+simulator0000000", 1);
    unsetenv("AWS_SESSION_TOKEN");
}

const struct contract_kind contract_kinds[] = {
    { .name = "gcp",
      .kind = &gcp_kind,
      .account = "{endpoint: 'http://127.0.0.1:1/gcp', metadata: 'http://127.0.0.1:1/gcp'}",
      .pool = "{project: p, group: g-lab}",
      .list = "list_instances",
      .create = "create_instances",
      .remove = "delete_instances" },
    { .name = "aws, by LaunchInstances",
      .kind = &aws_kind,
      .account = AWS_ACCOUNT,
      .pool = "{group: asg-lab, eks_cluster: lab, nodegroup: ng-lab, grow: launch-instances}",
      .traps = "aws: {pool: {zones: 'us-east-1a,us-east-1b', autoscaler: true}}\n",
      .set_up = set_up_aws,
      .list = "describe_groups",
      .create = "launch_instances",
      .remove = "terminate_instance",
      .fails_fast = true },
    { .name = "aws, by number",
      .kind = &aws_kind,
      .account = AWS_ACCOUNT,
      .pool = "{group: asg-lab, grow: set-desired-capacity}",
      .traps = "aws: {pool: {warm_pool: true, autoscaler: true}}\n",
      .set_up = set_up_aws,
      .list = "describe_groups",
      .create = "set_desired",
      .remove = "terminate_instance" },
};

const size_t contract_kind_count = COUNT_OF(contract_kinds);
