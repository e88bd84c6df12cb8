/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What Slurm and people set on nodes by themselves: DOWN, and how it is lifted.
 */
#include "broker/doctor/doctor.h"
#include "tests/cli/slurm_world.h"
#include "tools/simulator/slurm/ctld.h"

static const char *const returns[] = { ", return_to_service: 0", ", return_to_service: 1",
                                       ", return_to_service: 2" };

static struct kind with(const struct kind *kind, const char *more)
{
    struct kind out = *kind;

    out.more = more;
    return out;
}

/* A node of slurm.conf is parked, and DOWN when its next machine registers: slurmctld lifts that
   by itself with ReturnToService=2 only. */
static void a_parked_node_comes_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (size_t k = 0; text_equal(kinds[i].nodes, "fixed") && k < COUNT_OF(returns); k++) {
            struct kind kind = with(&kinds[i], returns[k]);
            owned(test_folder) char *folder = test_folder_new();
            owned(rehearsal) struct rehearsal *rehearsal = begin(&kind, folder, 5);

            run_there_and_back(rehearsal);
            expect_there_and_back(rehearsal);
            for (size_t at = 0; at < 2; at++)
                assert_int_equal(transfer_at(rehearsal, at)->attempt, 1);
        }
}

static void add_row(void *context, const struct doctor_row *row)
{
    if (text_equal(row->name, "research-a"))
        text_add(context, "%s: %s\n", row->finding.subject, row->finding.text);
}

/* What doctor finds there; the caller frees it. */
static char *examine(struct rehearsal *rehearsal)
{
    struct text *out = text_new(64 << 10);
    struct doctor *doctor = doctor_open(&rehearsal->world, rehearsal->config, add_row, out);

    for (int i = 0; i < 600 && !doctor_is_done(doctor); i++)
        rehearsal_run(rehearsal, 100);
    assert_true(doctor_is_done(doctor));
    doctor_close(doctor);
    return text_take(out);
}

static void the_doctor_names_settings_that_keep_nodes_away(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(returns); k++) {
        struct kind kind = with(&kinds[3], returns[k]);
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = open_with(&kind, folder, 5, "", false);
        owned(chars) char *found = examine(rehearsal);

        if (!strstr(found, "ReturnToService: ") != (k == 2))
            fail_msg("%s: %s", returns[k], found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parked_node_comes_back),
        cmocka_unit_test(the_doctor_names_settings_that_keep_nodes_away),
    };

    mem_setup();
    log_setup(getenv("SLUICE_LOG") ? LOG_DEBUG : LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
