/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replicas and quotas: set in the right order with the nodes, and left to others who turn them.
 */
#include "base/log.h"
#include "broker/terminal/board.h"
#include "clusters/kueue.h"
#include "tests/cli/stepwise.h"

#include <string.h>

static const char hpa_path[] = "/apis/autoscaling/v2/namespaces/serving/horizontalpodautoscalers/"
                               "web";
static const char queue_path[] = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/shared";
static const char other_path[] = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/other";
static const char quota[] = "quotas:\n  shared: {cluster: research-a, cluster_queue: shared,"
                            " flavor: ephemeral, fixed_gpus: 8}\n";

static int replicas_of(struct rehearsal *rehearsal)
{
    return simulator_replicas(rehearsal->simulator, "prod-a", "serving", "chat-2x");
}

/* The trouble of the only workload, as the status shows it; the caller frees it. */
static char *trouble_of(struct rehearsal *rehearsal, const char *list)
{
    owned(json) json_t *status = service_status(rehearsal->service);
    const json_t *row = json_array_get(json_object_get(status, list), 0);

    return mem_copy_chars(json_text_or(row, "trouble", "(none)"));
}

static void expect_trouble(struct rehearsal *rehearsal, const char *list, const char *want)
{
    owned(chars) char *trouble = trouble_of(rehearsal, list);

    if (!strstr(trouble, want))
        fail_msg("wanted \"%s\", got \"%s\"", want, trouble);
}

static void put_hpa(struct rehearsal *rehearsal, int least, bool is_of_keda)
{
    owned(json) json_t *hpa = json_make(
        "{s:{s:[{s:s, s:s}]}, s:{s:{s:s, s:s}, s:i}}", "metadata", "ownerReferences", "kind",
        is_of_keda ? "ScaledObject" : "Thing", "name", "chat-demand", "spec", "scaleTargetRef",
        "kind", "Deployment", "name", "chat-2x", "minReplicas", least);

    simulator_put_object(rehearsal->simulator, "prod-a", hpa_path, hpa);
}

/* A LeaderWorkerSet has no pods of its own here: its number is what counts. */
static void the_groups_of_a_leader_worker_set_are_kept(void **state)
{
    static const char path[] =
        "/apis/leaderworkerset.x-k8s.io/v1/namespaces/serving/leaderworkersets/chat-2x";
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(folder, 1, "", "",
                                                                        ", kind: leaderworkerset");
    owned(json) json_t *object = json_make("{s:{s:i, s:i}}", "spec", "replicas", 20, "other", 7);
    const json_t *now;

    (void)state;
    simulator_put_object(rehearsal->simulator, "prod-a", path, object);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 5, 5); /* production gives a node: 16 are wanted before it goes */
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    now = simulator_object(rehearsal->simulator, "prod-a", path);
    assert_int_equal(json_int_or(now, "spec/replicas", -1), 16);
    assert_int_equal(json_int_or(now, "spec/other", -1), 7);
    apply(rehearsal, 7, 7);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 7);
    now = simulator_object(rehearsal->simulator, "prod-a", path);
    assert_int_equal(json_int_or(now, "spec/replicas", -1), 24);
    assert_int_equal(replicas_of(rehearsal), 20); /* no client touched the Deployment */
}

/* Replicas follow the nodes that are ready, and not the clock alone; what leaves, leaves first. */
static void replicas_grow_with_nodes_and_shrink_before_them(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    bool is_between = false;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 6); /* 36 replicas by day, 20 by night; a node holds four */
    for (int i = 0; i < 118; i++) {
        rehearsal_run(rehearsal, MINUTE_MS);
        assert_true(replicas_of(rehearsal) <= 4 * nodes_of(rehearsal, "prod-a-east"));
        is_between |= replicas_of(rehearsal) > 20 && replicas_of(rehearsal) < 36;
    }
    assert_true(is_between);
    assert_int_equal(replicas_of(rehearsal), 36);
    while (nodes_of(rehearsal, "prod-a-east") == 10)
        rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(replicas_of(rehearsal), 20);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 6);
}

