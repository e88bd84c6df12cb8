/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nodes move between two managed clusters of Azure, and the service dies at its commits: before one
 * is written, or right after it.  Each run ends with each node moved once.  AKS takes only a number
 * and names no order, so a machine too many or too few would show here.
 */
#include "tests/cli/small_world.h"
#include "tests/support/sweep.h"

enum { NODES = 2, LONG_MS = 90 * MINUTE_MS };

static const char azure_config[] =
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
    "  east: {machine: a3-megagpu-8g, region: us-east5, zone: us-east5-1, gpus_per_node: 8,"
    " nodes: 16}\n"
    "providers:\n"
    "  azure: {kind: azure, subscription: s-1, endpoint: 'http://127.0.0.1:1/azure', metadata: "
    "'http://127.0.0.1:1/azure'}\n"
    "pools:\n"
    "  prod-a-east: {cluster: prod-a, reservation: east, provider: azure, resource_group: rg,"
    " managed_cluster: prod, agent_pool: gpu, static_nodes: 2}\n"
    "  research-a-east: {cluster: research-a, reservation: east, provider: azure, resource_group:"
    " rg, managed_cluster: lab, agent_pool: gpu, static_nodes: 1}\n"
    "queues:\n"
    "  chat: {wait_target: 30s, service: 20s}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, namespace: serving, gpus: 2, clusters: {prod-a: {}}}\n";

struct death {
    int64_t at; /* commits after the reclaim; 0: none */
    bool is_after;
};

static void run_to_rest(struct rehearsal *rehearsal)
{
    for (int64_t ms = 0; ms < LONG_MS && !rehearsal->is_dead; ms += MINUTE_MS) {
        rehearsal_run(rehearsal, MINUTE_MS);
        if (!rehearsal->is_dead && nodes_of(rehearsal, "prod-a-east") == 6 + NODES &&
            transfers_of(rehearsal, false) == 0)
            break;
    }
    rehearsal_run(rehearsal, rehearsal->is_dead ? 0 : 2 * MINUTE_MS);
}

/* Returns its commits. */
static int64_t play(const struct death *death, const char *faults)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *world = text_format("seed: 11\n%s%s", small_machines, faults);
    owned(rehearsal) struct rehearsal *rehearsal = world_start(folder, azure_config, world, 6, 11);
    owned(json) json_t *answer = NULL;
    struct error err = { 0 };
    int64_t before;

    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, NODES);
    before = rehearsal->commits;
    if (death->at > 0 && death->is_after)
        rehearsal_kill_after_commit(rehearsal, death->at);
    else if (death->at > 0)
        rehearsal_kill_at_commit(rehearsal, death->at);
    run_to_rest(rehearsal);
    if (rehearsal->is_dead) {
        rehearsal_kill(rehearsal);
        if (rehearsal_start(rehearsal, &err) < 0)
            fail_msg("after a death at commit %lld: %s", (long long)death->at, err.text);
        rehearsal->kill_at = 0;
        run_to_rest(rehearsal);
    }
    expect_rest(rehearsal, 6 + NODES);
    return rehearsal->commits - before;
}

static void a_death_at_any_commit_loses_nothing(void **state)
{
    int64_t commits = play(&(struct death){ 0, false }, "");
    struct sweep_part part = sweep_part(5);
    int deaths = 0;

    (void)state;
    assert_true(commits > 20);
    for (int64_t at = 1; at <= commits; at++)
        for (int is_after = 0; is_after < 2; is_after++) {
            if (!sweep_plays(&part))
                continue;
            print_message("commit %lld %s\n", (long long)at, is_after ? "after" : "before");
            play(&(struct death){ at, is_after }, "");
            deaths++;
        }
    print_message("sweep azure: %d deaths in %lld commits\n", deaths, (long long)commits);
}

/* Answers get lost, refused and delayed: each order is still carried out once. */
static void bad_luck_on_the_wire(void **state)
{
    static const char *const faults[] = {
        "faults: {lost_answer: 0.05}\n",
        "faults: {http_500: 0.05, http_500_after: 0.05}\n",
        "faults: {http_429: 0.1, refused: 0.05}\n",
        "faults: {stockout: 0.3}\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        print_message("%s", faults[i]);
        play(&(struct death){ 0, false }, faults[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_at_any_commit_loses_nothing),
        cmocka_unit_test(bad_luck_on_the_wire),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
