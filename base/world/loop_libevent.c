/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The loop of the service.  libevent waits for descriptors and signals; the timers are our own, so
 * that their order is the simulation's.  A turn is: wait, handle what is ready, fire what is due.
 *
 * The clock is read when it is first asked for in a turn, which is after the waiting, and stays
 * until the turn ends.  It counts while the machine sleeps (CLOCK_BOOTTIME): deadlines given to a
 * cloud do not stop when we do.
 */
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/world/loop_verbs.h"

#include <event2/event.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* The longest wait: nothing depends on it, it only bounds the damage of a missed wake-up. */
enum { LONGEST_WAIT_MS = MINUTE_MS };

struct clocks {
    bool is_read; /* in this turn */
    int64_t now_ms;
    struct wall_time wall;
    int64_t skipped_ms; /* by loop_skip(), so far */
};

/* How late timers fired: the most of this minute, and of the last one in which some fired. */
struct lateness {
    int64_t minute;
    int64_t most_ms;
    int64_t before_ms;
};

struct loop_libevent {
    struct loop loop;
    struct event_base *base;
    struct event *wake;
    struct event *terminate[2];
    struct event *hangup;
    struct timer *terminated;
    struct timer *hung_up;
    struct lateness lateness;
    struct clocks *clocks; /* apart, because reading the clock does not change the loop */
};

static int64_t read_clock(clockid_t id)
{
    struct timespec spec;

    require(clock_gettime(id, &spec) == 0);
    return (int64_t)spec.tv_sec * SECOND_MS + spec.tv_nsec / 1000000;
}

static int64_t real_now(const struct loop *loop)
{
    return read_clock(CLOCK_BOOTTIME) + ((const struct loop_libevent *)loop)->clocks->skipped_ms;
}

static const struct clocks *clocks_of(const struct loop *loop)
{
    struct clocks *clocks = ((const struct loop_libevent *)loop)->clocks;

    if (!clocks->is_read) {
        clocks->now_ms = read_clock(CLOCK_BOOTTIME) + clocks->skipped_ms;
        clocks->wall.ms = read_clock(CLOCK_REALTIME) + clocks->skipped_ms;
        clocks->is_read = true;
    }
    return clocks;
}

static int64_t libevent_now(const struct loop *loop)
{
    return clocks_of(loop)->now_ms;
}

static struct wall_time libevent_machine_wall(const struct loop *loop)
{
    return clocks_of(loop)->wall;
}

static void on_wake(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    (void)context;
}

static void wait_for_events(struct loop_libevent *self, int64_t until_ms)
{
    int64_t now_ms = real_now(&self->loop);
    const struct timer *first = timers_first(&self->loop.timers);
    int64_t wake_ms = now_ms + LONGEST_WAIT_MS;

    if (first && first->due_ms < wake_ms)
        wake_ms = first->due_ms;
    if (until_ms < wake_ms)
        wake_ms = until_ms;

    int64_t wait_ms = wake_ms > now_ms ? wake_ms - now_ms : 0;
    struct timeval wait = { .tv_sec = wait_ms / SECOND_MS, .tv_usec = wait_ms % SECOND_MS * 1000 };

    require(event_add(self->wake, &wait) == 0);
    require(event_base_loop(self->base, EVLOOP_ONCE) >= 0);
}

/* A turn that takes long makes the timers late that are due meanwhile. */
static void note_lateness(struct loop *loop, const struct timer *timer)
{
    struct lateness *lateness = &((struct loop_libevent *)loop)->lateness;
    int64_t now_ms = real_now(loop);
    int64_t minute = now_ms / MINUTE_MS;

    if (lateness->minute != minute) {
        lateness->before_ms = lateness->minute + 1 == minute ? lateness->most_ms : 0;
        lateness->most_ms = 0;
        lateness->minute = minute;
    }
    if (now_ms - timer->due_ms > lateness->most_ms)
        lateness->most_ms = now_ms - timer->due_ms;
}

static int64_t libevent_late_ms(const struct loop *loop)
{
    const struct lateness *lateness = &((const struct loop_libevent *)loop)->lateness;

    return lateness->most_ms > lateness->before_ms ? lateness->most_ms : lateness->before_ms;
}

static int64_t libevent_turn_ms(const struct loop *loop)
{
    int64_t began_ms = loop_now(loop); /* read first: it may begin the turn */

    return real_now(loop) - began_ms;
}

