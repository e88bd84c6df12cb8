/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One suite of timers on both loops, then what only one of them does.
 */
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/world/loop.h"
#include "tests/support/unit.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MARK_COUNT = 8 };

struct fixture {
    struct loop *loop;
    struct mark {
        struct fixture *fixture;
        struct timer *timer;
        char name;
    } marks[MARK_COUNT];
    char order[64]; /* the names of the marks that fired */
};

static void on_mark(void *context)
{
    struct mark *mark = context;
    size_t length = strlen(mark->fixture->order);

    require(length + 1 < sizeof mark->fixture->order);
    mark->fixture->order[length] = mark->name;
}

static void set_up(struct fixture *fixture, struct loop *loop)
{
    fixture->loop = loop;
    for (size_t i = 0; i < MARK_COUNT; i++) {
        fixture->marks[i] = (struct mark){ fixture, NULL, (char)('a' + i) };
        fixture->marks[i].timer = timer_new(loop, on_mark, &fixture->marks[i]);
    }
}

static int set_up_virtual(void **state)
{
    struct fixture *fixture = mem_new(sizeof *fixture);

    set_up(fixture, loop_virtual_new((struct wall_time){ 1000000 }));
    *state = fixture;
    return 0;
}

static int set_up_libevent(void **state)
{
    struct fixture *fixture = mem_new(sizeof *fixture);
    struct error err;

    set_up(fixture, loop_libevent_new(&err));
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    for (size_t i = 0; i < MARK_COUNT; i++)
        timer_free(fixture->marks[i].timer);
    loop_free(fixture->loop);
    mem_free(fixture);
    return 0;
}

static void run_for(struct fixture *fixture, int64_t duration_ms)
{
    loop_run_until(fixture->loop, loop_now(fixture->loop) + duration_ms);
}

static void timers_fire_by_time_then_by_setting(void **state)
{
    struct fixture *fixture = *state;
    static const int delays[MARK_COUNT] = { 20, 10, 20, 0, 10, 0, 30, 20 };

    for (size_t i = 0; i < MARK_COUNT; i++)
        timer_set(fixture->marks[i].timer, delays[i]);
    run_for(fixture, 50);
    assert_string_equal(fixture->order, "dfbeachg");
}

static void a_timer_beyond_the_end_waits(void **state)
{
    struct fixture *fixture = *state;
    int64_t start_ms = loop_now(fixture->loop);

    timer_set(fixture->marks[0].timer, 10000);
    timer_set(fixture->marks[1].timer, 30);
    run_for(fixture, 30);
    assert_string_equal(fixture->order, "b");
    assert_true(loop_now(fixture->loop) - start_ms >= 30);
    assert_true(loop_now(fixture->loop) - start_ms < 5000);
    assert_true(timer_is_set(fixture->marks[0].timer));
    assert_false(timer_is_set(fixture->marks[1].timer));
}

static void setting_again_replaces(void **state)
{
    struct fixture *fixture = *state;

    timer_set(fixture->marks[0].timer, 5);
    timer_set(fixture->marks[0].timer, 20);
    timer_set(fixture->marks[1].timer, 10);
    run_for(fixture, 40);
    assert_string_equal(fixture->order, "ba");
}

static void setting_sooner_keeps_the_earlier(void **state)
{
    struct fixture *fixture = *state;

    timer_set(fixture->marks[0].timer, 5);
    timer_set_sooner(fixture->marks[0].timer, 500000);
    timer_set(fixture->marks[1].timer, 500000);
    timer_set_sooner(fixture->marks[1].timer, 10);
    timer_set_sooner(fixture->marks[2].timer, 15);
    run_for(fixture, 40);
    assert_string_equal(fixture->order, "abc");
}

static void a_stopped_timer_is_silent(void **state)
{
    struct fixture *fixture = *state;

    for (size_t i = 0; i < MARK_COUNT; i++)
        timer_set(fixture->marks[i].timer, (int64_t)i);
    for (size_t i = 0; i < MARK_COUNT; i += 2)
        timer_stop(fixture->marks[i].timer);
    timer_stop(fixture->marks[0].timer);
    run_for(fixture, 30);
    assert_string_equal(fixture->order, "bdfh");
}

