/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Evictions inside a whole transfer, as they are seen on the wire: how many of one budget at once,
 * how soon again after a refusal, and which pods a budget keeps.
 */
#include "base/array.h"
#include "broker/transfer/effect.h"
#include "tests/cli/stepwise.h"

enum {
    GRACE_S = 20,
    TICK_SLACK_MS = 3 * SECOND_MS, /* the runner looks every 2 s when nothing happens */
    AT_ONCE_MS = 2 * SECOND_MS,
};

/* One eviction of a pod of namespace ml that was sent, and what came of it. */
struct eviction {
    char pod[64];
    int64_t sent_ms;
    int64_t answered_ms; /* 0: not yet */
    int status;
    http_done_fn done;
    void *context;
};

static struct {
    struct loop *loop;
    struct http *way; /* where requests go on to */
    ARRAY(struct eviction *) evictions;
    int most_of_one; /* under way at once: of one budget, */
    int most;        /* and of all */
} wire;

/* The pods of one budget have its name before a dash. */
static bool is_of(const struct eviction *eviction, const char *budget)
{
    size_t size = strlen(budget);

    return strncmp(eviction->pod, budget, size) == 0 &&
           (eviction->pod[size] == '-' || eviction->pod[size] == '\0');
}

static void count_under_way(const struct eviction *last)
{
    char budget[64];
    int of_one = 0;
    int all = 0;

    text_copy(budget, sizeof budget, last->pod);
    budget[strcspn(budget, "-")] = '\0';
    for (size_t i = 0; i < wire.evictions.count; i++) {
        const struct eviction *eviction = wire.evictions.items[i];

        all += eviction->answered_ms == 0;
        of_one += eviction->answered_ms == 0 && is_of(eviction, budget);
    }
    wire.most = all > wire.most ? all : wire.most;
    wire.most_of_one = of_one > wire.most_of_one ? of_one : wire.most_of_one;
}

static void take_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct eviction *eviction = context;

    eviction->answered_ms = loop_now(wire.loop);
    eviction->status = answer ? answer->status : 0;
    eviction->done(eviction->context, answer, err);
}

static struct http_exchange *tap_send(struct http *http, const struct http_request *request,
                                      http_done_fn done, void *context)
{
    const char *pod = strstr(request->url, "/namespaces/ml/pods/");
    const char *end = pod ? strstr(pod, "/eviction") : NULL;
    struct eviction *eviction;

    (void)http;
    if (!end || strstr(end, "dryRun"))
        return http_send(wire.way, request, done, context);
    pod += strlen("/namespaces/ml/pods/");
    eviction = mem_new(sizeof *eviction);
    snprintf(eviction->pod, sizeof eviction->pod, "%.*s", (int)(end - pod), pod);
    eviction->sent_ms = loop_now(wire.loop);
    eviction->done = done;
    eviction->context = context;
    *array_add(&wire.evictions) = eviction;
    count_under_way(eviction);
    return http_send(wire.way, request, take_answer, eviction);
}

static void tap_cancel(struct http_exchange *exchange)
{
    http_cancel(wire.way, exchange);
}

static const struct http_verbs tap_verbs = { .send = tap_send, .cancel = tap_cancel };
static struct http tap = { &tap_verbs };

/* The service begins again behind the tap; `nodes` are announced, and a namespace is there. */
static void begin(struct rehearsal *rehearsal, int nodes)
{
    const struct runner *runner;
    struct error err = { 0 };

    rehearsal->simulator->scenario->latency.pod_start = (struct range){ SECOND_MS, 2 * SECOND_MS };
    wire.loop = rehearsal->loop;
    wire.way = rehearsal->door;
    wire.most = wire.most_of_one = 0;
    rehearsal_kill(rehearsal);
    rehearsal->world.http = &tap;
    assert_int_equal(rehearsal_start(rehearsal, &err), 0);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6 + nodes, 6);
    assert_non_null(run_to(rehearsal, STEP_NOTICE));
    rehearsal_run(rehearsal, 30 * SECOND_MS); /* the others are announced, too */
    runner = rehearsal->service->runner;
    assert_int_equal(runner->transfers.count, nodes);
    for (int i = 0; i < nodes; i++)
        assert_int_equal(runner->transfers.items[i]->step, STEP_NOTICE);
    post(rehearsal, "api/v1/namespaces", json_make("{s:{s:s}}", "metadata", "name", "ml"));
}

/* Nothing goes through the tap any more. */
static void end(struct rehearsal *rehearsal)
{
    assert_int_equal(rehearsal_violations(rehearsal), 0);
    rehearsal_kill(rehearsal);
    rehearsal->world.http = rehearsal->door;
    for (size_t i = 0; i < wire.evictions.count; i++)
        mem_free(wire.evictions.items[i]);
    array_clear(&wire.evictions);
}

