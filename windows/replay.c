/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One start a turn of the inner loop: the earliest of who may start meets the earliest of who is
 * free.  With services in start order the k-th start is at max(k-th arrival, first free server)
 * whatever the priorities; who starts then is the first waiting high request, else the first low.
 */
#include "windows/replay.h"

#include "base/random.h"
#include "windows/calm.h"
#include "windows/replay_waits.h"
#include "windows/servers.h"

#include <math.h>

enum { REPORT_MAX = 1 << 28, DRAWS = 4, SIDES = 2 };

/* Who has arrived and not started, with UINT64_MAX behind the last. */
struct line {
    uint64_t *arrived;
    size_t first;
    size_t end;
    size_t size;
};

struct run {
    const struct service_time *service;
    struct servers servers;
    struct line lines[DEMAND_CLASSES];
    struct random random;
    uint64_t word; /* of random bits, 16 a service */
    unsigned draws;
    uint64_t target;
    int64_t violations[DEMAND_CLASSES];
    struct waits waits;
};

/* Drops who has started and appends the chunk's arrivals. */
static void line_append(struct line *line, const uint64_t *arrived, size_t count)
{
    size_t waiting = line->end - line->first;

    if (line->end + count + 1 > line->size) {
        if (2 * (waiting + count + 1) > line->size) {
            line->size = 2 * (waiting + count + 1);
            line->arrived = mem_resize(line->arrived, line->size, sizeof *line->arrived);
        }
        memmove(line->arrived, line->arrived + line->first, waiting * sizeof *line->arrived);
        line->first = 0;
        line->end = waiting;
    }
    memcpy(line->arrived + line->end, arrived, count * sizeof *arrived);
    line->end += count;
    line->arrived[line->end] = UINT64_MAX;
}

/* Every start before `horizon`; all arrivals before it must be in the lines. */
static inline __attribute__((always_inline)) void run_starts(struct run *run, uint64_t horizon,
                                                             bool keeps, unsigned bits)
{
    const uint64_t *high = run->lines[DEMAND_HIGH].arrived + run->lines[DEMAND_HIGH].first;
    const uint64_t *low = run->lines[DEMAND_LOW].arrived + run->lines[DEMAND_LOW].first;
    const uint64_t *service = run->service->ticks;
    struct servers servers = { run->servers.keys, run->servers.count, (size_t)1 << bits, bits };
    struct random random = run->random;
    uint64_t first = servers_first(&servers);
    uint64_t target = run->target;
    uint64_t word = run->word;
    unsigned draws = run->draws;
    int64_t violations[DEMAND_CLASSES] = { 0, 0 };

    for (;;) {
        uint64_t next = *high < *low ? *high : *low;
        uint64_t free_at = servers_free_at(&servers, first);
        uint64_t start = next > free_at ? next : free_at;

        if (start >= horizon || next == UINT64_MAX)
            break;

        size_t is_low = *high > start;
        uint64_t wait = start - (is_low ? *low : *high);
        int64_t is_late = wait > target;

        high += 1 - is_low;
        low += is_low;
        violations[DEMAND_LOW] += is_late & (int64_t)is_low;
        violations[DEMAND_HIGH] += is_late & ~(int64_t)is_low;
        if (keeps)
            run->waits.items[is_low][run->waits.count[is_low]++] = wait;
        if (draws == 0) {
            word = random_next(&random);
            draws = DRAWS;
        }
        first = servers_occupy(&servers, first, start + service[word & (SERVICE_TIMES - 1)]);
        word >>= 16;
        draws--;
    }
    run->lines[DEMAND_HIGH].first = (size_t)(high - run->lines[DEMAND_HIGH].arrived);
    run->lines[DEMAND_LOW].first = (size_t)(low - run->lines[DEMAND_LOW].arrived);
    run->random = random;
    run->word = word;
    run->draws = draws;
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        run->violations[class] += violations[class];
}

static inline __attribute__((always_inline)) void run_kept(struct run *run, uint64_t horizon,
                                                           unsigned bits)
{
    if (run->waits.items[DEMAND_HIGH])
        run_starts(run, horizon, true, bits);
    else
        run_starts(run, horizon, false, bits);
}