/* A window begins whatever became of its nodes: what has no room waits in the cluster. */
static void a_window_that_begins_wants_all_its_replicas(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(
        folder, 1, "stockouts: [ { zone: us-east5-a, from: 0s, to: 6h } ]\n");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 6);
    rehearsal_run(rehearsal, 117 * MINUTE_MS);
    assert_true(replicas_of(rehearsal) < 36);
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    assert_int_equal(replicas_of(rehearsal), 36);
}

static void an_autoscaler_that_is_not_configured_is_left_alone(void **state)
{
    static const struct {
        bool is_of_keda;
        const char *says;
    } rows[] = {
        { false, "HorizontalPodAutoscaler web scales chat-2x: set keeps: hpa and autoscaler: web" },
        { true, "ScaledObject chat-demand scales chat-2x: set keeps: keda and autoscaler: "
                "chat-demand" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");

        put_hpa(rehearsal, 4, rows[i].is_of_keda);
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        apply(rehearsal, 6, 4);
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(replicas_of(rehearsal), 20);
        expect_trouble(rehearsal, "workloads", rows[i].says);
        /* and production gives no node away whose replicas it could not take down */
        assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 6);
    }
}

static void the_least_of_an_autoscaler_is_kept(void **state)
{
    static const struct {
        const char *more;
        const char *path;
        const char *value;
    } rows[] = {
        { ", keeps: hpa, autoscaler: web",
          "/apis/autoscaling/v2/namespaces/serving/horizontalpodautoscalers/web",
          "spec/minReplicas" },
        { ", keeps: keda", "/apis/keda.sh/v1alpha1/namespaces/serving/scaledobjects/chat-2x",
          "spec/minReplicaCount" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(folder, 1, "", "",
                                                                            rows[i].more);
        owned(json) json_t *object = json_make("{s:{s:i}}", "spec", "other", 7);
        const json_t *now;

        simulator_put_object(rehearsal->simulator, "prod-a", rows[i].path, object);
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        apply(rehearsal, 5, 5);
        rehearsal_run(rehearsal, 5 * MINUTE_MS);
        now = simulator_object(rehearsal->simulator, "prod-a", rows[i].path);
        assert_int_equal(json_int_or(now, rows[i].value, -1), 16);
        assert_int_equal(json_int_or(now, "spec/other", -1), 7);
        assert_int_equal(replicas_of(rehearsal), 20); /* that is the autoscaler's */
    }
}

static void who_sets_it_back_twice_wins_and_is_named(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    struct error err;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 4); /* night: 12 replicas */
    for (int i = 0; i < 2; i++) {
        rehearsal_run(rehearsal, 3 * MINUTE_MS);
        assert_int_equal(replicas_of(rehearsal), 12);
        simulator_set_replicas(
            rehearsal->simulator,
            &(struct scale_write){ "prod-a", "serving", "chat-2x", 20, "argocd-controller" });
    }
    rehearsal_run(rehearsal, 20 * MINUTE_MS);
    assert_int_equal(replicas_of(rehearsal), 20);
    expect_trouble(rehearsal, "workloads", "argocd-controller set it back 2 times");

    /* A restart does not begin the fight again. */
    rehearsal_kill(rehearsal);
    assert_int_equal(rehearsal_start(rehearsal, &err), 0);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    assert_int_equal(replicas_of(rehearsal), 20);

    /* Another number is wanted: a new try. */
    apply(rehearsal, 6, 5);
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    assert_int_equal(replicas_of(rehearsal), 16);
}

/* Ahead of a window, too, where the number hangs on the nodes that are ready. */
static void who_fights_ahead_of_a_window_wins_as_well(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 7, 6); /* 24 replicas by day */
    while (replicas_of(rehearsal) != 24)
        rehearsal_run(rehearsal, SECOND_MS);
    for (int i = 0; i < 2; i++) {
        rehearsal_run(rehearsal, 90 * SECOND_MS);
        assert_int_equal(replicas_of(rehearsal), 24);
        simulator_set_replicas(rehearsal->simulator,
                               &(struct scale_write){ "prod-a", "serving", "chat-2x", 20, "keda" });
    }
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    assert_int_equal(replicas_of(rehearsal), 20);
    expect_trouble(rehearsal, "workloads", "keda set it back 2 times");
}

