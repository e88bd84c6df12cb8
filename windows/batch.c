/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two kinds of events in the order of time: somebody arrives, somebody ends.  An arrival at the
 * moment of an end goes before it, as with one request at a time: who starts then is chosen among
 * all that are there.
 */
#include "windows/batch.h"

#include "base/array.h"
#include "windows/batch_replica.h"
#include "windows/batch_router.h"
#include "windows/service_time.h"

#include <math.h>

enum { DRAWS = 4, CHUNK_TOKENS = 2048, NS_PER_TICK = 1000 };

struct waiting {
    uint64_t arrived;
    size_t number;
    uint32_t next;
};

struct batch {
    const struct engine *engine;
    struct batch_tally *tally;
    struct batch_pace pace;
    enum engine_router router;
    unsigned count;
    int slots;
    double prefill; /* ticks of a token */
    bool tells_first;
    bool tells_later;
    struct batch_replica *replicas;
    double *ends;
    uint16_t *places;
    struct batch_request *requests;
    uint64_t *keys;  /* who ends next: 1 is the root, leaves .. 2 * leaves - 1 the replicas */
    uint64_t number; /* the bits of a key in which the replica's number stands */
    unsigned leaves;
    double *next; /* when each replica's next one ends */
    struct batch_loads loads;
    struct batch_line lines[DEMAND_CLASSES]; /* of all replicas in one */
    ARRAY(struct waiting) pool;              /* item 0 is nobody */
    uint32_t free;
    size_t waiting;
    struct random lengths;
    uint64_t word;
    unsigned draws;
    struct random chances;
    unsigned turn;
};

static bool has_loads(const struct batch *batch)
{
    return batch->count > 1 &&
           (batch->router == ENGINE_LEAST_OUTSTANDING || batch->router == ENGINE_CENTRAL);
}

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

struct batch *batch_new(const struct engine *engine, int replicas, struct batch_tally *tally)
{
    struct batch *batch = mem_new(sizeof *batch);
    size_t count = (size_t)replicas;
    size_t slots = (size_t)engine->law.slots;

    batch->engine = engine;
    batch->tally = tally;
    batch->router = engine->law.router;
    batch->count = (unsigned)count;
    batch->slots = engine->law.slots;
    batch->tells_later = tally->limits[BATCH_ITL] != UINT64_MAX || tally->kept[BATCH_ITL][0];
    batch->tells_first = batch->tells_later || tally->limits[BATCH_TTFT] != UINT64_MAX ||
                         tally->kept[BATCH_TTFT][0];
    fill_pace(batch);
    batch->replicas = mem_new_array(count, sizeof *batch->replicas);
    batch->ends = mem_new_array(count * slots, sizeof *batch->ends);
    batch->places = mem_new_array(count * slots, sizeof *batch->places);
    if (batch->tells_later)
        batch->requests = mem_new_array(count * slots, sizeof *batch->requests);
    for (batch->leaves = 1; batch->leaves < count; batch->leaves *= 2)
        ;
    batch->number = batch->leaves - 1;
    batch->keys = mem_new_array((size_t)2 * batch->leaves, sizeof *batch->keys);
    batch->next = mem_new_array(batch->leaves, sizeof *batch->next);
    if (has_loads(batch))
        batch_loads_init(&batch->loads, batch->count);
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

/* ---- who waits ---- */

static void forget_waiting(struct batch *batch)
{
    batch->pool.count = 0;
    (void)array_add(&batch->pool);
    batch->free = 0;
    batch->waiting = 0;
    memset(batch->lines, 0, sizeof batch->lines);
    for (unsigned i = 0; i < batch->count; i++)
        memset(batch->replicas[i].lines, 0, sizeof batch->replicas[i].lines);
}

static void line_add(struct batch *batch, struct batch_line *line, uint64_t arrived, size_t number)
{
    uint32_t item = batch->free;

    if (item == 0) {
        item = (uint32_t)batch->pool.count;
        (void)array_add(&batch->pool);
    } else {
        batch->free = batch->pool.items[item].next;
    }
    batch->pool.items[item] = (struct waiting){ arrived, number, 0 };
    if (line->first == 0)
        line->first = item;
    else
        batch->pool.items[line->last].next = item;
    line->last = item;
    batch->waiting++;
}

static struct waiting line_take(struct batch *batch, struct batch_line *line)
{
    uint32_t item = line->first;
    struct waiting taken = batch->pool.items[item];