static void on_free_itself(void *context)
{
    struct mark *mark = context;

    on_mark(mark);
    timer_free(mark->timer);
    mark->timer = NULL;
}

static void a_timer_may_free_itself(void **state)
{
    struct fixture *fixture = *state;
    struct mark *mark = &fixture->marks[0];

    timer_free(mark->timer);
    mark->timer = timer_new(fixture->loop, on_free_itself, mark);
    timer_set(mark->timer, 1);
    timer_set(fixture->marks[1].timer, 2);
    run_for(fixture, 20);
    assert_string_equal(fixture->order, "ab");
    assert_null(mark->timer);
}

static void on_again(void *context)
{
    struct mark *mark = context;

    on_mark(mark);
    if (strlen(mark->fixture->order) < 3)
        timer_set(mark->timer, 0);
    assert_int_equal(loop_now(mark->fixture->loop), loop_now(mark->fixture->loop));
}

static void a_timer_may_set_itself_again(void **state)
{
    struct fixture *fixture = *state;
    struct mark *mark = &fixture->marks[0];

    timer_free(mark->timer);
    mark->timer = timer_new(fixture->loop, on_again, mark);
    timer_set(mark->timer, 0);
    assert_string_equal(fixture->order, "");
    run_for(fixture, 20);
    assert_string_equal(fixture->order, "aaa");
}

static void on_stop(void *context)
{
    struct mark *mark = context;

    on_mark(mark);
    loop_stop(mark->fixture->loop);
}

static void stopping_ends_the_run(void **state)
{
    struct fixture *fixture = *state;
    struct mark *mark = &fixture->marks[0];

    timer_free(mark->timer);
    mark->timer = timer_new(fixture->loop, on_stop, mark);
    timer_set(mark->timer, 5);
    timer_set(fixture->marks[1].timer, 5);
    loop_run(fixture->loop);
    assert_string_equal(fixture->order, "a");
    run_for(fixture, 5);
    assert_string_equal(fixture->order, "ab");
}

static void an_endless_delay_is_never_due(void **state)
{
    struct fixture *fixture = *state;

    run_for(fixture, 2);
    timer_set(fixture->marks[0].timer, INT64_MAX);
    timer_set(fixture->marks[1].timer, -5);
    run_for(fixture, 5);
    assert_string_equal(fixture->order, "b");
}

static void a_virtual_clock_jumps_and_stops_exactly(void **state)
{
    struct fixture *fixture = *state;

    timer_set(fixture->marks[0].timer, DAY_MS);
    loop_run(fixture->loop);
    assert_int_equal(loop_now(fixture->loop), DAY_MS);
    assert_int_equal(loop_wall(fixture->loop).ms, 1000000 + DAY_MS);
    loop_run_until(fixture->loop, 2 * DAY_MS + 7);
    assert_int_equal(loop_now(fixture->loop), 2 * DAY_MS + 7);
    loop_run(fixture->loop);
    assert_int_equal(loop_now(fixture->loop), 2 * DAY_MS + 7);
    assert_null(loop_event_base(fixture->loop));
}

/* Many timers, set, moved and stopped by a small generator, must fire in order. */
static void many_timers_keep_their_order(void **state)
{
    enum { COUNT = 2000 };
    struct fixture *fixture = *state;
    struct timer **timers = mem_new_array(COUNT, sizeof *timers);
    uint32_t random = 7;

    for (size_t i = 0; i < COUNT; i++)
        timers[i] = timer_new(fixture->loop, on_stop, &fixture->marks[0]);
    for (size_t i = 0; i < 3 * (size_t)COUNT; i++) {
        random = random * 1664525U + 1013904223U;
        if (random >> 30 == 0)
            timer_stop(timers[i % COUNT]);
        else
            timer_set(timers[i % COUNT], random >> 8 & 1023);
    }

    size_t set = 0, fired = 0;
    int64_t before_ms = 0;

    for (size_t i = 0; i < COUNT; i++)
        set += timer_is_set(timers[i]);
    for (; set > fired; fired++) {
        memset(fixture->order, 0, sizeof fixture->order);
        loop_run(fixture->loop);
        assert_string_equal(fixture->order, "a");
        assert_true(loop_now(fixture->loop) >= before_ms);
        before_ms = loop_now(fixture->loop);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_false(timer_is_set(timers[i]));
        timer_free(timers[i]);
    }
    mem_free(timers);
}

