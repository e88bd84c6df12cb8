/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One start a turn of the inner loop: the earliest of who may start meets the earliest of who is
 * free.  With services in start order the k-th start is at max(k-th arrival, first free server)
 * whatever the priorities; who starts then is the first waiting high request, else the first low.
 */
#include "windows/replay.h"

#include "base/random.h"
#include "windows/servers.h"

#include <math.h>

enum { REPORT_MAX = 1 << 28, DRAWS = 4 };

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
    uint64_t *waits[DEMAND_CLASSES]; /* NULL when nobody wants them */
    size_t started[DEMAND_CLASSES];
};

int64_t replay_allowed(int64_t count, double percentile)
{
    int64_t parts = 100 * 1000 - (int64_t)floor(percentile * 1000 + 0.5);

    return count * parts / (100 * 1000);
}

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
                                                             bool keeps)
{
    const uint64_t *high = run->lines[DEMAND_HIGH].arrived + run->lines[DEMAND_HIGH].first;
    const uint64_t *low = run->lines[DEMAND_LOW].arrived + run->lines[DEMAND_LOW].first;
    const uint64_t *service = run->service->ticks;
    struct servers servers = run->servers;
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
            run->waits[is_low][run->started[is_low]++] = wait;
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

static void run_until(struct run *run, uint64_t horizon)
{
    if (run->waits[DEMAND_HIGH])
        run_starts(run, horizon, true);
    else
        run_starts(run, horizon, false);
}

static void run_begin(struct run *run, struct arrivals *arrivals,
                      const struct arrivals_setup *setup, const struct arrivals_chunk *chunk)
{
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

/* Runs one segment, or until a class has more violations than allowed (NULL: no such end). */
static bool run_segment(struct run *run, struct arrivals *arrivals, size_t segment,
                        const int64_t *allowed)
{
    const struct arrivals_setup *setup = arrivals_setup_of(arrivals);
    const struct arrivals_chunk *chunk;
    size_t at = arrivals_first_chunk(arrivals, segment);

    do {
        chunk = arrivals_chunk(arrivals, at++);
        if (chunk->is_first)
            run_begin(run, arrivals, setup, chunk);
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            line_append(&run->lines[class], chunk->at[class], chunk->count[class]);
        run_until(run, chunk->end);
        for (int class = 0; allowed && class < DEMAND_CLASSES; class ++)
            if (run->violations[class] + overdue(run, (enum demand_class) class, chunk->end) >
                allowed[class])
                return false;
        if (chunk->is_last)
            run_until(run, UINT64_MAX);
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
        if (!run_segment(run, arrivals, i, allowed))
            return false;
    return true;
}

static void run_clear(struct run *run)
{
    servers_clear(&run->servers);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        mem_free(run->lines[class].arrived);
        mem_free(run->waits[class]);
    }
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
                  size_t segment, int64_t violations[DEMAND_CLASSES])
{
    struct trial trial = { 0 };
    bool is_within = trial_init(&trial, arrivals, servers, target);

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        trial.run.violations[class] = violations[class];
    is_within = is_within && run_segment(&trial.run, arrivals, segment, trial.allowed) &&
                trial_passes(&trial);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        violations[class] = trial.run.violations[class];
    run_clear(&trial.run);
    return is_within;
}

/* Hoare's selection: afterwards values[rank] is in its sorted place. */
static uint64_t select_rank(uint64_t *values, int64_t count, int64_t rank)
{
    int64_t low = 0;
    int64_t high = count - 1;

    while (low < high) {
        uint64_t pivot = values[low + (high - low) / 2];
        int64_t i = low;
        int64_t j = high;

        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i > j)
                break;

            uint64_t value = values[i];

            values[i++] = values[j];
            values[j--] = value;
        }
        if (rank > j && rank < i)
            break;
        if (rank <= j)
            high = j;
        else
            low = i;
    }
    return values[rank];
}

