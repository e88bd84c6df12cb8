/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The job is handed over under a mutex, and what it wrote is seen by the loop through the same one.
 * The loop is woken by an eventfd.
 */
#include "base/world/worker.h"

#include "base/memory.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum state { IDLE, GIVEN, ENDED }; /* GIVEN: the thread's, ENDED: the loop's again */

struct worker {
    pthread_t thread;
    pthread_mutex_t mutex; /* protects the members below that the thread uses */
    pthread_cond_t change;
    enum state state;
    bool is_leaving;
    worker_fn work;
    worker_fn done;
    worker_fn forget; /* NULL: it is not abandoned */
    void *context;
    int bell; /* eventfd: a job has ended */
    struct event *event;
};

static void free_parts(struct worker *worker)
{
    if (worker->event)
        event_free(worker->event);
    if (worker->bell >= 0)
        close(worker->bell);
    pthread_cond_destroy(&worker->change);
    pthread_mutex_destroy(&worker->mutex);
    mem_free(worker);
}

/* In the thread, which is detached: the loop has left the worker to it. */
static void *end_abandoned(struct worker *worker)
{
    worker->forget(worker->context);
    free_parts(worker);
    return NULL;
}

static void *live(void *context)
{
    struct worker *worker = context;
    bool is_abandoned = false;

    require(pthread_mutex_lock(&worker->mutex) == 0);
    for (;;) {
        while (worker->state != GIVEN && !worker->is_leaving)
            pthread_cond_wait(&worker->change, &worker->mutex);
        if (worker->state != GIVEN)
            break;
        require(pthread_mutex_unlock(&worker->mutex) == 0);
        worker->work(worker->context);
        require(pthread_mutex_lock(&worker->mutex) == 0);
        is_abandoned = worker->forget != NULL;
        if (is_abandoned)
            break;
        worker->state = ENDED;
        require(pthread_cond_broadcast(&worker->change) == 0);
        require(eventfd_write(worker->bell, 1) == 0);
    }
    require(pthread_mutex_unlock(&worker->mutex) == 0);
    return is_abandoned ? end_abandoned(worker) : NULL;
}

/* In the loop: the job's end is reported once, by whichever path sees it first. */
static void finish(struct worker *worker)
{
    enum state state;

    require(pthread_mutex_lock(&worker->mutex) == 0);
    state = worker->state;
    if (state == ENDED)
        worker->state = IDLE;
    require(pthread_mutex_unlock(&worker->mutex) == 0);
    if (state == ENDED)
        worker->done(worker->context);
}

static void on_bell(evutil_socket_t fd, short what, void *context)
{
    eventfd_t count;

    (void)what;
    (void)eventfd_read(fd, &count); /* worker_wait() may have been quicker */
    finish(context);
}

/* Signals are the loop's. */
static int begin_thread(struct worker *worker)
{
    sigset_t all, before;
    int code;

    sigfillset(&all);
    require(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    code = pthread_create(&worker->thread, NULL, live, worker);
    require(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return code;
}

struct worker *worker_new(struct loop *loop, struct error *err)
{
    struct worker *worker = mem_new(sizeof *worker);
    struct event_base *base = loop_event_base(loop);

    require(base);
    require(pthread_mutex_init(&worker->mutex, NULL) == 0);
    require(pthread_cond_init(&worker->change, NULL) == 0);
    worker->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (worker->bell >= 0)
        worker->event = event_new(base, worker->bell, EV_READ | EV_PERSIST, on_bell, worker);
    if (!worker->event || event_add(worker->event, NULL) < 0 || begin_thread(worker) != 0) {
        free_parts(worker);
        error_errno(err, ERROR_TRANSIENT, "cannot start a thread");
        return NULL;
    }
    return worker;
}

void worker_free(struct worker *worker)
{
    if (!worker)
        return;
    require(pthread_mutex_lock(&worker->mutex) == 0);
    worker->is_leaving = true;
    require(pthread_cond_broadcast(&worker->change) == 0);
    require(pthread_mutex_unlock(&worker->mutex) == 0);
    require(pthread_join(worker->thread, NULL) == 0);
    free_parts(worker);
}

void worker_abandon(struct worker *worker, worker_fn forget)
{
    enum state state;

    require(pthread_mutex_lock(&worker->mutex) == 0);
    state = worker->state;
    if (state == GIVEN) {
        event_free(steal(&worker->event)); /* while there is a loop */
        require(pthread_detach(worker->thread) == 0);
        worker->forget = forget;
    }
    require(pthread_mutex_unlock(&worker->mutex) == 0);
    if (state == GIVEN)
        return; /* it is the thread's */
    if (state == ENDED)
        forget(worker->context);
    worker_free(worker);
}

void worker_begin(struct worker *worker, worker_fn work, worker_fn done, void *context)
{
    require(pthread_mutex_lock(&worker->mutex) == 0);
    require(worker->state == IDLE && !worker->is_leaving);
    worker->work = work;
    worker->done = done;
    worker->context = context;
    worker->state = GIVEN;
    require(pthread_cond_broadcast(&worker->change) == 0);
    require(pthread_mutex_unlock(&worker->mutex) == 0);
}

void worker_wait(struct worker *worker)
{
    require(pthread_mutex_lock(&worker->mutex) == 0);
    while (worker->state == GIVEN)
        pthread_cond_wait(&worker->change, &worker->mutex);
    require(pthread_mutex_unlock(&worker->mutex) == 0);
    finish(worker);
}
