# SPDX-License-Identifier: Apache-2.0
"""bench_move.py PLANE BUILD FOLDER CONTESTANT...: empties the same 200 nodes of a real API server
once by each contestant.  See tools/bench."""
import collections
import concurrent.futures
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import bench_kube

NODES = int(os.environ.get("BENCH_NODES", "200"))
REPLICAS, ALLOWED, PER_NODE, STOPS_S = 100, 10, 20, 2
APPS = NODES * PER_NODE // REPLICAS
LIMIT_S = int(os.environ.get("BENCH_LIMIT_S", "300"))  # of one contestant
FLOW = "bench"
LABEL = "sluice.dev/ephemeral"
BUDGETS = "/apis/policy/v1/{}poddisruptionbudgets"
DEPLOYMENTS = "/apis/apps/v1/{}deployments"
PODS = "/api/v1/{}pods"
COLUMNS = "{:<12} {:>7} {:>7} {:>9} {:>8} {:>8} {:>6} {:>9} {:>6} {:>6} {:>7} {:>7} {:>6} {:>6}"

CONFIG = """\
time_zone: UTC
windows:
  day: {{days: mon-sun, from: '08:00', to: '20:00'}}
  night: {{days: mon-sun, from: '20:00', to: '08:00'}}
poll: 5s
repack_nodes: 0
drain: {{notice: 1s, deadline: 10m, settle: 5s}}
clusters:
  prod-a: {{role: production, kubeconfig: prod-a.kubeconfig}}
  research-a: {{role: research, kubeconfig: '{research}'}}
reservations:
  east: {{machine: a3-megagpu-8g, region: us-east5, zone: us-east5-a, gpus_per_node: 8, nodes: {machines}}}
providers:
  google: {{kind: gcp, endpoint: 'http://127.0.0.1:{port}/gcp', metadata: 'http://127.0.0.1:{port}/gcp'}}
pools:
  prod-a-east: {{cluster: prod-a, reservation: east, provider: google, project: p,
                group: prod-a-east, static_nodes: 2}}
  research-a-east: {{cluster: research-a, reservation: east, provider: google, project: p,
                    group: research-a-east, static_nodes: {nodes}}}
queues:
  chat: {{wait_target: 30s, service: 20s}}
workloads:
  chat-2x: {{queue: chat, namespace: serving, gpus: 2, clusters: {{prod-a: {{}}}}}}
"""
WORLD = """\
seed: 1
pools: {{prod-a-east: {{nodes: 2}}, research-a-east: {{nodes: {nodes}}}}}
replicas: {{chat-2x: {{prod-a: 8}}}}
latency: {{api: 1ms..5ms, delete: 1s..3s, create: 1s..3s, join: 1s..3s, gpus: 200ms..1s,
          pod_start: 200ms..1s, pod_stop: 500ms..2s}}
"""
SCHEDULE = """\
workloads:
  chat-2x:
    prod-a: 8
compute:
  a3-megagpu-8g:
    us-east5:
      prod-a:
        counts: [2]
"""


class Bench:
    def __init__(self, plane, build, folder):
        self.build, self.folder = build, folder
        self.admin_config = os.path.join(plane, "admin.kubeconfig")
        self.config = os.path.join(plane, "broker.kubeconfig")
        self.plane = plane
        self.admin = bench_kube.Server(self.admin_config)
        self.children = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, chars):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(chars)

    def start(self, name, *command):
        with open(self.path(name + ".log"), "wb") as log:
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, cwd=self.folder)
        self.children.append(child)
        return child

    def stop(self, child):
        """Ends it and gives the last line that it wrote."""
        child.terminate()
        lines = child.stdout.read().decode().splitlines()
        child.wait(30)
        self.children.remove(child)
        return lines[-1] if lines else ""

    def stop_all(self):
        for child in list(self.children):
            child.kill()
            child.wait()


def plane_cpu(bench):
    """Processor time of the control plane so far: without a kubelet's, which kwok plays."""
    total = 0.0
    for name in ("etcd", "apiserver", "kcm", "scheduler"):
        with open(os.path.join(bench.plane, name + ".pid"), encoding="utf-8") as file:
            total += bench_kube.process_numbers(file.read().strip())[1]
    return total


