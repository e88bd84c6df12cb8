# SPDX-License-Identifier: Apache-2.0
"""Oracle's client against the simulator: it lists the nodes of a pool, deletes one with decrement,
grows the pool by one, follows work requests, and reads an error of each class."""
import json
import sys

import oci
from oci.container_engine.models import UpdateNodePoolDetails, UpdateNodePoolNodeConfigDetails

from checks import check, end, refusal

profiles, usual, throttling, empty, limited = sys.argv[1:6]
POOL, OTHER = "ocid1.nodepool.oc1.sim.a", "ocid1.nodepool.oc1.sim.b"
NOW = {"override_eviction_grace_duration": "PT0M",
       "is_force_deletion_after_override_grace_duration": True}
differences = set()
compared = 0


def _watch(client):
    """Names what an answer has and the client's models do not."""
    base = client.base_client
    plain = base.deserialize_response_data

    def deserialize(data, declaration, *more):
        global compared
        compared += 1
        _compare(base.sanitize_for_serialization(plain(data, declaration, *more)),
                 json.loads(data), declaration)
        return plain(data, declaration, *more)

    def _compare(known, given, path):
        if isinstance(given, dict):
            for key, value in given.items():
                if key in known:
                    _compare(known[key], value, f"{path}.{key}")
                else:
                    differences.add(f"{path}.{key} is not in the model")
        elif isinstance(given, list):
            for one, other in zip(known, given):
                _compare(one, other, f"{path}[]")
        elif known == "UNKNOWN_ENUM_VALUE":
            differences.add(f"{path} is {given!r}, which the model does not have")

    base.deserialize_response_data = deserialize


def engine(url=usual, **changes):
    config = {**oci.config.from_file(profiles), **changes}
    made = oci.container_engine.ContainerEngineClient(
        config, service_endpoint=url + "/oci", retry_strategy=oci.retry.NoneRetryStrategy(),
        circuit_breaker_strategy=oci.circuit_breaker.NoCircuitBreakerStrategy())
    _watch(made)
    return made


def size(wanted):
    return UpdateNodePoolDetails(node_config_details=UpdateNodePoolNodeConfigDetails(size=wanted))


def refused(call, *arguments, **named):
    error = refusal(oci.exceptions.ServiceError, call, *arguments, **named)
    return [error.status, error.code]


def nodes():
    return {each.id: each.lifecycle_state for each in client.get_node_pool(POOL).data.nodes}


def await_work(answer, client=None):
    """As the client itself waits: until the work request has ended."""
    client = client or usual_client
    request = client.get_work_request(answer.headers["opc-work-request-id"])
    return oci.wait_until(client, request, evaluate_response=lambda at: at.data.status in
                          ("SUCCEEDED", "FAILED"), max_interval_seconds=1, max_wait_seconds=60).data


client = usual_client = engine()
before = list(nodes())
check("nodes", list(nodes().values()), ["ACTIVE"] * 3)
pool = client.get_node_pool(POOL)
check("the size", pool.data.node_config_details.size, 3)
check("where", [each.availability_domain for each in
                pool.data.node_config_details.placement_configs], ["AD-1"])
check("an ETag", bool(pool.headers["etag"]), True)

check("an old ETag", refused(client.delete_node, POOL, before[1], is_decrement_size=True,
                             if_match="old", **NOW), [412, "NoEtagMatch"])
gone = client.delete_node(POOL, before[1], is_decrement_size=True, if_match=pool.headers["etag"],
                          **NOW)
check("a removal is accepted", gone.status, 202)
check("removed again", refused(client.delete_node, POOL, before[1], is_decrement_size=True, **NOW),
      [409, "IncorrectState"])
work = await_work(gone)
check("its work request", [work.operation_type, work.status, work.resources[0].identifier],
      ["NODEPOOL_UPDATE", "SUCCEEDED", POOL])
check("the others stay", list(nodes()), [before[0], before[2]])
check("the size fell too", client.get_node_pool(POOL).data.node_config_details.size, 2)

grown = client.update_node_pool(POOL, size(3), if_match=client.get_node_pool(POOL).headers["etag"])
check("a growth is accepted", grown.status, 202)
check("its work request ends well", await_work(grown).status, "SUCCEEDED")
check("three nodes again", [list(nodes().values()), before[1] in nodes()],
      [["ACTIVE"] * 3, False])
reservations = oci.core.ComputeClient(
    oci.config.from_file(profiles), service_endpoint=usual + "/oci",
    circuit_breaker_strategy=oci.circuit_breaker.NoCircuitBreakerStrategy())
room = reservations.get_compute_capacity_reservation("ocid1.capacityreservation.oc1.sim.r").data
check("the reservation", [room.reserved_instance_count, room.used_instance_count], [5, 4])



def no_machine(what, its, wanted, code, why):
    """Both the node and the work request say why a growth has failed."""
    failed = its.update_node_pool(POOL, size(wanted))
    check(f"{what}: its work request", await_work(failed, its).status, "FAILED")
    errors = [each.node_error for each in its.get_node_pool(POOL).data.nodes if each.node_error]
    check(f"{what}: its node", [errors[0].code, why in errors[0].message], [code, True])
    errors = its.list_work_request_errors("ocid1.compartment.oc1..c",
                                          failed.headers["opc-work-request-id"]).data
    check(f"{what}: why", [errors[0].code, why in errors[0].message], [code, True])


no_machine("a stock-out", engine(empty), 4, "InternalError", "Out of host capacity")
no_machine("a limit of the tenancy", engine(limited), 4, "LimitExceeded", "service limits")
no_machine("a full reservation", client, 5, "InternalError", "capacity reservation is full")
await_work(client.update_node_pool(POOL, size(4)))
check("it is taken back", list(nodes().values()), ["ACTIVE"] * 4)

check("denied", refused(client.update_node_pool, OTHER, size(2)), [404, "NotAuthorizedOrNotFound"])
check("no such pool", refused(client.get_node_pool, "ocid1.nodepool.oc1.sim.none"),
      [404, "NotAuthorizedOrNotFound"])
check("no such node", refused(client.delete_node, POOL, "ocid1.instance.oc1.sim.none",
                              is_decrement_size=True, **NOW), [404, "NotAuthorizedOrNotFound"])
check("no such work request", refused(client.get_work_request, "ocid1.workrequest.0"),
      [404, "NotAuthorizedOrNotFound"])
check("validation", refused(client.update_node_pool, POOL, size(-1)), [400, "InvalidParameter"])
check("throttled", refused(engine(throttling).get_node_pool, POOL), [429, "TooManyRequests"])
check("another user", refused(engine(user="ocid1.user.oc1..v").get_node_pool, POOL),
      [401, "NotAuthenticated"])
check("answers are compared with the client's models", compared > 20, True)
check("no answer has what the client does not know", sorted(differences), [])
end()
