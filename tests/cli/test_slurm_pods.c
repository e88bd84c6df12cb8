/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of a Slurm cluster that run as pods of the research cluster, which names that cluster: a
 * node goes to production and comes back while jobs run.  No such pod leaves before its jobs; the
 * referee sees each that does.
 */
#include "broker/transfer/tenant.h"
#include "tests/cli/people.h"
#include "tests/support/sweep.h"
#include "tools/simulator/model/simulator.h"
#include "tools/simulator/slurm/ctld.h"

enum {
    PLAY_MS = 120 * MINUTE_MS,
    SAMPLE = 64, /* without SLUICE_SWEEP one commit in so many */
};

/* What each tool writes on a pod, and what its node is called in Slurm. */
static const struct kind {
    const char *tool, *release, *owner_version, *owner_kind, *label, *value, *name;
} kinds[] = {
    { "Slinky", "24.11", "slinky.slurm.net/v1beta1", "NodeSet",
      "nodeset.slinky.slurm.net/pod-hostname", "gpu-%d", "gpu-%d" },
    { "SUNK", "24.11", "sunk.coreweave.com/v1alpha1", "NodeSet", "app", "slurmd", "slurmd-%d" },
    { "Soperator", "22.05", "apps.kruise.io/v1beta1", "StatefulSet", "slurm.nebius.ai/worker",
      "true", "slurmd-%d" },
};

static char *config_of(void)
{
    static const char day[] = "from: '08:00', to: '20:00'}\n";
    static const char night[] = "from: '20:00', to: '08:00'}\n";
    static const char research[] = "{role: research, kubeconfig: research-a.kubeconfig}\n";
    const char *at_day = strstr(small_config, day);
    const char *at_night = strstr(small_config, night);
    const char *at_research = strstr(small_config, research);

    return text_format(
        "%.*sfrom: '06:20', to: '06:45'}\n%.*sfrom: '06:45', to: '06:20'}\n%.*s"
        "{role: research, kubeconfig: research-a.kubeconfig, slurm: research-slurm}\n"
        "  research-slurm: {kind: slurm, role: research, rest: "
        "'http://127.0.0.1:1/slurm/research-slurm', rest_user: root, token: slurm.token, "
        "ssh_address: login-research-slurm, ssh_user: root, ssh_host_key: 'ssh-ed25519 "
        "AAAAC3NzaC1lZDI1NTE5AAAAIHeY7hxwNvzLpEw5s4yQGf0Gm3sQh5eQxW6cCkqv0m1r', ssh_key: key}\n%s",
        (int)(at_day - small_config), small_config, (int)(at_night - at_day - (int)strlen(day)),
        at_day + strlen(day), (int)(at_research - at_night - (int)strlen(night)),
        at_night + strlen(night), at_research + strlen(research));
}

/* As the tool does when a node comes. */
static struct kube_pod *run_slurmd(struct rehearsal *rehearsal, const struct kind *kind,
                                   struct kube_node *node, int number)
{
    struct simulator *sim = rehearsal->simulator;
    owned(chars) char *name = text_format("slurmd-%d", number);
    owned(chars) char *slurm = text_format(strstr(kind->name, "gpu") ? "gpu-%d" : "slurmd-%d",
                                           number);
    struct kube_pod *pod = people_bind(rehearsal, node, name, false);
    json_t *metadata = json_object_get(pod->written, "metadata");

    json_put(metadata, "ownerReferences",
             json_make("[{s:s, s:s, s:s, s:b}]", "apiVersion", kind->owner_version, "kind",
                       kind->owner_kind, "name", "slurm", "controller", 1));
    json_put(metadata, "labels",
             json_make("{ss}", kind->label, strchr(kind->value, '%') ? slurm : kind->value));
    sim_pod_changed(sim, pod, CHANGE_MODIFIED);
    sim_slurm_lodge(sim, sim_cluster(sim, "research-slurm")->slurm, pod, slurm);
    return pod;
}

static bool has_slurmd(const struct kube_node *node)
{
    for (size_t i = 0; i < node->pods.count; i++)
        if (node->pods.items[i]->slurm_node)
            return true;
    return false;
}

