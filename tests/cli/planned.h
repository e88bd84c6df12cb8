/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A folder to plan in: a configuration of two production clusters in two zones, and a week of three
 * queues in steps of half an hour, few enough that a plan takes a moment.
 */
#pragma once

#include "base/timestamp.h"
#include "tests/cli/said.h"
#include "tests/support/folder.h"

static const char planned_config[] =
    "time_zone: America/New_York\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
    "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
    "clusters:\n"
    "  prod-a: {role: production, kubeconfig: a}\n"
    "  prod-b: {role: production, kubeconfig: b}\n"
    "  research-a: {role: research, kubeconfig: r}\n"
    "reservations:\n"
    "  east: {machine: m8, region: r1, zone: r1-a, gpus_per_node: 8, nodes: 24}\n"
    "  west: {machine: m8, region: r1, zone: r1-b, gpus_per_node: 8, nodes: 24}\n"
    "providers:\n"
    "  cloud: {kind: gcp}\n"
    "pools:\n"
    "  ae: {cluster: prod-a, reservation: east, provider: cloud, project: x, group: ae}\n"
    "  aw: {cluster: prod-a, reservation: west, provider: cloud, project: x, group: aw}\n"
    "  bw: {cluster: prod-b, reservation: west, provider: cloud, project: x, group: bw}\n"
    "  re: {cluster: research-a, reservation: east, provider: cloud, project: x, group: re,\n"
    "       static_nodes: 4}\n"
    "queues:\n"
    "  chat: {wait_target: 20s, service: 30s}\n"
    "  speech: {wait_target: 5s, service: 12s, service_cv: 0}\n"
    "  draw: {wait_target: 60s, service: 40s}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, gpus: 2, clusters: {prod-a: {weight: 2}, prod-b: {}}}\n"
    "  speech-1x: {queue: speech, gpus: 1, clusters: {prod-a: {}}}\n"
    "  draw-4x: {queue: draw, gpus: 4, clusters: {prod-b: {}}}\n";

/* Monday 2026-11-16 00:00 in New York; a burst of chat on Tuesday from 09:00 to 09:30. */
enum { PLANNED_STEPS = 7 * 48, PLANNED_BURST = 48 + 18 };
static const int64_t planned_start_ms = 1794805200000;

static inline char *planned_demand(void)
{
    static const char *const queues[] = { "chat", "speech", "draw" };
    static const int peaks[] = { 700, 900, 250 };
    struct text *csv = text_new(1 << 20);

    text_add(csv, "t,queue,count\n");
    for (int queue = 0; queue < 3; queue++)
        for (int i = 0; i < PLANNED_STEPS; i++) {
            char time[WALL_TEXT_SIZE];
            int hour = i % 48 / 2;
            int count = hour >= 8 && hour < 20 ? peaks[queue] : peaks[queue] / 3;

            if (queue == 0 && i == PLANNED_BURST)
                count += 500;
            wall_format((struct wall_time){ planned_start_ms + (int64_t)i * 30 * MINUTE_MS }, time);
            text_add(csv, "%s,%s,%d\n", time, queues[queue], count + i % 7);
        }
    return text_take(csv);
}

static inline void planned_put(const char *folder, const char *name, const char *chars)
{
    mem_free(test_folder_write(folder, name, chars));
}

/* A command that ends well and whose words do not matter. */
static inline void planned_run(const char *folder, const char *line)
{
    struct said said = expect_code(folder, 0, line);

    owned_said(&said);
}

/* With sluice.yaml and week.csv in it. */
static inline char *planned_folder(void)
{
    char *folder = test_folder_new();
    owned(chars) char *csv = planned_demand();

    planned_put(folder, "sluice.yaml", planned_config);
    planned_put(folder, "week.csv", csv);
    return folder;
}

static inline json_t *planned_json(const struct said *said)
{
    struct error err = { 0 };
    json_t *root = json_parse(said->out->chars, said->out->length, "output", &err);

    if (!root)
        fail_msg("%s", err.text);
    return root;
}
