# SPDX-License-Identifier: Apache-2.0
"""What the benches on a real API server share: requests, the server's own counters, memory of
processes, and a third party that watches pods and says whether a budget was ever broken.

As a program: bench_kube.py KUBECONFIG LEAVING WANTED watches all pods until it is terminated and
prints what it saw as one line of JSON.  LEAVING is a file with the names of the nodes that are
emptied, WANTED how many pods of each `app` must be there."""
import base64
import http.client
import json
import re
import signal
import ssl
import sys
import time
import urllib.parse


class Server:
    """One connection to the API server of a kubeconfig; opened again when it breaks."""

    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as file:
            chars = file.read()
        self.url = urllib.parse.urlparse(re.search(r'server: "?(https://[^",} ]+)', chars)[1])
        self.token = re.search(r"token: ([^} \n]+)", chars)[1]
        authority = re.search(r"certificate-authority-data: ([^} \n]+)", chars)[1]
        self.tls = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
        self.connection = None

    def open(self, method, path, body=None, kind="application/json", timeout=120):
        """The answer, not yet read."""
        self.connection = self.connection or http.client.HTTPSConnection(
            self.url.hostname, self.url.port, context=self.tls, timeout=timeout)
        headers = {"Authorization": "Bearer " + self.token, "Content-Type": kind}
        try:
            self.connection.request(method, path, json.dumps(body) if body else None, headers)
            return self.connection.getresponse()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            raise

    def ask(self, method, path, body=None, kind="application/json"):
        """Status and body; 0 when there was no answer."""
        for _ in range(2):  # a connection that was idle for long may be gone
            try:
                answer = self.open(method, path, body, kind)
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                self.connection = None
        return 0, b""

    def get(self, path):
        status, body = self.ask("GET", path)
        if status != 200:
            raise RuntimeError(f"GET {path}: {status} {body[:300]!r}")
        return json.loads(body)

    def make(self, path, body):
        """Creates the object unless it is there."""
        status, answer = self.ask("POST", path, body)
        if status not in (201, 409):
            raise RuntimeError(f"POST {path}: {status} {answer[:300]!r}")

    def change(self, path, body):
        status, answer = self.ask("PATCH", path, body, "application/merge-patch+json")
        if status != 200:
            raise RuntimeError(f"PATCH {path}: {status} {answer[:300]!r}")


COUNTER = re.compile(r"^(apiserver_request_total|apiserver_flowcontrol_dispatched_requests_total)"
                     r"\{([^}]*)\} ([0-9.e+]+)$", re.MULTILINE)


def counters(server, flow):
    """The server's requests so far by (verb, resource, code), and under "flow" those of a flow."""
    status, body = server.ask("GET", "/metrics")
    if status != 200:
        raise RuntimeError(f"GET /metrics: {status}")
    counts = {"flow": 0}
    for name, labels, value in COUNTER.findall(body.decode()):
        label = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        if name == "apiserver_request_total":
            what = "/".join(filter(None, (label["resource"], label["subresource"])))
            key = label["verb"], what, label["code"]
            counts[key] = counts.get(key, 0) + float(value)
        elif label.get("flow_schema") == flow:
            counts["flow"] += float(value)
    return counts


def count(after, before, verbs, what, code=None):
    """Requests between two readings."""
    return int(sum(value - before.get(key, 0) for key, value in after.items()
                   if key != "flow" and key[0] in verbs and key[1] == what
                   and (code is None or key[2] == code)))


def process_numbers(pid):
    """Peak memory in MB and seconds of processor of a process that runs."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        peak = int(re.search(r"VmHWM:\s+(\d+)", file.read())[1])
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return peak / 1024, (int(fields[11]) + int(fields[12])) / 100


def is_healthy(pod):
    """As the disruption controller counts."""
    ready = any(c["type"] == "Ready" and c["status"] == "True"
                for c in pod.get("status", {}).get("conditions", []))
    return ready and "deletionTimestamp" not in pod["metadata"]


class Referee:
    def __init__(self, leaving, wanted):
        self.leaving, self.wanted = leaving, wanted
        self.pods = {}  # uid -> app, node, healthy
        self.healthy = {}  # app -> pods
        self.since = {}  # app -> when it came to stand where its budget lets nothing go
        self.floor_s = 0.0
        self.at = 0.0  # when the event that is judged was heard
        self.seen = {"least": None, "broken": 0, "last_gone": 0.0, "first_gone": 0.0, "events": 0}

    def note(self, kind, pod):
        uid = pod["metadata"]["uid"]
        app, node, healthy = self.pods.pop(uid, (None, "", False))
        if healthy:
            self.healthy[app] -= 1
        if kind == "DELETED":
            if node in self.leaving:
                self.seen["last_gone"] = self.at
                self.seen["first_gone"] = self.seen["first_gone"] or self.at
        else:
            app, healthy = pod["metadata"]["labels"].get("app"), is_healthy(pod)
            self.pods[uid] = app, pod["spec"].get("nodeName", ""), healthy
            self.healthy[app] = self.healthy.get(app, 0) + healthy
        self.seen["events"] += 1
        return app

    def judge(self, app):
        least = self.healthy.get(app, 0)
        self.seen["broken"] += least < self.wanted
        if least <= self.wanted:
            self.since.setdefault(app, self.at)
        elif app in self.since:
            self.floor_s += self.at - self.since.pop(app)
        if self.seen["least"] is None or least < self.seen["least"]:
            self.seen["least"] = least

    def hear(self, at, line):
        event = json.loads(line)
        if event["type"] == "ERROR":
            raise RuntimeError(line)
        self.at = at
        self.judge(self.note(event["type"], event["object"]))

    def end(self):
        self.seen["floor_s"] = self.floor_s
        self.seen["left"] = sum(node in self.leaving for _, node, _ in self.pods.values())
        print(json.dumps(self.seen), flush=True)


class Ended(Exception):
    pass


def end(*_):
    raise Ended


def referee(kubeconfig, leaving, wanted):
    with open(leaving, encoding="utf-8") as file:
        names = set(file.read().split())
    server, judge = Server(kubeconfig), Referee(names, int(wanted))
    pods = "/api/v1/pods"
    listed = server.get(pods)
    version = listed["metadata"]["resourceVersion"]
    for pod in listed["items"]:
        judge.note("ADDED", pod)
    judge.at = time.time()
    for app in list(judge.healthy):
        judge.judge(app)
    heard = []  # read now, judged afterwards: the processors are the contestant's
    signal.signal(signal.SIGTERM, end)
    print("watching", flush=True)
    try:
        while True:
            # Every change in the order of the server's versions: nothing between two is missed.
            with server.open("GET", f"{pods}?watch=1&resourceVersion={version}", timeout=3600) as answer:
                for line in answer:
                    heard.append((time.time(), line))
            if heard:
                version = json.loads(heard[-1][1])["object"]["metadata"]["resourceVersion"]
            server.connection.close()
            server.connection = None
    except Ended:
        pass
    for at, line in heard:
        judge.hear(at, line)
    judge.end()


if __name__ == "__main__":
    referee(*sys.argv[1:])