/* One on each movable node that is open and has none; under the first name that is free. */
static void run_missing(struct rehearsal *rehearsal, const struct kind *kind)
{
    const struct kube_cluster *cluster = sim_cluster(rehearsal->simulator, "research-a");
    void *value;
    int number = 0;

    for (size_t i = 0; map_next(cluster->nodes, &i, NULL, &value);) {
        struct kube_node *node = value;

        if (node->is_static || node->is_unschedulable || !node->machine || has_slurmd(node) ||
            json_array_size(node->taints) > 0)
            continue;
        for (bool is_taken = true; is_taken; number += is_taken) {
            owned(chars) char *key = text_format("ml/slurmd-%d", number);

            is_taken = map_get(cluster->pods, key) != NULL;
        }
        run_slurmd(rehearsal, kind, node, number++);
    }
}

static struct rehearsal *open_world(const struct kind *kind, const char *folder, uint64_t seed)
{
    owned(chars) char *config = config_of();
    int head = (int)(strstr(small_machines, "jobs: ") - small_machines);
    owned(chars) char *world = text_format(
        "seed: %llu\n%.*sjobs: {backlog: 12, duration: 20m..2h}\n"
        "slurm: {research-slurm: {release: '%s'}}\n",
        (unsigned long long)seed, head, small_machines, kind->release);
    struct rehearsal *rehearsal;

    mem_free(test_folder_write(folder, "key", "no key is read here\n"));
    mem_free(test_folder_write(folder, "slurm.token", "slurm-research-slurm\n"));
    rehearsal = world_start(folder, config, world, 6, seed);
    run_missing(rehearsal, kind);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    return rehearsal;
}

static struct rehearsal *begin(const struct kind *kind, const char *folder, uint64_t seed)
{
    struct rehearsal *rehearsal = open_world(kind, folder, seed);

    apply(rehearsal, 7, 6);
    return rehearsal;
}

static void run_there_and_back(struct rehearsal *rehearsal, const struct kind *kind)
{
    for (int64_t ms = 0; ms < PLAY_MS && !rehearsal->is_dead && handed_over(rehearsal) != 2;
         ms += MINUTE_MS) {
        rehearsal_run(rehearsal, MINUTE_MS);
        if (!rehearsal->is_dead)
            run_missing(rehearsal, kind);
    }
    if (!rehearsal->is_dead)
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
}

static void run_to_its_end(struct rehearsal *rehearsal, const struct transfer *transfer)
{
    for (int i = 0; i < 60 && transfer->state == TRANSFER_LIVE; i++)
        rehearsal_run(rehearsal, MINUTE_MS);
    rehearsal_run(rehearsal, MINUTE_MS);
}

static void tell_transfers(const struct rehearsal *rehearsal)
{
    const struct runner *runner = rehearsal->service->runner;

    for (size_t i = 0; i < runner->transfers.count; i++) {
        const struct transfer *transfer = runner->transfers.items[i];

        print_message("%s: node %s, step %d, state %d: %s\n", transfer->id, transfer->node,
                      (int)transfer->step, (int)transfer->state, transfer->waiting);
    }
}

static void expect_there_and_back(struct rehearsal *rehearsal)
{
    if (handed_over(rehearsal) != 2)
        tell_transfers(rehearsal);
    assert_int_equal(handed_over(rehearsal), 2);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 6);
    assert_int_equal(nodes_of(rehearsal, "research-a-east"), 10);
    simulator_check_end(rehearsal->simulator);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* A person at the login node. */
static void run_command(struct rehearsal *rehearsal, const char *line)
{
    owned(text) struct text *out = text_new(1 << 20);

    if (simulator_slurm_run(rehearsal->simulator, "research-slurm", line, out) != 0)
        fail_msg("%s: %s", line, out->chars);
}

static bool is_shown(struct rehearsal *rehearsal, const char *line, const char *text)
{
    owned(text) struct text *out = text_new(1 << 20);

    return simulator_slurm_run(rehearsal->simulator, "research-slurm", line, out) == 0 &&
           strstr(out->chars, text);
}

static int64_t requeued(const struct rehearsal *rehearsal)
{
    owned(json) json_t *report = sim_slurm_report(
        sim_cluster(rehearsal->simulator, "research-slurm")->slurm);

    return json_int_or(report, "requeued", -1);
}

/* The name in Slurm of the node that leaves; a copy. */
static char *tenant_name(struct rehearsal *rehearsal, const struct transfer *transfer)
{
    struct tenant tenant;

    assert_true(tenant_find(rehearsal->service->runner, transfer, &tenant));
    return mem_copy_chars(tenant.node);
}

