/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A world small enough to be played hundreds of times: one reservation of 16 nodes, shared by
 * prod-a and research-a; one queue.  Times are short, so that a move takes about 20 minutes.
 */
#pragma once

#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/demo/rehearsal.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static const char small_config[] =
    "time_zone: UTC\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
    "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
    "journal: ':memory:'\n"
    "ephemeral_label: sluice.dev/ephemeral=true\n"
    "repack_nodes: 0\n"
    "drain: {notice: 5m, deadline: 5m, settle: 5s}\n"
    "lead: {prior_p50: 15m, prior_p95: 25m}\n"
    "clusters:\n"
    "  prod-a: {role: production, kubeconfig: prod-a.kubeconfig}\n"
    "  research-a: {role: research, kubeconfig: research-a.kubeconfig}\n"
    "reservations:\n"
    "  east: {machine: a3-megagpu-8g, region: us-east5, zone: us-east5-a, gpus_per_node: 8,"
    " nodes: 16}\n"
    "providers:\n"
    "  google: {kind: gcp, endpoint: 'http://127.0.0.1:1/gcp', metadata: "
    "'http://127.0.0.1:1/gcp'}\n"
    "pools:\n"
    "  prod-a-east: {cluster: prod-a, reservation: east, provider: google, project: p,"
    " group: prod-a-east, static_nodes: 2}\n"
    "  research-a-east: {cluster: research-a, reservation: east, provider: google, project: p,"
    " group: research-a-east, static_nodes: 1}\n"
    "queues:\n"
    "  chat: {wait_target: 30s, service: 20s}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, namespace: serving, gpus: 2, clusters: {prod-a: {}}}\n";

/* The head of world.yaml; a test adds faults. */
static const char small_machines[] =
    "pools:\n"
    "  prod-a-east: {nodes: 6}\n"
    "  research-a-east: {nodes: 10}\n"
    "replicas: {chat-2x: {prod-a: 20}}\n"
    "latency: {api: 5ms..40ms, delete: 60s..120s, create: 60s..180s, join: 60s..180s,"
    " gpus: 20s..60s, pod_start: 10s..30s, pod_stop: 1s..20s}\n"
    "jobs: {backlog: 60, duration: 20m..2h}\n";

static inline void add_schedule(struct text *out, int nodes)
{
    text_add(out,
             "workloads:\n  chat-2x:\n    prod-a: %d\ncompute:\n  a3-megagpu-8g:\n"
             "    us-east5:\n      prod-a:\n        counts: [%d]\n",
             nodes > 0 ? nodes * 4 - 4 : 0, nodes);
}

/* A full set of schedules: so many production nodes by day and by night. */
static inline json_t *small_schedules(int day_nodes, int night_nodes)
{
    owned(text) struct text *day = text_new(4096);
    owned(text) struct text *night = text_new(4096);

    add_schedule(day, day_nodes);
    add_schedule(night, night_nodes);
    return json_make("{ss ss}", "day", day->chars, "night", night->chars);
}

/* Opens a rehearsal on a Tuesday at this hour; it is to be started. */
static inline struct rehearsal *world_open(const char *folder, const char *config,
                                           const char *world, int hour, uint64_t seed)
{
    owned(chars) char *config_path = test_folder_write(folder, "sluice.yaml", config);
    owned(chars) char *world_path = test_folder_write(folder, "world.yaml", world);
    struct wall_time start = { (int64_t)civil_day(2026, 11, 17) * DAY_MS + hour * HOUR_MS };
    struct error err = { 0 };
    struct rehearsal *rehearsal = rehearsal_open(config_path, world_path, start, seed, &err);

    if (!rehearsal ||
        simulator_write_kubeconfigs(rehearsal->simulator, folder, "http://127.0.0.1:1", &err) < 0)
        fail_msg("%s", err.text);
    return rehearsal;
}

static inline struct rehearsal *world_start(const char *folder, const char *config,
                                            const char *world, int hour, uint64_t seed)
{
    struct rehearsal *rehearsal = world_open(folder, config, world, hour, seed);
    struct error err = { 0 };

    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
    return rehearsal;
}

/* Opens a rehearsal on the small world at 06:00 of a Tuesday; `faults` is YAML to add to the world,
   `settings` to the configuration, in which its workload has `more` members. */
static inline struct rehearsal *small_rehearsal_with(const char *folder, uint64_t seed,
                                                     const char *faults, const char *settings,
                                                     const char *more)
{
    size_t length = strlen(small_config) - strlen("}\n");
    owned(chars) char *world = text_format("seed: %llu\n%s%s", (unsigned long long)seed,
                                           small_machines, faults);
    owned(chars) char *config = text_format("%.*s%s}\n%s", (int)length, small_config, more,
                                            settings);

    return world_start(folder, config, world, 6, seed);
}

