/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of the arrivals of one tick, those are late that are still in the queue when the limit has
 * passed.  The queue is first come first served, so their number is the queue's length less the
 * later arrivals: no single request needs to be followed.
 */
#include "windows/queueing/wheel.h"

#include "base/random.h"

#include <limits.h>
#include <string.h>

enum {
    BLOCK_TICKS = 256, /* between two looks at the limits */
    SERVICES = 512,    /* drawn at a time */
    STARTS = 4,        /* in one go */
    FRACTION_BITS = 16,
};

/* How many arrived. */
struct tick {
    uint16_t count[DEMAND_CLASSES];
};

static inline uint32_t arrivals_in(struct tick tick)
{
    return (uint32_t)tick.count[DEMAND_HIGH] + tick.count[DEMAND_LOW];
}

struct part {        /* a chunk of arrivals */
    size_t begin;    /* the tick in which it begins */
    uint32_t head;   /* its own arrivals in that tick */
    bool is_counted; /* its arrivals are in the ticks */
};

struct stretch {        /* a segment */
    struct tick *ticks; /* `limit` empty ones before the first; NULL until it is run */
    size_t count;
    size_t chunk; /* the first */
    struct part *parts;
    size_t part_count;
    int quiet_at; /* the fewest servers with which no request was seen to wait too long */
    int64_t violations[DEMAND_CLASSES]; /* when it was last run */
};

struct wheel {
    struct arrivals *arrivals;
    const struct wheel_times *times;
    struct stretch *stretches;
    size_t stretch_count;
    size_t *order; /* in which they are run: the worst first */
    uint32_t *ring;
};

/* How many servers end in which tick. */
struct ring {
    uint32_t *ended;
    size_t mask;
};

/* Ticks of a step, with FRACTION_BITS of its fraction. */
static uint64_t fixed_step(const struct wheel *wheel)
{
    const struct demand_series *series = arrivals_setup_of(wheel->arrivals)->series;
    double ticks = (double)series->step_ms * TICKS_PER_MS / wheel->times->tick;

    return (uint64_t)(ticks * (1 << FRACTION_BITS) + 0.5);
}

static void count_step(const struct wheel *wheel, size_t step, enum demand_class class,
                       uint64_t begin, struct tick *ticks)
{
    uint64_t fixed = fixed_step(wheel);
    struct random drawn;
    size_t count = arrivals_of_step(wheel->arrivals, step, class, &drawn);
    struct random random = drawn; /* its address is not known to anyone: it lives in registers */

    for (size_t i = 0; i < count; i++) {
        uint64_t place = random_next(&random) >> 32;

        ticks[(begin + (place * fixed >> 32)) >> FRACTION_BITS].count[class]++;
    }
}

static void count_part(const struct wheel *wheel, struct stretch *stretch, size_t at)
{
    struct part *part = &stretch->parts[at];
    const struct arrivals_chunk *first = arrivals_outline(wheel->arrivals, stretch->chunk);
    const struct arrivals_chunk *chunk = arrivals_outline(wheel->arrivals, stretch->chunk + at);
    size_t limit = wheel->times->limit;
    uint64_t fixed = fixed_step(wheel);

    if (part->is_counted)
        return;
    part->is_counted = true;
    if (!stretch->ticks)
        stretch->ticks = mem_new_array(stretch->count + limit, sizeof *stretch->ticks);

    struct tick *begin = &stretch->ticks[limit + part->begin];
    uint32_t others = arrivals_in(*begin);

    for (size_t i = chunk->first; i < chunk->first + chunk->steps; i++)
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            count_step(wheel, i, (enum demand_class) class, (i - first->first) * fixed,
                       stretch->ticks + limit);
    part->head = arrivals_in(*begin) - others;
}

static void init_stretch(const struct wheel *wheel, size_t segment, struct stretch *stretch)
{
    uint64_t fixed = fixed_step(wheel);
    size_t steps = arrivals_setup_of(wheel->arrivals)->segments->list.items[segment].count;
    size_t first = arrivals_first_chunk(wheel->arrivals, segment);
    size_t begin = 0;
    size_t at = first;

    while (!arrivals_outline(wheel->arrivals, at)->is_last)
        at++;
    *stretch = (struct stretch){
        .count = (size_t)((steps * fixed) >> FRACTION_BITS) + 1,
        .chunk = first,
        .parts = mem_new_array(at + 1 - first, sizeof *stretch->parts),
        .part_count = at + 1 - first,
        .quiet_at = INT_MAX,
    };
    for (size_t i = 0; i < stretch->part_count; i++) {
        stretch->parts[i].begin = (size_t)((begin * fixed) >> FRACTION_BITS);
        begin += arrivals_outline(wheel->arrivals, first + i)->steps;
    }
}

