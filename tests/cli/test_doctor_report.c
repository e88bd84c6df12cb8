/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What `sluice doctor` prints: in the same order whichever answer comes first, and each remedy once
 * with all that it is for.
 */
#include "base/log.h"
#include "tests/cli/said.h"
#include "tests/support/folder.h"

static const char config[] =
    "time_zone: UTC\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '00:00', to: '24:00'}\n"
    "clusters:\n"
    "  zeta: {role: production, kubeconfig: kubeconfig}\n"
    "  beta: {role: research, kubeconfig: kubeconfig}\n"
    "  alpha: {role: research, kubeconfig: kubeconfig}\n"
    "reservations:\n"
    "  east: {machine: a3-megagpu-8g, region: us-east5, zone: us-east5-a, gpus_per_node: 8, nodes: "
    "10}\n"
    "providers:\n"
    "  google: {kind: gcp, endpoint: 'http://127.0.0.1:9/gcp', metadata: "
    "'http://127.0.0.1:9/gcp'}\n"
    "pools:\n"
    "  zeta-east: {cluster: zeta, reservation: east, provider: google, project: p, group: a,"
    " static_nodes: 1}\n"
    "  alpha-east: {cluster: alpha, reservation: east, provider: google, project: p, group: b,"
    " static_nodes: 1}\n"
    "queues:\n"
    "  chat: {wait_target: 30s, service: 20s}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, namespace: serving, gpus: 2, clusters: {zeta: {}}}\n";

/* Nothing listens on the discard port. */
static const char kubeconfig[] = "apiVersion: v1\n"
                                 "kind: Config\n"
                                 "clusters: [{name: a, cluster: {server: 'http://127.0.0.1:9'}}]\n"
                                 "users: [{name: u, user: {token: x}}]\n"
                                 "contexts: [{name: c, context: {cluster: a, user: u}}]\n"
                                 "current-context: c\n";

static void a_remedy_names_all_that_it_is_for(void **state)
{
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    mem_free(test_folder_write(folder, "sluice.yaml", config));
    mem_free(test_folder_write(folder, "kubeconfig", kubeconfig));

    owned(said) struct said said = expect_code(folder, EXIT_DIFFERENT,
                                               "doctor --timeout 5s -c @/sluice.yaml");
    const char *out = said.out->chars;

    assert_non_null(strstr(out, "  cluster alpha, beta, zeta: see that the server can be reached"));
    assert_true(strstr(out, " alpha ") < strstr(out, " beta "));
    assert_true(strstr(out, " beta ") < strstr(out, " zeta "));
    assert_true(strstr(out, " zeta ") < strstr(out, " alpha-east "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_remedy_names_all_that_it_is_for),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
