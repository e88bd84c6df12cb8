/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Wait x interference: at each step, something makes a transfer wait, and meanwhile another party
 * changes the world.  What was true when the step began is not true when it goes on.  No promise
 * may break, nothing may stay closed, and each transfer ends or calls for a person.
 *
 * All combinations take minutes: `tools/test sweep` plays them, SLUICE_SWEEP=all does here.  Else
 * one in a few is played.
 */
#include "tests/cli/people.h"
#include "tests/support/sweep.h"

#include <stdarg.h>
#include <stdlib.h>

enum {
    WAIT_MS = 15 * MINUTE_MS,
    AWAY_MS = 3 * HOUR_MS,
    REFUSALS = 400, /* more than are asked for in that time */
    SAMPLE = 131,   /* without SLUICE_SWEEP one combination in so many; prime to the counts */
};

/* One combination as it is played. */
struct play {
    struct rehearsal *rehearsal;
    struct transfer *transfer; /* NULL while the broker is away */
    char node[SIM_NAME_SIZE];  /* the one that leaves */
    char machine[SIM_NAME_SIZE];
    char next[SIM_NAME_SIZE]; /* the machine that is made for it; "": none yet */
    int step;
    const char *story; /* for people */
    int complaints;
    bool is_short; /* a machine was taken away */
    bool is_wild;  /* another party's act keeps the transfer from its end */
};

static void refuse_mutations(struct play *play, const char *fault)
{
    static const char *const verbs[] = {
        "patch_node",       "evict_pod",        "mark_pod",    "delete_pod",
        "delete_instances", "create_instances", "delete_node",
    };

    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        for (int k = 0; k < REFUSALS; k++)
            simulator_fault_next(play->rehearsal->simulator, fault, verbs[i]);
}

static void accept_again(struct play *play)
{
    array_clear(&play->rehearsal->simulator->scripted);
}

static void begin_403(struct play *play)
{
    refuse_mutations(play, "http_403");
}

static void begin_429(struct play *play)
{
    refuse_mutations(play, "http_429");
}

static void begin_500(struct play *play)
{
    refuse_mutations(play, "http_500");
}

static void begin_lists(struct play *play)
{
    static const char *const verbs[] = { "list_instances", "list_nodes", "list_pods", "watch_nodes",
                                         "watch_pods" };

    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        for (int k = 0; k < REFUSALS; k++)
            simulator_fault_next(play->rehearsal->simulator, "http_500", verbs[i]);
}

static void begin_freeze(struct play *play)
{
    freeze_for(play->rehearsal, "", WAIT_MS);
}

static void begin_away(struct play *play)
{
    rehearsal_kill(play->rehearsal);
    play->transfer = NULL;
}

static void end_away(struct play *play)
{
    struct error err = { 0 };

    rehearsal_run(play->rehearsal, AWAY_MS);
    if (rehearsal_start(play->rehearsal, &err) < 0)
        fail_msg("%s", err.text);
}

static void begin_silence(struct play *play)
{
    simulator_cut_off(play->rehearsal->simulator,
                      play->step < STEP_ACQUIRE ? "research-a" : "prod-a");
}

static void end_silence(struct play *play)
{
    simulator_cut_off(play->rehearsal->simulator, NULL);
}

static void begin_other_move(struct play *play)
{
    owned(json) json_t *answer = reclaim(play->rehearsal, 2);
}

static void nothing(struct play *play)
{
    (void)play;
}

static const struct {
    const char *name;
    void (*begin)(struct play *play);
    void (*end)(struct play *play);
} waits[] = {
    { "freeze", begin_freeze, nothing },
    { "403", begin_403, accept_again },
    { "429", begin_429, accept_again },
    { "500", begin_500, accept_again },
    { "kill and three hours", begin_away, end_away },
    { "silent API server", begin_silence, end_silence },
    { "list failure", begin_lists, accept_again },
    { "another move", begin_other_move, nothing },
};

/* The Node that the change is about: the one that leaves, or after it the new one. */
static struct kube_node *node_of(struct play *play)
{
    struct kube_node *node = people_node(play->rehearsal, "research-a", play->node);

    return node ? node : people_node(play->rehearsal, "prod-a", play->next);
}

static void uncordon(struct play *play, struct kube_node *node)
{
    node->is_unschedulable = false;
    people_changed(play->rehearsal, node);
}

static void untaint(struct play *play, struct kube_node *node)
{
    people_untaint(play->rehearsal, node, SLUICE_TAINT_LEAVING);
    people_untaint(play->rehearsal, node, SLUICE_TAINT_STARTING);
}

