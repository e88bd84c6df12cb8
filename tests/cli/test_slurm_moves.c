/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Production on Kubernetes, research on Slurm: a node goes there and comes back while jobs run.
 * slurmctld is of 22.05 or of 24.11, its nodes are dynamic or those of slurm.conf, and it is asked
 * by REST, by commands or by both.  The service dies at each of its commits in turn; slurmctld
 * restarts in the middle; a person's drain keeps its reason.
 */
#include "base/shared_text.h"
#include "broker/demo/rehearsal.h"
#include "broker/sides/slurm/slurm_effects.h"
#include "broker/sides/slurm/slurm_side.h"
#include "clusters/slurm_snapshot.h"
#include "tests/cli/slurm_world.h"
#include "tests/support/sweep.h"
#include "tools/simulator/model/simulator.h"
#include "tools/simulator/slurm/ctld.h"
#include "tools/simulator/slurm/ctld_peek.h"

enum {
    REPLACING_COMMITS = 8,
    CLEARING_COMMITS = 12,
    SAMPLE = 48, /* without SLUICE_SWEEP one commit in so many */
};

/* at 0: undisturbed; returns the commits after the schedules were applied. */
static int64_t play(const struct kind *kind, int64_t at, bool is_after)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(kind, folder, 5);
    int64_t before = rehearsal->commits;

    die_there_and_back(rehearsal, at, is_after);
    return rehearsal->commits - before;
}

/* How many signals are under way; none of a job that is being requeued. */
static int signals_under_way(const struct transfer *transfer)
{
    int count = 0;
    void *value;

    for (size_t i = 0; map_next(transfer->effects, &i, NULL, &value);) {
        const struct effect *effect = value;
        const struct effect *requeue = effect_find(transfer, &slurm_effect_requeue, effect->object);

        if (effect->kind != &slurm_effect_signal || !effect->is_in_flight)
            continue;
        if (requeue && requeue->is_in_flight)
            fail_msg("job %s is requeued under its signal", effect->name);
        count++;
    }
    return count;
}

