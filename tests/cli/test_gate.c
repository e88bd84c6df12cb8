/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An overloaded API server is left alone for as long as it asks, and it alone.  Who is told no by a
 * rule asks again now and then.
 */
#include "broker/sides/kube/gate.h"
#include "broker/sides/kube/kube_state.h"
#include "broker/transfer/effect.h"
#include "clusters/kube/kube_error.h"
#include "tests/cli/stepwise.h"

enum { SLICE_MS = 50 };

static const struct pod *pod_on(struct rehearsal *rehearsal, const struct config_cluster *cluster)
{
    const struct snapshot *snapshot = fleet_snapshot(rehearsal->service->fleet, cluster);
    void *value;

    for (size_t i = 0; map_next(snapshot->pods, &i, NULL, &value);)
        if (pod_must_leave(value) && ((const struct pod *)value)->node_name[0] != '\0')
            return value;
    fail_msg("%s has no pods", cluster->name);
    return NULL;
}

static enum gate_answer answer_of(struct rehearsal *rehearsal, size_t cluster, const char **ret_why)
{
    const struct config_cluster *config = &rehearsal->config->clusters[cluster];

    return gate_ask(kube_side_of(rehearsal->service->runner)->gate, config,
                    pod_on(rehearsal, config), ret_why);
}

static void an_overloaded_server_is_left_alone_and_no_other(void **state)
{
    static const struct {
        const struct error_cause *cause;
        int64_t retry_after_ms;
        int64_t quiet_ms;
    } rows[] = {
        { NULL, 7 * SECOND_MS, 7 * SECOND_MS },
        { NULL, 0, SECOND_MS },
        { &kube_cause_budget, 7 * SECOND_MS, 0 },
        { &kube_cause_policy, 7 * SECOND_MS, 0 },
    };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");

    (void)state;
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct gate *gate = kube_side_of(rehearsal->service->runner)->gate;
        struct error err = { 0 };
        const char *why = "";

        error_set(&err, ERROR_THROTTLED, "not now");
        error_because(&err, rows[i].cause);
        err.retry_after_ms = rows[i].retry_after_ms;
        gate_slow(gate, &rehearsal->config->clusters[0], &err);
        assert_int_equal(answer_of(rehearsal, 1, &why), GATE_OPEN);
        if (rows[i].quiet_ms > 0) {
            assert_int_equal(answer_of(rehearsal, 0, &why), GATE_WAIT);
            assert_string_equal(why, "the API server of prod-a is busy");
            rehearsal_run(rehearsal, rows[i].quiet_ms - SLICE_MS);
            assert_int_equal(answer_of(rehearsal, 0, &why), GATE_WAIT);
            rehearsal_run(rehearsal, 2 * SLICE_MS);
        }
        assert_int_equal(answer_of(rehearsal, 0, &why), GATE_OPEN);
    }
}

static int64_t evictions_asked(struct rehearsal *rehearsal)
{
    owned(json) json_t *report = simulator_report(rehearsal->simulator);

    return json_int_or(report, "requests/evict_pod", 0);
}

/* On the wire: one refusal, and not one more eviction of that cluster within the second that it
   asks for, though many pods wait. */
static void one_refusal_holds_all_of_a_drain(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 3, "");
    owned(json) json_t *answer = NULL;
    int64_t asked;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    for (int i = 0; i < 200; i++)
        simulator_fault_next(rehearsal->simulator, "http_429", "evict_pod");
    answer = reclaim(rehearsal, 4);
    for (int64_t ms = 0; evictions_asked(rehearsal) == 0; ms += SLICE_MS) {
        assert_true(ms < 10 * MINUTE_MS);
        rehearsal_run(rehearsal, SLICE_MS);
    }
    rehearsal_run(rehearsal, 100); /* whatever was sent before the first answer came */
    asked = evictions_asked(rehearsal);
    rehearsal_run(rehearsal, 800);
    assert_int_equal(evictions_asked(rehearsal), asked);
    rehearsal_run(rehearsal, 3 * SECOND_MS);
    assert_true(evictions_asked(rehearsal) > asked);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 10);
}

/* A rule forbids all evictions: people can read which one, it is not asked in a storm, and each
   pod's own deadline holds. */
static void a_rule_that_forbids_costs_the_deadline(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 3, "");
    owned(json) json_t *answer = NULL;
    owned(json) json_t *transfers = NULL;
    owned(json) json_t *report = NULL;
    owned(chars) char *words = NULL;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    for (int i = 0; i < 1000; i++)
        simulator_fault_next(rehearsal->simulator, "denied", "evict_pod");
    answer = reclaim(rehearsal, 3);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    transfers = service_transfers(rehearsal->service, false);
    words = json_print(transfers);
    if (!strstr(words, "held by an admission webhook: ") || !strstr(words, "ask the team first"))
        fail_msg("%s", words);
    rehearsal_run(rehearsal, HOUR_MS);
    report = simulator_report(rehearsal->simulator);
    assert_int_equal(json_int_or(report, "effects/evictions", -1), 0);
    assert_true(json_int_or(report, "effects/pod_deletes", 0) >= 3);
    assert_in_range(evictions_asked(rehearsal), 3, 30 * 6);
    expect_rest(rehearsal, 9);
}

/* However the jitter falls. */
static void nothing_is_asked_again_before_the_time_that_a_server_named(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 6, "");
    struct transfer *transfer;
    struct effect *effect;
    owned(chars) char *key = NULL;
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 7, 7);
    transfer = run_to(rehearsal, STEP_NOTICE);
    key = text_format("announce/%s", transfer->node_uid);
    effect = map_get(transfer->effects, key);
    assert_non_null(effect);
    error_set(&err, ERROR_THROTTLED, "the server is busy");
    err.retry_after_ms = 30 * SECOND_MS;
    for (int i = 0; i < 100; i++) {
        effect->is_in_flight = true; /* as if it were sent once more */
        effect_finish(effect, &err);
        assert_true(effect->not_before_ms >= loop_now(rehearsal->loop) + err.retry_after_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_asked_again_before_the_time_that_a_server_named),
        cmocka_unit_test(an_overloaded_server_is_left_alone_and_no_other),
        cmocka_unit_test(one_refusal_holds_all_of_a_drain),
        cmocka_unit_test(a_rule_that_forbids_costs_the_deadline),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
