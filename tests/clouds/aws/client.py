# SPDX-License-Identifier: Apache-2.0
"""boto3 and the command line of AWS against the simulator: they list machines, remove one by its
name, grow a group by one in both ways, and read an error of each class."""
import json
import os
import subprocess
import sys
import time

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

import model
from checks import check, end, refusal

usual, throttling, denying, empty, limited = sys.argv[1:6]
KEYS = {"aws_access_key_id": "AKIASIMULATED0000000",
        "aws_secret_access_key": "simulated/secret+of/the+simulator0000000"}
differences = set()


def client(service, base=usual, attempts=1, **keys):
    made = boto3.client(service, region_name="us-east-1", endpoint_url=f"{base}/aws/{service}",
                        config=Config(retries={"total_max_attempts": attempts, "mode": "standard"}),
                        **(keys or KEYS))
    model.watch(made, differences)
    return made


def words(error):
    return [error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Code"]]


def refused(call, *arguments, **named):
    return words(refusal(ClientError, call, *arguments, **named))


groups, machines, nodes, tokens = (client(name) for name in ("autoscaling", "ec2", "eks", "sts"))


def group(name="gpu-asg"):
    return groups.describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"][0]


def members(name="gpu-asg"):
    return [each["InstanceId"] for each in group(name)["Instances"]]


def settle(count):
    """Until so many are in service and no others are there."""
    for _ in range(100):
        if [each["LifecycleState"] for each in group()["Instances"]] == ["InService"] * count:
            return
        time.sleep(0.1)


def read():
    pages = list(groups.get_paginator("describe_auto_scaling_groups").paginate(
        PaginationConfig={"PageSize": 1}))
    check("groups, one on a page",
          [each["AutoScalingGroupName"] for page in pages for each in page["AutoScalingGroups"]],
          ["gpu-asg", "full-asg", "other-asg"])
    check("machines of a group", len(members()), 3)
    reservations = machines.describe_instances(InstanceIds=members())["Reservations"]
    check("their states",
          [each["State"]["Name"] for one in reservations for each in one["Instances"]],
          ["running"] * 3)
    tagged = [{"Name": "tag:aws:autoscaling:groupName", "Values": ["gpu-asg"]}]
    check("machines by the tag of their group",
          len(machines.describe_instances(Filters=tagged)["Reservations"]), 3)
    block = machines.describe_capacity_reservations(CapacityReservationIds=["cr-main"])
    check("a reservation", [block["CapacityReservations"][0][key] for key in
                            ("State", "TotalInstanceCount", "AvailableInstanceCount")],
          ["active", 8, 3])
    found = nodes.describe_nodegroup(clusterName="lab", nodegroupName="gpu")["nodegroup"]
    check("a node group", [found["status"], found["scalingConfig"]["desiredSize"],
                           found["resources"]["autoScalingGroups"][0]["name"]],
          ["ACTIVE", 3, "gpu-asg"])
    other = {"AutoScalingGroupName": "other-asg"}
    check("hooks", groups.describe_lifecycle_hooks(**other)["LifecycleHooks"][0][
        "LifecycleTransition"], "autoscaling:EC2_INSTANCE_TERMINATING")
    check("refreshes", groups.describe_instance_refreshes(**other)["InstanceRefreshes"][0][
        "Status"], "InProgress")
    check("suspended processes", [each["ProcessName"] for each in
                                  group("other-asg")["SuspendedProcesses"]],
          ["AZRebalance", "Launch"])


def change():
    before = members()
    activity = groups.terminate_instance_in_auto_scaling_group(
        InstanceId=before[1], ShouldDecrementDesiredCapacity=True)["Activity"]
    check("the removal of a named machine", activity["StatusCode"], "InProgress")
    settle(2)
    check("the others stay", [members(), group()["DesiredCapacity"]],
          [[before[0], before[2]], 2])
    check("removed again", refused(groups.terminate_instance_in_auto_scaling_group,
                                   InstanceId=before[1], ShouldDecrementDesiredCapacity=True),
          [400, "ValidationError"])

    groups.set_desired_capacity(AutoScalingGroupName="gpu-asg", DesiredCapacity=3)
    settle(3)
    check("growth by a number", [group()["DesiredCapacity"], len(members())], [3, 3])
    newest = groups.describe_scaling_activities(AutoScalingGroupName="gpu-asg")["Activities"][0]
    check("the activity of a growth", newest["StatusCode"], "Successful")

    order = {"AutoScalingGroupName": "gpu-asg", "RequestedCapacity": 1, "ClientToken": "order-1",
             "AvailabilityZones": ["us-east-1a"]}
    made = groups.launch_instances(**order)["Instances"][0]["InstanceIds"]
    check("growth that names its machine", made[0] in members(), True)
    check("the same token", groups.launch_instances(**order)["Instances"][0]["InstanceIds"], made)
    settle(4)
    check("was one growth", [group()["DesiredCapacity"], len(members())], [4, 4])
    check("the token of another order", refused(
        groups.launch_instances, **{**order, "AutoScalingGroupName": "other-asg"}),
        [400, "IdempotentParameterMismatch"])

    update = nodes.update_nodegroup_config(clusterName="lab", nodegroupName="gpu",
                                           scalingConfig={"minSize": 0, "maxSize": 8})["update"]
    check("the update of a node group", [update["status"], update["type"]],
          ["InProgress", "ConfigUpdate"])
    check("is read", nodes.describe_update(name="lab", nodegroupName="gpu",
                                           updateId=update["id"])["update"]["id"], update["id"])
    check("and holds for its group", [group()["MinSize"], group()["MaxSize"]], [0, 8])


def protected(name="gpu-asg"):
    return [each["ProtectedFromScaleIn"] for each in group(name)["Instances"]]


def protect():
    """A protected machine stays where another writer makes the group smaller."""
    place = {"AutoScalingGroupName": "gpu-asg"}
    before = members()
    for wanted in (False, True):
        groups.set_instance_protection(InstanceIds=before, ProtectedFromScaleIn=wanted, **place)
        check(f"the protection of machines becomes {wanted}", protected(), [wanted] * len(before))
    groups.set_instance_protection(InstanceIds=before[:1], ProtectedFromScaleIn=False, **place)
    groups.set_desired_capacity(DesiredCapacity=len(before) - 2, **place)
    settle(len(before) - 1)
    check("a smaller group ends only what is not protected", members(), before[1:])
    groups.set_desired_capacity(DesiredCapacity=len(before) - 1, **place)
    for what, named in (("of no machine", ["i-0123456789abcdef0"]),
                        ("of a machine that is gone", before[:1]),
                        ("of a machine and another that is gone", [before[1], before[0]])):
        check(f"the protection {what}", refused(
            groups.set_instance_protection, InstanceIds=named, ProtectedFromScaleIn=False,
            **place), [400, "ValidationError"])
    check("changed no other", protected(), [True] * (len(before) - 1))
    groups.set_desired_capacity(DesiredCapacity=len(before), **place)
    settle(len(before))
    groups.set_instance_protection(InstanceIds=members(), ProtectedFromScaleIn=False, **place)


def no_machine(base):
    """What a growth in both ways says where the cloud gives no machine."""
    its = client("autoscaling", base)
    place = {"AutoScalingGroupName": "gpu-asg"}
    answer = its.launch_instances(RequestedCapacity=1, ClientToken="a",
                                  AvailabilityZones=["us-east-1a"], **place)
    its.set_desired_capacity(DesiredCapacity=4, **place)
    for _ in range(100):
        newest = its.describe_scaling_activities(**place)["Activities"][0]
        if newest["StatusCode"] == "Failed":
            break
        time.sleep(0.1)
    return [answer["Instances"], answer["Errors"][0]["ErrorCode"],
            answer["Errors"][0]["ErrorMessage"] in newest.get("StatusMessage", "")]


def await_pages(count):
    """How many pages and machines there are, once EC2 knows the newest ones."""
    for _ in range(100):
        pages = list(machines.get_paginator("describe_instances").paginate(
            PaginationConfig={"PageSize": 5}))
        found = {each["InstanceId"] for page in pages for one in page["Reservations"]
                 for each in one["Instances"]}
        if len(found) == count:
            break
        time.sleep(0.1)
    return [len(pages), len(found)]


def reservation_full():
    """The reservation has eight machines, of which two are free."""
    order = {"AutoScalingGroupName": "gpu-asg", "RequestedCapacity": 1,
             "AvailabilityZones": ["us-east-1a"]}
    for token in ("a", "b"):
        groups.launch_instances(ClientToken=token, **order)
    answer = groups.launch_instances(ClientToken="c", **order)
    check("a growth without room", [answer["Instances"], answer["Errors"][0]["ErrorCode"]],
          [[], "ReservationCapacityExceeded"])
    groups.set_desired_capacity(AutoScalingGroupName="gpu-asg", DesiredCapacity=7)
    for _ in range(100):
        newest = groups.describe_scaling_activities(
            AutoScalingGroupName="gpu-asg")["Activities"][0]
        if newest["StatusCode"] == "Failed":
            break
        time.sleep(0.1)
    check("and by a number: its activity", newest["StatusCode"], "Failed")
    check("why", "Capacity Reservation" in newest.get("StatusMessage", ""), True)
    issues = nodes.describe_nodegroup(clusterName="lab", nodegroupName="gpu")["nodegroup"][
        "health"]["issues"]
    check("as EKS says it", [each["code"] for each in issues], ["AsgInstanceLaunchFailures"])


def errors():
    terminate = {"ShouldDecrementDesiredCapacity": True}
    check("validation", refused(groups.set_desired_capacity, AutoScalingGroupName="full-asg",
                                DesiredCapacity=2), [400, "ValidationError"])
    check("under the least size", refused(
        groups.terminate_instance_in_auto_scaling_group, InstanceId=members("full-asg")[0],
        **terminate), [400, "ValidationError"])
    check("no such group", group_names("none"), [])
    check("a write to it", refused(groups.set_desired_capacity, AutoScalingGroupName="none",
                                   DesiredCapacity=2), [400, "ValidationError"])
    check("no such machine", refused(machines.describe_instances,
                                     InstanceIds=["i-0123456789abcdef0"]),
          [400, "InvalidInstanceID.NotFound"])
    check("no machine's name", refused(machines.describe_instances, InstanceIds=["x"]),
          [400, "InvalidInstanceID.Malformed"])
    check("no such reservation", refused(machines.describe_capacity_reservations,
                                         CapacityReservationIds=["cr-0"]),
          [400, "InvalidCapacityReservationId.NotFound"])
    error = refusal(nodes.exceptions.ResourceNotFoundException, nodes.describe_nodegroup,
                    clusterName="lab", nodegroupName="none")
    check("no such node group", words(error), [404, "ResourceNotFoundException"])
    check("a page that is none", refused(groups.describe_auto_scaling_groups, NextToken="x"),
          [400, "InvalidNextToken"])

    calls = (("autoscaling", lambda its: its.describe_auto_scaling_groups()),
             ("ec2", lambda its: its.describe_instances()),
             ("eks", lambda its: its.describe_nodegroup(clusterName="lab", nodegroupName="gpu")),
             ("sts", lambda its: its.get_caller_identity()))
    cases = (("throttled", throttling, {},
              ([400, "Throttling"], [503, "RequestLimitExceeded"], [429, "ThrottlingException"],
               [400, "Throttling"])),
             ("denied", denying, {},
              ([403, "AccessDenied"], [403, "UnauthorizedOperation"],
               [403, "AccessDeniedException"], [403, "AccessDenied"])),
             ("a wrong secret", usual, {**KEYS, "aws_secret_access_key": "x" * 40},
              ([403, "SignatureDoesNotMatch"], [401, "AuthFailure"],
               [403, "InvalidSignatureException"], [403, "SignatureDoesNotMatch"])),
             ("unknown keys", usual, {**KEYS, "aws_access_key_id": "AKIAUNKNOWN000000000"},
              ([403, "InvalidClientTokenId"], [401, "AuthFailure"],
               [403, "UnrecognizedClientException"], [403, "InvalidClientTokenId"])))
    for what, base, keys, wanted in cases:
        for (service, call), code in zip(calls, wanted):
            check(f"{what}, {service}", refused(call, client(service, base, **keys)), code)
    for service, call in calls:
        error = refusal(ClientError, call, client(service, throttling, attempts=2))
        check(f"the client tries again, {service}",
              error.response["ResponseMetadata"]["RetryAttempts"], 1)


def group_names(name):
    return [each["AutoScalingGroupName"] for each in groups.describe_auto_scaling_groups(
        AutoScalingGroupNames=[name])["AutoScalingGroups"]]


def roles():
    role = {"RoleArn": "arn:aws:iam::123456789012:role/x", "RoleSessionName": "one"}
    unsigned = client("sts", aws_access_key_id="", aws_secret_access_key="")
    for what, answer in (("a role", tokens.assume_role(**role)),
                         ("a web identity", unsigned.assume_role_with_web_identity(
                             WebIdentityToken="a.b.c", **role))):
        keys = answer["Credentials"]
        own = client("autoscaling", aws_access_key_id=keys["AccessKeyId"],
                     aws_secret_access_key=keys["SecretAccessKey"],
                     aws_session_token=keys["SessionToken"])
        check(f"the keys of {what} are good", len(own.describe_auto_scaling_groups()[
            "AutoScalingGroups"]), 3)
    check("but not with another token", refused(client(
        "autoscaling", aws_access_key_id=keys["AccessKeyId"],
        aws_secret_access_key=keys["SecretAccessKey"],
        aws_session_token="x").describe_auto_scaling_groups), [403, "InvalidClientTokenId"])
    check("no web identity", refused(unsigned.assume_role_with_web_identity, WebIdentityToken="none",
                                     **role), [400, "InvalidIdentityToken"])


def cli(service, *arguments, base=usual):
    """What the command line prints, as JSON; an error's text."""
    environment = {"PATH": os.environ["PATH"], "AWS_DEFAULT_REGION": "us-east-1",
                   "AWS_PAGER": "", "AWS_MAX_ATTEMPTS": "1", "HOME": "/nonexistent",
                   "AWS_ACCESS_KEY_ID": KEYS["aws_access_key_id"],
                   "AWS_SECRET_ACCESS_KEY": KEYS["aws_secret_access_key"]}
    program = os.path.join(os.path.dirname(sys.executable), "aws")
    done = subprocess.run([program, "--endpoint-url", f"{base}/aws/{service}", service, *arguments],
                          env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout or "null")
    return done.stderr.strip()


def command_line():
    own = ("--auto-scaling-group-name", "other-asg")
    check("aws sts", cli("sts", "get-caller-identity").get("Account"), "123456789012")
    found = cli("autoscaling", "describe-auto-scaling-groups", "--page-size", "1")
    check("aws autoscaling lists", len(found["AutoScalingGroups"]), 3)
    check("aws eks reads", cli("eks", "describe-nodegroup", "--cluster-name", "lab",
                               "--nodegroup-name", "gpu")["nodegroup"]["status"], "ACTIVE")
    cli("autoscaling", "set-desired-capacity", "--auto-scaling-group-name", "gpu-asg",
        "--desired-capacity", "5")
    settle(5)
    check("aws autoscaling makes smaller", len(members()), 5)
    launched = cli("autoscaling", "launch-instances", *own, "--requested-capacity", "1",
                   "--client-token", "cli-1", "--availability-zones", "us-east-1a")
    check("aws autoscaling grows", len(launched["Instances"][0]["InstanceIds"]), 1)
    one = launched["Instances"][0]["InstanceIds"][0]
    time.sleep(3.5)
    check("aws ec2 reads", cli("ec2", "describe-instances", "--instance-ids", one)["Reservations"]
          [0]["Instances"][0]["InstanceId"], one)
    cli("autoscaling", "terminate-instance-in-auto-scaling-group", "--instance-id", one,
        "--should-decrement-desired-capacity")
    check("aws autoscaling removes", group("other-asg")["DesiredCapacity"], 1)
    for what, base, wanted in (("throttled", throttling, "(Throttling)"),
                               ("denied", denying, "(AccessDenied)")):
        check(f"aws is {what}", wanted in cli("autoscaling", "describe-auto-scaling-groups",
                                              base=base), True)


read()
change()
protect()
reservation_full()
check("machines of all groups in pages", await_pages(8), [2, 8])
check("a page that is too short", refused(machines.describe_instances, MaxResults=4),
      [400, "InvalidParameterValue"])
check("a page of named machines", refused(machines.describe_instances, MaxResults=5,
                                          InstanceIds=members()),
      [400, "InvalidParameterCombination"])
check("a stock-out", no_machine(empty), [[], "InsufficientInstanceCapacity", True])
check("a limit of the account", no_machine(limited), [[], "VcpuLimitExceeded", True])
errors()
roles()
command_line()
check("answers are compared with the published models", model.compared > 60, True)
check("no answer differs from the published models", sorted(differences), [])
end()
