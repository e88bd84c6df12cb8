/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Within a part of a step the shares of busy and free servers are held, so that both equations are
 * linear and solved exactly; a part is half a service long at most.  Far below c no request waits,
 * and a whole step is one part of which the factors are known beforehand.
 */
#include "windows/queueing/transient.h"

#include "windows/queueing/estimate.h"
#include "windows/servers/erlang.h"

#include <math.h>

enum { PARTS_MAX = 12, HALVINGS = 30, GALLOP = 8 };

static const double far = 6;            /* deviations, beyond which a tail is 0 */
static const double least_free = 0.02;  /* below it nothing draws the mean back */
static const double wait_max = 604800;  /* seconds */
static const double least_fixed = 1e-3; /* of the slope: else nothing would draw an engine back */
static const double late_enough = 20;   /* times what is allowed: how much more says nothing */

/* The number of requests in the system, as a normal variable. */
struct state {
    double mean;
    double variance;
};

/* One queue: of all servers, or of one where each has its own.  A server is an engine, or one with
   a single slot and no slope. */
struct fluid_queue {
    double places; /* requests in service at once */
    double replicas;
    double fixed_s; /* with b running a server ends b / (fixed + slope b) requests a second */
    double slope_s;
    double parts;     /* queues like this one that share the arrivals */
    double service_s; /* of a request that is alone */
    double cv2;
    double t_s;
    double slower; /* how much longer than a mean service the number of free servers takes to follow
                      the rate */
    double step_s;
    double kept; /* the share of a distance from the limit that is left after a step with free
                    servers; 0: it depends on how many run */
    double all;  /* arrivals */
};

/* How long a request stays in its slot with so many running in all replicas. */
static double held_s(const struct fluid_queue *queue, double running)
{
    return queue->fixed_s + queue->slope_s * (running / queue->replicas);
}

/* Requests a second that are ended with so many running. */
static double rate_at(const struct fluid_queue *queue, double running)
{
    return running / held_s(queue, running);
}

/* The part of a request's time that is its own; the other part depends on others leaving. */
static double own_share(const struct fluid_queue *queue, double running)
{
    return queue->fixed_s / held_s(queue, running);
}

/* Requests in service that end as fast as they come; all that there may be where none do. */
static double balance(const struct fluid_queue *queue, double rate)
{
    double own = 1 - rate * queue->slope_s / queue->replicas;

    return own > 0 ? rate * queue->fixed_s / own : HUGE_VAL;
}

/* The factor by which the load with a service-time law smooths the rate longer than with an
   exponential law: both then leave the same variance of a rate without correlation.  Exact for cv 0
   and 1; for the lognormal law within a few per cent. */
static double slower_by(double cv2)
{
    double ratio = (1 + cv2) / 2;

    return ratio < 1 ? ratio : cbrt(ratio);
}

static double upper_tail(double z)
{
    return z > far ? 0 : z < -far ? 1 : 0.5 * erfc(z * M_SQRT1_2);
}

/* Whether hardly anyone waits during a whole step. */
static bool is_far(const struct fluid_queue *queue, double rate, const struct state *state)
{
    double most = fmax(state->mean, balance(queue, rate));
    double room = queue->places - most - 1;

    return room > 0 &&
           room * room > far * far * fmax(state->variance, most / own_share(queue, most));
}

static void advance_far(const struct fluid_queue *queue, double rate, struct state *state)
{
    double load = balance(queue, rate);
    double follows_s = held_s(queue, load) / own_share(queue, load);
    double kept = queue->kept > 0 ? queue->kept : exp(-queue->step_s / follows_s / queue->slower);
    double wide = (rate + rate_at(queue, state->mean)) * follows_s / 2;

    state->mean = load + (state->mean - load) * kept;
    state->variance = wide + (state->variance - wide) * kept * kept;
}

/* The motion of mean and variance at a state, constant during a part of a step. */
struct motion {
    double served; /* a second */
    double back;   /* share a second by which the free servers draw it back */
    double noise;
};

static struct motion motion_at(const struct fluid_queue *queue, double rate,
                               const struct state *state)
{
    double deviation = sqrt(fmax(state->variance, 1e-6));
    double spare = queue->places - state->mean;
    double z = spare / deviation;
    double busy = upper_tail(z);
    double queued = z > far ? 0 : deviation * exp(-z * z / 2) / sqrt(2 * M_PI) - spare * busy;
    double running = state->mean - fmax(queued, 0);
    double own = own_share(queue, running);
    double held = held_s(queue, running);
    double bent = (1 - busy) * own * queue->slope_s / queue->replicas / (held * held);
    double served = rate_at(queue, running) -
                    fmin(bent * state->variance, rate_at(queue, running) / 2);

    return (struct motion){ served, (1 - busy) * own / held,
                            rate + served * (1 - busy + queue->cv2 * busy) };
}

