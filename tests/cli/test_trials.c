/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a plan says of the pods that its nodes hold, after the API servers were asked by dry runs:
 * who is asked and who is not, what their answers become, and that nothing is evicted by them.
 */
#include "broker/terminal/leavers.h"
#include "tests/cli/small_world.h"

#include <string.h>

#define BUDGET(team, least)                                                                        \
    "  - {cluster: research-a, namespace: research, selector_label: team=" team                    \
    ", min_available: " least "}\n"
#define TWO_OF_EACH                                                                                \
    "budgets:\n" BUDGET("vision", "0") BUDGET("vision", "0") BUDGET("language", "0")               \
        BUDGET("language", "0") BUDGET("speech", "0") BUDGET("speech", "0")                        \
            BUDGET("robotics", "0") BUDGET("robotics", "0")

static void take_json(void *context, json_t *answer)
{
    *(json_t **)context = answer;
}

/* How many nodes more the plans ask for. */
enum { FEW = 4, MANY = 8 };

/* A plan, asked for at once; NULL as long as it is not complete. */
static void ask_plan(struct rehearsal *rehearsal, int nodes, json_t **plan)
{
    owned(json) json_t *schedules = small_schedules(6 + nodes, 6 + nodes);
    struct error err = { 0 };
    json_t *answer = service_plan(rehearsal->service, schedules, &err);

    if (!answer)
        fail_msg("%s", err.text);
    *plan = NULL;
    service_try(rehearsal->service, answer, take_json, plan);
}

static json_t *plan_of(struct rehearsal *rehearsal, int nodes)
{
    json_t *plan;

    ask_plan(rehearsal, nodes, &plan);
    rehearsal_run(rehearsal, 2 * SECOND_MS);
    assert_non_null(plan);
    assert_int_equal(json_array_size(json_object_get(plan, "transfers")), nodes);
    return plan;
}

static int64_t reported(struct rehearsal *rehearsal, const char *path)
{
    owned(json) json_t *report = simulator_report(rehearsal->simulator);

    return json_int_or(report, path, 0);
}

/* How many blockers of a kind, and one of them. */
static int blockers_of_kind(const json_t *plan, const char *kind, const json_t **ret_one)
{
    const json_t *transfer;
    const json_t *blocker;
    size_t i;
    size_t k;
    int count = 0;

    json_array_foreach(json_object_get(plan, "transfers"), i, transfer) {
        json_array_foreach(json_object_get(transfer, "blockers"), k, blocker) {
            if (!text_equal(json_text_or(blocker, "kind", ""), kind))
                continue;
            *ret_one = blocker;
            count++;
        }
    }
    return count;
}

static void expect_untouched(struct rehearsal *rehearsal)
{
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(reported(rehearsal, "effects/evictions"), 0);
    assert_int_equal(reported(rehearsal, "effects/pod_deletes"), 0);
    expect_rest(rehearsal, 6);
}

static void no_server_is_asked_what_the_numbers_tell(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(
        folder, 1, "budgets:\n" BUDGET("vision", "999") BUDGET("language", "1"));
    owned(json) json_t *plan = NULL;
    const json_t *blocker = NULL;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    plan = plan_of(rehearsal, FEW);
    assert_int_equal(json_int_or(plan, "dry_runs/asked", -1), 0);
    assert_int_equal(reported(rehearsal, "requests/evict_pod"), 0);
    assert_true(blockers_of_kind(plan, "budget", &blocker) > 0);
    assert_string_equal(json_text_or(blocker, "verdict", ""), "never");
    assert_int_equal(json_int_or(blocker, "expected_s", 0), 300); /* the drain's deadline */
    assert_true(json_is_null(json_object_get(blocker, "server")));
    expect_untouched(rehearsal);
}