/* The plan changes while a write is under way: no other controller set it back. */
static void a_plan_that_changes_is_no_fight(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    owned(json) json_t *story = NULL;
    owned(chars) char *text = NULL;
    struct error err;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 4);
    while (replicas_of(rehearsal) != 12)
        rehearsal_run(rehearsal, 1);
    apply(rehearsal, 6, 5); /* before the answer is here */
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    assert_int_equal(replicas_of(rehearsal), 16);
    story = service_events(rehearsal->service, 50, &err);
    text = json_print(story);
    assert_null(strstr(text, "set_back"));
}

static void put_queue_at(struct rehearsal *rehearsal, const char *path, int gpus)
{
    owned(json) json_t *queue = json_make(
        "{s:{}, s:{s:s, s:[{s:[s, s], s:[{s:s, s:[{s:s, s:i}]}, {s:s, s:[{s:s, s:s}, {s:s, s:i}]}]}"
        "]}}",
        "metadata", "spec", "cohortName", "all", "resourceGroups", "coveredResources", "cpu",
        "nvidia.com/gpu", "flavors", "name", "static", "resources", "name", "nvidia.com/gpu",
        "nominalQuota", 8, "name", "ephemeral", "resources", "name", "cpu", "nominalQuota", "100",
        "name", "nvidia.com/gpu", "nominalQuota", gpus);

    simulator_put_object(rehearsal->simulator, "research-a", path, queue);
}

static void put_queue(struct rehearsal *rehearsal, int gpus)
{
    put_queue_at(rehearsal, queue_path, gpus);
}

static int quota_of(struct rehearsal *rehearsal)
{
    const json_t *queue = simulator_object(rehearsal->simulator, "research-a", queue_path);
    int64_t gpus = -1;
    struct error err = { 0 };

    if (kueue_quota(queue, "ephemeral", "nvidia.com/gpu", &gpus, &err) < 0)
        fail_msg("%s", err.text);
    return (int)gpus;
}

static bool is_drained(struct rehearsal *rehearsal)
{
    owned(json) json_t *answer = service_transfers(rehearsal->service, false);
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(answer, "transfers"), i, row) {
        if (!text_equal(json_text_or(row, "step", ""), "announce") &&
            !text_equal(json_text_or(row, "step", ""), "notice") &&
            !text_equal(json_text_or(row, "step", ""), "cordon"))
            return true;
    }
    return false;
}

/* Ten nodes, one of them static; four leave for the day. */
static void a_quota_shrinks_before_the_drain_and_grows_with_what_is_ready(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(folder, 1, "", quota, "");
    const json_t *queue;

    (void)state;
    put_queue(rehearsal, 3);
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    assert_int_equal(quota_of(rehearsal), 8 + 9 * 8);
    queue = simulator_object(rehearsal->simulator, "research-a", queue_path);
    assert_string_equal(json_text_or(queue, "spec/cohortName", ""), "all");

    apply(rehearsal, 10, 6);
    while (!is_drained(rehearsal))
        rehearsal_run(rehearsal, 10 * SECOND_MS);
    assert_int_equal(quota_of(rehearsal), 8 + 5 * 8);
    rehearsal_run(rehearsal, 12 * HOUR_MS);
    for (int i = 0; i < 90; i++) {
        int nodes = nodes_of(rehearsal, "research-a-east");

        assert_true(quota_of(rehearsal) <= 8 + (nodes - 1) * 8);
        rehearsal_run(rehearsal, MINUTE_MS);
    }
    assert_int_equal(quota_of(rehearsal), 8 + 9 * 8);
    expect_rest(rehearsal, 6);
}

