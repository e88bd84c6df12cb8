/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lead times: the prior until enough is known, then the quantiles of the last two hundred, the same
 * after a restart.
 */
#include "base/json.h"
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
        assert_int_equal(leads_known(&leads), 0);
        assert_int_equal(leads_quantile(&leads, 50), 15 * MINUTE_MS);
        assert_int_equal(leads_quantile(&leads, 95), 25 * MINUTE_MS);
        leads_add(&leads, MINUTE_MS);
    }
    assert_int_equal(leads_known(&leads), LEADS_NEEDED);
    assert_int_equal(leads_quantile(&leads, 95), MINUTE_MS);
}

static void a_quantile_is_one_that_was_seen(void **state)
{
    static const struct {
        double percentile;
        int64_t minutes;
    } rows[] = { { 0, 1 },   { 1, 1 },   { 5, 1 },   { 50, 10 },
                 { 51, 11 }, { 95, 19 }, { 96, 20 }, { 100, 20 } };
    struct leads leads = { .prior = &prior };

    (void)state;
    for (int i = 0; i < 20; i++)
        leads_add(&leads, (1 + i * 7 % 20) * MINUTE_MS); /* 1..20, out of order */
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(leads_quantile(&leads, rows[i].percentile), rows[i].minutes * MINUTE_MS);
}

static void the_oldest_are_forgotten(void **state)
{
    struct leads leads = { .prior = &prior };

    (void)state;
    for (int i = 0; i < 50; i++)
        leads_add(&leads, HOUR_MS);
    assert_int_equal(leads_quantile(&leads, 50), HOUR_MS);
    for (int i = 0; i < LEADS_KEPT; i++)
        leads_add(&leads, MINUTE_MS);
    assert_int_equal(leads_known(&leads), LEADS_KEPT);
    assert_int_equal(leads_quantile(&leads, 100), MINUTE_MS);
}

/* A clock that was set meanwhile makes nonsense of a difference of times: it is not learned. */
static void what_cannot_be_is_not_learned(void **state)
{
    struct leads leads = { .prior = &prior };

    (void)state;
    leads_add(&leads, 0);
    leads_add(&leads, -HOUR_MS);
    leads_add(&leads, 8 * DAY_MS);
    assert_int_equal(leads.count, 0);
    leads_add(&leads, DAY_MS);
    assert_int_equal(leads.count, 1);
}

static void a_restart_forgets_nothing(void **state)
{
    static const int lengths[] = { 0, 7, LEADS_NEEDED, LEADS_KEPT, LEADS_KEPT + 33 };
    struct error err = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct leads leads = { .prior = &prior };
        struct leads again = { .prior = &prior };

        for (int k = 0; k < lengths[i]; k++)
            leads_add(&leads, (k + 1) * SECOND_MS);
        owned(json) json_t *value = leads_encode(&leads);
        assert_in_range(json_array_size(json_object_get(value, "lead_ms")), 0, LEADS_KEPT);
        assert_int_equal(leads_decode(&again, value, &err), 0);
        assert_int_equal(leads_known(&again), leads_known(&leads));
        assert_int_equal(leads_quantile(&again, 50), leads_quantile(&leads, 50));
        leads_add(&leads, HOUR_MS); /* and it forgets the same one next */
        leads_add(&again, HOUR_MS);
        owned(json) json_t *left = leads_encode(&leads);
        owned(json) json_t *right = leads_encode(&again);
        assert_true(json_equal(left, right));
    }
}

static void a_broken_record_is_refused(void **state)
{
    static const char *const broken[] = { "{}", "{\"lead_ms\": 5}", "{\"lead_ms\": [\"5\"]}" };

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
        cmocka_unit_test(a_quantile_is_one_that_was_seen),
        cmocka_unit_test(the_oldest_are_forgotten),
        cmocka_unit_test(what_cannot_be_is_not_learned),
        cmocka_unit_test(a_restart_forgets_nothing),
        cmocka_unit_test(a_broken_record_is_refused),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
