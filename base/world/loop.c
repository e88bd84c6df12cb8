/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is common to all loops: the timers, and handing the rest to the implementation.
 */
#include "base/world/loop.h"

#include "base/memory.h"
#include "base/world/loop_verbs.h"

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    timers_clear(&loop->timers);
    loop->verbs->free(loop);
}

int64_t loop_now(const struct loop *loop)
{
    return loop->verbs->now(loop);
}

struct wall_time loop_wall(const struct loop *loop)
{
    return (struct wall_time){ loop->wall_ms + loop_now(loop) };
}

int64_t loop_wall_apart(const struct loop *loop)
{
    return loop->verbs->machine_wall(loop).ms - loop_wall(loop).ms;
}

void loop_wall_move(struct loop *loop, int64_t by_ms)
{
    loop->wall_ms += by_ms;
}

int64_t loop_turn_ms(const struct loop *loop)
{
    return loop->verbs->turn_ms ? loop->verbs->turn_ms(loop) : 0;
}

int64_t loop_late_ms(const struct loop *loop)
{
    return loop->verbs->late_ms ? loop->verbs->late_ms(loop) : 0;
}

const char *loop_boot(const struct loop *loop)
{
    return loop->boot;
}

void loop_run(struct loop *loop)
{
    loop_run_until(loop, LOOP_FOREVER);
}

void loop_run_until(struct loop *loop, int64_t until_ms)
{
    loop->is_stopped = false;
    loop->verbs->run(loop, until_ms);
}

void loop_stop(struct loop *loop)
{
    loop->is_stopped = true;
}

void loop_skip(struct loop *loop, int64_t by_ms)
{
    require(by_ms >= 0);
    loop->verbs->skip(loop, by_ms);
}

struct event_base *loop_event_base(const struct loop *loop)
{
    return loop->verbs->event_base(loop);
}

void loop_on_terminate(struct loop *loop, timer_fn fire, void *context)
{
    loop->verbs->on_terminate(loop, fire, context);
}

void loop_on_hangup(struct loop *loop, timer_fn fire, void *context)
{
    loop->verbs->on_hangup(loop, fire, context);
}

void loop_fire(struct loop *loop, struct timer *timer)
{
    timers_remove(&loop->timers, timer);
    timer->fire(timer->context);
}

struct timer *timer_new(struct loop *loop, timer_fn fire, void *context)
{
    struct timer *timer = mem_new(sizeof *timer);

    timer->loop = loop;
    timer->fire = fire;
    timer->context = context;
    return timer;
}

/* A delay too long for the clock means never, not a moment in the past. */
static int64_t due_after(const struct timer *timer, int64_t delay_ms)
{
    int64_t now_ms = loop_now(timer->loop);
    int64_t due_ms;

    if (delay_ms <= 0)
        return now_ms;
    return __builtin_add_overflow(now_ms, delay_ms, &due_ms) ? INT64_MAX : due_ms;
}

void timer_set(struct timer *timer, int64_t delay_ms)
{
    timers_add(&timer->loop->timers, timer, due_after(timer, delay_ms));
}

void timer_set_sooner(struct timer *timer, int64_t delay_ms)
{
    int64_t due_ms = due_after(timer, delay_ms);

    if (!timer->place || due_ms < timer->due_ms)
        timers_add(&timer->loop->timers, timer, due_ms);
}

void timer_stop(struct timer *timer)
{
    if (timer->place)
        timers_remove(&timer->loop->timers, timer);
}

bool timer_is_set(const struct timer *timer)
{
    return timer->place > 0;
}

void timer_free(struct timer *timer)
{
    if (!timer)
        return;
    timer_stop(timer);
    mem_free(timer);
}
