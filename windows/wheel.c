/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of the arrivals of one tick, those wait too long that are still in the queue when the limit has
 * passed.  In a queue that is first come first served these are what is left of it after taking
 * away all who came later: no one needs to be followed.
 */
#include "windows/wheel.h"

#include "base/random.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum {
    LIMIT_TICKS_MIN = 16, /* of a target */
    SERVICE_TICKS_MIN = 6,
    RING_MAX = 1 << 15,
    TICK_ARRIVALS_MAX = 1 << 14, /* the mean; the count of a tick has 16 bits */
    BLOCK_TICKS = 256,           /* between two looks at the limits */
    SERVICES = 512,              /* drawn at a time */
    STARTS = 4,                  /* in one go */
    FRACTION_BITS = 16,
};

/* Below this a tick costs more than the arrivals in it. */
static const double arrivals_per_tick_min = 0.7;

struct wheel_times {
    double tick;  /* in ticks of the exact replay */
    size_t limit; /* a wait of more than so many is too long */
    size_t ring;  /* a power of two, above the longest service */
    uint16_t service[SERVICE_TIMES];
};

/* How many arrived. */
struct tick {
    uint16_t count[DEMAND_CLASSES];
};

struct stretch {        /* a segment */
    struct tick *ticks; /* `limit` empty ones before the first; NULL until it is run */
    size_t count;
    size_t first; /* step of the series */
    size_t steps;
    int quiet_at; /* the fewest servers with which nobody was seen to wait too long */
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

/* What rounding takes from one entry the next gives back, as when exact times are cut to ticks. */
static bool fill_services(struct wheel_times *times, const struct service_time *service)
{
    double due = 0;
    double given = 0;
    double longest = 0;

    for (int i = 0; i < SERVICE_TIMES; i++) {
        due += (double)service->ticks[i] / times->tick;

        double ticks = floor(due - given + 0.5);

        ticks = ticks < 0 ? 0 : ticks;
        given += ticks;
        longest = fmax(longest, ticks);
        if (ticks >= RING_MAX)
            return false;
        times->service[i] = (uint16_t)ticks;
    }
    for (times->ring = BLOCK_TICKS; (double)times->ring < longest + 2; times->ring *= 2)
        ;
    return true;
}

/* Arrivals of the known steps, on average and in the busiest one. */
static void step_rates(struct arrivals *arrivals, double *ret_mean, double *ret_most)
{
    const struct arrivals_setup *setup = arrivals_setup_of(arrivals);
    double steps = 0;

    *ret_most = 0;
    for (size_t i = 0; i < setup->segments->list.count; i++) {
        const struct segment *segment = &setup->segments->list.items[i];

        for (size_t step = segment->first; step < segment->first + segment->count; step++)
            *ret_most = fmax(*ret_most, demand_at(setup->series, DEMAND_HIGH, step) +
                                            (double)demand_at(setup->series, DEMAND_LOW, step));
        steps += (double)segment->count;
    }
    *ret_most *= setup->scale;
    *ret_mean = ((double)arrivals_total(arrivals, DEMAND_HIGH) +
                 (double)arrivals_total(arrivals, DEMAND_LOW)) /
                steps;
}

struct wheel_times *wheel_times_new(struct arrivals *arrivals, const struct replay_target *target)
{
    const struct arrivals_setup *setup = arrivals_setup_of(arrivals);
    double target_ticks = (double)target->wait_ms * TICKS_PER_MS;
    double step_ticks = (double)setup->series->step_ms * TICKS_PER_MS;
    double most_ticks = fmin(target_ticks / LIMIT_TICKS_MIN,
                             setup->service->mean_s * TICKS_PER_SECOND / SERVICE_TICKS_MIN);
    double mean;
    double most;

    step_rates(arrivals, &mean, &most);
    if (target->wait_ms == 0 || most == 0)
        return NULL;
    most_ticks = fmin(most_ticks, TICK_ARRIVALS_MAX * step_ticks / most);
    if (mean * most_ticks / step_ticks < arrivals_per_tick_min ||
        most_ticks * RING_MAX < step_ticks)
        return NULL;

    owned(wheel_times) struct wheel_times *times = mem_new(sizeof *times);

    times->limit = (size_t)ceil(target_ticks / most_ticks);
    times->tick = target_ticks / ((double)times->limit + 0.5);
    return fill_services(times, setup->service) ? steal(&times) : NULL;
}

void wheel_times_free(struct wheel_times *times)
{
    mem_free(times);
}

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

static void count_stretch(const struct wheel *wheel, struct stretch *stretch)
{
    size_t limit = wheel->times->limit;
    uint64_t fixed = fixed_step(wheel);

    stretch->ticks = mem_new_array(stretch->count + limit, sizeof *stretch->ticks);
    for (size_t i = 0; i < stretch->steps; i++)
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            count_step(wheel, stretch->first + i, (enum demand_class) class, i * fixed,
                       stretch->ticks + limit);
}

struct wheel *wheel_new(struct arrivals *arrivals, const struct wheel_times *times)
{
    const struct segment_list *segments = arrivals_setup_of(arrivals)->segments;
    struct wheel *wheel = mem_new(sizeof *wheel);

