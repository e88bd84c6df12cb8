/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The seam is real: a cluster of another kind, of which the broker knows only a row of side.h,
 * gives a node to a Kubernetes cluster and gets it back.  The service dies at each of its commits
 * in turn; each run ends as it began, each node moved once there and once back, and the referee has
 * nothing to say.
 */
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/demo/rehearsal.h"
#include "broker/sides/kube/kube_state.h"
#include "broker/sides/sides.h"
#include "clusters/kube_cluster.h"
#include "tests/cli/stepwise.h"
#include "tests/plain/plain.h"
#include "tests/support/sweep.h"

enum {
    PLAY_MS = 100 * MINUTE_MS,
    SAMPLE = 6, /* without SLUICE_SWEEP one commit in so many */
};

/* Instead of the product's tables (clusters/kinds.c, broker/sides/sides.c), which are then not
   linked. */
const struct cluster_kind *const cluster_kinds[] = { &cluster_kubernetes, &plain_cluster, NULL };
const struct side *const sides_known[] = { &side_kube, &plain_side, NULL };

/* The small world with a short day, and this as its research cluster. */
static char *small_config_of(const char *cluster)
{
    static const char day[] = "from: '08:00', to: '20:00'}\n";
    static const char night[] = "from: '20:00', to: '08:00'}\n";
    static const char research[] = "{role: research, kubeconfig: research-a.kubeconfig}\n";
    const char *at_day = strstr(small_config, day);
    const char *at_night = strstr(small_config, night);
    const char *at_research = strstr(small_config, research);

    return text_format("%.*sfrom: '06:20', to: '06:45'}\n%.*sfrom: '06:45', to: '06:20'}\n%.*s"
                       "%s\n%s",
                       (int)(at_day - small_config), small_config,
                       (int)(at_night - at_day - (int)strlen(day)), at_day + strlen(day),
                       (int)(at_research - at_night - (int)strlen(night)), at_night + strlen(night),
                       cluster, at_research + strlen(research));
}

static char *config_of_two(void)
{
    return small_config_of("{kind: plain, server: 'http://127.0.0.1:1', role: research}");
}

/* Here a second production cluster is the plain one.  It has no workload: schedules give it nodes.
 */
static const char config_of_three[] =
    "time_zone: UTC\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '06:20', to: '06:45'}\n"
    "  night: {days: mon-sun, from: '06:45', to: '06:20'}\n"
    "journal: ':memory:'\n"
    "ephemeral_label: sluice.dev/ephemeral=true\n"
    "repack_nodes: 0\n"
    "drain: {notice: 5m, deadline: 5m, settle: 5s}\n"
    "lead: {prior_p50: 15m, prior_p95: 25m}\n"
    "clusters:\n"
    "  prod-a: {role: production, kubeconfig: prod-a.kubeconfig}\n"
    "  prod-b: {kind: plain, role: production, server: 'http://127.0.0.1:1'}\n"
    "  research-a: {role: research, kubeconfig: research-a.kubeconfig}\n"
    "reservations:\n"
    "  east: {machine: a3-megagpu-8g, region: us-east5, zone: us-east5-a, gpus_per_node: 8,"
    " nodes: 16}\n"
    "providers:\n"
    "  google: {kind: gcp, endpoint: 'http://127.0.0.1:1/gcp', metadata: "
    "'http://127.0.0.1:1/gcp'}\n"
    "pools:\n"
    "  prod-a-east: {cluster: prod-a, reservation: east, provider: google, project: p,"
    " group: prod-a-east, static_nodes: 1}\n"
    "  prod-b-east: {cluster: prod-b, reservation: east, provider: google, project: p,"
    " group: prod-b-east, static_nodes: 1}\n"
    "  research-a-east: {cluster: research-a, reservation: east, provider: google, project: p,"
    " group: research-a-east, static_nodes: 1}\n"
    "queues:\n"
    "  chat: {wait_target: 30s, service: 20s}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, namespace: serving, gpus: 2, clusters: {prod-a: {}}}\n";

static struct rehearsal *start(const char *folder, const char *config, const char *world)
{
    owned(chars) char *config_path = test_folder_write(folder, "sluice.yaml", config);
    owned(chars) char *world_path = test_folder_write(folder, "world.yaml", world);
    struct wall_time start = { (int64_t)civil_day(2026, 11, 17) * DAY_MS + 6 * HOUR_MS };
    struct error err = { 0 };
    struct rehearsal *rehearsal = rehearsal_open(config_path, world_path, start, 5, &err);

