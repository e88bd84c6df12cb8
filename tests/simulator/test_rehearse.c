/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A world made from one's own sluice.yaml: its copy reaches the simulator and nothing else.
 */
#include "base/file.h"
#include "base/input/yaml.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/simulator.h"
#include "tools/simulator/rehearse.h"

#include <string.h>
#include <unistd.h>

static const char own[] =
    "time_zone: Europe/Berlin\n"
    "listen: {address: '0.0.0.0:8443', certificate: a, key: b}\n"
    "webhooks: {ops: {url: 'https://example.com/hook'}}\n"
    "clusters:\n"
    "  prod: {role: production, kubeconfig: /etc/secret.kubeconfig, context: real}\n"
    "  lab: {role: research, kind: kubernetes, kubeconfig: /etc/lab.kubeconfig}\n"
    "reservations:\n"
    "  east: {machine: a3-megagpu-8g, region: r, zone: z, gpus_per_node: 8, nodes: 11}\n"
    "providers:\n"
    "  google: {kind: gcp, credentials: /etc/key.json}\n"
    "pools:\n"
    "  prod-east: {cluster: prod, reservation: east, provider: google, project: p, group: g,"
    " static_nodes: 3, node_max: 5}\n"
    "  lab-east: {cluster: lab, reservation: east, provider: google, project: p, group: 0042}\n"
    "sources:\n"
    "  prom: {kind: prometheus, endpoint: 'https://metrics.example.com'}\n"
    "queues:\n"
    "  chat: {wait_target: 30s, service: 20s, source: prom, arrivals: 'sum(x)'}\n"
    "workloads:\n"
    "  model: {queue: chat, namespace: serving, gpus: 2, clusters: {prod: {replica_min: 3}}}\n"
    "quotas:\n"
    "  all: {cluster: lab, cluster_queue: shared, flavor: h100}\n";

struct bench {
    char *folder, *config, *target;
    struct text *left_out;
    struct error err;
    int code;
};

static void open_bench(struct bench *bench, const char *config)
{
    struct rehearse rehearse = { .url = "http://127.0.0.1:8900" };

    *bench = (struct bench){ .folder = test_folder_new(), .left_out = text_new(4096) };
    bench->config = test_folder_write(bench->folder, "own.yaml", config);
    bench->target = text_format("%s/try", bench->folder);
    rehearse.config_path = bench->config;
    rehearse.folder = bench->target;
    bench->code = rehearse_write(&rehearse, bench->left_out, &bench->err);
}

static void close_bench(struct bench *bench)
{
    mem_free(bench->config);
    mem_free(bench->target);
    text_free(bench->left_out);
    test_folder_free(bench->folder);
}

static char *written(const struct bench *bench, const char *name)
{
    owned(chars) char *path = text_format("%s/%s", bench->target, name);
    struct error err = { 0 };
    struct text *text = file_read(path, 1 << 20, &err);

    if (!text)
        fail_msg("%s", err.text);
    return text_take(text);
}

static void test_the_copy_reaches_the_simulator_alone(void **state)
{
    static const char *const foreign[] = { "example.com", "secret.kubeconfig", "context",
                                           "key.json",    "0.0.0.0",           "prom" };
    static const char *const kept[] = { "Europe/Berlin", "prod.kubeconfig",
                                        "http://127.0.0.1:8900/gcp", "static_nodes: 3",
                                        "group: \"0042\"" };
    static const char *const left_out[] = { "listen\n", "webhooks\n", "sources\n",
                                            "queues.chat.source\n" };
    struct bench bench;
    owned(chars) char *copy = NULL;

    (void)state;
    open_bench(&bench, own);
    if (bench.code < 0)
        fail_msg("%s", bench.err.text);
    copy = written(&bench, "sluice.yaml");
    for (size_t i = 0; i < COUNT_OF(foreign); i++)
        if (strstr(copy, foreign[i]))
            fail_msg("%s: %s", foreign[i], copy);
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        if (!strstr(copy, kept[i]))
            fail_msg("%s: %s", kept[i], copy);
    for (size_t i = 0; i < COUNT_OF(left_out); i++)
        assert_non_null(strstr(bench.left_out->chars, left_out[i]));
    close_bench(&bench);
}

