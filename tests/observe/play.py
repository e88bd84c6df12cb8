# SPDX-License-Identifier: Apache-2.0
"""play.py BUILD [CASE...]: plays the cases, four at a time; a line for each check."""
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

from world import HOLD_S, PACKAGING, QUOTAS, ROOT, World, get, opened, within

SIDE_BY_SIDE = 4
LABELS = ("alertname", "id", "cluster", "pool", "reservation", "source")
said = threading.Lock()
failures = []
planted = set()  # the names of the alerts that the cases wanted


def tell(name, is_good, what, why=""):
    with said:
        print(f"{'ok' if is_good else 'FAILED'} {name}: {what}{'' if is_good else f': {why}'}", flush=True)
        if not is_good:
            failures.append(name)


def expect(name, what, found, wanted):
    tell(name, found == wanted, what, f"{found} and not {wanted}")


def alert(name, **labels):
    return tuple([name] + [labels.get(label, "") for label in LABELS[1:]])


def critical(kind, cluster=""):
    return alert("SluiceCritical", id=kind, cluster=cluster)


def degraded(kind, cluster=""):
    return alert("SluiceDegraded", id=kind, cluster=cluster)


def alerts_of(series):
    return {tuple(one["metric"].get(label, "") for label in LABELS) for one in series}


def firing(world):
    return alerts_of(world.query('ALERTS{alertstate="firing"}'))


def conditions(status):
    """What the status says is critical or a warning, as the alerts that belong to it."""
    alerts = {"critical": critical, "warning": degraded}
    return {alerts[row["severity"]](row["id"], row["cluster"]) for row in status["health"]["conditions"]
            if row["severity"] in alerts}


def check_agreement(name, world, wanted):
    """The status, `--check`, and what Alertmanager was told, beside the alerts."""
    by_condition = {one for one in wanted if one[0] in ("SluiceCritical", "SluiceDegraded")}
    if world.programs["service"].poll() is None:
        expect(name, "the status names the conditions of the alerts", conditions(world.status()), by_condition)
        code = world.sluice("status", "--check", codes=(0, 2)).returncode
        expect(name, "`status --check` agrees", code, 2 if by_condition else 0)
    told = json.loads(get(f"http://127.0.0.1:{world.alertmanager}/api/v2/alerts"))
    open_ones = {one["labels"]["alertname"] for one in told if one["status"]["state"] == "active"}
    expect(name, "Alertmanager has the alerts", {one["labels"]["alertname"] for one in told},
           {one[0] for one in wanted})
    within(20, "a notice of each open alert", lambda: open_ones <= world.receiver.names("/record"))
    severities = {path: {one["labels"]["severity"] for where, one in world.receiver.heard if where == path}
                  for path in ("/on-call", "/chat")}
    expect(name, "only what is critical goes to the person on call", severities["/on-call"] - {"critical"}, set())
    expect(name, "only warnings go to the channel", severities["/chat"] - {"warning"}, set())


def check_texts(name, world):
    """An alert on a condition says what it affects and what to do, as the table of docs/health.md has it."""
    with open(os.path.join(ROOT, "docs/health.md"), encoding="utf-8") as page:
        table = {row[0]: row[1:] for row in re.findall(
            r"^\| `(\w+)` \|[^|]*\|[^|]*\| ([^|]+) \| ([^|]+) \|$", page.read(), re.M)}
    told = json.loads(get(f"http://127.0.0.1:{world.alertmanager}/api/v2/alerts"))
    for one in told:
        kind, text = one["labels"].get("id"), one["annotations"]["description"]
        if kind:
            affects, advice = table[kind]
            tell(name, f"Affects {affects}. What to do: {advice}. " in text,
                 f"the alert on {kind} says what it affects and what to do", text)


