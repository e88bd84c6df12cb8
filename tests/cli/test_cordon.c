/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * T1 as the service does it: what it writes to a node that leaves, patch by patch, and that a way
 * back takes all of it away; what a cordon that others take away comes to, and the time that the
 * scheduler has to see it.
 */
#include "tests/cli/people.h"

#define BALANCERS "node.kubernetes.io/exclude-from-external-load-balancers"

/* The service's way out, with the bodies of its patches of Nodes kept. */
static struct http *open_way;
static json_t *patches;

static struct http_exchange *kept_send(struct http *http, const struct http_request *request,
                                       http_done_fn done, void *context)
{
    struct error err = { 0 };
    const char *node = strstr(request->url, "/api/v1/nodes/");

    (void)http;
    if (request->method == HTTP_PATCH && node && !strstr(node, "/status"))
        json_array_append_new(patches,
                              json_parse(request->body, request->body_size, "patch", &err));
    return http_send(open_way, request, done, context);
}

static void kept_cancel(struct http_exchange *exchange)
{
    http_cancel(open_way, exchange);
}

static const struct http_verbs kept_verbs = { .send = kept_send, .cancel = kept_cancel };

static const char *label_of(const json_t *patch)
{
    const json_t *labels = json_at(patch, "metadata/labels");

    return json_string_value(json_object_get(labels, BALANCERS)) ?: "";
}

static const char *effect_of_taint(const json_t *patch)
{
    const json_t *taint;
    size_t i;

    json_array_foreach(json_at(patch, "spec/taints"), i, taint) {
        if (text_equal(json_text_or(taint, "key", ""), SLUICE_TAINT_LEAVING))
            return json_text_or(taint, "effect", "");
    }
    return "";
}

/* A patch that closes the node, and says everything at once, bound to what was read. */
static void expect_cordon(const json_t *patch, const struct transfer *transfer)
{
    const json_t *notes = json_at(patch, "metadata/annotations");

    assert_true(json_is_true(json_at(patch, "spec/unschedulable")));
    assert_string_equal(label_of(patch), "true");
    assert_string_equal(effect_of_taint(patch), "NoSchedule");
    assert_string_equal(json_string_value(json_object_get(notes, SLUICE_NOTE_TRANSFER)),
                        transfer->id);
    assert_string_equal(json_string_value(json_object_get(notes, SLUICE_NOTE_WAS_CORDONED)),
                        "false");
    assert_non_null(json_object_get(notes, SLUICE_NOTE_DEPARTURE));
    assert_true(json_text_or(patch, "metadata/resourceVersion", "")[0] != '\0');
}

/* What is announced still serves; what is closed does not. */
static void expect_announcement(const json_t *patch)
{
    assert_null(json_at(patch, "spec/unschedulable"));
    assert_string_equal(label_of(patch), "");
    assert_string_equal(effect_of_taint(patch), "PreferNoSchedule");
}

static void expect_as_before(struct rehearsal *rehearsal, const char *name)
{
    const struct kube_node *node = map_get(sim_cluster(rehearsal->simulator, "research-a")->nodes,
                                           name);

    assert_non_null(node);
    assert_false(node->is_unschedulable);
    assert_null(json_object_get(node->labels, BALANCERS));
    assert_int_equal(json_array_size(node->taints), 0);
    assert_null(json_object_get(node->annotations, SLUICE_NOTE_TRANSFER));
    assert_null(json_object_get(node->annotations, SLUICE_NOTE_ADDED));
}

