/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lead times: the prior until enough is known, then the quantiles of the last two hundred with the
 * censored among them, the same after a restart.
 */
#include "base/input/json.h"
#include "base/timestamp.h"
#include "broker/transfer/leads.h"
#include "tests/support/unit.h"

#include <string.h>

static const struct config_lead prior = { .prior_p50_ms = 15 * MINUTE_MS,
                                          .prior_p95_ms = 25 * MINUTE_MS };

static void few_transfers_teach_nothing(void **state)
{
    struct leads leads = { .prior = &prior };

    (void)state;
    for (int i = 0; i < LEADS_NEEDED; i++) {
        assert_int_equal(lead_series_known(&leads.whole), 0);
        assert_int_equal(leads_quantile(&leads, 50, 0), 15 * MINUTE_MS);
        assert_int_equal(leads_quantile(&leads, 95, 0), 25 * MINUTE_MS);
        assert_int_equal(leads_quantile(&leads, 95, HOUR_MS), HOUR_MS);
        assert_int_equal(leads_wave(&leads, 10), 25 * MINUTE_MS);
        lead_series_add(&leads.whole, HOUR_MS, true); /* says too little */
        lead_series_add(&leads.whole, MINUTE_MS, false);
    }
    assert_int_equal(lead_series_known(&leads.whole), LEADS_NEEDED);
    assert_int_equal(lead_series_censored(&leads.whole), LEADS_NEEDED);
    assert_int_equal(leads_quantile(&leads, 50, 0), MINUTE_MS);
}

/* Forty times of 1 to 20 minutes (p95: 19), then eight more; the drift is looked at after each row.
 */
static void what_takes_longer_than_was_learned_drifts(void **state)
{
    static const struct {
        int64_t minutes[8];
        bool is_censored;
        bool drifts;
        size_t late;
    } rows[] = {
        { { 5, 9, 18, 3, 12, 19, 7, 1 }, false, false, 0 },
        { { 5, 30, 18, 31, 12, 32, 7, 1 }, false, false, 3 },
        { { 5, 30, 18, 31, 12, 32, 7, 33 }, false, true, 4 },
        { { 40, 40, 40, 40, 40, 40, 40, 40 }, true, true, 8 }, /* failed after that */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct lead_series series = { 0 };
        struct lead_drift drift;

        for (int k = 0; k < 40; k++) {
            assert_false(lead_series_drifts(&series, &drift));
            lead_series_add(&series, (k % 20 + 1) * MINUTE_MS, false);
        }
        for (size_t k = 0; k < 8; k++)
            lead_series_add(&series, rows[i].minutes[k] * MINUTE_MS, rows[i].is_censored);
        assert_int_equal(lead_series_drifts(&series, &drift), rows[i].drifts);
        assert_int_equal(drift.usual_ms, 19 * MINUTE_MS);
        assert_int_equal(drift.late, rows[i].late);
    }
}

static void a_quantile_is_one_that_was_seen(void **state)
{
    static const struct {
        double percentile;
        int64_t elapsed;
        int64_t minutes;
    } rows[] = {
        { 0, 0, 1 },
        { 1, 0, 1 },
        { 5, 0, 1 },
        { 50, 0, 10 },
        { 51, 0, 11 },
        { 95, 0, 19 },
        { 96, 0, 20 },
        { 100, 0, 20 },
        /* of those that take longer than ten minutes, and of none that does */
        { 50, 10, 15 },
        { 10, 10, 11 },
        { 95, 10, 20 },
        { 50, 19, 20 },
        { 50, 25, 25 },
    };
    struct lead_series series = { 0 };

    (void)state;
    for (int i = 0; i < 20; i++)
        lead_series_add(&series, (1 + i * 7 % 20) * MINUTE_MS, false); /* 1..20, out of order */
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(
            lead_series_quantile(&series, rows[i].percentile, rows[i].elapsed * MINUTE_MS),
            rows[i].minutes * MINUTE_MS);
}

/* The product-limit estimate by hand: of 1, 2+, 3, 4+, 5 minutes (a plus was cut off) 4/5 last
   longer than 1, 4/5 x 2/3 longer than 3, none longer than 5. */
