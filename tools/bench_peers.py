# SPDX-License-Identifier: Apache-2.0
"""Prints how many nanoseconds SimPy or Ciw takes per arrival: 10 servers, service of one second on
average, 9 arrivals a second of which 35 in 100 go first.  The case of `bench-plan engine 10`."""
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
arrivals = {"simpy": with_simpy, "ciw": with_ciw}[sys.argv[1]]()
print(round((time.process_time() - began) / arrivals * 1e9))
