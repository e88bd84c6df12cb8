/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How much wider the scores of one window spread than those of all windows of its queue: a night in
 * which batches run is less like other nights than a noon like other noons.  What a window has of
 * its own is shrunk towards the queue's, with the weight of SCALES_PRIOR scores (as an estimate by
 * Stein, see points.c), so that a window with few days has the queue's.  The spread is that about
 * the queue's mean: under growth all scores are of one sign, and that is no width.  A score beyond
 * one counts as one, as a day of outage or storm is no width, either.
 */
#pragma once

#include <stddef.h>

/* Measured on the recorded traces and on generated ones: from 30 to 60 the plans are worth the
   same; with 8, queues with rare bursts cost more. */
#define SCALES_PRIOR 40

struct scales_sum {
    double count;
    double scores;
    double squares;
};

struct scales {
    struct scales_sum all;
    struct scales_sum *windows;
};

/* Of one window, by what was known when it was made. */
struct scale {
    double center; /* mean of the queue's scores */
    double width;  /* deviation of the window's scores over that of the queue's; 1: unknown */
};

void scales_init(struct scales *scales, size_t windows);
void scales_clear(struct scales *scales);

void scales_add(struct scales *scales, size_t window, double score);

struct scale scales_of(const struct scales *scales, size_t window);

/* A score of the window as one of the queue's, and back. */
double scale_to_queue(const struct scale *scale, double score);
double scale_to_window(const struct scale *scale, double score);
