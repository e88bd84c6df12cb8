/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The sweep: next arrival or next completion, whichever comes first.  Busy servers are a heap of
 * the times at which they are free; waits go into a histogram with steps of 1.6 %.
 */
#include "base/array.h"
#include "base/json.h"
#include "base/random.h"
#include "tools/simulator/traffic.h"

#include <math.h>

enum { LINEAR = 128, STEPS = 64, HISTOGRAM_SIZE = LINEAR + 34 * STEPS, HOUR_S = 3600 };

struct waits {
    uint64_t count, over;
    double sum_s, max_s;
    uint64_t buckets[HISTOGRAM_SIZE];
};

struct arrival {
    double at_s;
    bool is_low;
};

struct fifo {
    double *items;
    size_t first, count, capacity; /* a ring; capacity is a power of two */
};

struct hour {
    int64_t number;
    uint64_t count, over;
    double p98_s, max_s;
};

struct queue_play {
    struct random arrival_chance, service_chance; /* apart: when a report is asked matters not */
    double service_s, service_cv, log_mean, log_deviation, target_s;
    ARRAY(struct arrival) arrivals;
    size_t next_arrival;
    ARRAY(double) busy;
    struct fifo waiting[2];
    double now_s;
    int idle;
    int retiring; /* busy servers that stop after their request */
    struct waits waits[2];
    struct waits hour;
    int64_t hour_number;
    ARRAY(struct hour) hours;
};

struct queue_play *queue_play_new(uint64_t seed, double service_s, double service_cv,
                                  double target_s)
{
    struct queue_play *play = mem_new(sizeof *play);
    double variance = log(1 + service_cv * service_cv);

    random_seed(&play->arrival_chance, random_mix(seed, "arrivals", 0, 0));
    random_seed(&play->service_chance, random_mix(seed, "service", 0, 0));
    play->service_s = service_s;
    play->service_cv = service_cv;
    play->log_mean = log(service_s > 0 ? service_s : 1) - variance / 2;
    play->log_deviation = sqrt(variance);
    play->target_s = target_s;
    return play;
}

void queue_play_free(struct queue_play *play)
{
    if (!play)
        return;
    array_clear(&play->arrivals);
    array_clear(&play->busy);
    array_clear(&play->hours);
    mem_free(play->waiting[0].items);
    mem_free(play->waiting[1].items);
    mem_free(play);
}

static size_t bucket_of(double wait_s)
{
    uint64_t ms = (uint64_t)(wait_s * 1000);

    if (ms < LINEAR)
        return (size_t)ms;

    unsigned exponent = 63u - (unsigned)__builtin_clzll(ms);
    size_t bucket = LINEAR + (exponent - 7) * STEPS + ((ms >> (exponent - 6)) & (STEPS - 1));

    return bucket < HISTOGRAM_SIZE ? bucket : HISTOGRAM_SIZE - 1;
}

/* The middle of a bucket, in seconds. */
static double bucket_s(size_t bucket)
{
    if (bucket < LINEAR)
        return (double)bucket / 1000;

    unsigned exponent = (unsigned)((bucket - LINEAR) / STEPS) + 7;
    uint64_t low = (STEPS + (bucket - LINEAR) % STEPS) << (exponent - 6);

    return ((double)low + (double)(UINT64_C(1) << (exponent - 6)) / 2) / 1000;
}

static double quantile(const struct waits *waits, double percent)
{
    uint64_t wanted = (uint64_t)ceil((double)waits->count * percent / 100), seen = 0;

    for (size_t i = 0; i < HISTOGRAM_SIZE; i++) {
        seen += waits->buckets[i];
        if (seen >= wanted && seen)
            return fmin(bucket_s(i), waits->max_s);
    }
    return waits->max_s;
}

static void add_wait(struct waits *waits, double wait_s, double target_s)
{
    waits->count++;
    waits->over += wait_s > target_s;
    waits->sum_s += wait_s;
    if (wait_s > waits->max_s)
        waits->max_s = wait_s;
    waits->buckets[bucket_of(wait_s)]++;
}

