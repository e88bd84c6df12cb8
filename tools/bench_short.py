# SPDX-License-Identifier: Apache-2.0
"""bench_short.py: what plans are worth on recorded demand while little of it is known.  Each week
of each queue of a folder's traces is judged once, planned from the one to four weeks before it
alone.  See tools/bench."""
import argparse
import concurrent.futures
import csv
import datetime
import gzip
import os
import sys
import tempfile

from bench_outcome import BASELINES, ORACLE, OURS, ROOT, Failure, Program, say

PASTS = (1, 2, 3, 4)  # weeks
WANTED = (90, 95, 98)
FORM = "%Y-%m-%dT%H:%M:%SZ"
PHILLY_FIRST = "2017-10-02"  # a Monday; before it hardly any job was submitted


class Recorded:
    """A table of arrivals, with the step of its rows and how it is served."""

    def __init__(self, file, step_min, options):
        self.file, self.step_min, self.options = file, step_min, options

    def queues(self, folder):
        found = {}
        with gzip.open(os.path.join(folder, self.file), "rt", encoding="utf-8") as file:
            for time, queue, count in list(csv.reader(file))[1:]:
                found.setdefault(queue, {})[time] = count
        return found


class Jobs(Recorded):
    """A table of jobs: their submissions are counted in steps of ten minutes."""

    def queues(self, folder):
        counts = {}
        with gzip.open(os.path.join(folder, self.file), "rt", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                step = row["submit_local_iso"][:15] + "0:00Z"
                if step >= PHILLY_FIRST:
                    counts[step] = counts.get(step, 0) + 1
        return {"jobs": counts}


def served(load, service="30s", target="30s"):
    return ["--missing", "zero", "--load", str(load), "--service", service, "--wait-target", target]


TRACES = {
    "tweets": Recorded("arrivals_nab_twitter10_5min.csv.gz", 5, served(10)),
    "web": Recorded("arrivals_nasa_http_1min.csv.gz", 1, served(40)),
    "elb": Recorded("arrivals_nab_elb_5min.csv.gz", 5, served(10)),
    "serving": Recorded("arrivals_servegen_msmall_10min.csv.gz", 10, served(40, "20s")),
    "jobs": Jobs("jobs_philly_2017.csv.gz", 10, served(10, "10m", "5m")),
}
GROUPS = {"ten queues of tweets": ("tweets",), "the others": ("web", "elb", "serving", "jobs")}


def cut(trace, rows, past, week, path):
    """Writes the rows of a week and of the weeks before it; False: the trace ends before that."""
    first = datetime.datetime.strptime(min(rows)[:10], "%Y-%m-%d")
    step = datetime.timedelta(minutes=trace.step_min)
    queue = trace.file.removeprefix("arrivals_").partition(".")[0]  # as gaps.csv names it
    begin = first + datetime.timedelta(weeks=week)
    end = begin + datetime.timedelta(weeks=past + 1)
    if end.strftime(FORM) > (datetime.datetime.strptime(max(rows), FORM) + step).strftime(FORM):
        return False
    edges = {begin.strftime(FORM): "0", (end - step).strftime(FORM): "0"}
    with open(path, "w", encoding="utf-8") as file:
        file.write("minute_utc_iso,queue,count\n")
        for time, count in sorted({**edges, **rows}.items()):
            if begin.strftime(FORM) <= time < end.strftime(FORM):
                file.write(f"{time},{queue},{count}\n")
    return True


def list_runs(args, folder):
    """(trace, past, name, words) of each run."""
    runs = []
    for name, trace in TRACES.items():
        for queue, rows in trace.queues(args.traces).items():
            for past in PASTS:
                week = 0
                while cut(trace, rows, past, week,
                          path := os.path.join(folder, f"{name}-{queue}-{past}-{week}.csv")):
                    words = ["backtest", "--demand", path, *trace.options, "--learn", str(past),
                             "--origins", "1", "--threads", "1", "--policy",
                             ",".join([*BASELINES, *OURS, ORACLE])]
                    if os.path.exists(gaps := os.path.join(args.traces, "gaps.csv")):
                        words += ["--gaps", gaps]
                    runs.append((name, past, f"{queue}, {past} weeks from week {week}", words))
                    week += 1
    return runs


def taken(point):
    measure = point["measure"]
    return measure["production_h"] + measure["transit_h"] + measure["evicted_h"]


def points_of(answers, policy):
    """Of each level over all runs: the asked misses or the parameter, met %, and the hours saved in
    % of static-peak's."""
    points = []
    for level in range(len(answers[0][policy]["frontier"])):
        met = count = saved = 0
        for answer in answers:
            point = answer[policy]["frontier"][level]
            static = [taken(of) for of in answer["static-peak"]["frontier"] if of["level"] == 1]
            met += point["measure"]["occurrences_met"]
            count += point["measure"]["occurrences"]
            saved += 1 - taken(point) / static[0]
        points.append((point["level"], 100 * met / count, 100 * saved / len(answers)))
    return points


def saved_at(points, wanted):
    """The best that meets so much, or a mix of it with one that meets less; None: none does."""
    safe = [point for point in points if point[1] >= wanted]
    bold = [point for point in points if point[1] < wanted]
    mixes = [(a[2] * (wanted - b[1]) + b[2] * (a[1] - wanted)) / (a[1] - b[1])
             for a in safe for b in bold]
    return max([point[2] for point in safe] + mixes, default=None)


def show(group, past, answers):
    count = sum(a[ORACLE]["measure"]["occurrences"] for a in answers)
    print(f"\n**{group}, planned from {past} week{'s' if past > 1 else ''}**: {len(answers)} runs, "
          f"{count} occurrences.  Hours saved, in % of those of static-peak, where so many % of "
          "targets were met; and as run for 95 %\n")
    print("| policy |" + "".join(f" {wanted} % |" for wanted in WANTED) + " met %, saved % |")
    print("|---|" + "---|" * (len(WANTED) + 1))
    for policy in [*BASELINES, *OURS, ORACLE]:
        points = points_of(answers, policy)
        cells = [saved_at(points, wanted) for wanted in WANTED]
        used = sum(taken(answer[policy]) / taken(answer["static-peak"]) for answer in answers)
        met = sum(answer[policy]["measure"]["occurrences_met"] for answer in answers)
        print(f"| {policy} |" + "".join(f" {'-' if c is None else f'{c:.1f}'} |" for c in cells)
              + f" {100 * met / count:.1f}, {100 * (1 - used / len(answers)):.1f} |")


def main():
    parser = argparse.ArgumentParser(prog="tools/bench short", add_help=False, allow_abbrev=False)
    parser.add_argument("--traces", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sluice", default=os.path.join(ROOT, "build/release/sluice"))
    args = parser.parse_args()
    program = Program(args.sluice)
    answers, failed = {}, []

    def play(run):
        name, past, label, words = run
        try:
            answer = program.json(*words)
        except Failure as failure:
            failed.append(f"{name} {label}: {failure}")
            return
        answers.setdefault((name, past), []).append(
            {row["policy"]: row for row in answer["policies"]})
        say(f"{name} {label}")

    with tempfile.TemporaryDirectory(prefix="sluice-short-") as folder:
        program.stop_with(folder)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(play, list_runs(args, folder)))
    for group, names in GROUPS.items():
        for past in PASTS:
            show(group, past, [a for name in names for a in answers.get((name, past), [])])
    for line in failed:
        print(f"failed: {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
