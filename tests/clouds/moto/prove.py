# SPDX-License-Identifier: Apache-2.0
"""sluice's verbs on a group of moto: what they did is seen by boto3, and what IAM forbids, they say."""
import json
import os
import subprocess
import sys

import boto3

from checks import check, end

url, program, policy_file = sys.argv[1:4]
ALL = json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "*", "Resource": "*"}]})
OURS = open(policy_file, encoding="utf-8").read()
READS = json.dumps({"Version": "2012-10-17", "Statement": json.loads(OURS)["Statement"][:1]})


def client(service, keys=("none", "none")):
    return boto3.client(service, region_name="us-east-1", endpoint_url=url,
                        aws_access_key_id=keys[0], aws_secret_access_key=keys[1])


def user(iam, name, policy):
    iam.create_user(UserName=name)
    made = iam.create_access_key(UserName=name)["AccessKey"]
    if policy:
        iam.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=policy)
    return made["AccessKeyId"], made["SecretAccessKey"]


admin = user(client("iam"), "admin", ALL)
iam, groups, machines = (client(name, admin) for name in ("iam", "autoscaling", "ec2"))


def make_group():
    image = machines.describe_images()["Images"][0]["ImageId"]
    places = machines.describe_subnets(Filters=[
        {"Name": "availability-zone", "Values": ["us-east-1a"]}])["Subnets"]
    template = machines.create_launch_template(LaunchTemplateName="t", LaunchTemplateData={
        "ImageId": image, "InstanceType": "p5.48xlarge"})["LaunchTemplate"]["LaunchTemplateId"]
    groups.create_auto_scaling_group(
        AutoScalingGroupName="gpu", MinSize=1, MaxSize=9, DesiredCapacity=3,
        LaunchTemplate={"LaunchTemplateId": template},
        VPCZoneIdentifier=places[0]["SubnetId"])


def sluice(keys, *verb, role="-", group="gpu"):
    environment = {"PATH": os.environ["PATH"], "AWS_ACCESS_KEY_ID": keys[0],
                   "AWS_SECRET_ACCESS_KEY": keys[1], "HOME": "/nonexistent"}
    done = subprocess.run([program, url, role, group, "us-east-1a", *verb], env=environment,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def seen():
    """As boto3 sees it: the wanted size, and the machines."""
    group = groups.describe_auto_scaling_groups(AutoScalingGroupNames=["gpu"])[
        "AutoScalingGroups"][0]
    return [group["DesiredCapacity"], sorted(each["InstanceId"] for each in group["Instances"])]


def names(answer):
    return sorted(each[0] for each in answer["machines"])


make_group()
mover = user(iam, "mover", OURS)
reader = user(iam, "reader", READS)
stranger = user(iam, "stranger", None)
iam.create_role(RoleName="mover", AssumeRolePolicyDocument=json.dumps({
    "Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",
                                            "Principal": {"AWS": "*"}}]}))
iam.put_role_policy(RoleName="mover", PolicyName="p", PolicyDocument=OURS)
iam.put_user_policy(UserName="stranger", PolicyName="p", PolicyDocument=json.dumps({
    "Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",
                                            "Resource": "*"}]}))
ROLE = "arn:aws:iam::123456789012:role/mover"

before = seen()
found = sluice(mover, "list")
check("the machines of a group", [names(found), {each[1] for each in found["machines"]}],
      [before[1], {"running"}])
check("their provider IDs", sorted(each[2] for each in found["machines"]),
      [f"aws:///us-east-1a/{name}" for name in before[1]])

chosen = before[1][1]
check("a removal", sluice(mover, "remove", chosen)["error"], "none")
check("took that one, and the size fell", seen(),
      [2, [each for each in before[1] if each != chosen]])
gone = sluice(mover, "remove", chosen)
check("a removal of what is gone", gone["error"], "not_found")
check("changed nothing", seen()[0], 2)

check("a growth", sluice(mover, "create", "set-desired-capacity")["error"], "none")
after = seen()
check("made one more", [after[0], len(after[1]), chosen in after[1]], [3, 3, False])
check("which is listed", names(sluice(mover, "list")), after[1])



def protected():
    """The machines that another writer's smaller size would spare, as boto3 sees it."""
    group = groups.describe_auto_scaling_groups(AutoScalingGroupNames=["gpu"])[
        "AutoScalingGroups"][0]
    return [each["InstanceId"] for each in group["Instances"] if each["ProtectedFromScaleIn"]]


check("a protection by a user who may only read",
      sluice(reader, "protect", after[1][0])["error"], "denied")
check("protected nothing", protected(), [])
for time in ("once", "again"):
    check(f"a protection, {time}", sluice(mover, "protect", after[1][0])["error"], "none")
    check(f"holds for that machine, {time}", protected(), [after[1][0]])

for who, keys in (("who may only read", reader), ("who may nothing", stranger)):
    check(f"a removal by a user {who}", sluice(keys, "remove", after[1][0])["error"], "denied")
    check(f"a growth by a user {who}", sluice(keys, "create", "set-desired-capacity")["error"],
          "denied")
check("a list by a user who may only read", names(sluice(reader, "list")), after[1])
check("a list by a user who may nothing", sluice(stranger, "list")["error"], "denied")
check("a wrong secret", sluice((mover[0], "x" * 40), "list")["error"], "denied")
check("unknown keys", sluice(("AKIAUNKNOWN000000000", "x" * 40), "list")["error"], "denied")
check("none of them changed anything", seen(), after)

check("in a role", names(sluice(stranger, "list", role=ROLE)), after[1])
check("a removal in it", sluice(stranger, "remove", after[1][0], role=ROLE)["error"], "none")
check("took that one", seen(), [2, after[1][1:]])
check("a role that may not be assumed", sluice(reader, "list", role=ROLE)["error"], "denied")
check("no such group", sluice(mover, "list", group="none")["error"], "invalid")

last = seen()
unknown = sluice(mover, "create", "launch-instances")
check("what moto does not have is no success", unknown["error"], "unknown_outcome")
check("and changed nothing", seen(), last)
end()