static void close_hour(struct queue_play *play)
{
    if (play->hour.count) {
        struct hour *hour = array_add(&play->hours);

        *hour = (struct hour){ play->hour_number, play->hour.count, play->hour.over,
                               quantile(&play->hour, 98), play->hour.max_s };
        memset(&play->hour, 0, sizeof play->hour);
    }
    play->hour_number = (int64_t)(play->now_s / HOUR_S);
}

static void record(struct queue_play *play, bool is_low, double wait_s)
{
    if (play->now_s >= (double)(play->hour_number + 1) * HOUR_S)
        close_hour(play);
    add_wait(&play->waits[is_low], wait_s, play->target_s);
    add_wait(&play->hour, wait_s, play->target_s);
}

static void fifo_push(struct fifo *fifo, double value)
{
    if (fifo->count == fifo->capacity) {
        size_t capacity = fifo->capacity ? 2 * fifo->capacity : 64;
        double *items = mem_new_array(capacity, sizeof *items);

        for (size_t i = 0; i < fifo->count; i++)
            items[i] = fifo->items[(fifo->first + i) & (fifo->capacity - 1)];
        mem_free(fifo->items);
        *fifo = (struct fifo){ items, 0, fifo->count, capacity };
    }
    fifo->items[(fifo->first + fifo->count++) & (fifo->capacity - 1)] = value;
}

static double fifo_pop(struct fifo *fifo)
{
    double value = fifo->items[fifo->first];

    fifo->first = (fifo->first + 1) & (fifo->capacity - 1);
    fifo->count--;
    return value;
}

static double draw_service(struct queue_play *play)
{
    if (play->service_cv == 1)
        return random_exponential(&play->service_chance, play->service_s);
    if (play->service_cv == 0)
        return play->service_s;
    return exp(play->log_mean + play->log_deviation * random_normal(&play->service_chance));
}

static void busy_push(struct queue_play *play, double until_s)
{
    *array_add(&play->busy) = until_s;

    double *items = play->busy.items;
    size_t at = play->busy.count - 1;

    while (at > 0 && until_s < items[(at - 1) / 2]) {
        items[at] = items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    items[at] = until_s;
}

/* Puts a time in the place of the first. */
static void busy_replace(struct queue_play *play, double until_s)
{
    double *items = play->busy.items;
    size_t count = play->busy.count, at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= count)
            break;
        if (child + 1 < count && items[child + 1] < items[child])
            child++;
        if (items[child] >= until_s)
            break;
        items[at] = items[child];
        at = child;
    }
    items[at] = until_s;
}

static void busy_pop(struct queue_play *play)
{
    double last = play->busy.items[--play->busy.count];

    if (play->busy.count)
        busy_replace(play, last);
}

/* The next request in line begins; false when nobody waits. */
static bool take_waiting(struct queue_play *play)
{
    for (int is_low = 0; is_low < 2; is_low++)
        if (play->waiting[is_low].count) {
            record(play, is_low, play->now_s - fifo_pop(&play->waiting[is_low]));
            return true;
        }
    return false;
}

void queue_play_arrivals(struct queue_play *play, double from_s, double length_s,
                         const int count[2])
{
    int left = count[0] + count[1], low_left = count[1];
    size_t first = play->arrivals.count;
    double sum = 0;

    if (play->next_arrival == play->arrivals.count)
        play->next_arrival = play->arrivals.count = first = 0;
    /* Sorted uniform times: running sums of exponentials over their total. */
    for (int i = 0; i < left; i++) {
        sum += random_exponential(&play->arrival_chance, 1);
        *array_add(&play->arrivals) = (struct arrival){ sum, false };
    }
    sum += random_exponential(&play->arrival_chance, 1);

    size_t kept = first;

    for (size_t i = first; i < play->arrivals.count; i++, left--) {
        struct arrival arrival = { from_s + play->arrivals.items[i].at_s / sum * length_s, false };

        if (low_left && (low_left == left || random_below(&play->arrival_chance, (uint64_t)left) <
                                                 (uint64_t)low_left)) {
            arrival.is_low = true;
            low_left--;
        }
        if (arrival.at_s >= 0) /* the part of the first minute before the start is not played */
            play->arrivals.items[kept++] = arrival;
    }
    play->arrivals.count = kept;
}

