/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What Slurm and people set on nodes by themselves: DOWN, FUTURE, powered down; and a job on two
 * nodes that leave for different reasons.
 */
#include "broker/doctor/doctor.h"
#include "tests/cli/slurm_jobs.h"
#include "tools/simulator/slurm/ctld.h"
#include "tools/simulator/slurm/ctld_peek.h"

static const char *const returns[] = { ", return_to_service: 0", ", return_to_service: 1",
                                       ", return_to_service: 2" };

static struct kind with(const struct kind *kind, const char *more)
{
    struct kind out = *kind;

    out.more = more;
    return out;
}

/* A node of slurm.conf is parked, and DOWN when its next machine registers: slurmctld lifts that
   by itself with ReturnToService=2 only. */
static void a_parked_node_comes_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (size_t k = 0; text_equal(kinds[i].nodes, "fixed") && k < COUNT_OF(returns); k++) {
            struct kind kind = with(&kinds[i], returns[k]);
            owned(test_folder) char *folder = test_folder_new();
            owned(rehearsal) struct rehearsal *rehearsal = begin(&kind, folder, 5);

            run_there_and_back(rehearsal);
            expect_there_and_back(rehearsal);
            for (size_t at = 0; at < 2; at++)
                assert_int_equal(transfer_at(rehearsal, at)->attempt, 1);
        }
}

/* Neither its reservation nor its drain; 24.11 keeps a reason without a drain. */
static void expect_no_trace(struct rehearsal *rehearsal, const char *node, const char *transfer)
{
    owned(chars) char *show = text_format("scontrol -o show node %s", node);
    owned(chars) char *shown = run_command(rehearsal, show);
    owned(chars) char *reservations = run_command(rehearsal, "scontrol -o show reservations");

    if (strstr(reservations, transfer) || (strstr(shown, "DRAIN") && strstr(shown, transfer)))
        fail_msg("%s%s", reservations, shown);
}

/* The node is hidden for minutes, before sluice has drained it or after. */
static void hide(const struct kind *kind, enum transfer_step step, bool is_off)
{
    struct kind with_power = with(kind, ", power_saving: true");
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(&with_power, folder, 5);
    struct transfer *transfer = run_to(rehearsal, step);
    bool is_drained = step > STEP_NOTICE;
    char node[TRANSFER_NAME_SIZE];

    assert_non_null(transfer);
    rehearsal_run(rehearsal, 40 * SECOND_MS); /* the reservation and the drain are there */
    assert_int_equal(transfer->step, step);
    text_copy(node, sizeof node, transfer->node);
    set_node(rehearsal, node, "POWER_DOWN_FORCE");
    rehearsal_run(rehearsal, MINUTE_MS); /* its jobs have left */
    if (!is_off)
        set_node(rehearsal, node, "FUTURE");
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    assert_true(transfer->is_undoing || transfer->state == TRANSFER_UNDONE);

    owned(chars) char *reservations = run_command(rehearsal, "scontrol -o show reservations");

    if (strstr(reservations, transfer->id))
        fail_msg("%s", reservations);
    assert_int_equal(transfer->state, is_drained ? TRANSFER_LIVE : TRANSFER_UNDONE);
    if (is_drained && !strstr(transfer->waiting, "to show in Slurm again"))
        fail_msg("%s", transfer->waiting);
    set_node(rehearsal, node, "POWER_UP");
    rehearsal_run(rehearsal, 10 * SECOND_MS);
    for (int minute = 0; minute < 60 && transfer->state == TRANSFER_LIVE; minute++)
        rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(transfer->state, TRANSFER_UNDONE);
    expect_no_trace(rehearsal, node, transfer->id);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

static void a_hidden_node_keeps_no_trace_of_a_move(void **state)
{
    static const enum transfer_step steps[] = { STEP_NOTICE, STEP_DRAIN };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (size_t k = 0; k < COUNT_OF(steps); k++)
            for (int is_off = 0; is_off <= 1; is_off++)
                hide(&kinds[i], steps[k], is_off);
}

/* On 24.11 its reason outlives what it was given for. */
#define DOWN "DOWN Reason='bad PSU (anna)'"
#define DRAIN "DRAIN Reason='bad PSU (anna)'"

static void expect_down(struct rehearsal *rehearsal, const char *node)
{
    owned(chars) char *show = text_format("scontrol -o show node %s", node);
    owned(chars) char *shown = run_command(rehearsal, show);

    if (!strstr(shown, "State=DOWN") || strstr(shown, "DRAIN") ||
        !strstr(shown, "Reason=bad PSU (anna) [person@"))
        fail_msg("%s", shown);
}

/* The node that goes first if no person touches it. */
static void first_choice(const struct kind *kind, char out[TRANSFER_NAME_SIZE])
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(kind, folder, 7);

    text_copy(out, TRANSFER_NAME_SIZE, run_to(rehearsal, STEP_NOTICE)->node);
}

