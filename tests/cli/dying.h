/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A reclaim in which the service dies at a commit, or its disk is full from one on, and another one
 * goes on from the journal.  Every run must end with each node moved once and a referee that has
 * nothing to say.
 */
#pragma once

#include "broker/sides/kube/kube_effects.h"
#include "broker/transfer/effect.h"
#include "tests/broker/remote_store.h"
#include "tests/cli/stepwise.h"
#include "tests/support/sweep.h"

enum { NODES = 2, LONG_MS = 45 * MINUTE_MS, SHORT_MS = 50 };

/* How long each commit takes; 0: none at all. */
static int64_t write_ms;

/* Whether the journal is a server that answers later. */
static bool is_remote;

static const char no_room[] =
    "budgets: [{cluster: research-a, namespace: ml, selector_label: app=held, min_available: "
    "99}]\n";

/* On each node that may leave: a pod that its budget keeps until it is deleted, and one that does
   not stop as long as its machine runs. */
static inline void post_obstacles(struct rehearsal *rehearsal)
{
    void *value;

    post(rehearsal, "api/v1/namespaces", json_make("{s:{s:s}}", "metadata", "name", "ml"));
    for (size_t i = 0;
         map_next(sim_cluster(rehearsal->simulator, "research-a")->nodes, &i, NULL, &value);)
        for (int is_deaf = 0; is_deaf < 2 && !((struct kube_node *)value)->is_static; is_deaf++) {
            owned(chars) char *name = text_format("%s-%zu", is_deaf ? "deaf" : "held", i);

            post(rehearsal, "api/v1/namespaces/ml/pods",
                 json_make("{s:{s:s, s:{s:s}, s:{s:s}, s:[{s:s, s:s, s:b}]},"
                           " s:{s:s, s:i, s:[{s:s}]}}",
                           "metadata", "name", name, "labels", "app", is_deaf ? "deaf" : "held",
                           "annotations", "test.sluice.dev/stuck", is_deaf ? "true" : "false",
                           "ownerReferences", "kind", "ReplicaSet", "name", "owner", "controller",
                           1, "spec", "nodeName", ((struct kube_node *)value)->name,
                           "terminationGracePeriodSeconds", 30, "containers", "name", "main"));
        }
}

static inline void use_server(struct rehearsal *rehearsal)
{
    struct journal *server = remote_open(NULL, rehearsal->loop);
    struct error err = { 0 };

    rehearsal_kill(rehearsal);
    journal_set_gate(server, rehearsal->journal->gate, rehearsal->journal->gate_context);
    journal_close(rehearsal->journal);
    rehearsal->journal = rehearsal->world.journal = server;
    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
}

static inline struct rehearsal *open_world(const char *folder, const char *faults)
{
    struct rehearsal *rehearsal = small_rehearsal(folder, 11, faults);

    if (is_remote)
        use_server(rehearsal);
    else if (write_ms > 0)
        rehearsal_slow_disk(rehearsal, write_ms);
    return rehearsal;
}

/* What was told to a person is kept. */
static inline json_t *reclaim_for_good(struct rehearsal *rehearsal)
{
    json_t *answer = reclaim(rehearsal, NODES);

    rehearsal_run(rehearsal, write_ms);
    return answer;
}

/* Until the move is over, and a little longer: nothing may come after it. */
static inline void run_to_rest(struct rehearsal *rehearsal)
{
    for (int64_t ms = 0; ms < LONG_MS && !rehearsal->is_dead; ms += MINUTE_MS) {
        rehearsal_run(rehearsal, MINUTE_MS);
        if (!rehearsal->is_dead && nodes_of(rehearsal, "prod-a-east") == 6 + NODES &&
            transfers_of(rehearsal, false) == 0)
            break;
    }
    rehearsal_run(rehearsal, rehearsal->is_dead ? 0 : 2 * MINUTE_MS);
}

static inline int effects_of(const struct rehearsal *rehearsal, const struct effect_kind *kind)
{
    const struct runner *runner = rehearsal->service->runner;
    int count = 0;
    void *value;

    for (size_t i = 0; i < runner->transfers.count; i++)
        for (size_t k = 0; map_next(runner->transfers.items[i]->effects, &k, NULL, &value);)
            count += ((const struct effect *)value)->kind == kind;
    return count;
}

/* That an undisturbed run comes by what the sweep is there for. */
static inline void expect_force(const struct rehearsal *rehearsal, bool is_forced)
{
    int times = is_forced ? NODES : 0;

    assert_int_equal(effects_of(rehearsal, &kube_effect_mark), 2 * times);
    assert_int_equal(effects_of(rehearsal, &kube_effect_delete_pod), 2 * times);
    assert_int_equal(effects_of(rehearsal, &kube_effect_clear_pod), times);
}

/* Nothing is left of the machines that went, and no node is closed. */
static inline void expect_tidy(const struct rehearsal *rehearsal)
{
    void *value;

    for (size_t i = 0; i < rehearsal->simulator->cluster_count; i++) {
        const struct kube_cluster *cluster = &rehearsal->simulator->clusters[i];

        for (size_t k = 0; map_next(cluster->nodes, &k, NULL, &value);) {
            assert_non_null(((const struct kube_node *)value)->machine);
            assert_false(((const struct kube_node *)value)->is_unschedulable);
        }
        for (size_t k = 0; map_next(cluster->pods, &k, NULL, &value);)
            if (((const struct kube_pod *)value)->node_name[0] != '\0')
                assert_non_null(((const struct kube_pod *)value)->node);
    }
}