/* The loop is made once for each usual height of the tree: a match is then a comparison, a load and
   a store, and nothing is left to count or to shift by. */
static void run_until(struct run *run, uint64_t horizon)
{
#define HEIGHT(bits)                                                                               \
    case bits:                                                                                     \
        run_kept(run, horizon, bits);                                                              \
        break

    switch (run->servers.bits) {
        HEIGHT(0);
        HEIGHT(1);
        HEIGHT(2);
        HEIGHT(3);
        HEIGHT(4);
        HEIGHT(5);
        HEIGHT(6);
        HEIGHT(7);
        HEIGHT(8);
        HEIGHT(9);
        HEIGHT(10);
    default:
        run_kept(run, horizon, run->servers.bits);
    }
#undef HEIGHT
}

static bool anyone_waits(const struct run *run)
{
    return run->lines[DEMAND_HIGH].first < run->lines[DEMAND_HIGH].end ||
           run->lines[DEMAND_LOW].first < run->lines[DEMAND_LOW].end;
}

/* After chunks that were left out: with all servers free; until it matters, those are busy again
   that would be. */
static void run_resume(struct run *run, struct arrivals *arrivals, size_t at)
{
    unsigned drawn;

    servers_reset(&run->servers, NULL, 0);
    arrivals_services(arrivals, at, &run->random, &drawn);
    run->draws = drawn > 0 ? DRAWS - drawn : 0;
    if (drawn > 0)
        run->word = random_next(&run->random) >> 16 * drawn;
}

static void run_begin(struct run *run, struct arrivals *arrivals,
                      const struct arrivals_chunk *chunk)
{
    const struct arrivals_setup *setup = arrivals_setup_of(arrivals);
    size_t busy;
    const uint64_t *left = arrivals_before(arrivals, chunk->segment, &busy);

    busy = busy < run->servers.count ? busy : run->servers.count;
    servers_reset(&run->servers, left, busy);
    random_seed(&run->random, arrivals_service_seed(setup, chunk->first));
    run->draws = 0;
}

/* Of those who wait at `now`, how many have waited longer than the target: they will violate it
   whenever they start. */
static int64_t overdue(const struct run *run, enum demand_class class, uint64_t now)
{
    const struct line *line = &run->lines[class];
    size_t low = line->first;
    size_t high = line->end;

    if (now == UINT64_MAX)
        return 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (line->arrived[middle] + run->target < now)
            low = middle + 1;
        else
            high = middle;
    }
    return (int64_t)(low - line->first);
}

/* To the end of the chunk, or with the last until all have started. */
static void run_chunk(struct run *run, const struct arrivals_chunk *chunk)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        line_append(&run->lines[class], chunk->at[class], chunk->count[class]);
    run_until(run, chunk->is_last ? UINT64_MAX : chunk->end);
}

/* Whether a class has, or will have, more violations than allowed. */
static bool is_lost(const struct run *run, const struct arrivals_chunk *chunk,
                    const int64_t *allowed)
{
    for (int class = 0; allowed && class < DEMAND_CLASSES; class ++)
        if (run->violations[class] + overdue(run, (enum demand_class) class, chunk->end) >
            allowed[class])
            return true;
    return false;
}

/* Runs one segment, or until a class has more violations than allowed (NULL: no such end). */
static bool run_segment(struct run *run, struct arrivals *arrivals, size_t segment,
                        const struct calm *calm, const int64_t *allowed)
{
    const struct arrivals_chunk *chunk;
    bool rests = false;
    size_t at = arrivals_first_chunk(arrivals, segment);

    do {
        bool rested = rests;

        rests = calm && !anyone_waits(run) && calm_at(calm, arrivals, at, (int)run->servers.count);
        chunk = rests ? arrivals_outline(arrivals, at) : arrivals_chunk(arrivals, at);
        at++;
        if (rests)
            continue;
        if (chunk->is_first)
            run_begin(run, arrivals, chunk);
        else if (rested)
            run_resume(run, arrivals, at - 1);
        run_chunk(run, chunk);
        if (is_lost(run, chunk, allowed))
            return false;
    } while (!chunk->is_last);
    return true;
}

