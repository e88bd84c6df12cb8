/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many may be late, and waits by rank.
 */
#include "windows/queueing/replay_result.h"

#include <math.h>

int64_t replay_allowed(int64_t count, double percentile)
{
    int64_t parts = 100 * 1000 - (int64_t)floor(percentile * 1000 + 0.5);

    return count * parts / (100 * 1000);
}

/* Hoare's selection: afterwards values[rank] is in its sorted place. */
static uint64_t select_rank(uint64_t *values, int64_t count, int64_t rank)
{
    int64_t low = 0;
    int64_t high = count - 1;

    while (low < high) {
        uint64_t pivot = values[low + (high - low) / 2];
        int64_t i = low;
        int64_t j = high;

        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i > j)
                break;

            uint64_t value = values[i];

            values[i++] = values[j];
            values[j--] = value;
        }
        if (rank > j && rank < i)
            break;
        if (rank <= j)
            high = j;
        else
            low = i;
    }
    return values[rank];
}

uint64_t replay_quantile_waited(uint64_t *waits, size_t waited, size_t count, double percentile)
{
    int64_t rank = (int64_t)waited - replay_allowed((int64_t)count, percentile);

    return rank > 0 ? select_rank(waits, (int64_t)waited, rank - 1) : 0;
}

/* Most waits are zero: they are counted, and the rank is found among the others. */
uint64_t replay_quantile(uint64_t *waits, size_t count, double percentile)
{
    size_t waited = 0;

    for (size_t i = 0; i < count; i++)
        if (waits[i] > 0) {
            uint64_t wait = waits[i];

            waits[i] = 0;
            waits[waited++] = wait;
        }
    return replay_quantile_waited(waits, waited, count, percentile);
}
