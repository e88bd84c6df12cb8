/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See scales.h.
 */
#include "windows/forecast/scales.h"

#include "base/memory.h"

#include <math.h>

static const double furthest = 1;  /* an outage or a storm, a score beyond it, is no width */
static const double noise = 1e-12; /* of sums: scores that are all equal have no spread */

void scales_init(struct scales *scales, size_t windows)
{
    *scales = (struct scales){ .windows = mem_new_array(windows, sizeof *scales->windows) };
}

void scales_clear(struct scales *scales)
{
    mem_free(scales->windows);
}

static void add(struct scales_sum *sum, double score)
{
    sum->count++;
    sum->scores += score;
    sum->squares += score * score;
}

void scales_add(struct scales *scales, size_t window, double score)
{
    score = fmin(fmax(score, -furthest), furthest);
    add(&scales->all, score);
    add(&scales->windows[window], score);
}

static double squares_about(const struct scales_sum *sum, double center)
{
    return fmax(0, sum->squares - center * (2 * sum->scores - sum->count * center));
}

struct scale scales_of(const struct scales *scales, size_t window)
{
    const struct scales_sum *all = &scales->all;
    const struct scales_sum *own = &scales->windows[window];
    double center = all->count > 0 ? all->scores / all->count : 0;
    double usual = all->count > 0 ? squares_about(all, center) / all->count : 0;
    struct scale scale = { center, 1 };

    if (usual > noise)
        scale.width = sqrt((squares_about(own, center) + SCALES_PRIOR * usual) /
                           (own->count + SCALES_PRIOR) / usual);
    return scale;
}

double scale_to_queue(const struct scale *scale, double score)
{
    return scale->center + (score - scale->center) / scale->width;
}

double scale_to_window(const struct scale *scale, double score)
{
    return scale->center + (score - scale->center) * scale->width;
}
