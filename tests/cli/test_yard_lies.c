/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A yard (yard.h) whose list shows boxes as parked that run: no Node is given up on its word alone.
 */
#include "tests/cli/yard_world.h"

static const struct provider_kind *const kinds[] = { &yard_kind, &yard_by_name_kind };

/* The pool is full while its list shows no box in it. */
static void boxes_that_serve_are_not_parked(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        owned(test_folder) char *folder = test_folder_new();
        struct http way;
        struct rehearsal *rehearsal = yard_world_of(kinds[i], folder, &way);

        rehearsal_run(rehearsal, MINUTE_MS);
        apply(rehearsal, 6, 6);
        rehearsal_run(rehearsal, 5 * MINUTE_MS);
        yard.lies_parked = true;
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(transfers_of(rehearsal, true), 0);
        assert_true(warns_of(rehearsal, "pool prod-a-east"));
        yard.lies_parked = false;
        rehearsal_run(rehearsal, HOUR_MS);
        assert_false(warns_of(rehearsal, "pool prod-a-east"));
        expect_rest(rehearsal, 6);
        close_yard(rehearsal);
    }
}

/* One list that shows all as parked is not believed at once. */
static void a_list_that_parks_all_is_doubted(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = yard_world(folder, &way);
    const struct fleet_pool *pool;

    (void)state;
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    pool = fleet_pool(rehearsal->service->fleet,
                      config_pool(rehearsal->service->config, "prod-a-east"));
    yard.lies_parked = true;
    for (int64_t ms = 0; ms < 5 * MINUTE_MS && pool->trouble.kind == ERROR_NONE; ms += SHORT_MS)
        rehearsal_run(rehearsal, SHORT_MS);
    assert_int_equal(pool->trouble.kind, ERROR_CORRUPT);
    assert_string_equal(pool->trouble.text, "the cloud lists 0 machines where there were 6");
    close_yard(rehearsal);
}

/* The removal was accepted, and the box stops: its Node stays until the box itself is read as gone.
 */
static void a_box_that_stops_is_not_parked_yet(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = yard_world_of(&yard_by_name_kind, folder, &way);
    const struct transfer *transfer;

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, 15 * MINUTE_MS);
    apply(rehearsal, 5, 5);
    transfer = run_to(rehearsal, STEP_RELEASE);
    assert_non_null(transfer);
    for (int64_t ms = 0; ms < MINUTE_MS && yard.requests == 0; ms++)
        rehearsal_run(rehearsal, 1);
    assert_int_equal(yard.requests, 1);
    yard.lies_parked = true;
    for (int64_t ms = 0; ms < HOUR_MS && transfer->step == STEP_RELEASE; ms += SHORT_MS) {
        rehearsal_run(rehearsal, SHORT_MS);
        if (transfer->step != STEP_RELEASE)
            assert_null(sim_machine_find(yard_lot(), transfer->instance));
    }
    assert_true(transfer->step > STEP_RELEASE);
    yard.lies_parked = false;
    rest(rehearsal, 5);
    expect_rest(rehearsal, 5);
    expect_tidy(rehearsal);
    close_yard(rehearsal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_that_serve_are_not_parked),
        cmocka_unit_test(a_list_that_parks_all_is_doubted),
        cmocka_unit_test(a_box_that_stops_is_not_parked_yet),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