def until(what, seconds, done):
    end = time.time() + seconds
    while time.time() < end:
        if done():
            return
        time.sleep(0.5)
    raise RuntimeError(f"{what}: not within {seconds} s")


def start_cloud(bench):
    """The simulator: its machines are the nodes of the real server."""
    size = {"nodes": NODES, "machines": 2 * NODES + 2}
    bench.write("world.yaml", WORLD.format(nodes=2 * NODES))
    bench.write("sluice.yaml", CONFIG.format(port=1, research="research-a.kubeconfig", **size))
    cloud = bench.start("cloud", f"{bench.build}/sluice-simulator", "--config", "sluice.yaml",
                        "--world", "world.yaml", "--write-kubeconfigs", ".")
    port = int(cloud.stdout.readline().decode().rsplit(":", 1)[1])
    bench.write("sluice.yaml", CONFIG.format(port=port, research=bench.config, **size))
    os.makedirs(bench.path("schedules"), exist_ok=True)
    for window in ("day", "night"):
        bench.write(f"schedules/{window}.yaml", SCHEDULE)
    request = urllib.request.Request(f"http://127.0.0.1:{port}/clusters/research-a/api/v1/nodes",
                                     headers={"Authorization": "Bearer sim-research-a"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["items"]


def make_nodes(bench, machines):
    """As many as are emptied, and as many to spare."""
    size = {"cpu": "192", "memory": "1800Gi", "pods": str(PER_NODE), "nvidia.com/gpu": "8"}
    for machine in machines:
        name = machine["metadata"]["name"]
        labels = {"kubernetes.io/hostname": name}
        bench.admin.make("/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "spec": {"providerID": machine["spec"]["providerID"]},
            "status": {"allocatable": size, "capacity": size}})
    names = [machine["metadata"]["name"] for machine in machines]
    return names[:NODES], names[NODES:]


def make_rights(bench):
    """The contestants are one user, whose requests the server counts and never holds back."""
    bench.admin.make("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "metadata": {"name": "bench"}, "subjects": [{"kind": "User", "name": "broker"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                    "name": "cluster-admin"}})
    bench.admin.make("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", {
        "metadata": {"name": FLOW}, "spec": {
            "priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 2,
            "rules": [{"subjects": [{"kind": "User", "user": {"name": "broker"}}],
                       "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"],
                                          "clusterScope": True, "namespaces": ["*"]}],
                       "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}]}})


def make_work(bench):
    """Each Deployment in a namespace of its own, so that no controller looks through all pods."""
    for i in range(APPS):
        app, there = {"app": f"app-{i}"}, f"namespaces/app-{i}/"
        bench.admin.make("/api/v1/namespaces", {"metadata": {"name": f"app-{i}"}})
        bench.admin.make(BUDGETS.format(there), {"metadata": {"name": f"app-{i}"}, "spec": {
            "maxUnavailable": ALLOWED, "selector": {"matchLabels": app}}})
        bench.admin.make(DEPLOYMENTS.format(there), {"metadata": {"name": f"app-{i}"}, "spec": {
            "replicas": REPLICAS, "selector": {"matchLabels": app}, "template": {
                "metadata": {"labels": app,
                             "annotations": {"test.sluice.dev/stops-in": f"{STOPS_S}s"}},
                "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]}}}})


def set_node(bench, node, leaves, is_closed):
    bench.admin.change(f"/api/v1/nodes/{node}", {
        "metadata": {"labels": {LABEL: "true" if leaves else None}},
        "spec": {"unschedulable": is_closed or None}})


def is_settled(bench):
    budgets = [item.get("status", {}) for item in bench.admin.get(BUDGETS.format(""))["items"]]
    return len(budgets) == APPS and all(
        status.get("currentHealthy") == REPLICAS and status.get("disruptionsAllowed", 0) >= ALLOWED
        for status in budgets)


def make_ready(bench, leaving, spare, allowed):
    """The pods of the last turn are on the nodes that leave now; only these may be moved."""
    for node in leaving + spare:
        set_node(bench, node, node in leaving, False)
    for i in range(APPS):
        bench.admin.change(BUDGETS.format(f"namespaces/app-{i}/") + f"/app-{i}", {"spec": {"maxUnavailable": allowed}})
    until("the pods to run", 120, lambda: is_settled(bench))
    time.sleep(3)


def by_kubectl(bench, leaving, at_once):
    kubectl = [os.environ.get("KUBECTL", "kubectl"), "--kubeconfig", bench.config]
    flags = ["--ignore-daemonsets", "--delete-emptydir-data", "--force", f"--timeout={LIMIT_S}s"]
    turns = collections.deque([leaving] if at_once == 1 else [[node] for node in leaving])
    running, peaks, cpu, end = set(), [], 0.0, time.time() + LIMIT_S
    subprocess.run([*kubectl, "cordon", *leaving], stdout=subprocess.DEVNULL, check=True)
    with open(bench.path(f"kubectl-{at_once}.log"), "wb") as log:
        while turns or running:
            while turns and len(running) < at_once and time.time() < end:
                child = subprocess.Popen([*kubectl, "drain", *flags, *turns.popleft()],
                                         stdout=log, stderr=log)
                running.add(child.pid)
            if time.time() >= end:  # kubectl's own limit is for each node
                turns.clear()
                for pid in running:
                    os.kill(pid, signal.SIGTERM)
                end = float("inf")
            time.sleep(0.01)
            for pid in list(running):
                ended, _, usage = os.wait4(pid, os.WNOHANG)
                if ended:
                    running.remove(pid)
                    peaks.append(usage.ru_maxrss / 1024)
                    cpu += usage.ru_utime + usage.ru_stime
    return sum(sorted(peaks)[-at_once:]), cpu


def by_raw(bench, leaving, side_by_side=1):
    """What the server itself can do: evictions under budgets that allow everything, on as many
    connections a budget as is said."""
    pods = collections.defaultdict(list)
    for pod in bench.admin.get(PODS.format(""))["items"]:
        if pod["spec"].get("nodeName") in leaving:
            pods[pod["metadata"]["namespace"]].append(pod["metadata"]["name"])

    def evict(part):
        server, (namespace, names) = bench_kube.Server(bench.config), part
        there = PODS.format(f"namespaces/{namespace}/")
        for name in names:
            while server.ask("POST", f"{there}/{name}/eviction", {
                    "apiVersion": "policy/v1", "kind": "Eviction",
                    "metadata": {"name": name, "namespace": namespace}})[0] not in (201, 404):
                time.sleep(0.1)

    for node in leaving:
        set_node(bench, node, True, True)
    began = time.time()
    parts = [(namespace, names[i::side_by_side]) for namespace, names in pods.items()
             for i in range(side_by_side)]
    with concurrent.futures.ThreadPoolExecutor(len(parts) or 1) as pool:
        list(pool.map(evict, parts))
    asked_s = time.time() - began
    until("the pods to stop", LIMIT_S, lambda: not any(
        pod["spec"].get("nodeName") in leaving for pod in bench.admin.get(PODS.format(""))["items"]))
    return asked_s


def sluice(bench, *arguments):
    done = subprocess.run([f"{bench.build}/sluice", *arguments, "--config", "sluice.yaml"],
                          cwd=bench.folder, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def start_sluice(bench):
    service = bench.start("serve", f"{bench.build}/sluice", "serve", "--config", "sluice.yaml")
    until("the service to see its clusters", 60, lambda: sluice(bench, "apply")[0] == 0)
    return service


def is_past_drain(bench):
    """Asked on the socket: to start a command for it would cost more than the answer."""
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(30)
    connection.sock.connect(bench.path("sluice.sock"))
    with connection.sock:
        connection.request("GET", "/v1/status")
        steps = json.load(connection.getresponse())["steps"]
    return not any(steps[step] for step in ("announce", "notice", "cordon", "drain"))


def by_sluice(bench, service):
    code, out, err = sluice(bench, "reclaim", "--to", "prod-a", "--nodes", str(NODES), "--reason",
                            "bench", "--yes")
    if code != 0:
        raise RuntimeError(f"reclaim: {code} {out}{err}")
    code, out, err = sluice(bench, "transfers", "-A", "-o", "json")
    if code != 0 or len(json.loads(out)["transfers"]) != NODES:
        raise RuntimeError(f"transfers: {code} {out}{err}")
    until("the nodes to be empty", LIMIT_S, lambda: is_past_drain(bench))
    peak, cpu = bench_kube.process_numbers(service.pid)
    return peak, cpu


def play(bench, name, leaving):
    """One contestant, watched; the row of the table."""
    service = start_sluice(bench) if name == "sluice" else None
    bench.write("leaving", "\n".join(leaving))
    third = bench.start("referee", sys.executable, bench_kube.__file__, bench.admin_config,
                        "leaving", "0" if name.startswith("raw") else str(REPLICAS - ALLOWED))
    third.stdout.readline()
    before, began = bench_kube.counters(bench.admin, FLOW), time.time()
    plane_before = plane_cpu(bench)
    if name.startswith("raw"):
        peak, cpu = None, by_raw(bench, leaving, int(name.split("-")[1]))
    elif name == "sluice":
        peak, cpu = by_sluice(bench, service)
    else:
        peak, cpu = by_kubectl(bench, leaving, int(name.split("-")[1]))
    took, plane_took = time.time() - began, plane_cpu(bench) - plane_before
    after = bench_kube.counters(bench.admin, FLOW)
    time.sleep(3)  # the referee is told a little later
    if service:
        bench.stop(service)
    return row_of(name, took, before, after, json.loads(bench.stop(third)), began,
                  (peak, cpu, plane_took))


def row_of(name, took, before, after, seen, began, numbers):
    def requests(verbs, what, code=None):
        return bench_kube.count(after, before, verbs, what, code)

    row = {
        "name": name, "took": took, "gone": seen["last_gone"] - began,
        "requests": int(after["flow"] - before["flow"]),
        "evictions": requests(["POST"], "pods/eviction", "201"),
        "refused": requests(["POST"], "pods/eviction", "429"),
        "other": requests(["POST"], "pods/eviction")
                 - requests(["POST"], "pods/eviction", "201")
                 - requests(["POST"], "pods/eviction", "429"),
        "gets": requests(["GET"], "pods"), "lists": requests(["LIST"], "pods"),
        "first": seen["first_gone"] - began,
        "floor": 100 * seen["floor_s"] / APPS / took,
        "mb": numbers[0], "cpu": numbers[1], "plane_cpu": numbers[2], **{k: seen[k] for k in ("least", "broken", "left")},
    }
    print(COLUMNS.format(
        name, f"{took:.1f}", f"{row['gone']:.1f}", row["requests"], row["evictions"],
        row["refused"], row["other"], f"{row['gets']}+{row['lists']}",
        "" if row["mb"] is None else f"{row['mb']:.0f}",
        "" if row["cpu"] is None else f"{row['cpu']:.1f}",
        f"{row['plane_cpu']:.0f}",
        f"{row['first']:.1f}",
        f"{row['least']}/{row['broken']}",
        f"{row['floor']:.0f} %") + (f"  {row['left']} pods left" if row["left"] else ""),
        flush=True)
    return row


def spread(bench):
    pods = [pod["spec"].get("nodeName", "") for pod in bench.admin.get(PODS.format(""))["items"]]
    return len(pods), len(set(pods))


def main():
    bench, contestants = Bench(*sys.argv[1:4]), sys.argv[4:]
    if "sluice" in contestants[:-1]:
        raise SystemExit("tools/bench: sluice comes last: it takes the nodes away that it emptied")
    try:
        make_rights(bench)
        nodes = start_cloud(bench)
        leaving, spare = make_nodes(bench, nodes)
        for node in spare:
            set_node(bench, node, False, True)
        make_work(bench)
        until("the pods to run", 240, lambda: is_settled(bench))
        print(COLUMNS.format("", "s", "gone s", "requests", "evicted", "refused", "other",
                             "get+list", "MB", "cpu s", "server", "first", "budget", "floor"))
        rows = []
        for name in contestants:
            make_ready(bench, leaving, spare, "100%" if name.startswith("raw") else ALLOWED)
            rows.append(play(bench, name, leaving))
            if rows[-1]["left"]:
                make_ready(bench, leaving, spare, "100%")
                by_raw(bench, leaving)
            leaving, spare = spare, leaving
        bench.write("rows.json", json.dumps(rows, indent=1))
    finally:
        bench.stop_all()


main()