static void keep_line(void *context, const char *line)
{
    text_add(context, "%s\n", line);
}

static void a_virtual_loop_stamps_the_log(void **state)
{
    struct fixture *fixture = *state;
    owned(text) struct text *lines = text_new(1000);

    log_set_sink(keep_line, lines);
    loop_run_until(fixture->loop, 3 * SECOND_MS);
    log_info("probe", FIELD_INT("n", 1));
    log_set_sink(NULL, NULL);
    assert_non_null(strstr(lines->chars, "1970-01-01T00:16:43"));
}

static void a_signal_ends_the_service(void **state)
{
    static const int numbers[] = { SIGTERM, SIGINT };
    struct fixture *fixture = *state;

    loop_on_terminate(fixture->loop, on_stop, &fixture->marks[0]);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        kill(getpid(), numbers[i]);
        loop_run(fixture->loop);
        assert_int_equal(strlen(fixture->order), i + 1);
    }
}

static void a_hangup_is_told_and_ends_nothing(void **state)
{
    struct fixture *fixture = *state;

    loop_on_terminate(fixture->loop, on_stop, &fixture->marks[0]);
    loop_on_hangup(fixture->loop, on_stop, &fixture->marks[1]);
    for (size_t i = 0; i < 2; i++) {
        kill(getpid(), SIGHUP);
        loop_run(fixture->loop);
    }
    assert_string_equal(fixture->order, "bb");
}

/* As when a turn before takes long. */
static void the_latest_timer_is_noted(void **state)
{
    struct fixture *fixture = *state;

    timer_set(fixture->marks[0].timer, 0);
    run_for(fixture, 1);
    assert_in_range(loop_late_ms(fixture->loop), 0, 20 * SECOND_MS);
    timer_set(fixture->marks[0].timer, 10);
    loop_skip(fixture->loop, 30 * SECOND_MS);
    run_for(fixture, 1);
    assert_in_range(loop_late_ms(fixture->loop), 29 * SECOND_MS, 60 * SECOND_MS);
    loop_skip(fixture->loop, 2 * MINUTE_MS); /* nothing was due then */
    timer_set(fixture->marks[0].timer, 0);
    run_for(fixture, 1);
    assert_in_range(loop_late_ms(fixture->loop), 0, 20 * SECOND_MS);
}

static int busy_end = -1;

/* Makes a descriptor ready and never rests. */
static void write_and_set_again(void *context)
{
    struct mark *mark = context;

    assert_int_equal(write(busy_end, "x", 1), 1);
    timer_set(mark->timer, 0);
}

static void stop_on_byte(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    on_stop(context);
}

static void a_busy_timer_leaves_room_for_descriptors(void **state)
{
    struct fixture *fixture = *state;
    struct mark *busy = &fixture->marks[0];
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    busy_end = ends[1];

    struct event *event = event_new(loop_event_base(fixture->loop), ends[0], EV_READ, stop_on_byte,
                                    &fixture->marks[1]);

    assert_int_equal(event_add(event, NULL), 0);
    timer_free(busy->timer);
    busy->timer = timer_new(fixture->loop, write_and_set_again, busy);
    timer_set(busy->timer, 0);
    loop_run(fixture->loop);
    assert_string_equal(fixture->order, "b");
    event_free(event);
    close(ends[0]);
    close(ends[1]);
}

static void a_broken_pipe_does_not_kill(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(write(ends[1], "x", 1), -1);
    close(ends[1]);
}

static void count_fire(void *context)
{
    ++*(int *)context;
}

static void our_wall_clock_moves_only_when_it_is_moved(void **state)
{
    struct fixture *fixture = *state;
    int64_t before_ms = loop_wall(fixture->loop).ms - loop_now(fixture->loop);

    assert_true(llabs(loop_wall_apart(fixture->loop)) < 1000);
    run_for(fixture, 20);
    assert_int_equal(loop_wall(fixture->loop).ms - loop_now(fixture->loop), before_ms);
    loop_wall_move(fixture->loop, -HOUR_MS);
    assert_int_equal(loop_wall(fixture->loop).ms - loop_now(fixture->loop), before_ms - HOUR_MS);
    assert_true(llabs(loop_wall_apart(fixture->loop) - HOUR_MS) < 1000);
}