static void two_budgets_are_asked_about_a_few_for_each_node(void **state)
{
    static const char *const lines[] = {
        "  > node research-a-east-",
        "\n      never  research/",
        "(Job research/",
        "): 2 budgets select it (",
        "the server evicts no such pod; gone 5m after the cordon at most\n",
        "\n             its server: 500: This pod has more than one PodDisruptionBudget, which ",
        "\n             to do: delete one of them, or narrow its selector\n",
        "\nblockers: ",
        " never, 0 slow, ",
    };
    owned(text) struct text *shown = text_new(1 << 16);
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, TWO_OF_EACH);
    owned(json) json_t *plan = NULL;
    const json_t *blocker = NULL;
    const json_t *transfer;
    int64_t asked;
    int64_t wanted = 0;
    int crowded = 0;
    size_t i;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    plan = plan_of(rehearsal, MANY);
    asked = json_int_or(plan, "dry_runs/asked", 0);
    json_array_foreach(json_object_get(plan, "transfers"), i, transfer) {
        size_t pods = json_array_size(json_object_get(transfer, "blockers"));

        wanted += pods < 3 ? (int64_t)pods : 3;
        crowded += pods > 3;
    }
    assert_true(crowded > 0);
    assert_int_equal(asked, wanted);
    assert_int_equal(reported(rehearsal, "requests/evict_pod"), asked);
    assert_int_equal(json_int_or(plan, "dry_runs/unanswered", -1), 0);
    assert_true(blockers_of_kind(plan, "two budgets", &blocker) >= asked);
    assert_string_equal(json_text_or(blocker, "verdict", ""), "never");
    leavers_print(plan, shown);
    for (size_t k = 0; k < COUNT_OF(lines); k++)
        if (!strstr(shown->chars, lines[k]))
            fail_msg("lacks %s:\n%s", lines[k], shown->chars);
    expect_untouched(rehearsal);
}

/* Posts a webhook over all evictions of research-a. */
static void post_webhook(struct rehearsal *rehearsal, const char *webhook_url)
{
    post(
        rehearsal, "apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        json_make(
            "{s:s, s:s, s:{s:s}, s:[{s:s, s:[s], s:s, s:{s:s}, s:[{s:[s], s:[s], s:[s], s:[s]}]}]}",
            "apiVersion", "admissionregistration.k8s.io/v1", "kind",
            "ValidatingWebhookConfiguration", "metadata", "name", "guard", "webhooks", "name",
            "guard.example.com", "admissionReviewVersions", "v1", "sideEffects", "None",
            "clientConfig", "url", webhook_url, "rules", "apiGroups", "", "apiVersions", "v1",
            "operations", "CREATE", "resources", "pods/eviction"));
}