    if (!rehearsal ||
        simulator_write_kubeconfigs(rehearsal->simulator, folder, "http://127.0.0.1:1", &err) < 0 ||
        rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
    rehearsal_run(rehearsal, MINUTE_MS);
    return rehearsal;
}

static struct rehearsal *begin(const char *folder)
{
    owned(chars) char *config = config_of_two();
    owned(chars) char *world = text_format("seed: 5\n%s", small_machines);
    struct rehearsal *rehearsal = start(folder, config, world);

    apply(rehearsal, 7, 6);
    return rehearsal;
}

static void go_on(struct rehearsal *rehearsal)
{
    struct error err = { 0 };

    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
}

static int requests_of(struct rehearsal *rehearsal, const char *verb)
{
    owned(json) json_t *report = simulator_report(rehearsal->simulator);
    owned(chars) char *path = text_format("requests/%s", verb);

    return (int)json_int_or(report, path, 0);
}

/* Until both moves are over, or the service died. */
static void run_there_and_back(struct rehearsal *rehearsal)
{
    for (int64_t ms = 0; ms < PLAY_MS && !rehearsal->is_dead && handed_over(rehearsal) != 2;
         ms += MINUTE_MS)
        rehearsal_run(rehearsal, MINUTE_MS);
    if (!rehearsal->is_dead)
        rehearsal_run(rehearsal, MINUTE_MS);
}

static void expect_there_and_back(struct rehearsal *rehearsal)
{
    assert_int_equal(handed_over(rehearsal), 2);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 6);
    assert_int_equal(nodes_of(rehearsal, "research-a-east"), 10);
    simulator_check_end(rehearsal->simulator);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* at 0: undisturbed; returns the commits after the schedules were applied. */
static int64_t play(int64_t at, bool is_after)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder);
    int64_t before = rehearsal->commits;

    if (at > 0 && is_after)
        rehearsal_kill_after_commit(rehearsal, at);
    else if (at > 0)
        rehearsal_kill_at_commit(rehearsal, at);
    run_there_and_back(rehearsal);
    if (rehearsal->is_dead) {
        rehearsal_kill(rehearsal);
        rehearsal_run(rehearsal, 20 * SECOND_MS);
        go_on(rehearsal);
        run_there_and_back(rehearsal);
    }
    expect_there_and_back(rehearsal);
    assert_true(at == 0 || rehearsal->kill_at == 0); /* it died */
    if (at == 0) {
        assert_true(requests_of(rehearsal, "plain_close") > 0);
        assert_true(requests_of(rehearsal, "plain_serve") > 0);
        assert_true(requests_of(rehearsal, "plain_stop") > 0);
    }
    return rehearsal->commits - before;
}

static void a_node_goes_to_another_kind_of_cluster_and_back(void **state)
{
    int64_t commits = play(0, false);

    (void)state;
    print_message("%lld commits in an undisturbed run\n", (long long)commits);
    assert_true(commits > 30);
}

static void a_death_at_any_commit_loses_nothing(void **state)
{
    struct sweep_part part = sweep_part(SAMPLE);
    int64_t commits = play(0, false);

    (void)state;
    for (int64_t at = 1; at <= commits; at++)
        if (sweep_plays(&part))
            play(at, at / SAMPLE % 2 == 0);
    print_message("sweep death: two kinds, %lld commits in an undisturbed run\n",
                  (long long)commits);
}

/* What the service would say of this file in place of its own. */
static struct error refusal_of(struct rehearsal *rehearsal, const char *folder, const char *text)
{
    owned(chars) char *path = test_folder_write(folder, "next.yaml", text);
    struct error err = { 0 };
    owned(config) struct config *next = config_read(path, &err);

    if (!next)
        fail_msg("%s", err.text);
    if (service_may_become(rehearsal->service, next, &err) == 0)
        err.kind = ERROR_NONE;
    return err;
}

/* Its transfers would go on under the hand of another kind, which never saw them begin. */
static void a_cluster_keeps_its_kind_while_a_node_moves(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder);
    owned(chars) char *same = config_of_two();
    struct error err = { 0 };

    (void)state;
    assert_non_null(run_to(rehearsal, STEP_DRAIN));
    err = refusal_of(rehearsal, folder, same);
    if (err.kind != ERROR_NONE)
        fail_msg("%s", err.text);
    err = refusal_of(rehearsal, folder, small_config);
    if (err.kind != ERROR_DENIED || !strstr(err.text, "pool research-a-east is another one in it"))
        fail_msg("a live transfer's cluster became another kind: %d %s", (int)err.kind, err.text);
}

