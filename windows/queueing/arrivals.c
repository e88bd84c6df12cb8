/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uniform positions inside a step are exact for a Poisson stream whose rate is constant in the step
 * and whose count is known.  They are sorted by buckets as many as there are arrivals, which takes
 * time proportional to their number.
 */
#include "windows/queueing/arrivals.h"

#include "windows/servers/engine_periods.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_ARRIVALS = 1 << 12,
    SERVICES_A_DRAW = 4,
    KEPT_ARRIVALS = 3 << 20, /* of one repetition: 24 MB */
    STEP_ARRIVALS_MAX = 50 * 1000 * 1000,
    BUCKETS_MAX = 1 << 16,
    BEFORE_MEANS = 8, /* of the service time: what arrived earlier has left */
};

struct before {
    uint64_t *left;
    size_t count;
    bool is_known;
};

struct arrivals {
    struct arrivals_setup setup;
    uint64_t step_ticks;
    ARRAY(struct arrivals_chunk) chunks;
    size_t *first_chunk;     /* one a segment */
    struct before *before;   /* one a segment */
    struct random *services; /* one a chunk: arrivals_services() */
    size_t *services_known;  /* one a segment: so many of its first chunks */
    size_t segment_count;
    int64_t total[DEMAND_CLASSES];
    bool is_kept;
    size_t held; /* the chunk that is in memory when they are not kept */
    uint32_t *buckets;
    uint32_t *scratch;
    size_t scratch_size;
};

/* The count of a known step, scaled: its fraction is drawn at random, monotone in the scale. */
size_t arrivals_of_step(const struct arrivals *arrivals, size_t step, enum demand_class class,
                        struct random *ret_random)
{
    const struct arrivals_setup *setup = &arrivals->setup;
    double count = demand_at(setup->series, class, step) * setup->scale;
    double whole = floor(count);

    random_seed(ret_random, random_mix(setup->seed, "arrivals",
                                       (uint64_t)demand_time(setup->series, step).ms, class));
    return (size_t)whole + (random_unit(ret_random) < count - whole);
}

/* The same, without a random number where none has to decide. */
static size_t count_of_step(const struct arrivals *arrivals, size_t step, enum demand_class class)
{
    double count = demand_at(arrivals->setup.series, class, step) * arrivals->setup.scale;
    struct random random;

    return count == floor(count) ? (size_t)count : arrivals_of_step(arrivals, step, class, &random);
}

uint64_t arrivals_service_seed(const struct arrivals_setup *setup, size_t step)
{
    return random_mix(setup->seed, "service", (uint64_t)demand_time(setup->series, step).ms, 0);
}

/* A chunk is of one period. */
static struct arrivals_chunk *chunk_for(struct arrivals *arrivals, size_t segment, size_t step)
{
    size_t period = engine_period_at(arrivals->setup.service->engine,
                                     demand_time(arrivals->setup.series, step).ms);
    struct arrivals_chunk *last = arrivals->chunks.count > 0
                                      ? &arrivals->chunks.items[arrivals->chunks.count - 1]
                                      : NULL;

    if (last && last->segment == segment && last->period == period &&
        last->count[DEMAND_HIGH] + last->count[DEMAND_LOW] < CHUNK_ARRIVALS)
        return last;
    if (!last || last->segment != segment)
        arrivals->first_chunk[segment] = arrivals->chunks.count;

    struct arrivals_chunk *chunk = array_add(&arrivals->chunks);

    chunk->segment = segment;
    chunk->first = step;
    chunk->period = period;
    return chunk;
}

static int count_step(struct arrivals *arrivals, struct arrivals_chunk *chunk, size_t step,
                      double *ret_count, struct error *err)
{
    *ret_count = 0;
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        size_t count = count_of_step(arrivals, step, (enum demand_class) class);

        if (count > STEP_ARRIVALS_MAX)
            return error_set(err, ERROR_INVALID,
                             "queue %s: %zu arrivals in one step; at most %d are possible",
                             arrivals->setup.series->queue, count, STEP_ARRIVALS_MAX);
        chunk->count[class] += count;
        arrivals->total[class] += (int64_t)count;
        *ret_count += (double)count;
    }
    chunk->steps++;
    return 0;
}

/* The load after a step is the rest of the load before it, plus its own arrivals. */
static int plan_segment(struct arrivals *arrivals, size_t at, struct error *err)
{
    const struct segment *segment = &arrivals->setup.segments->list.items[at];
    const struct engine *engine = arrivals->setup.service->engine;
    double mean_s = arrivals->setup.service->mean_s;
    double step_s = (double)arrivals->setup.series->step_ms / SECOND_MS;
    double stay_s = engine ? engine_half_full_s(engine) : mean_s;
    double load = 0;
    size_t before = 0;

    for (size_t step = segment->first; step < segment->first + segment->count; step++) {
        struct arrivals_chunk *chunk = chunk_for(arrivals, at, step);
        double work = engine ? engine_period_work(engine, chunk->period) : 1;
        double keeps = exp(-step_s / (stay_s * work));
        double count;

        if (chunk->steps == 0)
            chunk->before = before;
        if (count_step(arrivals, chunk, step, &count, err) < 0)
            return -1;
        before += (size_t)count;
        chunk->is_first = chunk->first == segment->first;
        chunk->is_last = step + 1 == segment->first + segment->count;
        chunk->end = (step + 1 - segment->first) * arrivals->step_ticks;
        if (step == segment->first)
            load = count / step_s * mean_s * work;
        chunk->load = fmax(chunk->load, load);
        load = load * keeps + count / step_s * mean_s * work * (1 - keeps);
        chunk->load = fmax(chunk->load, load);
    }
    return 0;
}

