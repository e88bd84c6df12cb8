/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * For LD_PRELOAD: each way in which a process asks for the time of day answers with a wrong one.
 */
#include "tests/real/wrong_clock.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t ahead_s;

__attribute__((constructor)) static void read_ahead(void)
{
    const char *chars = getenv(WRONG_CLOCK_AHEAD);

    ahead_s = chars ? strtol(chars, NULL, 10) : 0;
}

/* By the kernel: a sanitizer's own clock_gettime() is not ready when it is asked first. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
    int result = (int)syscall(SYS_clock_gettime, id, ret);

    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        ret->tv_sec += ahead_s;
    return result;
}

int gettimeofday(struct timeval *ret, void *zone)
{
    struct timespec now;

    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) < 0)
        return -1;
    *ret = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
    return 0;
}

time_t time(time_t *ret)
{
    struct timespec now = { 0 };

    if (clock_gettime(CLOCK_REALTIME, &now) == 0 && ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}