uint64_t replay_quantile(uint64_t *waits, size_t count, double percentile)
{
    if (count == 0)
        return 0;

    int64_t rank = (int64_t)count - replay_allowed((int64_t)count, percentile);

    return select_rank(waits, (int64_t)count, rank > 0 ? rank - 1 : 0);
}

static double seconds_at(uint64_t *waits, size_t count, double percentile)
{
    return (double)replay_quantile(waits, count, percentile) / TICKS_PER_SECOND;
}

static struct replay_class class_result(struct run *run, enum demand_class class, double percentile)
{
    uint64_t *waits = run->waits[class];
    size_t count = run->started[class];
    struct replay_class result = { .count = (int64_t)count, .violations = run->violations[class] };
    double sum = 0;
    uint64_t longest = 0;

    for (size_t i = 0; i < count; i++) {
        sum += (double)waits[i];
        longest = waits[i] > longest ? waits[i] : longest;
    }
    result.mean_s = count == 0 ? 0 : sum / TICKS_PER_SECOND / (double)count;
    result.max_s = (double)longest / TICKS_PER_SECOND;
    result.p50_s = seconds_at(waits, count, 50);
    result.p90_s = seconds_at(waits, count, 90);
    result.p98_s = seconds_at(waits, count, 98);
    result.p99_s = seconds_at(waits, count, 99);
    result.quantile_s = seconds_at(waits, count, percentile);
    return result;
}

static size_t day_arrivals(const struct arrivals *arrivals, const struct segment_list *day,
                           enum demand_class class)
{
    struct random random;
    size_t count = 0;

    for (size_t i = 0; i < day->list.count; i++)
        for (size_t at = 0; at < day->list.items[i].count; at++)
            count += arrivals_of_step(arrivals, day->list.items[i].first + at, class, &random);
    return count;
}

/* Within a class the waits lie in the order of arrival, and so day by day.  They are reordered
   within each day first, and within all then. */
static struct replay_waits quantiles_of(struct run *run, const struct arrivals *arrivals,
                                        double percentile)
{
    const struct segment_list *segments = arrivals_setup_of(arrivals)->segments;
    struct replay_waits result = { .day_s = -1 };
    size_t begin[DEMAND_CLASSES] = { 0 };

    for (size_t i = 0; i < segments_day_count(segments); i++) {
        owned(segments) struct segment_list day = { 0 };

        segments_of_day(segments, i, &day);
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            size_t count = day_arrivals(arrivals, &day, (enum demand_class) class);
            double wait_s = seconds_at(run->waits[class] + begin[class], count, percentile);

            begin[class] += count;
            result.day_wait_s[class] = fmax(result.day_wait_s[class], wait_s);
            if (day.list.count > 0 && wait_s > result.day_s) {
                result.day_s = wait_s;
                result.day = segments->days.count > 0 ? segments->days.items[i]
                                                      : day.list.items[0].first;
            }
        }
    }
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        result.wait_s[class] = seconds_at(run->waits[class], run->started[class], percentile);
    return result;
}

static void keep_waits(struct run *run, const struct arrivals *arrivals)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        run->waits[class] = mem_new_array(
            (size_t)arrivals_total(arrivals, (enum demand_class) class) + 1, sizeof(uint64_t));
}

bool replay_waits(struct arrivals *arrivals, int servers, const struct replay_target *target,
                  struct replay_waits *ret_waits)
{
    struct trial trial = { 0 };

    keep_waits(&trial.run, arrivals);

    bool passes = trial_init(&trial, arrivals, servers, target) &&
                  run_all(&trial.run, arrivals, trial.allowed) && trial_passes(&trial);

    if (passes)
        *ret_waits = quantiles_of(&trial.run, arrivals, target->percentile);
    run_clear(&trial.run);
    return passes;
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
    keep_waits(&run, arrivals);
    run_ready(&run, arrivals, servers);
    (void)run_all(&run, arrivals, NULL);
    ret_result->waits = quantiles_of(&run, arrivals, target->percentile);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        ret_result->classes[class] = class_result(&run, (enum demand_class) class,
                                                  target->percentile);
    run_clear(&run);
    return 0;
}