/* As while a machine sleeps: both clocks go on, and what is due by then fires. */
static void time_that_is_skipped_has_passed(void **state)
{
    struct fixture *fixture = *state;
    struct loop *loop = fixture->loop;
    struct wall_time wall = loop_wall(loop);
    int64_t now_ms = loop_now(loop);
    int fired = 0;
    struct timer *soon = timer_new(loop, count_fire, &fired);
    struct timer *late = timer_new(loop, count_fire, &fired);

    timer_set(soon, HOUR_MS);
    timer_set(late, 2 * HOUR_MS);
    loop_run_until(loop, now_ms);
    assert_int_equal(fired, 0);
    loop_skip(loop, HOUR_MS);
    assert_in_range(loop_now(loop) - now_ms, HOUR_MS, HOUR_MS + MINUTE_MS);
    assert_in_range(loop_wall(loop).ms - wall.ms, HOUR_MS, HOUR_MS + MINUTE_MS);
    assert_true(llabs(loop_wall_apart(loop)) < MINUTE_MS);
    loop_run_until(loop, loop_now(loop));
    assert_int_equal(fired, 1);
    timer_free(soon);
    timer_free(late);
}

static void a_virtual_machine_may_be_set(void **state)
{
    struct fixture *fixture = *state;
    struct wall_time before = loop_wall(fixture->loop);
    char boot[64];

    loop_virtual_jump(fixture->loop, DAY_MS);
    loop_virtual_jump(fixture->loop, -HOUR_MS);
    assert_int_equal(loop_wall(fixture->loop).ms, before.ms);
    assert_int_equal(loop_wall_apart(fixture->loop), DAY_MS - HOUR_MS);
    snprintf(boot, sizeof boot, "%s", loop_boot(fixture->loop));
    loop_virtual_reboot(fixture->loop);
    assert_string_not_equal(loop_boot(fixture->loop), boot);
}

/* Two processes that the same machine runs can compare their readings. */
static void the_start_of_the_machine_has_a_name(void **state)
{
    struct fixture *fixture = *state;
    struct error err;
    owned(loop) struct loop *other = loop_libevent_new(&err);

    assert_int_equal(strlen(loop_boot(fixture->loop)), 36);
    assert_string_equal(loop_boot(other), loop_boot(fixture->loop));
}

#define ON_BOTH(test)                                                                              \
    { #test " (virtual)", test, set_up_virtual, tear_down, NULL },                                 \
    {                                                                                              \
#test " (libevent)", test, set_up_libevent, tear_down, NULL                                \
    }
#define ON_ONE(test, loop)                                                                         \
    {                                                                                              \
#test, test, set_up_##loop, tear_down, NULL                                                \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(timers_fire_by_time_then_by_setting),
        ON_BOTH(a_timer_beyond_the_end_waits),
        ON_BOTH(setting_again_replaces),
        ON_BOTH(setting_sooner_keeps_the_earlier),
        ON_BOTH(a_stopped_timer_is_silent),
        ON_BOTH(a_timer_may_free_itself),
        ON_BOTH(a_timer_may_set_itself_again),
        ON_BOTH(stopping_ends_the_run),
        ON_BOTH(an_endless_delay_is_never_due),
        ON_BOTH(our_wall_clock_moves_only_when_it_is_moved),
        ON_ONE(a_virtual_clock_jumps_and_stops_exactly, virtual),
        ON_ONE(a_virtual_machine_may_be_set, virtual),
        ON_ONE(time_that_is_skipped_has_passed, libevent),
        ON_ONE(the_start_of_the_machine_has_a_name, libevent),
        ON_ONE(many_timers_keep_their_order, virtual),
        ON_ONE(a_virtual_loop_stamps_the_log, virtual),
        ON_ONE(a_signal_ends_the_service, libevent),
        ON_ONE(a_hangup_is_told_and_ends_nothing, libevent),
        ON_ONE(a_busy_timer_leaves_room_for_descriptors, libevent),
        ON_ONE(a_broken_pipe_does_not_kill, libevent),
        ON_ONE(the_latest_timer_is_noted, libevent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