/* The newest version that both know: an older one would take away what only that can say. */
static void a_quota_is_written_in_the_newest_version(void **state)
{
    static const struct {
        const char *served;
        bool keeps;
    } rows[] = { { "both", true }, { "v1beta2", true }, { "v1beta1", false } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *world = text_format("kueue: %s\n", rows[i].served);
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(folder, 1, world, quota,
                                                                            "");
        owned(json) json_t *queue = NULL;

        put_queue(rehearsal, 3);
        queue = json_deep_copy(simulator_object(rehearsal->simulator, "research-a", queue_path));
        json_object_set_new(json_object_get(queue, "spec"), "concurrentAdmissionPolicy",
                            json_make("{s:s}", "mode", "Prefer"));
        simulator_put_object(rehearsal->simulator, "research-a", queue_path, queue);
        rehearsal_run(rehearsal, 5 * MINUTE_MS);
        assert_int_equal(quota_of(rehearsal), 8 + 9 * 8);
        assert_int_equal(json_at(simulator_object(rehearsal->simulator, "research-a", queue_path),
                                 "spec/concurrentAdmissionPolicy") != NULL,
                         rows[i].keeps);
    }
}

/* The patch took effect and its answer was lost: it is read, and not taken for another
 * controller's. */
static void a_lost_answer_is_looked_for(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(folder, 1, "", quota, "");
    owned(json) json_t *story = NULL;
    owned(chars) char *text = NULL;
    struct error err;

    (void)state;
    put_queue(rehearsal, 3);
    simulator_fault_next(rehearsal->simulator, "lost_answer", "patch_object");
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    assert_int_equal(quota_of(rehearsal), 8 + 9 * 8);
    story = service_events(rehearsal->service, 50, &err);
    text = json_print(story);
    assert_null(strstr(text, "set_back"));
    expect_trouble(rehearsal, "quotas", "");
}

/* What keeps nodes from leaving, as `sluice plan` prints it; the caller frees it. */
static char *plan_says(struct rehearsal *rehearsal)
{
    struct error err = { 0 };
    owned(json) json_t *plan = service_plan(rehearsal->service, NULL, &err);
    struct text *out = text_new(4096);

    if (!plan)
        fail_msg("%s", err.text);
    board_overrides(plan, out);
    return text_take(out);
}

static int closed_nodes(struct rehearsal *rehearsal)
{
    int count = 0;
    void *value;

    for (size_t i = 0;
         map_next(sim_cluster(rehearsal->simulator, "research-a")->nodes, &i, NULL, &value);)
        count += ((const struct kube_node *)value)->is_unschedulable;
    return count;
}

static void put_fraction(struct rehearsal *rehearsal)
{
    owned(json) json_t *queue = NULL;
    json_t *row;

    put_queue(rehearsal, 0);
    queue = json_deep_copy(simulator_object(rehearsal->simulator, "research-a", queue_path));
    row = json_array_get(
        json_at(
            json_array_get(
                json_at(json_array_get(json_at(queue, "spec/resourceGroups"), 0), "flavors"), 1),
            "resources"),
        1);
    json_object_set_new(row, "nominalQuota", json_string("80500m"));
    simulator_put_object(rehearsal->simulator, "research-a", queue_path, queue);
}

static void no_queue(struct rehearsal *rehearsal)
{
    (void)rehearsal;
}

static void put_full_queue(struct rehearsal *rehearsal)
{
    put_queue(rehearsal, 8 + 9 * 8);
}

static void refuse_patches(struct rehearsal *rehearsal)
{
    simulator_fault_next(rehearsal->simulator, "http_403", "patch_object");
}

/* A move that has to wait for a quota closes nothing meanwhile, and when the quota can be set it
   goes on by itself. */
