/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See aws_actions.h.
 */
#include "providers/aws/aws_actions.h"

const struct provider_action aws_actions[AWS_ACTION_COUNT] = {
    [AWS_DESCRIBE_GROUPS] = { "DescribeAutoScalingGroups", "autoscaling:DescribeAutoScalingGroups",
                              false, "read a group, its size and its instances" },
    [AWS_DESCRIBE_MEMBERS] = { "DescribeAutoScalingInstances",
                               "autoscaling:DescribeAutoScalingInstances", false,
                               "read the state of one instance before it is removed" },
    [AWS_DESCRIBE_ACTIVITIES] = { "DescribeScalingActivities",
                                  "autoscaling:DescribeScalingActivities", false,
                                  "read why a group brings no instance" },
    [AWS_DESCRIBE_HOOKS] = { "DescribeLifecycleHooks", "autoscaling:DescribeLifecycleHooks", false,
                             "check a group" },
    [AWS_DESCRIBE_REFRESHES] = { "DescribeInstanceRefreshes",
                                 "autoscaling:DescribeInstanceRefreshes", false, "check a group" },
    [AWS_TERMINATE] = { "TerminateInstanceInAutoScalingGroup",
                        "autoscaling:TerminateInstanceInAutoScalingGroup", true,
                        "remove one named instance" },
    [AWS_LAUNCH] = { "LaunchInstances", "autoscaling:LaunchInstances", true,
                     "grow a group in one zone" },
    [AWS_SET_DESIRED] = { "SetDesiredCapacity", "autoscaling:SetDesiredCapacity", true,
                          "grow a group, and take back what did not come" },
    [AWS_PROTECT] = { "SetInstanceProtection", "autoscaling:SetInstanceProtection", true,
                      "keep a moved instance when another writer makes its group smaller" },
    [AWS_DESCRIBE_INSTANCES] = { "DescribeInstances", "ec2:DescribeInstances", false,
                                 "read one instance" },
    [AWS_DESCRIBE_RESERVATIONS] = { "DescribeCapacityReservations",
                                    "ec2:DescribeCapacityReservations", false,
                                    "read the free slots and the end of a reservation" },
    [AWS_DESCRIBE_NODEGROUP] = { "DescribeNodegroup", "eks:DescribeNodegroup", false,
                                 "read the health of a managed node group" },
    [AWS_CALLER_IDENTITY] = { "GetCallerIdentity", "", false, "learn whose the keys are" },
    [AWS_SIMULATE_POLICY] = { "SimulatePrincipalPolicy", "iam:SimulatePrincipalPolicy", false,
                              "check which changes the keys may make (sluice doctor)" },
};
