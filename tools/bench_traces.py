# SPDX-License-Identifier: Apache-2.0
"""The generated demand traces of bench_outcome.py: each is a formula and a seed, and the same bytes
on every machine.

A trace has counts of steps of five minutes from Monday, 5 January 2026, UTC.  With t in days since
then, a step's count is a Poisson number around

    200 * day(t) * week(t) * event(t) * exp(noise(day))

day    1 + a cos(2 pi (hour - 15) / 24) + 0.15 cos(4 pi (hour - 13) / 24), a = 0.6 (0.4 at weekends)
week   1.12 from Monday to Friday, 0.75 on Saturday, 0.65 on Sunday: 1 on average
event  what the trace is about (`formula` of each below); 1 where nothing is said
noise  of a day: AR(1) with coefficient 0.6 and a standard deviation of 0.05, unless it is said

200 arrivals in five minutes, at a minute of service, are a mean load of 40 servers.  In batches of
mean size m (geometric), the variance of a count is 2 m - 1 times its mean: its peakedness."""
import datetime
import math
import random

START = datetime.datetime(2026, 1, 5)
STEP_MIN = 5
STEPS_A_DAY = 24 * 60 // STEP_MIN
BASE = 200.0
SERVICE = "60s"


class Draw:
    """Random numbers that rest on random() alone, which Python keeps the same for a seed."""

    def __init__(self, seed):
        self.uniform = random.Random(seed).random

    def normal(self):
        return (math.sqrt(-2 * math.log(1 - self.uniform()))
                * math.cos(2 * math.pi * self.uniform()))

    def poisson(self, mean):
        """By multiplication while the mean is small; else PTRS (Hoermann 1993)."""
        if mean < 10:
            limit, count, product = math.exp(-mean), 0, self.uniform()
            while product > limit:
                count, product = count + 1, product * self.uniform()
            return count
        b = 0.931 + 2.53 * math.sqrt(mean)
        a = -0.059 + 0.02483 * b
        inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
        v_r = 0.9277 - 3.6224 / (b - 2)
        while True:
            u, v = self.uniform() - 0.5, 1 - self.uniform()
            us = 0.5 - abs(u)
            if us <= 0:
                continue
            k = math.floor((2 * a / us + b) * u + mean + 0.43)
            if us >= 0.07 and v <= v_r:
                return k
            if k < 0 or (us < 0.013 and v > us):
                continue
            if (math.log(v * inverse_alpha / (a / (us * us) + b))
                    <= k * math.log(mean) - mean - math.lgamma(k + 1)):
                return k

    def batches(self, mean, size):
        """Arrivals that come in geometric batches of this mean size."""
        if size <= 1:
            return self.poisson(mean)
        stay = math.log(1 - 1 / size)
        return sum(1 + int(math.log(1 - self.uniform()) / stay)
                   for _ in range(self.poisson(mean / size)))


def shape(day, hour, weekday=None):
    """The usual day and week; the weekday may be another one's."""
    weekday = day % 7 if weekday is None else weekday
    swing = 0.6 if weekday < 5 else 0.4
    of_day = (1 + swing * math.cos(2 * math.pi * (hour - 15) / 24)
              + 0.15 * math.cos(4 * math.pi * (hour - 13) / 24))
    return of_day * (1.12, 1.12, 1.12, 1.12, 1.12, 0.75, 0.65)[weekday]


HOLIDAYS = (16, 39, 63)  # a Wednesday, a Friday, a Monday
SHIFT_DAY = 44           # a Wednesday, in the seventh week
LAUNCH_DAY = 43
MONTH_BEGINS = (27, 28, 55, 56)  # the first and second day of February and March


def growing(factor_in_all, days=84):
    return lambda day, hour: shape(day, hour) * factor_in_all ** ((day + hour / 24) / days)


def shifted(factor):
    return lambda day, hour: shape(day, hour) * (factor if day >= SHIFT_DAY else 1)


def launched(day, hour):
    left = 1 - (day + hour / 24 - LAUNCH_DAY) / 10
    return shape(day, hour) * (1 + 2 * left if 0 < left <= 1 else 1)


def with_holidays(day, hour):
    return shape(day, hour, 6 if day in HOLIDAYS else None)


