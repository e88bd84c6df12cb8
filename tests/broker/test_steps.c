/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The step table keeps its own rules, and its diagram is the one that the documentation shows.
 */
#include "broker/sides/kube/kube_effects.h"
#include "broker/transfer/steps.h"
#include "tests/support/golden.h"
#include "tests/support/unit.h"

#include <ctype.h>
#include <string.h>

static void every_row_is_whole(void **state)
{
    (void)state;
    for (int i = 0; i < STEP_COUNT; i++) {
        const struct step *step = &transfer_steps[i];

        assert_non_null(step->name);
        assert_non_null(step->run);
        assert_non_null(step->does);
        assert_true(islower((unsigned char)step->name[0]));
        assert_true(strlen(step->does) > 10 && step->does[strlen(step->does) - 1] != '.');
        for (int k = 0; k < i; k++)
            assert_string_not_equal(step->name, transfer_steps[k].name);
    }
}

static void the_way_back_ends_at_the_point_of_no_return(void **state)
{
    (void)state;
    for (int i = 0; i < STEP_COUNT; i++) {
        const struct step *step = &transfer_steps[i];

        assert_int_equal(step_can_undo(i), i < STEP_RELEASE);
        if (!step_can_undo(i)) {
            assert_null(step->undo);
            assert_true(step->late != LATE_UNDO);
        }
        if (step->late == LATE_UNDO)
            assert_non_null(step->undo);
        /* another machine only where there is one of ours */
        if (step->late == LATE_BACK)
            assert_true(i >= STEP_ACQUIRE);
        /* join.deadline is the configuration's */
        assert_int_equal(step->deadline_ms == 0, step->late == LATE_OWN || i == STEP_JOIN);
    }
}

static size_t count_kinds(const struct effect_kind *const *kinds)
{
    size_t count = 0;

    while (kinds[count])
        count++;
    return count;
}

static void each_effect_has_its_steps(void **state)
{
    static const struct {
        const struct effect_kind *kind;
        const char *steps; /* a letter for each step that allows it, "." for one that does not */
        bool stops_at_freeze;
    } rows[] = {
        { &kube_effect_announce, "ah........", true },
        { &kube_effect_cordon, "..cdf.....", true },
        { &kube_effect_evict, "...df.....", true },
        { &kube_effect_mark, "...df.....", true },
        { &kube_effect_delete_pod, "...df.....", true },
        { &effect_remove, ".....r....", true },
        { &kube_effect_clear_pod, "......c...", false },
        { &kube_effect_fence, "......c...", false },
        { &kube_effect_clear_node, "......c...", false },
        { &effect_create, ".......a..", false },
        { &effect_cancel, ".......a..", false },
        { &effect_discard, ".......a..", false },
        { &effect_protect, "........jh", false },
        { &kube_effect_discard_node, ".......a..", false },
        { &kube_effect_welcome, "........jh", false },
        { &kube_effect_restore, "ahcdf.....", false },
    };

    (void)state;
    assert_int_equal(COUNT_OF(rows), count_kinds(effect_machine_kinds) + count_kinds(kube_effects));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(strlen(rows[i].steps), STEP_COUNT);
        assert_int_equal(rows[i].kind->stops_at_freeze, rows[i].stops_at_freeze);
        for (int step = 0; step < STEP_COUNT; step++)
            assert_int_equal(effect_fits_step(rows[i].kind, step), rows[i].steps[step] != '.');
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(rows[i].kind->name, rows[k].kind->name);
    }
}

static void the_diagram_is_the_documented_one(void **state)
{
    owned(text) struct text *diagram = text_new(1 << 16);

    (void)state;
    steps_diagram(diagram);
    golden_check("golden/diagram/steps.mmd", diagram->chars);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(the_way_back_ends_at_the_point_of_no_return),
        cmocka_unit_test(each_effect_has_its_steps),
        cmocka_unit_test(the_diagram_is_the_documented_one),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