/* A person has set the node DOWN, so it has no jobs, and would cost the least. */
static void a_node_that_a_person_set_down_is_not_chosen(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct kind kind = with(&kinds[i], returns[0]);
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = open_with(&kind, folder, 7, "", false);
        char node[TRANSFER_NAME_SIZE];

        first_choice(&kind, node);
        set_node(rehearsal, node, DOWN);
        rehearsal_run(rehearsal, MINUTE_MS);
        apply(rehearsal, 7, 6);
        assert_string_not_equal(run_to(rehearsal, STEP_DRAIN)->node, node);
        expect_down(rehearsal, node);
        simulator_check_end(rehearsal->simulator);
    }
}

/* In the notice: DOWN ends the move, and the reason stays.  A reason that outlived a drain ends
   nothing. */
static void a_person_takes_a_node_out_during_the_notice(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (int is_down = 0; is_down <= 1; is_down++) {
            struct kind kind = with(&kinds[i], returns[0]);
            owned(test_folder) char *folder = test_folder_new();
            owned(rehearsal) struct rehearsal *rehearsal = begin(&kind, folder, 7);
            struct transfer *transfer = run_to(rehearsal, STEP_NOTICE);

            rehearsal_run(rehearsal, MINUTE_MS);
            set_node(rehearsal, transfer->node, is_down ? DOWN : DRAIN);
            rehearsal_run(rehearsal, SECOND_MS);
            if (!is_down)
                set_node(rehearsal, transfer->node, "RESUME");
            rehearsal_run(rehearsal, 2 * MINUTE_MS);
            assert_int_equal(transfer->state, is_down ? TRANSFER_UNDONE : TRANSFER_LIVE);
            if (is_down)
                expect_down(rehearsal, transfer->node);
            else
                assert_int_equal(go_to(rehearsal, STEP_DRAIN)->state, TRANSFER_LIVE);
            assert_int_equal(rehearsal_violations(rehearsal), 0);
        }
}

/* The move back, from when its machine has a name. */
static struct transfer *run_to_order(struct rehearsal *rehearsal)
{
    for (int64_t ms = 0; ms < PLAY_MS; ms += STEPWISE_MS) {
        struct transfer *transfer = transfer_at(rehearsal, 1);

        if (transfer && transfer->step == STEP_ACQUIRE && transfer->new_instance[0] != '\0')
            return transfer;
        rehearsal_run(rehearsal, STEPWISE_MS);
    }
    fail_msg("no machine is ordered");
    return NULL;
}

/* As the step that clears up leaves the record of a dynamic node that a person drained. */
static void leave_record(struct rehearsal *rehearsal, const char *node)
{
    sim_slurm_slurmd(rehearsal->simulator, "research-a", node, true);
    rehearsal_run(rehearsal, 4 * SECOND_MS);
    set_node(rehearsal, node, DRAIN " Comment='sluice: its machine left'");
    sim_slurm_slurmd(rehearsal->simulator, "research-a", node, false);
}

/* A machine comes under the name of a node that a person drained.  is_lifted: that person, or
   another, resumes the node. */
