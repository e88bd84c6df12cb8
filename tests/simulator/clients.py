# SPDX-License-Identifier: Apache-2.0
"""The official clients for Python, of Kubernetes and of Compute Engine, against sluice-simulator: they
decode each kind of object, write, follow and wait.  usage: clients.py KUBECONFIG URL"""

import json
import sys
import urllib.request

from google.cloud import compute_v1
from google.cloud.compute_v1.services.instance_group_managers.transports.rest import (
    InstanceGroupManagersRestTransport,
)
from google.cloud.compute_v1.services.instances.transports.rest import InstancesRestTransport
from google.cloud.compute_v1.services.zone_operations.transports.rest import (
    ZoneOperationsRestTransport,
)
import google.oauth2.credentials
from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

failed = 0


def check(what, act, expected=None):
    """Prints a line; expected: the result, or a function that says whether it is right."""
    global failed
    try:
        result = act()
        good = (expected is None or result == expected) if not callable(expected) else expected(result)
    except Exception as error:  # whatever a client raises is a finding
        good, result = False, f"{type(error).__name__}: {str(error)[:300]}"
    if good:
        print(f"ok python: {what}")
    else:
        failed += 1
        print(f"FAILED python: {what}: {result}")


def status_of(act):
    try:
        act()
    except ApiException as error:
        return error.status
    return 0


def follow(core):
    """What a watch from a list's version tells of a delete."""
    pods = core.list_namespaced_pod("inference", field_selector="status.phase=Running")
    version = pods.metadata.resource_version
    name = [pod.metadata.name for pod in pods.items if not pod.metadata.deletion_timestamp][0]
    core.delete_namespaced_pod(name, "inference")
    events = watch.Watch().stream(
        core.list_namespaced_pod, "inference", resource_version=version, timeout_seconds=5
    )
    return [(event["type"], event["object"].metadata.name) for event in events], name


def play_kubernetes(kubeconfig):
    config.load_kube_config(kubeconfig, context="prod-a")
    core, apps, batch = client.CoreV1Api(), client.AppsV1Api(), client.BatchV1Api()
    policy, custom = client.PolicyV1Api(), client.CustomObjectsApi()
    node = core.list_node(label_selector="sluice.dev/ephemeral=true").items[0].metadata.name
    check("a node decodes", lambda: core.read_node(node).status.node_info.os_image, bool)
    check("all nodes decode", lambda: len(core.list_node().items), 4)
    check("pods decode", lambda: len(core.list_pod_for_all_namespaces().items) > 6, True)
    check("namespaces decode", lambda: len(core.list_namespace().items) > 4, True)
    check("events decode", lambda: len(core.list_event_for_all_namespaces().items) > 6, True)
    check("a deployment decodes", lambda: apps.read_namespaced_deployment("chat-model", "inference").spec.replicas, 6)
    check("replica sets decode", lambda: len(apps.list_replica_set_for_all_namespaces().items) > 0, True)
    check("daemon sets decode", lambda: len(apps.list_daemon_set_for_all_namespaces().items), 1)
    check("budgets decode", lambda: policy.list_namespaced_pod_disruption_budget("inference").items[0].spec.min_available, 4)
    check("leases decode", lambda: len(client.CoordinationV1Api().list_namespaced_lease("kube-node-lease").items), 4)
    check("autoscalers decode", lambda: client.AutoscalingV2Api().list_horizontal_pod_autoscaler_for_all_namespaces().items, [])
    check("queues of Kueue", lambda: custom.list_cluster_custom_object("kueue.x-k8s.io", "v1beta1", "clusterqueues")["items"], [])
    check("cordon", lambda: core.patch_node(node, {"spec": {"unschedulable": True}}).spec.unschedulable, True)
    check("uncordon", lambda: bool(core.patch_node(node, {"spec": {"unschedulable": None}}).spec.unschedulable), False)
    check("replace", lambda: core.replace_node(node, core.read_node(node)).metadata.name, node)
    check("a page", lambda: len(core.list_node(limit=3).items), 3)
    check("scale", lambda: apps.patch_namespaced_deployment_scale("chat-model", "inference", {"spec": {"replicas": 7}}).spec.replicas, 7)
    check("delete as a dry run", lambda: core.delete_node(node, dry_run="All") and core.read_node(node).metadata.name, node)
    pod = core.list_namespaced_pod("inference", field_selector="status.phase=Running").items[0].metadata.name
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name=pod))
    check("evict", lambda: core.create_namespaced_pod_eviction(pod, "inference", eviction).kind, "Status")
    check("a watch", lambda: follow(core), lambda told: ("MODIFIED", told[1]) in told[0])
    review = client.V1SelfSubjectAccessReview(
        spec=client.V1SelfSubjectAccessReviewSpec(
            resource_attributes=client.V1ResourceAttributes(verb="get", resource="pods")))
    check("access review", lambda: client.AuthorizationV1Api().create_self_subject_access_review(review).status.allowed, True)
    check("an unknown resource", lambda: status_of(lambda: core.list_namespaced_secret("default")), 404)
    check("a wrong selector", lambda: status_of(lambda: core.list_node(label_selector="a b")), 400)
    check("a verb that a Job has not", lambda: status_of(lambda: batch.delete_namespaced_job("x", "research")), 405)


