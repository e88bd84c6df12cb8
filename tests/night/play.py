# SPDX-License-Identifier: Apache-2.0
"""play.py BUILD PACKAGES PICTURES: the night, in one world; a line for each check."""
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../observe"))
from world import World, get, within  # pylint: disable=wrong-import-position

PATIENCE_S = 60
AGREEMENT_S = 30
DEGRADED = ("critical", "warning")
failures = []


def tell(what, is_good, why=""):
    print(f"{'ok' if is_good else 'FAILED'} {what}{'' if is_good else f': {why}'}", flush=True)
    if not is_good:
        failures.append(what)


class Terminal:
    """`sluice status -w` on a real terminal of 80 columns and 24 lines."""

    def __init__(self, world):
        self.name = f"sluice-night-{os.getpid()}"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24",
                  f"{world.build}/sluice status -w --config {world.path('command.yaml')}")

    def tmux(self, *words):
        return subprocess.run(["tmux", "-L", self.name, *words], capture_output=True, text=True, check=True).stdout

    def lines(self):
        return self.tmux("capture-pane", "-p").split("\n")

    def close(self):
        subprocess.run(["tmux", "-L", self.name, "kill-server"], check=False)


class Page:
    """The web page in a browser, opened once."""

    def __init__(self, world, packages, pictures):
        self.program = subprocess.Popen(
            ["node", f"{packages}/page.mjs", world.path("sluice.sock"), pictures], cwd=packages, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def look(self, line):
        self.program.stdin.write(f"{line}\n")
        self.program.stdin.flush()
        said = self.program.stdout.readline()
        if not said:
            raise AssertionError("the browser has ended")
        return json.loads(said)

    def close(self):
        self.program.stdin.close()
        try:
            self.program.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.program.kill()
            self.program.wait()


def of_status(world):
    """{(id, severity, cluster): row} of what holds."""
    health = world.status()["health"]
    return {(row["id"], row["severity"], row["cluster"]): row for row in health["conditions"]}


def degraded(keys):
    return {key for key in keys if key[1] in DEGRADED}


def of_metrics(world):
    """The same keys, as the service's own page of metrics has them."""
    keys = set()
    for line in get(f"http://127.0.0.1:{world.metrics}/metrics").splitlines():
        if line.startswith("sluice_conditions{") and not line.endswith(" 0"):
            labels = dict(part.split("=", 1) for part in line[line.index("{") + 1:line.index("}")].split(","))
            keys.add(tuple(labels[name].strip('"') for name in ("id", "severity", "cluster")))
    return keys


def of_alerts(world):
    severities = {"SluiceCritical": "critical", "SluiceDegraded": "warning"}
    names = [one["metric"] for one in world.query('ALERTS{alertstate="firing"}')]
    return {(name["id"], severities[name["alertname"]], name.get("cluster", "")) if name["alertname"] in severities
            else (name["alertname"], "", "") for name in names}


def picture_name(name):
    return name.replace(" ", "-")


def for_people(text):
    """The sentence as commands and the page show it: its times in the zone of the schedules, here UTC."""
    return re.sub(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)(?:\.\d+)?Z",
                  lambda time: f"{time[1]} {time[2]}{'' if time[3] == ':00' else time[3]} UTC", text)


def disagreements(world, terminal, page, name):
    """What is not the same on each face, of one moment: nothing, or sentences."""
    rows = of_status(world)
    wrong = []

    def same(face, found, wanted):
        if found != wanted:
            wrong.append(f"{face}: {found!r} and not {wanted!r}")

    def holds(face, whole, part):
        if part not in whole:
            wrong.append(f"{face}: {part!r} is not in {whole!r}")

    bad = degraded(rows)
    worst = next(iter(rows.values())) if bad else None
    severity = worst["severity"] if worst else "ok"
    printed = world.sluice("status").stdout
    head = printed.splitlines()[1]
    screen = terminal.lines()
    shown = page.look(picture_name(name))
    same("exit code of --check", world.sluice("status", "--check", codes=(0, 2)).returncode, 2 if bad else 0)
    plugin = world.sluice("status", "--check=nagios", codes=(0, 1, 2))
    same("exit code of --check=nagios", plugin.returncode, {"ok": 0, "warning": 1, "critical": 2}[severity])
    same("metrics", degraded(of_metrics(world)), bad)
    same("alerts", of_alerts(world), bad)
    # A freeze is no green, though it degrades nothing.
    same("colour of the page's headline", shown["colour"], "note" if shown["word"] == "FROZEN" else severity)
    holds("first line of the status", head, shown["word"])
    holds("title of the page", shown["title"], shown["word"])
    same("the page is live", shown["link"], "live")
    same("conditions of the page", sorted(one["text"] for one in shown["conditions"]),
         sorted(for_people(row["text"]) for row in rows.values()))
    if worst:
        word = head.split("  ")[0]
        holds("first line of the status", head, for_people(worst["text"]))
        holds("status", printed, worst["advice"])
        holds("--check=nagios", plugin.stdout, for_people(worst["text"]))
        holds("--check=nagios", plugin.stdout, worst["advice"])
        holds("headline of the page", shown["sentence"], for_people(worst["text"]))
        same("advice of the page", shown["advice"], worst["advice"])
        # Its sentences are wrapped.
        words = " ".join(" ".join(screen).split())
        holds("terminal", words, f"{word.strip()} {for_people(worst['text'])}")
        holds("terminal", words, worst["advice"])
    for row in rows.values():
        if not any(one["text"] == for_people(row["text"]) and one["more"].startswith(row["advice"])
                   for one in shown["conditions"]):
            wrong.append(f"page: no advice for {row['text']!r}")
    same("lines of the terminal", len([line for line in screen if len(line) > 80]), 0)
    return wrong