struct wheel *wheel_new(struct arrivals *arrivals, const struct wheel_times *times)
{
    struct wheel *wheel = mem_new(sizeof *wheel);

    wheel->arrivals = arrivals;
    wheel->times = times;
    wheel->stretch_count = arrivals_setup_of(arrivals)->segments->list.count;
    wheel->stretches = mem_new_array(wheel->stretch_count, sizeof *wheel->stretches);
    wheel->ring = mem_new_array(times->ring, sizeof *wheel->ring);
    wheel->order = mem_new_array(wheel->stretch_count, sizeof *wheel->order);
    for (size_t i = 0; i < wheel->stretch_count; i++) {
        init_stretch(wheel, i, &wheel->stretches[i]);
        wheel->order[i] = i;
    }
    return wheel;
}

void wheel_free(struct wheel *wheel)
{
    if (!wheel)
        return;
    for (size_t i = 0; i < wheel->stretch_count; i++) {
        mem_free(wheel->stretches[i].ticks);
        mem_free(wheel->stretches[i].parts);
    }
    mem_free(wheel->stretches);
    mem_free(wheel->order);
    mem_free(wheel->ring);
    mem_free(wheel);
}

/* Services in the order of starts, drawn many at a time. */
struct supply {
    const uint16_t *service;
    struct random random;
    uint16_t drawn[SERVICES + STARTS];
};

/* A stretch that is run with a number of servers. */
struct run {
    const struct wheel *wheel;
    struct stretch *stretch;
    int servers;
    const struct wheel_limits *limits;
    struct supply *supply;
};

/* Everything that changes with a tick: in registers, as long as its address is not taken. */
struct turn {
    size_t now;
    size_t used; /* of what was drawn */
    uint32_t free;
    uint32_t waiting[DEMAND_CLASSES];
    uint32_t recent[DEMAND_CLASSES]; /* arrivals of the last `limit` ticks */
    int64_t violations[DEMAND_CLASSES];
};

/* Moves the unused services to the front, and draws new ones after them.  Returns where the unused
   ones begin. */
static __attribute__((noinline)) size_t draw(struct supply *supply, size_t used)
{
    const uint16_t *service = supply->service;
    size_t left = SERVICES + STARTS - used;
    uint16_t *to = supply->drawn + STARTS;
    struct random random = supply->random;

    memmove(to - left, supply->drawn + used, left * sizeof *to);
    for (size_t i = 0; i < SERVICES; i += 4) {
        uint64_t word = random_next(&random);

        to[i] = service[word & (SERVICE_TIMES - 1)];
        to[i + 1] = service[word >> 16 & (SERVICE_TIMES - 1)];
        to[i + 2] = service[word >> 32 & (SERVICE_TIMES - 1)];
        to[i + 3] = service[word >> 48];
    }
    supply->random = random;
    return STARTS - left;
}

static inline uint32_t least(uint32_t left, uint32_t right)
{
    return left < right ? left : right;
}

/* Gives `count` servers their next service: four at a time.  Surplus ones of the last four have no
   effect, because a branch on a small random number costs more. */
static inline size_t start(struct ring ring, struct supply *supply, struct turn turn,
                           uint32_t count)
{
    size_t used = turn.used;
    size_t now = turn.now;

    for (; count > STARTS; count -= STARTS) {
        if (used > SERVICES)
            used = draw(supply, used);
        for (uint32_t i = 0; i < STARTS; i++)
            ring.ended[(now + supply->drawn[used + i]) & ring.mask]++;
        used += STARTS;
    }
    if (used > SERVICES)
        used = draw(supply, used);
    for (uint32_t i = 0; i < STARTS; i++)
        ring.ended[(now + supply->drawn[used + i]) & ring.mask] += i < count;
    return used + count;
}