static void a_webhook_is_heard(void **state)
{
    static const struct {
        const char *url;
        const char *kind;
        const char *says;
    } cases[] = {
        { "https://denies.simulator/?the pod is being migrated", "admission",
          "the pod is being migrated" },
        { "https://127.0.0.1:1/", "webhook down", "failed calling webhook \"guard.example.com\"" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
        owned(json) json_t *plan = NULL;
        const json_t *blocker = NULL;

        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        post_webhook(rehearsal, cases[i].url);
        plan = plan_of(rehearsal, FEW);
        assert_int_equal(blockers_of_kind(plan, cases[i].kind, &blocker),
                         json_int_or(plan, "dry_runs/asked", 0));
        assert_in_range(json_int_or(plan, "dry_runs/asked", 0), 4, 4 * 3);
        assert_non_null(strstr(json_text_or(blocker, "text", ""), cases[i].says));
        assert_string_equal(json_text_or(blocker, "verdict", ""), "slow");
        expect_untouched(rehearsal);
    }
}

#define EVICTION "/eviction?dryRun=All"

/* A way out that counts the dry runs that are on it, and may keep the first requests of a kind. */
struct counter {
    struct http http;
    struct http *inner;
    int in_flight;
    int most;
    const char *part; /* of the URLs that are kept */
    int keeps;
    int kept;
    struct {
        http_done_fn done;
        void *context;
    } keep[4];
};

struct passing {
    struct counter *counter;
    http_done_fn done;
    void *context;
};

static void counted(void *context, const struct http_answer *answer, const struct error *err)
{
    struct passing *passing = context;

    passing->counter->in_flight--;
    passing->done(passing->context, answer, err);
    mem_free(passing);
}

static struct http_exchange *count_send(struct http *http, const struct http_request *request,
                                        http_done_fn done, void *context)
{
    struct counter *counter = (struct counter *)http;
    struct passing *passing;

    if (counter->kept < counter->keeps && strstr(request->url, counter->part)) {
        counter->keep[counter->kept].done = done;
        counter->keep[counter->kept++].context = context;
        return NULL;
    }
    if (!strstr(request->url, EVICTION))
        return http_send(counter->inner, request, done, context);
    if (++counter->in_flight > counter->most)
        counter->most = counter->in_flight;
    passing = mem_new(sizeof *passing);
    *passing = (struct passing){ counter, done, context };
    return http_send(counter->inner, request, counted, passing);
}

static void count_cancel(struct http_exchange *exchange)
{
    (void)exchange;
    fail_msg("nothing is cancelled while this counts");
}

static const struct http_verbs count_verbs = { .send = count_send, .cancel = count_cancel };

/* An error; or the server is busy. */
static void answer_kept(struct counter *counter, int at, const struct error *err)
{
    static const struct http_answer busy = { .status = 429, .body = "busy", .body_size = 4 };

    counter->keep[at].done(counter->keep[at].context, err ? NULL : &busy, err);
}

static void never_more_than_a_few_at_once(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, TWO_OF_EACH);
    struct counter counter = { .http = { &count_verbs } };
    json_t *plans[3];

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    counter.inner = rehearsal->world.http;
    rehearsal->world.http = &counter.http;
    for (size_t i = 0; i < COUNT_OF(plans); i++)
        ask_plan(rehearsal, FEW, &plans[i]);
    rehearsal_run(rehearsal, 3 * SECOND_MS);
    rehearsal->world.http = counter.inner;
    for (size_t i = 0; i < COUNT_OF(plans); i++) {
        assert_non_null(plans[i]);
        assert_int_equal(json_int_or(plans[i], "dry_runs/unanswered", -1), 0);
        json_decref(plans[i]);
    }
    assert_int_equal(counter.most, 4);
    assert_int_equal(counter.in_flight, 0);
    expect_untouched(rehearsal);
}

static void no_plan_waits_for_a_silent_server(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, TWO_OF_EACH);
    struct counter counter = { .http = { &count_verbs }, .part = EVICTION, .keeps = 1 };
    struct error late = { .kind = ERROR_UNKNOWN_OUTCOME, .text = "late" };
    owned(json) json_t *plan = NULL;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    counter.inner = rehearsal->world.http;
    rehearsal->world.http = &counter.http;
    ask_plan(rehearsal, FEW, &plan);
    rehearsal_run(rehearsal, 11 * SECOND_MS); /* a webhook may take ten */
    assert_null(plan);
    rehearsal_run(rehearsal, 2 * SECOND_MS);
    assert_non_null(plan);
    assert_int_equal(json_int_or(plan, "dry_runs/unanswered", 0), 1);
    assert_int_equal(json_array_size(json_at(plan, "dry_runs/unheard")), 0);
    rehearsal->world.http = counter.inner;
    answer_kept(&counter, 0, &late); /* reaches no caller */
    expect_untouched(rehearsal);
}

/* Without the list of webhooks no server can be asked: that is no "all is well". */
static void a_cluster_that_tells_nothing_is_named(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, TWO_OF_EACH);
    struct counter counter = { .http = { &count_verbs },
                               .part = "mutatingwebhookconfigurations",
                               .keeps = 1 };
    struct error late = { .kind = ERROR_TRANSIENT, .text = "late" };
    owned(text) struct text *shown = text_new(1 << 16);
    owned(json) json_t *plan = NULL;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    counter.inner = rehearsal->world.http;
    rehearsal->world.http = &counter.http;
    ask_plan(rehearsal, FEW, &plan);
    rehearsal_run(rehearsal, 13 * SECOND_MS);
    rehearsal->world.http = counter.inner;
    assert_non_null(plan);
    assert_int_equal(json_int_or(plan, "dry_runs/asked", -1), 0);
    assert_int_equal(json_array_size(json_at(plan, "dry_runs/unheard")), 1);
    leavers_print(plan, shown);
    assert_non_null(strstr(shown->chars, "dry runs: cluster research-a could not be asked"));
    answer_kept(&counter, 0, &late);
    expect_untouched(rehearsal);
}