static void a_quota_that_cannot_be_set_holds_the_moves(void **state)
{
    static const struct {
        void (*before)(struct rehearsal *rehearsal);
        void (*again)(struct rehearsal *rehearsal); /* every ten seconds */
        int mended; /* what an operator sets by hand in the end; 0: nothing */
        const char *says;
    } rows[] = {
        { no_queue, no_queue, 100, "no version of kueue.x-k8s.io" },
        { put_fraction, no_queue, 100, "is no whole number" },
        { put_full_queue, refuse_patches, 0, "403" },
        { put_full_queue, put_full_queue, 8 + 5 * 8, "set it back 2 times" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(folder, 1, "", quota,
                                                                            "");
        int closed = 0;

        rows[i].before(rehearsal);
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        apply(rehearsal, 10, 10);
        for (int k = 0; k < 90 * 6; k++) {
            rows[i].again(rehearsal);
            rehearsal_run(rehearsal, 10 * SECOND_MS);
            closed += closed_nodes(rehearsal);
            if (k == 45 * 6) /* one more is wanted: it waits for its announcement, too */
                apply(rehearsal, 11, 11);
        }
        if (closed > 0 || transfers_of(rehearsal, true) > 4)
            fail_msg("%s: %d node-minutes closed, %zu transfers", rows[i].says, closed / 6,
                     transfers_of(rehearsal, true));
        assert_int_equal(nodes_of(rehearsal, "research-a-east"), 10);
        expect_trouble(rehearsal, "quotas", rows[i].says);
        if (rows[i].mended > 0)
            put_queue(rehearsal, rows[i].mended);
        array_clear(&rehearsal->simulator->scripted);
        rehearsal_run(rehearsal, 2 * HOUR_MS);
        expect_rest(rehearsal, 11);
        assert_int_equal(quota_of(rehearsal), 8 + 4 * 8);
    }
}

/* Its node leaves all the same, and what holds the others is told. */
static void a_reclaim_passes_a_quota_that_cannot_be_set(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(folder, 1, "", quota, "");
    owned(chars) char *holds = NULL;
    owned(json) json_t *answer = NULL;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 7, 7);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    assert_int_equal(transfers_of(rehearsal, true), 0);
    holds = plan_says(rehearsal);
    if (!strstr(holds, "quota shared of research-a cannot be set: the server has no version"))
        fail_msg("%s", holds);
    answer = reclaim(rehearsal, 1);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 7);
}

/* Kueue may admit on the old quota what is evicted: that is worth seconds, even in an emergency. */
static void a_reclaim_waits_shortly_for_the_quota(void **state)
{
    static const struct {
        void (*before)(struct rehearsal *rehearsal);
        void (*again)(struct rehearsal *rehearsal);
        int64_t least_ms; /* from the cordon to the drain */
        int64_t most_ms;
    } rows[] = {
        { put_full_queue, no_queue, 0, 9 * SECOND_MS },
        { put_full_queue, put_full_queue, 10 * SECOND_MS, 12 * SECOND_MS + STEPWISE_MS },
        { no_queue, no_queue, 0, 3 * SECOND_MS },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(folder, 1, "", quota,
                                                                            "");
        owned(json) json_t *answer = NULL;
        const struct transfer *transfer;
        int64_t waited_ms;

        rows[i].before(rehearsal);
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        answer = reclaim(rehearsal, 2);
        do {
            rows[i].again(rehearsal);
            rehearsal_run(rehearsal, STEPWISE_MS);
            transfer = rehearsal->service->runner->transfers.items[0];
        } while (transfer->step < STEP_DRAIN);
        waited_ms = loop_wall(rehearsal->loop).ms - transfer->cordoned.ms;
        if (waited_ms < rows[i].least_ms || waited_ms > rows[i].most_ms)
            fail_msg("row %zu: drained %lld ms after the cordon", i, (long long)waited_ms);
        if (rows[i].before != rows[i].again)
            assert_int_equal(quota_of(rehearsal), 8 + 7 * 8);
    }
}

#define QUOTA(name, queue, more)                                                                   \
    "  " name ": {cluster: research-a, cluster_queue: " queue ", flavor: ephemeral, " more "}\n"

