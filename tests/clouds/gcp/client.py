# SPDX-License-Identifier: Apache-2.0
"""google-cloud-compute against the simulator: it logs in, lists machines over several pages, deletes
one by its name, grows a group by one, waits for operations, and reads an error of each class."""
import json
import sys
import time
import uuid

from google.api_core import exceptions
from google.auth.exceptions import RefreshError
from google.cloud import compute_v1
from google.cloud.compute_v1.services.instance_group_managers.transports.rest import (
    InstanceGroupManagersRestTransport)
from google.cloud.compute_v1.services.instances.transports.rest import InstancesRestTransport
from google.cloud.compute_v1.services.reservations.transports.rest import ReservationsRestTransport
from google.cloud.compute_v1.services.zone_operations.transports.rest import (
    ZoneOperationsRestTransport)
from google.oauth2 import service_account
from google.protobuf import json_format

from checks import check, end, refusal

account_file, usual, empty, limited, throttling = sys.argv[1:6]
PLACE = {"project": "p-1", "zone": "us-east5-a"}
GPU = {**PLACE, "instance_group_manager": "gpu-grp"}
differences = set()
compared = 0
_parse = json_format.Parse


def parse_strictly(text, message, **_):
    """The client leaves out what its messages do not have; this names it."""
    global compared
    compared += 1
    try:
        _parse(text, type(message)())
    except json_format.ParseError as error:
        differences.add(f"{type(message).__name__}: {error}")
    return _parse(text, message, ignore_unknown_fields=True)


json_format.Parse = parse_strictly


class Cloud:
    def __init__(self, url, **account):
        info = {**json.load(open(account_file, encoding="utf-8")), **account,
                "token_uri": url + "/gcp/token"}
        # The assertion is for the cloud's own token service, wherever it is reached.
        self.credentials = service_account.Credentials.from_service_account_info(
            info, scopes=["https://www.googleapis.com/auth/cloud-platform"])
        self.options = {"host": url.removeprefix("http://"), "url_scheme": "http",
                        "credentials": self.credentials}
        operations = compute_v1.ZoneOperationsClient(
            transport=ZoneOperationsRestTransport(**self.options))
        transport = InstanceGroupManagersRestTransport(**self.options)
        transport._extended_operations_services["zone_operations"] = operations
        self.operations = operations
        self.groups = compute_v1.InstanceGroupManagersClient(transport=transport)
        self.instances = compute_v1.InstancesClient(
            transport=InstancesRestTransport(**self.options))
        self.reservations = compute_v1.ReservationsClient(
            transport=ReservationsRestTransport(**self.options))

    def machines(self, place=None, page=500):
        request = compute_v1.ListManagedInstancesInstanceGroupManagersRequest(
            max_results=page, **(place or GPU))
        return list(self.groups.list_managed_instances(request=request, retry=None))

    def delete(self, url, place=None, skips=True, token=None):
        return self.groups.delete_instances(request={
            **(place or GPU), "request_id": token or str(uuid.uuid4()),
            "instance_group_managers_delete_instances_request_resource": {
                "instances": [url], "skip_instances_on_validation_error": skips}})

    def create(self, name, place=None, token=None):
        return self.groups.create_instances(request={
            **(place or GPU), "request_id": token or str(uuid.uuid4()),
            "instance_group_managers_create_instances_request_resource": {
                "instances": [{"name": name}]}})

    def settle(self, actions):
        """Until the actions under way are these."""
        for _ in range(100):
            if sorted(each.current_action for each in self.machines()) == sorted(actions):
                return
            time.sleep(0.1)


