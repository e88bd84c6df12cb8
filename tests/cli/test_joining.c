/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * New machines: when their nodes serve, what becomes of those that never do and of their hosts, and
 * what failures mean for the next moves.
 */
#include "clusters/kube_verbs.h"
#include "tests/cli/people.h"

static const char quick[] = "join: {deadline: 6m, stable: 20s}\n";

static struct transfer *only(struct rehearsal *rehearsal)
{
    struct transfer *transfer = transfer_at(rehearsal, 0);

    assert_non_null(transfer);
    assert_null(transfer_at(rehearsal, 1));
    return transfer;
}

/* The new machine's Node as the world has it; NULL: it did not register. */
static struct kube_node *new_node(struct rehearsal *rehearsal)
{
    struct kube_cluster *cluster = sim_cluster(rehearsal->simulator, "prod-a");

    return map_get(cluster->nodes, only(rehearsal)->new_instance);
}

/* One node is on its way to production, and its machine runs at this attempt. */
static struct transfer *joining(struct rehearsal *rehearsal, int attempt)
{
    for (int second = 0; second < 3 * 3600; second++) {
        struct transfer *transfer = transfer_at(rehearsal, 0);

        if (transfer && transfer->step == STEP_JOIN && transfer->attempt == attempt &&
            transfer->waiting[0] != '\0')
            return transfer;
        rehearsal_run(rehearsal, SECOND_MS);
    }
    fail_msg("no machine came to run at attempt %d", attempt);
    return NULL;
}

static struct rehearsal *moving(const char *folder, uint64_t seed, const char *settings,
                                const char *fault)
{
    struct rehearsal *rehearsal = small_rehearsal_with(folder, seed, "", settings, "");
    owned(json) json_t *answer = NULL;

    rehearsal_run(rehearsal, MINUTE_MS);
    if (fault)
        simulator_fault_next(rehearsal->simulator, fault, NULL);
    answer = reclaim(rehearsal, 1);
    assert_int_equal(json_int_or(answer, "accepted_nodes", 0), 1);
    return rehearsal;
}

static void expect_waits_for(const struct transfer *transfer, const char *what)
{
    if (!strstr(transfer->waiting, what))
        fail_msg("waits for \"%s\", not \"%s\"", transfer->waiting, what);
}

static bool story_has(struct rehearsal *rehearsal, const char *event, const char *what)
{
    struct error err = { 0 };
    owned(json) json_t *story = service_events(rehearsal->service, 1000, &err);
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(story, "events"), i, row) {
        owned(chars) char *chars = json_print(row);

        if (text_equal(json_text_or(row, "event", ""), event) && strstr(chars, what))
            return true;
    }
    return false;
}

/* T40, T41, T43: until all GPUs have stayed for a while the taint keeps pods away. */
static void the_taint_goes_last(void **state)
{
    static const char *const faults[] = { NULL, "gpus_flap" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = moving(folder, 31, quick, faults[i]);
        const struct transfer *transfer = joining(rehearsal, 1);
        const struct kube_node *node = NULL;
        int64_t good_ms = -1;
        int turns = 0;
        int bare = 0; /* looks in a row at which it was Ready without GPUs */

        while (transfer->state == TRANSFER_LIVE) {
            rehearsal_run(rehearsal, 200);
            node = new_node(rehearsal);
            if (!node || !sim_node_has_taint(node, SIM_STARTING))
                continue;
            /* the broker learns of it within a few seconds */
            bare = node->readiness == NODE_READY && node->gpus == 0 ? bare + 1 : 0;
            if (bare > 15)
                expect_waits_for(transfer, "0 of 8 GPUs allocatable");
            turns += (node->gpus == 8) != (good_ms >= 0);
            if (node->gpus != 8)
                good_ms = -1;
            else if (good_ms < 0)
                good_ms = sim_now(rehearsal->simulator);
        }
        assert_int_equal(transfer->state, TRANSFER_DONE);
        assert_int_equal(turns, faults[i] ? 3 : 1);
        assert_in_range(sim_now(rehearsal->simulator) - good_ms, 20 * SECOND_MS, 40 * SECOND_MS);
        expect_rest(rehearsal, 7);
    }
}

static bool has_node(struct rehearsal *rehearsal, const char *name)
{
    return map_get(sim_cluster(rehearsal->simulator, "prod-a")->nodes, name) != NULL;
}