static char *come_under_a_drain(const struct kind *kind, bool is_lifted)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(kind, folder, 5);
    const struct transfer *transfer = run_to_order(rehearsal);
    owned(chars) char *node = mem_copy_chars(transfer->new_instance);
    owned(chars) char *show = text_format("scontrol -o show node %s", node);

    leave_record(rehearsal, node);
    for (int i = 0; is_lifted && i < 600 && transfer->step < STEP_JOIN; i++)
        rehearsal_run(rehearsal, SECOND_MS);
    if (is_lifted) {
        rehearsal_run(rehearsal, MINUTE_MS);
        assert_non_null(strstr(transfer->waiting, "to be lifted: bad PSU (anna)"));
        set_node(rehearsal, node, "RESUME");
    }
    run_there_and_back(rehearsal);
    expect_there_and_back(rehearsal);
    assert_int_equal(transfer->attempt, is_lifted ? 1 : 2);
    assert_int_equal(text_equal(transfer->new_node, node), is_lifted);
    return run_command(rehearsal, show);
}

/* Until a person lifts the drain the machine cannot serve, and is discarded.  The drain and its
   reason wait for the next one. */
static void the_drain_of_a_person_outlives_machines(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (int is_lifted = 0; is_lifted <= 1; is_lifted++) {
            if (!text_equal(kinds[i].nodes, "dynamic"))
                continue;

            owned(chars) char *shown = come_under_a_drain(&kinds[i], is_lifted);

            if (is_lifted ? strstr(shown, "DRAIN") || strstr(shown, "Comment=")
                          : !strstr(shown, "+DRAIN") || !strstr(shown, "Reason=bad PSU (anna)"))
                fail_msg("%s", shown);
        }
}

/* A job on two movable nodes. */
static struct ctld_job *start_pair(struct rehearsal *rehearsal)
{
    struct ctld_node *nodes[2];
    struct ctld_job *job;

    empty_two(rehearsal, nodes);
    job = start_on(rehearsal, nodes, 2);
    spare_others(rehearsal, job);
    rehearsal_run(rehearsal, MINUTE_MS);
    return job;
}

/* One of its nodes drains for a schedule, whose deadline is minutes away or held by a freeze; a
   reclaim takes the other.  The job is requeued for the reclaim, once. */
