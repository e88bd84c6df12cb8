/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Quotas beside each other in sluice.yaml: a movable node's GPUs are promised by one of them.
 */
#include "base/error.h"
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
    "  lab: {role: research, kubeconfig: r}\n"
    "  den: {role: research, kubeconfig: d}\n"
    "reservations:\n"
    "  east: {machine: m8, region: r1, zone: r1-a, gpus_per_node: 8, nodes: 24}\n"
    "  west: {machine: m8, region: r1, zone: r1-b, gpus_per_node: 8, nodes: 24}\n"
    "providers:\n"
    "  cloud: {kind: gcp}\n"
    "pools:\n"
    "  pe: {cluster: prod, reservation: east, provider: cloud, project: x, group: pe}\n"
    "  le: {cluster: lab, reservation: east, provider: cloud, project: x, group: le}\n"
    "  lw: {cluster: lab, reservation: west, provider: cloud, project: x, group: lw}\n"
    "  de: {cluster: den, reservation: east, provider: cloud, project: x, group: de}\n"
    "queues:\n"
    "  chat: {wait_target: 20s, service: 30s}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, gpus: 2, clusters: {prod: {}}}\n"
    "quotas:\n"
    "  first: {cluster_queue: a, flavor: f, cluster: ";

#define SECOND(more) "}\n  second: {cluster_queue: b, flavor: f, cluster: " more "}\n"
#define OVERLAP                                                                                    \
    "sluice.yaml:22: quotas.second: promises the GPUs of the same movable nodes as quotas.first "  \
    "of line 21: "

static void movable_nodes_follow_one_quota(void **state)
{
    static const struct {
        const char *quotas;
        const char *refusal; /* NULL: accepted */
    } rows[] = {
        { "lab" SECOND("lab"), OVERLAP },
        { "lab, pool: le" SECOND("lab"), OVERLAP },
        { "lab" SECOND("lab, pool: lw"), OVERLAP },
        { "lab, pool: le" SECOND("lab, pool: le"), OVERLAP },
        { "lab, resource: amd.com/gpu" SECOND("lab, resource: amd.com/gpu"), OVERLAP },
        { "lab, pool: le" SECOND("lab, pool: lw"), NULL },
        { "lab" SECOND("den"), NULL },
        { "lab" SECOND("lab, resource: amd.com/gpu"), NULL },
        { "lab" SECOND("lab, reserved: true"), NULL },
        { "lab, reserved: true" SECOND("lab, reserved: true"), NULL },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *text = text_format("%s%s", head, rows[i].quotas);
        owned(chars) char *path = test_folder_write(folder, "sluice.yaml", text);
        struct error err = { 0 };
        owned(config) struct config *config = config_read(path, &err);

        if (!config != (rows[i].refusal != NULL) || (!config && !strstr(err.text, rows[i].refusal)))
            fail_msg("row %zu: %s", i, config ? "was accepted" : err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(movable_nodes_follow_one_quota),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
