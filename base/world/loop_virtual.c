/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The loop of simulations: no waiting, the clock jumps to the next timer.  One timer is one turn.
 * While such a loop lives, the log is stamped by the clock of the newest one.
 */
#include "base/log.h"
#include "base/memory.h"
#include "base/world/loop_verbs.h"

#include <stdio.h>

struct loop_virtual {
    struct loop loop;
    struct wall_time start;
    int64_t now_ms;
    int64_t jumped_ms; /* its machine's wall clock, in all */
    int boots;
};

static const struct loop_virtual *log_stamper;

static int64_t virtual_now(const struct loop *loop)
{
    return ((const struct loop_virtual *)loop)->now_ms;
}

static struct wall_time virtual_machine_wall(const struct loop *loop)
{
    const struct loop_virtual *self = (const struct loop_virtual *)loop;

    return (struct wall_time){ self->start.ms + self->now_ms + self->jumped_ms };
}

static void virtual_run(struct loop *loop, int64_t until_ms)
{
    struct loop_virtual *self = (struct loop_virtual *)loop;

    while (!loop->is_stopped) {
        struct timer *first = timers_first(&loop->timers);

        if (!first || first->due_ms > until_ms)
            break;
        if (first->due_ms > self->now_ms)
            self->now_ms = first->due_ms;
        loop_fire(loop, first);
    }
    if (!loop->is_stopped && until_ms != LOOP_FOREVER && until_ms > self->now_ms)
        self->now_ms = until_ms;
}

static void virtual_free(struct loop *loop)
{
    if (log_stamper == (struct loop_virtual *)loop) {
        log_stamper = NULL;
        log_set_clock(NULL, NULL);
    }
    mem_free(loop);
}

static struct event_base *virtual_event_base(const struct loop *loop)
{
    (void)loop;
    return NULL;
}

/* A simulation gets no signals: its end is in its script. */
static void virtual_on_terminate(struct loop *loop, timer_fn fire, void *context)
{
    (void)loop;
    (void)fire;
    (void)context;
}

static int64_t stamp(void *context)
{
    return loop_wall(context).ms;
}

static const struct loop_verbs verbs = {
    .now = virtual_now,
    .machine_wall = virtual_machine_wall,
    .run = virtual_run,
    .free = virtual_free,
    .event_base = virtual_event_base,
    .on_terminate = virtual_on_terminate,
    .on_hangup = virtual_on_terminate,
};

struct loop *loop_virtual_new(struct wall_time start)
{
    struct loop_virtual *self = mem_new(sizeof *self);

    self->loop.verbs = &verbs;
    self->start = start;
    self->loop.wall_ms = start.ms;
    loop_virtual_reboot(&self->loop);
    log_stamper = self;
    log_set_clock(stamp, self);
    return &self->loop;
}

void loop_virtual_jump(struct loop *loop, int64_t by_ms)
{
    ((struct loop_virtual *)loop)->jumped_ms += by_ms;
}

void loop_virtual_reboot(struct loop *loop)
{
    snprintf(loop->boot, sizeof loop->boot, "virtual-%d", ++((struct loop_virtual *)loop)->boots);
}
