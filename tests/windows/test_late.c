/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The late of one slot against a replay of the whole plan, with servers without end in all other
 * slots.
 */
#include "tests/windows/ward.h"
#include "windows/backtest/late.h"
#include "windows/backtest/rerun.h"

enum { PLENTY = 2000, MOST = 12 };

/* Of which requests: a class, and the span in which they came.  The slot has so many servers. */
struct looked_at {
    size_t slot;
    size_t servers;
    enum demand_class class;
    size_t span;
};

/* The plan's late, with no server busy when a segment begins. */
static int64_t replayed(struct rerun *rerun, const struct looked_at *at)
{
    int64_t late;

    (void)try_all(rerun, at->slot, 1, (int)at->servers - PLENTY, NULL);
    late = rerun_violations(rerun, at->class, at->span);
    rerun_undo(rerun);
    return late;
}

/* The same by looking at the slot alone, in all segments. */
static int64_t counted(const struct ward *ward, const struct rerun *rerun,
                       const struct looked_at *at)
{
    int64_t end_ms = ward->spans[at->span].end.ms - ward->setup.begin.ms;
    int64_t count = 0;
    const struct occurrence *occurrence;

    for (size_t i = 0; (occurrence = rerun_occurrence(rerun, i)); i++) {
        struct late late = { 0 };
        bool is_there = true;

        late_begin(&late, occurrence, ward->setup.target.wait_ms, ward->setup.slots);
        while (late.slot < at->slot && is_there)
            is_there = late_next(&late);
        if (late.slot == at->slot)
            count += late_with(&late, at->class, at->servers, (uint64_t)end_ms * TICKS_PER_MS);
        late_clear(&late);
    }
    return count;
}

/* Returns how many cases had late ones. */
static int compare(const struct ward *ward, struct rerun *rerun, size_t slot, size_t span)
{
    int found = 0;

    if (ward->spans[span].begin.ms > ward->setup.begin.ms + (int64_t)slot * JUDGE_SLOT_MS)
        return 0;
    for (size_t servers = 0; servers < MOST; servers++)
        for (int class = ward->series.is_single ? DEMAND_LOW : DEMAND_HIGH; class < DEMAND_CLASSES;
             class ++) {
            const struct looked_at at = { slot, servers, (enum demand_class) class, span };
            int64_t expected = replayed(rerun, &at);
            int64_t late = counted(ward, rerun, &at);

            found += expected > 0;
            if (late != expected)
                fail_msg("slot %zu, %zu servers, class %d: %d late, not %d", slot, servers, class,
                         (int)late, (int)expected);
        }
    return found;
}

static void the_late_of_a_slot_are_those_of_a_whole_replay(void **state)
{
    struct random random;
    int found = 0;

    (void)state;
    random_seed(&random, 51);
    for (int trial = 0; trial < 100; trial++) {
        int plenty[WARD_SLOTS];
        struct ward ward;

        ward_init(&ward, &random, 1 + random_below(&random, 6), 1 + (int)random_below(&random, 6));
        ward.setup.begins_idle = true;

        owned(rerun) struct rerun *rerun = rerun_new(&ward.setup);

        for (size_t i = 0; i < ward.setup.slots; i++)
            plenty[i] = PLENTY;
        (void)rerun_plan(rerun, plenty);
        for (size_t slot = 0; slot < ward.setup.slots; slot++)
            for (size_t span = 0; span < ward.setup.span_count; span++)
                found += compare(&ward, rerun, slot, span);
        ward_clear(&ward);
    }
    assert_true(found > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_late_of_a_slot_are_those_of_a_whole_replay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