static void a_node_leaves_the_load_balancers_with_its_cordon(void **state)
{
    (void)state;
    for (int is_reclaim = 0; is_reclaim < 2; is_reclaim++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 3, "");
        struct http kept = { &kept_verbs };
        owned(json) json_t *kept_patches = json_array();
        owned(json) json_t *answer = NULL;
        struct transfer *transfer;
        struct error err = { 0 };

        patches = kept_patches;
        open_way = rehearsal->door;
        rehearsal_kill(rehearsal);
        rehearsal->world.http = &kept;
        assert_int_equal(rehearsal_start(rehearsal, &err), 0);
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        if (is_reclaim)
            answer = reclaim(rehearsal, 1);
        else
            apply(rehearsal, 7, 6);
        transfer = run_to(rehearsal, STEP_DRAIN);
        assert_non_null(transfer);
        assert_int_equal(json_array_size(patches), is_reclaim ? 1 : 2);
        if (!is_reclaim)
            expect_announcement(json_array_get(patches, 0));
        expect_cordon(json_array_get(patches, json_array_size(patches) - 1), transfer);
        runner_withdraw(rehearsal->service->runner, transfer, "a person thinks better of it");
        rehearsal_run(rehearsal, 10 * SECOND_MS);
        assert_int_equal(transfer->state, TRANSFER_UNDONE);
        expect_as_before(rehearsal, transfer->node);
        rehearsal_kill(rehearsal);
        rehearsal->world.http = rehearsal->door;
    }
}

static const char no_room[] = "budgets: [{cluster: research-a, namespace: ml, "
                              "selector_label: app=held, min_available: 99}]\n";

/* The node's drain is held up by a budget, for the whole of its five minutes. */
static struct transfer *held_drain(struct rehearsal *rehearsal)
{
    struct transfer *transfer = scheduled(rehearsal, STEP_NOTICE);

    post(rehearsal, "api/v1/namespaces", json_make("{s:{s:s}}", "metadata", "name", "ml"));
    post(rehearsal, "api/v1/namespaces/ml/pods",
         json_make("{s:{s:s, s:{s:s}, s:[{s:s, s:s, s:b}]}, s:{s:s, s:i, s:[{s:s}]}}", "metadata",
                   "name", "held", "labels", "app", "held", "ownerReferences", "kind", "ReplicaSet",
                   "name", "owner", "controller", 1, "spec", "nodeName", transfer->node,
                   "terminationGracePeriodSeconds", 30, "containers", "name", "main"));
    transfer = run_to(rehearsal, STEP_DRAIN);
    rehearsal_run(rehearsal, 20 * SECOND_MS);
    assert_int_equal(transfer->step, STEP_DRAIN);
    return transfer;
}

static struct kube_node *node_of_transfer(struct rehearsal *rehearsal,
                                          const struct transfer *transfer)
{
    return map_get(sim_cluster(rehearsal->simulator, "research-a")->nodes, transfer->node);
}

/* A client opens the node, or takes our taint off it; `manager` is who the server says did. */
static void take_away(struct rehearsal *rehearsal, const struct transfer *transfer, bool is_taint,
                      const char *manager)
{
    struct kube_node *node = node_of_transfer(rehearsal, transfer);
    owned(json) json_t *patch = json_make("{s{so}}", "spec", "taints", json_object());

    if (manager)
        node->managed = sim_managed_fields(rehearsal->simulator, manager,
                                           sim_now(rehearsal->simulator), patch);
    if (is_taint)
        json_array_clear(node->taints);
    else
        node->is_unschedulable = false;
    sim_node_changed(rehearsal->simulator, node, CHANGE_MODIFIED);
    sim_node_review(rehearsal->simulator, node);
}

static bool is_closed(const struct kube_node *node)
{
    return node->is_unschedulable && sim_node_has_taint(node, SLUICE_TAINT_LEAVING);
}

static bool story_says(struct rehearsal *rehearsal, const char *what)
{
    struct error err = { 0 };
    owned(json) json_t *story = service_events(rehearsal->service, 1000, &err);
    owned(chars) char *chars = json_print(story);

    return strstr(chars, what) != NULL;
}

