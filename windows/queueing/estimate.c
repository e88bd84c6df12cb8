/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The load of every step is put into one of 256 bins, so that a look at one number of servers costs
 * the same for a day as for a year.
 */
#include "windows/queueing/estimate.h"

#include "windows/servers/erlang.h"

#include <math.h>

/* Near 1 no number of servers is enough for a formula, whose tail never ends. */
static const double p_max = 0.9999;

static double step_arrivals(const struct arrivals_setup *setup, size_t step)
{
    return setup->scale * ((double)demand_at(setup->series, DEMAND_HIGH, step) +
                           (double)demand_at(setup->series, DEMAND_LOW, step));
}

/* The first pass finds the largest load, the second fills the bins below it. */
static void walk(struct estimate *estimate, const struct arrivals_setup *setup, bool fills)
{
    double step_s = (double)setup->series->step_ms / SECOND_MS;
    double keeps = exp(-step_s / estimate->mean_s);

    for (size_t i = 0; i < setup->segments->list.count; i++) {
        const struct segment *segment = &setup->segments->list.items[i];
        double load = step_arrivals(setup, segment->first) / step_s * estimate->mean_s;

        for (size_t step = segment->first; step < segment->first + segment->count; step++) {
            double arrivals = step_arrivals(setup, step);

            load = load * keeps + arrivals / step_s * estimate->mean_s * (1 - keeps);
            if (!fills) {
                estimate->load_max = fmax(estimate->load_max, load);
                continue;
            }

            double bin = load / estimate->load_max * ESTIMATE_BINS;

            estimate->share[bin < ESTIMATE_BINS ? (int)bin : ESTIMATE_BINS - 1] += arrivals;
        }
    }
}

/* The load of an engine follows the rate as slowly as services last where most of its slots run. */
static struct estimate of_engine(const struct engine *engine)
{
    static const double part = 0.75;
    struct engine_station station = engine_station_of(engine, 1);

    return (struct estimate){ .mean_s = station.fixed_s + station.slope_s * part * station.slots,
                              .cv = engine->cv_out,
                              .engine = station };
}

void estimate_init(struct estimate *estimate, const struct arrivals_setup *setup)
{
    double sum = 0;

    *estimate = setup->service->engine ? of_engine(setup->service->engine)
                                       : (struct estimate){ .mean_s = setup->service->mean_s,
                                                            .cv = setup->service->cv };
    walk(estimate, setup, false);
    if (!(estimate->load_max > 0))
        return;
    walk(estimate, setup, true);
    for (int i = 0; i < ESTIMATE_BINS; i++)
        sum += estimate->share[i];
    for (int i = 0; i < ESTIMATE_BINS; i++)
        estimate->share[i] /= sum;
}

static double bin_load(const struct estimate *estimate, int bin)
{
    return estimate->load_max * (bin + 0.5) / ESTIMATE_BINS;
}

/* The bins that hold something, with what does not depend on the wait asked about. */
struct curve {
    double unstable; /* share of the arrivals at a load that so many servers cannot serve */
    int count;
    double load[ESTIMATE_BINS];
    double waiting[ESTIMATE_BINS]; /* share of all arrivals that come then and wait */
    double decay[ESTIMATE_BINS];   /* per second */
};

/* Erlang's C for all loads at once: without a division in the recursion, and vectorised.  Its
   inverse grows without bound where waiting is negligible, and becomes infinite there.  Loads
   ascend.  Nine standard deviations below the smallest load the recursion may begin with its limit,
   because from there to the load an error shrinks by more than 1e17. */
static void curve_waiting(struct curve *curve, int servers)
{
    enum { LANES = 8 };

    for (int first = 0; first < curve->count; first += LANES) {
        double inverse[LANES];
        double step[LANES];
        int count = curve->count - first < LANES ? curve->count - first : LANES;
        int begin = (int)fmax(0, curve->load[first] - 9 * sqrt(curve->load[first]) - 10);

        for (int i = 0; i < LANES; i++) {
            step[i] = 1 / curve->load[first + (i < count ? i : 0)];
            inverse[i] = 1 / (1 - begin * step[i]);
        }
        for (int n = begin + 1; n <= servers; n++)
            for (int i = 0; i < LANES; i++)
                inverse[i] = 1 + inverse[i] * (n * step[i]);
        for (int i = 0; i < count; i++) {
            double load = curve->load[first + i];
            double blocked = 1 / inverse[i];

            curve->waiting[first + i] *= servers * blocked / ((servers - load) + load * blocked);
        }
    }
}

/* At such a load less than one request in 1e17 waits: Bernstein's bound on the tail of a Poisson
   number.  Most bins are like that, and need no further computation. */
static bool nobody_waits(double load, int servers)
{
    double spare = servers - load;

    return spare * spare > 80 * (load + spare / 3);
}

