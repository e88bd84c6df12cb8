/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two kinds of events in the order of time: an arrival and an end.  An arrival at the moment of an
 * end is processed first, as with one request at a time: the next start is chosen among all
 * requests that are there.
 */
#include "windows/queueing/batch_state.h"
#include "windows/servers/service_time.h"

#include <math.h>

enum { NS_PER_TICK = 1000 };

static void fill_pace(struct batch *batch)
{
    const struct engine_law *law = &batch->engine->law;
    double *ticks = mem_new_array((size_t)batch->slots + 1, sizeof *ticks);
    double *rates = mem_new_array((size_t)batch->slots + 1, sizeof *rates);

    for (int n = 1; n <= batch->slots; n++) {
        ticks[n] = engine_iteration_s(law, n) * TICKS_PER_SECOND;
        rates[n] = 1 / ticks[n];
    }
    batch->pace = (struct batch_pace){ ticks, rates };
    batch->prefill = law->prefill_s * TICKS_PER_SECOND;
}

/* Whether a figure of each request is wanted. */
static bool is_told(const struct batch_tally *tally, enum replay_figure figure)
{
    return tally->limits[figure] != UINT64_MAX || tally->kept[figure][0] || tally->told[figure][0];
}

struct batch *batch_new(const struct engine *engine, int replicas, struct batch_tally *tally)
{
    struct batch *batch = mem_new(sizeof *batch);
    size_t count = (size_t)replicas;
    size_t slots = (size_t)engine->law.slots;

    batch->engine = engine;
    batch->tally = tally;
    batch->router = engine->law.router;
    batch_draw_period(batch, ENGINE_WHOLE);
    batch->count = batch->room = (unsigned)count;
    batch->slots = engine->law.slots;
    batch->tells_later = is_told(tally, REPLAY_ITL);
    batch->tells_first = batch->tells_later || is_told(tally, REPLAY_TTFT);
    fill_pace(batch);
    batch->replicas = mem_new_array(count, sizeof *batch->replicas);
    batch->ends = mem_new_array(count * slots, sizeof *batch->ends);
    batch->places = mem_new_array(count * slots, sizeof *batch->places);
    if (batch->tells_later)
        batch->requests = mem_new_array(count * slots, sizeof *batch->requests);
    ends_fit(batch, batch->room);
    batch->keys = mem_new_array((size_t)2 * batch->leaves, sizeof *batch->keys);
    batch->next = mem_new_array(batch->leaves, sizeof *batch->next);
    if (has_loads(batch))
        batch_loads_init(&batch->loads, batch->room);
    batch_reset(batch);
    return batch;
}

void batch_free(struct batch *batch)
{
    if (!batch)
        return;
    mem_free((void *)(uintptr_t)batch->pace.ticks);
    mem_free((void *)(uintptr_t)batch->pace.rates);
    mem_free(batch->replicas);
    mem_free(batch->ends);
    mem_free(batch->places);
    mem_free(batch->requests);
    mem_free(batch->keys);
    mem_free(batch->next);
    batch_loads_clear(&batch->loads);
    array_clear(&batch->pool);
    mem_free(batch);
}

/* ---- starts and ends ---- */

static inline uint64_t rounded_up(double value)
{
    uint64_t whole = value > 0 ? (uint64_t)value : 0;

    return whole + ((double)whole < value);
}

static inline void tally_one(struct batch_tally *tally, enum replay_figure figure,
                             enum demand_class class, size_t number, uint64_t value)
{
    tally->late[figure][class] += value > tally->limits[figure];
    if (tally->kept[figure][class])
        tally->kept[figure][class][number] = value;
    if (tally->told[figure][class] && value > 0)
        *array_add(&tally->told[figure][class]->list) = (struct batch_told){ number, value };
}

/* Iterations in which a prompt is read; the last of them gives the first token. */
static inline double chunks_of(double in)
{
    return in > ENGINE_CHUNK_TOKENS ? ceil(in / ENGINE_CHUNK_TOKENS) : 1;
}