/* The signal is sent a second before the deadline, and takes eight. */
static void no_job_is_requeued_under_its_signal(void **state)
{
    enum { LOOK_MS = 50 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = begin_with(
            &kinds[i], folder, 5, "checkpoint_lead: 1s, checkpoint_signal: USR1, ", true);
        struct transfer *transfer = run_to(rehearsal, STEP_DRAIN);
        int most = 0;

        for (int64_t ms = 0; ms < 20 * MINUTE_MS && transfer->step <= STEP_FORCE; ms += LOOK_MS) {
            int count = signals_under_way(transfer);

            most = count > most ? count : most;
            rehearsal_run(rehearsal, LOOK_MS);
        }
        assert_true(most > 0);
        assert_true(transfer->step > STEP_FORCE);
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

/* When the first job was signalled and requeued, in loop time; 0: not yet. */
struct asked {
    int64_t signal_ms, requeue_ms;
};

static void note_asked(const struct rehearsal *rehearsal, struct asked *asked)
{
    const struct transfer *transfer = rehearsal->service->runner->transfers.items[0];
    void *value;

    for (size_t i = 0; map_next(transfer->effects, &i, NULL, &value);) {
        const struct effect *effect = value;

        if (effect->kind == &slurm_effect_signal && asked->signal_ms == 0)
            asked->signal_ms = effect->answered_ms;
        if (effect->kind == &slurm_effect_requeue && asked->requeue_ms == 0 &&
            effect->sent_count > 0)
            asked->requeue_ms = loop_now(rehearsal->loop);
    }
}

enum disturbance { SLURM_AWAY, FROZEN, SLUICE_AWAY, DISTURBANCES };

static void disturb(struct rehearsal *rehearsal, enum disturbance disturbance)
{
    struct error err = { 0 };

    if (disturbance == SLURM_AWAY)
        simulator_slurm_restart(rehearsal->simulator, "research-a", 4 * MINUTE_MS);
    if (disturbance == FROZEN)
        freeze_for(rehearsal, "prod-a", 4 * MINUTE_MS);
    if (disturbance != SLUICE_AWAY)
        return;
    rehearsal_kill(rehearsal);
    rehearsal_run(rehearsal, 4 * MINUTE_MS);
    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
}

/* From three minutes before the drain's deadline to a minute after it nothing can be asked: the
   deadline stands still, and no job goes before it had the time for its checkpoint. */
static void a_job_has_time_for_its_checkpoint_whatever_happens(void **state)
{
    struct sweep_part part = sweep_part(COUNT_OF(kinds)); /* each disturbance */
    int requeues[DISTURBANCES] = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (enum disturbance k = SLURM_AWAY; k < DISTURBANCES; k++) {
            if (!sweep_plays(&part))
                continue;

            owned(test_folder) char *folder = test_folder_new();
            owned(rehearsal) struct rehearsal *rehearsal = begin_with(
                &kinds[i], folder, 5, "checkpoint_lead: 2m, checkpoint_signal: USR1, ", true);
            struct asked asked = { 0 };

            (void)run_to(rehearsal, STEP_DRAIN);
            rehearsal_run(rehearsal, 2 * MINUTE_MS);
            disturb(rehearsal, k);
            for (int looks = 0; looks < 10000 && asked.requeue_ms == 0; looks++) {
                rehearsal_run(rehearsal, asked.signal_ms == 0 ? SECOND_MS : 50);
                note_asked(rehearsal, &asked);
            }
            requeues[k] += asked.requeue_ms > 0; /* else the job ended in this time */
            if (asked.signal_ms == 0 ||
                (asked.requeue_ms > 0 && asked.requeue_ms - asked.signal_ms < 2 * MINUTE_MS))
                fail_msg("%s, disturbance %d: signal at %lld, requeue at %lld", kinds[i].name,
                         (int)k, (long long)asked.signal_ms, (long long)asked.requeue_ms);
            rehearsal_run(rehearsal, 30 * MINUTE_MS);
            assert_int_equal(rehearsal_violations(rehearsal), 0);
        }
    for (enum disturbance k = SLURM_AWAY; k < DISTURBANCES; k++)
        assert_true(requeues[k] > 0);
}

/* Slurm knows no such signal: nothing is waited for after the drain's deadline. */
static void a_signal_that_is_refused_keeps_no_job(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin_with(
        &kinds[2], folder, 5, "checkpoint_lead: 2m, checkpoint_signal: RTMIN, ", true);
    const struct transfer *transfer = run_to(rehearsal, STEP_DRAIN);
    struct wall_time due = transfer->drain_due;
    struct asked asked = { 0 };

    (void)state;
    for (int looks = 0; looks < 10000 && asked.requeue_ms == 0; looks++) {
        rehearsal_run(rehearsal, 50);
        note_asked(rehearsal, &asked);
    }
    assert_true(asked.signal_ms > 0 && asked.requeue_ms > 0);
    assert_in_range(loop_wall(rehearsal->loop).ms, due.ms, due.ms + 30 * SECOND_MS);
}

/* The signal of the first job, until a job is requeued; NULL: none was asked for. */
static const struct effect *run_to_requeue(struct rehearsal *rehearsal)
{
    const struct transfer *transfer = transfer_at(rehearsal, 0);
    const struct effect *signal = NULL;
    struct asked asked = { 0 };
    void *value;

    for (int looks = 0; looks < 20000 && asked.requeue_ms == 0; looks++) {
        rehearsal_run(rehearsal, 50);
        note_asked(rehearsal, &asked);
    }
    assert_true(asked.requeue_ms > 0);
    for (size_t i = 0; map_next(transfer->effects, &i, NULL, &value);)
        if (((const struct effect *)value)->kind == &slurm_effect_signal)
            signal = value;
    return signal;
}

/* slurmctld lists its jobs too slowly for scancel, which is ended before it signals: for a while,
   or as long as the job may wait. */
static void a_signal_without_an_outcome_is_sent_again(void **state)
{
    enum { LEAD_MS = 2 * MINUTE_MS };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (int is_long = 0; is_long < 2; is_long++) {
            owned(test_folder) char *folder = test_folder_new();
            owned(rehearsal) struct rehearsal *rehearsal = begin_with(
                &kinds[i], folder, 5, "checkpoint_lead: 2m, checkpoint_signal: USR1, ", true);
            struct ctld *slurm = sim_cluster(rehearsal->simulator, "research-a")->slurm;
            const struct transfer *transfer = run_to(rehearsal, STEP_DRAIN);
            int64_t due_ms = loop_now(rehearsal->loop) + transfer->drain_due.ms -
                             loop_wall(rehearsal->loop).ms;
            const struct effect *signal;

            slurm->crowded_ms = due_ms + (is_long ? HOUR_MS : -LEAD_MS / 2);
            signal = run_to_requeue(rehearsal);
            assert_non_null(signal);
            assert_true(signal->sent_count > 1);
            if (is_long)
                assert_in_range(loop_now(rehearsal->loop) - due_ms, LEAD_MS,
                                LEAD_MS + 30 * SECOND_MS);
            else if (signal->outcome != ERROR_NONE ||
                     loop_now(rehearsal->loop) - signal->answered_ms < LEAD_MS)
                fail_msg("%s: %d times, %s", kinds[i].name, signal->sent_count, signal->text);
            assert_int_equal(rehearsal_violations(rehearsal), 0);
        }
}

static void a_node_goes_to_kubernetes_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        int64_t commits = play(&kinds[i], 0, false);

        print_message("Slurm %s: %lld commits in an undisturbed run\n", kinds[i].name,
                      (long long)commits);
        assert_true(commits > 30);
    }
}