def check_metrics(name, world):
    lint = subprocess.run(["promtool", "check", "metrics"], input=get(f"http://127.0.0.1:{world.metrics}/metrics"),
                          capture_output=True, text=True, check=False)
    expect(name, "promtool finds nothing in the metrics", (lint.returncode, lint.stdout + lint.stderr), (0, ""))
    python = os.environ.get("SLUICE_STRICT_PYTHON")
    if python:
        text = get(f"http://127.0.0.1:{world.metrics}/metrics", {"Accept": "application/openmetrics-text"})
        strict = subprocess.run([python, os.path.join(os.path.dirname(__file__), "strict.py")], input=text,
                                capture_output=True, text=True, check=False)
        expect(name, "OpenMetrics' own parser takes them", (strict.returncode, strict.stderr), (0, ""))


def panels():
    with open(os.path.join(PACKAGING, "grafana/sluice.json"), encoding="utf-8") as file:
        board = json.load(file)
    for panel in board["panels"]:
        for one in [panel] + panel.get("panels", []):
            for target in one.get("targets", []):
                yield one["title"], target["expr"].replace("$instance", ".*")


def expect_alerts(name, world, wanted, patience_s):
    """The alerts come, stay alone, and no other fired meanwhile."""
    try:
        within(patience_s, "the alerts", lambda: firing(world) == wanted)
    except AssertionError:
        tell(name, False, "its alerts come", f"{firing(world)} and not {wanted}")
    time.sleep(2 * HOLD_S)
    expect(name, "these alerts fire", firing(world), wanted)
    ever = world.query_range('ALERTS{alertstate="firing"}')
    expect(name, "no other fired", alerts_of(ever), wanted | BEFORE.get(name, set()))


def day(world):
    """A move for a window, a reclaim and a freeze: no alert, and every panel has data."""
    world.schedule(6, 28)
    world.foretell(covered=36)
    world.sluice("apply")
    within(120, "a move under way", lambda: world.status()["live_transfers"] > 0)
    within(180, "the end of the move", lambda: world.status()["window"] == "second"
           and world.status()["live_transfers"] == 0)
    world.sluice("reclaim", "--to", "prod-a", "--nodes", "1", "--reason", "launch")
    within(60, "the end of the reclaim", lambda: world.status()["live_transfers"] == 0)
    world.sluice("freeze", "--cluster", "prod-a", "--for", "1h", "--reason", "upgrade")
    time.sleep(3)
    for title, expression in panels():
        if title != "Alerts":
            tell("day", bool(world.query_range(expression)), f"panel \"{title}\" has data: {expression}", "none")
    return set()


def stock_out(world):
    world.sluice("reclaim", "--to", "prod-a", "--nodes", "2", "--reason", "launch")
    return {critical("reclaim_blocked", "prod-a")}


def dead_cluster(world):
    world.door.shut()
    return {critical("cluster_unreachable", "research-a"), critical("pool_stale", "research-a")}


def stuck_pod(world):
    world.sluice("reclaim", "--to", "prod-a", "--nodes", "2", "--reason", "launch")
    return {critical("reclaim_behind", "prod-a")}


def never_joins(world):
    world.sluice("reclaim", "--to", "prod-a", "--nodes", "1", "--reason", "launch")
    return {critical("reclaim_behind", "prod-a")}


def frozen_and_short(world):
    world.sluice("freeze", "--for", "1h", "--reason", "incident")
    world.schedule(8, 8)
    world.sluice("apply")
    return {critical("production_short", "prod-a")}


def frozen(world):
    world.sluice("freeze", "--cluster", "prod-a", "--for", "1h", "--reason", "upgrade")
    return set()


def late(world):
    world.schedule(6, 8)
    world.sluice("apply")
    return {alert("SluiceMarginShort"), degraded("move_late", "prod-a")}


def nodes_of(world, cluster):
    return {one["metadata"]["name"] for one in json.loads(world.ask(cluster, "GET", "/api/v1/nodes"))["items"]}