/* A request that gets a slot. */
struct admission {
    unsigned length; /* index of its tokens */
    uint16_t slot;
    bool comes; /* did not wait for an end in the replica */
};

/* Prompts are computed one after the other, one chunk in each iteration, and each prompt takes its
   share of the chunk's tokens.  A request that arrives during others' prompts is in the iteration
   after them at the earliest.  One that arrives while others only decode waits for the end of their
   iteration, when they have whole tokens. */
static void tell_first(struct batch *batch, struct batch_replica *here, double now,
                       const struct waiting *who, struct admission admission)
{
    double in = (double)batch->draw.in[admission.length];
    double iteration = batch->pace.ticks[here->running];
    double own = batch->prefill * in;
    double share = in / ENGINE_CHUNK_TOKENS;
    bool is_busy = here->read > now;
    double rest = is_busy ? 1 : admission.comes ? ceil(here->tokens) - here->tokens : 0;
    double begin = is_busy ? here->read : now;
    double first = begin + own + (rest + (share > 1 ? share : 1)) * iteration;

    here->read = begin + own + share * iteration;
    tally_one(batch->tally, REPLAY_TTFT, who->class, who->number,
              rounded_up(first - (double)who->arrived));
    if (batch->tells_later)
        here->requests[admission.slot] =
            (struct batch_request){ now + here->pause + chunks_of(in) * iteration,
                                    (double)batch->draw.out[admission.length] - 1, who->number,
                                    who->class };
}

static void tell_later(struct batch *batch, const struct batch_request *request, double now)
{
    uint64_t each = 0;

    if (request->number == SIZE_MAX)
        return;
    if (request->later >= 1)
        each = rounded_up((now - request->first_token) / request->later * NS_PER_TICK);
    tally_one(batch->tally, REPLAY_ITL, request->class, request->number, each);
}

/* The replica is as of `now` and has a free slot.  `comes`: the request has just arrived, and did
   not wait there for another one to end. */
static inline void start(struct batch *batch, struct batch_replica *here, double now,
                         const struct waiting *who, bool comes)
{
    if (batch->draws == 0) {
        batch->word = random_next(&batch->lengths);
        batch->draws = DRAWS;
    }

    unsigned length = (unsigned)(batch->word & (ENGINE_LENGTHS - 1)) >> batch->draw.shift;

    batch->word >>= 16;
    batch->draws--;

    double out = (double)batch->draw.out[length];
    double in = (double)batch->draw.in[length];
    uint16_t slot = batch_replica_add(here, out + chunks_of(in) - 1, batch->tells_later);

    here->pause += batch->prefill * in;
    tally_one(batch->tally, REPLAY_WAIT, who->class, who->number,
              rounded_up(now - (double)who->arrived));
    if (batch->tells_first)
        tell_first(batch, here, now, who, (struct admission){ length, slot, comes });
}

static inline unsigned route(struct batch *batch)
{
    if (batch->count == 1)
        return 0;
    if (batch->router == ENGINE_ROUND_ROBIN) {
        unsigned replica = batch->turn;

        batch->turn = replica + 1 < batch->count ? replica + 1 : 0;
        return replica;
    }

    uint32_t chance = (uint32_t)(random_next(&batch->chances) >> 32);

    return batch->router == ENGINE_RANDOM ? (unsigned)((uint64_t)chance * batch->count >> 32)
                                          : batch_loads_least(&batch->loads, chance);
}

