/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One start a turn of the inner loop: the request that may start first meets the server that is
 * free first.  With services in start order the k-th start is at max(k-th arrival, first free
 * server) whatever the priorities; the request that starts then is the first waiting high one, else
 * the first low one.
 */
#include "windows/queueing/replay.h"

#include "windows/queueing/batch_replay.h"
#include "windows/queueing/negligible.h"
#include "windows/queueing/replay_run.h"

#include <math.h>

enum { REPORT_MAX = 1 << 28, DRAWS = 4 };

void replay_line_append(struct line *line, const uint64_t *arrived, size_t count)
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

/* The variables that change with a start: in registers, because their address is not taken. */
struct pace {
    const uint64_t *high;
    const uint64_t *low;
    struct servers servers;
    struct random random;
    uint64_t first;
    uint64_t word;
    unsigned draws;
    int64_t violations[DEMAND_CLASSES];
};

static inline __attribute__((always_inline)) struct pace pace_of(const struct run *run,
                                                                 unsigned bits)
{
    return (struct pace){
        .high = run->lines[DEMAND_HIGH].arrived + run->lines[DEMAND_HIGH].first,
        .low = run->lines[DEMAND_LOW].arrived + run->lines[DEMAND_LOW].first,
        .servers = { run->servers.keys, run->servers.count, (size_t)1 << bits, bits },
        .random = run->random,
        .first = servers_first(&run->servers),
        .word = run->word,
        .draws = run->draws,
    };
}

/* The next start; false when there is none before `horizon`. */
static inline __attribute__((always_inline)) bool pace_start(struct pace *pace, struct run *run,
                                                             uint64_t horizon, bool keeps)
{
    const uint64_t *high = pace->high;
    const uint64_t *low = pace->low;
    uint64_t target = run->target;
    uint64_t next = *high < *low ? *high : *low;
    uint64_t free_at = servers_free_at(&pace->servers, pace->first);
    uint64_t start = next > free_at ? next : free_at;

    if (start >= horizon || next == UINT64_MAX)
        return false;

    size_t is_low = *high > start;
    uint64_t wait = start - (is_low ? *low : *high);
    int64_t is_late = wait > target;

    pace->high += 1 - is_low;
    pace->low += is_low;
    pace->violations[DEMAND_LOW] += is_late & (int64_t)is_low;
    pace->violations[DEMAND_HIGH] += is_late & ~(int64_t)is_low;
    if (keeps)
        run->waits.items[is_low][run->waits.count[is_low]++] = wait;
    if (pace->draws == 0) {
        pace->word = random_next(&pace->random);
        pace->draws = DRAWS;
    }
    pace->first = servers_occupy(&pace->servers, pace->first,
                                 start + run->service->ticks[pace->word & (SERVICE_TIMES - 1)]);
    pace->word >>= 16;
    pace->draws--;
    return true;
}

static inline __attribute__((always_inline)) void pace_end(const struct pace *pace, struct run *run)
{
    run->lines[DEMAND_HIGH].first = (size_t)(pace->high - run->lines[DEMAND_HIGH].arrived);
    run->lines[DEMAND_LOW].first = (size_t)(pace->low - run->lines[DEMAND_LOW].arrived);
    run->random = pace->random;
    run->word = pace->word;
    run->draws = pace->draws;
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        run->violations[class] += pace->violations[class];
}

/* Every start before `horizon`; all arrivals before it must be in the lines. */
static inline __attribute__((always_inline)) void run_starts(struct run *run, uint64_t horizon,
                                                             bool keeps, unsigned bits)
{
    struct pace pace = pace_of(run, bits);

    while (pace_start(&pace, run, horizon, keeps))
        ;
    pace_end(&pace, run);
}

/* The same of several: each waits for its tree most of the time, in which the others go on. */
static inline __attribute__((always_inline)) void run_all_of(struct run *const *runs, size_t count,
                                                             uint64_t horizon, unsigned bits)
{
    struct pace first = pace_of(runs[0], bits);
    struct pace second = pace_of(runs[1], bits);
    struct pace third = count > 2 ? pace_of(runs[2], bits) : second;

    while (pace_start(&first, runs[0], horizon, true)) {
        if (!pace_start(&second, runs[1], horizon, false))
            break;
        if (count > 2 && !pace_start(&third, runs[2], horizon, false))
            break;
    }
    while (pace_start(&first, runs[0], horizon, true))
        ;
    while (pace_start(&second, runs[1], horizon, false))
        ;
    while (count > 2 && pace_start(&third, runs[2], horizon, false))
        ;
    pace_end(&first, runs[0]);
    pace_end(&second, runs[1]);
    if (count > 2)
        pace_end(&third, runs[2]);
}

static inline __attribute__((always_inline)) void run_some(struct run *const *runs, size_t count,
                                                           uint64_t horizon, unsigned bits)
{
    if (count == 3)
        run_all_of(runs, 3, horizon, bits);
    else if (count == 2)
        run_all_of(runs, 2, horizon, bits);
    else if (runs[0]->waits.items[DEMAND_HIGH])
        run_starts(runs[0], horizon, true, bits);
    else
        run_starts(runs[0], horizon, false, bits);
}

/* The loop is made once for each usual height of the tree: a match is then a comparison, a load and
   a store, and nothing is left to count or to shift by. */
