# SPDX-License-Identifier: Apache-2.0
"""Tables of bench_outcome.py, in Markdown, and which targets are kept.

Hours taken are GPU-hours of production, of transit and of evicted work, whatever the fleet's size.
Recovered is the share of what the windowed oracle saves of a reference's hours: static-peak's, or,
where that met less than nine tenths of its targets (or takes less than the oracle), those of
holding the peak of the weeks judged all the time (marked *)."""

REFERENCE_MET = 0.9
FLEET_SPARE = 1.2  # a fleet is this much over the peak of static-peak and of the oracle
GPUS_PER_NODE, WEEK_H = 8, 168
STATIC, ORACLE = "static-peak", "windowed-oracle"
PASTS = ("all", "4 weeks", "2 weeks")
HORIZONS = ("nightly", "weekly")
EIGHT_WEEKS_DAYS = 55

RECOVERED_TARGETS = {"nasa": {95: 91, 98: 89}, "tweets": {95: 78, 98: 51}}
NOT_NEGATIVE = ("serving",)
MET_TARGETS = {95: 94, 98: 97}
MET_COUNT = 200
EQUAL_POINTS = 2
COVERAGE = (0.87, 0.93)
COVERAGE_SHORT = (0.85, 0.97)
UPPER_OVER_NEED = 1.35
LOSS_OVER = 1.02