void queue_play_servers(struct queue_play *play, int change)
{
    for (; change > 0; change--) {
        if (take_waiting(play))
            busy_push(play, play->now_s + draw_service(play));
        else
            play->idle++;
    }
    for (; change < 0; change++) {
        if (play->idle)
            play->idle--;
        else
            play->retiring++;
    }
}

static void arrive(struct queue_play *play, const struct arrival *arrival)
{
    if (play->idle) {
        play->idle--;
        record(play, arrival->is_low, 0);
        busy_push(play, play->now_s + draw_service(play));
    } else {
        fifo_push(&play->waiting[arrival->is_low], arrival->at_s);
    }
}

static void complete(struct queue_play *play)
{
    if (play->retiring) {
        play->retiring--;
        busy_pop(play);
    } else if (take_waiting(play)) {
        busy_replace(play, play->now_s + draw_service(play));
    } else {
        play->idle++;
        busy_pop(play);
    }
}

void queue_play_until(struct queue_play *play, double until_s)
{
    for (;;) {
        double arrival_s = play->next_arrival < play->arrivals.count
                               ? play->arrivals.items[play->next_arrival].at_s
                               : INFINITY;
        double free_s = play->busy.count ? play->busy.items[0] : INFINITY;

        if (fmin(arrival_s, free_s) > until_s)
            break;
        if (free_s <= arrival_s) {
            play->now_s = free_s;
            complete(play);
        } else {
            play->now_s = arrival_s;
            arrive(play, &play->arrivals.items[play->next_arrival++]);
        }
    }
    play->now_s = until_s;
}

static json_t *waits_report(const struct waits *waits)
{
    return json_make("{s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "count", (json_int_t)waits->count,
                     "over_target", (json_int_t)waits->over, "mean_s",
                     waits->count ? waits->sum_s / (double)waits->count : 0.0, "p50_s",
                     quantile(waits, 50), "p90_s", quantile(waits, 90), "p98_s",
                     quantile(waits, 98), "max_s", waits->max_s);
}

json_t *queue_play_report(const struct queue_play *play)
{
    json_t *hours = json_array();
    struct waits *all = mem_new(sizeof *all);
    json_t *report;

    *all = play->waits[0];
    all->count += play->waits[1].count;
    all->over += play->waits[1].over;
    all->sum_s += play->waits[1].sum_s;
    all->max_s = fmax(all->max_s, play->waits[1].max_s);
    for (size_t i = 0; i < HISTOGRAM_SIZE; i++)
        all->buckets[i] += play->waits[1].buckets[i];
    for (size_t i = 0; i < play->hours.count; i++) {
        const struct hour *hour = &play->hours.items[i];

        json_array_append_new(
            hours, json_make("{s:I, s:I, s:I, s:f, s:f}", "hour", (json_int_t)hour->number, "count",
                             (json_int_t)hour->count, "over_target", (json_int_t)hour->over,
                             "p98_s", hour->p98_s, "max_s", hour->max_s));
    }
    report = json_make(
        "{s:o, s:o, s:o, s:I, s:I, s:o}", "all", waits_report(all), "high",
        waits_report(&play->waits[0]), "low", waits_report(&play->waits[1]), "waiting",
        (json_int_t)(play->waiting[0].count + play->waiting[1].count), "servers",
        (json_int_t)play->idle + (json_int_t)play->busy.count - play->retiring, "hours", hours);
    mem_free(all);
    return report;
}