static inline void give(struct batch *batch, const struct waiting *who, double now)
{
    if (batch->count == 0) {
        line_add(batch, &batch->lines[who->class], who);
        return;
    }

    unsigned replica = route(batch);
    struct batch_replica *here = &batch->replicas[replica];
    bool is_full = here->running == batch->slots;

    if (has_loads(batch) && !(is_full && batch->router == ENGINE_CENTRAL))
        batch_loads_more(&batch->loads, replica);
    if (is_full) {
        line_add(batch,
                 batch->router == ENGINE_CENTRAL ? &batch->lines[who->class]
                                                 : &here->lines[who->class],
                 who);
        return;
    }
    batch_replica_advance(here, &batch->pace, now);
    start(batch, here, now, who, true);
    ends_set(batch, replica);
}

void batch_give(struct batch *batch, const struct waiting *who, double now)
{
    give(batch, who, now);
}

static void end(struct batch *batch, unsigned replica)
{
    struct batch_replica *here = &batch->replicas[replica];
    struct batch_line *lines = batch->router == ENGINE_CENTRAL ? batch->lines : here->lines;
    double now = batch->next[replica];
    uint16_t slot = batch_replica_end(here, now);
    bool drains = replica >= batch->count;
    bool follows = batch->waiting > 0 && !drains &&
                   (lines[DEMAND_HIGH].first || lines[DEMAND_LOW].first);

    if (batch->tells_later)
        tell_later(batch, &here->requests[slot], now);
    if (has_loads(batch) && !drains && !(follows && batch->router == ENGINE_CENTRAL))
        batch_loads_fewer(&batch->loads, replica);
    if (follows) {
        enum demand_class class = lines[DEMAND_HIGH].first ? DEMAND_HIGH : DEMAND_LOW;
        struct waiting who = line_take(batch, &lines[class]);

        start(batch, here, now, &who, (double)who.arrived >= now);
    }
    ends_set(batch, replica);
}

void batch_run(struct batch *batch, const struct batch_feed *feed)
{
    size_t at[DEMAND_CLASSES] = { 0 };

    for (;;) {
        uint64_t high = at[DEMAND_HIGH] < feed->count[DEMAND_HIGH]
                            ? feed->at[DEMAND_HIGH][at[DEMAND_HIGH]]
                            : UINT64_MAX;
        uint64_t low = at[DEMAND_LOW] < feed->count[DEMAND_LOW]
                           ? feed->at[DEMAND_LOW][at[DEMAND_LOW]]
                           : UINT64_MAX;
        enum demand_class class = high <= low ? DEMAND_HIGH : DEMAND_LOW;
        uint64_t arrived = class == DEMAND_HIGH ? high : low;
        bool has_come = arrived == UINT64_MAX;
        double due = has_come ? feed->horizon : (double)arrived;
        unsigned replica = ends_first(batch);

        if (has_come && feed->horizon == HUGE_VAL && batch->waiting == 0 && !batch->tells_later)
            break;
        if (batch->next[replica] < due) {
            end(batch, replica);
        } else if (has_come) {
            break;
        } else {
            give(batch, &(struct waiting){ arrived, feed->number[class] + at[class], 0, class },
                 (double)arrived);
            at[class]++;
        }
    }
}

void batch_run_before(struct batch *batch, const struct batch_feed *feed)
{
    struct batch_tally *tally = batch->tally;
    struct batch_tally nowhere = { .limits = { UINT64_MAX, UINT64_MAX, UINT64_MAX } };

    batch->tally = &nowhere;
    batch_run(batch, feed);
    batch->tally = tally;
}

void batch_draw_from(struct batch *batch, const struct random *random, unsigned drawn)
{
    batch->lengths = *random;
    batch->draws = drawn > 0 ? DRAWS - drawn : 0;
    if (drawn > 0)
        batch->word = random_next(&batch->lengths) >> 16 * drawn;
}

void batch_draw_period(struct batch *batch, size_t period)
{
    batch->draw = engine_draw_of(batch->engine, period);
}

void batch_route_from(struct batch *batch, uint64_t seed, size_t turn)
{
    random_seed(&batch->chances, seed);
    batch->turn = batch->count > 0 ? (unsigned)(turn % batch->count) : 0;
}