static void open_up(struct play *play, struct kube_node *node)
{
    uncordon(play, node);
    untaint(play, node);
}

static void relabel(struct play *play, struct kube_node *node)
{
    json_object_set_new(node->labels, "sluice.dev/ephemeral", json_string("false"));
    people_changed(play->rehearsal, node);
}

static void unlabel(struct play *play, struct kube_node *node)
{
    json_object_del(node->labels, "sluice.dev/ephemeral");
    people_changed(play->rehearsal, node);
}

static void bind(struct play *play, struct kube_node *node)
{
    people_bind(play->rehearsal, node, "bound", false);
}

static void bind_daring(struct play *play, struct kube_node *node)
{
    people_bind(play->rehearsal, node, "daring", true);
}

static void open_and_bind(struct play *play, struct kube_node *node)
{
    open_up(play, node);
    bind(play, node);
}

static void node_reborn(struct play *play, struct kube_node *node)
{
    struct machine *machine = node->machine;

    if (!machine || machine->state != MACHINE_RUNNING)
        return;
    sim_node_delete(play->rehearsal->simulator, node);
    machine->node = sim_node_register(play->rehearsal->simulator, machine, true);
}

static void machine_reborn(struct play *play, struct kube_node *node)
{
    if (node->machine && node->machine->state == MACHINE_RUNNING)
        sim_machine_recreate(play->rehearsal->simulator, node->machine);
}

/* An operator makes the group smaller by another machine, in the cloud's console. */
static void shrink(struct play *play, struct kube_node *node)
{
    const struct pool *pool = node->pool;

    for (size_t i = 0; i < pool->machines.count; i++) {
        struct machine *machine = pool->machines.items[i];

        if (machine->is_static || machine == node->machine || machine->state != MACHINE_RUNNING)
            continue;
        pool->reservation->target_start--;
        sim_machine_remove(play->rehearsal->simulator, machine);
        play->is_short = true;
        return;
    }
}

/* The cloud answers 404 to all that is asked of the group, from here on. */
static void delete_pool(struct play *play, struct kube_node *node)
{
    (void)play;
    ((struct scenario_pool *)(uintptr_t)node->pool->plan)->group = "no-such-group";
    play->is_wild = true;
}

static void cordon(struct play *play, struct kube_node *node)
{
    node->is_unschedulable = true;
    people_changed(play->rehearsal, node);
    play->is_wild = true; /* a person keeps it closed */
}

static const struct {
    const char *name;
    void (*happen)(struct play *play, struct kube_node *node);
} changes[] = {
    { "uncordon", uncordon },
    { "untaint", untaint },
    { "uncordon and untaint", open_up },
    { "relabel", relabel },
    { "label gone", unlabel },
    { "pod bound", bind },
    { "pod that tolerates", bind_daring },
    { "opened, and pod bound", open_and_bind },
    { "node reborn", node_reborn },
    { "machine reborn", machine_reborn },
    { "size changed by another", shrink },
    { "pool deleted", delete_pool },
    { "person's cordon", cordon },
};

/* Runs until the transfer is at the step; false: it went by without a wait. */
static bool reach(struct play *play)
{
    struct transfer *transfer;

    rehearsal_run(play->rehearsal, 2 * MINUTE_MS);
    apply(play->rehearsal, 7, 6);
    transfer = run_to(play->rehearsal, (enum transfer_step)play->step);
    if (!transfer)
        return false;
    play->transfer = transfer;
    text_copy(play->node, sizeof play->node, transfer->node);
    text_copy(play->machine, sizeof play->machine, transfer->instance);
    text_copy(play->next, sizeof play->next, transfer->new_instance);
    return true;
}

/* All combinations are played before the test fails. */
static void __attribute__((format(printf, 2, 3)))
complain(struct play *play, const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "%s: ", play->story);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    play->complaints++;
}

/* Nothing that we closed or marked is left so, unless a live transfer or a person needs it. */
static void expect_open(struct play *play, const char *cluster)
{
    void *value;

    for (size_t i = 0;
         map_next(sim_cluster(play->rehearsal->simulator, cluster)->nodes, &i, NULL, &value);) {
        const struct kube_node *node = value;

        if (json_object_get(node->annotations, SLUICE_NOTE_TRANSFER) ||
            sim_node_has_taint(node, SLUICE_TAINT_LEAVING))
            complain(play, "node %s stays marked", node->name);
    }
}