static void run_ready(struct run *run, const struct arrivals *arrivals, int servers)
{
    servers_init(&run->servers, (size_t)servers);
    run->service = arrivals_setup_of(arrivals)->service;
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        line_append(&run->lines[class], (const uint64_t[]){ 0 }, 0);
}

/* Runs all segments, or until one has ended it. */
static bool run_all(struct run *run, struct arrivals *arrivals, const int64_t *allowed)
{
    for (size_t i = 0; i < arrivals_setup_of(arrivals)->segments->list.count; i++)
        if (!run_segment(run, arrivals, i, NULL, allowed))
            return false;
    return true;
}

static void run_clear(struct run *run)
{
    servers_clear(&run->servers);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        mem_free(run->lines[class].arrived);
    waits_clear(&run->waits);
}

/* Whether a key can hold the time at which the last request would end. */
static bool time_fits(const struct arrivals *arrivals, int servers)
{
    const struct arrivals_setup *setup = arrivals_setup_of(arrivals);
    double count = (double)arrivals_total(arrivals, DEMAND_HIGH) +
                   (double)arrivals_total(arrivals, DEMAND_LOW);
    double work = count * setup->service->mean_s * TICKS_PER_SECOND / servers;
    double span = (double)setup->series->count * (double)setup->series->step_ms * TICKS_PER_MS;

    return (work + span) * 2 * servers < 0x1p62;
}

/* What a verdict is made of. */
struct trial {
    struct run run;
    int64_t allowed[DEMAND_CLASSES];
};

/* False when it cannot be run. */
static bool trial_init(struct trial *trial, const struct arrivals *arrivals, int servers,
                       const struct replay_target *target)
{
    trial->run.target = (uint64_t)target->wait_ms * TICKS_PER_MS;
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        trial->allowed[class] = replay_allowed(arrivals_total(arrivals, (enum demand_class) class),
                                               target->percentile);
    if (servers <= 0 || !time_fits(arrivals, servers))
        return false;
    run_ready(&trial->run, arrivals, servers);
    return true;
}

static bool trial_passes(const struct trial *trial)
{
    return trial->run.violations[DEMAND_HIGH] <= trial->allowed[DEMAND_HIGH] &&
           trial->run.violations[DEMAND_LOW] <= trial->allowed[DEMAND_LOW];
}

bool replay_passes(struct arrivals *arrivals, int servers, const struct replay_target *target,
                   double *ret_used)
{
    struct trial trial = { 0 };
    bool passes = trial_init(&trial, arrivals, servers, target) &&
                  run_all(&trial.run, arrivals, trial.allowed) && trial_passes(&trial);

    if (ret_used) {
        *ret_used = passes ? 0 : 1;
        for (int class = 0; passes && class < DEMAND_CLASSES; class ++)
            *ret_used = fmax(*ret_used, (double)trial.run.violations[class] /
                                            (double)(trial.allowed[class] + 1));
    }
    run_clear(&trial.run);
    return passes;
}

bool replay_count(struct arrivals *arrivals, int servers, const struct replay_target *target,
                  const struct calm *calm, size_t segment, int64_t violations[DEMAND_CLASSES])
{
    struct trial trial = { 0 };
    bool is_within = trial_init(&trial, arrivals, servers, target);

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        trial.run.violations[class] = violations[class];
    is_within = is_within && run_segment(&trial.run, arrivals, segment, calm, trial.allowed) &&
                trial_passes(&trial);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        violations[class] = trial.run.violations[class];
    run_clear(&trial.run);
    return is_within;
}

/* The answer, with one server fewer and one more beside it. */
struct around {
    struct trial middle;
    struct trial sides[SIDES];
    bool rests[SIDES];
};

/* Goes on from where another is; of more servers than it has, those are left out that are free
   first. */
static void run_follow(struct run *run, const struct run *other)
{
    servers_follow(&run->servers, &other->servers);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        const struct line *line = &other->lines[class];

        line_append(&run->lines[class], line->arrived + line->first, line->end - line->first);
    }
    run->random = other->random;
    run->word = other->word;
    run->draws = other->draws;
}

