/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * While a promise is written to a slow disk the world goes on: what it was made for may not hold
 * any more when it is kept.
 */
#include "broker/sides/kube/kube_effects.h"
#include "tests/cli/dying.h"
#include "tests/cli/people.h"

enum { WRITE_MS = 10 * SECOND_MS };

/* Until the effect of the first transfer waits for its intent to be written. */
static const struct transfer *run_to_intent(struct rehearsal *rehearsal, enum transfer_step step,
                                            const struct effect_kind *kind)
{
    const struct transfer *transfer = run_to(rehearsal, step);

    assert_non_null(transfer);
    for (int64_t ms = 0; ms < 2 * HOUR_MS; ms += STEPWISE_MS) {
        void *value;

        for (size_t i = 0; map_next(transfer->effects, &i, NULL, &value);)
            if (((const struct effect *)value)->kind == kind &&
                ((const struct effect *)value)->is_in_flight)
                return transfer;
        rehearsal_run(rehearsal, STEPWISE_MS);
    }
    fail_msg("it is never asked for");
    return NULL;
}

static struct rehearsal *begin(const char *folder)
{
    struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    rehearsal_slow_disk(rehearsal, WRITE_MS);
    apply(rehearsal, 7, 6);
    return rehearsal;
}

static const struct kube_pod *late_pod(struct rehearsal *rehearsal)
{
    return map_get(sim_cluster(rehearsal->simulator, "research-a")->pods, "ml/late");
}

/* A person opens the node (or does not), and a pod comes to it. */
static void play_removal(bool is_opened)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder);
    const struct transfer *transfer = run_to_intent(rehearsal, STEP_RELEASE, &effect_remove);
    const char *node = transfer->node;
    bool was_told = false;

    if (is_opened)
        people_open(rehearsal, people_node(rehearsal, "research-a", node));
    people_bind(rehearsal, people_node(rehearsal, "research-a", node), "late", false);
    for (int64_t ms = 0; ms < HOUR_MS && late_pod(rehearsal); ms += 100) {
        const struct kube_pod *pod = late_pod(rehearsal);

        was_told |= pod->deletion_ms > 0;
        if (!pod->node || !pod->node->is_alive)
            fail_msg("the machine was deleted under a running pod");
        rehearsal_run(rehearsal, 100);
    }
    assert_true(was_told);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    expect_rest(rehearsal, 7);
}

static void a_removal_that_waited_for_the_disk_is_looked_at_again(void **state)
{
    (void)state;
    play_removal(true);
    play_removal(false);
}

/* The freeze is in force when it is asked for: what is not sent by then is not sent. */
static void a_freeze_stops_what_waits_for_the_disk(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder);
    const struct transfer *transfer = run_to_intent(rehearsal, STEP_CORDON, &kube_effect_cordon);
    const struct kube_node *node = people_node(rehearsal, "research-a", transfer->node);

    (void)state;
    freeze_for(rehearsal, "", HOUR_MS);
    rehearsal_run(rehearsal, 50 * MINUTE_MS);
    assert_false(node->is_unschedulable);
    rehearsal_run(rehearsal, 3 * HOUR_MS);
    expect_rest(rehearsal, 7);
}

/* A disk that takes two seconds for each commit: what is decided meanwhile is written together, and
   nothing is done before it is. */
static void a_death_on_a_slow_disk_loses_nothing(void **state)
{
    struct span span;
    int64_t commits;

    (void)state;
    write_ms = 2 * SECOND_MS;
    commits = play(false, NULL, &span);
    print_message("%lld commits on a slow disk\n", (long long)commits);
    assert_true(commits > 20);
    sweep(false, 1, commits, 7);
    play(true, NULL, &span);
    sweep(true, span.begin, span.end, 8);
    play_full_disk();
    write_ms = 0;
}

/* A store over the network: what is written arrives some time later, its answer again, and a death
   may fall between the two. */
static void a_death_while_a_server_keeps_the_journal_loses_nothing(void **state)
{
    struct span span;
    int64_t commits;

    (void)state;
    is_remote = true;
    write_ms = 4 * REMOTE_WAY_MS;
    commits = play(false, NULL, &span);
    print_message("%lld commits to a server\n", (long long)commits);
    assert_true(commits > 20);
    sweep(false, 1, commits, 11);
    play(true, NULL, &span);
    sweep(true, span.begin, span.end, 12);
    is_remote = false;
    write_ms = 0;
}

/* With advice for the disk: no command helps, and the journal cannot be checked while it is used.
 */
static bool warns_of_disk(struct rehearsal *rehearsal)
{
    owned(json) json_t *status = service_status(rehearsal->service);
    owned(chars) char *text = json_print(status);

    if (!strstr(text, "the journal's disk has been writing for"))
        return false;
    assert_non_null(strstr(text, "look at the disk of the setting `journal`"));
    assert_null(strstr(text, "journal check"));
    return true;
}

static void a_disk_that_does_not_answer_is_told(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    rehearsal_slow_disk(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    assert_false(warns_of_disk(rehearsal));
    rehearsal_run(rehearsal, 30 * SECOND_MS);
    assert_true(warns_of_disk(rehearsal));
    rehearsal_run(rehearsal, 2 * MINUTE_MS); /* before the ledger is stored, every five minutes */
    assert_false(warns_of_disk(rehearsal));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_removal_that_waited_for_the_disk_is_looked_at_again),
        cmocka_unit_test(a_freeze_stops_what_waits_for_the_disk),
        cmocka_unit_test(a_disk_that_does_not_answer_is_told),
        cmocka_unit_test(a_death_on_a_slow_disk_loses_nothing),
        cmocka_unit_test(a_death_while_a_server_keeps_the_journal_loses_nothing),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