static char *schedule_of_three(int nodes)
{
    return text_format("workloads:\n  chat-2x:\n    prod-a: 8\ncompute:\n  a3-megagpu-8g:\n"
                       "    us-east5:\n      prod-a:\n        counts: [4]\n"
                       "      prod-b:\n        counts: [%d]\n",
                       nodes);
}

/* By day it gets a node of research, a Kubernetes cluster, and by night it gives one back. */
static void a_production_pool_may_be_of_another_kind(void **state)
{
    static const char machines[] = "seed: 5\npools:\n  prod-a-east: {nodes: 4}\n"
                                   "  prod-b-east: {nodes: 3}\n  research-a-east: {nodes: 9}\n"
                                   "replicas: {chat-2x: {prod-a: 8}}\n"
                                   "jobs: {backlog: 60, duration: 20m..2h}\n";
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = start(folder, config_of_three, machines);
    owned(chars) char *day = schedule_of_three(4);
    owned(chars) char *night = schedule_of_three(3);
    owned(json) json_t *schedules = json_make("{ss ss}", "day", day, "night", night);
    struct error err = { 0 };
    owned(json) json_t *plan = service_apply(rehearsal->service, schedules, NULL, "test", &err);

    (void)state;
    if (!plan)
        fail_msg("%s", err.text);
    run_there_and_back(rehearsal);
    assert_int_equal(handed_over(rehearsal), 2);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 4);
    assert_int_equal(nodes_of(rehearsal, "prod-b-east"), 3);
    assert_int_equal(nodes_of(rehearsal, "research-a-east"), 9);
    assert_true(requests_of(rehearsal, "plain_serve") > 0);
    assert_true(requests_of(rehearsal, "plain_forget") > 0);
    simulator_check_end(rehearsal->simulator);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* Each kind reads its own keys of `clusters.NAME`, and no other does. */
static void a_kind_owns_its_settings(void **state)
{
    static const struct {
        const char *research, *says;
    } rows[] = {
        { "{kind: plain, server: 'http://127.0.0.1:1', role: research}", NULL },
        { "{kind: plain, role: research}", "the key \"server\" is missing" },
        { "{kind: plain, server: 'http://127.0.0.1:1', role: research, kubeconfig: k}",
          "kubeconfig: not valid for the cluster kind plain; valid for: kubernetes" },
        { "{role: research, kubeconfig: k, server: 'http://127.0.0.1:1'}",
          "server: not valid for the cluster kind kubernetes; valid for: plain" },
        { "{role: research}", "the key \"kubeconfig\" is missing" },
        { "{kind: slurm, role: research}",
          "unknown cluster kind \"slurm\"; known kinds: kubernetes, plain" },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *text = small_config_of(rows[i].research);
        owned(chars) char *path = test_folder_write(folder, "sluice.yaml", text);
        struct error err = { 0 };
        owned(config) struct config *config = config_read(path, &err);

        if (!config != (rows[i].says != NULL) || (!config && !strstr(err.text, rows[i].says)))
            fail_msg("row %zu: %s", i, err.text);
    }
}

/* What a side keeps no number of is refused before anything could ask for one. */
static void a_kind_that_keeps_no_numbers_gets_none(void **state)
{
    static const char queue[] = "quotas:\n  shared: {cluster: research-a, cluster_queue: q, "
                                "flavor: f}\n";
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *two = config_of_two();
    owned(chars) char *quota = text_format("%s%s", two, queue);
    owned(chars) char *workload = text_format(
        "%.*s, prod-b: {}}}\n", (int)(strlen(config_of_three) - strlen("}}\n")), config_of_three);
    const struct {
        const char *config, *says;
    } rows[] = {
        { two, NULL },
        { quota, "quotas.shared.cluster: research-a is a cluster of kind plain, which has no "
                 "quotas" },
        { config_of_three, NULL },
        { workload, "clusters.prod-b: is a cluster of kind plain, which keeps no replicas" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *path = test_folder_write(folder, "sluice.yaml", rows[i].config);
        struct error err = { 0 };
        owned(config) struct config *config = config_read(path, &err);

        if (!config != (rows[i].says != NULL) || (!config && !strstr(err.text, rows[i].says)))
            fail_msg("row %zu: %s", i, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_goes_to_another_kind_of_cluster_and_back),
        cmocka_unit_test(a_death_at_any_commit_loses_nothing),
        cmocka_unit_test(a_cluster_keeps_its_kind_while_a_node_moves),
        cmocka_unit_test(a_kind_owns_its_settings),
        cmocka_unit_test(a_kind_that_keeps_no_numbers_gets_none),
        cmocka_unit_test(a_production_pool_may_be_of_another_kind),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
