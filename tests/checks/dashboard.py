# SPDX-License-Identifier: Apache-2.0
"""What tests/checks/check_dashboard asks of tools/packaging/grafana/sluice.json and of the alerts.

dashboard.py RULES writes the queries as rules for promtool to RULES."""
import json
import re
import sys

DASHBOARD = "tools/packaging/grafana/sluice.json"
ALERTS = "tools/packaging/prometheus/rules.yaml"
# What Prometheus adds to each sample, and what alerts have.
OTHERS = {
    "ALERTS": {"alertname", "alertstate", "severity", "id"},
    "DCGM_FI_DEV_GPU_UTIL": set(),
    "DCGM_FI_DEV_FB_USED": set(),
    "DCGM_FI_DEV_FB_FREE": set(),
    "vllm:request_queue_time_seconds_bucket": {"le", "model_name", "engine"},
    "vllm:num_requests_waiting": {"model_name", "engine"},
    "vllm:num_requests_running": {"model_name", "engine"},
    "vllm:e2e_request_latency_seconds_bucket": {"le", "model_name", "engine"},
    "vllm:e2e_request_latency_seconds_sum": {"model_name", "engine"},
    "vllm:e2e_request_latency_seconds_count": {"model_name", "engine"},
    "vllm:time_to_first_token_seconds_bucket": {"le", "model_name", "engine"},
    "kueue_admission_wait_time_seconds_bucket": {"le", "cluster_queue"},
    "kueue_pending_workloads": {"cluster_queue", "status"},
}
ADDED = {"instance", "job"}
BUILT_IN = {"row", "stat", "table", "timeseries", "state-timeline"}
NAME = r"\b(?:sluice_|DCGM_|ALERTS|vllm:|kueue_)\w*"
bad = []


def complain(place, text):
    bad.append(f"{place}: {text}")


def metrics():
    """The labels of each metric, by the table of docs/metrics.md."""
    rows = {}
    with open("docs/metrics.md", encoding="utf-8") as page:
        for found in re.finditer(r"^\| `(sluice_\w+)` \| (\w+) \| ([^|]*) \|", page.read(), re.M):
            labels = set(re.findall(r"\w+", found[3]))
            rows[found[1]] = labels
            if found[2] == "histogram":
                rows |= {found[1] + "_bucket": labels | {"le"}, found[1] + "_sum": labels, found[1] + "_count": labels}
    assert rows
    return rows | OTHERS


def check_query(place, query, known):
    """Returns the labels that the samples of the query may have."""
    labels = set(ADDED)
    for name in re.findall(NAME, query):
        if name not in known:
            complain(place, f"there is no metric {name}")
        labels |= known.get(name, set())
    for found in re.finditer(rf"({NAME})\{{([^}}]*)\}}", query):
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", found[2]):
            if label not in known.get(found[1], set()) | ADDED:
                complain(place, f"{found[1]} has no label {label}")
    grouped = set()
    for word, names in re.findall(r"\b(by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)", query):
        for label in re.findall(r"\w+", names):
            if label not in labels:
                complain(place, f"no metric of \"{query}\" has the label {label}")
            grouped |= {label} if word == "by" else set()
    return grouped or labels


def check_panel(panel, known):
    place = f"panel \"{panel['title']}\""
    if panel["type"] not in BUILT_IN:
        complain(place, f"{panel['type']} is no panel that Grafana has built in")
    for target in panel.get("targets", []):
        labels = check_query(place, target["expr"], known)
        for label in re.findall(r"\{\{\s*(\w+)\s*\}\}", target["legendFormat"]):
            if label not in labels:
                complain(place, f"the legend's label {label} is not in \"{target['expr']}\"")
        for name in re.findall(r"sluice_\w+\b(?!\{instance=~)", target["expr"]):
            complain(place, f"{name} is not of the services that are chosen")


def check_places(panels):
    taken = {}
    for panel in panels:
        at = panel["gridPos"]
        if at["x"] + at["w"] > 24:
            complain(panel["title"], "does not fit beside the panel before it")
        for y in range(at["y"], at["y"] + at["h"]):
            for x in range(at["x"], at["x"] + at["w"]):
                other = taken.setdefault((x, y), panel["title"])
                if other != panel["title"]:
                    complain(panel["title"], f"covers {other}")
                    return


def check_alerts(known):
    with open(ALERTS, encoding="utf-8") as file:
        text = re.sub(r"^\s*#.*$", "", file.read(), flags=re.M)
    for alert in re.split(r"^\s*- alert: ", text, flags=re.M)[1:]:
        name = alert.split("\n", 1)[0]
        query = re.search(r"^\s*expr: (\S.*)$", alert, re.M)
        if not query or query[1] in (">-", "|", ">"):
            complain(name, "its expression is not on one line, which this check reads")
            continue
        labels = check_query(name, query[1], known)
        for label in re.findall(r"\$labels\.(\w+)", alert):
            if label not in labels:
                complain(name, f"the text's label {label} is not in \"{query[1]}\"")
        # What the text asks Prometheus for: {{ with printf "METRIC{LABEL=%q}" ... | query }}.
        asked = set()
        for inner in re.findall(r'printf "([^"]*)" [^|}]*\| query', alert):
            asked |= check_query(name, inner.replace("%q", '""'), known)
        for label in re.findall(r'\blabel "(\w+)"', alert):
            if label not in asked:
                complain(name, f"no query of the text has the label {label}")


def main():
    known = metrics()
    with open(DASHBOARD, encoding="utf-8") as file:
        board = json.load(file)
    inner = [panel for row in board["panels"] for panel in row.get("panels", [])]
    panels = board["panels"] + inner
    numbers = [panel["id"] for panel in panels]
    if len(set(numbers)) < len(numbers):
        complain(DASHBOARD, "two panels have one id")
    for panel in panels:
        check_panel(panel, known)
    check_places(board["panels"])
    check_places(inner)
    check_alerts(known)
    with open(sys.argv[1], "w", encoding="utf-8") as rules:
        rules.write("groups:\n- name: panels\n  rules:\n")
        for number, panel in enumerate(panels):
            for target in panel.get("targets", []):
                query = target["expr"].replace("$instance", ".*")
                rules.write(f"  - {{record: 'panel:{number}:{target['refId']}', expr: {json.dumps(query)}}}\n")
    print("\n".join(bad))
    sys.exit(1 if bad else 0)


main()