static void a_death_at_any_commit_loses_nothing(void **state)
{
    struct sweep_part part = sweep_part(SAMPLE);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        int64_t commits = play(&kinds[i], 0, false);

        for (int64_t at = 1; at <= commits; at++)
            if (sweep_plays(&part))
                play(&kinds[i], at, at / SAMPLE % 2 == 0);
        print_message("sweep death: Slurm %s, %lld commits in an undisturbed run\n", kinds[i].name,
                      (long long)commits);
    }
}

/* slurmctld stops for two minutes at each step of the way: nothing is lost, nothing is twice. */
static void slurmctld_may_restart_at_any_step(void **state)
{
    static const enum transfer_step steps[] = { STEP_NOTICE, STEP_DRAIN, STEP_RELEASE,
                                                STEP_ACQUIRE };
    struct sweep_part part = sweep_part(COUNT_OF(steps) + 1); /* each kind, and each step */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (size_t k = 0; k < COUNT_OF(steps); k++) {
            if (!sweep_plays(&part))
                continue;

            owned(test_folder) char *folder = test_folder_new();
            owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[i], folder, 6);

            assert_non_null(run_to(rehearsal, steps[k]));
            simulator_slurm_restart(rehearsal->simulator, "research-a", 2 * MINUTE_MS);
            run_there_and_back(rehearsal);
            expect_there_and_back(rehearsal);
        }
}

/* Until slurmctld has our reservation, and we have not read it. */
static struct transfer *run_until_reserved(struct rehearsal *rehearsal)
{
    struct transfer *transfer = run_to(rehearsal, STEP_ANNOUNCE);

    assert_non_null(transfer);
    while (transfer->step == STEP_ANNOUNCE) {
        owned(chars) char *shown = run_command(rehearsal, "scontrol -o show reservations");

        if (strstr(shown, transfer->id))
            return transfer;
        rehearsal_run(rehearsal, STEPWISE_MS);
    }
    fail_msg("its reservation was read at once");
    return NULL;
}

/* The service is dead until ten seconds later than then. */
static void die_until(struct rehearsal *rehearsal, struct wall_time then)
{
    struct error err = { 0 };

    rehearsal_kill(rehearsal);
    rehearsal_run(rehearsal, then.ms - loop_wall(rehearsal->loop).ms + 10 * SECOND_MS);
    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
}

/* The service dies between the reservation and the sight of it, and is back after the departure:
   jobs are told a later one, and Slurm moves no reservation that began. */
static void a_late_announcement_is_put_off(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[i], folder, 8);
        const struct transfer *transfer = run_until_reserved(rehearsal);
        struct wall_time departure = transfer->departure;

        die_until(rehearsal, departure);
        run_there_and_back(rehearsal);
        expect_there_and_back(rehearsal);
        transfer = transfer_at(rehearsal, 0);
        assert_int_equal(transfer->state, TRANSFER_DONE);
        assert_true(transfer->departure.ms > departure.ms);
    }
}

/* After the late announcement the service dies at each of the next commits: before it, and right
   after it, when nothing is known of an answer. */
static void a_reservation_is_replaced_whenever_the_service_dies(void **state)
{
    struct sweep_part part = sweep_part(5);

    (void)state;
    for (int64_t at = 1; at <= REPLACING_COMMITS; at++)
        for (int is_after = 0; is_after <= 1; is_after++) {
            if (!sweep_plays(&part))
                continue;

            owned(test_folder) char *folder = test_folder_new();
            owned(rehearsal) struct rehearsal *rehearsal = begin(
                &kinds[(size_t)at % COUNT_OF(kinds)], folder, 10);
            struct error err = { 0 };

            die_until(rehearsal, run_until_reserved(rehearsal)->departure);
            if (is_after)
                rehearsal_kill_after_commit(rehearsal, at);
            else
                rehearsal_kill_at_commit(rehearsal, at);
            run_there_and_back(rehearsal);
            assert_true(rehearsal->is_dead);
            rehearsal_kill(rehearsal);
            rehearsal_run(rehearsal, 20 * SECOND_MS);
            if (rehearsal_start(rehearsal, &err) < 0)
                fail_msg("%s", err.text);
            run_there_and_back(rehearsal);
            expect_there_and_back(rehearsal);
            assert_int_equal(transfer_at(rehearsal, 0)->state, TRANSFER_DONE);
        }
}

