/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Axes begin at 0, end at a round number, and say what lies beyond them.
 */
#include "broker/terminal/plot_axis.h"
#include "tests/support/unit.h"

#include <math.h>

enum { MANY = 200 };

/* `usual` is the value of all but those named. */
static const struct {
    const char *name;
    double usual;
    double others[3];
    size_t count; /* of others */
    double to;
    double step;
    const char *note;
} axes[] = {
    { "nothing but zeros", 0, { 0 }, 0, 1, 0.2, "" },
    { "a round number stays", 100, { 0 }, 0, 100, 20, "" },
    { "the next round number", 101, { 0 }, 0, 150, 50, "" },
    { "a small one", 3, { 0 }, 0, 3, 1, "" },
    { "twice is not far", 40, { 80 }, 1, 80, 20, "" },
    { "a burst",
      40,
      { 412 },
      1,
      40,
      10,
      "1 slot is beyond the end of the axis, the greatest at 412. " },
    { "bursts",
      40,
      { 90, 412 },
      2,
      40,
      10,
      "2 slots are beyond the end of the axis, the greatest at 412. " },
    { "three in two hundred are usual",
      40,
      { 90, 412, 90 },
      3,
      100,
      20,
      "1 slot is beyond the end of the axis, the greatest at 412. " },
    { "below nothing",
      40,
      { -3 },
      1,
      40,
      10,
      "1 slot is beyond the beginning of the axis, the least at -3. " },
    { "zeros and one burst", 0, { 412 }, 1, 500, 100, "" },
};

static void an_axis_is_from_zero_and_says_what_is_beyond(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(axes); i++) {
        owned(text) struct text *note = text_new(200);
        double values[MANY];

        for (size_t at = 0; at < MANY; at++)
            values[(at * 7 + 3) % MANY] = at < axes[i].count ? axes[i].others[at] : axes[i].usual;

        struct plot_axis axis = plot_axis_of(values, MANY);

        plot_axis_note(&axis, "slot is", "slots are", note);
        if (fabs(axis.from) > 1e-12 || fabs(axis.to - axes[i].to) > 1e-9 ||
            fabs(axis.step - axes[i].step) > 1e-9 || !text_equal(note->chars, axes[i].note))
            fail_msg("%s: to %g by %g, \"%s\"", axes[i].name, axis.to, axis.step, note->chars);
    }
}

static void what_is_beyond_is_drawn_at_the_end(void **state)
{
    const struct plot_axis axis = { .from = -20, .to = 80, .step = 20 };

    (void)state;
    assert_true(fabs(plot_axis_part(&axis, -20)) < 1e-12);
    assert_true(fabs(plot_axis_part(&axis, 5) - 0.25) < 1e-12);
    assert_true(fabs(plot_axis_part(&axis, 300) - 1) < 1e-12);
    assert_true(fabs(plot_axis_part(&axis, -300)) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_axis_is_from_zero_and_says_what_is_beyond),
        cmocka_unit_test(what_is_beyond_is_drawn_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