static struct kube_pod *pod_of(struct rehearsal *rehearsal, const char *name)
{
    owned(chars) char *key = text_format("ml/%s", name);

    return map_get(sim_cluster(rehearsal->simulator, "research-a")->pods, key);
}

static struct kube_budget *budget_of(struct rehearsal *rehearsal, const char *name)
{
    const struct kube_cluster *cluster = sim_cluster(rehearsal->simulator, "research-a");

    for (size_t i = 0; i < cluster->budgets.count; i++)
        if (text_equal(cluster->budgets.items[i]->name, name))
            return cluster->budgets.items[i];
    fail_msg("there is no budget %s", name);
    return NULL;
}

static void post_pod(struct rehearsal *rehearsal, const char *budget, const char *name,
                     const char *node)
{
    post(rehearsal, "api/v1/namespaces/ml/pods",
         json_make("{s:{s:s, s:{s:s}, s:[{s:s, s:s, s:b}]}, s:{s:s, s:i, s:[{s:s}]}}", "metadata",
                   "name", name, "labels", "app", budget, "ownerReferences", "kind", "ReplicaSet",
                   "name", "owner", "controller", 1, "spec", "nodeName", node,
                   "terminationGracePeriodSeconds", GRACE_S, "containers", "name", "main"));
}

static void post_budget(struct rehearsal *rehearsal, const char *name, int min_available,
                        const char *unready)
{
    post(rehearsal, "apis/policy/v1/namespaces/ml/poddisruptionbudgets",
         json_make("{s:s, s:s, s:{s:s}, s:{s:i, s:{s:{s:s}}, s:s}}", "apiVersion", "policy/v1",
                   "kind", "PodDisruptionBudget", "metadata", "name", name, "spec", "minAvailable",
                   min_available, "selector", "matchLabels", "app", name,
                   "unhealthyPodEvictionPolicy", unready));
}

static void set_ready(struct rehearsal *rehearsal, const char *name, bool is_ready)
{
    struct kube_pod *pod = pod_of(rehearsal, name);

    pod->is_ready = is_ready;
    sim_pod_changed(rehearsal->simulator, pod, CHANGE_MODIFIED);
}

/* The status of the pod's budget is written again, and says what it said. */
static void write_budget(struct rehearsal *rehearsal, const char *pod)
{
    set_ready(rehearsal, pod, false);
    set_ready(rehearsal, pod, true);
}

/* How many evictions of the budget there were; `status` 0: with any answer. */
static int count_of(const char *budget, int status)
{
    int count = 0;

    for (size_t i = 0; i < wire.evictions.count; i++)
        count += is_of(wire.evictions.items[i], budget) &&
                 (status == 0 || wire.evictions.items[i]->status == status);
    return count;
}

/* Until so many evictions of the budget were answered with the status; within the time. */
static void await(struct rehearsal *rehearsal, const char *budget, int status, int count,
                  int64_t limit_ms)
{
    for (int64_t ms = 0; count_of(budget, status) < count; ms += STEPWISE_MS) {
        if (ms > limit_ms)
            fail_msg("%d of %d evictions of %s were answered with %d", count_of(budget, status),
                     count, budget, status);
        rehearsal_run(rehearsal, STEPWISE_MS);
    }
}

/* From each refusal of the name (a budget's or one pod's) to the next eviction of it. */
static void expect_pace(const char *name, int64_t least_ms, int64_t most_ms)
{
    const struct eviction *before = NULL;

    for (size_t i = 0; i < wire.evictions.count; i++) {
        const struct eviction *eviction = wire.evictions.items[i];

        if (!is_of(eviction, name))
            continue;
        if (before && before->status == 429)
            assert_in_range(eviction->sent_ms - before->answered_ms, least_ms, most_ms);
        before = eviction;
    }
    assert_non_null(before);
}

static const char *waits_for(struct rehearsal *rehearsal, char *out, size_t size)
{
    owned(json) json_t *shown = service_transfers(rehearsal->service, false);
    const json_t *row = json_array_get(json_object_get(shown, "transfers"), 0);

    text_copy(out, size, json_text_or(row, "waits_for", ""));
    return out;
}

static void run_to_drain(struct rehearsal *rehearsal)
{
    assert_non_null(run_to(rehearsal, STEP_DRAIN));
}

static void expect_done(struct rehearsal *rehearsal, int nodes)
{
    rehearsal_run(rehearsal, HOUR_MS);
    for (int i = 0; i < nodes; i++)
        assert_int_equal(rehearsal->service->runner->transfers.items[i]->state, TRANSFER_DONE);
    end(rehearsal);
}