/* And dead again as soon as jobs were told the later departure, until after that one.  The notice
   counts from the first sight of the reservation, and is over then. */
static void an_announcement_may_be_late_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[i], folder, 9);
        struct wall_time first = run_until_reserved(rehearsal)->departure;
        struct transfer *transfer;

        die_until(rehearsal, first);
        transfer = transfer_at(rehearsal, 0);
        while (transfer->departure.ms == first.ms)
            rehearsal_run(rehearsal, STEPWISE_MS);
        assert_int_equal(transfer->step, STEP_ANNOUNCE);
        die_until(rehearsal, transfer->departure);
        run_there_and_back(rehearsal);
        expect_there_and_back(rehearsal);
        assert_int_equal(transfer_at(rehearsal, 0)->state, TRANSFER_DONE);
    }
}

static char *show(struct rehearsal *rehearsal, const char *node)
{
    owned(chars) char *line = text_format("scontrol -o show node %s", node);

    return run_command(rehearsal, line);
}

/* Slurm 24.11 adds its own words when the machine is gone. */
static void expect_drained_by_anna(struct rehearsal *rehearsal, const char *node)
{
    owned(chars) char *shown = show(rehearsal, node);

    if (!strstr(shown, "DRAIN") ||
        (!strstr(shown, "Reason=fan 3 is loud (anna) [person@") &&
         !strstr(shown, "Reason=fan 3 is loud (anna) : Not responding [")))
        fail_msg("%s", shown);
}

/* A person drains the node during its notice, with a reason. */
static char *drain_in_notice(struct rehearsal *rehearsal)
{
    char *node = mem_copy_chars(run_to(rehearsal, STEP_NOTICE)->node);
    owned(chars) char *drain = text_format(
        "scontrol update NodeName=%s State=DRAIN Reason='fan 3 is loud (anna)'", node);

    mem_free(run_command(rehearsal, drain));
    return node;
}

static void expect_record(struct rehearsal *rehearsal, const char *node)
{
    owned(chars) char *shown = show(rehearsal, node);

    expect_drained_by_anna(rehearsal, node);
    if (!strstr(shown, "Comment=sluice: its machine left to pool prod-a-east"))
        fail_msg("%s", shown);
}

/* The node moves, and the reason is there when a slurmd comes under its name.  sluice then leaves
   it so. */
static void a_persons_drain_keeps_its_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[i], folder, 7);
        owned(chars) char *node = drain_in_notice(rehearsal);

        assert_non_null(run_to(rehearsal, STEP_DRAIN));
        expect_drained_by_anna(rehearsal, node);
        run_there_and_back(rehearsal);
        expect_drained_by_anna(rehearsal, node);
        if (text_equal(kinds[i].nodes, "dynamic")) {
            expect_there_and_back(rehearsal);
            expect_record(rehearsal, node);
            sim_slurm_slurmd(rehearsal->simulator, "research-a", node, true);
            rehearsal_run(rehearsal, 5 * MINUTE_MS);
            expect_drained_by_anna(rehearsal, node);
        }
        simulator_check_end(rehearsal->simulator);
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

/* The service dies at a commit from the removal of the machine on. */
static void a_persons_drain_outlives_the_service(void **state)
{
    struct sweep_part part = sweep_part(7);

    (void)state;
    for (int64_t at = 1; at <= CLEARING_COMMITS; at++)
        for (int is_after = 0; is_after <= 1; is_after++) {
            if (!sweep_plays(&part))
                continue;

            owned(test_folder) char *folder = test_folder_new();
            owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[at % 2], folder, 7);
            owned(chars) char *node = drain_in_notice(rehearsal);
            struct error err = { 0 };

            assert_non_null(run_to(rehearsal, STEP_RELEASE));
            if (is_after)
                rehearsal_kill_after_commit(rehearsal, at);
            else
                rehearsal_kill_at_commit(rehearsal, at);
            run_there_and_back(rehearsal);
            assert_true(rehearsal->is_dead);
            rehearsal_kill(rehearsal);
            rehearsal_run(rehearsal, 20 * SECOND_MS);
            if (rehearsal_start(rehearsal, &err) < 0)
                fail_msg("%s", err.text);
            run_there_and_back(rehearsal);
            expect_there_and_back(rehearsal);
            expect_record(rehearsal, node);
        }
}