/* T42: evidence, another attempt, and the host remembered over a restart, for its time only. */
static void seven_of_eight_gpus_are_not_enough(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = moving(folder, 32, quick, "one_gpu_less");
    struct transfer *transfer = joining(rehearsal, 1);
    owned(chars) char *first = mem_copy_chars(transfer->new_instance);

    (void)state;
    rehearsal_run(rehearsal, 5 * MINUTE_MS + 50 * SECOND_MS);
    expect_waits_for(transfer, "7 of 8 GPUs allocatable");
    assert_int_equal(transfer->attempt, 1);
    assert_true(has_node(rehearsal, first));
    while (transfer->attempt == 1)
        rehearsal_run(rehearsal, 100);
    assert_false(has_node(rehearsal, first));
    transfer = joining(rehearsal, 2);
    assert_string_not_equal(transfer->new_instance, first);
    assert_true(story_has(rehearsal, "machine_failed", "7 of 8 GPUs allocatable"));
    assert_true(story_has(rehearsal, "host_quarantined", first));
    assert_true(story_has(rehearsal, "host_quarantined", "never served, 6m after it ran"));
    assert_true(warns_of(rehearsal, "is in quarantine until 2026-11-18T"));
    restart(rehearsal);
    assert_true(warns_of(rehearsal, "is in quarantine until 2026-11-18T"));
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    assert_int_equal(only(rehearsal)->attempt, 2);
    expect_rest(rehearsal, 7);
    rehearsal_run(rehearsal, 25 * (int64_t)HOUR_MS);
    assert_false(warns_of(rehearsal, "quarantine"));
}

/* A machine that failed leaves no Node behind, wherever between its end and the next attempt the
   service dies. */
static void a_death_leaves_no_node_of_a_failed_machine(void **state)
{
    (void)state;
    for (int64_t at = 1; at <= 16; at++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = moving(folder, 32, quick, "one_gpu_less");
        owned(chars) char *first = mem_copy_chars(joining(rehearsal, 1)->new_instance);
        int deaths = 0;

        rehearsal_run(rehearsal, 5 * MINUTE_MS + 50 * SECOND_MS);
        if (at % 2 == 0)
            rehearsal_kill_after_commit(rehearsal, at / 2);
        else
            rehearsal_kill_at_commit(rehearsal, at / 2 + 1);
        while (only(rehearsal)->attempt == 1 || rehearsal->is_dead) {
            rehearsal_run(rehearsal, 100);
            if (!rehearsal->is_dead)
                continue;
            restart(rehearsal);
            deaths++;
        }
        rehearsal->kill_at = 0;
        assert_true(deaths == 1 || at > 8);
        assert_false(has_node(rehearsal, first));
        rehearsal_run(rehearsal, 15 * MINUTE_MS);
        expect_rest(rehearsal, 7);
    }
}

/* A cluster that was not seen since the start says nothing of a Node. */
static void an_unseen_node_is_not_taken_for_gone(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = moving(folder, 32, quick, "one_gpu_less");
    owned(chars) char *first = mem_copy_chars(joining(rehearsal, 1)->new_instance);

    (void)state;
    while (!only(rehearsal)->is_discarding)
        rehearsal_run(rehearsal, 100);
    simulator_cut_off(rehearsal->simulator, "prod-a");
    restart(rehearsal);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    assert_int_equal(only(rehearsal)->attempt, 1);
    simulator_cut_off(rehearsal->simulator, NULL);
    while (only(rehearsal)->attempt == 1)
        rehearsal_run(rehearsal, 100);
    assert_false(has_node(rehearsal, first));
    rehearsal_run(rehearsal, 30 * MINUTE_MS);
    expect_rest(rehearsal, 7);
}

/* Who may not delete Nodes leaves them to the cloud's controller, and makes the next attempt. */
static void a_node_that_may_not_be_deleted_holds_nothing_up(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = moving(folder, 32, quick, "one_gpu_less");
    owned(chars) char *first = mem_copy_chars(joining(rehearsal, 1)->new_instance);

    (void)state;
    for (int i = 0; i < 100; i++)
        simulator_fault_next(rehearsal->simulator, "http_403", "delete_node");
    while (only(rehearsal)->attempt == 1)
        rehearsal_run(rehearsal, 100);
    assert_true(has_node(rehearsal, first));
    rehearsal_run(rehearsal, 15 * MINUTE_MS);
    assert_false(has_node(rehearsal, first));
    assert_int_equal(only(rehearsal)->attempt, 2);
    expect_rest(rehearsal, 7);
}