/* `came` arrive now; `past` arrived as long ago as one may wait. */
static inline struct turn one_tick(struct turn turn, struct ring ring, struct supply *supply,
                                   struct tick came, struct tick past)
{
    uint32_t *ended = &ring.ended[turn.now & ring.mask];

    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        turn.waiting[class] += came.count[class];
        turn.recent[class] += came.count[class];
        turn.recent[class] -= past.count[class];
    }
    /* a service shorter than a tick may end in the one in which it began */
    do {
        uint32_t count;
        uint32_t high;

        turn.free += *ended;
        *ended = 0;
        count = least(turn.free, turn.waiting[DEMAND_HIGH] + turn.waiting[DEMAND_LOW]);
        high = least(count, turn.waiting[DEMAND_HIGH]);
        turn.waiting[DEMAND_HIGH] -= high;
        turn.waiting[DEMAND_LOW] -= count - high;
        turn.free -= count;
        turn.used = start(ring, supply, turn, count);
    } while (*ended > 0);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        uint32_t waiting = turn.waiting[class];
        uint32_t recent = turn.recent[class];

        turn.violations[class] += least(waiting > recent ? waiting - recent : 0, past.count[class]);
    }
    turn.now++;
    return turn;
}

static uint32_t arrivals_waiting(const struct turn *turn)
{
    return turn->waiting[DEMAND_HIGH] + turn->waiting[DEMAND_LOW];
}

static bool within(const struct turn *turn, const struct wheel_limits *limits)
{
    return turn->violations[DEMAND_HIGH] <= limits->violations[DEMAND_HIGH] &&
           turn->violations[DEMAND_LOW] <= limits->violations[DEMAND_LOW];
}

static struct ring ring_of(const struct wheel *wheel)
{
    return (struct ring){ wheel->ring, wheel->times->ring - 1 };
}

/* Runs until tick `end`, or until a limit was passed. */
static struct turn run_ticks(const struct run *run, struct turn turn, size_t end)
{
    const struct tick *ticks = run->stretch->ticks;
    size_t limit = run->wheel->times->limit;
    struct ring ring = ring_of(run->wheel);
    struct supply *supply = run->supply;

    while (turn.now < end && within(&turn, run->limits)) {
        size_t stop = turn.now + BLOCK_TICKS < end ? turn.now + BLOCK_TICKS : end;

        while (turn.now < stop)
            turn = one_tick(turn, ring, supply, ticks[turn.now + limit], ticks[turn.now]);
    }
    return turn;
}

/* No request comes any more, and all that wait start. */
static struct turn drain(const struct run *run, struct turn turn)
{
    const struct stretch *stretch = run->stretch;
    struct ring ring = ring_of(run->wheel);

    while (arrivals_waiting(&turn) > 0 && within(&turn, run->limits)) {
        struct tick past = { { 0 } };

        if (turn.now < stretch->count + run->wheel->times->limit)
            past = stretch->ticks[turn.now];
        turn = one_tick(turn, ring, run->supply, (struct tick){ { 0 } }, past);
    }
    return turn;
}

/* Begins a stretch, with the servers as busy as the window before left them. */
static void begin_stretch(const struct run *run, struct turn *turn)
{
    const struct wheel *wheel = run->wheel;
    size_t servers = (size_t)run->servers;
    size_t busy;
    const uint64_t *left = arrivals_before(wheel->arrivals,
                                           (size_t)(run->stretch - wheel->stretches), &busy);
    unsigned drawn;

    busy = busy < servers ? busy : servers;
    memset(wheel->ring, 0, wheel->times->ring * sizeof *wheel->ring);
    for (size_t i = 0; i < busy; i++)
        wheel->ring[(size_t)((double)left[i] / wheel->times->tick)]++;
    arrivals_services(wheel->arrivals, run->stretch->chunk, &run->supply->random, &drawn);
    turn->used = SERVICES + STARTS;
    turn->now = 0;
    turn->free = (uint32_t)(servers - busy);
    memset(turn->recent, 0, sizeof turn->recent);
}

/* After parts that were left out: part `at` begins a tick late, with all servers free; before it
   matters, the servers are busy again as they would be. */