static void what_is_reserved_has_to_fit_the_static_nodes(void **state)
{
    static const char alone[] = QUOTA("promised", "shared", "reserved: true");
    static const char both[] = QUOTA("promised", "shared", "reserved: true")
        QUOTA("other", "other", "reserved: true");
    static const char mixed[] = QUOTA("promised", "shared", "reserved: true")
        QUOTA("follows", "other", "fixed_gpus: 1");
    static const struct {
        const char *quotas;
        int gpus;  /* of each queue; what follows is written */
        int nodes; /* of research, at nine: ten of which one is static, if none may leave */
        const char *says;
    } rows[] = {
        { alone, 8, 6, NULL },
        { alone, 9, 10, "reserves 9 GPUs of flavor ephemeral, and the static nodes have 8" },
        { both, 4, 6, NULL },
        { both, 8, 10,
          "the quotas of research-a promise 16 of nvidia.com/gpu (promised 8, other 8), and the "
          "static nodes have 8" },
        { mixed, 7, 6, NULL },
        { mixed, 8, 10, "promise 9 of nvidia.com/gpu (promised 8, follows 1), and the static" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *settings = text_format("quotas:\n%s", rows[i].quotas);
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(folder, 1, "", settings,
                                                                            "");
        owned(json) json_t *status = NULL;
        owned(chars) char *warnings = NULL;
        owned(chars) char *holds = NULL;

        put_queue(rehearsal, rows[i].gpus);
        put_queue_at(rehearsal, other_path, rows[i].gpus);
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        apply(rehearsal, 10, 6);
        rehearsal_run(rehearsal, 178 * MINUTE_MS);
        assert_int_equal(nodes_of(rehearsal, "research-a-east"), rows[i].nodes);
        assert_int_equal(quota_of(rehearsal), rows[i].gpus);
        status = service_status(rehearsal->service);
        warnings = json_print(json_object_get(status, "warnings"));
        holds = plan_says(rehearsal);
        if (!strstr(warnings, rows[i].says ?: "[]") ||
            (rows[i].says ? !strstr(holds, rows[i].says) : holds[0] != '\0'))
            fail_msg("row %zu: warnings %s, the plan says \"%s\"", i, warnings, holds);
    }
}

static void set_static_ready(struct rehearsal *rehearsal, const char *status)
{
    void *value;

    for (size_t i = 0;
         map_next(sim_cluster(rehearsal->simulator, "research-a")->nodes, &i, NULL, &value);)
        if (((struct kube_node *)value)->is_static) {
            sim_node_set_ready(rehearsal->simulator, value, status);
            sim_node_changed(rehearsal->simulator, value, CHANGE_MODIFIED);
        }
}

/* Static nodes break, too: then the movable ones keep the promise. */
static void what_is_reserved_has_to_fit_the_static_nodes_that_serve(void **state)
{
    static const char settings[] = "quotas:\n" QUOTA("promised", "shared", "reserved: true");
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(folder, 1, "", settings,
                                                                        "");
    owned(chars) char *holds = NULL;

    (void)state;
    put_queue(rehearsal, 8);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    set_static_ready(rehearsal, "False");
    rehearsal_run(rehearsal, SECOND_MS);
    apply(rehearsal, 7, 7);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(nodes_of(rehearsal, "research-a-east"), 10);
    holds = plan_says(rehearsal);
    if (!strstr(holds, "the static nodes have 0 that can be used"))
        fail_msg("%s", holds);
    set_static_ready(rehearsal, "True");
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(nodes_of(rehearsal, "research-a-east"), 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_grow_with_nodes_and_shrink_before_them),
        cmocka_unit_test(a_window_that_begins_wants_all_its_replicas),
        cmocka_unit_test(an_autoscaler_that_is_not_configured_is_left_alone),
        cmocka_unit_test(the_groups_of_a_leader_worker_set_are_kept),
        cmocka_unit_test(the_least_of_an_autoscaler_is_kept),
        cmocka_unit_test(who_sets_it_back_twice_wins_and_is_named),
        cmocka_unit_test(who_fights_ahead_of_a_window_wins_as_well),
        cmocka_unit_test(a_plan_that_changes_is_no_fight),
        cmocka_unit_test(a_quota_shrinks_before_the_drain_and_grows_with_what_is_ready),
        cmocka_unit_test(a_quota_is_written_in_the_newest_version),
        cmocka_unit_test(a_lost_answer_is_looked_for),
        cmocka_unit_test(a_quota_that_cannot_be_set_holds_the_moves),
        cmocka_unit_test(a_reclaim_passes_a_quota_that_cannot_be_set),
        cmocka_unit_test(a_reclaim_waits_shortly_for_the_quota),
        cmocka_unit_test(what_is_reserved_has_to_fit_the_static_nodes),
        cmocka_unit_test(what_is_reserved_has_to_fit_the_static_nodes_that_serve),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