/* A machine that comes to the sick host again, and would do well there, goes all the same. */
static void a_quarantined_host_is_left_at_once(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = moving(folder, 33, quick, "one_gpu_less");

    (void)state;
    joining(rehearsal, 1);
    simulator_fault_next(rehearsal->simulator, "same_host", NULL);
    joining(rehearsal, 3);
    assert_true(story_has(rehearsal, "machine_failed", "is in quarantine until"));
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    assert_int_equal(only(rehearsal)->state, TRANSFER_DONE);
    expect_rest(rehearsal, 7);
}

static json_t *release_host(struct rehearsal *rehearsal, const char *host, struct error *err)
{
    owned(json) json_t *request = json_make("{ss}", "host", host);

    return service_release_host(rehearsal->service, request, "ada", err);
}

/* A person has mended the host: the next machine that comes to it serves there.  That is known
   after a restart, too. */
static void a_host_that_a_person_releases_is_used_again(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = moving(folder, 33, quick, "one_gpu_less");
    owned(json) json_t *hosts = NULL;
    owned(json) json_t *released = NULL;
    owned(json) json_t *none = NULL;
    const json_t *row;
    struct error err = { 0 };

    (void)state;
    joining(rehearsal, 1);
    simulator_fault_next(rehearsal->simulator, "same_host", NULL);
    while (only(rehearsal)->attempt == 1)
        rehearsal_run(rehearsal, SECOND_MS);
    hosts = service_hosts(rehearsal->service);
    assert_int_equal(json_array_size(json_object_get(hosts, "hosts")), 1);
    row = json_array_get(json_object_get(hosts, "hosts"), 0);
    assert_string_equal(json_text_or(row, "pool", ""), "prod-a-east");
    assert_string_equal(json_text_or(row, "provider", ""), "google");
    assert_non_null(strstr(json_text_or(row, "text", ""), "7 of 8 GPUs"));

    released = release_host(rehearsal, json_text_or(row, "host", ""), &err);
    assert_non_null(released);
    assert_null(release_host(rehearsal, json_text_or(row, "host", ""), &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_true(story_has(rehearsal, "host_released", "\"by\":\"ada\""));
    restart(rehearsal);
    none = service_hosts(rehearsal->service);
    assert_int_equal(json_array_size(json_object_get(none, "hosts")), 0);
    assert_false(warns_of(rehearsal, "quarantine"));
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(only(rehearsal)->state, TRANSFER_DONE);
    assert_int_equal(only(rehearsal)->attempt, 2); /* on that host: see the case before */
    expect_rest(rehearsal, 7);
}

/* Where there is no other host the last attempt takes the sick one, and the way back does too. */
static void attempts_are_bounded_by_the_guard(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = moving(
        folder, 34, "join: {deadline: 5m}\nguard: {attempts: 3}\n", NULL);
    const struct transfer *transfer;

    (void)state;
    for (int i = 0; i < 3; i++) {
        simulator_fault_next(rehearsal->simulator, "never_joins", NULL);
        if (i > 0)
            simulator_fault_next(rehearsal->simulator, "same_host", NULL);
    }
    transfer = joining(rehearsal, 1);
    rehearsal_run(rehearsal, 4 * MINUTE_MS + 50 * SECOND_MS);
    expect_waits_for(transfer, "to register");
    assert_int_equal(transfer->attempt, 1);
    while (transfer->state == TRANSFER_LIVE && transfer->attempt < 5)
        rehearsal_run(rehearsal, 100);
    assert_int_equal(transfer->state, TRANSFER_RETURNED);
    assert_int_equal(transfer->attempt, 4);
    assert_true(text_starts_with(transfer->new_instance, "research-a-east-"));
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* T39: only the provider ID says which Node is the machine's. */
static void an_old_node_of_the_same_name_is_not_taken(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = moving(folder, 35, quick, NULL);
    struct kube_cluster *cluster = sim_cluster(rehearsal->simulator, "prod-a");
    const struct transfer *transfer = joining(rehearsal, 1);
    owned(json) json_t *old = json_make("{s{ss s{ss}} s{ss} s{s{ss}}}", "metadata", "name",
                                        transfer->new_instance, "labels", "sluice.dev/ephemeral",
                                        "true", "spec", "providerID", "gce://p/us-east5-a/another",
                                        "status", "allocatable", "nvidia.com/gpu", "8");

    (void)state;
    sim_node_post(rehearsal->simulator, cluster, old);
    rehearsal_run(rehearsal, 30 * SECOND_MS);
    assert_int_equal(transfer->step, STEP_JOIN);
    expect_waits_for(transfer, "a Node of that name has provider ID gce://p/us-east5-a/another");
    sim_node_delete(rehearsal->simulator, new_node(rehearsal));
    rehearsal_run(rehearsal, 8 * MINUTE_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    expect_rest(rehearsal, 7);
}

static void patched(void *context, const json_t *body, const struct error *err)
{
    (void)body;
    assert_null(err);
    *(bool *)context = true;
}

/* What the configuration wants besides: a label, a DaemonSet, a taint of another controller gone.
 */
static void what_is_configured_is_waited_for(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = moving(
        folder, 36,
        "join: {labels: nvidia.com/gpu.product, daemons: kube-system/gpu-device-plugin}\n", NULL);
    const struct transfer *transfer = joining(rehearsal, 1);
    owned(json) json_t *patch = json_make("{s{s{ss}}}", "metadata", "labels",
                                          "nvidia.com/gpu.product", "H100");
    bool is_done = false;

    (void)state;
    rehearsal_run(rehearsal, 6 * MINUTE_MS);
    assert_int_equal(transfer->step, STEP_JOIN);
    assert_string_equal(transfer->waiting, "label nvidia.com/gpu.product");
    assert_true(sim_node_has_taint(new_node(rehearsal), SIM_STARTING));
    cluster_patch_node(fleet_cluster(rehearsal->service->fleet, transfer->target->cluster),
                       transfer->new_instance, patch, patched, &is_done);
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_true(is_done);
    assert_int_equal(transfer->state, TRANSFER_DONE);
}

/* The node template of the pool lacks our taint: the world's new Node is without it. */
static void strip_taint(struct rehearsal *rehearsal)
{
    struct kube_node *node;
    size_t i;
    json_t *taint;

    while (!(node = new_node(rehearsal)))
        rehearsal_run(rehearsal, 100);
    json_array_foreach(node->taints, i, taint)
        if (text_equal(json_text_or(taint, "key", ""), SIM_STARTING)) {
            json_array_remove(node->taints, i);
            break;
        }
    sim_node_changed(rehearsal->simulator, node, CHANGE_MODIFIED);
}

/* It serves all the same; the pool is named, once, until a machine of it comes as it should. */
static void a_template_without_our_taint_is_named(void **state)
{
    static const char what[] = "pool prod-a-east come without the taint sluice.dev/starting";
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = moving(folder, 39, quick, NULL);
    owned(json) json_t *answer = NULL;
    const struct transfer *second;

    (void)state;
    joining(rehearsal, 1);
    assert_false(warns_of(rehearsal, what));
    strip_taint(rehearsal);
    while (only(rehearsal)->state == TRANSFER_LIVE)
        rehearsal_run(rehearsal, SECOND_MS);
    assert_int_equal(only(rehearsal)->state, TRANSFER_DONE);
    assert_true(warns_of(rehearsal, what));
    assert_true(story_has(rehearsal, "came_untainted", ""));
    restart(rehearsal);
    assert_true(warns_of(rehearsal, what));

    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, 1);
    while (!(second = transfer_at(rehearsal, 1)) || second->state == TRANSFER_LIVE) {
        rehearsal_run(rehearsal, SECOND_MS);
        assert_true(warns_of(rehearsal, what) || (second && second->step >= STEP_JOIN));
    }
    assert_int_equal(second->state, TRANSFER_DONE);
    assert_false(warns_of(rehearsal, what));
}

/* A cloud that does not say where a machine is keeps no machine from serving. */
static void an_unknown_host_holds_nothing_up(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = moving(folder, 37, quick, NULL);

    (void)state;
    for (int i = 0; i < 100; i++)
        simulator_fault_next(rehearsal->simulator, "http_500", "get_instance");
    joining(rehearsal, 1);
    rehearsal_run(rehearsal, 6 * MINUTE_MS);
    assert_int_equal(only(rehearsal)->state, TRANSFER_DONE);
}

/* T38: four nodes are wanted, two at once are allowed, and the cloud has none for 80 minutes. */
static void a_stock_out_tears_no_second_wave_down(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 38, "stockouts: [{zone: us-east5-a, from: 0m, to: 80m}]\n",
        "guard: {in_flight: 2, breaker: 2, breaker_pause: 30m, attempts: 30}\n", "");

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 10, 10);
    rehearsal_run(rehearsal, 30 * MINUTE_MS);
    assert_int_equal(transfers_of(rehearsal, true), 2);
    assert_true(warns_of(rehearsal, "pool prod-a-east is closed until"));
    assert_true(story_has(rehearsal, "pool_closed", "prod-a-east"));
    restart(rehearsal);
    rehearsal->config->guard.in_flight = 4; /* the cap is not what holds the others back */
    rehearsal_run(rehearsal, 48 * MINUTE_MS);
    assert_int_equal(transfers_of(rehearsal, true), 2);
    assert_int_equal(simulator_pool_target(rehearsal->simulator, "research-a-east"), 8);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    assert_false(warns_of(rehearsal, "is closed until"));
    expect_rest(rehearsal, 10);
}

/* Announced, and not yet cordoned: what cannot be rebuilt stays where it is. */
static void an_announced_node_waits_while_its_pool_is_closed(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 39, "", "guard: {breaker: 1, breaker_pause: 20m}\njoin: {deadline: 15m}\n", "");
    const struct transfer *announced;

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    simulator_fault_next(rehearsal->simulator, "never_joins", NULL);
    simulator_fault_next(rehearsal->simulator, "never_joins", NULL);

    owned(json) json_t *answer = reclaim(rehearsal, 1);

    joining(rehearsal, 1);
    rehearsal_run(rehearsal, 14 * MINUTE_MS);
    apply(rehearsal, 10, 10);
    rehearsal_run(rehearsal, 8 * MINUTE_MS);
    announced = transfer_at(rehearsal, 1);
    assert_non_null(announced);
    assert_int_equal(announced->step, STEP_NOTICE);
    expect_waits_for(announced, "pool prod-a-east is closed until");
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 10);
}