/* All nodes but the spared one, with commas. */
static char *nodes_but(const struct snapshot *snapshot, const char *spared)
{
    struct text *out = text_new(TEXT_UNBOUNDED);
    const char *name;

    for (size_t i = 0; map_next(snapshot->nodes, &i, &name, NULL);)
        if (!text_equal(name, spared))
            text_add(out, "%s%s", out->length > 0 ? "," : "", name);
    return text_take(out);
}

/* A node that would not be chosen goes if a person has reserved all others for the evening. */
static void reserved_nodes_go_last(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = open_with(&kinds[i], folder, 7, "", true);
        const struct snapshot *snapshot = cluster_snapshot(fleet_cluster(
            rehearsal->service->fleet, config_cluster(rehearsal->config, "research-a")));
        const struct pod *job = NULL;
        void *value;

        for (size_t at = 0; map_next(snapshot->pods, &at, NULL, &value);) {
            const struct pod *other = value;

            if (fleet_is_ephemeral(rehearsal->config, map_get(snapshot->nodes, other->node_name)) &&
                (!job || other->started.ms < job->started.ms))
                job = other; /* of the longest one the most is lost */
        }
        assert_non_null(job);

        owned(chars) char *kept = mem_copy_chars(job->node_name);
        owned(chars) char *others = nodes_but(snapshot, kept);
        owned(chars) char *reserve = text_format(
            "scontrol create reservation ReservationName=anna Nodes=%s StartTime=now+600minutes "
            "Duration=60 Users=root",
            others);

        mem_free(run_command(rehearsal, reserve));
        rehearsal_run(rehearsal, MINUTE_MS);
        apply(rehearsal, 7, 6);
        assert_string_equal(run_to(rehearsal, STEP_NOTICE)->node, kept);
    }
}

/* Shows the node with such marks to the step that clears it up. */
static void clear_as(struct rehearsal *rehearsal, struct transfer *transfer, json_t *notes)
{
    const struct snapshot *snapshot = cluster_snapshot(
        fleet_cluster(rehearsal->service->fleet, transfer->source->cluster));
    struct node *node = map_get(snapshot->nodes, transfer->node);

    assert_non_null(node);
    shared_text_drop(node->annotations);
    node->annotations = packed_map_new(notes, NULL);
    json_decref(node->taints);
    node->taints = json_array();
    json_decref(notes);
    transfer->step = STEP_CLEAR;
    transfer->step_began_ms = 0; /* what was read is new enough */
    assert_int_equal(slurm_clear(rehearsal->service->runner, transfer), STEP_DONE);
}

/* Whatever marks a node of slurm.conf shows.  On 22.05 its deletion ends slurmctld. */
static void a_node_of_slurm_conf_is_never_deleted(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (text_equal(kinds[i].nodes, "dynamic"))
            continue;

        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = begin(&kinds[i], folder, 7);
        struct transfer *transfer = run_to(rehearsal, STEP_RELEASE);

        assert_non_null(transfer);
        /* A person drained it, and no reservation shows. */
        clear_as(
            rehearsal, transfer,
            json_make("{s:s, s:s}", SLUICE_NOTE_TRANSFER, transfer->id, SLURM_NOTE_DRAIN, "other"));
        assert_null(effect_find(transfer, &slurm_effect_forget, transfer->node_uid));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_of_slurm_conf_is_never_deleted),
        cmocka_unit_test(no_job_is_requeued_under_its_signal),
        cmocka_unit_test(a_job_has_time_for_its_checkpoint_whatever_happens),
        cmocka_unit_test(a_signal_that_is_refused_keeps_no_job),
        cmocka_unit_test(a_signal_without_an_outcome_is_sent_again),
        cmocka_unit_test(a_persons_drain_keeps_its_reason),
        cmocka_unit_test(a_persons_drain_outlives_the_service),
        cmocka_unit_test(reserved_nodes_go_last),
        cmocka_unit_test(a_late_announcement_is_put_off),
        cmocka_unit_test(an_announcement_may_be_late_twice),
        cmocka_unit_test(a_reservation_is_replaced_whenever_the_service_dies),
        cmocka_unit_test(slurmctld_may_restart_at_any_step),
        cmocka_unit_test(a_death_at_any_commit_loses_nothing),
        cmocka_unit_test(a_node_goes_to_kubernetes_and_back),
    };

    mem_setup();
    log_setup(getenv("SLUICE_LOG") ? LOG_DEBUG : LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
