/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The level of a queue's last hours, and how long it lasts.  What each hour lay over its profile is
 * taken for a level that returns to zero (a first-order autoregressive process) and noise on top.
 * If a share s of the variance is the level, and a part f of a level is left after an hour, hours
 * that lie h apart are correlated by s f^h.  So the correlations at one and at four hours give both
 * (method of moments), and a Kalman filter the level (Kalman, "A new approach to linear filtering
 * and prediction problems", 1960).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Correlation at four hours from which on a level of the last hours also holds for the next ones.
   Measured on the recorded traces and on generated ones. */
#define LEVEL_LASTS 0.7

struct level_sample {
    int64_t end_ms; /* of an hour */
    double value;   /* logarithm of what it lay over its profile */
    double weight;  /* its noise has 1 / weight of the usual variance; 0: it does not count */
};

struct level_filter {
    double value;       /* of the level at the moment that was asked for */
    double left;        /* part of it an hour later */
    double persistence; /* correlation of hours that lie four apart */
};

/* `samples`: by their ends, the oldest first.  at_ms: not before the last end. */
struct level_filter level_filter(const struct level_sample *samples, size_t count, int64_t at_ms);