static const char *static_node(struct rehearsal *rehearsal)
{
    void *value;

    for (size_t i = 0;
         map_next(sim_cluster(rehearsal->simulator, "research-a")->nodes, &i, NULL, &value);)
        if (((const struct kube_node *)value)->is_static)
            return ((const struct kube_node *)value)->name;
    fail_msg("no node is static");
    return NULL;
}

/* As their ReplicaSet would: for each pod that is gone another one, on a node that stays. */
static void make_again(struct rehearsal *rehearsal, const char *budget, int pods)
{
    for (int i = 0; i < pods; i++) {
        owned(chars) char *old = text_format("%s-%d", budget, i);
        owned(chars) char *fresh = text_format("%s-again-%d", budget, i);

        if (!pod_of(rehearsal, old) && !pod_of(rehearsal, fresh))
            post_pod(rehearsal, budget, fresh, static_node(rehearsal));
    }
}

/* T17: two nodes leave, and on each the half of ten pods of each of two budgets.  Parallel
   evictions of one budget only spoil each other inside the server. */
static void a_budget_has_one_eviction_under_way(void **state)
{
    enum { PODS = 10 };
    static const char *const budgets[] = { "red", "blue" };
    static const struct {
        int min_available;
        bool is_made_anew; /* there is room for the next one when another pod is ready */
    } rows[] = { { 1, false }, { PODS - 1, true } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
        int out = rows[i].is_made_anew ? PODS : PODS - rows[i].min_available;

        begin(rehearsal, 2);
        for (size_t k = 0; k < COUNT_OF(budgets) * PODS; k++) {
            const char *budget = budgets[k % 2];
            owned(chars) char *name = text_format("%s-%zu", budget, k / 2);

            post_pod(rehearsal, budget, name,
                     rehearsal->service->runner->transfers.items[k / PODS]->node);
        }
        for (size_t k = 0; k < COUNT_OF(budgets); k++)
            post_budget(rehearsal, budgets[k], rows[i].min_available, "IfHealthyBudget");
        run_to_drain(rehearsal);
        for (int s = 0; s < 150; s++) {
            rehearsal_run(rehearsal, SECOND_MS);
            for (size_t k = 0; rows[i].is_made_anew && k < COUNT_OF(budgets); k++)
                make_again(rehearsal, budgets[k], PODS);
        }
        for (size_t k = 0; k < COUNT_OF(budgets); k++) {
            assert_int_equal(count_of(budgets[k], 201), out);
            /* At most the question of once a minute whether there is room for the last. */
            assert_in_range(count_of(budgets[k], 0), out, rows[i].is_made_anew ? out : out + 3);
        }
        assert_int_equal(wire.most_of_one, 1);
        assert_int_equal(wire.most, 2); /* they do not wait for each other */
        expect_done(rehearsal, 2);
    }
}

/* T11: the status shows room where the server knows of none any more.  Who is told so does not ask
   again about any pod of the budget for a while, and reads the server's words; other pods go. */
static void a_refused_budget_is_asked_again_at_its_pace(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    const struct transfer *transfer;
    char words[512];

    (void)state;
    begin(rehearsal, 1);
    transfer = rehearsal->service->runner->transfers.items[0];
    for (int i = 0; i < 3; i++) {
        owned(chars) char *name = text_format("held-%d", i);

        post_pod(rehearsal, "held", name, transfer->node);
    }
    post_budget(rehearsal, "held", 1, "IfHealthyBudget");
    rehearsal_run(rehearsal, 5 * SECOND_MS);
    budget_of(rehearsal, "held")->min_available = 99; /* and the status stays old */
    run_to_drain(rehearsal);
    await(rehearsal, "held", 429, 1, MINUTE_MS);
    rehearsal_run(rehearsal, SECOND_MS);
    waits_for(rehearsal, words, sizeof words);
    if (!strstr(words, "The disruption budget held needs 99 healthy pods and has 3 currently"))
        fail_msg("%s", words);
    await(rehearsal, "held", 429, 3, MINUTE_MS);
    post_pod(rehearsal, "free", "free", transfer->node);
    await(rehearsal, "free", 201, 1, AT_ONCE_MS);
    await(rehearsal, "held", 429, 12, 3 * MINUTE_MS);
    expect_pace("held", 5 * SECOND_MS, 10 * SECOND_MS + TICK_SLACK_MS);
    assert_int_equal(wire.most_of_one, 1);

    /* A status with room is worth a question at once. */
    assert_int_equal(count_of("held", 201), 0);
    budget_of(rehearsal, "held")->min_available = 0;
    write_budget(rehearsal, "held-1");
    await(rehearsal, "held", 201, 3, AT_ONCE_MS);
    expect_done(rehearsal, 1);
}

/* T13: sluice does not know of the budget, or the budget's controller does not yet.  Neither is a
   reason to ask in a hurry: not before the time that the server names, and else after 5 to 10 s. */