def change(cloud):
    before = cloud.machines(page=2)
    check("machines on two pages", len(before), 3)
    check("their states", {(each.instance_status, each.current_action) for each in before},
          {("RUNNING", "NONE")})
    name = before[1].name
    one = cloud.instances.get(instance=name, **PLACE)
    check("one machine", [one.name, one.status], [name, "RUNNING"])
    check("whose it is", [item.key for item in one.metadata.items], ["created-by"])
    group = cloud.groups.get(request=GPU)
    check("its group", [group.target_size, group.list_managed_instances_results],
          [3, "PAGINATED"])
    check("a zone is a URL", {each.zone for each in (one, group)},
          {"https://www.googleapis.com/compute/v1/projects/p-1/zones/us-east5-a"})
    room = cloud.reservations.get(reservation="main", **PLACE).specific_reservation
    check("the reservation", [room.count, room.in_use_count], [6, 4])

    token = str(uuid.uuid4())
    operation = cloud.delete(before[1].instance, token=token)
    operation.result(timeout=30)
    check("the operation of a removal", [operation.done(), operation.client_operation_id],
          [True, token])
    check("the same token is the same operation",
          cloud.delete(before[1].instance, token=token).name, operation.name)
    cloud.settle(["NONE"] * 2)
    check("the others stay", [each.name for each in cloud.machines()],
          [before[0].name, before[2].name])
    check("the size fell too", cloud.groups.get(request=GPU).target_size, 2)
    cloud.delete(before[1].instance).result(timeout=30)
    check("removed again", cloud.groups.get(request=GPU).target_size, 2)

    cloud.create("gpu-grp-new1").result(timeout=30)
    cloud.settle(["NONE"] * 3)
    check("growth by a name", "gpu-grp-new1" in [each.name for each in cloud.machines()], True)
    check("the size grew too", cloud.groups.get(request=GPU).target_size, 3)


def errors(cloud):
    forbidden = {**PLACE, "instance_group_manager": "forbidden-grp"}
    none = {**PLACE, "instance_group_manager": "none"}
    check("denied", refusal(exceptions.Forbidden, cloud.create, "forbidden-grp-a", forbidden)
          .errors[0]["reason"], "forbidden")
    check("no such group", refusal(exceptions.NotFound, cloud.groups.get, request=none)
          .errors[0]["reason"], "notFound")
    check("no such machine", refusal(exceptions.NotFound, cloud.instances.get, instance="none",
                                     **PLACE).code, 404)
    check("no such reservation", refusal(exceptions.NotFound, cloud.reservations.get,
                                         reservation="none", **PLACE).code, 404)
    check("validation", refusal(exceptions.BadRequest, cloud.create, "Not_A_Name")
          .errors[0]["reason"], "invalid")
    check("no UUID", refusal(exceptions.BadRequest, cloud.create, "gpu-grp-b", token="x")
          .errors[0]["reason"], "invalid")
    check("a name that is there", refusal(exceptions.Conflict, cloud.create, "gpu-grp-new1")
          .errors[0]["reason"], "alreadyExists")
    strange = "zones/us-east5-a/instances/none"
    failed = cloud.delete(strange, skips=False)
    error = refusal(exceptions.GoogleAPICallError, failed.result, timeout=30)
    check("an operation that fails", [error.code, failed.error.errors[0].code],
          [400, "RESOURCE_NOT_FOUND"])
    stranger = Cloud(usual, private_key_id="k1", client_email="other@p-1.iam.gserviceaccount.com")
    check("a wrong account", "invalid_grant" in str(refusal(RefreshError, stranger.machines)), True)
    cloud.credentials.token = "ya29.old"
    cloud.machines()
    check("a lost token is replaced", cloud.credentials.token != "ya29.old", True)


def no_machine(cloud, what, wanted):
    """The group tries again for ever: the attempt says why, and the growth is taken back."""
    before = cloud.groups.get(request=GPU).target_size
    cloud.create("gpu-grp-new2").result(timeout=30)
    for _ in range(100):
        new = [each for each in cloud.machines() if each.name == "gpu-grp-new2"][0]
        if new.last_attempt.errors.errors:
            break
        time.sleep(0.1)
    check(what, [new.current_action, [each.code for each in new.last_attempt.errors.errors]],
          ["CREATING", [wanted]])
    cloud.delete(new.instance).result(timeout=30)
    cloud.settle(["NONE"] * before)
    check(f"{what}: taken back", cloud.groups.get(request=GPU).target_size, before)


def throttled():
    cloud = Cloud(throttling)
    found = None
    for _ in range(50):
        try:
            cloud.machines()
        except exceptions.TooManyRequests as error:
            found = error.errors[0]["reason"]
            break
    check("throttled", found, "rateLimitExceeded")


both = Cloud(usual)
change(both)
errors(both)
no_machine(Cloud(empty), "a growth without stock", "ZONE_RESOURCE_POOL_EXHAUSTED")
no_machine(Cloud(limited), "a growth over the quota", "QUOTA_EXCEEDED")
for name in ("gpu-grp-new3", "gpu-grp-new4"):
    both.create(name).result(timeout=30)
both.settle(["NONE"] * 5)
no_machine(both, "a growth over the reservation", "INVALID_USAGE")
throttled()
check("answers are compared with the client's messages", compared > 30, True)
check("no answer has what the client does not know", sorted(differences), [])
end()
