/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The small world with Slurm as its research cluster: each kind of Slurm, and a node that goes to
 * Kubernetes and comes back.
 */
#pragma once

#include "tests/cli/stepwise.h"
#include "tools/simulator/model/simulator.h"

enum { PLAY_MS = 100 * MINUTE_MS };

static const char host_key[] =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHeY7hxwNvzLpEw5s4yQGf0Gm3sQh5eQxW6cCkqv0m1r";

static const struct kind {
    const char *name, *release, *nodes;
    bool has_rest;
    const char *more; /* further keys of the world's Slurm; NULL: none */
} kinds[] = {
    { "22.05, dynamic nodes, REST and commands", "22.05", "dynamic", true, NULL },
    { "24.11, dynamic nodes, REST and commands", "24.11", "dynamic", true, NULL },
    { "22.05, nodes of slurm.conf, commands alone", "22.05", "fixed", false, NULL },
    { "24.11, nodes of slurm.conf, REST and commands", "24.11", "fixed", true, NULL },
};

/* The small world with a short day, and Slurm as its research cluster. */
static inline char *config_of(const struct kind *kind)
{
    static const char day[] = "from: '08:00', to: '20:00'}\n";
    static const char night[] = "from: '20:00', to: '08:00'}\n";
    static const char research[] = "{role: research, kubeconfig: research-a.kubeconfig}\n";
    const char *at_day = strstr(small_config, day);
    const char *at_night = strstr(small_config, night);
    const char *at_research = strstr(small_config, research);
    const char *rest = kind->has_rest ? "rest: 'http://127.0.0.1:1/slurm/research-a', "
                                        "rest_user: root, token: research-a.token, "
                                      : "";
    const char *machine = text_equal(kind->nodes, "fixed") ? "{extra}"
                                                           : "gce://p/us-east5-a/{name}";

    return text_format("%.*sfrom: '06:20', to: '06:45'}\n%.*sfrom: '06:45', to: '06:20'}\n%.*s"
                       "{kind: slurm, role: research, %sssh_address: login-a, ssh_user: root, "
                       "ssh_host_key: '%s', ssh_key: key, poll: 15s, machine: '%s'}\n%s",
                       (int)(at_day - small_config), small_config,
                       (int)(at_night - at_day - (int)strlen(day)), at_day + strlen(day),
                       (int)(at_research - at_night - (int)strlen(night)), at_night + strlen(night),
                       rest, host_key, machine, at_research + strlen(research));
}

/* is_slow: scancel takes seconds, and jobs take hours. */
static inline struct rehearsal *open_world(const struct kind *kind, const char *folder,
                                           uint64_t seed, const char *config, bool is_slow)
{
    int head = (int)(strstr(small_machines, "jobs: ") - small_machines);
    owned(chars) char *world = text_format(
        "seed: %llu\n%.*sjobs: {backlog: 12, duration: %s}\n"
        "slurm: {research-a: {release: '%s', nodes: %s%s%s}}\n",
        (unsigned long long)seed, head, small_machines, is_slow ? "2h..3h" : "20m..2h",
        kind->release, kind->nodes, is_slow ? ", scancel: 8s" : "", kind->more ?: "");
    struct rehearsal *rehearsal;

    mem_free(test_folder_write(folder, "key", "no key is read here\n"));
    mem_free(test_folder_write(folder, "research-a.token", "slurm-research-a\n"));
    rehearsal = world_start(folder, config, world, 6, seed);
    rehearsal_run(rehearsal, MINUTE_MS);
    return rehearsal;
}

/* more: further keys of the cluster. */
static inline struct rehearsal *open_with(const struct kind *kind, const char *folder,
                                          uint64_t seed, const char *more, bool is_slow)
{
    owned(chars) char *plain = config_of(kind);
    const char *at = strstr(plain, "poll: 15s");
    owned(chars) char *config = text_format("%.*s%s%s", (int)(at - plain), plain, more, at);

    return open_world(kind, folder, seed, config, is_slow);
}

static inline struct rehearsal *begin_with(const struct kind *kind, const char *folder,
                                           uint64_t seed, const char *more, bool is_slow)
{
    struct rehearsal *rehearsal = open_with(kind, folder, seed, more, is_slow);

    apply(rehearsal, 7, 6);
    return rehearsal;
}

static inline struct rehearsal *begin(const struct kind *kind, const char *folder, uint64_t seed)
{
    return begin_with(kind, folder, seed, "", false);
}

static inline void run_there_and_back(struct rehearsal *rehearsal)
{
    for (int64_t ms = 0; ms < PLAY_MS && !rehearsal->is_dead && handed_over(rehearsal) != 2;
         ms += MINUTE_MS)
        rehearsal_run(rehearsal, MINUTE_MS);
    if (!rehearsal->is_dead)
        rehearsal_run(rehearsal, MINUTE_MS);
}

static inline void tell_transfers(const struct rehearsal *rehearsal)
{
    const struct runner *runner = rehearsal->service->runner;

    for (size_t i = 0; i < runner->transfers.count; i++) {
        const struct transfer *transfer = runner->transfers.items[i];

        print_message("%s: node %s, step %d, state %d: %s\n", transfer->id, transfer->node,
                      (int)transfer->step, (int)transfer->state, transfer->waiting);
    }
}

static inline void expect_there_and_back(struct rehearsal *rehearsal)
{
    if (handed_over(rehearsal) != 2)
        tell_transfers(rehearsal);
    assert_int_equal(handed_over(rehearsal), 2);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 6);
    assert_int_equal(nodes_of(rehearsal, "research-a-east"), 10);
    simulator_check_end(rehearsal->simulator);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* There and back, while the service dies at commit `at` from now on, or right after it, and starts
   again; at 0: it lives. */
static inline void die_there_and_back(struct rehearsal *rehearsal, int64_t at, bool is_after)
{
    struct error err = { 0 };

    if (at > 0 && is_after)
        rehearsal_kill_after_commit(rehearsal, at);
    else if (at > 0)
        rehearsal_kill_at_commit(rehearsal, at);
    run_there_and_back(rehearsal);
    if (rehearsal->is_dead) {
        rehearsal_kill(rehearsal);
        rehearsal_run(rehearsal, 20 * SECOND_MS);
        if (rehearsal_start(rehearsal, &err) < 0)
            fail_msg("%s", err.text);
        run_there_and_back(rehearsal);
    }
    expect_there_and_back(rehearsal);
    assert_true(at == 0 || rehearsal->kill_at == 0); /* it died */
}

/* A person at the login node; the caller frees the answer. */
static inline char *run_command(struct rehearsal *rehearsal, const char *line)
{
    struct text *out = text_new(1 << 20);

    if (simulator_slurm_run(rehearsal->simulator, "research-a", line, out) != 0)
        fail_msg("%s: %s", line, out->chars);
    return text_take(out);
}
