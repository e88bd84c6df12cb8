/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See backlog.h.
 */
#include "windows/queueing/backlog.h"

#include "base/timestamp.h"

#include <limits.h>
#include <math.h>

double backlog_after(double work_s, double load, int servers, int64_t time_ms)
{
    return fmax(0, work_s + (load - servers) * (double)time_ms / SECOND_MS);
}

int backlog_servers(double work_s, int servers, int64_t target_ms)
{
    if (work_s * SECOND_MS <= (double)servers * (double)target_ms)
        return 0;
    return (int)fmin(ceil(work_s * SECOND_MS / HOUR_MS), INT_MAX / 2);
}