/* A timer that a timer sets for "now" waits for the next turn, or descriptors would starve. */
static void fire_due(struct loop *loop)
{
    uint64_t next_turn = loop->timers.next_sequence;
    int64_t now_ms = loop_now(loop);

    while (!loop->is_stopped) {
        struct timer *first = timers_first(&loop->timers);

        if (!first || first->due_ms > now_ms || first->sequence >= next_turn)
            break;
        note_lateness(loop, first);
        loop_fire(loop, first);
    }
}

static void libevent_run(struct loop *loop, int64_t until_ms)
{
    struct loop_libevent *self = (struct loop_libevent *)loop;

    self->clocks->is_read = false;
    while (!loop->is_stopped) {
        wait_for_events(self, until_ms);
        fire_due(loop);
        if (loop_now(loop) >= until_ms)
            break;
        self->clocks->is_read = false;
    }
}

static void libevent_free(struct loop *loop)
{
    struct loop_libevent *self = (struct loop_libevent *)loop;

    for (size_t i = 0; i < COUNT_OF(self->terminate); i++)
        if (self->terminate[i])
            event_free(self->terminate[i]);
    if (self->hangup)
        event_free(self->hangup);
    timer_free(self->terminated);
    timer_free(self->hung_up);
    if (self->wake)
        event_free(self->wake);
    if (self->base)
        event_base_free(self->base);
    mem_free(self->clocks);
    mem_free(self);
}

static struct event_base *libevent_base(const struct loop *loop)
{
    return ((const struct loop_libevent *)loop)->base;
}

static void on_signal(evutil_socket_t number, short what, void *context)
{
    struct loop_libevent *self = context;

    (void)what;
    timer_set(number == SIGHUP ? self->hung_up : self->terminated, 0);
}

static void listen_for(struct loop_libevent *self, struct event **event, int number)
{
    if (!*event)
        *event = evsignal_new(self->base, number, on_signal, self);
    require(*event && event_add(*event, NULL) == 0);
}

static void libevent_on_terminate(struct loop *loop, timer_fn fire, void *context)
{
    static const int numbers[] = { SIGINT, SIGTERM };
    struct loop_libevent *self = (struct loop_libevent *)loop;

    timer_free(self->terminated);
    self->terminated = timer_new(loop, fire, context);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        listen_for(self, &self->terminate[i], numbers[i]);
}

static void libevent_on_hangup(struct loop *loop, timer_fn fire, void *context)
{
    struct loop_libevent *self = (struct loop_libevent *)loop;

    timer_free(self->hung_up);
    self->hung_up = timer_new(loop, fire, context);
    listen_for(self, &self->hangup, SIGHUP);
}

static void libevent_skip(struct loop *loop, int64_t by_ms)
{
    struct clocks *clocks = ((struct loop_libevent *)loop)->clocks;

    clocks->skipped_ms += by_ms;
    clocks->is_read = false;
}

static const struct loop_verbs verbs = {
    .now = libevent_now,
    .machine_wall = libevent_machine_wall,
    .run = libevent_run,
    .free = libevent_free,
    .event_base = libevent_base,
    .on_terminate = libevent_on_terminate,
    .on_hangup = libevent_on_hangup,
    .skip = libevent_skip,
    .turn_ms = libevent_turn_ms,
    .late_ms = libevent_late_ms,
};

/* On a machine without a boot ID the boot has no name. */
static void read_boot(struct loop *loop)
{
    owned(text) struct text *id = file_read("/proc/sys/kernel/random/boot_id",
                                            sizeof loop->boot - 1, NULL);

    if (!id)
        return;
    text_copy(loop->boot, sizeof loop->boot, id->chars);
    loop->boot[strcspn(loop->boot, "\n")] = '\0';
}

/* libevent's own complaints would break a log of JSON lines. */
static void on_complaint(int severity, const char *text)
{
    if (severity >= EVENT_LOG_WARN)
        log_warn("event_library", FIELD_TEXT("text", text));
}

struct loop *loop_libevent_new(struct error *err)
{
    struct loop_libevent *self = mem_new(sizeof *self);

    self->loop.verbs = &verbs;
    self->clocks = mem_new(sizeof *self->clocks);
    self->loop.wall_ms = clocks_of(&self->loop)->wall.ms - clocks_of(&self->loop)->now_ms;
    self->clocks->is_read = false;
    read_boot(&self->loop);
    event_set_log_callback(on_complaint);
    self->base = event_base_new();
    self->wake = self->base ? event_new(self->base, -1, 0, on_wake, NULL) : NULL;
    if (!self->wake) {
        libevent_free(&self->loop);
        error_set(err, ERROR_BUG, "cannot make an event loop");
        return NULL;
    }
    signal(SIGPIPE, SIG_IGN);
    return &self->loop;
}