static void what_was_cut_off_makes_the_rest_longer(void **state)
{
    static const struct {
        double percentile;
        int64_t minutes;
    } rows[] = { { 20, 1 }, { 21, 3 }, { 46, 3 }, { 47, 5 }, { 100, 5 } };
    struct lead_series series = { 0 };
    struct lead_series early = { 0 };

    (void)state;
    for (int i = 1; i <= 5; i++)
        lead_series_add(&series, i * MINUTE_MS, i % 2 == 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(lead_series_quantile(&series, rows[i].percentile, 0),
                         rows[i].minutes * MINUTE_MS);

    /* Nothing is known beyond the longest, even where it was cut off. */
    lead_series_add(&series, 9 * MINUTE_MS, true);
    assert_int_equal(lead_series_quantile(&series, 95, 0), 9 * MINUTE_MS);

    /* What ends at the moment at which another is cut off counts first. */
    lead_series_add(&early, MINUTE_MS, true);
    lead_series_add(&early, MINUTE_MS, false);
    lead_series_add(&early, 2 * MINUTE_MS, false);
    assert_int_equal(lead_series_quantile(&early, 33, 0), MINUTE_MS);
    assert_int_equal(lead_series_quantile(&early, 34, 0), 2 * MINUTE_MS);
}

/* All of a wave have to be ready: one alone at p95, of ten each at p99.5. */
static void a_wave_is_as_late_as_its_last(void **state)
{
    struct leads leads = { .prior = &prior };

    (void)state;
    for (int i = 0; i < LEADS_KEPT; i++)
        lead_series_add(&leads.whole, (i + 1) * SECOND_MS, false);
    assert_int_equal(leads_wave(&leads, 1), 190 * SECOND_MS);
    assert_int_equal(leads_wave(&leads, 2), 195 * SECOND_MS);
    assert_int_equal(leads_wave(&leads, 10), 199 * SECOND_MS);
    assert_int_equal(leads_wave(&leads, 100), 250 * SECOND_MS); /* two hundred do not tell */
}

static void the_oldest_are_forgotten(void **state)
{
    struct leads leads = { .prior = &prior };

    (void)state;
    for (int i = 0; i < 50; i++)
        lead_series_add(&leads.whole, HOUR_MS, false);
    assert_int_equal(leads_quantile(&leads, 50, 0), HOUR_MS);
    for (int i = 0; i < LEADS_KEPT; i++)
        lead_series_add(&leads.whole, MINUTE_MS, false);
    assert_int_equal(lead_series_known(&leads.whole), LEADS_KEPT);
    assert_int_equal(leads_quantile(&leads, 100, 0), MINUTE_MS);
}

/* A clock that was set meanwhile makes nonsense of a difference of times: it is not learned. */
static void what_cannot_be_is_not_learned(void **state)
{
    struct lead_series series = { 0 };

    (void)state;
    lead_series_add(&series, 0, false);
    lead_series_add(&series, -HOUR_MS, false);
    lead_series_add(&series, 8 * DAY_MS, true);
    assert_int_equal(series.count, 0);
    lead_series_add(&series, DAY_MS, false);
    assert_int_equal(series.count, 1);
}

static void a_restart_forgets_nothing(void **state)
{
    static const int lengths[] = { 0, 7, LEADS_NEEDED, LEADS_KEPT, LEADS_KEPT + 33 };
    struct error err = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct leads leads = { .prior = &prior };
        struct leads again = { .prior = &prior };

        for (int k = 0; k < lengths[i]; k++) {
            lead_series_add(&leads.whole, (k + 1) * SECOND_MS, k % 3 == 0);
            lead_series_add(&leads.steps[k % STEP_COUNT], (k + 1) * SECOND_MS, k % 5 == 0);
        }
        owned(json) json_t *value = leads_encode(&leads);
        assert_in_range(json_array_size(json_object_get(value, "whole_ms")), 0, LEADS_KEPT);
        assert_int_equal(leads_decode(&again, value, &err), 0);
        lead_series_add(&leads.whole, HOUR_MS, false); /* and it forgets the same one next */
        lead_series_add(&again.whole, HOUR_MS, false);
        owned(json) json_t *left = leads_encode(&leads);
        owned(json) json_t *right = leads_encode(&again);
        assert_true(json_equal(left, right));
        owned(json) json_t *told = leads_describe(&leads);
        owned(json) json_t *told_again = leads_describe(&again);
        assert_true(json_equal(told, told_again));
    }
}

static void a_broken_record_is_refused(void **state)
{
    static const char *const broken[] = {
        "{}",
        "{\"whole_ms\": 5}",
        "{\"whole_ms\": [\"5\"]}",
        "{\"whole_ms\": [], \"steps_ms\": {\"drain\": 7}}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        struct leads leads = { .prior = &prior };
        struct error err = { 0 };
        owned(json) json_t *value = json_parse(broken[i], strlen(broken[i]), "test", &err);

        assert_non_null(value);
        assert_int_equal(leads_decode(&leads, value, &err), -1);
        assert_true(err.text[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_transfers_teach_nothing),
        cmocka_unit_test(what_takes_longer_than_was_learned_drifts),
        cmocka_unit_test(a_quantile_is_one_that_was_seen),
        cmocka_unit_test(what_was_cut_off_makes_the_rest_longer),
        cmocka_unit_test(a_wave_is_as_late_as_its_last),
        cmocka_unit_test(the_oldest_are_forgotten),
        cmocka_unit_test(what_cannot_be_is_not_learned),
        cmocka_unit_test(a_restart_forgets_nothing),
        cmocka_unit_test(a_broken_record_is_refused),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
