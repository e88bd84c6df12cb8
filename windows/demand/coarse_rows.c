/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See coarse_rows.h.
 */
#include "windows/demand/coarse_rows.h"

#include "windows/demand/steps.h"

#include <math.h>
#include <stdbool.h>

enum {
    ROWS_MIN = 13, /* of a queue */
    RUN_MIN = 6,
};

/* A run is accepted if fewer than so many such runs are due to chance. */
static const double chance_max = 0.01;

/* How many distances from row `first` on have a common divisor greater than `floor_ms`. */
static size_t run_from(const int64_t *times, size_t count, size_t first, int64_t floor_ms,
                       int64_t *ret_divisor)
{
    int64_t divisor = times[first + 1] - times[first];
    size_t last = first + 1;

    for (; last + 1 < count; last++) {
        int64_t next = times[last + 1] - times[last];
        int64_t both = next == divisor || next % divisor == 0 ? divisor
                                                              : steps_divisor(divisor, next);

        if (both <= floor_ms)
            break;
        divisor = both;
    }
    *ret_divisor = divisor;
    return last - first;
}

/* Of sparse rows one in k fits a grid of k units by chance. */
static bool is_believed(size_t distances, double units, size_t count)
{
    return distances >= RUN_MIN &&
           log((double)count) - (double)distances * log(units) < log(chance_max);
}

struct coarse_rows coarse_rows_find(const int64_t *times, size_t count)
{
    struct coarse_rows found = { 0 };
    size_t longest = 0;

    if (count < ROWS_MIN)
        return found;
    found.first_ms = times[0];
    found.last_ms = times[count - 1];
    (void)run_from(times, count, 0, 0, &found.divisor_ms);
    for (size_t i = 0; i + 1 < count;) {
        int64_t grid;
        size_t run;

        if (times[i + 1] - times[i] == found.divisor_ms) {
            i++;
            continue;
        }
        run = run_from(times, count, i, found.divisor_ms, &grid);
        if (run > longest && is_believed(run, (double)grid / (double)found.divisor_ms, count)) {
            longest = run;
            found.grid_ms = grid;
            found.from_ms = times[i];
            found.until_ms = times[i + run];
        }
        i += run;
    }
    return found;
}