static void expect_end(struct play *play)
{
    const struct runner *runner = play->rehearsal->service->runner;
    size_t live = 0;

    for (size_t i = 0; i < runner->transfers.count; i++) {
        const struct transfer *transfer = runner->transfers.items[i];

        if (transfer->state != TRANSFER_LIVE)
            continue;
        live++;
        if (!transfer->needs_operator && !play->is_wild)
            complain(play, "a transfer at %s waits for ever, and calls nobody: %s",
                     transfer_steps[transfer->step].name, transfer->waiting);
    }
    if (live == 0) {
        expect_open(play, "research-a");
        expect_open(play, "prod-a");
    }
    if (live == 0 && !play->is_wild)
        simulator_check_end(play->rehearsal->simulator);
    if (rehearsal_violations(play->rehearsal) > 0)
        complain(play, "the referee objects");
}

struct counts {
    int played;
    int passed_by; /* the transfer was never seen to wait at that step */
    int bad;
};

static void play_one(int step, size_t wait, size_t change, struct counts *counts)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(
        folder, 8, step == STEP_FORCE ? "faults: { stuck_pod: 1 }\n" : "");
    owned(chars) char *story = text_format("%s, %s, %s", transfer_steps[step].name,
                                           waits[wait].name, changes[change].name);
    struct play play = { .rehearsal = rehearsal, .step = step, .story = story };
    struct kube_node *node;

    if (!reach(&play)) {
        counts->passed_by++;
        return;
    }
    waits[wait].begin(&play);
    rehearsal_run(rehearsal, WAIT_MS / 3);
    node = node_of(&play);
    if (node)
        changes[change].happen(&play, node);
    rehearsal_run(rehearsal, WAIT_MS - WAIT_MS / 3);
    waits[wait].end(&play);
    rehearsal_run(rehearsal, 3 * HOUR_MS);
    expect_end(&play);
    counts->played++;
    counts->bad += play.complaints > 0;
}

static void what_changes_in_a_wait_breaks_no_promise(void **state)
{
    struct counts counts = { 0 };
    struct sweep_part part = sweep_part(SAMPLE);

    (void)state;
    for (int step = 0; step < STEP_HAND_OVER; step++)
        for (size_t wait = 0; wait < COUNT_OF(waits); wait++)
            for (size_t change = 0; change < COUNT_OF(changes); change++)
                if (sweep_plays(&part))
                    play_one(step, wait, change, &counts);
    print_message("sweep interference: %d of %zu combinations of step, wait and change; %d bad\n",
                  counts.played, part.at, counts.bad);
    assert_int_equal(counts.bad, 0);
    assert_int_equal(counts.passed_by, 0);
}

/* A pod that no decoder can make sense of is seen, evicted or deleted as any other: it neither
   makes its node look idle nor holds it for ever. */
static void a_pod_that_cannot_be_read_leaves_as_any_other(void **state)
{
    static const char absurd[] = "[{'name':'a','resources':{'limits':{'x.y/z':'2147483647'}}},"
                                 "{'name':'b','resources':{'limits':{'x.y/z':'2147483647'}}}]";
    static const char unread[] = "[{'name':'a','resources':{'limits':7}}]";
    static const char *const containers[] = { absurd, unread };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(containers); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
        owned(chars) char *chars = mem_copy_chars(containers[i]);
        struct error err = { 0 };
        struct transfer *transfer;

        for (char *at = chars; (at = strchr(at, '\'')); *at = '"')
            continue;
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        apply(rehearsal, 7, 6);
        transfer = run_to(rehearsal, STEP_NOTICE);
        assert_non_null(transfer);
        people_bind_with(rehearsal, people_node(rehearsal, "research-a", transfer->node), "odd",
                         false, json_parse(chars, strlen(chars), "containers", &err));
        rehearsal_run(rehearsal, 10 * SECOND_MS);
        assert_int_equal(warns_of(rehearsal,
                                  "sluice cannot read 1 object of research-a, and takes pods among "
                                  "them for whole nodes; the first: pods/ml/odd: "),
                         containers[i] == unread);
        rehearsal_run(rehearsal, 2 * HOUR_MS);
        if (transfer->state != TRANSFER_DONE)
            fail_msg("%s: %s: %s", containers[i], transfer_steps[transfer->step].name,
                     transfer->waiting);
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_that_cannot_be_read_leaves_as_any_other),
        cmocka_unit_test(what_changes_in_a_wait_breaks_no_promise),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
