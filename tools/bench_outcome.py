# SPDX-License-Identifier: Apache-2.0
"""bench_outcome.py: what plans are worth on recorded and generated demand, policy by policy and
part by part.  Plays `sluice backtest` and `sluice forecast --score`, and prints tables in Markdown
(bench_outcome_tables.py).  See tools/bench."""
import argparse
import concurrent.futures
import datetime
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import bench_outcome_tables
import bench_traces

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BASELINES = ["static-peak", "proportional", "square-root", "reactive", "deckard"]
OURS = ["sluice", "sluice-daily", "sluice-follow"]
ORACLE = "windowed-oracle"
ATTAINMENTS = (95, 98)
HORIZONS = {"nightly": 1, "weekly": 7}
PASTS = {"all": None, "4 weeks": 28, "2 weeks": 14}
RUN_MAX_S = 600  # of one run; what takes longer hangs
TASKS = ("after", "before", "parts", "scores")

CONFIG = """\
time_zone: {zone}
clusters:
  prod: {{role: production, kubeconfig: prod.kubeconfig}}
  research: {{role: research, kubeconfig: research.kubeconfig}}
reservations:
  east: {{machine: a3-megagpu-8g, region: us-east5, zone: us-east5-a, gpus_per_node: 8, nodes: 64}}
providers:
  google: {{kind: gcp, endpoint: 'http://127.0.0.1:1/gcp', metadata: 'http://127.0.0.1:1/gcp'}}
pools:
  prod-east: {{cluster: prod, reservation: east, provider: google, project: p, group: prod-east,
              static_nodes: 1}}
  research-east: {{cluster: research, reservation: east, provider: google, project: p,
                  group: research-east, static_nodes: 1}}
"""


class Recorded:
    """A trace of a folder, with the options that windows/README.md plays it with.  Forecasts are
    scored on its arrivals times `scale`."""

    def __init__(self, name, file, options, service="30s", zone="UTC", gaps=False, learn=2,
                 scale=1):
        self.name, self.file, self.options, self.service = name, file, options, service
        self.zone, self.gaps, self.learn, self.scale = zone, gaps, learn, scale
        self.formula, self.holidays = file, []

    def prepare(self, traces, folder):
        source = os.path.join(traces, self.file)
        path = os.path.join(folder, self.file.removesuffix(".gz"))
        with gzip.open(source, "rb") as packed, open(path, "wb") as plain:
            shutil.copyfileobj(packed, plain)
        return path


RECORDED = (
    Recorded("nasa", "arrivals_nasa_http_1min.csv.gz",
             ["--missing", "zero", "--load", "40"],
             zone="America/New_York", gaps=True),
    Recorded("tweets", "arrivals_nab_twitter10_5min.csv.gz",
             ["--missing", "zero", "--load", "10"]),
    # 16,000 servers: a replay of a day's requests takes minutes.  Scaled, they are 40.
    Recorded("serving", "arrivals_servegen_msmall_10min.csv.gz", ["--load", "40"],
             service="20s", learn=1, scale=0.0025),
    Recorded("elb", "arrivals_nab_elb_5min.csv.gz",
             ["--missing", "zero", "--load", "10"], gaps=True, learn=1),
)


def as_recorded(trace):
    """A generated trace with what a recorded one has."""
    trace.options = []
    trace.service, trace.zone = bench_traces.SERVICE, "UTC"
    trace.gaps, trace.scale = False, 1
    return trace


class Failure(RuntimeError):
    """sluice ended with an error: its last line."""