/* 1, 2, 4: each wave begins when the one before serves. */
static void waves_double_while_all_goes_well(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 40, "", "guard: {canary: true}\n", "");
    size_t sizes[8] = { 0 };
    size_t waves = 0;
    size_t seen = 0;

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 13, 13);
    for (int second = 0; second < 2 * 3600 && waves < COUNT_OF(sizes); second++) {
        size_t all = transfers_of(rehearsal, true);

        if (all > seen) {
            assert_int_equal(transfers_of(rehearsal, false), all - seen);
            sizes[waves++] = all - seen;
        }
        seen = all;
        rehearsal_run(rehearsal, SECOND_MS);
    }
    assert_int_equal(waves, 3);
    assert_int_equal(sizes[0], 1);
    assert_int_equal(sizes[1], 2);
    assert_int_equal(sizes[2], 4);
    expect_rest(rehearsal, 13);
}

/* New machines of production's pool show this instead of whole GPUs. */
static void cut_into(struct rehearsal *rehearsal, const char *accelerator)
{
    struct pool *pool = NULL;

    for (size_t i = 0; i < rehearsal->simulator->pool_count; i++)
        if (text_equal(rehearsal->simulator->pools[i].plan->name, "prod-a-east"))
            pool = &rehearsal->simulator->pools[i];
    assert_non_null(pool);
    pool->accelerator = accelerator;
}