static void an_unseen_budget_is_asked_with_patience(void **state)
{
    static const struct {
        const char *what;
        bool is_hidden;   /* we may not see budgets */
        bool is_observed; /* its controller has seen it, and it has no room */
        int64_t least_ms;
    } rows[] = {
        { "hidden, and not processed yet", true, false, 10 * SECOND_MS },
        { "hidden, and exhausted", true, true, 5 * SECOND_MS },
        { "seen, and not processed yet", false, false, 10 * SECOND_MS },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
        const struct config_pool *pool = config_pool(rehearsal->config, "research-a-east");
        struct kube_budget *budget;

        print_message("%s\n", rows[i].what);
        for (int k = 0; rows[i].is_hidden && k < 1000; k++)
            simulator_fault_next(rehearsal->simulator, "http_403", "list_budgets");
        begin(rehearsal, 1);
        for (int k = 0; k < 2; k++)
            post_pod(rehearsal, "new", k ? "new-1" : "new-0",
                     rehearsal->service->runner->transfers.items[0]->node);
        rehearsal_run(rehearsal, 5 * SECOND_MS);
        post_budget(rehearsal, "new", 2, "IfHealthyBudget");
        budget = budget_of(rehearsal, "new");
        budget->is_observed = rows[i].is_observed;
        write_budget(rehearsal, "new-0");
        run_to_drain(rehearsal);
        assert_int_equal(
            map_count(fleet_snapshot(rehearsal->service->fleet, pool->cluster)->budgets),
            rows[i].is_hidden ? 0 : 1);
        await(rehearsal, "new", 429, 1, MINUTE_MS);
        write_budget(rehearsal, "new-0"); /* a new version that says nothing new */
        post_pod(rehearsal, "free", "free", rehearsal->service->runner->transfers.items[0]->node);
        await(rehearsal, "free", 201, 1, AT_ONCE_MS); /* no other budget need be patient */
        await(rehearsal, "new", 429, 8, 2 * MINUTE_MS);
        if (rows[i].is_hidden) {
            expect_pace("new-0", rows[i].least_ms, 10 * SECOND_MS + TICK_SLACK_MS);
            expect_pace("new-1", rows[i].least_ms, 10 * SECOND_MS + TICK_SLACK_MS);
        } else {
            expect_pace("new", rows[i].least_ms, 10 * SECOND_MS + TICK_SLACK_MS);
        }

        budget->is_observed = true;
        budget->min_available = 0;
        write_budget(rehearsal, "new-0");
        await(rehearsal, "new", 201, 2, 10 * SECOND_MS + TICK_SLACK_MS);
        expect_done(rehearsal, 1);
    }
}

/* T14: beside a pod that is well, and which no row lets go. */
static void an_unready_pod_goes_when_its_budget_says_so(void **state)
{
    static const struct {
        const char *policy;
        int min_available; /* one of the two pods is healthy */
        bool goes;
    } rows[] = {
        { "AlwaysAllow", 2, true },
        { "IfHealthyBudget", 2, false },
        { "IfHealthyBudget", 1, true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
        const struct transfer *transfer;

        print_message("%s of %d\n", rows[i].policy, rows[i].min_available);
        begin(rehearsal, 1);
        transfer = rehearsal->service->runner->transfers.items[0];
        post_pod(rehearsal, "app", "app-well", transfer->node);
        post_pod(rehearsal, "app", "app-sick", transfer->node);
        rehearsal_run(rehearsal, 5 * SECOND_MS);
        set_ready(rehearsal, "app-sick", false);
        post_budget(rehearsal, "app", rows[i].min_available, rows[i].policy);
        run_to_drain(rehearsal);
        if (rows[i].goes)
            await(rehearsal, "app-sick", 201, 1, AT_ONCE_MS);
        while (loop_wall(rehearsal->loop).ms <
               transfer->cordoned.ms + 5 * MINUTE_MS - (GRACE_S + 2) * SECOND_MS)
            rehearsal_run(rehearsal, SECOND_MS);
        assert_int_equal(count_of("app-sick", 201), rows[i].goes);
        assert_int_equal(count_of("app-well", 201), 0);
        assert_true(pod_of(rehearsal, "app-sick") == NULL || !rows[i].goes);
        assert_non_null(pod_of(rehearsal, "app-well"));
        assert_in_range(count_of("app", 429), 1, 5); /* once a minute */
        expect_done(rehearsal, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_has_one_eviction_under_way),
        cmocka_unit_test(a_refused_budget_is_asked_again_at_its_pace),
        cmocka_unit_test(an_unseen_budget_is_asked_with_patience),
        cmocka_unit_test(an_unready_pod_goes_when_its_budget_says_so),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