class Program:
    def __init__(self, path):
        self.path, self.running = path, set()

    def json(self, *words):
        with subprocess.Popen([self.path, *words, "-o", "json"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as run:
            self.running.add(run)
            try:
                out, said = run.communicate(timeout=RUN_MAX_S)
            except subprocess.TimeoutExpired as late:
                run.kill()
                raise Failure(f"not done after {RUN_MAX_S} s") from late
            finally:
                self.running.discard(run)
        if run.returncode:
            lines = said.decode(errors="replace").strip().splitlines()
            raise Failure(lines[0] if lines else f"exit code {run.returncode}")
        return json.loads(out)

    def stop_with(self, folder):
        """A signal that ends this bench ends its runs too, and leaves no files of it."""
        def stop(number, _):
            for run in list(self.running):
                run.kill()
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(128 + number)

        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)

    def known(self, *words):
        """The names of which one is asked for; none where there is no such option."""
        try:
            self.json(*words)
        except Failure as failure:
            names = re.search(r"\bknown\b[^,]*?(?:are|:) (.+)$", str(failure))
            return names[1].rstrip(".").split(", ") if names else []
        return []


class Abilities:
    """Which policies and parts this program has: it says so where a name is unknown."""

    def __init__(self, program, parts):
        ask = ["--demand", "none.csv", "--service", "60s"]
        self.policies = program.known("backtest", *ask, "--policy", "?")
        if not self.policies:
            raise SystemExit("tools/bench: outcome needs `sluice backtest --policy`")
        self.ours = [name for name in OURS if name in self.policies]
        known = program.known("backtest", *ask, "--without", "?")
        for part in parts or ():
            if part not in known:
                say(f"part {part}: skipped, this sluice has {', '.join(known) or 'none'}")
        self.parts = [part for part in known if parts is None or part in parts]
        scored = program.known("forecast", *ask, "--without", "?")
        self.scores_without = [part for part in self.parts if part in scored]

    def only(self, names):
        return ["--policy", ",".join(name for name in names if name in self.policies)]


def say(line):
    print(line, file=sys.stderr, flush=True)


def day_of(row):
    return datetime.datetime.strptime(row[:10], "%Y-%m-%d")


class Demand:
    """A CSV of arrivals, its rows in any order; whole, or its first days alone."""

    def __init__(self, path, rows):
        self.path, self.rows = path, rows
        self.queues = sorted({row.split(",")[1] for row in rows})
        self.first, self.last = day_of(min(rows)), day_of(max(rows))
        self.days = (self.last - self.first).days + 1

    @classmethod
    def read(cls, path):
        with open(path, encoding="utf-8") as file:
            file.readline()
            return cls(path, file.readlines())

    def shortened(self, days):
        """Written beside it; None: it has no more days than these."""
        if days >= self.days:
            return None
        end = (self.first + datetime.timedelta(days=days)).strftime("%Y-%m-%d")
        short = Demand(f"{self.path.removesuffix('.csv')}.{days}d.csv",
                       [row for row in self.rows if row[:10] < end])
        with open(short.path, "w", encoding="utf-8") as file:
            file.write("minute_utc_iso,queue,count\n")
            file.writelines(short.rows)
        return short


def write_config(trace, path, queues):
    with open(path, "w", encoding="utf-8") as file:
        file.write(CONFIG.format(zone=trace.zone))
        if trace.holidays:
            days = ", ".join(f"{day}: sunday" for day in trace.holidays)
            file.write(f"holidays: {{{days}}}\n")
        file.write("queues:\n")
        for queue in queues:
            file.write(f"  {queue}: {{wait_target: 30s, service: {trace.service}, "
                       f"scale_up: {trace.scale}}}\n")
        file.write("workloads:\n")
        for i, queue in enumerate(queues):
            file.write(f"  w{i}: {{queue: {queue}, namespace: serving, gpus: 1, "
                       "clusters: {prod: {}}}\n")


class Stage:
    """One trace as files: its demand whole and cut short, each with a configuration."""

    def __init__(self, trace, args, folder):
        self.trace = trace
        if trace in RECORDED:
            self.group, path = "recorded", trace.prepare(args.traces, folder)
        else:
            self.group, path = "generated", os.path.join(folder, trace.name + ".csv")
            trace.write(path)
        whole = Demand.read(path)
        self.queues, self.days = whole.queues, whole.days
        self.files = {}  # of each past: its demand and its configuration
        for past, days in PASTS.items():
            demand = whole.shortened(days) if days else whole
            if demand:
                config = demand.path.removesuffix(".csv") + ".yaml"
                write_config(trace, config, demand.queues)
                self.files[past] = demand.path, config
        self.demand, self.config = self.files["all"]
        self.given = ["--missing", "zero"] if "--missing" in trace.options else []
        if trace.gaps:
            self.given += ["--gaps", os.path.join(args.traces, "gaps.csv")]

    def backtest(self, attainment, policies, without=(), nodes=None, windows=None):
        trace = self.trace
        options = [word for word in trace.options if word not in ("--missing", "zero")]
        words = ["backtest", "--demand", self.demand, *self.given, *options,
                 "--learn", str(trace.learn), "--attainment", str(attainment), "--threads", "1",
                 *policies]
        words += (["--config", self.config] if trace.holidays
                  else ["--service", trace.service, "--time-zone", trace.zone])
        if without:
            words += ["--without", ",".join(without)]
        if windows or trace.holidays:
            words += ["--plan-windows", windows or "auto"]
        return words + (["--nodes", str(nodes)] if nodes else [])

    def score(self, past, horizon, without=()):
        demand, config = self.files[past]
        words = ["forecast", "--demand", demand, *self.given, "--config", config, "--score",
                 "--horizon", str(horizon)]
        return words + (["--without", ",".join(without)] if without else [])


def short_policy(row):
    """What the tables need of a policy's row; `used` does not depend on the fleet's size."""
    def of(measure):
        return {"met": measure["attainment"], "count": measure["occurrences"],
                "used": measure["production_h"] + measure["transit_h"] + measure["evicted_h"],
                "moves": measure["moves_per_week"]}

    held = row.get("held_out")
    return {**of(row["measure"]),
            "frontier": [{"level": point["level"], **of(point["measure"])}
                         for point in row["frontier"]],
            "held": {"level": held["level"], **of(held["measure"])} if held else None}


def windows_of(answer):
    """The windows that the run planned by, as an option says it; None: an old sluice."""
    planned = answer.get("plan_windows")
    if not planned:
        return None
    return str(planned["windows"]) if planned["proposed"] else "judged"


def short_run(answer):
    return {"weeks": answer["weeks"], "nodes": answer["nodes"], "windows": windows_of(answer),
            "policies": {row["policy"]: short_policy(row) for row in answer["policies"]}}


class Jobs:
    """Runs of sluice side by side, each with a line of progress; failures are kept for the end.
    What is found is stored after each run: a bench that is stopped has its tables, too."""

    def __init__(self, program, count, results, path):
        self.program, self.count, self.results, self.path = program, count, results, path
        self.lock, self.done, self.began = threading.Lock(), 0, time.time()

    def play(self, jobs):
        """jobs: (name, words, what to do with the answer), the longest first."""
        total = self.done + len(jobs)

        def one(job):
            name, words, keep = job
            began = time.time()
            answer, failed = None, None
            try:
                answer = self.program.json(*words)
            except Failure as failure:
                failed = failure
            with self.lock:
                if failed:
                    self.results["failed"].append(f"{name}: {failed}: sluice {' '.join(words)}")
                else:
                    keep(answer)
                self.done += 1
                self.store()
                took = f"failed: {failed}" if failed else f"{time.time() - began:.1f} s"
                say(f"[{self.done}/{total}] {name}: {took}")

        with concurrent.futures.ThreadPoolExecutor(self.count) as pool:
            list(pool.map(one, jobs))

    def store(self):
        self.results["seconds"] = round(time.time() - self.began)
        if self.path:
            with open(self.path + ".new", "w", encoding="utf-8") as file:
                json.dump(self.results, file)
            os.replace(self.path + ".new", self.path)


def first_jobs(stages, able, results):
    """The runs that say how large each fleet is, and what static-peak and the oracle take."""
    def keep(name):
        def kept(answer):
            results[name]["runs"]["after@95"] = short_run(answer)
            results[name]["nodes"] = answer["nodes"]
        return kept

    return [(f"{stage.trace.name} after@95",
             stage.backtest(95, able.only([*BASELINES, *able.ours, ORACLE])),
             keep(stage.trace.name)) for stage in stages]


def run_job(stage, results, label, words):
    runs = results[stage.trace.name]["runs"]
    return (f"{stage.trace.name} {label}", words,
            lambda answer: runs.update({label: short_run(answer)}))


def safer_jobs(stages, able, results, tasks):
    """All policies once more, for 98 %."""
    return [run_job(stage, results, "after@98",
                    stage.backtest(98, able.only([*BASELINES[1:], *able.ours]),
                                   nodes=results[stage.trace.name]["nodes"]))
            for stage in stages if "after" in tasks and results[stage.trace.name]["nodes"]]


def less_jobs(stages, able, results, tasks):
    """Runs that leave parts out, with the windows of the run that has them all."""
    jobs = []

    def add(stage, label, attainment, without):
        result = results[stage.trace.name]
        whole = result["runs"].get(f"after@{attainment}") or result["runs"].get("after@95")
        if whole and result["nodes"]:
            jobs.append(run_job(stage, results, label,
                                stage.backtest(attainment, able.only(able.ours), without,
                                               result["nodes"], whole.get("windows"))))

    for stage in stages if "before" in tasks and able.parts else ():
        for attainment in ATTAINMENTS:
            add(stage, f"before@{attainment}", attainment, able.parts)
    for stage in stages if "parts" in tasks else ():
        for part in able.parts:
            add(stage, f"-{part}@95", 95, [part])
    return jobs


def score_jobs(stages, able, results, tasks):
    jobs = []

    def add(stage, past, name, label, without=()):
        result = results[stage.trace.name]
        jobs.append((f"{stage.trace.name} {label} {past} {name}",
                     stage.score(past, HORIZONS[name], without),
                     lambda answer: result["scores"].update(
                         {f"{label} {past} {name}": answer["score"]})))

    for stage in stages if "scores" in tasks else ():
        for past in stage.files:
            for name in HORIZONS:
                add(stage, past, name, "after")
                if "before" in tasks and able.scores_without:
                    add(stage, past, name, "before", able.scores_without)
                for part in able.scores_without if "parts" in tasks else ():
                    add(stage, past, name, f"-{part}", [part])
    return jobs


def play(args, folder):
    program = Program(args.sluice)
    program.stop_with(folder)
    able = Abilities(program, args.parts)
    chosen = [trace for trace in [*(RECORDED if args.traces else ()),
                                  *map(as_recorded, bench_traces.GENERATED)]
              if not args.only or trace.name in args.only]
    stages = [Stage(trace, args, folder) for trace in chosen]
    traces = {stage.trace.name: {"group": stage.group, "formula": stage.trace.formula,
                                 "days": stage.days, "nodes": None, "runs": {}, "scores": {}}
              for stage in stages}
    made = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    results = {"made": made, "seconds": 0, "baselines": BASELINES, "ours": able.ours,
               "parts": able.parts, "traces": traces, "failed": []}
    jobs = Jobs(program, args.jobs, results, args.store)
    # The tweets take longest: a long run that begins last has nothing beside it.
    stages.sort(key=lambda stage: -len(stage.queues))
    if {"after", "before", "parts"} & set(args.tasks):
        jobs.play(first_jobs(stages, able, traces))
    jobs.play(safer_jobs(stages, able, traces, args.tasks)
              + score_jobs(stages, able, traces, args.tasks))
    jobs.play(less_jobs(stages, able, traces, args.tasks))
    return results


def words_of(text):
    return [word for word in text.split(",") if word]


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(64, f"{self.prog}: {message}\n")


def read_args():
    parser = Parser(prog="tools/bench outcome", add_help=False, allow_abbrev=False)
    parser.add_argument("--traces")
    parser.add_argument("--only", type=words_of, default=[])
    parser.add_argument("--parts", type=words_of)
    parser.add_argument("--do", dest="tasks", type=words_of, default=list(TASKS))
    parser.add_argument("--store")
    parser.add_argument("--from", dest="stored")
    parser.add_argument("--before")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sluice", default=os.path.join(ROOT, "build/release/sluice"))
    args = parser.parse_args()
    known = [trace.name for trace in (*RECORDED, *bench_traces.GENERATED)]
    for name in args.only:
        if name not in known:
            parser.error(f"--only: no trace \"{name}\"; traces: {', '.join(known)}")
    for task in args.tasks:
        if task not in TASKS:
            parser.error(f"--do: no task \"{task}\"; tasks: {', '.join(TASKS)}")
    if not args.traces and {trace.name for trace in RECORDED} & set(args.only):
        parser.error("--only: recorded traces require --traces DIR")
    return args


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    args = read_args()
    if args.stored:
        results = read_json(args.stored)
    else:
        with tempfile.TemporaryDirectory(prefix="sluice-outcome-") as folder:
            results = play(args, folder)
    bench_outcome_tables.show(results, read_json(args.before) if args.before else None)
    return 1 if results["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