    line->first = taken.next;
    batch->pool.items[item].next = batch->free;
    batch->free = item;
    batch->waiting--;
    return taken;
}

bool batch_anyone_waits(const struct batch *batch)
{
    return batch->waiting > 0;
}

static int64_t line_overdue(const struct batch *batch, const struct batch_line *line, uint64_t now)
{
    int64_t count = 0;

    for (uint32_t at = line->first; at != 0; at = batch->pool.items[at].next) {
        if (batch->pool.items[at].arrived + batch->tally->limits[BATCH_WAIT] >= now)
            break;
        count++;
    }
    return count;
}

int64_t batch_overdue(const struct batch *batch, enum demand_class class, uint64_t now)
{
    int64_t count = 0;

    if (batch->waiting == 0 || batch->tally->limits[BATCH_WAIT] == UINT64_MAX)
        return 0;
    count = line_overdue(batch, &batch->lines[class], now);
    for (unsigned i = 0; i < batch->count; i++)
        count += line_overdue(batch, &batch->replicas[i].lines[class], now);
    return count;
}

/* ---- who ends next ---- */

/* The bits of times that are not negative are in the order of the times.  A replica's number takes
   the place of the last of them, of less than a thousandth of a tick each day: ties go to the lower
   one. */
static inline uint64_t key_of(const struct batch *batch, unsigned replica)
{
    uint64_t key;

    memcpy(&key, &batch->next[replica], sizeof key);
    return (key & ~batch->number) | replica;
}

static void ends_reset(struct batch *batch)
{
    for (unsigned i = 0; i < batch->leaves; i++) {
        batch->next[i] = HUGE_VAL;
        batch->keys[batch->leaves + i] = key_of(batch, i);
    }
    for (unsigned i = batch->leaves - 1; i > 0; i--)
        batch->keys[i] = batch->keys[2 * i];
}

static inline unsigned ends_first(const struct batch *batch)
{
    return (unsigned)(batch->keys[1] & batch->number);
}

/* What it is matched with on its way up is known before the match: nothing waits for a load. */
static inline void ends_set(struct batch *batch, unsigned replica)
{
    double next = batch_replica_next(&batch->replicas[replica], &batch->pace);
    unsigned at = batch->leaves + replica;

    batch->next[replica] = next > 0 ? next : 0;

    uint64_t key = key_of(batch, replica);

    batch->keys[at] = key;
    for (; at > 1; at >>= 1) {
        uint64_t other = batch->keys[at ^ 1];

        key = key < other ? key : other;
        batch->keys[at >> 1] = key;
    }
}

/* ---- starts and ends ---- */

static inline uint64_t rounded_up(double value)
{
    uint64_t whole = value > 0 ? (uint64_t)value : 0;

    return whole + ((double)whole < value);
}

static inline void tally_one(struct batch_tally *tally, enum batch_figure figure,
                             enum demand_class class, size_t number, uint64_t value)
{
    tally->late[figure][class] += value > tally->limits[figure];
    if (tally->kept[figure][class])
        tally->kept[figure][class][number] = value;
}

/* Iterations in which a prompt is read; the last of them gives the first token. */
static inline double chunks_of(double in)
{
    return in > CHUNK_TOKENS ? ceil(in / CHUNK_TOKENS) : 1;
}

/* Prompts are read one after the other, a chunk with each iteration, of which each takes the share
   of the tokens that it fills.  Who comes while others are read goes with the iteration after
   theirs at the earliest; who comes while others only write waits for the end of their iteration,
   which is when they have whole tokens. */
static void tell_first(struct batch *batch, unsigned replica, uint16_t slot, double now,
                       const struct waiting *who, enum demand_class class, unsigned length)
{
    struct batch_replica *here = &batch->replicas[replica];
    double in = (double)batch->engine->in[length];
    double iteration = batch->pace.ticks[here->running];
    double own = batch->prefill * in;
    double share = in / CHUNK_TOKENS;
    bool is_busy = here->read > now;
    bool comes = (double)who->arrived >= now;
    double rest = is_busy ? 1 : comes ? ceil(here->tokens) - here->tokens : 0;
    double begin = is_busy ? here->read : now;
    double first = begin + own + (rest + (share > 1 ? share : 1)) * iteration;

    here->read = begin + own + share * iteration;
    tally_one(batch->tally, BATCH_TTFT, class, who->number,
              rounded_up(first - (double)who->arrived));
    if (batch->tells_later)
        batch->requests[(size_t)replica * (size_t)batch->slots + slot] =
            (struct batch_request){ now + here->pause + chunks_of(in) * iteration,
                                    (double)batch->engine->out[length] - 1, who->number, class };
}

static void tell_later(struct batch *batch, unsigned replica, uint16_t slot, double now)
{
    const struct batch_request *request =
        &batch->requests[(size_t)replica * (size_t)batch->slots + slot];
    uint64_t each = 0;

    if (request->number == SIZE_MAX)
        return;
    if (request->later >= 1)
        each = rounded_up((now - request->first_token) / request->later * NS_PER_TICK);
    tally_one(batch->tally, BATCH_ITL, request->class, request->number, each);
}

/* The replica is as of `now` and has a free slot. */
static inline void start(struct batch *batch, unsigned replica, double now,
                         const struct waiting *who, enum demand_class class)
{
    struct batch_replica *here = &batch->replicas[replica];

    if (batch->draws == 0) {
        batch->word = random_next(&batch->lengths);
        batch->draws = DRAWS;
    }

    unsigned length = batch->word & (ENGINE_LENGTHS - 1);

    batch->word >>= 16;
    batch->draws--;

    double out = (double)batch->engine->out[length];
    double in = (double)batch->engine->in[length];
    uint16_t slot = batch_replica_add(here, out + chunks_of(in) - 1, batch->tells_later);

    here->pause += batch->prefill * in;
    tally_one(batch->tally, BATCH_WAIT, class, who->number, rounded_up(now - (double)who->arrived));
    if (batch->tells_first)
        tell_first(batch, replica, slot, now, who, class, length);
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

static void arrive(struct batch *batch, uint64_t arrived, size_t number, enum demand_class class)
{
    unsigned replica = route(batch);
    struct batch_replica *here = &batch->replicas[replica];
    bool is_full = here->running == batch->slots;

    if (has_loads(batch) && !(is_full && batch->router == ENGINE_CENTRAL))
        batch_loads_more(&batch->loads, replica);
    if (is_full) {
        line_add(batch,
                 batch->router == ENGINE_CENTRAL ? &batch->lines[class] : &here->lines[class],
                 arrived, number);
        return;
    }
    batch_replica_advance(here, &batch->pace, (double)arrived);
    start(batch, replica, (double)arrived, &(struct waiting){ arrived, number, 0 }, class);
    ends_set(batch, replica);
}

static void end(struct batch *batch, unsigned replica)
{
    struct batch_replica *here = &batch->replicas[replica];
    struct batch_line *lines = batch->router == ENGINE_CENTRAL ? batch->lines : here->lines;
    double now = batch->next[replica];
    uint16_t slot = batch_replica_end(here, now);
    bool follows = batch->waiting > 0 && (lines[DEMAND_HIGH].first || lines[DEMAND_LOW].first);

    if (batch->tells_later)
        tell_later(batch, replica, slot, now);
    if (has_loads(batch) && !(follows && batch->router == ENGINE_CENTRAL))
        batch_loads_fewer(&batch->loads, replica);
    if (follows) {
        enum demand_class class = lines[DEMAND_HIGH].first ? DEMAND_HIGH : DEMAND_LOW;
        struct waiting who = line_take(batch, &lines[class]);

        start(batch, replica, now, &who, class);
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
            arrive(batch, arrived, feed->number[class] + at[class], class);
            at[class]++;
        }
    }
}

/* ---- beginnings ---- */

void batch_run_before(struct batch *batch, const struct batch_feed *feed)
{
    struct batch_tally *tally = batch->tally;
    struct batch_tally nowhere = { .limits = { UINT64_MAX, UINT64_MAX, UINT64_MAX } };

    batch->tally = &nowhere;
    batch_run(batch, feed);
    batch->tally = tally;
}

void batch_reset(struct batch *batch)
{
    size_t slots = (size_t)batch->slots;

    for (size_t i = 0; i < batch->count; i++) {
        batch->replicas[i] = (struct batch_replica){
            .ends = batch->ends + i * slots,
            .slots = batch->places + i * slots,
        };
        for (size_t slot = 0; batch->tells_later && slot < slots; slot++)
            batch->replicas[i].slots[slot] = (uint16_t)slot;
    }
    forget_waiting(batch);
    ends_reset(batch);
    if (has_loads(batch))
        batch_loads_reset(&batch->loads);
}

void batch_draw_from(struct batch *batch, const struct random *random, unsigned drawn)
{
    batch->lengths = *random;
    batch->draws = drawn > 0 ? DRAWS - drawn : 0;
    if (drawn > 0)
        batch->word = random_next(&batch->lengths) >> 16 * drawn;
}

void batch_route_from(struct batch *batch, uint64_t seed, size_t turn)
{
    random_seed(&batch->chances, seed);
    batch->turn = (unsigned)(turn % batch->count);
}

void batch_begin(struct batch *batch, double now)
{
    forget_waiting(batch);
    for (unsigned i = 0; i < batch->count; i++) {
        struct batch_replica *here = &batch->replicas[i];

        batch_replica_advance(here, &batch->pace, now);
        here->at -= now;
        here->read -= now;
        for (int at = 0; batch->tells_later && at < here->running; at++)
            batch->requests[i * (size_t)batch->slots + here->slots[at]].number = SIZE_MAX;
        while (has_loads(batch) && batch->loads.load[i] > (unsigned)here->running)
            batch_loads_fewer(&batch->loads, i);
        ends_set(batch, i);
    }
}
