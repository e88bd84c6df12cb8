/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The event loop: time and timers.  Two implementations: loop_libevent (the service) and
 * loop_virtual (simulation: time jumps to the next timer).  Single thread; nothing here may be
 * called from another one.
 *
 * loop_now() is fixed during one turn, so everything that happens in a turn happens at one time.
 * Nothing in the product reads a clock in any other way.
 *
 * The machine's wall clock may be set at any moment, by any amount.  So loop_wall() is not that
 * clock: it is what the clock showed when the loop was made, plus the monotonic time since.  What
 * is counted with it is neither hurried nor delayed by a jump. loop_wall_apart() tells how far the
 * machine's clock is from it. loop_wall_move() brings the two together.  Only
 * broker/service/clock.c calls it, which shifts all stored times by the same amount.
 */
#pragma once

#include "base/error.h"
#include "base/timestamp.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct timer;
struct event_base;

typedef void (*timer_fn)(void *context);

/* The loop of the service.  SIGPIPE is ignored. */
struct loop *loop_libevent_new(struct error *err) __attribute__((warn_unused_result));

/* A loop whose clock starts at `start` and jumps.  Two timers due at the same millisecond run in
   the order in which they were set. */
struct loop *loop_virtual_new(struct wall_time start)
    __attribute__((returns_nonnull, warn_unused_result));

void loop_free(struct loop *loop);

/* Monotonic milliseconds since the system started; they go on during suspend. */
int64_t loop_now(const struct loop *loop);

/* The wall clock at loop_now(); no jump of the system clock changes it. */
struct wall_time loop_wall(const struct loop *loop);

/* By how much the system clock is ahead of loop_wall(), in ms; behind: negative. */
int64_t loop_wall_apart(const struct loop *loop);

/* Moves loop_wall() forward by so much (back: negative), from now on. */
void loop_wall_move(struct loop *loop, int64_t by_ms);

/* How long the present turn has taken, in ms of the real clock; 0 on a virtual loop. */
int64_t loop_turn_ms(const struct loop *loop);

/* By how much the latest timer of the last minute or two fired after its time, in ms of the real
   clock; 0 on a virtual loop. */
int64_t loop_late_ms(const struct loop *loop);

/* Identifies the system's boot from which loop_now() counts.  Readings of two processes can be
   compared if both have the same boot.  "": not known.  Borrowed from the loop. */
const char *loop_boot(const struct loop *loop);

/* Sets the system clock of a virtual loop forward (back: negative), as a person or a time server
   does. */
void loop_virtual_jump(struct loop *loop, int64_t by_ms);

/* Simulates a reboot of a virtual loop's machine: loop_boot() then has another name. */
void loop_virtual_reboot(struct loop *loop);

/* Runs until loop_stop().  The virtual loop also returns when no timer is left. */
void loop_run(struct loop *loop);

/* Runs the virtual loop until its clock shows `until` (or loop_stop()): every timer due up to and
   including that moment has run.  On libevent: runs for as long in real time. */
void loop_run_until(struct loop *loop, int64_t until_ms);

/* Ends loop_run() after the present turn. */
void loop_stop(struct loop *loop);

/* A timer at rest.  The context must outlive it. */
struct timer *timer_new(struct loop *loop, timer_fn fire, void *context)
    __attribute__((returns_nonnull, warn_unused_result));

/* Fires once, in delay_ms from loop_now() (0: in the next turn, never in this call); replaces an
   earlier setting. */
void timer_set(struct timer *timer, int64_t delay_ms);

/* As timer_set(), but keeps an earlier setting that is due sooner. */
void timer_set_sooner(struct timer *timer, int64_t delay_ms);

void timer_stop(struct timer *timer);
bool timer_is_set(const struct timer *timer);

/* NULL is legal, and so is freeing a timer from inside its own function. */
void timer_free(struct timer *timer);

/* The libevent base behind a loop_libevent, for http_curl and http_server; NULL on a virtual
   loop. */
struct event_base *loop_event_base(const struct loop *loop);

/* Calls fire(context) in a turn of its own when SIGINT or SIGTERM arrives.  libevent only. */
void loop_on_terminate(struct loop *loop, timer_fn fire, void *context);

/* The same when SIGHUP arrives, which then ends nothing.  libevent only. */
void loop_on_hangup(struct loop *loop, timer_fn fire, void *context);

/* Tests: advances the clocks, as during a suspend of the machine; timers due by then fire in the
   next turn. libevent only. */
void loop_skip(struct loop *loop, int64_t by_ms);

static inline void owned_loop(struct loop **loop)
{
    loop_free(*loop);
}
