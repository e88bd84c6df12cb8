/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread beside the loop: jobs one after another, the loop free meanwhile, the end in the loop.
 */
#include "base/memory.h"
#include "base/world/worker.h"
#include "tests/support/unit.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { HANGS_MS = 30000 };

struct bench {
    struct loop *loop;
    struct worker *worker;
    struct timer *timer;
    pthread_t loop_thread;
    int pipe[2]; /* a job waits until something can be read */
    int worked;
    int done;
    int turns; /* of the timer, while a job was under way */
    int wanted;
};

static struct bench open_bench(void)
{
    struct error err = { 0 };
    struct bench bench = { .loop = loop_libevent_new(&err), .loop_thread = pthread_self() };

    assert_non_null(bench.loop);
    bench.worker = worker_new(bench.loop, &err);
    assert_non_null(bench.worker);
    assert_int_equal(pipe(bench.pipe), 0);
    return bench;
}

static void close_bench(struct bench *bench)
{
    timer_free(bench->timer);
    worker_free(bench->worker);
    loop_free(bench->loop);
    close(bench->pipe[0]);
    close(bench->pipe[1]);
}

static void work(void *context)
{
    struct bench *bench = context;

    require(!pthread_equal(pthread_self(), bench->loop_thread));
    bench->worked++;
}

/* Until the test writes: a disk that takes its time. */
static void work_slowly(void *context)
{
    struct bench *bench = context;
    struct pollfd wait = { .fd = bench->pipe[0], .events = POLLIN };
    char byte;

    require(poll(&wait, 1, HANGS_MS) == 1 && read(bench->pipe[0], &byte, 1) == 1);
    bench->worked++;
}

static void done(void *context)
{
    struct bench *bench = context;

    require(pthread_equal(pthread_self(), bench->loop_thread));
    bench->done++;
    assert_int_equal(bench->worked, bench->done);
    if (bench->done < bench->wanted)
        worker_begin(bench->worker, work, done, bench);
    else
        loop_stop(bench->loop);
}

static void jobs_follow_each_other(void **state)
{
    struct bench bench = open_bench();

    (void)state;
    bench.wanted = 1000;
    worker_begin(bench.worker, work, done, &bench);
    assert_int_equal(bench.done, 0); /* in a turn of its own */
    loop_run(bench.loop);
    assert_int_equal(bench.done, 1000);
    close_bench(&bench);
}

static void turn(void *context)
{
    struct bench *bench = context;

    assert_int_equal(bench->worked, 0);
    if (++bench->turns == 20)
        assert_int_equal(write(bench->pipe[1], "x", 1), 1);
    else
        timer_set(bench->timer, 0);
}

static void the_loop_goes_on_while_a_job_blocks(void **state)
{
    struct bench bench = open_bench();

    (void)state;
    bench.wanted = 1;
    bench.timer = timer_new(bench.loop, turn, &bench);
    timer_set(bench.timer, 0);
    worker_begin(bench.worker, work_slowly, done, &bench);
    loop_run(bench.loop);
    assert_int_equal(bench.turns, 20);
    assert_int_equal(bench.done, 1);
    close_bench(&bench);
}

static void who_waits_hears_the_end_once(void **state)
{
    struct bench bench = open_bench();

    (void)state;
    bench.wanted = 1;
    worker_wait(bench.worker); /* for nothing */
    worker_begin(bench.worker, work, done, &bench);
    worker_wait(bench.worker);
    assert_int_equal(bench.done, 1);
    bench.wanted = 2;
    worker_begin(bench.worker, work, done, &bench); /* the bell of the first still rings */
    loop_run(bench.loop);
    assert_int_equal(bench.done, 2);
    close_bench(&bench);
}

static void a_worker_ends_its_job_before_it_leaves(void **state)
{
    struct bench bench = open_bench();

    (void)state;
    worker_begin(bench.worker, work_slowly, done, &bench);
    assert_int_equal(write(bench.pipe[1], "x", 1), 1);
    worker_free(bench.worker);
    bench.worker = NULL;
    assert_int_equal(bench.worked, 1);
    assert_int_equal(bench.done, 0);
    close_bench(&bench);
}

static atomic_int forgotten;

static void forget(void *context)
{
    (void)context;
    forgotten++;
}

/* For a job that may never end. */
static void an_abandoned_worker_is_not_waited_for(void **state)
{
    struct bench bench = open_bench();
    int pipe = bench.pipe[1];

    (void)state;
    forgotten = 0;
    worker_begin(bench.worker, work_slowly, done, &bench);
    worker_abandon(bench.worker, forget);
    bench.worker = NULL;
    assert_int_equal(forgotten, 0);
    assert_int_equal(write(pipe, "x", 1), 1);
    while (forgotten == 0)
        usleep(1000);
    assert_int_equal(bench.worked, 1);
    assert_int_equal(bench.done, 0);
    close_bench(&bench);
}

static void without_a_job_an_abandoned_worker_is_gone(void **state)
{
    struct bench bench = open_bench();

    (void)state;
    forgotten = 0;
    worker_abandon(bench.worker, forget);
    assert_int_equal(forgotten, 0);
    bench.worker = worker_new(bench.loop, NULL);
    worker_begin(bench.worker, work, done, &bench);
    usleep(200000); /* it has ended most likely, and the loop has not heard of it */
    worker_abandon(bench.worker, forget);
    bench.worker = NULL;
    while (forgotten == 0)
        usleep(1000);
    assert_int_equal(bench.done, 0);
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_follow_each_other),
        cmocka_unit_test(the_loop_goes_on_while_a_job_blocks),
        cmocka_unit_test(who_waits_hears_the_end_once),
        cmocka_unit_test(a_worker_ends_its_job_before_it_leaves),
        cmocka_unit_test(an_abandoned_worker_is_not_waited_for),
        cmocka_unit_test(without_a_job_an_abandoned_worker_is_gone),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