class Trace:
    """What was found of one trace."""

    def __init__(self, name, result, results):
        self.name, self.group, self.days = name, result["group"], result["days"]
        self.formula, self.runs, self.scores = result["formula"], result["runs"], result["scores"]
        self.baselines, self.ours = results["baselines"], results["ours"]
        self.parts = results["parts"]
        first = self.runs.get("after@95")
        self.is_played = bool(first and ORACLE in first["policies"])
        if self.is_played:
            self.weeks, self.oracle = first["weeks"], first["policies"][ORACLE]
            static = first["policies"][STATIC]
            self.peak_h = result["nodes"] / FLEET_SPARE * GPUS_PER_NODE * WEEK_H
            self.is_hindsight = (static["met"] < REFERENCE_MET
                                 or static["used"] <= self.oracle["used"])
            self.reference = self.peak_h * self.weeks if self.is_hindsight else static["used"]

    def row(self, run, policy):
        """None where it was not played; what rests on no attainment was played once."""
        if policy in (STATIC, ORACLE) and run.startswith("after"):
            run = "after@95"
        return self.runs.get(run, {}).get("policies", {}).get(policy)

    def recovered(self, used):
        return 100 * (self.reference - used) / (self.reference - self.oracle["used"])

    def as_run(self, run, policy):
        row = self.row(run, policy)
        return self.recovered(row["used"]) if row else None

    def at_equal(self, run, policy, attainment):
        return self.recovered_at(self.row(run, policy), attainment)

    def recovered_at(self, row, attainment):
        """Of what takes the fewest hours: the levels that meet so much, and the lines from these to
        a neighbour that does not (equal.h in windows/backtest)."""
        points = [(point["met"], point["used"]) for point in (row["frontier"] if row else ())]
        wanted = attainment / 100 - 1e-9
        used = [hours for met, hours in points if met >= wanted]
        for pair in zip(points, points[1:]):
            (under, less), (over, more) = sorted(pair)
            if under < wanted <= over:
                used.append(more + (over - wanted) / (over - under) * (less - more))
        return self.recovered(min(used)) if used else None

    def met(self, run, policy):
        row = self.row(run, policy)
        return 100 * row["met"] if row else None

    def held(self, policy):
        """Met and recovered in the second half, by the level that was best in the first."""
        row = self.row("after@95", policy)
        if not row or not row["held"]:
            return None
        reference, oracle = self.held_reference(), self.oracle["held"]["used"]
        share = (100 * (reference - row["held"]["used"]) / (reference - oracle)
                 if reference > oracle else None)
        return 100 * row["held"]["met"], share

    def held_reference(self):
        """Its hours in the second half; static-peak's are known at the level that was chosen."""
        if self.is_hindsight:
            return self.peak_h * (self.weeks // 2)
        static = self.runs["after@95"]["policies"][STATIC]
        at_level = next(point["used"] for point in static["frontier"]
                        if point["level"] == static["held"]["level"])
        return static["held"]["used"] * static["used"] / at_level


def number(value, sign=False):
    return "-" if value is None else f"{value:+.1f}" if sign else f"{value:.1f}"


def table(titles, rows):
    print("| " + " | ".join(titles) + " |")
    print("|" + "---|" * len(titles))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def policy_rows(trace):
    for policy in (*trace.baselines, *trace.ours, ORACLE):
        row = trace.row("after@95", policy)
        if not row:
            continue
        held = trace.held(policy) if policy != ORACLE else None
        cells = [f"**{policy}**" if policy in trace.ours else policy]
        for attainment in (95, 98):
            run = f"after@{attainment}"
            has_run = run in trace.runs
            cells += [number(trace.met(run, policy) if has_run else None),
                      number(trace.as_run(run, policy) if has_run else None),
                      number(trace.at_equal(run, policy, attainment) if has_run else None)]
        cells += [number(100 * (row["used"] / trace.oracle["used"] - 1), True),
                  f"{row['moves']:.0f}",
                  f"{number(held[0])}, {number(held[1])}" if held else ""]
        yield cells


def show_policies(traces):
    titles = ["policy", "met %", "recovered %", "at equal 95 %", "met %, 98 asked", "recovered %",
              "at equal 98 %", "hours over the oracle's, %", "moves a week",
              "held out: met %, recovered %"]
    for trace in traces:
        if trace.is_played:
            count = trace.row("after@95", ORACLE)["count"]
            print(f"**{trace.name}**{'*' if trace.is_hindsight else ''}: {trace.formula}; "
                  f"{trace.weeks} weeks judged, {count} occurrences of windows\n")
            table(titles, policy_rows(trace))


def change(before, after):
    return f"{number(before)} → {number(after)}"


def show_before(traces, of_run, title):
    """of_run(trace, attainment): the run before, as a trace and the run's name, or None."""
    rows = []
    for trace in traces:
        for policy in trace.ours if trace.is_played else ():
            cells = [trace.name, policy]
            for attainment in (95, 98):
                run = f"after@{attainment}"
                old = of_run(trace, attainment)
                old_row = old[0].row(old[1], policy) if old else None
                if not old_row or run not in trace.runs:
                    cells += ["-"] * 3
                    continue
                cells += [change(100 * old_row["met"], trace.met(run, policy)),
                          change(trace.recovered(old_row["used"]), trace.as_run(run, policy)),
                          change(trace.recovered_at(old_row, attainment),
                                 trace.at_equal(run, policy, attainment))]
            if cells[2:] != ["-"] * 6:
                rows.append(cells)
    if rows:
        print(f"### {title}\n")
        table(["trace", "policy", "met %", "recovered %", "at equal 95 %", "met %, 98 asked",
               "recovered %", "at equal 98 %"], rows)


def worth(trace, policy, part):
    """Points that a part gains: at equal 95 %, at equal 98 %, met; None where one is unknown."""
    after, without = "after@95", f"-{part}@95"
    if not trace.is_played or not trace.row(without, policy):
        return None
    pairs = [(trace.at_equal(run, policy, 95), trace.at_equal(run, policy, 98),
              trace.met(run, policy)) for run in (after, without)]
    return [None if None in pair else pair[0] - pair[1] for pair in zip(*pairs)]


def mean(values):
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def worth_cell(points):
    return " ".join(number(point, True) for point in points) if points else "-"


def show_parts(traces, parts, ours):
    for policy in ours:
        found = {trace.name: [worth(trace, policy, part) for part in parts] for trace in traces}
        found = {name: points for name, points in found.items() if any(points)}
        if not found:
            continue
        print(f"### What each part is worth, {policy}\n\nPoints gained by having it: recovered "
              "at equal 95 %, at equal 98 %, met % (95 asked).\n")
        rows = [[name, *map(worth_cell, points)] for name, points in found.items()]
        means = [[mean(values) for values in zip(*(points[at] for points in found.values()
                                                   if points[at]))] for at in range(len(parts))]
        table(["trace", *parts], [*rows, ["**mean**", *map(worth_cell, means)]])


def score_cells(score):
    if not score or not score["days"]:
        return ["0", "-", "-", "-"]
    ratio = score.get("upper_over_need")
    ten = score["loss_last_week_10"]
    return [str(score["days"]), f"{100 * score['coverage']:.1f}",
            "-" if ratio is None else f"{ratio:.2f}",
            f"{score['loss']:.3f} / {ten:.3f} ({100 * (score['loss'] / ten - 1):+.0f} %)"
            if ten else f"{score['loss']:.3f} / -"]


def show_score_parts(traces, parts):
    rows = []
    for trace in traces:
        for past in PASTS:
            cells = []
            for part in parts:
                for name in HORIZONS:
                    score = trace.scores.get(f"after {past} {name}")
                    without = trace.scores.get(f"-{part} {past} {name}")
                    if not score or not without or not score["loss"] or not without["loss"]:
                        cells.append("-")
                        continue
                    cells.append(f"{100 * (score['loss'] / without['loss'] - 1):+.1f} % "
                                 f"{100 * (score['coverage'] - without['coverage']):+.1f}")
            if set(cells) - {"-"}:
                rows.append([trace.name, past, *cells])
    if rows:
        print("### What each part is worth to the forecast\n\nBy having it: change of the pinball "
              "loss (less is better), points of coverage.\n")
        table(["trace", "past", *(f"{part}, {name}" for part in parts for name in HORIZONS)], rows)


def show_scores(traces, old):
    rows = []
    for trace in traces:
        earlier = old[trace.name].scores if trace.name in old else {}
        for past in PASTS:
            for scores, label, note in ((trace.scores, "after", ""),
                                        (trace.scores, "before", ", before"),
                                        (earlier, "after", ", the earlier run")):
                found = [scores.get(f"{label} {past} {name}") for name in HORIZONS]
                if any(found):
                    rows.append([trace.name, past + note, *score_cells(found[0]),
                                 *score_cells(found[1])])
    if rows:
        print("### How sure the forecast is\n\nOf the bound that nine days in ten stay under; loss "
              "is the pinball loss, beside that of last week and a tenth more.\n")
        one = ["covered %", "upper/need", "loss / last week + 10 %"]
        table(["trace", "past", "nightly: days", *one, "weekly: days", *one], rows)


class Target:
    def __init__(self, text):
        self.text, self.checked, self.missed, self.by_chance = text, 0, [], 0

    def check(self, name, found, least=None, most=None, unit="", interval=None):
        """found: None when it cannot be reached at all.  interval: in which the truth may lie."""
        self.checked += 1
        if found is None:
            self.missed.append(f"{name}: not reached")
            return
        if least is not None and found < least:
            said = f"{name}: {found:.3g}{unit}, short by {least - found:.2g}"
        elif most is not None and found > most:
            said = f"{name}: {found:.3g}{unit}, over by {found - most:.2g}"
        else:
            return
        if interval and interval[1] >= least and interval[0] <= most:
            self.by_chance += 1
            said += ", may be chance"
        self.missed.append(said)

    def show(self):
        chance = f", {self.by_chance} of them perhaps by chance" if self.by_chance else ""
        if not self.checked:
            verdict = "not measured"
        elif not self.missed:
            verdict = f"kept ({self.checked} of {self.checked})"
        else:
            verdict = f"MISSED ({len(self.missed)} of {self.checked}{chance})"
        print(f"- {self.text}: {verdict}")
        for line in self.missed:
            print(f"  - {line}")


def best(trace, names, attainment):
    """The name and share of what recovers most at equal attainment; None, None."""
    found = [(trace.at_equal(f"after@{attainment}", name, attainment), name) for name in names]
    found = [pair for pair in found if pair[0] is not None]
    return max(found)[::-1] if found else (None, None)


def recovered_targets(traces):
    for trace in traces:
        for attainment, least in RECOVERED_TARGETS.get(trace.name, {}).items():
            follow = trace.ours[-1]
            target = Target(f"{trace.name}: at least {least} % recovered at {attainment} % met, "
                            f"{follow}")
            if trace.is_played and f"after@{attainment}" in trace.runs:
                target.check(follow, trace.at_equal(f"after@{attainment}", follow, attainment),
                             least=least, unit=" %")
            yield target
        if trace.name in NOT_NEGATIVE:
            target = Target(f"{trace.name}: nothing recovered is negative, as run")
            for policy in trace.ours if trace.is_played else ():
                target.check(policy, trace.as_run("after@95", policy), least=0, unit=" %")
            yield target


def baseline_target(traces):
    target = Target(f"generated: no baseline is better than the best of ours by over "
                    f"{EQUAL_POINTS} points at equal attainment")
    for trace in traces:
        for attainment in (95, 98):
            if trace.group != "generated" or f"after@{attainment}" not in trace.runs:
                continue
            rival, theirs = best(trace, trace.baselines, attainment)
            mine, ours = best(trace, trace.ours, attainment)
            name = f"{trace.name}, {attainment} % ({rival} over {mine})"
            if ours is None and theirs is not None:
                target.check(name, None)
            else:
                target.check(name, theirs - ours if rival else 0, most=EQUAL_POINTS, unit=" points")
    return target


def met_target(traces, attainment):
    target = Target(f"asked for {attainment} % met: at least {MET_TARGETS[attainment]} % on rows "
                    f"of {MET_COUNT} occurrences or more")
    run = f"after@{attainment}"
    for trace in traces:
        for policy in trace.ours if run in trace.runs else ():
            row = trace.row(run, policy)
            if row and row["count"] >= MET_COUNT:
                target.check(f"{trace.name}, {policy}", 100 * row["met"],
                             least=MET_TARGETS[attainment], unit=" %")
    return target


def score_targets(traces):
    usual = Target("coverage of the 90 % bound between 87 and 93 %, eight weeks or more")
    short = Target("coverage between 85 and 97 % with two to four weeks")
    upper = Target(f"upper/need under {UPPER_OVER_NEED} with two to four weeks")
    loss = Target("pinball loss at most 2 % over that of last week and a tenth more")
    for trace in traces:
        for key, score in sorted(trace.scores.items()):
            label, *past, horizon = key.split(" ")
            past = " ".join(past)
            if label != "after" or not score["days"]:
                continue
            is_long = past == "all" and trace.days >= EIGHT_WEEKS_DAYS
            low, high = COVERAGE if is_long else COVERAGE_SHORT
            name = f"{trace.name}, {horizon}, {past} ({score['days']} days)"
            interval = 100 * score["coverage_low"], 100 * score["coverage_high"]
            (usual if is_long else short).check(name, 100 * score["coverage"], 100 * low,
                                                100 * high, " %", interval)
            if not is_long and score.get("upper_over_need"):
                upper.check(name, score["upper_over_need"], most=UPPER_OVER_NEED)
            if past == "all" and score["loss_last_week_10"]:
                loss.check(name, score["loss"] / score["loss_last_week_10"], most=LOSS_OVER)
    return [usual, short, upper, loss]


def show(results, earlier):
    traces = [Trace(name, result, results) for name, result in results["traces"].items()]
    old = {name: Trace(name, result, earlier)
           for name, result in (earlier or {"traces": {}})["traces"].items()}
    for group in ("recorded", "generated"):
        members = [trace for trace in traces if trace.group == group]
        if not members:
            continue
        print(f"## {group.capitalize()} traces\n")
        show_policies(members)
        show_before(members, lambda trace, attainment: (trace, f"before@{attainment}"),
                    "Before: without " + ", ".join(results["parts"]))
        show_before(members, lambda trace, attainment:
                    (old[trace.name], f"after@{attainment}") if trace.name in old else None,
                    f"Before: the run of {earlier['made']}" if earlier else "")
        show_parts(members, results["parts"], results["ours"])
        show_scores(members, old)
        show_score_parts(members, results["parts"])
    print("## Targets\n")
    for target in (*recovered_targets(traces), baseline_target(traces), met_target(traces, 95),
                   met_target(traces, 98), *score_targets(traces)):
        target.show()
    print(f"\n{results['made']}, {results['seconds']} s.")
    for failure in results["failed"]:
        print(f"failed: {failure}")