def stuck_move(world):
    """A person closes the node that comes.  It may serve, so sluice neither takes nor discards it."""
    before = nodes_of(world, "prod-a")
    world.sluice("reclaim", "--to", "prod-a", "--nodes", "1", "--reason", "launch")
    node = within(60, "the new node", lambda: nodes_of(world, "prod-a") - before).pop()
    world.ask("prod-a", "PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}},
              "application/merge-patch+json")
    return {alert("SluiceMoveStuck"), critical("operator_needed", "research-a"), critical("reclaim_behind", "prod-a")}


def draining(world):
    return next((row["node"] for row in world.status()["transfers"] if row["step"] == "drain"), None)


def broken_notice(world):
    """While a node drains, the notice of the configuration grows.  A pod that comes to the node then is
    asked to leave before that notice is over."""
    world.set_faults(stuck_pod=1)
    world.schedule(6, 7)
    world.sluice("apply")
    node = within(180, "a node that drains", lambda: draining(world))
    world.write_config(world.simulator, drain="{notice: 5m, deadline: 60s, settle: 1s}")
    world.sluice("reload")
    within(60, "all pools again", lambda: world.status().get("unknown") == [])
    world.ask("research-a", "POST", "/api/v1/namespaces/default/pods", {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "latecomer", "namespace": "default"},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "main"}]}})
    return {alert("SluiceNoticeBroken")}


def stale(world):
    """The cloud answers no more: what is known of its pools ages."""
    world.door.shut()
    return ({alert("SluiceTelemetryStale", source=pool) for pool in ("prod-a-east", "research-a-east")}
            | {critical("pool_stale", cluster) for cluster in ("prod-a", "research-a")})


def exceeded(_):
    return {alert("SluiceReservationExceeded", reservation="east")}


def refused_config(world):
    world.write("sluice.yaml", world.read("sluice.yaml") + "nonsense: 1\n")
    world.programs["service"].send_signal(signal.SIGHUP)
    within(20, "the refusal", lambda: any(
        row["id"] == "config_refused" for row in world.status()["health"]["conditions"]))
    return {degraded("config_refused")}


def bad_forecast(world):
    world.foretell(covered=28)
    world.sluice("apply")
    return {alert("SluiceForecastBad")}


def fought(world):
    """Another writer sets the replicas that sluice keeps, again and again."""
    def set_back():
        while world in opened and not world.is_over:
            world.ask("prod-a", "PATCH", "/apis/apps/v1/namespaces/serving/deployments/chat-2x",
                      {"spec": {"replicas": 5}}, "application/merge-patch+json")
            time.sleep(1)
    threading.Thread(target=set_back, daemon=True).start()
    return {alert("SluiceFighting", cluster="prod-a")}


def orphan(world):
    """A machine runs on, and its Node is taken away by hand."""
    nodes = json.loads(world.ask("research-a", "GET", "/api/v1/nodes"))["items"]
    world.ask("research-a", "DELETE", "/api/v1/nodes/" + nodes[-1]["metadata"]["name"])
    return {alert("SluiceOrphanMachine", cluster="research-a")}


def dead_service(world):
    world.programs["service"].kill()
    world.programs["service"].wait()
    return {alert("SluiceDown")}


