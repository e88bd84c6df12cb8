/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The sweep: next arrival or next completion, whichever comes first.  Busy servers are a heap of
 * the times at which they are free; engines are played by engine_play.h.
 */
#include "base/array.h"
#include "base/input/json.h"
#include "base/random.h"
#include "tools/simulator/model/fifo.h"
#include "tools/simulator/model/traffic.h"

#include <math.h>

struct arrival {
    double at_s;
    bool is_low;
};

struct queue_play {
    struct random arrival_chance, service_chance; /* apart, so that the time of a report changes
                                                     nothing */
    double service_s, service_cv, log_mean, log_deviation;
    ARRAY(struct arrival) arrivals;
    size_t next_arrival;
    ARRAY(double) busy;
    struct fifo waiting[2];
    double now_s;
    int idle;
    int retiring;                /* busy servers that stop after their request */
    struct engine_play *engines; /* NULL: servers take one request at a time */
    struct wait_log *log;
};

static struct queue_play *new_play(uint64_t seed, double target_s, double first_token_target_s)
{
    struct queue_play *play = mem_new(sizeof *play);

    random_seed(&play->arrival_chance, random_mix(seed, "arrivals", 0, 0));
    play->log = wait_log_new(target_s, first_token_target_s);
    return play;
}

struct queue_play *queue_play_new_engines(uint64_t seed, const struct engine_plan *plan,
                                          double target_s, double first_token_target_s)
{
    struct queue_play *play = new_play(seed, target_s, first_token_target_s);

    play->engines = engine_play_new(seed, plan, play->log);
    return play;
}

struct queue_play *queue_play_new(uint64_t seed, double service_s, double service_cv,
                                  double target_s)
{
    struct queue_play *play = new_play(seed, target_s, INFINITY);
    double variance = log(1 + service_cv * service_cv);

    random_seed(&play->service_chance, random_mix(seed, "service", 0, 0));
    play->service_s = service_s;
    play->service_cv = service_cv;
    play->log_mean = log(service_s > 0 ? service_s : 1) - variance / 2;
    play->log_deviation = sqrt(variance);
    return play;
}

void queue_play_free(struct queue_play *play)
{
    if (!play)
        return;
    array_clear(&play->arrivals);
    array_clear(&play->busy);
    fifo_clear(&play->waiting[0]);
    fifo_clear(&play->waiting[1]);
    engine_play_free(play->engines);
    wait_log_free(play->log);
    mem_free(play);
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

/* The next request in line begins; false when no request waits. */
static bool take_waiting(struct queue_play *play)
{
    for (int is_low = 0; is_low < 2; is_low++)
        if (play->waiting[is_low].count) {
            wait_log_add(play->log, play->now_s, is_low,
                         play->now_s - fifo_pop(&play->waiting[is_low]));
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
    if (play->engines) {
        engine_play_replicas(play->engines, play->now_s, change);
        return;
    }
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
    if (play->engines) {
        engine_play_arrive(play->engines, play->now_s, arrival->is_low);
    } else if (play->idle) {
        play->idle--;
        wait_log_add(play->log, play->now_s, arrival->is_low, 0);
        busy_push(play, play->now_s + draw_service(play));
    } else {
        fifo_push(&play->waiting[arrival->is_low], arrival->at_s);
    }
}

static void complete(struct queue_play *play)
{
    if (play->engines) {
        engine_play_step(play->engines);
    } else if (play->retiring) {
        play->retiring--;
        busy_pop(play);
    } else if (take_waiting(play)) {
        busy_replace(play, play->now_s + draw_service(play));
    } else {
        play->idle++;
        busy_pop(play);
    }
}

/* When the next server or iteration is done. */
static double next_done(const struct queue_play *play)
{
    if (play->engines)
        return engine_play_next(play->engines);
    return play->busy.count ? play->busy.items[0] : INFINITY;
}

void queue_play_until(struct queue_play *play, double until_s)
{
    for (;;) {
        double arrival_s = play->next_arrival < play->arrivals.count
                               ? play->arrivals.items[play->next_arrival].at_s
                               : INFINITY;
        double free_s = next_done(play);

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

json_t *queue_play_report(const struct queue_play *play)
{
    if (play->engines)
        return wait_log_report(play->log, engine_play_waiting(play->engines),
                               engine_play_count(play->engines));
    return wait_log_report(play->log, play->waiting[0].count + play->waiting[1].count,
                           play->idle + (int)play->busy.count - play->retiring);
}
