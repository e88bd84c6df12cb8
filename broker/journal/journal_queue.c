/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One group of batches is being written, and the next one waits.  Callers that wait for a write are
 * called before the next write begins.  Meanwhile the store is at rest, and the loop's thread may
 * read it.
 */
#include "broker/journal/journal_queue.h"

#include "base/log.h"
#include "base/world/worker.h"

struct after {
    uint64_t ticket; /* to be called when that one is kept */
    journal_after_fn fn;
    void *context;
};

struct journal_queue {
    struct journal *journal;
    struct loop *loop;
    struct worker *worker; /* one of the two; neither: the store answers later */
    struct timer *timer;
    int64_t delay_ms;
    struct journal_batches waiting;
    struct journal_batch *writing; /* NULL: nothing */
    uint64_t accepted; /* batches so far; `begun` of them were given to be written, `kept` are on
                          the disk */
    uint64_t begun;
    uint64_t kept;
    ARRAY(struct after) afters; /* by ticket */
    int64_t begun_ms;           /* loop time: when the write under way began */
    bool is_telling;
    bool is_failed;
    int result; /* of the write under way */
    struct error err;
};

static struct after take_first(struct journal_queue *queue)
{
    struct after first = queue->afters.items[0];

    require(queue->afters.count > 0);
    array_remove(&queue->afters, 0);
    return first;
}

static void tell_all(struct journal_queue *queue, enum journal_fate fate)
{
    while (queue->afters.count > 0) {
        struct after first = take_first(queue);

        first.fn(first.context, fate);
    }
}

static void fail(struct journal_queue *queue)
{
    struct journal *journal = queue->journal;

    require(!queue->is_failed && !queue->writing);
    require(queue->err.kind != ERROR_NONE); /* a failure says why */
    queue->is_failed = true;
    queue->err.kind = ERROR_UNKNOWN_OUTCOME;
    journal_batches_clear(&queue->waiting);
    tell_all(queue, JOURNAL_LOST);
    if (journal->on_failure)
        journal->on_failure(journal->failure_context, &queue->err);
    else
        log_error("journal_broken", FIELD_TEXT("text", queue->err.text));
}

/* Writes the group, in the journal's thread if it has one. */
static void write_group(void *context)
{
    struct journal_queue *queue = context;

    queue->result = journal_write(queue->journal, queue->writing, &queue->err);
}

static void begin(struct journal_queue *queue);

static void written(void *context)
{
    struct journal_queue *queue = context;

    require(queue->writing && queue->kept < queue->begun);
    journal_batch_free(steal(&queue->writing));
    if (queue->result < 0) {
        fail(queue);
        return;
    }
    queue->kept = queue->begun;
    require(queue->kept <= queue->accepted);
    queue->is_telling = true;
    while (queue->afters.count > 0 && queue->afters.items[0].ticket <= queue->kept) {
        struct after first = take_first(queue);

        first.fn(first.context, JOURNAL_KEPT);
    }
    queue->is_telling = false;
    begin(queue);
}

static void fire(void *context)
{
    write_group(context);
    written(context);
}

static void answered(void *context, int result, const struct error *err)
{
    struct journal_queue *queue = context;

    queue->result = result;
    if (result < 0)
        queue->err = *err;
    written(queue);
}

/* Each accepted batch fits the batches accepted before it. */
static struct journal_batch *take_group(struct journal_queue *queue)
{
    size_t count;
    struct journal_batch *group = journal_batches_take(&queue->waiting, &queue->journal->bound,
                                                       &count);
    struct error err;

    if (journal_batch_fold(group, &err) < 0)
        require(false);
    queue->begun += count;
    require(queue->begun + queue->waiting.count == queue->accepted);
    return group;
}

static void begin(struct journal_queue *queue)
{
    if (queue->waiting.count == 0 || queue->writing || queue->is_telling)
        return;
    queue->writing = take_group(queue);
    queue->begun_ms = loop_now(queue->loop);
    if (queue->worker)
        worker_begin(queue->worker, write_group, written, queue);
    else if (queue->timer)
        timer_set(queue->timer, queue->delay_ms);
    else
        queue->journal->verbs->send(queue->journal, queue->writing, answered, queue);
}

static struct journal_queue *queue_new(struct journal *journal, struct loop *loop)
{
    struct journal_queue *queue = mem_new(sizeof *queue);

    require(loop);
    queue->journal = journal;
    queue->loop = loop;
    return queue;
}

struct journal_queue *queue_new_thread(struct journal *journal, struct loop *loop,
                                       struct error *err)
{
    struct journal_queue *queue = queue_new(journal, loop);

    queue->worker = worker_new(loop, err);
    if (queue->worker)
        return queue;
    mem_free(queue);
    return NULL;
}

struct journal_queue *queue_new_timer(struct journal *journal, struct loop *loop, int64_t delay_ms)
{
    struct journal_queue *queue = queue_new(journal, loop);

    require(delay_ms >= 0);
    queue->delay_ms = delay_ms;
    queue->timer = timer_new(loop, fire, queue);
    return queue;
}

struct journal_queue *queue_new_store(struct journal *journal, struct loop *loop)
{
    return queue_new(journal, loop);
}

/* The write under way has no caller any more. */
static void let_go(struct journal_queue *queue)
{
    if (queue->timer)
        timer_stop(queue->timer);
    else if (!queue->worker && queue->writing)
        queue->journal->verbs->abandon(queue->journal);
    journal_batch_free(steal(&queue->writing));
    journal_batches_clear(&queue->waiting);
}

void queue_free(struct journal_queue *queue)
{
    if (!queue)
        return;
    queue_wait(queue);
    queue_forget(queue);
    let_go(queue);
    worker_free(queue->worker);
    timer_free(queue->timer);
    array_clear(&queue->afters);
    mem_free(queue);
}

const struct error *queue_failure(const struct journal_queue *queue)
{
    return queue->is_failed ? &queue->err : NULL;
}

void queue_add(struct journal_queue *queue, struct journal_batch *batch)
{
    require(!queue->is_failed);
    require(batch->epoch == queue->journal->epoch);
    queue->accepted++;
    *array_add(&queue->waiting) = batch;
    begin(queue);
}

void queue_after(struct journal_queue *queue, journal_after_fn fn, void *context)
{
    struct after *after;

    if (queue->is_failed || queue->kept == queue->accepted) {
        fn(context, queue->is_failed ? JOURNAL_LOST : JOURNAL_KEPT);
        return;
    }
    require(queue->afters.count == 0 ||
            queue->afters.items[queue->afters.count - 1].ticket <= queue->accepted);
    after = array_add(&queue->afters);
    *after = (struct after){ queue->accepted, fn, context };
}

void queue_forget(struct journal_queue *queue)
{
    tell_all(queue, JOURNAL_FORGOTTEN);
}

void queue_drop(struct journal_queue *queue)
{
    queue_wait(queue); /* a thread's journal lives no longer than its process */
    queue_forget(queue);
    let_go(queue);
    queue->kept = queue->begun = queue->accepted;
    queue->is_failed = queue->is_failed && queue->worker;
}

int64_t queue_write_ms(const struct journal_queue *queue)
{
    return queue->writing ? loop_now(queue->loop) - queue->begun_ms : 0;
}

void queue_wait(struct journal_queue *queue)
{
    while (queue->worker && queue->writing)
        worker_wait(queue->worker);
}