/* The length of a part of a step.  In one part the mean moves by at most half a deviation, and the
   variance by half of itself.  A part has a least length. */
static double part_length(const struct fluid_queue *queue, double rate, const struct motion *motion,
                          const struct state *state)
{
    double drift = fabs(rate - motion->served);
    double widening = fabs(motion->noise - 2 * motion->back * state->variance);
    double part_s = fmin(0.5 * sqrt(state->variance) / fmax(drift, 1e-9),
                         0.5 * state->variance / fmax(widening, 1e-9));

    return fmax(part_s, fmax(queue->service_s / 2, queue->step_s / PARTS_MAX));
}

static void advance(const struct fluid_queue *queue, double rate, double part_s,
                    const struct motion *motion, struct state *state)
{
    if (motion->back * queue->service_s > least_free) {
        double rest = state->mean + (rate - motion->served) / motion->back;
        double wide = motion->noise / (2 * motion->back);
        double kept = exp(-motion->back * part_s / queue->slower);

        state->mean = rest + (state->mean - rest) * kept;
        state->variance = wide + (state->variance - wide) * kept * kept;
    } else {
        state->mean += (rate - motion->served) * part_s;
        state->variance += motion->noise * part_s;
    }
    state->mean = fmax(state->mean, 0);
}

/* The share of late requests among arrivals at a time of this mean and variance. */
static double late_share(const struct fluid_queue *queue, double mean, double variance)
{
    double done = queue->places * queue->t_s / held_s(queue, queue->places);
    double deviation = sqrt(variance + queue->cv2 * done + 1e-9);

    return upper_tail((queue->places + done - mean - 0.5) / deviation);
}

/* The share of a step's arrivals that wait too long. */
static double late_in_step(const struct fluid_queue *queue, double rate, struct state *state)
{
    double left_s = queue->step_s;
    double late = 0;

    if (is_far(queue, rate, state)) {
        advance_far(queue, rate, state);
        return 0;
    }
    while (left_s > 0) {
        struct motion motion = motion_at(queue, rate, state);
        double part_s = fmin(left_s, part_length(queue, rate, &motion, state));
        double before = state->mean;

        advance(queue, rate, part_s, &motion, state);
        late += part_s * late_share(queue, (before + state->mean) / 2, state->variance);
        left_s -= part_s;
    }
    return late / queue->step_s;
}

static double step_arrivals(const struct arrivals_setup *setup, size_t step)
{
    return setup->scale * ((double)demand_at(setup->series, DEMAND_HIGH, step) +
                           (double)demand_at(setup->series, DEMAND_LOW, step));
}

static void set_servers(struct fluid_queue *queue, const struct service_time *service, int servers)
{
    queue->replicas = queue->places = servers;
    queue->parts = 1;
    if (!service->engine)
        return;

    struct engine_station station = engine_station_of(service->engine, servers);

    queue->parts = station.is_split ? servers : 1;
    queue->replicas = servers / queue->parts;
    queue->places = station.slots * queue->replicas;
    queue->fixed_s = fmax(station.fixed_s, least_fixed * station.slope_s);
    queue->slope_s = station.slope_s;
}

static struct fluid_queue queue_of(const struct arrivals_setup *setup)
{
    const struct engine *engine = setup->service->engine;
    double cv = engine ? engine->cv_out : setup->service->cv;
    struct fluid_queue queue = { .service_s = setup->service->mean_s,
                                 .fixed_s = setup->service->mean_s,
                                 .cv2 = cv * cv,
                                 .step_s = (double)setup->series->step_ms / SECOND_MS };

    queue.slower = slower_by(queue.cv2);
    if (!engine)
        queue.kept = exp(-queue.step_s / queue.service_s / queue.slower);
    for (size_t i = 0; i < setup->segments->list.count; i++) {
        const struct segment *segment = &setup->segments->list.items[i];

        for (size_t step = segment->first; step < segment->first + segment->count; step++)
            queue.all += step_arrivals(setup, step);
    }
    return queue;
}

/* How many are late; stops when the number exceeds `enough`. */
static double count_late(const struct arrivals_setup *setup, const struct fluid_queue *queue,
                         double enough)
{
    double late = 0;

    for (size_t i = 0; i < setup->segments->list.count; i++) {
        const struct segment *segment = &setup->segments->list.items[i];
        double rate = step_arrivals(setup, segment->first) / queue->step_s / queue->parts;
        double load = fmin(balance(queue, rate), queue->places);
        struct state state = { load,
                               fmin(load / own_share(queue, load), queue->places * queue->places) };

        for (size_t step = segment->first; step < segment->first + segment->count; step++) {
            double arrivals = step_arrivals(setup, step);

            late += arrivals * late_in_step(queue, arrivals / queue->step_s / queue->parts, &state);
            if (late > enough)
                return late;
        }
    }
    return late;
}