def moment(faces, name, wanted, patience_s=PATIENCE_S, names=()):
    """Until the faces agree on what is wanted, and a picture of it."""
    world, terminal, page = faces
    try:
        within(patience_s, name, lambda: degraded(of_status(world)) == wanted)
        within(patience_s, name, lambda: of_alerts(world) == wanted)
    except AssertionError:
        tell(f"{name}: what holds", False, f"{degraded(of_status(world))}, {of_alerts(world)}, not {wanted}")
        return
    tell(f"{name}: {', '.join(sorted(key[0] for key in wanted)) or 'nothing'} is wrong", True)
    # The faces look one after the other, the world moves meanwhile, and a browser may be slow.
    begun = time.monotonic()
    while (wrong := disagreements(world, terminal, page, name)) and time.monotonic() < begun + AGREEMENT_S:
        time.sleep(0.5)
    if time.monotonic() > begun + 5:
        print(f"   after {time.monotonic() - begun:.0f} s", flush=True)
    tell(f"{name}: status, terminal, exit codes, metrics, alerts and page agree", not wrong, "; ".join(wrong))
    head = world.sluice("status").stdout.splitlines()[1]
    print(f"   {head}", flush=True)
    for part in names:
        tell(f"{name}: the first line names {part}", part in head, head)
    findings = page.look(f"{picture_name(name)} picture")["findings"]
    tell(f"{name}: axe-core finds nothing serious", not findings, findings)


def reclaim(world, nodes, reason):
    world.sluice("reclaim", "--to", "prod-a", "--nodes", str(nodes), "--reason", reason)


def still(world):
    return world.status()["live_transfers"] == 0


def night(faces):
    world = faces[0]
    moment(faces, "quiet", set())

    world.sluice("freeze", "--cluster", "research-a", "--for", "1h", "--reason", "upgrade")
    moment(faces, "a frozen cluster", set())
    world.sluice("unfreeze", "--cluster", "research-a")

    world.set_faults(stockout=1)
    reclaim(world, 2, "launch")
    moment(faces, "a stock-out", {("reclaim_blocked", "critical", "prod-a")}, 120, ["no machine"])
    world.set_faults()
    within(150, "the reclaimed nodes", lambda: still(world))
    moment(faces, "machines again", set())

    world.door.shut()
    moment(faces, "a dead cluster", {("cluster_unreachable", "critical", "research-a"),
                                     ("pool_stale", "critical", "research-a")}, 200, ["research-a"])
    world.door.reopen()
    moment(faces, "the cluster is back", set(), 120)

    world.set_faults(stuck_pod=1)
    reclaim(world, 1, "surge")
    moment(faces, "a stuck pod", {("reclaim_behind", "critical", "prod-a")}, 120, ["prod-a", "in step drain", "pod"])
    world.set_faults()
    within(240, "the end of the stuck pod", lambda: still(world))
    moment(faces, "the pod is gone", set())

    world.set_faults(never_joins=1)
    reclaim(world, 1, "failover")
    moment(faces, "a machine that never joins", {("reclaim_behind", "critical", "prod-a")}, 120,
           ["prod-a", "in step join"])
    world.set_faults()
    within(240, "another machine", lambda: still(world))
    moment(faces, "another machine came", set())

    world.sluice("freeze", "--for", "1h", "--reason", "incident")
    more = sum(row["nodes"] for row in world.status()["clusters"] if row["cluster"] == "prod-a") + 2
    world.schedule(more, more)
    world.sluice("apply")
    moment(faces, "frozen and short", {("production_short", "critical", "prod-a")}, 120, ["prod-a"])
    world.sluice("unfreeze")
    within(200, "the nodes that were lacking", lambda: still(world) and not degraded(of_status(world)))
    moment(faces, "the morning", set())


def main():
    build, packages, pictures = (os.path.abspath(word) for word in sys.argv[1:4])
    world = World(build, lead="{prior_p50: 10s, prior_p95: 20s}", drain="{notice: 5s, deadline: 60s, settle: 1s}",
                  join="{stable: 2s, deadline: 60s}")
    terminal = page = None
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(143))
    try:
        world.open(door_to="research-a")
        terminal = Terminal(world)
        page = Page(world, packages, pictures)
        night((world, terminal, page))
        tell("the referee saw no violation", world.report()["violations"] == [], world.report()["violations"])
    except Exception:  # pylint: disable=broad-except
        tell("played to its end", False, traceback.format_exc())
    finally:
        for face in (page, terminal):
            if face:
                face.close()
        for bad in world.close():
            tell("ends well", False, bad)
    if failures:
        print(f"   the logs are in {world.folder}", flush=True)
    else:
        world.forget()
    sys.exit(1 if failures else 0)


main()