static inline struct rehearsal *small_rehearsal(const char *folder, uint64_t seed,
                                                const char *faults)
{
    return small_rehearsal_with(folder, seed, faults, "", "");
}

static inline int nodes_of(struct rehearsal *rehearsal, const char *pool)
{
    return simulator_pool_running(rehearsal->simulator, pool);
}

static inline void apply(struct rehearsal *rehearsal, int day, int night)
{
    owned(json) json_t *schedules = small_schedules(day, night);
    struct error err = { 0 };
    owned(json) json_t *plan = service_apply(rehearsal->service, schedules, NULL, "test", &err);

    if (!plan)
        fail_msg("%s", err.text);
}

/* How many transfers there are, live ones only or all. */
static inline size_t transfers_of(struct rehearsal *rehearsal, bool all)
{
    owned(json) json_t *answer = service_transfers(rehearsal->service, all);

    return json_array_size(json_object_get(answer, "transfers"));
}

/* How many events of that name the story has. */
static inline size_t story_count(struct rehearsal *rehearsal, const char *name)
{
    struct error err = { 0 };
    owned(json) json_t *story = service_events(rehearsal->service, 10000, &err);
    const json_t *event;
    size_t count = 0;
    size_t i;

    json_array_foreach(json_object_get(story, "events"), i, event) {
        count += text_equal(json_text_or(event, "event", ""), name);
    }
    return count;
}

static inline bool warns_of(struct rehearsal *rehearsal, const char *words)
{
    owned(json) json_t *status = service_status(rehearsal->service);
    owned(chars) char *warnings = json_print(json_object_get(status, "warnings"));

    return strstr(warnings, words) != NULL;
}

/* Ends with all 16 nodes somewhere, `prod` of them in production, and a content referee. */
static inline void expect_rest(struct rehearsal *rehearsal, int prod)
{
    if (transfers_of(rehearsal, false) > 0 || nodes_of(rehearsal, "prod-a-east") != prod) {
        owned(json) json_t *status = service_status(rehearsal->service);
        owned(json) json_t *transfers = service_transfers(rehearsal->service, true);
        owned(chars) char *status_chars = json_print_pretty(status);
        owned(chars) char *transfers_chars = json_print_pretty(transfers);

        fprintf(stderr, "%s\n%s\n", status_chars, transfers_chars);
    }
    assert_int_equal(transfers_of(rehearsal, false), 0);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), prod);
    assert_int_equal(nodes_of(rehearsal, "research-a-east"), 16 - prod);
    simulator_check_end(rehearsal->simulator);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

static inline json_t *reclaim(struct rehearsal *rehearsal, int nodes)
{
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss si ss sb}", "cluster", "prod-a", "nodes", nodes,
                                            "reason", "launch", "is_new", 1);
    json_t *answer = service_reclaim(rehearsal->service, request, "test", &err);

    if (!answer)
        fail_msg("%s", err.text);
    return answer;
}

/* Nothing voluntary happens in the cluster ("": in all) for so long. */
static inline void freeze_for(struct rehearsal *rehearsal, const char *cluster, int64_t duration_ms)
{
    struct wall_time until = { loop_wall(rehearsal->loop).ms + duration_ms };
    char text[WALL_TEXT_SIZE];
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss ss ss}", "cluster", cluster, "until",
                                            wall_format(until, text), "reason", "incident");
    owned(json) json_t *answer = service_freeze(rehearsal->service, request, "test", &err);

    if (!answer)
        fail_msg("%s", err.text);
}

/* The service dies where it stands, and the next one starts at once. */
static inline void restart(struct rehearsal *rehearsal)
{
    struct error err = { 0 };

    rehearsal_kill(rehearsal);
    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void take_status(void *context, const struct http_answer *answer,
                               const struct error *err)
{
    if (err)
        fail_msg("%s", err->text);
    *(int *)context = answer->status;
}

/* As a person would with kubectl: a path of research-a, without its first slash.  Takes object. */
static inline void post(struct rehearsal *rehearsal, const char *path, json_t *object)
{
    owned(chars) char *url = text_format("http://127.0.0.1:1/clusters/research-a/%s", path);
    owned(chars) char *body = json_print(object);
    struct http_header token = { "Authorization", "Bearer sim-research-a" };
    struct http_request request = {
        .method = HTTP_POST,
        .url = url,
        .headers = &token,
        .header_count = 1,
        .body = body,
        .body_size = strlen(body),
        .is_mutation = true,
        .timeout_ms = 10 * SECOND_MS,
    };
    int status = 0;

    json_decref(object);
    http_send(simulator_http(rehearsal->simulator), &request, take_status, &status);
    rehearsal_run(rehearsal, SECOND_MS);
    assert_int_equal(status, 201);
}