static bool passes_with(const struct arrivals_setup *setup, struct fluid_queue queue, int servers,
                        double p)
{
    double allowed = (1 - p) * queue.all;

    set_servers(&queue, setup->service, servers);
    return count_late(setup, &queue, allowed) <= allowed;
}

double transient_tail(const struct arrivals_setup *setup, int servers, double t_s)
{
    struct fluid_queue queue = queue_of(setup);

    set_servers(&queue, setup->service, servers);
    queue.t_s = t_s;
    return queue.all > 0 ? count_late(setup, &queue, HUGE_VAL) / queue.all : 0;
}

/* Starts from the stationary formula, which is mostly too high, and goes down to the first number
   that fails.  If the start fails, goes up. */
int transient_servers(const struct arrivals_setup *setup, double p, double t_s)
{
    struct fluid_queue queue = queue_of(setup);
    struct estimate estimate;
    int fails = 0;
    int passes;

    if (!(queue.all > 0))
        return 0;
    queue.t_s = t_s;
    estimate_init(&estimate, setup);
    passes = estimate_servers(&estimate, p, t_s);
    while (passes < ERLANG_SERVERS_MAX && !passes_with(setup, queue, passes, p)) {
        fails = passes;
        passes += passes / GALLOP + 1;
    }
    for (int less = passes; fails == 0 && less > 1;) {
        less -= less / GALLOP + 1 < less ? less / GALLOP + 1 : less - 1;
        if (passes_with(setup, queue, less, p))
            passes = less;
        else
            fails = less;
    }
    while (passes - fails > 1) {
        int middle = fails + (passes - fails) / 2;

        if (passes_with(setup, queue, middle, p))
            passes = middle;
        else
            fails = middle;
    }
    return passes;
}

/* Two numbers of servers, and the shares that wait too long with them; 0: not found yet. */
struct between {
    int fails;
    double late;
    int passes;
    double rest;
};

static void look_at(const struct arrivals_setup *setup, struct fluid_queue queue, int servers,
                    double allowed, struct between *between)
{
    double late;

    set_servers(&queue, setup->service, servers);
    late = count_late(setup, &queue, late_enough * allowed * queue.all) / queue.all;
    if (late <= allowed) {
        between->passes = servers;
        between->rest = late;
    } else {
        between->fails = servers;
        between->late = fmin(late, late_enough * allowed);
    }
}

/* From a guess in steps that double; from the stationary formula in larger ones. */
static void enclose(const struct arrivals_setup *setup, const struct fluid_queue *queue, int guess,
                    double allowed, struct between *between)
{
    struct estimate estimate;
    int at = guess;
    int step = 1;

    if (guess <= 0) {
        estimate_init(&estimate, setup);
        at = estimate_servers(&estimate, 1 - allowed, queue->t_s);
        step = at / GALLOP + 1;
    }
    look_at(setup, *queue, at, allowed, between);
    while (between->passes == 0 && at < ERLANG_SERVERS_MAX) {
        at += step;
        step *= 2;
        look_at(setup, *queue, at, allowed, between);
    }
    while (between->fails == 0 && at > 1) {
        at = at > step ? at - step : 1;
        step *= guess > 0 ? 2 : 1;
        look_at(setup, *queue, at, allowed, between);
    }
}

double transient_need(const struct arrivals_setup *setup, double p, double t_s, int guess)
{
    struct fluid_queue queue = queue_of(setup);
    struct between between = { .late = 1 };
    double allowed = 1 - p;

    if (!(queue.all > 0))
        return 0;
    queue.t_s = t_s;
    enclose(setup, &queue, guess, allowed, &between);
    while (between.passes - between.fails > 1)
        look_at(setup, queue, between.fails + (between.passes - between.fails) / 2, allowed,
                &between);
    if (!(between.rest > 0) || between.late <= between.rest)
        return between.passes;
    return between.passes - fmin(1, log(allowed / between.rest) / log(between.late / between.rest));
}

double transient_wait(const struct arrivals_setup *setup, int servers, double p)
{
    struct fluid_queue queue = queue_of(setup);
    double below = 0;
    double above = 1;

    if (passes_with(setup, queue, servers, p))
        return 0;
    for (queue.t_s = above; !passes_with(setup, queue, servers, p); queue.t_s = above *= 2) {
        if (above >= wait_max)
            return wait_max;
        below = above;
    }
    for (int i = 0; i < HALVINGS && above - below > 5e-3 * above; i++) {
        queue.t_s = (below + above) / 2;
        if (passes_with(setup, queue, servers, p))
            above = queue.t_s;
        else
            below = queue.t_s;
    }
    return above;
}