def dead_weekend(day, hour):
    return shape(day, hour) * (0.01 if day % 7 >= 5 else 1)


def on_off(day, hour):
    night = day if hour >= 12 else day - 1
    return 1.5 if night % 7 in (1, 3) and (hour >= 22 or hour < 4) else 0


def nightly_jobs(day, hour):
    if 1 <= hour < 4:
        return 15 if day in MONTH_BEGINS else 5
    return 1.5 if 9 <= hour < 18 and day % 7 < 5 else 0.1


def by_night(day, hour):
    return 0.5 * shape(day, (hour + 12) % 24)


class Generated:
    """A trace: for each queue its expected course, as a share of 200 a step, and its batches."""

    def __init__(self, name, formula, queues, weeks=12, learn=2, noise=0.05, holidays=()):
        self.name, self.formula, self.queues = name, formula, queues
        self.weeks, self.learn, self.noise = weeks, learn, noise
        self.holidays = [(START + datetime.timedelta(days=day)).strftime("%Y-%m-%d")
                         for day in holidays]

    def write(self, path):
        # A holiday's calendar, or a shorter past, leaves the draws as they are.
        seed = {"holiday-known": "holiday", "short-4": "regular", "short-2": "regular"}
        draw = Draw("sluice " + seed.get(self.name, self.name))
        level = dict.fromkeys(self.queues, 0.0)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write("minute_utc_iso,queue,count\n")
            for day in range(7 * self.weeks):
                for queue in self.queues:
                    level[queue] = 0.6 * level[queue] + 0.8 * self.noise * draw.normal()
                for step in range(STEPS_A_DAY):
                    hour = (step + 0.5) * STEP_MIN / 60
                    time = START + datetime.timedelta(days=day, minutes=step * STEP_MIN)
                    for queue, (course, batch) in self.queues.items():
                        mean = BASE * course(day, hour) * math.exp(level[queue])
                        file.write(f"{time:%Y-%m-%dT%H:%M:%SZ},{queue},"
                                   f"{draw.batches(mean, batch)}\n")


GENERATED = (
    Generated("regular", "nothing happens", {"chat": (shape, 1)}),
    Generated("growth", "1.05 ^ (t / 7)", {"chat": (growing(1.05 ** 12), 1)}),
    Generated("growth-30", "30 ^ (t / 84) / 8.5", {
        "chat": (lambda day, hour: growing(30)(day, hour) / 8.5, 1)}),
    Generated("shift-up", "1.8 from day 44 on", {"chat": (shifted(1.8), 1)}),
    Generated("shift-down", "0.5 from day 44 on", {"chat": (shifted(0.5), 1)}),
    Generated("launch", "3 on day 43, falling to 1 in ten days", {"chat": (launched, 1)}),
    Generated("holiday", "days 16, 39 and 63 are like Sundays", {"chat": (with_holidays, 1)}),
    Generated("holiday-known", "the same, and a calendar says so", {"chat": (with_holidays, 1)},
              holidays=HOLIDAYS),
    Generated("dead-weekend", "0.01 at weekends", {"chat": (dead_weekend, 1)}),
    Generated("on-off", "300 a step from 22:00 to 04:00 of Tuesday's and Thursday's nights, else 0",
              {"batch": (on_off, 1)}),
    Generated("batch", "1000 a step from 01:00 to 04:00, 3000 on the first and second day of a "
              "month; 300 from 09:00 to 18:00 of weekdays; else 20; noise of 0.30",
              {"batch": (nightly_jobs, 1)}, noise=0.30),
    Generated("bursts", "batches of 10.5: peakedness 20", {"chat": (shape, 10.5)}),
    Generated("noisy", "noise of 0.30", {"chat": (shape, 1)}, noise=0.30),
    Generated("two-queues", "a second queue, half as large, is 12 h later, in batches of 4",
              {"chat": (shape, 1), "batch": (by_night, 4)}),
    Generated("short-4", "the first four weeks of regular", {"chat": (shape, 1)}, weeks=4, learn=1),
    Generated("short-2", "the first two weeks of regular", {"chat": (shape, 1)}, weeks=2, learn=1),
)
