/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * API servers of other ages: what is there in an older version is used in that one, and what is not
 * there at all counts as none.
 */
#include "broker/service/service_parts.h"
#include "tests/cli/small_world.h"

/* What was done in a day on which nodes go to production and back, on a server of that age. */
static json_t *effects_of_a_day(const char *policy)
{
    owned(chars) char *world = text_format("policy: %s\n"
                                           "budgets: [ {cluster: prod-a, namespace: serving,"
                                           " selector_label: app=chat-2x, min_available: 18} ]\n",
                                           policy);
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, world);
    owned(json) json_t *report = NULL;
    const struct snapshot *snapshot;

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    snapshot = fleet_snapshot(rehearsal->service->fleet, &rehearsal->config->clusters[0]);
    assert_true(snapshot->budgets_are_known);
    assert_int_equal(map_count(snapshot->budgets), 1);
    apply(rehearsal, 10, 6);
    rehearsal_run(rehearsal, 4 * HOUR_MS);
    expect_rest(rehearsal, 10);
    rehearsal_run(rehearsal, 12 * HOUR_MS);
    expect_rest(rehearsal, 6);
    report = simulator_report(rehearsal->simulator);
    return json_deep_copy(json_object_get(report, "effects"));
}

static void a_day_is_the_same_with_the_policy_of_an_older_server(void **state)
{
    owned(json) json_t *newer = effects_of_a_day("v1");
    owned(json) json_t *older = effects_of_a_day("v1beta1");
    owned(chars) char *newer_chars = json_print(newer);
    owned(chars) char *older_chars = json_print(older);

    (void)state;
    assert_true(json_int_or(older, "evictions", 0) > 0);
    assert_int_equal(json_int_or(older, "pod_deletes", -1), 0);
    assert_string_equal(older_chars, newer_chars);
}

static const char hpa_path[] = "/apis/autoscaling/v2/namespaces/serving/horizontalpodautoscalers/"
                               "web";

struct scaled {
    char *folder;
    struct rehearsal *rehearsal;
};

/* A night that wants 12 replicas of 20, or a least of 12, on a server with these autoscalers. */
static struct scaled scale(const char *autoscaling, bool has_hpa, const char *keeps)
{
    owned(chars) char *world = text_format("autoscaling: %s\n", autoscaling);
    owned(json) json_t *hpa = json_make("{s:{s:{s:s, s:s}, s:i, s:i}}", "spec", "scaleTargetRef",
                                        "kind", "Deployment", "name", "chat-2x", "minReplicas", 4,
                                        "maxReplicas", 40);
    struct scaled scaled = { .folder = test_folder_new() };

    scaled.rehearsal = small_rehearsal_with(scaled.folder, 1, world, "", keeps);
    if (has_hpa)
        simulator_put_object(scaled.rehearsal->simulator, "prod-a", hpa_path, hpa);
    rehearsal_run(scaled.rehearsal, 2 * MINUTE_MS);
    apply(scaled.rehearsal, 6, 4);
    rehearsal_run(scaled.rehearsal, 10 * MINUTE_MS);
    return scaled;
}

static void owned_scaled(struct scaled *scaled)
{
    rehearsal_close(scaled->rehearsal);
    test_folder_free(scaled->folder);
}

static void expect_scale(const struct scaled *scaled, int replicas, const char *trouble)
{
    owned(json) json_t *status = service_status(scaled->rehearsal->service);
    const json_t *row = json_array_get(json_object_get(status, "workloads"), 0);
    const char *said = json_text_or(row, "trouble", "(none)");

    if (trouble[0] != '\0' ? !strstr(said, trouble) : said[0] != '\0')
        fail_msg("wanted \"%s\", got \"%s\"", trouble, said);
    assert_int_equal(
        simulator_replicas(scaled->rehearsal->simulator, "prod-a", "serving", "chat-2x"), replicas);
}

static const char *const autoscalings[] = { "v2", "v2beta2", "v1" };

static void replicas_are_scaled_whatever_autoscalers_a_server_could_have(void **state)
{
    owned(scaled) struct scaled none = scale("none", false, "");

    (void)state;
    expect_scale(&none, 12, "");
    for (size_t i = 0; i < COUNT_OF(autoscalings); i++) {
        owned(scaled) struct scaled scaled = scale(autoscalings[i], false, "");

        expect_scale(&scaled, 12, "");
    }
}

static void an_autoscaler_is_seen_in_any_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(autoscalings); i++) {
        owned(scaled) struct scaled scaled = scale(autoscalings[i], true, "");

        expect_scale(&scaled, 20, "HorizontalPodAutoscaler web scales chat-2x");
    }
}

static void the_least_of_an_autoscaler_is_set_in_any_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(autoscalings); i++) {
        owned(scaled) struct scaled scaled = scale(autoscalings[i], true,
                                                   ", keeps: hpa, autoscaler: web");
        const json_t *hpa = simulator_object(scaled.rehearsal->simulator, "prod-a", hpa_path);

        expect_scale(&scaled, 20, ""); /* that is the autoscaler's */
        assert_int_equal(json_int_or(hpa, "spec/minReplicas", -1), 12);
        assert_int_equal(json_int_or(hpa, "spec/maxReplicas", -1), 40);
    }
}

/* A workload whose replicas an autoscaler keeps is not scaled by us when that is not there. */
static void an_autoscaler_that_is_not_there_is_missed(void **state)
{
    static const struct {
        const char *autoscaling;
        const char *keeps;
        const char *trouble;
    } rows[] = {
        { "v2", "hpa, autoscaler: web", "there is no HorizontalPodAutoscaler serving/web" },
        { "none", "hpa, autoscaler: web", "there is no HorizontalPodAutoscaler serving/web" },
        { "v2", "keda", "there is no ScaledObject serving/chat-2x" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *keeps = text_format(", keeps: %s", rows[i].keeps);
        owned(scaled) struct scaled scaled = scale(rows[i].autoscaling, false, keeps);

        expect_scale(&scaled, 20, rows[i].trouble);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_is_the_same_with_the_policy_of_an_older_server),
        cmocka_unit_test(replicas_are_scaled_whatever_autoscalers_a_server_could_have),
        cmocka_unit_test(an_autoscaler_is_seen_in_any_version),
        cmocka_unit_test(the_least_of_an_autoscaler_is_set_in_any_version),
        cmocka_unit_test(an_autoscaler_that_is_not_there_is_missed),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
