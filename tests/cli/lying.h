/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The small world, whose lists lie for a while: which lies there are, and one move under one.
 */
#pragma once

#include "tests/cli/stepwise.h"
#include "tests/support/sweep.h"

/* What lists there are, and whose. */
static const struct {
    const char *list;
    const char *of;
} lying_lists[] = {
    { "machines", "prod-a-east" }, { "machines", "research-a-east" },
    { "nodes", "prod-a" },         { "nodes", "research-a" },
    { "pods", "prod-a" },          { "pods", "research-a" },
};

static const char *const lying_kinds[] = { "empty", "half", "some", "new", "old" };

struct lying_case {
    const char *list;
    const char *of;
    const char *kind;
    int64_t minutes;
    int step; /* of the first transfer at which it begins; -1: at rest */
};

static inline void lying_describe(const struct lying_case *lie, char *out, size_t size)
{
    snprintf(out, size, "%s of %s, %s, for %lld minutes, at %s", lie->list, lie->of, lie->kind,
             (long long)lie->minutes, lie->step < 0 ? "rest" : transfer_steps[lie->step].name);
}

/* Begins the lie; an old list is as old as it lasts. */
static inline void lying_begin(struct rehearsal *rehearsal, const struct lying_case *lie)
{
    simulator_lie(rehearsal->simulator, &(struct list_lie){ .list = lie->list,
                                                            .of = lie->of,
                                                            .kind = lie->kind,
                                                            .age_ms = lie->minutes * MINUTE_MS,
                                                            .for_ms = lie->minutes * MINUTE_MS });
}

/* Until the first transfer is at the step, or past it. */
static inline void lying_run_to(struct rehearsal *rehearsal, int step)
{
    const struct runner *runner = rehearsal->service->runner;

    for (int64_t ms = 0; ms < HOUR_MS; ms += 40) {
        if (runner->transfers.count > 0 && runner->transfers.items[0]->step >= step)
            return;
        rehearsal_run(rehearsal, 40);
    }
    fail_msg("no transfer comes to step %d", step);
}

/* One move of two nodes, or none, beside the lie; returns what went wrong, or 0.  Whatever was
   done, all is at rest and where it belongs some time after the lie. */
static inline int lying_play(const struct lying_case *lie)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 40, "");
    int prod = lie->step < 0 ? 6 : 8;
    char name[160];
    int wrong;

    lying_describe(lie, name, sizeof name);
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, prod, prod);
    if (lie->step < 0)
        rehearsal_run(rehearsal, 10 * MINUTE_MS);
    else
        lying_run_to(rehearsal, lie->step);
    lying_begin(rehearsal, lie);
    rehearsal_run(rehearsal, lie->minutes * MINUTE_MS + 90 * MINUTE_MS);
    simulator_check_end(rehearsal->simulator);
    wrong = (int)rehearsal_violations(rehearsal) + (int)transfers_of(rehearsal, false) +
            (nodes_of(rehearsal, "prod-a-east") != prod) +
            (nodes_of(rehearsal, "research-a-east") != 16 - prod);
    if (wrong > 0)
        print_message("%s: %d violations, %zu live transfers, %d + %d nodes\n", name,
                      (int)rehearsal_violations(rehearsal), transfers_of(rehearsal, false),
                      nodes_of(rehearsal, "prod-a-east"), nodes_of(rehearsal, "research-a-east"));
    for (size_t i = 0; i < 3 && i < (size_t)rehearsal_violations(rehearsal); i++) {
        const struct violation *violation = referee_violation(
            simulator_referee(rehearsal->simulator), i);

        print_message("    %s %s\n", violation->invariant, violation->sentence);
    }
    return wrong;
}

/* Of the lists from `first` up to `last`: every lie at every time, or one in `stride` of them
   unless SLUICE_SWEEP says otherwise (sweep.h). */
static inline void lying_sweep(size_t first, size_t last, size_t stride)
{
    static const int64_t minutes[] = { 2, 15, 50 };
    struct sweep_part part = sweep_part(stride);
    size_t kinds = COUNT_OF(lying_kinds), times = COUNT_OF(minutes), steps = STEP_COUNT + 1;
    size_t count = (last - first) * kinds * times * steps;
    int cases = 0, wrong = 0;

    for (size_t at = 0; at < count; at++) {
        size_t list = first + at / steps / times / kinds;
        struct lying_case lie = {
            .list = lying_lists[list].list,
            .of = lying_lists[list].of,
            .kind = lying_kinds[at / steps / times % kinds],
            .minutes = minutes[at / steps % times],
            .step = (int)(at % steps) - 1,
        };

        if (!sweep_plays(&part))
            continue;
        wrong += lying_play(&lie) > 0;
        cases++;
    }
    print_message("sweep lies: %d cases\n", cases);
    assert_int_equal(wrong, 0);
}