/* A side follows the middle one into what is not calm, and rests when it has brought all its
   requests to an end of it. */
static void side_chunk(struct around *around, int side, struct arrivals *arrivals, size_t at,
                       const struct calm *calm)
{
    struct run *run = &around->sides[side].run;
    const struct arrivals_chunk *chunk = arrivals_outline(arrivals, at);
    bool rested = around->rests[side];

    around->rests[side] = !anyone_waits(run) &&
                          calm_at(calm, arrivals, at, (int)run->servers.count);
    if (around->rests[side])
        return;
    if (chunk->is_first)
        run_begin(run, arrivals, chunk);
    else if (rested)
        run_follow(run, &around->middle.run);
    run_chunk(run, arrivals_chunk(arrivals, at));
}

static void around_segment(struct around *around, struct arrivals *arrivals, size_t segment,
                           const struct calm *calm)
{
    const struct arrivals_chunk *chunk;
    size_t at = arrivals_first_chunk(arrivals, segment);

    do {
        for (int side = 0; side < SIDES; side++)
            if (around->sides[side].run.servers.count > 0)
                side_chunk(around, side, arrivals, at, calm);
        chunk = arrivals_chunk(arrivals, at++);
        if (chunk->is_first)
            run_begin(&around->middle.run, arrivals, chunk);
        run_chunk(&around->middle.run, chunk);
    } while (!chunk->is_last);
}

/* Where there are two classes only the low one proves it (replay.h). */
static bool fewer_fails(const struct around *around, const struct arrivals *arrivals)
{
    const struct trial *fewer = &around->sides[0];
    int class = arrivals_total(arrivals, DEMAND_LOW) > 0 ? DEMAND_LOW : DEMAND_HIGH;

    return fewer->run.violations[class] > fewer->allowed[class];
}

void replay_around(struct arrivals *arrivals, int servers, const struct replay_target *target,
                   const struct calm *calm, struct replay_around *ret)
{
    struct around around = { 0 };
    struct run *middle = &around.middle.run;

    *ret = (struct replay_around){ 0 };
    if (!trial_init(&around.middle, arrivals, servers, target))
        return;
    (void)trial_init(&around.sides[0], arrivals, servers - 1, target);
    (void)trial_init(&around.sides[1], arrivals, servers + 1, target);
    waits_init(&middle->waits, arrivals);
    for (size_t i = 0; i < arrivals_setup_of(arrivals)->segments->list.count; i++)
        around_segment(&around, arrivals, i, calm);
    ret->passes = trial_passes(&around.middle);
    ret->fewer_fails = fewer_fails(&around, arrivals);
    ret->more_passes = trial_passes(&around.sides[1]);
    ret->waits = waits_quantiles(&middle->waits, arrivals, target->percentile);
    run_clear(middle);
    for (int side = 0; side < SIDES; side++)
        run_clear(&around.sides[side].run);
}

int replay_report(struct arrivals *arrivals, int servers, const struct replay_target *target,
                  struct replay_result *ret_result, struct error *err)
{
    struct run run = { .target = (uint64_t)target->wait_ms * TICKS_PER_MS };
    const char *queue = arrivals_setup_of(arrivals)->series->queue;

    if (arrivals_total(arrivals, DEMAND_HIGH) + arrivals_total(arrivals, DEMAND_LOW) > REPORT_MAX)
        return error_set(err, ERROR_INVALID, "queue %s: more than %d requests; replay fewer days",
                         queue, REPORT_MAX);
    if (!time_fits(arrivals, servers))
        return error_set(err, ERROR_INVALID,
                         "queue %s: %d servers would need centuries for these requests", queue,
                         servers);
    waits_init(&run.waits, arrivals);
    run_ready(&run, arrivals, servers);
    (void)run_all(&run, arrivals, NULL);
    ret_result->waits = waits_quantiles(&run.waits, arrivals, target->percentile);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        ret_result->classes[class] = waits_class(&run.waits, (enum demand_class) class,
                                                 target->percentile);
        ret_result->classes[class].violations = run.violations[class];
    }
    run_clear(&run);
    return 0;
}
