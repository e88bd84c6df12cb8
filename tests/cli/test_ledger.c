/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The ledger: what is lent, in transit and lost, counted as it was; a counter that never falls,
 * even if the process dies; and time in which the service did not see a pool is neither lent nor
 * nothing.
 */
#include "broker/planning/ledger.h"
#include "tests/cli/small_world.h"

static double sum_of(struct rehearsal *rehearsal, const char *pool, const char *key)
{
    owned(json) json_t *ledger = service_ledger(rehearsal->service);
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(ledger, "pools"), i, row)
        if (text_equal(json_text_or(row, "pool", ""), pool))
            return json_number_value(json_object_get(row, key));
    fail_msg("no pool %s", pool);
    return -1;
}

static void expect_between(double found, double least, double most)
{
    if (!(found >= least && found <= most))
        fail_msg("%g is not from %g to %g", found, least, most);
}

static struct rehearsal *begin(const char *folder)
{
    struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");

    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    return rehearsal;
}

/* Nine movable research nodes of eight GPUs; what was counted since the last commit is not shown.
 */
static void what_is_lent_is_counted(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder);

    (void)state;
    expect_between(sum_of(rehearsal, "research-a-east", "lent_gpu_s"), 0, 0);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    expect_between(sum_of(rehearsal, "research-a-east", "lent_gpu_s"), 72 * 6800, 72 * 7260);
    expect_between(sum_of(rehearsal, "research-a-east", "unseen_s"), 0, 60);
    expect_between(sum_of(rehearsal, "prod-a-east", "lent_gpu_s"), 0, 0);
    expect_between(sum_of(rehearsal, "research-a-east", "transit_gpu_s"), 0, 0);
}

/* Four nodes move: each is in transit for some minutes to an hour, and then no longer lent. */
static void a_move_is_transit_and_its_jobs_are_lost(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder);
    double transit, lent;

    (void)state;
    rehearsal_run(rehearsal, HOUR_MS);
    apply(rehearsal, 10, 10);
    rehearsal_run(rehearsal, 3 * HOUR_MS);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 10);
    transit = sum_of(rehearsal, "research-a-east", "transit_gpu_s");
    expect_between(transit, 32 * 240, 32 * 650); /* without the notice of 5 minutes */
    expect_between(sum_of(rehearsal, "research-a-east", "lost_gpu_s"), 1, 1e9);
    lent = sum_of(rehearsal, "research-a-east", "lent_gpu_s");
    rehearsal_run(rehearsal, HOUR_MS);
    expect_between(sum_of(rehearsal, "research-a-east", "transit_gpu_s"), transit, transit);
    expect_between(sum_of(rehearsal, "research-a-east", "lent_gpu_s") - lent, 40 * 3200, 40 * 3950);
}

/* A lower value would be counted by Prometheus once more, as a new beginning. */
static void no_counter_falls_when_the_process_dies(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder);
    double shown = 0;

    (void)state;
    rehearsal_slow_disk(rehearsal, 20 * SECOND_MS);
    for (int i = 0; i < 40; i++) {
        double before = shown;

        rehearsal_run(rehearsal, 7 * MINUTE_MS + i * SECOND_MS);
        shown = sum_of(rehearsal, "research-a-east", "lent_gpu_s");
        expect_between(shown, before, 1e12);
        if (i % 4 != 3)
            continue;
        before = shown;
        restart(rehearsal);
        shown = sum_of(rehearsal, "research-a-east", "lent_gpu_s");
        expect_between(shown, before, 1e12);
    }
    expect_between(shown, 72 * 3600.0, 72 * 40 * 7.5 * 60);
}

static void what_was_not_seen_is_neither_lent_nor_nothing(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder);
    double lent;

    (void)state;
    rehearsal_run(rehearsal, HOUR_MS);
    simulator_cut_off(rehearsal->simulator, "research-a");
    rehearsal_run(rehearsal, 20 * MINUTE_MS);
    lent = sum_of(rehearsal, "research-a-east", "lent_gpu_s");
    rehearsal_run(rehearsal, HOUR_MS);
    expect_between(sum_of(rehearsal, "research-a-east", "lent_gpu_s"), lent, lent);
    expect_between(sum_of(rehearsal, "research-a-east", "unseen_s"), 3600, 4900);
}

static void a_record_reads_back_and_a_wrong_one_does_not(void **state)
{
    static const char *const wrong[] = {
        "{}",
        "{\"pools\": 5}",
        "{\"pools\": {\"a\": {}}}",
        "{\"pools\": {\"a\": {\"lent_gpu_s\": -1, \"transit_gpu_s\": 0, \"lost_gpu_s\": 0, "
        "\"unseen_s\": 0}}}",
    };
    struct ledger ledger = { 0 };
    struct ledger other = { 0 };
    const struct ledger_sums more = { 1.5, 2, 3, 4 };
    struct error err = { 0 };

    (void)state;
    ledger_add(&ledger, "a", &more);
    ledger_add(&ledger, "a", &more);
    assert_true(ledger_kept(&ledger, "a").lent_gpu_s == 0);

    owned(json) json_t *value = ledger_encode(&ledger);

    ledger_add(&ledger, "a", &more); /* after it was sent */
    ledger_keep(&ledger);
    assert_true(ledger_kept(&ledger, "a").lent_gpu_s == 3);
    assert_true(ledger_kept(&ledger, "b").lent_gpu_s == 0);
    assert_int_equal(ledger_decode(&other, value, &err), 0);
    assert_true(ledger_kept(&other, "a").unseen_s == 8);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        owned(json) json_t *bad = json_parse(wrong[i], strlen(wrong[i]), "record", &err);

        assert_int_equal(ledger_decode(&other, bad, &err), -1);
        assert_int_equal(err.kind, ERROR_CORRUPT);
    }
    ledger_clear(&ledger);
    ledger_clear(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_lent_is_counted),
        cmocka_unit_test(a_move_is_transit_and_its_jobs_are_lost),
        cmocka_unit_test(no_counter_falls_when_the_process_dies),
        cmocka_unit_test(what_was_not_seen_is_neither_lent_nor_nothing),
        cmocka_unit_test(a_record_reads_back_and_a_wrong_one_does_not),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