def token_of(url):
    request = urllib.request.Request(
        url + "/gcp/token",
        data=b"grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c",
        headers={"Content-Type": "application/x-www-form-urlencoded"})


    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["access_token"]


def play_compute(url):
    credentials = google.oauth2.credentials.Credentials(token=token_of(url))
    host = url.removeprefix("http://") + "/gcp"
    groups = compute_v1.InstanceGroupManagersClient(transport=InstanceGroupManagersRestTransport(
        host=host, url_scheme="http", credentials=credentials))
    operations = compute_v1.ZoneOperationsClient(transport=ZoneOperationsRestTransport(
        host=host, url_scheme="http", credentials=credentials))
    place = {"project": "acme", "zone": "us-east5-a"}
    listed = list(groups.list_managed_instances(instance_group_manager="prod-a-east", **place))
    check("Compute Engine: machines of a group", lambda: len(listed), 4)
    check("Compute Engine: groups of a zone", lambda: "prod-a-east" in {one.name for one in groups.list(**place)}, True)
    everywhere = dict(groups.aggregated_list(project="acme"))
    check("Compute Engine: groups of all zones", lambda: sorted(
        one.name for scope in everywhere.values() for one in scope.instance_group_managers)[0], "prod-a-east")
    machines = compute_v1.InstancesClient(transport=InstancesRestTransport(
        host=host, url_scheme="http", credentials=credentials))
    check("Compute Engine: machines of a zone", lambda: {one.name for one in machines.list(**place)}
          >= {one.instance.rsplit("/", 1)[1] for one in listed}, True)
    body = compute_v1.InstanceGroupManagersDeleteInstancesRequest(instances=[listed[-1].instance])
    request = compute_v1.DeleteInstancesInstanceGroupManagerRequest(
        instance_group_manager="prod-a-east",
        instance_group_managers_delete_instances_request_resource=body,
        request_id="12345678-1234-4123-8123-123456789012", **place)
    started = groups.delete_instances_unary(request)
    check("Compute Engine: an operation has an id", lambda: started.id > 0, True)
    check("Compute Engine: an operation has a selfLink", lambda: started.self_link.endswith("/operations/" + started.name), True)
    check("Compute Engine: an operation's zone is a URL", lambda: started.zone.startswith("https://") and started.zone.endswith("/us-east5-a"), True)
    ended = operations.wait(operation=started.name, **place)
    check("Compute Engine: wait returns when it is done", lambda: ended.status == compute_v1.Operation.Status.DONE, True)
    check("Compute Engine: the end of an operation", lambda: bool(ended.end_time), True)


if __name__ == "__main__":
    play_kubernetes(sys.argv[1])
    play_compute(sys.argv[2])
    sys.exit(1 if failed else 0)