static int plan_chunks(struct arrivals *arrivals, struct error *err)
{
    for (size_t i = 0; i < arrivals->segment_count; i++)
        if (plan_segment(arrivals, i, err) < 0)
            return -1;
    arrivals->services = mem_new_array(arrivals->chunks.count, sizeof *arrivals->services);
    return 0;
}

struct arrivals *arrivals_new(const struct arrivals_setup *setup, struct error *err)
{
    owned(arrivals) struct arrivals *arrivals = mem_new(sizeof *arrivals);

    arrivals->setup = *setup;
    arrivals->step_ticks = (uint64_t)setup->series->step_ms * TICKS_PER_MS;
    arrivals->segment_count = setup->segments->list.count;
    arrivals->before = mem_new_array(arrivals->segment_count, sizeof *arrivals->before);
    arrivals->first_chunk = mem_new_array(arrivals->segment_count, sizeof *arrivals->first_chunk);
    arrivals->services_known = mem_new_array(arrivals->segment_count,
                                             sizeof *arrivals->services_known);
    arrivals->buckets = mem_new_array(BUCKETS_MAX + 1, sizeof *arrivals->buckets);
    arrivals->held = SIZE_MAX;
    if (plan_chunks(arrivals, err) < 0)
        return NULL;
    arrivals->is_kept = arrivals->total[DEMAND_HIGH] + arrivals->total[DEMAND_LOW] <= KEPT_ARRIVALS;
    return steal(&arrivals);
}

static void drop_chunk(struct arrivals_chunk *chunk)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        mem_free(chunk->at[class]);
        chunk->at[class] = NULL;
    }
}

void arrivals_drop(struct arrivals *arrivals)
{
    for (size_t i = 0; i < arrivals->chunks.count; i++)
        drop_chunk(&arrivals->chunks.items[i]);
    arrivals->held = SIZE_MAX;
}

void arrivals_free(struct arrivals *arrivals)
{
    if (!arrivals)
        return;
    arrivals_drop(arrivals);
    array_clear(&arrivals->chunks);
    for (size_t i = 0; i < arrivals->segment_count; i++)
        mem_free(arrivals->before[i].left);
    mem_free(arrivals->before);
    mem_free(arrivals->first_chunk);
    mem_free(arrivals->services);
    mem_free(arrivals->services_known);
    mem_free(arrivals->buckets);
    mem_free(arrivals->scratch);
    mem_free(arrivals);
}

const struct arrivals_setup *arrivals_setup_of(const struct arrivals *arrivals)
{
    return &arrivals->setup;
}

int64_t arrivals_total(const struct arrivals *arrivals, enum demand_class class)
{
    return arrivals->total[class];
}

size_t arrivals_chunks(const struct arrivals *arrivals)
{
    return arrivals->chunks.count;
}

size_t arrivals_first_chunk(const struct arrivals *arrivals, size_t segment)
{
    return arrivals->first_chunk[segment];
}

const struct arrivals_chunk *arrivals_outline(const struct arrivals *arrivals, size_t at)
{
    return &arrivals->chunks.items[at];
}

/* Walks on from the last chunk for which it is known. */
void arrivals_services(struct arrivals *arrivals, size_t at, struct random *ret_random,
                       unsigned *ret_drawn)
{
    const struct arrivals_chunk *chunks = arrivals->chunks.items;
    size_t first = arrivals->first_chunk[chunks[at].segment];
    size_t *known = &arrivals->services_known[chunks[at].segment];

    for (; first + *known <= at; (*known)++) {
        size_t next = first + *known;
        size_t draws = chunks[next].before / SERVICES_A_DRAW;
        struct random random;

        if (*known == 0) {
            random_seed(&random, arrivals_service_seed(&arrivals->setup, chunks[next].first));
        } else {
            random = arrivals->services[next - 1];
            draws -= chunks[next - 1].before / SERVICES_A_DRAW;
        }
        for (size_t i = 0; i < draws; i++)
            (void)random_next(&random);
        arrivals->services[next] = random;
    }
    *ret_random = arrivals->services[at];
    *ret_drawn = (unsigned)(chunks[at].before % SERVICES_A_DRAW);
}