static void expect_soon(const struct kind *kind, bool is_frozen)
{
    enum { LEAD_MS = 60 * SECOND_MS, POLL_MS = 15 * SECOND_MS };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_with(kind, folder, 7,
                                                             "checkpoint_lead: 60s, ", true);
    const struct ctld_job *job = start_pair(rehearsal);
    const struct transfer *hurried;
    owned(json) json_t *answer = NULL;

    apply(rehearsal, 7, 6);
    assert_non_null(run_to(rehearsal, STEP_DRAIN));
    assert_true(has_node(job, transfer_at(rehearsal, 0)->node));
    if (is_frozen)
        freeze_for(rehearsal, "research-a", HOUR_MS);
    rehearsal_run(rehearsal, is_frozen ? 6 * MINUTE_MS : SECOND_MS);
    assert_int_equal(job->restarts, 0);
    answer = reclaim(rehearsal, 1);
    for (int i = 0;
         i < 60 && (!(hurried = transfer_at(rehearsal, 1)) || hurried->step < STEP_DRAIN); i++)
        rehearsal_run(rehearsal, SECOND_MS);
    assert_true(hurried && hurried->is_emergency && hurried->step == STEP_DRAIN);
    assert_true(has_node(job, hurried->node));
    rehearsal_run(rehearsal, LEAD_MS + 2 * POLL_MS);
    assert_int_equal(job->restarts, 1);
    rehearsal_run(rehearsal, 90 * SECOND_MS);
    assert_int_equal(job->restarts, 1);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

static void a_reclaim_waits_for_no_schedule(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (int is_frozen = 0; is_frozen <= 1; is_frozen++)
            expect_soon(&kinds[i], is_frozen);
}

/* A component of a heterogeneous job leaves; its batch script runs on another node, which stays. */
static void a_leader_elsewhere_gets_its_signal(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = open_with(
            &kinds[i], folder, 7, "checkpoint_lead: 60s, checkpoint_signal: USR1, ", true);
        struct ctld_node *nodes[2];
        struct ctld_job *leader, *part;

        empty_two(rehearsal, nodes);
        leader = start_on(rehearsal, nodes, 1);
        part = start_on(rehearsal, nodes + 1, 1);
        leader->het_id = part->het_id = leader->id;
        leader->het_count = part->het_count = 2;
        part->het_offset = 1;
        spare_others(rehearsal, part);
        rehearsal_run(rehearsal, MINUTE_MS);
        apply(rehearsal, 7, 6);
        assert_string_equal(run_to(rehearsal, STEP_DRAIN)->node, nodes[1]->name);
        for (int s = 0; s < 900 && part->restarts == 0; s++)
            rehearsal_run(rehearsal, SECOND_MS);
        assert_int_equal(part->restarts, 1);
        assert_int_equal(leader->restarts, 1);
        assert_true(leader->signals > 0);
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

static void add_row(void *context, const struct doctor_row *row)
{
    if (text_equal(row->name, "research-a"))
        text_add(context, "%s: %s\n", row->finding.subject, row->finding.text);
}

/* What doctor finds there; the caller frees it. */
static char *examine(struct rehearsal *rehearsal)
{
    struct text *out = text_new(64 << 10);
    struct doctor *doctor = doctor_open(&rehearsal->world, rehearsal->config, add_row, out);

    for (int i = 0; i < 600 && !doctor_is_done(doctor); i++)
        rehearsal_run(rehearsal, 100);
    assert_true(doctor_is_done(doctor));
    doctor_close(doctor);
    return text_take(out);
}

/* Jobs that wait are in each list but that of 24.11's squeue. */
static void the_doctor_names_a_list_that_is_long(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = open_with(&kinds[i], folder, 7, "", false);
        struct ctld *slurm = sim_cluster(rehearsal->simulator, "research-a")->slurm;
        owned(chars) char *before = examine(rehearsal);
        owned(chars) char *after = NULL;

        for (int k = 0; k < 1500; k++)
            ctld_job_new(slurm)->is_held = true;
        after = examine(rehearsal);
        if (strstr(before, "list jobs: ") || !strstr(after, "list jobs: Slurm's list has 15"))
            fail_msg("%s: %s%s", kinds[i].name, before, after);
    }
}

static void the_doctor_names_settings_that_keep_nodes_away(void **state)
{
    static const struct {
        const char *more, *subject;
        bool is_named;
    } rows[] = {
        { ", return_to_service: 0", "ReturnToService: ", true },
        { ", return_to_service: 1", "ReturnToService: ", true },
        { ", return_to_service: 2", "ReturnToService: ", false },
        { ", power_saving: true", "SuspendTime: ", true },
        { ", power_saving: false", "SuspendTime: ", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct kind kind = with(&kinds[3], rows[i].more);
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = open_with(&kind, folder, 5, "", false);
        owned(chars) char *found = examine(rehearsal);

        if (!strstr(found, rows[i].subject) != !rows[i].is_named)
            fail_msg("%s: %s", rows[i].more, found);
    }
}

static const struct snapshot *research(struct rehearsal *rehearsal)
{
    const struct config *config = rehearsal->service->config;

    return fleet_snapshot(rehearsal->service->fleet, config_cluster(config, "research-a"));
}

/* How many jobs count as protected. */
static int count_protected(struct rehearsal *rehearsal)
{
    int count = 0;
    void *value;

    for (size_t i = 0; map_next(research(rehearsal)->pods, &i, NULL, &value);)
        count += ((const struct pod *)value)->gang.is_protected;
    return count;
}

/* Each job is in partition train.  Under preempt/none Slurm prints OFF for each partition. */
static void no_job_is_protected_where_nothing_preempts(void **state)
{
    static const char *const types[] = { "preempt/partition_prio", "preempt/none", "preempt/qos" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (size_t k = 0; k < COUNT_OF(types); k++) {
            owned(test_folder) char *folder = test_folder_new();
            owned(rehearsal) struct rehearsal *rehearsal = open_with(&kinds[i], folder, 5, "",
                                                                     false);
            owned(chars) char *found = NULL;

            sim_cluster(rehearsal->simulator, "research-a")->slurm->preempts = types[k];
            rehearsal_run(rehearsal, 3 * MINUTE_MS);
            assert_int_equal(count_protected(rehearsal), 0);
            found = examine(rehearsal);
            if (!strstr(found, "PreemptType: ") != !text_equal(types[k], "preempt/qos"))
                fail_msg("%s: %s", types[k], found);
        }
}

/* A cloud that deletes at once: no list shows that it does, and slurmctld takes the node for alive
   until SlurmdTimeout.  sluice asked for it, so nothing contradicts anything. */
static void a_machine_that_is_gone_at_once_raises_no_doubt(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[i], folder, 5);
        const struct fleet_pool *pool;

        rehearsal->simulator->scenario->latency.delete = (struct range){ 100, 200 };
        pool = fleet_pool(rehearsal->service->fleet, run_to(rehearsal, STEP_RELEASE)->source);
        for (int pass = 0; pass < 120; pass++) {
            rehearsal_run(rehearsal, SECOND_MS);
            if (pool->doubt[0] != '\0')
                fail_msg("%s, %d s after the release began: %s", kinds[i].name, pass + 1,
                         pool->doubt);
        }
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(transfers_of(rehearsal, false), 0);
        simulator_check_end(rehearsal->simulator);
    }
}

/* Which jobs nothing may displace is not known until the partitions were listed: a list that lacks
   them at first is no list of jobs that may all go. */
static void no_node_is_chosen_before_the_partitions_are_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = open_with(&kinds[i], folder, 5, "", false);
        struct ctld *slurm = sim_cluster(rehearsal->simulator, "research-a")->slurm;
        owned(chars) char *submitted = NULL;
        struct error err = { 0 };

        rehearsal_run(rehearsal, 3 * MINUTE_MS);
        submitted = run_command(
            rehearsal, "sbatch --partition=urgent --gpus=1 --time=600 --wrap='sleep 30000'");
        rehearsal_run(rehearsal, 6 * MINUTE_MS);
        if (count_protected(rehearsal) != 1)
            fail_msg("%s: %d are protected", submitted, count_protected(rehearsal));

        slurm->timeouts = 2;
        rehearsal_kill(rehearsal);
        assert_int_equal(rehearsal_start(rehearsal, &err), 0);
        for (int pass = 0; pass < 40; pass++) {
            rehearsal_run(rehearsal, 3 * SECOND_MS);
            if (research(rehearsal)->is_known && count_protected(rehearsal) != 1)
                fail_msg("%d are protected %d s after the start", count_protected(rehearsal),
                         3 * (pass + 1));
        }
        assert_true(research(rehearsal)->is_known);
        assert_int_equal(slurm->timeouts, 0);

        slurm->timeouts = 2; /* from now on what was known counts */
        rehearsal_run(rehearsal, 5 * MINUTE_MS);
        assert_int_equal(count_protected(rehearsal), 1);

        slurm->timeouts = 1000; /* for long: then without, as long as that lasts */
        rehearsal_kill(rehearsal);
        assert_int_equal(rehearsal_start(rehearsal, &err), 0);
        rehearsal_run(rehearsal, 10 * MINUTE_MS);
        assert_true(research(rehearsal)->is_known && count_protected(rehearsal) == 0);
        slurm->timeouts = 0;
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        assert_int_equal(count_protected(rehearsal), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parked_node_comes_back),
        cmocka_unit_test(a_hidden_node_keeps_no_trace_of_a_move),
        cmocka_unit_test(a_node_that_a_person_set_down_is_not_chosen),
        cmocka_unit_test(a_person_takes_a_node_out_during_the_notice),
        cmocka_unit_test(the_drain_of_a_person_outlives_machines),
        cmocka_unit_test(a_reclaim_waits_for_no_schedule),
        cmocka_unit_test(a_leader_elsewhere_gets_its_signal),
        cmocka_unit_test(the_doctor_names_a_list_that_is_long),
        cmocka_unit_test(the_doctor_names_settings_that_keep_nodes_away),
        cmocka_unit_test(no_job_is_protected_where_nothing_preempts),
        cmocka_unit_test(no_node_is_chosen_before_the_partitions_are_known),
        cmocka_unit_test(a_machine_that_is_gone_at_once_raises_no_doubt),
    };

    mem_setup();
    log_setup(getenv("SLUICE_LOG") ? LOG_DEBUG : LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
