/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The clock is the monotonic one for what has passed, and the machine's for the time of day.
 */
#include "base/meter.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
    EVERY_MS = 200,
    LINE_LIMIT = 240,
    ZONE_LIMIT = 1 << 20, /* bytes of a file */
    COLUMNS = 80,         /* of a terminal that does not tell */
    TOLD_FROM_MS = 2 * SECOND_MS,
    SECONDS_MAX = 100, /* work that takes longer is shown with the time of day at its end */
};

static const double told_from = 0.005; /* share of the work: before that, the end would be a guess
                                        */

struct meter {
    int fd;
    bool is_on;
    struct time_zone *zone; /* NULL: UTC */
    int64_t began_ms;
    int64_t shown_ms;
    const char *part; /* that was shown last */
};

static int64_t clock_ms(clockid_t id)
{
    struct timespec spec;

    require(clock_gettime(id, &spec) == 0);
    return (int64_t)spec.tv_sec * SECOND_MS + spec.tv_nsec / 1000000;
}

/* As the C library chooses it: by TZ, or else by the system's own file. */
static struct time_zone *zone_here(void)
{
    const char *name = getenv("TZ");
    owned(text) struct text *bytes = NULL;

    if (name && *name)
        return time_zone_open(*name == ':' ? name + 1 : name, NULL);
    bytes = file_read("/etc/localtime", ZONE_LIMIT, NULL);
    return bytes ? time_zone_decode("local", bytes->chars, bytes->length, NULL) : NULL;
}

struct meter *meter_new(int fd)
{
    struct meter *meter = mem_new(sizeof *meter);

    meter->fd = fd;
    meter->is_on = isatty(fd);
    if (!meter->is_on)
        return meter;
    meter->zone = zone_here();
    meter->began_ms = clock_ms(CLOCK_MONOTONIC);
    return meter;
}

/* 1180 as "1,180". */
static void add_count(size_t count, struct text *out)
{
    if (count >= 1000) {
        add_count(count / 1000, out);
        text_add(out, ",%03zu", count % 1000);
    } else {
        text_add(out, "%zu", count);
    }
}

static void add_time(struct wall_time end, struct wall_time now, const struct time_zone *zone,
                     struct text *out)
{
    static const char *const days[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
    int64_t minutes = end.ms / MINUTE_MS;
    int weekday = civil_weekday(end.ms / DAY_MS);
    int minute = (int)(minutes % (DAY_MS / MINUTE_MS));

    if (zone) {
        struct local_time local = time_zone_local(zone, end);

        weekday = local.weekday;
        minute = local.minute_of_day;
    }
    text_add(out, ", done about ");
    if (end.ms - now.ms > DAY_MS / 2)
        text_add(out, "%s ", days[weekday]);
    text_add(out, "%02d:%02d%s", minute / 60, minute % 60, zone ? "" : " UTC");
}

void meter_line(const struct progress_state *state, int64_t elapsed_ms, struct wall_time now,
                const struct time_zone *zone, struct text *out)
{
    double left_ms;

    text_add(out, "%s ", state->part);
    add_count(state->done, out);
    text_add(out, " of ");
    add_count(state->count, out);
    if (elapsed_ms < TOLD_FROM_MS || state->share < told_from || state->share > 1)
        return;
    left_ms = (double)elapsed_ms * (1 - state->share) / state->share;
    if (left_ms < SECONDS_MAX * SECOND_MS)
        text_add(out, ", done in about %d s", (int)(left_ms / SECOND_MS) + 1);
    else
        add_time((struct wall_time){ now.ms + (int64_t)left_ms }, now, zone, out);
}

static size_t columns_of(int fd)
{
    struct winsize size;

    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : COLUMNS;
}

/* A line that cannot be written is dropped. */
static void put(const struct meter *meter, const struct text *line)
{
    ssize_t written = write(meter->fd, line->chars, line->length);

    (void)written;
}

void meter_show(void *context, const struct progress_state *state)
{
    struct meter *meter = context;
    owned(text) struct text *line = text_new(LINE_LIMIT);
    owned(text) struct text *out = text_new(LINE_LIMIT);
    int64_t now_ms;

    if (!meter->is_on)
        return;
    now_ms = clock_ms(CLOCK_MONOTONIC);
    if (meter->part == state->part && now_ms < meter->shown_ms + EVERY_MS)
        return;
    meter->part = state->part;
    meter->shown_ms = now_ms;
    meter_line(state, now_ms - meter->began_ms, (struct wall_time){ clock_ms(CLOCK_REALTIME) },
               meter->zone, line);
    /* A line that fills the terminal wraps, and two lines would be left. */
    text_end_at(line, text_cut(line->chars, columns_of(meter->fd) - 1));
    text_add(out, "\r%s\033[K", line->chars);
    put(meter, out);
}

void meter_free(struct meter *meter)
{
    owned(text) struct text *out = text_new(LINE_LIMIT);

    if (!meter)
        return;
    if (meter->part) {
        text_add(out, "\r\033[K");
        put(meter, out);
    }
    time_zone_free(meter->zone);
    mem_free(meter);
}
