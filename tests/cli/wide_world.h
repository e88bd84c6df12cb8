/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two production clusters and two research clusters, in two reservations.
 */
#pragma once

#include "tests/cli/stepwise.h"

static const char wide_config[] =
    "time_zone: UTC\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
    "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
    "journal: ':memory:'\n"
    "repack_nodes: 0\n"
    "drain: {notice: 5m, deadline: 5m, settle: 5s}\n"
    "lead: {prior_p50: 15m, prior_p95: 25m}\n"
    "clusters:\n"
    "  prod-a: {role: production, kubeconfig: prod-a.kubeconfig}\n"
    "  prod-b: {role: production, kubeconfig: prod-b.kubeconfig}\n"
    "  research-a: {role: research, kubeconfig: research-a.kubeconfig}\n"
    "  research-b: {role: research, kubeconfig: research-b.kubeconfig}\n"
    "reservations:\n"
    "  east: {machine: a3-megagpu-8g, region: us-east5, zone: us-east5-a, gpus_per_node: 8,"
    " nodes: 28}\n"
    "  west: {machine: a3-highgpu-8g, region: us-west4, zone: us-west4-a, gpus_per_node: 8,"
    " nodes: 8}\n"
    "providers:\n"
    "  google: {kind: gcp, endpoint: 'http://127.0.0.1:1/gcp', metadata: "
    "'http://127.0.0.1:1/gcp'}\n"
    "pools:\n"
    "  prod-a-east: {cluster: prod-a, reservation: east, provider: google, project: p,"
    " group: prod-a-east, static_nodes: 2}\n"
    "  prod-b-east: {cluster: prod-b, reservation: east, provider: google, project: p,"
    " group: prod-b-east, static_nodes: 2}\n"
    "  research-a-east: {cluster: research-a, reservation: east, provider: google, project: p,"
    " group: research-a-east, static_nodes: 1}\n"
    "  research-b-east: {cluster: research-b, reservation: east, provider: google, project: p,"
    " group: research-b-east, static_nodes: 1}\n"
    "  prod-b-west: {cluster: prod-b, reservation: west, provider: google, project: p,"
    " group: prod-b-west, static_nodes: 1}\n"
    "  research-b-west: {cluster: research-b, reservation: west, provider: google, project: p,"
    " group: research-b-west, static_nodes: 1}\n"
    "queues:\n"
    "  chat: {wait_target: 30s, service: 20s}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, namespace: serving, gpus: 2, clusters: {prod-a: {}, prod-b: {}}}\n";

static const char wide_machines[] =
    "seed: 5\n"
    "pools:\n"
    "  prod-a-east: {nodes: 6}\n"
    "  prod-b-east: {nodes: 4}\n"
    "  research-a-east: {nodes: 10}\n"
    "  research-b-east: {nodes: 8}\n"
    "  prod-b-west: {nodes: 3}\n"
    "  research-b-west: {nodes: 5}\n"
    "replicas: {chat-2x: {prod-a: 20, prod-b: 24}}\n"
    "latency: {api: 5ms..40ms, delete: 60s..120s, create: 60s..180s, join: 60s..180s,"
    " gpus: 20s..60s, pod_start: 10s..30s, pod_stop: 1s..20s}\n"
    "jobs: {backlog: 60, duration: 20m..2h}\n";

static inline struct rehearsal *wide_rehearsal(const char *folder)
{
    struct rehearsal *rehearsal = world_start(folder, wide_config, wide_machines, 9, 5);

    rehearsal_run(rehearsal, MINUTE_MS);
    return rehearsal;
}

/* By day and by night: so many nodes in prod-a-east, prod-b-east and prod-b-west. */
static inline json_t *wide_schedules(int a_east, int b_east, int b_west)
{
    owned(chars) char *schedule = text_format(
        "workloads:\n  chat-2x:\n    prod-a: %d\n    prod-b: %d\ncompute:\n  a3-megagpu-8g:\n"
        "    us-east5:\n      prod-a:\n        counts: [%d]\n      prod-b:\n        counts: [%d]\n"
        "  a3-highgpu-8g:\n    us-west4:\n      prod-b:\n        counts: [%d]\n",
        a_east * 4 - 4, (b_east + b_west) * 4 - 4, a_east, b_east, b_west);

    return json_make("{ss ss}", "day", schedule, "night", schedule);
}

static inline void apply_wide(struct rehearsal *rehearsal, int a_east, int b_east, int b_west)
{
    owned(json) json_t *schedules = wide_schedules(a_east, b_east, b_west);
    struct error err = { 0 };
    owned(json) json_t *plan = service_apply(rehearsal->service, schedules, NULL, "test", &err);

    if (!plan)
        fail_msg("%s", err.text);
}

/* Six and four nodes for the pools of production in the east, three in the west, and all is seen.
 */
static inline struct rehearsal *wide_settled(const char *folder)
{
    struct rehearsal *rehearsal = wide_rehearsal(folder);

    apply_wide(rehearsal, 6, 4, 3);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    return rehearsal;
}

/* A reclaim for prod-a. */
static inline json_t *ask_from(struct rehearsal *rehearsal, const char *from, int nodes,
                               struct error *err)
{
    owned(json) json_t *request = json_make("{ss ss si ss}", "cluster", "prod-a", "from", from,
                                            "nodes", nodes, "reason", "launch");

    return service_reclaim(rehearsal->service, request, "test", err);
}

static inline json_t *reclaim_from(struct rehearsal *rehearsal, const char *from, int nodes)
{
    struct error err = { 0 };
    json_t *answer = ask_from(rehearsal, from, nodes, &err);

    if (!answer)
        fail_msg("%s", err.text);
    return answer;
}

/* From now on all nodes of the pool stay. */
static inline void keep_all(struct rehearsal *rehearsal, const char *name)
{
    for (size_t i = 0; i < rehearsal->config->pool_count; i++)
        if (text_equal(rehearsal->config->pools[i].name, name))
            rehearsal->config->pools[i].static_nodes = nodes_of(rehearsal, name);
}
