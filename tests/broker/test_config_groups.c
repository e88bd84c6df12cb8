/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replicas larger than a node in sluice.yaml: who may have them, and the groups of nodes that pools
 * then have.
 */
#include "base/memory.h"
#include "base/text.h"
#include "broker/config/config.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <string.h>

static const char head[] =
    "time_zone: UTC\n"
    "clusters:\n"
    "  prod: {role: production, kubeconfig: p}\n"
    "  next: {role: production, kubeconfig: n}\n"
    "  lab: {role: research, kubeconfig: r}\n"
    "reservations:\n"
    "  east: {machine: m8, region: r1, zone: r1-a, gpus_per_node: 8, nodes: 24}\n"
    "  west: {machine: m4, region: r1, zone: r1-b, gpus_per_node: 4, nodes: 24}\n"
    "providers:\n"
    "  cloud: {kind: gcp}\n"
    "pools:\n"
    "  pe: {cluster: prod, reservation: east, provider: cloud, project: x, group: pe, node_max: "
    "7}\n"
    "  pw: {cluster: prod, reservation: west, provider: cloud, project: x, group: pw}\n"
    "  ne: {cluster: next, reservation: east, provider: cloud, project: x, group: ne}\n"
    "  le: {cluster: lab, reservation: east, provider: cloud, project: x, group: le}\n"
    "queues:\n"
    "  chat: {wait_target: 20s, service: 30s}\n";

#define WORKLOADS "workloads:\n"
#define SMALL "  small: {queue: chat, gpus: 4, clusters: {prod: {}, next: {}}}\n"
#define LARGE(gpus, cluster)                                                                       \
    "  large-" #gpus ": {queue: chat, gpus: " #gpus ", kind: leaderworkerset, clusters: {" cluster \
    ": {}}}\n"
#define SUCH "sluice.yaml:19: workloads.such.gpus: "
#define A_SUCH(gpus) WORKLOADS "  such: {queue: chat, gpus: " gpus ", clusters: {prod: {}}"

static void a_replica_divides_a_node_or_is_some_nodes(void **state)
{
    static const struct {
        const char *more;
        const char *refusal; /* NULL: accepted */
    } rows[] = {
        { WORKLOADS SMALL LARGE(16, "prod"), NULL },
        { A_SUCH("3") "}\n", SUCH "3 does not divide the 8 GPUs of a node of pool pe" },
        { A_SUCH("12") ", kind: leaderworkerset}\n",
          SUCH "12 is no multiple of the 8 GPUs of a node of pool pe" },
        { A_SUCH("16") "}\n",
          SUCH "one replica takes 2 nodes of pool pe, which requires kind: leaderworkerset" },
        { A_SUCH("8") "}\n",
          SUCH "one replica takes 2 nodes of pool pw, which requires kind: leaderworkerset" },
        { A_SUCH("64") ", kind: leaderworkerset}\n",
          SUCH "pool pe gets its nodes in groups of 8, and holds at most 7" },
        { WORKLOADS LARGE(16, "prod") LARGE(24, "prod") LARGE(32, "prod"),
          "sluice.yaml:21: workloads.large-32.gpus: pool pe gets its nodes in groups of 12, and "
          "holds at most 7" },
        { "guard: {in_flight: 3}\n" WORKLOADS LARGE(32, "next"),
          "sluice.yaml:18: guard.in_flight: pool ne gets its nodes in groups of 4: at least as "
          "many must be allowed at once" },
        { "guard: {in_flight_per_cluster: 3}\n" WORKLOADS LARGE(32, "next"),
          "sluice.yaml:18: guard.in_flight_per_cluster: pool ne gets its nodes in groups of 4: at "
          "least as many must be allowed at once" },
        { "guard: {in_flight: 4, in_flight_per_cluster: 4}\n" WORKLOADS LARGE(32, "next"), NULL },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *text = text_format("%s%s", head, rows[i].more);
        owned(chars) char *path = test_folder_write(folder, "sluice.yaml", text);
        struct error err = { 0 };
        owned(config) struct config *config = config_read(path, &err);

        if (!config != (rows[i].refusal != NULL) || (!config && !strstr(err.text, rows[i].refusal)))
            fail_msg("row %zu: %s", i, config ? "was accepted" : err.text);
    }
}

static void pools_have_groups_that_all_their_replicas_fill(void **state)
{
    static const struct {
        const char *workloads;
        int64_t groups[4]; /* of pe, pw, ne, le */
    } rows[] = {
        { SMALL, { 1, 1, 1, 1 } },
        { SMALL LARGE(16, "prod"), { 2, 4, 1, 1 } },
        { LARGE(16, "prod") LARGE(24, "prod"), { 6, 12, 1, 1 } },
        { LARGE(16, "next") LARGE(32, "next"), { 1, 1, 4, 1 } },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *text = text_format("%s" WORKLOADS "%s", head, rows[i].workloads);
        owned(chars) char *path = test_folder_write(folder, "sluice.yaml", text);
        struct error err = { 0 };
        owned(config) struct config *config = config_read(path, &err);

        if (!config)
            fail_msg("row %zu: %s", i, err.text);
        for (size_t at = 0; at < 4; at++)
            if (config->pools[at].group != rows[i].groups[at])
                fail_msg("row %zu: pool %s has groups of %d", i, config->pools[at].name,
                         (int)config->pools[at].group);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replica_divides_a_node_or_is_some_nodes),
        cmocka_unit_test(pools_have_groups_that_all_their_replicas_fill),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
