# SPDX-License-Identifier: Apache-2.0
"""A simulated world of its own for each case: sluice-simulator, `sluice serve`, a Prometheus with the
alerts of tools/packaging, and an Alertmanager that tells a receiver of ours.  All on loopback."""
import contextlib
import datetime
import http.server
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGING = os.path.join(ROOT, "tools/packaging")
START_S = 60
opened = []  # the worlds whose programs may run
# In place of the minutes of the alerts' `for`.
HOLD_S = 4

CONFIG = """\
time_zone: UTC
metrics_port: {metrics}
windows:
  first: {{days: mon-sun, from: '{other}', to: '{edge}'}}
  second: {{days: mon-sun, from: '{edge}', to: '{other}'}}
poll: 1s
repack_nodes: 0
drain: {drain}
lead: {lead}
guard: {guard}
join: {join}
clusters:
  prod-a: {{role: production, kubeconfig: prod-a.kubeconfig}}
  research-a: {{role: research, kubeconfig: research-a.kubeconfig}}
reservations:
  east: {{machine: a3-megagpu-8g, region: us-east5, zone: us-east5-a, gpus_per_node: 8, nodes: {reserved},
         price: 2.1, price_currency: USD, price_basis: 3y commitment, price_date: '2026-10-01'}}
providers:
  google: {{kind: gcp, endpoint: 'http://127.0.0.1:{port}/gcp', metadata: 'http://127.0.0.1:{port}/gcp'}}
pools:
  prod-a-east: {{cluster: prod-a, reservation: east, provider: google, project: p,
                group: prod-a-east, static_nodes: 2}}
  research-a-east: {{cluster: research-a, reservation: east, provider: google, project: p,
                    group: research-a-east, static_nodes: 1}}
queues:
  chat: {{wait_target: 30s, service: 20s}}
workloads:
  chat-2x: {{queue: chat, namespace: serving, gpus: 2, clusters: {{prod-a: {{}}}}}}
"""
# Research's jobs are Kueue's, and its quota follows the nodes.
QUOTAS = """\
quotas:
  research-gpus: {cluster: research-a, cluster_queue: research, flavor: h100}
"""
CLUSTER_QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "research"},
    "spec": {"namespaceSelector": {}, "resourceGroups": [{
        "coveredResources": ["nvidia.com/gpu"],
        "flavors": [{"name": "h100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "216"}]}]}]}}
SETTINGS = {
    "drain": "{notice: 5s, deadline: 60s, settle: 1s}",
    "lead": "{prior_p50: 20s, prior_p95: 40s}",
    "guard": "{}",
    "join": "{stable: 2s}",
}
WORLD = """\
seed: 1
pools: {{prod-a-east: {{nodes: 6}}, research-a-east: {{nodes: {research}}}}}
replicas: {{chat-2x: {{prod-a: 24}}}}
latency: {{api: 1ms..10ms, delete: 1s..2s, create: 1s..2s, join: 1s..2s, gpus: 200ms..1s,
          pod_start: 200ms..1s, pod_stop: 200ms..1s}}
jobs: {{backlog: 40, duration: 10m..2h}}
{more}"""
SCHEDULE = """\
workloads:
  chat-2x:
    prod-a: {replicas}
compute:
  a3-megagpu-8g:
    us-east5:
      prod-a:
        counts: [{nodes}]
"""
# A file of DCGM's exporter with its default counters, as far as the dashboard reads them.
DCGM = "".join(
    f"# HELP {name} {text}.\n# TYPE {name} gauge\n" + "".join(
        f'{name}{{gpu="{gpu}",UUID="GPU-{gpu}",device="nvidia{gpu}",Hostname="node-1"}} {value + gpu}\n'
        for gpu in range(8))
    for name, text, value in (("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %)", 2),
                              ("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB)", 20000),
                              ("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB)", 60000)))
def histogram(name, labels, text, scrapes):
    """Of ten since the scrape before, nine took 300 ms at most and one a second."""
    bounds = (("0.3", 9), ("1.0", 10), ("+Inf", 10))
    return (f"# HELP {name} {text}.\n# TYPE {name} histogram\n"
            + "".join(f'{name}_bucket{{{labels},le="{le}"}} {count * scrapes}\n' for le, count in bounds)
            + f"{name}_sum{{{labels}}} {3.0 * scrapes}\n{name}_count{{{labels}}} {10 * scrapes}\n")


def gauge(name, labels, text, value):
    return f"# HELP {name} {text}.\n# TYPE {name} gauge\n{name}{{{labels}}} {value}\n"


def vllm(scrapes):
    """As far as the dashboard reads it: https://docs.vllm.ai/en/v0.9.1/usage/metrics.html"""
    labels = 'engine="0",model_name="chat"'
    return ("".join(histogram(f"vllm:{name}", labels, "Histogram", scrapes) for name in (
        "request_queue_time_seconds", "e2e_request_latency_seconds", "time_to_first_token_seconds"))
        + gauge("vllm:num_requests_waiting", labels, "Number of requests waiting", 2)
        + gauge("vllm:num_requests_running", labels, "Number of requests running", 8))


def kueue(scrapes):
    """Likewise: https://kueue.sigs.k8s.io/docs/reference/metrics/"""
    labels = 'cluster_queue="research"'
    return (histogram("kueue_admission_wait_time_seconds", labels, "Time until a workload was admitted", scrapes)
            + gauge("kueue_pending_workloads", labels + ',status="active"', "Pending workloads", 3))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def get(url, headers=None):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=10) as answer:
        return answer.read().decode()


def within(seconds, what, look):
    """The first answer of look() that is true; an error counts as none."""
    end = time.monotonic() + seconds
    last = None
    while time.monotonic() < end:
        try:
            last = look()
            if last:
                return last
        except (OSError, ValueError) as error:
            last = error
        time.sleep(0.3)
    raise AssertionError(f"never came: {what}: {last}")


class Receiver:
    """Hears what Alertmanager sends, by path, and serves the files of DCGM's exporter, vLLM and Kueue."""

    def __init__(self):
        heard = self.heard = []
        scrapes = itertools.count(1)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                heard.extend((self.path, alert) for alert in body["alerts"])
                self.send_response(200)
                self.end_headers()

            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                scrape = next(scrapes)
                said = {"/metrics": DCGM, "/vllm": vllm(scrape), "/kueue": kueue(scrape)}[self.path]
                with contextlib.suppress(BrokenPipeError):  # Prometheus was ended meanwhile
                    self.wfile.write(said.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def names(self, path):
        return {alert["labels"]["alertname"] for where, alert in self.heard if where == path}

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Door:
    """Passes bytes between a port of its own and another one, until it is shut."""

    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.sockets = []
        self.port = 0
        self.reopen()

    def reopen(self):
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        listener = self.listener
        try:
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(self.target)
                self.sockets += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self.carry, args=(one, other), daemon=True).start()
        except OSError:
            pass

    @staticmethod
    def carry(one, other):
        try:
            while True:
                data = one.recv(65536)
                if not data:
                    break
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def shut(self):
        if self.listener.fileno() < 0:
            return
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for one in self.sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()


class World:
    def __init__(self, build, edge_s=None, world="", research=10, is_patient=False, quotas="",
                 **settings):
        self.build = build
        self.folder = tempfile.mkdtemp(prefix="sluice-observe-")
        self.programs = {}
        self.receiver = Receiver()
        self.door = None
        self.metrics, self.prometheus, self.alertmanager = (free_port() for _ in range(3))
        self.machines = 6 + research
        self.is_patient = is_patient
        self.is_over = False
        self.quotas = quotas
        self.settings = {**SETTINGS, "reserved": self.machines, **settings}
        # A window begins at the next minute that is at least so far away; or in half a day.
        now = datetime.datetime.now(datetime.timezone.utc)
        away = datetime.timedelta(hours=12) if edge_s is None else datetime.timedelta(seconds=edge_s + 60)
        self.edge = (now + away).replace(second=0, microsecond=0)
        self.write("world.yaml", WORLD.format(research=research, more=world))
        os.mkdir(os.path.join(self.folder, "schedules"))
        self.schedule(6, 6)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def schedule(self, first, second):
        """The nodes of production before and after the edge."""
        for name, nodes in (("first", first), ("second", second)):
            self.write(f"schedules/{name}.yaml", SCHEDULE.format(nodes=nodes, replicas=4 * nodes))

    def foretell(self, covered):
        """A forecast beside the schedules whose bound held on so many of 40 days, and not on nine of ten."""
        row = {"queue": "chat", "replicas": 24, "gpus": 48, "point": 20.0, "lower": 16.0, "share": 0.9,
               "method": "profile", "basis": "rank",
               "score": {"days": 40, "covered": covered, "loss": 0.3, "loss_last_week": 0.5, "loss_last_week_10": 0.6}}
        day = datetime.timedelta(days=1)
        times = {name: (self.edge + shift).strftime("%Y-%m-%dT%H:%M:%SZ") for name, shift in (
            ("demand_from", -60 * day), ("demand_to", -day), ("use_until", 7 * day))}
        self.write("schedules/forecast.json", json.dumps({"kind": "forecast", "version": 1, "windows": [
            {"window": name, **times, "is_forecast": True, "queues": [row]} for name in ("first", "second")]}))

    def write_config(self, port, **other):
        opposite = self.edge + datetime.timedelta(hours=12)
        text = CONFIG.format(port=port, metrics=self.metrics, edge=self.edge.strftime("%H:%M"),
                             other=opposite.strftime("%H:%M"), **{**self.settings, **other}) + self.quotas
        # The commands have a copy, so that they still work when the service refuses its own.
        for name in ("sluice.yaml", "command.yaml"):
            self.write(name, text)

    def start(self, name, *words):
        with open(self.path(f"{name}.log"), "w", encoding="utf-8") as log:
            self.programs[name] = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                                   cwd=self.folder)

    def open(self, door_to=None):
        """`door_to`: the cluster or the provider that the service reaches through self.door."""
        opened.append(self)
        # The simulator's reservations hold their machines, whatever sluice believes.
        self.write_config(1, reserved=self.machines)
        self.start("simulator", f"{self.build}/sluice-simulator", "--config", "sluice.yaml", "--world",
                   "world.yaml", "--write-kubeconfigs", ".")
        port = int(within(START_S, "the simulator's port", lambda: re.search(
            r"listening on http://127\.0\.0\.1:(\d+)", self.read("simulator.log")))[1])
        self.simulator = port
        if door_to == "google":
            self.door = Door(port)
        self.write_config(self.door.port if self.door else port)
        if self.quotas:
            self.ask("research-a", "POST", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues", CLUSTER_QUEUE)
        if door_to and not self.door:
            self.door = Door(port)
            name = f"{door_to}.kubeconfig"
            self.write(name, self.read(name).replace(f"127.0.0.1:{port}", f"127.0.0.1:{self.door.port}"))
        self.start("service", f"{self.build}/sluice", "serve", "--config", "sluice.yaml")
        within(START_S, "the first sight of all pools", lambda: self.status().get("unknown") == [])
        self.sluice("apply")
        self.watch()

    def ask(self, cluster, method, path, thing=None, kind="application/json"):
        """As another client of the cluster."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.simulator}/clusters/{cluster}{path}", thing and json.dumps(thing).encode(),
            {"Content-Type": kind, "Authorization": f"Bearer admin-{cluster}"}, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read()

    def set_faults(self, **faults):
        """The chances of the simulator's faults from now on."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.simulator}/simulator/faults", method="PUT",
                                         data=json.dumps(faults).encode())
        urllib.request.urlopen(request, timeout=10).close()

    def watch(self):
        """Prometheus and Alertmanager, with the rules and routes of tools/packaging and short times; in
        a patient world the alerts keep theirs."""
        with open(f"{PACKAGING}/prometheus/rules.yaml", encoding="utf-8") as file:
            rules = file.read()
        if not self.is_patient:
            rules = re.sub(r"\bfor: \d+[mh]$", f"for: {HOLD_S}s", rules, flags=re.M)
        self.write("rules.yaml", rules)
        with open(f"{PACKAGING}/prometheus/alertmanager.yaml", encoding="utf-8") as file:
            routes = file.read().split("\nreceivers:")[0]
        routes = re.sub(r"(group_wait|group_interval): \d+[sm]$", r"\1: 1s", routes, flags=re.M)
        receivers = [{"name": name, "webhook_configs": [
            {"url": f"http://127.0.0.1:{self.receiver.port}/{name}"}]} for name in ("on-call", "chat", "record")]
        self.write("alertmanager.yaml", f"{routes}\nreceivers: {json.dumps(receivers)}\n")
        self.write("prometheus.yaml", json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "alerting": {"alertmanagers": [
                {"static_configs": [{"targets": [f"127.0.0.1:{self.alertmanager}"]}]}]},
            "scrape_configs": [
                {"job_name": "sluice", "static_configs": [{"targets": [f"127.0.0.1:{self.metrics}"]}]},
                {"job_name": "vllm", "metrics_path": "/vllm",
                 "static_configs": [{"targets": [f"127.0.0.1:{self.receiver.port}"]}]},
                {"job_name": "kueue", "metrics_path": "/kueue",
                 "static_configs": [{"targets": [f"127.0.0.1:{self.receiver.port}"]}]},
                {"job_name": "dcgm", "static_configs": [{"targets": [f"127.0.0.1:{self.receiver.port}"]}]}],
        }))
        self.start("alertmanager", "prometheus-alertmanager", "--config.file", "alertmanager.yaml",
                   "--storage.path", "alerts", "--web.listen-address", f"127.0.0.1:{self.alertmanager}",
                   "--cluster.listen-address=")
        self.start("prometheus", "prometheus", "--config.file", "prometheus.yaml", "--storage.tsdb.path",
                   "series", "--web.listen-address", f"127.0.0.1:{self.prometheus}")
        for port in (self.alertmanager, self.prometheus):
            within(START_S, "Prometheus", lambda port=port: get(f"http://127.0.0.1:{port}/-/ready"))
        # Until the first scrape there is no service for Prometheus.
        within(START_S, "the first scrape", lambda: self.query("sluice_build_info"))
        within(START_S, "no SluiceDown", lambda: not self.query('ALERTS{alertname="SluiceDown"}'))
        self.began = time.time()

    def sluice(self, *words, codes=(0,)):
        said = subprocess.run([f"{self.build}/sluice", *words, "--config", "command.yaml"], cwd=self.folder,
                              capture_output=True, text=True, timeout=60, check=False)
        if said.returncode not in codes:
            raise AssertionError(f"sluice {' '.join(words)}: {said.returncode}: {said.stdout}{said.stderr}")
        return said

    def status(self):
        return json.loads(self.sluice("status", "-o", "json", codes=(0, 1, 75)).stdout or "{}")

    def query(self, expression):
        said = json.loads(get(f"http://127.0.0.1:{self.prometheus}/api/v1/query?"
                              + urllib.parse.urlencode({"query": expression})))
        return said["data"]["result"]

    def query_range(self, expression):
        said = json.loads(get(f"http://127.0.0.1:{self.prometheus}/api/v1/query_range?" + urllib.parse.urlencode(
            {"query": expression, "start": self.began, "end": time.time(), "step": "1s"})))
        return said["data"]["result"]

    def report(self):
        return json.loads(get(f"http://127.0.0.1:{self.simulator}/simulator/report"))

    def close(self):
        """Ends what it started, and returns the programs that ended badly."""
        self.is_over = True
        bad = []
        for name in ("prometheus", "alertmanager", "service", "simulator"):
            program = self.programs.get(name)
            if not program:
                continue
            was_running = program.poll() is None
            program.terminate()
            try:
                code = program.wait(timeout=30)
            except subprocess.TimeoutExpired:
                program.kill()
                code = program.wait()
            if name in ("service", "simulator") and was_running and code != 0:
                bad.append(f"{name} ended with {code}")
        opened.remove(self)
        if self.door:
            self.door.shut()
        self.receiver.close()
        return bad

    def forget(self):
        shutil.rmtree(self.folder)
