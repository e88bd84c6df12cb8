/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The step table keeps its own rules, and its diagram is the one that the documentation shows.
 */
#include "broker/transfer/effect_send.h"
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

static void each_effect_has_its_steps(void **state)
{
    static const struct {
        enum effect_kind kind;
        const char *steps; /* a letter for each step that allows it, "." for one that does not */
        bool stops_at_freeze;
    } rows[] = {
        { EFFECT_ANNOUNCE, "ah........", true },    { EFFECT_CORDON, "..cdf.....", true },
        { EFFECT_EVICT, "...df.....", true },       { EFFECT_MARK, "...df.....", true },
        { EFFECT_DELETE_POD, "...df.....", true },  { EFFECT_REMOVE, ".....r....", true },
        { EFFECT_CLEAR_POD, "......c...", false },  { EFFECT_FENCE, "......c...", false },
        { EFFECT_CLEAR_NODE, "......c...", false }, { EFFECT_CREATE, ".......a..", false },
        { EFFECT_DISCARD, ".......a..", false },    { EFFECT_DISCARD_NODE, ".......a..", false },
        { EFFECT_WELCOME, "........jh", false },    { EFFECT_RESTORE, "ahcdf.....", false },
    };

    (void)state;
    assert_int_equal(COUNT_OF(rows), EFFECT_KIND_COUNT);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(rows[i].kind, i);
        assert_int_equal(strlen(rows[i].steps), STEP_COUNT);
        assert_int_equal(effect_stops_at_freeze(rows[i].kind), rows[i].stops_at_freeze);
        for (int step = 0; step < STEP_COUNT; step++)
            assert_int_equal(effect_fits_step(rows[i].kind, step), rows[i].steps[step] != '.');
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(effect_kind_name(rows[i].kind), effect_kind_name(rows[k].kind));
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
