/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The nodes that a plan names are those that leave, also production's, whose replicas go down
 * between the plan and the move.
 */
#include "tests/cli/small_world.h"

/* "a b c ": the nodes that would leave production, in the plan's order. */
static char *named_by(const json_t *plan)
{
    struct text *out = text_new(4096);
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(plan, "transfers"), i, row) {
        if (text_equal(json_text_or(row, "from", ""), "prod-a-east"))
            text_add(out, "%s ", json_text_or(row, "node", "-"));
    }
    return text_take(out);
}

/* Those that left it, in the order in which they began. */
static char *left_of(struct rehearsal *rehearsal)
{
    owned(json) json_t *answer = service_transfers(rehearsal->service, true);
    struct text *out = text_new(4096);
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(answer, "transfers"), i, row) {
        if (text_equal(json_text_or(row, "from", ""), "prod-a-east"))
            text_add(out, "%s ", json_text_or(row, "node", "-"));
    }
    return text_take(out);
}

static void production_gives_the_nodes_that_were_named(void **state)
{
    (void)state;
    for (uint64_t seed = 61; seed < 64; seed++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, seed, "");
        owned(json) json_t *schedules = small_schedules(6, 6);
        owned(json) json_t *plan = NULL;
        owned(json) json_t *applied = NULL;
        owned(json) json_t *live = NULL;
        owned(chars) char *named = NULL;
        owned(chars) char *still = NULL;
        owned(chars) char *left = NULL;
        struct error err = { 0 };

        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        apply(rehearsal, 10, 10);
        rehearsal_run(rehearsal, HOUR_MS);
        plan = service_plan(rehearsal->service, schedules, &err);
        assert_non_null(plan);
        named = named_by(plan);
        applied = service_apply(rehearsal->service, schedules,
                                json_text_or(plan, "fingerprint", "-"), "test", &err);
        if (!applied)
            fail_msg("%s", err.text);
        rehearsal_run(rehearsal, SECOND_MS); /* replicas go first */
        assert_int_equal(transfers_of(rehearsal, false), 0);
        live = service_plan(rehearsal->service, NULL, &err);
        assert_non_null(live);
        still = named_by(live);
        rehearsal_run(rehearsal, HOUR_MS);
        left = left_of(rehearsal);
        assert_string_equal(left, named);
        assert_string_equal(still, named);
        expect_rest(rehearsal, 6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(production_gives_the_nodes_that_were_named),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
