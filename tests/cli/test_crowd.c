/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fifty of 500 nodes with 30 pods each are drained at once: how much is asked of the server, how
 * long any turn of the service takes, and how much memory it needs for that.  Under a sanitizer
 * fewer, and only what is asked is judged.
 */
#include "base/file.h"
#include "broker/service/service_parts.h"
#include "tests/cli/small_world.h"
#include "tools/simulator/model/model.h"

#include <stdlib.h>
#include <sys/resource.h>

#ifdef __SANITIZE_ADDRESS__
enum { NODES = 60, PODS = 6, MOVED = 12, IS_MEASURED = 0 };
#else
enum { NODES = 500, PODS = 30, MOVED = 50, IS_MEASURED = 1 };
#endif
enum {
    SLICE_MS = 10,
    SLICES_MOST = 10 * 60 * 1000 / SLICE_MS,
    TURN_P99_MOST_US = 50 * 1000, /* of the whole process, simulator included, for SLICE_MS */
    GROWTH_MOST_KB = 16 * 1024,
    REQUESTS_A_POD = 2,
};

static struct rehearsal *open_crowd(const char *folder)
{
    const char *of = strstr(small_config, " nodes: 16}");
    owned(chars) char *config = text_format("%.*s nodes: %d}%s", (int)(of - small_config),
                                            small_config, NODES + MOVED + 10,
                                            of + strlen(" nodes: 16}"));
    owned(chars) char *world = text_format(
        "seed: 5\npools: { prod-a-east: { nodes: 6 }, research-a-east: { nodes: %d } }\n"
        "replicas: { chat-2x: { prod-a: 20 } }\n"
        "latency: { api: 5ms..40ms, delete: 60s, create: 60s, join: 60s, gpus: 20s, pod_start: 1s,"
        " pod_stop: 1s..10s }\njobs: { backlog: 0 }\n",
        NODES);

    return world_open(folder, config, world, 6, 5);
}

/* Pods of a Deployment that need no GPU, on each node of research. */
static void fill(struct rehearsal *rehearsal)
{
    struct simulator *sim = rehearsal->simulator;
    struct kube_cluster *cluster = sim_cluster(sim, "research-a");
    void *node;

    for (size_t i = 0; map_next(cluster->nodes, &i, NULL, &node);) {
        for (int k = 0; k < PODS; k++) {
            char name[SIM_NAME_SIZE];
            struct kube_pod *pod;

            snprintf(name, sizeof name, "crowd-%zu-%d", i, k);
            pod = sim_pod_new(sim, cluster, "ml", name);
            pod->written = json_make(
                "{s:{s:s, s:s, s:{s:s}, s:[{s:s, s:s, s:s, s:s, s:b}]}, s:{s:[{s:s, s:s}]}}",
                "metadata", "name", name, "namespace", "ml", "labels", "app", "crowd",
                "ownerReferences", "apiVersion", "apps/v1", "kind", "ReplicaSet", "name", "crowd-1",
                "uid", "u-crowd", "controller", 1, "spec", "containers", "name", "main", "image",
                "registry.example/main:1");
            pod->grace_s = 30;
            sim_pod_changed(sim, pod, CHANGE_ADDED);
            sim_pod_bind(sim, pod, node);
        }
    }
}

static int64_t memory_kb(void)
{
    struct error err = { 0 };
    owned(text) struct text *status = file_read("/proc/self/status", 1 << 16, &err);
    const char *line = status ? strstr(status->chars, "VmRSS:") : NULL;

    return line ? strtoll(line + strlen("VmRSS:"), NULL, 10) : 0;
}

static int64_t used_us(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * (int64_t)1000000 +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static int compare(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* What was asked so far of API servers, watches apart. */
static int64_t requests_of(struct rehearsal *rehearsal)
{
    owned(json) json_t *report = simulator_report(rehearsal->simulator);
    int64_t count = 0;
    const char *verb;
    json_t *value;

    json_object_foreach(json_object_get(report, "requests"), verb, value) {
        if (strstr(verb, "_pod") || strstr(verb, "_node") || strstr(verb, "_object"))
            count += json_integer_value(value);
    }
    return count;
}

static bool all_are_empty(const struct rehearsal *rehearsal)
{
    const struct runner *runner = rehearsal->service->runner;
    size_t empty = 0;

    for (size_t i = 0; i < runner->transfers.count; i++)
        empty += runner->transfers.items[i]->step > STEP_FORCE;
    return empty == MOVED;
}

static void fifty_nodes_are_drained_at_once(void **state)
{
    static int64_t turns[SLICES_MOST];
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_crowd(folder);
    owned(json) json_t *answer = NULL;
    owned(json) json_t *report = NULL;
    int64_t before, requests, memory, most = 0;
    size_t count = 0;
    struct error err = { 0 };

    (void)state;
    fill(rehearsal);
    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    before = requests_of(rehearsal);
    memory = memory_kb();
    answer = reclaim(rehearsal, MOVED);
    assert_int_equal(json_int_or(answer, "accepted_nodes", 0), MOVED);
    while (!all_are_empty(rehearsal)) {
        int64_t began_us = used_us();

        assert_true(count < SLICES_MOST);
        rehearsal_run(rehearsal, SLICE_MS);
        turns[count++] = used_us() - began_us;
        most = memory_kb() > most ? memory_kb() : most;
    }
    requests = requests_of(rehearsal) - before;
    report = simulator_report(rehearsal->simulator);
    qsort(turns, count, sizeof *turns, compare);
    print_message("%d nodes of %d, %d pods: %lld requests, %.1f s, turns of %d ms: p99 %.1f ms, "
                  "longest %.1f ms; memory grew by %lld kB\n",
                  MOVED, NODES, MOVED * PODS, (long long)requests,
                  (double)(count * SLICE_MS) / SECOND_MS, SLICE_MS,
                  (double)turns[count * 99 / 100] / 1000, (double)turns[count - 1] / 1000,
                  (long long)(most - memory));
    assert_int_equal(json_int_or(report, "effects/evictions", 0), MOVED * PODS);
    assert_int_equal(json_int_or(report, "requests/evict_pod", 0), MOVED * PODS); /* none in vain */
    assert_in_range(requests, MOVED * PODS, REQUESTS_A_POD * MOVED * PODS);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
    if (IS_MEASURED) {
        assert_in_range(turns[count * 99 / 100], 0, TURN_P99_MOST_US);
        assert_true(most - memory <= GROWTH_MOST_KB);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fifty_nodes_are_drained_at_once),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