static void a_server_that_hangs_delays_no_other_plan(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, TWO_OF_EACH);
    struct counter counter = { .http = { &count_verbs }, .part = EVICTION, .keeps = 4 };
    struct error late = { .kind = ERROR_UNKNOWN_OUTCOME, .text = "late" };
    owned(json) json_t *hung = NULL;
    owned(json) json_t *plan = NULL;
    const json_t *transfer;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    counter.inner = rehearsal->world.http;
    rehearsal->world.http = &counter.http;
    ask_plan(rehearsal, FEW, &hung);
    rehearsal_run(rehearsal, SECOND_MS);
    assert_int_equal(counter.kept, 4);
    ask_plan(rehearsal, -2, &plan); /* from prod-a */
    rehearsal_run(rehearsal, SECOND_MS);
    rehearsal->world.http = counter.inner;
    assert_null(hung);
    assert_non_null(plan);
    transfer = json_array_get(json_object_get(plan, "transfers"), 0);
    assert_string_equal(json_text_or(transfer, "from", ""), "prod-a-east");
    assert_int_equal(json_array_size(json_at(plan, "dry_runs/unheard")), 0);
    for (int i = 0; i < counter.kept; i++)
        answer_kept(&counter, i, &late);
    expect_untouched(rehearsal);
}

static void a_busy_server_is_left_alone(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, TWO_OF_EACH);
    struct counter counter = { .http = { &count_verbs }, .part = EVICTION, .keeps = 4 };
    owned(json) json_t *plan = NULL;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    counter.inner = rehearsal->world.http;
    rehearsal->world.http = &counter.http;
    ask_plan(rehearsal, FEW, &plan);
    rehearsal_run(rehearsal, SECOND_MS);
    assert_int_equal(counter.kept, 4);
    for (int i = 0; i < counter.kept; i++) {
        assert_null(plan);
        answer_kept(&counter, i, NULL);
    }
    rehearsal->world.http = counter.inner;
    assert_non_null(plan); /* at once */
    assert_int_equal(counter.most, 0);
    assert_int_equal(json_int_or(plan, "dry_runs/asked", 0), 4);
    assert_true(json_int_or(plan, "dry_runs/unanswered", 0) > 4);
    expect_untouched(rehearsal);
}

/* A reclaim's offer has the same; the service may end while it asks. */
static void an_offer_is_tried_too(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, TWO_OF_EACH);
    owned(json) json_t *request = json_make("{ss si ss sb}", "cluster", "prod-a", "nodes", 2,
                                            "reason", "launch", "is_dry_run", 1);
    owned(json) json_t *offer = NULL;
    const json_t *blocker = NULL;
    struct error err = { 0 };
    json_t *answer;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    answer = service_reclaim(rehearsal->service, request, "test", &err);
    assert_non_null(answer);
    assert_non_null(json_object_get(json_array_get(json_at(answer, "transfers"), 0), "blockers"));
    service_try(rehearsal->service, answer, take_json, &offer);
    rehearsal_run(rehearsal, 2 * SECOND_MS);
    assert_non_null(offer);
    assert_int_equal(json_array_size(json_object_get(offer, "transfers")), 2);
    assert_true(blockers_of_kind(offer, "two budgets", &blocker) >= 2);
    expect_untouched(rehearsal);

    ask_plan(rehearsal, FEW, &answer);
    rehearsal_run(rehearsal, 1);
    assert_null(answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_server_is_asked_what_the_numbers_tell),
        cmocka_unit_test(two_budgets_are_asked_about_a_few_for_each_node),
        cmocka_unit_test(a_webhook_is_heard),
        cmocka_unit_test(no_plan_waits_for_a_silent_server),
        cmocka_unit_test(a_cluster_that_tells_nothing_is_named),
        cmocka_unit_test(a_server_that_hangs_delays_no_other_plan),
        cmocka_unit_test(a_busy_server_is_left_alone),
        cmocka_unit_test(never_more_than_a_few_at_once),
        cmocka_unit_test(an_offer_is_tried_too),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
