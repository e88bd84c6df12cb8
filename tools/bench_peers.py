# SPDX-License-Identifier: Apache-2.0
"""Prints how many nanoseconds SimPy or Ciw takes per arrival: 10 servers, service of one second on
average, 9 arrivals a second of which 35 in 100 go first.  The case of `bench-plan engine 10`; with
`simpy-batch`, one replica of 16 slots, the case of `bench-engines speed 16 1`."""
import heapq
import random
import sys
import time

SERVERS = 10
RATES = (3.15, 5.85)
SECONDS = 6000


def with_simpy():
    import simpy

    env = simpy.Environment()
    servers = simpy.PriorityResource(env, capacity=SERVERS)
    late = [0, 0]
    count = 0

    def request(priority):
        begun = env.now
        with servers.request(priority=priority) as turn:
            yield turn
            late[priority] += env.now - begun > 5
            yield env.timeout(random.expovariate(1))

    def source(priority):
        nonlocal count
        while True:
            yield env.timeout(random.expovariate(RATES[priority]))
            count += 1
            env.process(request(priority))

    for priority in range(2):
        env.process(source(priority))
    env.run(until=SECONDS)
    return count


class Replica:
    """A process that ends the requests which run in it; all of them go on at one rate."""

    ITERATION, PER_REQUEST = 0.010, 0.0005

    def __init__(self, env):
        self.env = env
        self.tokens = 0.0
        self.at = 0.0
        self.running = []
        self.number = 0
        self.changed = env.event()
        env.process(self.run())

    def pace(self):
        return self.ITERATION + self.PER_REQUEST * len(self.running)

    def advance(self):
        if self.running:
            self.tokens += (self.env.now - self.at) / self.pace()
        self.at = self.env.now

    def serve(self, tokens):
        """An event that happens when the request has got all its tokens."""
        self.advance()
        self.number += 1
        done = self.env.event()
        heapq.heappush(self.running, (self.tokens + tokens, self.number, done))
        if not self.changed.triggered:
            self.changed.succeed()
        return done

    def run(self):
        while True:
            if not self.running:
                yield self.changed
            else:
                after = max(0, (self.running[0][0] - self.tokens) * self.pace())
                next_end = self.env.timeout(after)
                happened = yield next_end | self.changed
                if next_end in happened and not self.changed.triggered:
                    self.advance()
                    self.tokens, _, done = heapq.heappop(self.running)
                    done.succeed()
            if self.changed.triggered:
                self.changed = self.env.event()


def with_simpy_batch():
    import simpy

    env = simpy.Environment()
    slots = simpy.PriorityResource(env, capacity=16)
    replica = Replica(env)
    late = [0, 0]
    count = 0

    def request(priority):
        begun = env.now
        with slots.request(priority=priority) as turn:
            yield turn
            late[priority] += env.now - begun > 5
            yield replica.serve(random.expovariate(1 / 200))

    def source(priority, rate):
        nonlocal count
        while True:
            yield env.timeout(random.expovariate(rate))
            count += 1
            env.process(request(priority))

    for priority, share in enumerate((0.35, 0.65)):
        env.process(source(priority, share * 4))
    env.run(until=15000)
    return count


def with_ciw():
    import ciw

    names = ("high", "low")
    network = ciw.create_network(
        arrival_distributions={n: [ciw.dists.Exponential(r)] for n, r in zip(names, RATES)},
        service_distributions={n: [ciw.dists.Exponential(1)] for n in names},
        priority_classes={n: i for i, n in enumerate(names)},
        number_of_servers=[SERVERS],
    )
    ciw.seed(1)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(SECONDS)
    return len(simulation.get_all_records())


random.seed(1)
began = time.process_time()
arrivals = {"simpy": with_simpy, "simpy-batch": with_simpy_batch, "ciw": with_ciw}[sys.argv[1]]()
print(round((time.process_time() - began) / arrivals * 1e9))