static void test_the_world_has_the_machines_of_the_reservation(void **state)
{
    struct bench bench;
    struct error err = { 0 };
    struct loop *loop = loop_virtual_new((struct wall_time){ 1795600800000 });
    struct simulator *simulator;
    const json_t *queue;

    (void)state;
    open_bench(&bench, own);
    assert_int_equal(bench.code, 0);

    owned(chars) char *config = text_format("%s/sluice.yaml", bench.target);
    owned(chars) char *world = text_format("%s/world.yaml", bench.target);

    simulator = simulator_new(loop, config, world, &err);
    if (!simulator)
        fail_msg("%s", err.text);
    assert_int_equal(rehearse_fill(simulator, config, &err), 0);
    assert_int_equal(simulator_pool_running(simulator, "prod-east"), 5); /* its node_max */
    assert_int_equal(simulator_pool_running(simulator, "lab-east"), 6);
    assert_int_equal(simulator_replicas(simulator, "prod", "serving", "model"), 3);
    queue = simulator_object(simulator, "lab", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/shared");
    assert_non_null(queue);

    owned(chars) char *printed = json_print(queue);

    assert_non_null(strstr(printed, "\"nominalQuota\":48"));
    simulator_free(simulator);
    loop_free(loop);
    close_bench(&bench);
}

static void test_what_cannot_be_rehearsed_is_named(void **state)
{
    static const struct {
        const char *config, *sentence;
    } cases[] = {
        { "providers: {o: {kind: oci}}\n", "providers.o: kind \"oci\" cannot be rehearsed" },
        { "providers:\n  m: {kind: ssh}\n",
          "own.yaml:2: providers.m: kind \"ssh\" cannot be rehearsed" },
        { "clusters:\n  prod: {role: production}\n"
          "  lab: {role: research, kind: slurm, rest: 'http://a:6820', token: t}\n",
          "own.yaml:3: clusters.lab: kind \"slurm\" cannot be rehearsed" },
        { "reservations: {e: {machine: m}}\n", "a rehearsal needs its number of nodes" },
        { "reservations: {e: {nodes: 1}}\npools: {p: {reservation: e, static_nodes: 2}}\n",
          "more static nodes than it has nodes" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bench bench;

        open_bench(&bench, cases[i].config);
        assert_int_equal(bench.code, -1);
        if (!strstr(bench.err.text, cases[i].sentence))
            fail_msg("%s", bench.err.text);
        close_bench(&bench);
    }
}

/* People edit the world: it is written once. */
static void test_a_world_that_is_there_stays(void **state)
{
    struct bench bench;
    struct rehearse rehearse = { .url = "http://127.0.0.1:8900" };

    (void)state;
    open_bench(&bench, own);

    owned(chars) char *path = text_format("%s/world.yaml", bench.target);

    assert_int_equal(file_write(path, "seed: 9\n", 8, 0644, &bench.err), 0);
    rehearse.config_path = bench.config;
    rehearse.folder = bench.target;
    assert_int_equal(rehearse_write(&rehearse, bench.left_out, &bench.err), 0);

    owned(chars) char *world = written(&bench, "world.yaml");

    assert_string_equal(world, "seed: 9\n");
    close_bench(&bench);
}

/* The folder of one's own configuration is no place for the copy. */
static void test_files_of_ones_own_are_not_replaced(void **state)
{
    static const char *const names[] = { "sluice.yaml", "credentials", "prod.kubeconfig" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(test_folder) char *target = test_folder_new();
        owned(chars) char *config = test_folder_write(folder, "own.yaml", own);
        owned(chars) char *path = test_folder_write(target, names[i], own);
        owned(text) struct text *left_out = text_new(4096);
        owned(text) struct text *kept = NULL;
        struct rehearse rehearse = { config, target, "http://127.0.0.1:8900" };
        struct file_list files;
        struct error err = { 0 };

        assert_int_equal(rehearse_write(&rehearse, left_out, &err), -1);
        assert_non_null(strstr(err.text, target));
        kept = file_read(path, 1 << 16, &err);
        assert_string_equal(kept->chars, own);
        assert_int_equal(file_list(target, "", &files, &err), 0);
        assert_int_equal(files.count, 1);
        file_list_free(&files);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_copy_reaches_the_simulator_alone),
        cmocka_unit_test(test_the_world_has_the_machines_of_the_reservation),
        cmocka_unit_test(test_what_cannot_be_rehearsed_is_named),
        cmocka_unit_test(test_a_world_that_is_there_stays),
        cmocka_unit_test(test_files_of_ones_own_are_not_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