/* Seven slices of each of its GPUs are all of them. */
static void a_machine_that_is_cut_into_slices_serves(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = moving(folder, 31, quick, NULL);
    const struct transfer *transfer;

    (void)state;
    transfer = joining(rehearsal, 1);
    cut_into(rehearsal, "nvidia.com/mig-1g.10gb");
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(transfer->attempt, 1);
    assert_int_equal(rehearsal->simulator->machines_created, 1);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* What it has is not what is counted: a person says whether it is as it should be. */
static void a_machine_with_other_accelerators_is_not_thrown_away(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = moving(folder, 31, quick, NULL);
    const struct transfer *transfer;

    (void)state;
    transfer = joining(rehearsal, 1);
    cut_into(rehearsal, "nvidia.com/mig-5g.17gb");
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->step, STEP_JOIN);
    assert_int_equal(transfer->attempt, 1);
    assert_true(transfer->needs_operator);
    expect_waits_for(transfer, "0 of 8 GPUs allocatable, but nvidia.com/mig-5g.17gb 56, which");
    assert_int_equal(rehearsal->simulator->machines_created, 1);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* Where there may be no other host, a machine on a bad one is better than none. */
static void a_quarantined_host_is_taken_by_the_last_attempt(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 33, "", "join: {deadline: 6m, stable: 20s}\nguard: {attempts: 2}\n", "");
    const struct transfer *transfer;

    (void)state;
    simulator_fault_next(rehearsal->simulator, "one_gpu_less", NULL);
    transfer = reclaimed(rehearsal, STEP_JOIN);
    simulator_fault_next(rehearsal->simulator, "same_host", NULL);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(transfer->attempt, 2);
    expect_rest(rehearsal, 7);
}