/* Once it may be a mistake, and is put back as it was; twice it is meant, and the node stays. */
static void a_cordon_that_is_taken_away_is_put_back_once(void **state)
{
    (void)state;
    for (int is_taint = 0; is_taint < 2; is_taint++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, no_room);
        struct transfer *transfer = held_drain(rehearsal);
        const struct kube_node *node = node_of_transfer(rehearsal, transfer);

        take_away(rehearsal, transfer, is_taint, NULL);
        rehearsal_run(rehearsal, 10 * SECOND_MS);
        assert_true(is_closed(node));
        assert_int_equal(transfer->step, STEP_DRAIN);
        assert_false(transfer->is_undoing);
        assert_string_equal(
            json_string_value(json_object_get(node->annotations, SLUICE_NOTE_WAS_CORDONED)),
            "false");

        take_away(rehearsal, transfer, true, "karpenter");
        /* A plan may want the node again later, with a new notice. */
        for (int64_t ms = 0; ms < 30 * SECOND_MS && transfer->state == TRANSFER_LIVE;
             ms += STEPWISE_MS)
            rehearsal_run(rehearsal, STEPWISE_MS);
        assert_int_equal(transfer->state, TRANSFER_UNDONE);
        expect_as_before(rehearsal, transfer->node);
        assert_true(story_says(rehearsal, "was taken away twice, the last time by karpenter"));
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

/* The broker dies right after it has put it back: it knows that it did. */
static void a_restart_does_not_make_it_the_first_time_again(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, no_room);
    struct transfer *transfer = held_drain(rehearsal);

    (void)state;
    take_away(rehearsal, transfer, false, NULL);
    rehearsal_run(rehearsal, 10 * SECOND_MS);
    assert_true(is_closed(node_of_transfer(rehearsal, transfer)));
    restart(rehearsal);
    transfer = transfer_at(rehearsal, 0);
    rehearsal_run(rehearsal, 10 * SECOND_MS);
    assert_int_equal(transfer->step, STEP_DRAIN);
    take_away(rehearsal, transfer, false, NULL);
    rehearsal_run(rehearsal, 30 * SECOND_MS);
    assert_int_equal(transfer->state, TRANSFER_UNDONE);
    assert_true(story_says(rehearsal, "was taken away twice, the last time by an unknown author"));
    expect_as_before(rehearsal, transfer->node);
}

/* Who takes it away, and does not let us put it back, is left alone after a while. */
static void a_cordon_that_cannot_be_put_back_is_given_up(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, no_room);
    struct transfer *transfer = held_drain(rehearsal);

    (void)state;
    for (int i = 0; i < 100; i++)
        simulator_fault_next(rehearsal->simulator, "http_403", "patch_node");
    take_away(rehearsal, transfer, false, NULL);
    rehearsal_run(rehearsal, 9 * MINUTE_MS);
    assert_false(transfer->is_undoing);
    assert_int_equal(transfer->step, STEP_DRAIN);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    assert_true(transfer->is_undoing);
}

/* A node is empty when the scheduler has had its time to see the cordon, and not before. */
static void a_scheduler_that_lags_behind_the_cordon_is_waited_for(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    const struct transfer *transfer;
    int64_t waited_ms;

    (void)state;
    rehearsal->config->drain.settle_ms = 4 * MINUTE_MS;
    transfer = scheduled(rehearsal, STEP_RELEASE);
    waited_ms = runner_now(rehearsal->service->runner).ms - transfer->cordoned.ms;
    assert_in_range(waited_ms, 4 * MINUTE_MS, 5 * MINUTE_MS - 1);
}

/* What it did not see of the first cordon it may miss of the second. */
static void a_scheduler_is_given_its_time_after_each_cordon(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    const struct transfer *transfer;
    int64_t opened_ms;

    (void)state;
    rehearsal->config->drain.settle_ms = 3 * MINUTE_MS;
    transfer = scheduled(rehearsal, STEP_DRAIN);
    rehearsal_run(rehearsal, 170 * SECOND_MS);
    assert_int_equal(transfer->step, STEP_DRAIN);
    people_open(rehearsal, people_node(rehearsal, "research-a", transfer->node));
    opened_ms = loop_now(rehearsal->loop);
    transfer = go_to(rehearsal, STEP_RELEASE);
    assert_int_equal(transfer->state, TRANSFER_LIVE);
    assert_true(loop_now(rehearsal->loop) - opened_ms >= 3 * MINUTE_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_leaves_the_load_balancers_with_its_cordon),
        cmocka_unit_test(a_cordon_that_is_taken_away_is_put_back_once),
        cmocka_unit_test(a_restart_does_not_make_it_the_first_time_again),
        cmocka_unit_test(a_cordon_that_cannot_be_put_back_is_given_up),
        cmocka_unit_test(a_scheduler_that_lags_behind_the_cordon_is_waited_for),
        cmocka_unit_test(a_scheduler_is_given_its_time_after_each_cordon),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