static bool is_bound(struct rehearsal *rehearsal, const char *node)
{
    const struct kube_node *found = people_node(rehearsal, "research-a", node);

    return found && has_slurmd(found);
}

/* at 0: undisturbed; returns the commits after the schedules were applied. */
static int64_t play(const struct kind *kind, int64_t at, bool is_after)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(kind, folder, 6);
    int64_t before = rehearsal->commits;
    struct error err = { 0 };

    if (at > 0 && is_after)
        rehearsal_kill_after_commit(rehearsal, at);
    else if (at > 0)
        rehearsal_kill_at_commit(rehearsal, at);
    run_there_and_back(rehearsal, kind);
    if (rehearsal->is_dead) {
        rehearsal_kill(rehearsal);
        rehearsal_run(rehearsal, 20 * SECOND_MS);
        if (rehearsal_start(rehearsal, &err) < 0)
            fail_msg("%s", err.text);
        run_there_and_back(rehearsal, kind);
    }
    expect_there_and_back(rehearsal);
    assert_false(is_shown(rehearsal, "scontrol show job", "sluice: node"));
    assert_true(requeued(rehearsal) > 0);
    assert_true(at == 0 || rehearsal->kill_at == 0); /* it died */
    return rehearsal->commits - before;
}

static void a_node_goes_to_production_and_back_whatever_dies(void **state)
{
    struct sweep_part part = sweep_part(SAMPLE);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        int64_t commits = play(&kinds[i], 0, false);

        print_message("%s: %lld commits in an undisturbed run\n", kinds[i].tool,
                      (long long)commits);
        assert_true(commits > 30);
        for (int64_t at = 1; at <= commits; at++)
            if (sweep_plays(&part))
                play(&kinds[i], at, at / SAMPLE % 2 == 0);
    }
}

/* Slurm falls silent when the drain begins: its deadline stands still, the pod stays, and the
   transfer says what it waits for.  It goes on when Slurm is back. */