/* Our taint is ours to lift; a cordon on the new node is an operator's word. */
static void a_person_may_keep_the_new_node_closed(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 31, "", "join: {deadline: 60m, stable: 20s}\n", "");
    const struct transfer *transfer = reclaimed(rehearsal, STEP_JOIN);
    struct kube_node *node = NULL;

    (void)state;
    while (!(node = people_node(rehearsal, "prod-a", transfer->new_instance)))
        rehearsal_run(rehearsal, 100);
    node->is_unschedulable = true;
    people_changed(rehearsal, node);
    rehearsal_run(rehearsal, 20 * MINUTE_MS);
    assert_int_equal(transfer->step, STEP_JOIN);
    assert_non_null(strstr(transfer->waiting, "which is not sluice's"));
    node->is_unschedulable = false;
    people_changed(rehearsal, node);
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
}

/* A service that dies when it has begun to hand the node over; the node. */
static struct kube_node *die_at_the_end(struct rehearsal *rehearsal, struct transfer *transfer)
{
    struct kube_node *node;
    struct error err = { 0 };

    for (int second = 0; second < 3600 && transfer->ready_ms == 0; second++)
        rehearsal_run(rehearsal, SECOND_MS);
    assert_true(transfer->ready_ms > 0);
    node = people_node(rehearsal, "prod-a", transfer->new_instance);
    transfer->step = STEP_HAND_OVER;
    if (runner_store(rehearsal->service->runner, transfer, "step", &err) < 0)
        fail_msg("%s", err.text);
    rehearsal_kill(rehearsal);
    return node;
}

/* While the service was away its new node broke: it is not handed over before it serves again, or
   ten minutes have passed. */
static void a_node_is_seen_to_serve_before_it_is_handed_over(void **state)
{
    (void)state;
    for (int heals = 0; heals < 2; heals++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
        struct transfer *transfer = scheduled(rehearsal, STEP_JOIN);
        struct kube_node *node = die_at_the_end(rehearsal, transfer);
        struct error err = { 0 };

        node->readiness = NODE_NOT_READY;
        people_changed(rehearsal, node);
        if (rehearsal_start(rehearsal, &err) < 0)
            fail_msg("%s", err.text);
        rehearsal_run(rehearsal, 5 * MINUTE_MS);
        transfer = transfer_at(rehearsal, 0);
        assert_int_equal(transfer->state, TRANSFER_LIVE);
        assert_int_equal(transfer->step, STEP_HAND_OVER);
        assert_non_null(strstr(transfer->waiting, node->name));
        if (heals) {
            node->readiness = NODE_READY;
            people_changed(rehearsal, node);
        }
        rehearsal_run(rehearsal, (heals ? 1 : 6) * MINUTE_MS);
        assert_int_equal(transfer->state, TRANSFER_DONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_taint_goes_last),
        cmocka_unit_test(seven_of_eight_gpus_are_not_enough),
        cmocka_unit_test(a_death_leaves_no_node_of_a_failed_machine),
        cmocka_unit_test(an_unseen_node_is_not_taken_for_gone),
        cmocka_unit_test(a_node_that_may_not_be_deleted_holds_nothing_up),
        cmocka_unit_test(a_quarantined_host_is_left_at_once),
        cmocka_unit_test(a_host_that_a_person_releases_is_used_again),
        cmocka_unit_test(attempts_are_bounded_by_the_guard),
        cmocka_unit_test(an_old_node_of_the_same_name_is_not_taken),
        cmocka_unit_test(what_is_configured_is_waited_for),
        cmocka_unit_test(a_template_without_our_taint_is_named),
        cmocka_unit_test(an_unknown_host_holds_nothing_up),
        cmocka_unit_test(a_stock_out_tears_no_second_wave_down),
        cmocka_unit_test(an_announced_node_waits_while_its_pool_is_closed),
        cmocka_unit_test(waves_double_while_all_goes_well),
        cmocka_unit_test(a_machine_that_is_cut_into_slices_serves),
        cmocka_unit_test(a_machine_with_other_accelerators_is_not_thrown_away),
        cmocka_unit_test(a_quarantined_host_is_taken_by_the_last_attempt),
        cmocka_unit_test(a_person_may_keep_the_new_node_closed),
        cmocka_unit_test(a_node_is_seen_to_serve_before_it_is_handed_over),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