# name: (what is done, how the world differs, how long its alerts may take)
CASES = {
    "dead_cluster": (dead_cluster, {}, 170),
    # Two waves, and enough nodes to learn lead times from.  By p95 a wave that begins as late as it may
    # is seconds late while it is announced: the alerts wait as long as they do for users.
    "day": (day, {"edge_s": 100, "research": 28, "guard": "{in_flight_per_cluster: 12}",
                  "world": "kueue: both\n", "quotas": QUOTAS, "is_patient": True}, 60),
    "stock_out": (stock_out, {"world": "stockouts: [{zone: us-east5-a}]\n"}, 90),
    "stuck_pod": (stuck_pod, {"world": "faults: {stuck_pod: 1}\n", "lead": "{prior_p50: 3s, prior_p95: 5s}",
                              "drain": "{notice: 5s, deadline: 10m, settle: 1s}"}, 90),
    "never_joins": (never_joins, {"world": "faults: {never_joins: 1}\n",
                                  "lead": "{prior_p50: 3s, prior_p95: 5s}"}, 90),
    "frozen_and_short": (frozen_and_short, {}, 60),
    "frozen": (frozen, {}, 60),
    "late": (late, {"edge_s": 600, "lead": "{prior_p50: 1h, prior_p95: 2h}",
                    "drain": "{notice: 9m, deadline: 60s, settle: 1s}"}, 60),
    "exceeded": (exceeded, {"reserved": 15}, 60),
    "stuck_move": (stuck_move, {"lead": "{prior_p50: 3s, prior_p95: 5s}",
                                "join": "{stable: 10s, deadline: 60s}"}, 120),
    # Its window is far enough away for the move not to be late.
    "broken_notice": (broken_notice, {"edge_s": 420, "lead": "{prior_p50: 3m, prior_p95: 5m}",
                                      "is_patient": True}, 60),
    # The alert is for what is twice as old as guard.fresh.
    "stale": (stale, {"guard": "{fresh: 90s}"}, 240),
    "refused_config": (refused_config, {}, 60),
    "bad_forecast": (bad_forecast, {}, 60),
    # A number is read once a minute, and left alone when it was set back twice.
    "fought": (fought, {}, 180),
    "orphan": (orphan, {}, 60),
    "dead_service": (dead_service, {}, 60),
}


# What fires before the alerts of a case and ends then: a pool of nearly that age is a warning.
BEFORE = {"stale": {degraded("pool_stale", cluster) for cluster in ("prod-a", "research-a")}}


def play(build, name):
    trouble, difference, patience_s = CASES[name]
    world = World(build, **difference)
    began = time.monotonic()
    try:
        world.open(door_to={dead_cluster: "research-a", stale: "google"}.get(trouble))
        wanted = trouble(world)
        planted.update(one[0] for one in wanted)
        expect_alerts(name, world, wanted, patience_s)
        check_agreement(name, world, wanted)
        check_texts(name, world)
        if trouble is not dead_service:
            check_metrics(name, world)
        if wanted:
            board = dict(panels())
            tell(name, bool(world.query_range(board["Alerts"])), "panel \"Alerts\" has data", "none")
        expect(name, "the referee saw no violation", world.report()["violations"], [])
    except Exception:  # pylint: disable=broad-except
        tell(name, False, "played to its end", traceback.format_exc())
    for bad in world.close():
        tell(name, False, "ends well", bad)
    if name in failures:
        print(f"   {name}: the logs are in {world.folder}", flush=True)
    else:
        world.forget()
    print(f"   {name} took {time.monotonic() - began:.0f} s", flush=True)


def alerts_of_rules():
    with open(os.path.join(PACKAGING, "prometheus/rules.yaml"), encoding="utf-8") as file:
        return set(re.findall(r"^ *- alert: (\w+)$", file.read(), re.M))


def end(*_):
    """On a signal: nothing of ours stays."""
    for world in list(opened):
        for program in world.programs.values():
            program.kill()
    os._exit(143)


def main():
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    build = os.path.abspath(sys.argv[1])
    names = sys.argv[2:] or list(CASES)
    for name in names:
        if name not in CASES:
            sys.exit(f"there is no case {name}; there are {', '.join(CASES)}")
    began = time.monotonic()
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        list(pool.map(lambda name: play(build, name), names))
    if len(names) == len(CASES):
        expect("all", "each alert of rules.yaml was planted", planted, alerts_of_rules())
    print(f"{len(names)} cases in {time.monotonic() - began:.0f} s, {len(failures)} checks failed")
    sys.exit(1 if failures else 0)


main()