    wheel->arrivals = arrivals;
    wheel->times = times;
    wheel->stretch_count = segments->list.count;
    wheel->stretches = mem_new_array(wheel->stretch_count, sizeof *wheel->stretches);
    wheel->ring = mem_new_array(times->ring, sizeof *wheel->ring);
    wheel->order = mem_new_array(wheel->stretch_count, sizeof *wheel->order);
    for (size_t i = 0; i < wheel->stretch_count; i++) {
        const struct segment *segment = &segments->list.items[i];

        wheel->stretches[i] = (struct stretch){
            .first = segment->first,
            .steps = segment->count,
            .count = (size_t)((segment->count * fixed_step(wheel)) >> FRACTION_BITS) + 1,
            .quiet_at = INT_MAX,
        };
        wheel->order[i] = i;
    }
    return wheel;
}

void wheel_free(struct wheel *wheel)
{
    if (!wheel)
        return;
    for (size_t i = 0; i < wheel->stretch_count; i++)
        mem_free(wheel->stretches[i].ticks);
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

/* Everything that changes with a tick: in registers, as long as nobody takes its address. */
struct turn {
    size_t now;
    size_t used; /* of what was drawn */
    uint32_t free;
    uint32_t waiting[DEMAND_CLASSES];
    uint32_t recent[DEMAND_CLASSES]; /* arrivals of the last `limit` ticks */
    int64_t violations[DEMAND_CLASSES];
};

/* What is left moves to the front.  Returns where it begins. */
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

/* Gives `count` servers their next service: four at a time, and of the last four those too many
   without effect, since a branch on a small random number costs more. */
static inline size_t start(uint32_t *ring, size_t mask, struct supply *supply, struct turn turn,
                           uint32_t count)
{
    size_t used = turn.used;
    size_t now = turn.now;

    for (; count > STARTS; count -= STARTS) {
        if (used > SERVICES)
            used = draw(supply, used);
        for (uint32_t i = 0; i < STARTS; i++)
            ring[(now + supply->drawn[used + i]) & mask]++;
        used += STARTS;
    }
    if (used > SERVICES)
        used = draw(supply, used);
    for (uint32_t i = 0; i < STARTS; i++)
        ring[(now + supply->drawn[used + i]) & mask] += i < count;
    return used + count;
}

/* `came` arrive now; `past` arrived as long ago as one may wait. */
static inline struct turn one_tick(struct turn turn, uint32_t *ring, size_t mask,
                                   struct supply *supply, struct tick came, struct tick past)
{
    uint32_t *ended = &ring[turn.now & mask];

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
        turn.used = start(ring, mask, supply, turn, count);
    } while (*ended > 0);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        uint32_t waiting = turn.waiting[class];
        uint32_t recent = turn.recent[class];

        turn.violations[class] += least(waiting > recent ? waiting - recent : 0, past.count[class]);
    }
    turn.now++;
    return turn;
}

static bool within(const struct turn *turn, const struct wheel_limits *limits)
{
    return turn->violations[DEMAND_HIGH] <= limits->violations[DEMAND_HIGH] &&
           turn->violations[DEMAND_LOW] <= limits->violations[DEMAND_LOW];
}

/* Adds to the violations.  False when a limit was passed. */
static bool run_stretch(struct wheel *wheel, const struct stretch *stretch, struct supply *supply,
                        struct turn *ret_turn, const struct wheel_limits *limits)
{
    struct turn turn = *ret_turn;
    size_t limit = wheel->times->limit;
    size_t mask = wheel->times->ring - 1;
    uint32_t *ring = wheel->ring;

    while (turn.now < stretch->count && within(&turn, limits)) {
        size_t end = turn.now + BLOCK_TICKS < stretch->count ? turn.now + BLOCK_TICKS
                                                             : stretch->count;

        while (turn.now < end)
            turn = one_tick(turn, ring, mask, supply, stretch->ticks[turn.now + limit],
                            stretch->ticks[turn.now]);
    }
    while (turn.waiting[DEMAND_HIGH] + turn.waiting[DEMAND_LOW] > 0 && within(&turn, limits)) {
        struct tick past = { { 0 } };

        if (turn.now < stretch->count + limit)
            past = stretch->ticks[turn.now];
        turn = one_tick(turn, ring, mask, supply, (struct tick){ { 0 } }, past);
    }
    *ret_turn = turn;
    return within(&turn, limits);
}

static void begin_stretch(struct wheel *wheel, size_t at, int servers, struct supply *supply,
                          struct turn *turn)
{
    const struct arrivals_setup *setup = arrivals_setup_of(wheel->arrivals);
    size_t busy;
    const uint64_t *left = arrivals_before(wheel->arrivals, at, &busy);

    busy = busy < (size_t)servers ? busy : (size_t)servers;
    memset(wheel->ring, 0, wheel->times->ring * sizeof *wheel->ring);
    for (size_t i = 0; i < busy; i++)
        wheel->ring[(size_t)((double)left[i] / wheel->times->tick)]++;
    random_seed(&supply->random, arrivals_service_seed(setup, wheel->stretches[at].first));
    turn->used = SERVICES + STARTS;
    turn->now = 0;
    turn->free = (uint32_t)((size_t)servers - busy);
    memset(turn->waiting, 0, sizeof turn->waiting);
    memset(turn->recent, 0, sizeof turn->recent);
}

static int64_t stretch_violations(const struct wheel *wheel, size_t at)
{
    const struct stretch *stretch = &wheel->stretches[at];

    return stretch->violations[DEMAND_HIGH] + stretch->violations[DEMAND_LOW];
}

/* Where the last run saw most comes first: what fails, fails soon. */
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
        if (!stretch->ticks)
            count_stretch(wheel, stretch);
        begin_stretch(wheel, wheel->order[i], servers, &supply, &turn);
        within_limits = run_stretch(wheel, stretch, &supply, &turn, limits);
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
