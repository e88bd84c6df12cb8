/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Closed forms without cancellation: every recursion and sum here has positive terms only, so that
 * the relative error stays near that of its inputs even where the result is 1e-80.
 */
#include "windows/servers/erlang.h"

#include <math.h>
#include <stdbool.h>

double erlang_b(int servers, double load)
{
    double blocked = 1;

    for (int n = 1; n <= servers; n++)
        blocked = load * blocked / (n + load * blocked);
    return blocked;
}

/* C from B: written as a sum so that nothing cancels near saturation. */
static double waiting_share(int servers, double load, double blocked)
{
    return servers * blocked / ((servers - load) + load * blocked);
}

double erlang_c(int servers, double load)
{
    if (!(load < servers))
        return 1;
    return waiting_share(servers, load, erlang_b(servers, load));
}

double erlang_mean_wait(struct station station, double lambda)
{
    double spare = station.servers * station.mu - lambda;

    if (!(spare > 0))
        return INFINITY;
    return erlang_c(station.servers, lambda / station.mu) / spare;
}

double erlang_tail(struct station station, double lambda, double t)
{
    double spare = station.servers * station.mu - lambda;

    if (!(spare > 0))
        return 1;
    return erlang_c(station.servers, lambda / station.mu) * exp(-spare * t);
}

/* The quantile of a wait that is 0 or, with probability `share`, exponential at rate `decay`. */
static double exponential_quantile(double share, double decay, double p)
{
    return share <= 1 - p ? 0 : log(share / (1 - p)) / decay;
}

double erlang_quantile(struct station station, double lambda, double p)
{
    double spare = station.servers * station.mu - lambda;

    if (!(spare > 0))
        return INFINITY;
    return exponential_quantile(erlang_c(station.servers, lambda / station.mu), spare, p);
}

int erlang_servers(double lambda, double mu, double p, double target)
{
    double load = lambda / mu;
    double blocked = 1;

    for (int n = 1; n <= ERLANG_SERVERS_MAX; n++) {
        blocked = load * blocked / (n + load * blocked);
        if (n > load &&
            exponential_quantile(waiting_share(n, load, blocked), n * mu - lambda, p) <= target)
            return n;
    }
    return -1;
}

double erlang_class_mean(struct station station, const double *lambdas, size_t count, size_t at)
{
    double speed = station.servers * station.mu;
    double before = 0;
    double total = 0;

    for (size_t i = 0; i < count; i++) {
        total += lambdas[i];
        if (i < at)
            before += lambdas[i];
    }

    double left = speed - (before + lambdas[at]);

    if (!(left > 0))
        return INFINITY;
    return erlang_c(station.servers, total / station.mu) * speed / ((speed - before) * left);
}

double erlang_busy_high_quantile(double speed, double waiting, double high, double p)
{
    return speed > high ? exponential_quantile(waiting, speed - high, p) : INFINITY;
}

double erlang_high_quantile(struct station station, double high, double low, double p)
{
    return erlang_busy_high_quantile(station.servers * station.mu,
                                     erlang_c(station.servers, (high + low) / station.mu), high, p);
}

/*
 * The wait of the low class, given that it waits, is the busy time that high requests add to an
 * exponential one (Kella and Yechiali 1985).  Its transform has a pole at `pole` and a cut from
 * `cut_low` to `cut_high` on the negative axis; the tail is the residue plus a real integral along
 * the cut.  With x = middle - width cos(phi) the trapezoidal rule converges geometrically.
 */
struct low_wait {
    double middle;
    double width;
    double pole;
    double residue;
    double weight; /* of the integral */
    bool is_close; /* the pole nearly touches the cut */
};

static struct low_wait low_wait_of(double speed, double high, double low)
{
    double total = high + low;
    double rho = total / speed;
    double sigma = high / speed;
    double spare = speed - total;
    struct low_wait wait = { 0 };
    double cut_low = (sqrt(speed) - sqrt(high)) * (sqrt(speed) - sqrt(high));

    wait.middle = high + speed;
    wait.width = 2 * sqrt(high * speed);
    wait.pole = spare * low / total;
    wait.residue = sigma < rho * rho ? (1 - sigma / (rho * rho)) / (1 - sigma / rho) : 0;
    wait.weight = spare / (2 * M_PI * total);
    wait.is_close = cut_low - wait.pole < 1e-3 * 2 * wait.width;
    return wait;
}

static double cut_integrand(const struct low_wait *wait, double phi, double t)
{
    double x = wait->middle - wait->width * cos(phi);
    double root = wait->width * sin(phi);
    double offset = x - wait->pole;

    if (!wait->is_close)
        return root * root * exp(-x * t) / (x * offset);

    /* The same with its value at the pole taken out, in a form that does not cancel. */
    double slope = offset == 0 ? -t : expm1(-offset * t) / offset;

    return root * root * exp(-wait->pole * t) * (wait->pole * slope - 1) / (x * wait->pole);
}

static double cut_integral(const struct low_wait *wait, double t)
{
    double previous = -1;
    double sum = 0; /* the ends contribute nothing: sin(0) = sin(pi) = 0 */

    for (int nodes = 32; nodes <= 1 << 16; nodes *= 2) {
        double step = M_PI / nodes;

        for (int i = 1; i < nodes; i += nodes == 32 ? 1 : 2)
            sum += cut_integrand(wait, i * step, t);

        double value = sum * step;

        if (fabs(value - previous) <= 1e-15 * fabs(value))
            return value;
        previous = value;
    }
    return previous;
}

/* The tail of the low class's wait, among the requests that wait at all. */
static double busy_low_tail(double speed, double high, double low, double t)
{
    if (t <= 0)
        return 1;
    if (high <= 0)
        return exp(-(speed - low) * t);

    struct low_wait wait = low_wait_of(speed, high, low);
    double integral = cut_integral(&wait, t);

    if (wait.is_close) {
        double gap = wait.middle - wait.pole;
        double inside = gap * gap - wait.width * wait.width;

        integral += exp(-wait.pole * t) / wait.pole * M_PI *
                    (gap - (inside > 0 ? sqrt(inside) : 0));
    }
    return wait.residue * exp(-wait.pole * t) + wait.weight * integral;
}

double erlang_low_tail(struct station station, double high, double low, double t)
{
    double speed = station.servers * station.mu;

    if (!(speed > high + low))
        return 1;
    return erlang_c(station.servers, (high + low) / station.mu) *
           busy_low_tail(speed, high, low, t);
}

double erlang_busy_low_quantile(double speed, double waiting, double high, double low, double p)
{
    double below = 0;
    double above;

    if (!(speed > high + low))
        return INFINITY;
    if (waiting <= 1 - p)
        return 0;
    above = 1 / (speed - high - low);
    while (waiting * busy_low_tail(speed, high, low, above) > 1 - p) {
        below = above;
        above *= 2;
    }
    for (int i = 0; i < 200 && above - below > 1e-14 * above; i++) {
        double middle = below + (above - below) / 2;

        if (waiting * busy_low_tail(speed, high, low, middle) > 1 - p)
            below = middle;
        else
            above = middle;
    }
    return below + (above - below) / 2;
}

double erlang_low_quantile(struct station station, double high, double low, double p)
{
    return erlang_busy_low_quantile(station.servers * station.mu,
                                    erlang_c(station.servers, (high + low) / station.mu), high, low,
                                    p);
}