/* A way to die, twice; numbers of commits, 0: not. */
struct death {
    int64_t first;  /* after the reclaim, */
    int64_t second; /* after the restart */
    bool is_after;  /* the commit is written, and nothing that it promises is done */
};

/* The commits while pods are told to go; numbers after the reclaim. */
struct span {
    int64_t begin;
    int64_t end;
};

static inline bool is_emptying(const struct rehearsal *rehearsal)
{
    const struct runner *runner = rehearsal->service->runner;

    for (size_t i = 0; i < runner->transfers.count; i++)
        if (runner->transfers.items[i]->state == TRANSFER_LIVE &&
            runner->transfers.items[i]->step >= STEP_DRAIN &&
            runner->transfers.items[i]->step <= STEP_CLEAR)
            return true;
    return false;
}

static inline void run_undisturbed(struct rehearsal *rehearsal, struct span *span)
{
    int64_t before = rehearsal->commits;

    *span = (struct span){ 1, 0 };
    for (int64_t ms = 0; ms < LONG_MS; ms += SHORT_MS) {
        int64_t commits = rehearsal->commits - before;

        rehearsal_run(rehearsal, SHORT_MS);
        if (is_emptying(rehearsal))
            span->end = rehearsal->commits - before + 1;
        else if (span->end == 0)
            span->begin = commits + 1;
    }
}

static inline void run_and_die(struct rehearsal *rehearsal, const struct death *death)
{
    struct error err = { 0 };

    for (int64_t at = death->first; at > 0; at = at == death->first ? death->second : 0) {
        if (death->is_after)
            rehearsal_kill_after_commit(rehearsal, at);
        else
            rehearsal_kill_at_commit(rehearsal, at);
        run_to_rest(rehearsal);
        if (!rehearsal->is_dead)
            break;
        rehearsal_kill(rehearsal);
        if (rehearsal_start(rehearsal, &err) < 0)
            fail_msg("after a death at commit %lld: %s", (long long)at, err.text);
    }
    rehearsal->kill_at = 0;
    run_to_rest(rehearsal);
}

/* One run; death NULL: an undisturbed one, of which the span is told.  Returns its commits. */
static inline int64_t play(bool is_forced, const struct death *death, struct span *ret_span)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_world(folder, is_forced ? no_room : "");
    owned(json) json_t *answer = NULL;
    int64_t before;

    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    if (is_forced)
        post_obstacles(rehearsal);
    answer = reclaim_for_good(rehearsal);
    before = rehearsal->commits;
    if (death) {
        run_and_die(rehearsal, death);
    } else {
        run_undisturbed(rehearsal, ret_span);
        expect_force(rehearsal, is_forced);
    }
    expect_rest(rehearsal, 6 + NODES);
    expect_tidy(rehearsal);
    return rehearsal->commits - before;
}

/* Kills at each commit from `begin` on, before it and after it; without SLUICE_SWEEP in one case of
   `sample`, which is odd. */
static inline void sweep(bool is_forced, int64_t begin, int64_t end, size_t sample)
{
    struct sweep_part part = sweep_part(sample);
    int deaths = 0;

    for (int64_t at = begin; at <= end; at++)
        for (int is_after = 0; is_after < 2; is_after++) {
            if (!sweep_plays(&part))
                continue;

            struct death death = {
                .first = at,
                .second = (at + is_after) % 2 == 0 ? 1 + at % 7 : 0,
                .is_after = is_after,
            };

            play(is_forced, &death, NULL);
            deaths++;
        }
    print_message("sweep death: %d deaths at commits %lld to %lld\n", deaths, (long long)begin,
                  (long long)end);
}

static inline int room_for(void *commits)
{
    int64_t *left = commits;

    return *left > 0 ? (--*left, 0) : -1;
}

/* The disk is full: the service lives, its way out is open, and nothing goes out by it that the
   journal does not hold. */
static inline void play_full_disk(void)
{
    struct span span;
    int64_t count = play(false, NULL, &span);

    for (int64_t commits = 0; commits < count; commits++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = open_world(folder, "");
        owned(json) json_t *answer = NULL;
        struct error err = { 0 };
        int64_t left = commits;

        rehearsal_run(rehearsal, MINUTE_MS);
        apply(rehearsal, 6, 6);
        rehearsal_run(rehearsal, MINUTE_MS);
        answer = reclaim_for_good(rehearsal);
        journal_set_gate(rehearsal->journal, room_for, &left);
        rehearsal_run(rehearsal, LONG_MS);
        assert_true(rehearsal->service->runner->is_broken);
        rehearsal_run(rehearsal, MINUTE_MS); /* what was sent arrives */
        assert_int_equal(rehearsal_violations(rehearsal), 0);
        rehearsal_kill(rehearsal);
        journal_set_gate(rehearsal->journal, NULL, NULL);
        assert_int_equal(rehearsal_start(rehearsal, &err), 0);
        run_to_rest(rehearsal);
        expect_rest(rehearsal, 6 + NODES);
    }
}