static void resume(const struct run *run, size_t at, struct turn *turn)
{
    const struct wheel *wheel = run->wheel;
    const struct stretch *stretch = run->stretch;
    const struct part *part = &stretch->parts[at];
    struct supply *supply = run->supply;
    size_t limit = wheel->times->limit;
    unsigned drawn;

    memset(wheel->ring, 0, wheel->times->ring * sizeof *wheel->ring);
    arrivals_services(wheel->arrivals, stretch->chunk + at, &supply->random, &drawn);
    drawn += part->head;
    for (; drawn >= STARTS; drawn -= STARTS)
        (void)random_next(&supply->random);
    turn->used = draw(supply, SERVICES + STARTS) + drawn;
    turn->now = part->begin + 1;
    turn->free = (uint32_t)run->servers;
    memset(turn->recent, 0, sizeof turn->recent);
    for (size_t i = turn->now; i < turn->now + limit; i++)
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            turn->recent[class] += stretch->ticks[i].count[class];
}

/* Adds to the violations.  False when a limit was passed. */
static bool run_stretch(const struct run *run, struct turn *ret_turn)
{
    const struct wheel *wheel = run->wheel;
    struct stretch *stretch = run->stretch;
    struct turn turn = *ret_turn;
    bool rests = false;

    memset(turn.waiting, 0, sizeof turn.waiting);
    for (size_t i = 0; i < stretch->part_count && within(&turn, run->limits); i++) {
        bool rested = rests;

        rests = arrivals_waiting(&turn) == 0 &&
                negligible_at(&wheel->times->negligible, wheel->arrivals, stretch->chunk + i,
                              run->servers);
        if (rests)
            continue;
        count_part(wheel, stretch, i);
        if (i == 0)
            begin_stretch(run, &turn);
        else if (rested)
            resume(run, i, &turn);
        turn = run_ticks(
            run, turn, i + 1 < stretch->part_count ? stretch->parts[i + 1].begin : stretch->count);
    }
    if (!rests)
        turn = drain(run, turn);
    *ret_turn = turn;
    return within(&turn, run->limits);
}

static int64_t stretch_violations(const struct wheel *wheel, size_t at)
{
    const struct stretch *stretch = &wheel->stretches[at];

    return stretch->violations[DEMAND_HIGH] + stretch->violations[DEMAND_LOW];
}

/* Segments with most violations in the last run come first: a failing number fails early. */
static void sort_order(struct wheel *wheel)
{
    for (size_t i = 1; i < wheel->stretch_count; i++) {
        size_t moved = wheel->order[i];
        size_t at = i;

        for (; at > 0 &&
               stretch_violations(wheel, wheel->order[at - 1]) < stretch_violations(wheel, moved);
             at--)
            wheel->order[at] = wheel->order[at - 1];
        wheel->order[at] = moved;
    }
}

bool wheel_run(struct wheel *wheel, int servers, const struct wheel_limits *limits,
               int64_t ret_violations[DEMAND_CLASSES])
{
    struct supply supply = { .service = wheel->times->service };
    struct turn turn = { 0 };
    bool within_limits = true;

    for (size_t i = 0; i < wheel->stretch_count && within_limits; i++) {
        struct stretch *stretch = &wheel->stretches[wheel->order[i]];
        int64_t before[DEMAND_CLASSES] = { turn.violations[DEMAND_HIGH],
                                           turn.violations[DEMAND_LOW] };

        if (servers >= stretch->quiet_at)
            continue;
        within_limits = run_stretch(&(struct run){ wheel, stretch, servers, limits, &supply },
                                    &turn);
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            stretch->violations[class] = turn.violations[class] - before[class];
        if (stretch_violations(wheel, wheel->order[i]) == 0)
            stretch->quiet_at = servers;
    }
    sort_order(wheel);
    memcpy(ret_violations, turn.violations, sizeof turn.violations);
    return within_limits;
}

size_t wheel_worst(const struct wheel *wheel, size_t at, int64_t ret_violations[DEMAND_CLASSES])
{
    size_t segment = wheel->order[at];

    memcpy(ret_violations, wheel->stretches[segment].violations,
           sizeof wheel->stretches[segment].violations);
    return segment;
}

void wheel_order_like(struct wheel *wheel, const struct wheel *other)
{
    memcpy(wheel->order, other->order, wheel->stretch_count * sizeof *wheel->order);
}

size_t wheel_size(const struct wheel *wheel)
{
    size_t size = wheel->times->ring * sizeof *wheel->ring;

    for (size_t i = 0; i < wheel->stretch_count; i++)
        size += (wheel->stretches[i].count + wheel->times->limit) * sizeof(struct tick);
    return size;
}