static void run_alike(struct run *const *runs, size_t count, uint64_t horizon)
{
#define HEIGHT(bits)                                                                               \
    case bits:                                                                                     \
        run_some(runs, count, horizon, bits);                                                      \
        break

    switch (runs[0]->servers.bits) {
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
        run_some(runs, count, horizon, runs[0]->servers.bits);
    }
#undef HEIGHT
}

void replay_run_until(struct run *const *runs, size_t count, uint64_t horizon)
{
    size_t alike = 1;

    while (alike < count && runs[alike]->servers.bits == runs[0]->servers.bits)
        alike++;
    run_alike(runs, alike, horizon);
    for (size_t i = alike; i < count; i++)
        run_alike(&runs[i], 1, horizon);
}

bool replay_run_anyone_waits(const struct run *run)
{
    return run->lines[DEMAND_HIGH].first < run->lines[DEMAND_HIGH].end ||
           run->lines[DEMAND_LOW].first < run->lines[DEMAND_LOW].end;
}

/* After chunks that were left out: begins with all servers free; before it matters, the servers are
   busy again as they would be. */
static void run_resume(struct run *run, struct arrivals *arrivals, size_t at)
{
    unsigned drawn;

    servers_reset(&run->servers, NULL, 0);
    arrivals_services(arrivals, at, &run->random, &drawn);
    run->draws = drawn > 0 ? DRAWS - drawn : 0;
    if (drawn > 0)
        run->word = random_next(&run->random) >> 16 * drawn;
}

void replay_run_begin(struct run *run, struct arrivals *arrivals,
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

/* Of the requests waiting at `now`, how many have waited longer than the target: they are late
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

void replay_run_append(struct run *run, const struct arrivals_chunk *chunk)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        replay_line_append(&run->lines[class], chunk->at[class], chunk->count[class]);
}

uint64_t replay_run_horizon(const struct arrivals_chunk *chunk)
{
    return chunk->is_last ? UINT64_MAX : chunk->end;
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
                        const struct negligible *negligible, const int64_t *allowed)
{
    const struct arrivals_chunk *chunk;
    bool rests = false;
    size_t at = arrivals_first_chunk(arrivals, segment);

    do {
        bool rested = rests;

        rests = negligible && !replay_run_anyone_waits(run) &&
                negligible_at(negligible, arrivals, at, (int)run->servers.count);
        chunk = rests ? arrivals_outline(arrivals, at) : arrivals_chunk(arrivals, at);
        at++;
        if (rests)
            continue;
        if (chunk->is_first)
            replay_run_begin(run, arrivals, chunk);
        else if (rested)
            run_resume(run, arrivals, at - 1);
        replay_run_append(run, chunk);
        replay_run_until(&run, 1, replay_run_horizon(chunk));
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
        replay_line_append(&run->lines[class], (const uint64_t[]){ 0 }, 0);
}

/* Runs all segments, or until one has ended it. */
static bool run_all(struct run *run, struct arrivals *arrivals, const int64_t *allowed)
{
    for (size_t i = 0; i < arrivals_setup_of(arrivals)->segments->list.count; i++)
        if (!run_segment(run, arrivals, i, NULL, allowed))
            return false;
    return true;
}

void replay_run_clear(struct run *run)
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

bool replay_trial_init(struct trial *trial, const struct arrivals *arrivals, int servers,
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

bool replay_trial_passes(const struct trial *trial)
{
    return trial->run.violations[DEMAND_HIGH] <= trial->allowed[DEMAND_HIGH] &&
           trial->run.violations[DEMAND_LOW] <= trial->allowed[DEMAND_LOW];
}

bool replay_passes(struct arrivals *arrivals, int servers, const struct replay_target *target,
                   double *ret_used)
{
    if (arrivals_setup_of(arrivals)->service->engine)
        return batch_replay_passes(arrivals, &(struct replay_try){ servers, target, NULL },
                                   ret_used);

    struct trial trial = { 0 };
    bool passes = replay_trial_init(&trial, arrivals, servers, target) &&
                  run_all(&trial.run, arrivals, trial.allowed) && replay_trial_passes(&trial);

    if (ret_used) {
        *ret_used = passes ? 0 : 1;
        for (int class = 0; passes && class < DEMAND_CLASSES; class ++)
            *ret_used = fmax(*ret_used, (double)trial.run.violations[class] /
                                            (double)(trial.allowed[class] + 1));
    }
    replay_run_clear(&trial.run);
    return passes;
}

bool replay_count(struct arrivals *arrivals, const struct replay_try *tried, size_t segment,
                  int64_t violations[DEMAND_CLASSES])
{
    if (arrivals_setup_of(arrivals)->service->engine)
        return batch_replay_count(arrivals, tried, segment, violations);

    struct trial trial = { 0 };
    bool is_within = replay_trial_init(&trial, arrivals, tried->servers, tried->target);

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        trial.run.violations[class] = violations[class];
    is_within = is_within &&
                run_segment(&trial.run, arrivals, segment, tried->negligible, trial.allowed) &&
                replay_trial_passes(&trial);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        violations[class] = trial.run.violations[class];
    replay_run_clear(&trial.run);
    return is_within;
}

int replay_report(struct arrivals *arrivals, int servers, const struct replay_target *target,
                  struct replay_result *ret_result, struct error *err)
{
    if (arrivals_setup_of(arrivals)->service->engine)
        return batch_replay_report(arrivals, servers, target, ret_result, err);

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
    replay_run_clear(&run);
    return 0;
}