static void a_silent_slurm_keeps_the_pod(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[0], folder, 6);
    const struct transfer *transfer;
    char node[TRANSFER_NAME_SIZE];

    (void)state;
    transfer = run_to(rehearsal, STEP_DRAIN);
    text_copy(node, sizeof node, transfer->node);
    simulator_slurm_restart(rehearsal->simulator, "research-slurm", 40 * MINUTE_MS);
    rehearsal_run(rehearsal, 35 * MINUTE_MS);
    assert_int_equal(transfer->state, TRANSFER_LIVE);
    assert_int_equal(transfer->step, STEP_DRAIN);
    assert_true(is_bound(rehearsal, node));
    if (!strstr(transfer->waiting, "cluster research-slurm to be read"))
        fail_msg("%s", transfer->waiting);
    rehearsal_run(rehearsal, 30 * MINUTE_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* Slurm falls silent when the machine has gone, for longer than the step takes: the transfer goes
   on, and lifts its reservation, its comment and its own drain when Slurm is back.  A person's
   drain stays. */
static void what_a_silent_slurm_kept_is_lifted_later(void **state)
{
    (void)state;
    for (int is_persons = 0; is_persons < 2; is_persons++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[0], folder, 6);
        const struct transfer *transfer = run_to(rehearsal, STEP_NOTICE);
        owned(chars) char *name = tenant_name(rehearsal, transfer);
        owned(chars) char *show = text_format("scontrol show node %s", name);
        owned(chars) char *reserved = text_format("Nodes=%s ", name);
        owned(chars) char *drain = text_format("scontrol update NodeName=%s State=DRAIN "
                                               "Reason='fan 3 is loud (anna)'",
                                               name);

        if (is_persons)
            run_command(rehearsal, drain);
        (void)run_to(rehearsal, STEP_CLEAR);
        assert_true(is_shown(rehearsal, "scontrol show reservation", reserved));
        assert_true(is_shown(rehearsal, show, "Comment=sluice: leaves at"));
        simulator_slurm_restart(rehearsal->simulator, "research-slurm", 12 * MINUTE_MS);
        (void)run_to(rehearsal, STEP_ACQUIRE);
        run_to_its_end(rehearsal, transfer);
        assert_int_equal(transfer->state, TRANSFER_DONE);
        assert_int_equal(is_shown(rehearsal, show, "DRAIN"), is_persons);
        assert_false(is_shown(rehearsal, show, "sluice: leaves at"));
        assert_false(is_shown(rehearsal, "scontrol show reservation", reserved));
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

/* The jobs on that node last for hours, and Slurm may not requeue the first of them. */
static int keep_jobs(struct rehearsal *rehearsal, const char *name)
{
    struct ctld *slurm = sim_cluster(rehearsal->simulator, "research-slurm")->slurm;
    const struct ctld_node *node = map_get(slurm->nodes, name);
    int count = 0;

    for (size_t i = 0; i < slurm->jobs.count; i++) {
        struct ctld_job *job = slurm->jobs.items[i];

        if (job->state != CTLD_RUNNING || !ctld_job_is_on(job, node))
            continue;
        job->may_requeue = count++ > 0;
        job->work_ms += 5 * HOUR_MS;
        job->stamp++; /* the end that was planned does not come */
    }
    return count;
}

/* In a reclaim the jobs have the time for a checkpoint, and not that until the drain's deadline. */
static void a_reclaim_waits_for_checkpoints_only(void **state)
{
    enum { LEAD_MS = 2 * MINUTE_MS, POLLS_MS = 45 * SECOND_MS };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = open_world(&kinds[i], folder, 6);
        struct transfer *transfer = reclaimed(rehearsal, STEP_DRAIN);
        owned(chars) char *name = tenant_name(rehearsal, transfer);
        int64_t began_ms = loop_now(rehearsal->loop);
        int64_t before = requeued(rehearsal);
        int jobs = keep_jobs(rehearsal, name);

        assert_true(jobs > 1);
        while (transfer->step <= STEP_FORCE && loop_now(rehearsal->loop) < began_ms + HOUR_MS)
            rehearsal_run(rehearsal, SECOND_MS);
        print_message("%s: %d jobs left after %lld s\n", kinds[i].tool, jobs,
                      (long long)((loop_now(rehearsal->loop) - began_ms) / SECOND_MS));
        assert_in_range(loop_now(rehearsal->loop) - began_ms, LEAD_MS, LEAD_MS + POLLS_MS);
        assert_int_equal(requeued(rehearsal) - before, jobs - 1);
        run_to_its_end(rehearsal, transfer);
        assert_int_equal(transfer->state, TRANSFER_DONE);
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

static bool has_job_of_slurm(const json_t *gangs)
{
    const json_t *gang;
    bool has = false;
    size_t i;

    json_array_foreach(gangs, i, gang)
        has |= text_equal(json_text_or(gang, "kind", ""), "Slurm job");
    return has;
}

/* The board and the bill name the jobs of Slurm, not the pod that they run in. */
static void the_board_and_the_bill_name_slurms_jobs(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[0], folder, 6);
    owned(json) json_t *schedules = small_schedules(8, 6);
    struct error err = { 0 };
    owned(json) json_t *plan = service_plan(rehearsal->service, schedules, &err);
    owned(json) json_t *board = NULL;

    (void)state;
    assert_non_null(plan);
    assert_true(has_job_of_slurm(json_at(plan, "bill/gangs")));
    assert_non_null(run_to(rehearsal, STEP_NOTICE));
    board = service_departures(rehearsal->service, HOUR_MS);
    assert_true(has_job_of_slurm(json_at(json_array_get(json_at(board, "departures"), 0), "jobs")));
}

/* A freeze of Slurm holds the nodes that host its pods. */
static void a_freeze_of_slurm_holds_its_hosts(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[0], folder, 6);
    const struct transfer *transfer = run_to(rehearsal, STEP_NOTICE);

    (void)state;
    freeze_for(rehearsal, "research-slurm", 12 * MINUTE_MS);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    assert_int_equal(transfer->step, STEP_CORDON);
    if (!strstr(transfer->waiting, "frozen until"))
        fail_msg("%s", transfer->waiting);
    run_to_its_end(rehearsal, transfer);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* Without it the drain in Slurm would stay. */
static void a_configuration_without_the_tenants_cluster_is_refused(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[0], folder, 6);
    owned(chars) char *path = test_folder_write(folder, "next.yaml", small_config);
    struct error err = { 0 };
    owned(config) struct config *next = config_read(path, &err);

    (void)state;
    assert_non_null(next);
    assert_int_equal(service_may_become(rehearsal->service, next, &err), 0);
    assert_non_null(run_to(rehearsal, STEP_CORDON));
    assert_int_equal(service_may_become(rehearsal->service, next, &err), -1);
    if (!strstr(err.text, "cluster research-a does not name research-slurm any more"))
        fail_msg("%s", err.text);
}

/* A person resumes the node in Slurm again and again while the pod leaves, so that jobs start: the
   referee sees no pod leave under one. */
static void a_job_that_starts_at_the_last_moment_is_seen(void **state)
{
    (void)state;
    for (uint64_t seed = 20; seed < 23; seed++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[0], folder, seed);
        const struct transfer *transfer = run_to(rehearsal, STEP_FORCE);
        owned(chars) char *name = tenant_name(rehearsal, transfer);
        owned(chars) char *resume = text_format("scontrol update NodeName=%s State=RESUME", name);

        for (int i = 0; i < 2 && transfer->step <= STEP_RELEASE; i++) {
            rehearsal_run(rehearsal, (int64_t)(seed - 20) * 3400 + 300);
            if (is_bound(rehearsal, transfer->node))
                (void)is_shown(rehearsal, resume, ""); /* refused if it does not drain now */
        }
        run_to_its_end(rehearsal, transfer);
        assert_int_not_equal(transfer->state, TRANSFER_LIVE);
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

/* A person drains the node in Slurm while it is announced: that reason is there as long as the node
   is, and after the transfer too. */
static void a_persons_drain_keeps_its_reason(void **state)
{
    (void)state;
    for (int is_back = 0; is_back < 2; is_back++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[0], folder, 7);
        struct transfer *transfer = run_to(rehearsal, STEP_NOTICE);
        owned(chars) char *name = tenant_name(rehearsal, transfer);
        owned(chars) char *show = text_format("scontrol show node %s", name);
        owned(chars) char *drain = text_format("scontrol update NodeName=%s State=DRAIN "
                                               "Reason='fan 3 is loud (anna)'",
                                               name);
        owned(chars) char *reserved = text_format("Nodes=%s ", name);

        assert_true(is_shown(rehearsal, "scontrol show reservation", reserved));
        run_command(rehearsal, drain);
        assert_non_null(run_to(rehearsal, STEP_DRAIN));
        if (is_back)
            runner_withdraw(rehearsal->service->runner, transfer, "a test");
        run_to_its_end(rehearsal, transfer);
        assert_int_equal(transfer->state, is_back ? TRANSFER_UNDONE : TRANSFER_DONE);
        assert_true(is_shown(rehearsal, show, "fan 3 is loud (anna)"));
        assert_false(is_shown(rehearsal, "scontrol show reservation", reserved));
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

/* Withdrawn at each step before the machine goes: both drains and the reservation are lifted. */
static void an_undo_gives_both_nodes_back(void **state)
{
    static const enum transfer_step steps[] = { STEP_NOTICE, STEP_CORDON, STEP_DRAIN, STEP_FORCE };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[2], folder, 6);
        struct transfer *transfer = run_to(rehearsal, steps[i]);
        owned(chars) char *name = tenant_name(rehearsal, transfer);
        owned(chars) char *show = text_format("scontrol show node %s", name);

        assert_true(is_shown(rehearsal, "scontrol show job", transfer->id)); /* they are told */
        runner_withdraw(rehearsal->service->runner, transfer, "a test");
        for (int s = 0; s < 600 && transfer->state == TRANSFER_LIVE; s++)
            rehearsal_run(rehearsal, SECOND_MS);
        assert_int_equal(transfer->state, TRANSFER_UNDONE);
        assert_false(people_node(rehearsal, "research-a", transfer->node)->is_unschedulable);
        assert_false(is_shown(rehearsal, show, "DRAIN"));
        assert_false(is_shown(rehearsal, "scontrol show job", transfer->id));
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_slurm_keeps_the_pod),
        cmocka_unit_test(what_a_silent_slurm_kept_is_lifted_later),
        cmocka_unit_test(a_reclaim_waits_for_checkpoints_only),
        cmocka_unit_test(the_board_and_the_bill_name_slurms_jobs),
        cmocka_unit_test(a_freeze_of_slurm_holds_its_hosts),
        cmocka_unit_test(a_configuration_without_the_tenants_cluster_is_refused),
        cmocka_unit_test(a_job_that_starts_at_the_last_moment_is_seen),
        cmocka_unit_test(a_persons_drain_keeps_its_reason),
        cmocka_unit_test(an_undo_gives_both_nodes_back),
        cmocka_unit_test(a_node_goes_to_production_and_back_whatever_dies),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
