/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Until all slots are taken, how many requests there are does not depend on the law of their
 * lengths, only on its mean: the share that waits is that of the closed form.  What waits then, the
 * longer the more lengths differ.
 */
#include "windows/queueing/batch_negligible.h"

#include "windows/servers/engine_periods.h"
#include "windows/servers/engine_wait.h"

#include <math.h>

enum { HALVINGS = 30 };

double batch_negligible_rate(const struct engine *engine, int replicas, double wait_s, double waits,
                             double late)
{
    struct engine_station station = engine_station_of(engine, replicas);
    double capacity = engine_capacity(&station);
    double alone = station.is_split ? replicas : 1;
    double cv = engine_cv_most(engine);
    double slower = 2 / (1 + cv * cv);
    double negligible = 0;
    double wild = capacity;

    for (int i = 0; i < HALVINGS; i++) {
        double rate = (negligible + wild) / 2;
        double share = engine_waiting(&station, rate);

        if (share <= waits && share * exp(-slower * (capacity - rate) / alone * wait_s) <= late)
            negligible = rate;
        else
            wild = rate;
    }
    return negligible;
}
