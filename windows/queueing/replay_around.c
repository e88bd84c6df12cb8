/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A number of servers and its neighbours, in one pass over the arrivals.
 */
#include "windows/queueing/batch_replay.h"
#include "windows/queueing/negligible.h"
#include "windows/queueing/replay.h"
#include "windows/queueing/replay_run.h"

enum { SIDES = 2 };

/* The answer, with one server fewer and one more beside it. */
struct around {
    struct trial middle;
    struct trial sides[SIDES];
    bool rests[SIDES];
};

/* Continues from the state of another side; with fewer servers, those that are free first are
   dropped. */
static void run_follow(struct run *run, const struct run *other)
{
    servers_follow(&run->servers, &other->servers);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        const struct line *line = &other->lines[class];

        replay_line_append(&run->lines[class], line->arrived + line->first,
                           line->end - line->first);
    }
    run->random = other->random;
    run->word = other->word;
    run->draws = other->draws;
}

/* A side follows the middle one into a stretch that is not negligible, and stops when it has served
   all its requests there.  False: it stops. */
static bool side_begin(struct around *around, int side, struct arrivals *arrivals, size_t at,
                       const struct negligible *negligible)
{
    struct run *run = &around->sides[side].run;
    const struct arrivals_chunk *chunk = arrivals_outline(arrivals, at);
    bool rested = around->rests[side];

    around->rests[side] = !replay_run_anyone_waits(run) &&
                          negligible_at(negligible, arrivals, at, (int)run->servers.count);
    if (around->rests[side])
        return false;
    if (chunk->is_first)
        replay_run_begin(run, arrivals, chunk);
    else if (rested)
        run_follow(run, &around->middle.run);
    replay_run_append(run, arrivals_chunk(arrivals, at));
    return true;
}

/* The middle one, and beside it the sides that do not rest. */
static void around_chunk(struct around *around, struct arrivals *arrivals, size_t at,
                         const struct negligible *negligible)
{
    struct run *middle = &around->middle.run;
    struct run *awake[1 + SIDES] = { middle };
    size_t count = 1;

    for (int side = 0; side < SIDES; side++)
        if (around->sides[side].run.servers.count > 0 &&
            side_begin(around, side, arrivals, at, negligible))
            awake[count++] = &around->sides[side].run;

    const struct arrivals_chunk *chunk = arrivals_chunk(arrivals, at);

    if (chunk->is_first)
        replay_run_begin(middle, arrivals, chunk);
    replay_run_append(middle, chunk);
    replay_run_until(awake, count, replay_run_horizon(chunk));
}

static void around_segment(struct around *around, struct arrivals *arrivals, size_t segment,
                           const struct negligible *negligible)
{
    size_t at = arrivals_first_chunk(arrivals, segment);

    do
        around_chunk(around, arrivals, at, negligible);
    while (!arrivals_outline(arrivals, at++)->is_last);
}

/* With two classes only the low one proves it (replay.h). */
static bool fewer_fails(const struct around *around, const struct arrivals *arrivals)
{
    const struct trial *fewer = &around->sides[0];
    int class = arrivals_total(arrivals, DEMAND_LOW) > 0 ? DEMAND_LOW : DEMAND_HIGH;

    return fewer->run.violations[class] > fewer->allowed[class];
}

static void batch_around(struct arrivals *arrivals, int servers, const struct replay_target *target,
                         const struct negligible *negligible, struct replay_around *ret)
{
    if (servers <= 0)
        return;
    ret->passes = batch_replay_passes(arrivals, &(struct replay_try){ servers, target, NULL },
                                      NULL);
    ret->fewer_fails = !batch_replay_passes(
        arrivals, &(struct replay_try){ servers - 1, target, negligible }, NULL);
    ret->more_passes = batch_replay_passes(
        arrivals, &(struct replay_try){ servers + 1, target, negligible }, NULL);
    if (batch_replay_waits(arrivals, servers, target, &ret->waits, NULL) < 0)
        ret->passes = false;
}

void replay_around(struct arrivals *arrivals, int servers, const struct replay_target *target,
                   const struct negligible *negligible, struct replay_around *ret)
{
    struct around around = { 0 };
    struct run *middle = &around.middle.run;

    *ret = (struct replay_around){ 0 };
    if (arrivals_setup_of(arrivals)->service->engine) {
        batch_around(arrivals, servers, target, negligible, ret);
        return;
    }
    if (!replay_trial_init(&around.middle, arrivals, servers, target))
        return;
    (void)replay_trial_init(&around.sides[0], arrivals, servers - 1, target);
    (void)replay_trial_init(&around.sides[1], arrivals, servers + 1, target);
    waits_init(&middle->waits, arrivals);
    for (size_t i = 0; i < arrivals_setup_of(arrivals)->segments->list.count; i++)
        around_segment(&around, arrivals, i, negligible);
    ret->passes = replay_trial_passes(&around.middle);
    ret->fewer_fails = fewer_fails(&around, arrivals);
    ret->more_passes = replay_trial_passes(&around.sides[1]);
    ret->waits = waits_quantiles(&middle->waits, arrivals, target->percentile);
    replay_run_clear(middle);
    for (int side = 0; side < SIDES; side++)
        replay_run_clear(&around.sides[side].run);
}