/* The same for engines.  A rate at which waiting is negligible is skipped. */
static void curve_engines(struct curve *curve, const struct estimate *estimate, int servers)
{
    struct engine_station station = estimate->engine;
    double slower = 2 / (1 + estimate->cv * estimate->cv);
    double shares[ESTIMATE_BINS];

    station.replicas = servers;

    double capacity = engine_capacity(&station);
    double parts = station.is_split ? servers : 1;

    curve->unstable = 0;
    curve->count = 0;
    for (int i = 0; i < ESTIMATE_BINS; i++) {
        double rate = bin_load(estimate, i) / estimate->mean_s;

        if (estimate->share[i] <= 0 || (rate < capacity && engine_hardly_waits(&station, rate)))
            continue;
        if (rate >= capacity) {
            curve->unstable += estimate->share[i];
            continue;
        }
        curve->load[curve->count] = rate;
        shares[curve->count] = estimate->share[i];
        curve->decay[curve->count++] = slower * (capacity - rate) / parts;
    }
    engine_waiting_each(&station, curve->load, (size_t)curve->count, curve->waiting);
    for (int i = 0; i < curve->count; i++)
        curve->waiting[i] *= shares[i];
}

static void curve_init(struct curve *curve, const struct estimate *estimate, int servers)
{
    if (estimate->engine.slots > 0) {
        curve_engines(curve, estimate, servers);
        return;
    }

    double slower = 2 / (1 + estimate->cv * estimate->cv);

    curve->unstable = 0;
    curve->count = 0;
    for (int i = 0; i < ESTIMATE_BINS; i++) {
        double load = bin_load(estimate, i);

        if (estimate->share[i] <= 0 || (load < servers && nobody_waits(load, servers)))
            continue;
        if (load >= servers) {
            curve->unstable += estimate->share[i];
            continue;
        }
        curve->load[curve->count] = load;
        curve->waiting[curve->count] = estimate->share[i];
        curve->decay[curve->count++] = slower * (servers - load) / estimate->mean_s;
    }
    curve_waiting(curve, servers);
}

static double curve_tail(const struct curve *curve, double t_s)
{
    double tail = curve->unstable;

    for (int i = 0; i < curve->count; i++)
        tail += curve->waiting[i] * exp(-curve->decay[i] * t_s);
    return tail;
}

double estimate_tail(const struct estimate *estimate, int servers, double t_s)
{
    struct curve curve;

    curve_init(&curve, estimate, servers);
    return curve_tail(&curve, t_s);
}

/* Erlangs that a server can carry. */
static double most_load(const struct estimate *estimate)
{
    return estimate->engine.slots > 0 ? engine_capacity(&estimate->engine) * estimate->mean_s : 1;
}

double estimate_load(const struct estimate *estimate)
{
    return estimate->load_max > 0 ? estimate->load_max / most_load(estimate) : 0;
}

int estimate_servers(const struct estimate *estimate, double p, double t_s)
{
    int fails = 0;
    int passes = 1;

    p = fmin(p, p_max);
    if (!(estimate->load_max > 0))
        return 1;
    if (estimate_load(estimate) < ERLANG_SERVERS_MAX)
        passes = (int)ceil(estimate_load(estimate));
    while (passes < ERLANG_SERVERS_MAX && estimate_tail(estimate, passes, t_s) > 1 - p) {
        fails = passes;
        passes *= 2;
    }
    while (passes - fails > 1) {
        int middle = fails + (passes - fails) / 2;

        if (estimate_tail(estimate, middle, t_s) > 1 - p)
            fails = middle;
        else
            passes = middle;
    }
    return passes;
}

double estimate_pressure(const struct estimate *estimate, int servers, double p, double target_s)
{
    struct curve curve;
    double unstable = 1000;
    double below = 0;
    double above = unstable;

    p = fmin(p, p_max);
    if (!(estimate->load_max > 0))
        return 0;
    curve_init(&curve, estimate, servers);
    if (curve_tail(&curve, unstable * target_s) > 1 - p)
        return unstable * (1 + estimate->load_max / (most_load(estimate) * fmax(servers, 0.5)));
    if (curve_tail(&curve, 0) <= 1 - p)
        return 0;
    for (int i = 0; i < 24; i++) { /* to a ten-thousandth of the target */
        double middle = (below + above) / 2;

        if (curve_tail(&curve, middle * target_s) > 1 - p)
            below = middle;
        else
            above = middle;
    }
    return above;
}

double estimate_rate(const struct estimate *estimate, double p)
{
    double above = 0;
    int bin = ESTIMATE_BINS - 1;

    while (bin > 0 && above + estimate->share[bin] <= 1 - p)
        above += estimate->share[bin--];
    return estimate->load_max > 0 ? bin_load(estimate, bin) / estimate->mean_s : 0;
}
