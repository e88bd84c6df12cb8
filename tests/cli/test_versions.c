/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * API servers of other ages: what is there in an older version is used in that one.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_is_the_same_with_the_policy_of_an_older_server),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