static void insertion_sort(uint64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint64_t value = values[i];
        size_t at = i;

        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

/* Positions in 1/2^32 of the step, sorted into `out`.  There are two buckets for each arrival, so
   few hold more than one. */
static void draw_sorted(struct arrivals *arrivals, struct random random, size_t count,
                        uint64_t *out)
{
    unsigned bits = 1;

    if (count > arrivals->scratch_size) {
        arrivals->scratch = mem_resize(arrivals->scratch, count, sizeof *arrivals->scratch);
        arrivals->scratch_size = count;
    }
    while ((1u << bits) < 2 * count && (1u << bits) < BUCKETS_MAX)
        bits++;

    uint32_t *starts = arrivals->buckets;
    uint32_t *scratch = arrivals->scratch;
    uint32_t sum = 0;

    memset(starts, 0, ((size_t)1 << bits) * sizeof *starts);
    for (size_t i = 0; i < count; i++) {
        scratch[i] = (uint32_t)(random_next(&random) >> 32);
        starts[scratch[i] >> (32 - bits)]++;
    }
    for (size_t i = 0; i < (size_t)1 << bits; i++) {
        uint32_t here = starts[i];

        starts[i] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++)
        out[starts[scratch[i] >> (32 - bits)]++] = scratch[i];
    if ((size_t)1 << bits >= count) {
        insertion_sort(out, count);
        return;
    }
    for (size_t i = 0, first = 0; i < (size_t)1 << bits; first = starts[i++])
        insertion_sort(out + first, starts[i] - first);
}

static void fill_class(struct arrivals *arrivals, struct arrivals_chunk *chunk,
                       enum demand_class class)
{
    size_t filled = 0;

    chunk->at[class] = mem_resize(NULL, chunk->count[class] + 1, sizeof *chunk->at[class]);
    for (size_t step = chunk->first; step < chunk->first + chunk->steps; step++) {
        const struct segment *segment = &arrivals->setup.segments->list.items[chunk->segment];
        uint64_t begin = (step - segment->first) * arrivals->step_ticks;
        uint64_t *out = chunk->at[class] + filled;
        struct random random;
        size_t count = arrivals_of_step(arrivals, step, class, &random);

        if (count == 0)
            continue;
        draw_sorted(arrivals, random, count, out);
        for (size_t i = 0; i < count; i++)
            out[i] = begin + (out[i] * arrivals->step_ticks >> 32);
        filled += count;
    }
}

const struct arrivals_chunk *arrivals_chunk(struct arrivals *arrivals, size_t at)
{
    struct arrivals_chunk *chunk = &arrivals->chunks.items[at];

    if (chunk->at[DEMAND_HIGH])
        return chunk;
    if (!arrivals->is_kept && arrivals->held != SIZE_MAX)
        drop_chunk(&arrivals->chunks.items[arrivals->held]);
    arrivals->held = at;
    fill_class(arrivals, chunk, DEMAND_HIGH);
    fill_class(arrivals, chunk, DEMAND_LOW);
    return chunk;
}

static int compare_descending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return a > b ? -1 : a < b;
}

void arrivals_sort_descending(uint64_t *ticks, size_t count)
{
    if (count > 1)
        qsort(ticks, count, sizeof *ticks, compare_descending);
}

struct left_over {
    ARRAY(uint64_t) ticks;
};

/* Adds the requests in progress from the step that ends `distance` ticks before the segment
   begins. */
static void add_left_over(struct arrivals *arrivals, size_t step, uint64_t label, uint64_t distance,
                          struct left_over *left)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        struct random random;
        size_t count = arrivals_of_step(arrivals, step, (enum demand_class) class, &random);

        random_seed(&random, random_mix(arrivals->setup.seed, "before", label, (uint64_t) class));
        for (size_t i = 0; i < count; i++) {
            uint64_t draw = random_next(&random);
            uint64_t ago = distance + ((draw >> 32) * arrivals->step_ticks >> 32);
            uint64_t service = arrivals->setup.service->ticks[draw & (SERVICE_TIMES - 1)];

            if (service > ago)
                *array_add(&left->ticks) = service - ago;
        }
    }
}

const uint64_t *arrivals_before(struct arrivals *arrivals, size_t segment, size_t *ret_count)
{
    struct before *before = &arrivals->before[segment];
    const struct demand_series *series = arrivals->setup.series;
    size_t first = arrivals->setup.segments->list.items[segment].first;

    if (!before->is_known) {
        struct left_over left = { 0 };
        double reach = arrivals->setup.service->mean_s * TICKS_PER_SECOND * BEFORE_MEANS;
        size_t steps = (size_t)(reach / (double)arrivals->step_ticks) + 1;
        size_t known = 0;

        while (known < steps && known < first && demand_is_known(series, first - known - 1))
            known++;
        for (size_t i = 0; i < steps; i++)
            add_left_over(arrivals, i < known ? first - i - 1 : first,
                          (uint64_t)demand_time(series, first).ms - i, i * arrivals->step_ticks,
                          &left);
        if (left.ticks.count > 0)
            qsort(left.ticks.items, left.ticks.count, sizeof *left.ticks.items, compare_descending);
        before->left = left.ticks.items;
        before->count = left.ticks.count;
        before->is_known = true;
    }
    *ret_count = before->count;
    return before->left;
}
