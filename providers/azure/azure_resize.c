/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Orders to an agent pool: another count, written under the ETag of what was read.  The order waits
 * for its turn in the managed cluster, reads the pool, and stores its number before it is sent.
 *
 * AKS refuses a write while an operation of the managed cluster is under way.  Nothing happened
 * then, so it is ERROR_TRANSIENT here: of an order ERROR_CONFLICT would mean that it is carried
 * out.
 */
#include "base/input/json.h"
#include "providers/azure/azure_call.h"

#include <string.h>

enum {
    BUSY_RETRY_MS = 10 * SECOND_MS,
    ABORT_AFTER_MS = 30 * MINUTE_MS, /* three times as long as machines with GPUs need */
};

static void fail_write(struct azure_call *call, struct error *err)
{
    provider_not_now(err);
    if (err->kind == ERROR_NOT_FOUND)
        err->kind = ERROR_INVALID;
    azure_call_fail(call, err);
}

static void on_resized(struct azure_call *call, const struct http_answer *answer,
                       const json_t *body, struct error *err)
{
    char operation[AZURE_OPERATION_SIZE];

    (void)body;
    if (!err || err->kind != ERROR_UNKNOWN_OUTCOME)
        growth_answered(&call->turn, !err);
    if (err) {
        fail_write(call, err);
        return;
    }
    azure_read_operation(answer, operation);
    azure_call_finish(call, NULL, operation);
}

static void fail_planned(struct azure_call *call, struct error *err)
{
    growth_answered(&call->turn, false);
    azure_call_fail(call, err);
}

static void resize(struct azure_call *call, const struct azure_pool *pool, int64_t wanted)
{
    owned(json) json_t *body = azure_pool_resized(call->pool, wanted);
    owned(chars) char *url = azure_call_url(call, "");
    struct error why = { 0 };

    if (pool->is_busy) {
        error_set(&why, ERROR_TRANSIENT, "an operation is under way: the agent pool is %.40s",
                  pool->state);
        why.retry_after_ms = BUSY_RETRY_MS;
        fail_planned(call, &why);
        return;
    }
    mem_free(call->body);
    call->body = json_print(body);
    azure_call_write(call, AZURE_RESIZE_POOL, url, pool->etag[0] != '\0' ? pool->etag : NULL,
                     on_resized);
}

static void decide(struct azure_call *call, const struct azure_pool *pool)
{
    const struct growth_size size = {
        .wanted = pool->wanted,
        .present = (int64_t)call->machines.count,
        .version = strlen(pool->etag) < GROWTH_VERSION_SIZE ? pool->etag : "",
    };
    char progress[GROWTH_PROGRESS_SIZE];
    struct error why = { 0 };
    int64_t wanted = 0;

    switch (call->is_shrinking ? growth_shrink(&call->turn, &size, progress, &wanted)
                               : growth_grow(&call->turn, &size, progress, &wanted)) {
    case GROWTH_PLAN:
        azure_call_goes_on(call, progress);
        break;
    case GROWTH_SEND:
        resize(call, pool, wanted);
        break;
    case GROWTH_DONE:
        azure_call_finish(call, NULL, "");
        break;
    case GROWTH_NONE:
        error_set(&why, ERROR_CONFLICT, "it wants no more machines than the %d that it has",
                  (int)call->machines.count);
        azure_call_fail(call, &why);
        break;
    }
}

static void on_aborted(struct azure_call *call, const struct http_answer *answer,
                       const json_t *body, struct error *err)
{
    struct error why = { 0 };

    (void)answer;
    (void)body;
    if (err) {
        fail_write(call, err);
        return;
    }
    azure_memory_of(call)->scaling_ms = 0; /* the next one waits as long */
    error_set(&why, ERROR_TRANSIENT, "its growth did not end, and is aborted");
    why.retry_after_ms = BUSY_RETRY_MS;
    azure_call_fail(call, &why);
}

/* One operation at a time changes a managed cluster, and AKS sets no end to it. */
static void abort_growth(struct azure_call *call)
{
    owned(chars) char *url = azure_call_url(call, "/abort");

    mem_free(call->body);
    call->body = mem_copy_chars("");
    azure_call_write(call, AZURE_ABORT, url, NULL, on_aborted);
}

/* Only a growth that failed can be taken back.  Otherwise a number below the pool's count makes AKS
   delete a machine, perhaps one that the list does not show yet.  While an operation runs, a
   machine of the list may be leaving. */
static void take_back(struct azure_call *call, const struct azure_pool *pool)
{
    int64_t scaling_ms = azure_memory_of_scaling(azure_memory_of(call), pool,
                                                 loop_now(call->azure->world->loop));
    bool is_short = pool->wanted > (int64_t)call->machines.count;
    struct error why = { 0 };

    if (pool->is_failed || (!pool->is_busy && !is_short)) {
        decide(call, pool);
        return;
    }
    if (is_short && scaling_ms >= ABORT_AFTER_MS) {
        abort_growth(call);
        return;
    }
    error_set(&why, ERROR_TRANSIENT,
              "the agent pool is %.40s, and %d of its %d machines are listed", pool->state,
              (int)call->machines.count, (int)pool->wanted);
    why.retry_after_ms = BUSY_RETRY_MS;
    azure_call_fail(call, &why);
}

static void on_machines(struct azure_call *call, const struct http_answer *answer,
                        const json_t *body, struct error *err)
{
    struct azure_pool pool;
    struct error why = { 0 };
    const char *next = NULL;
    size_t before = call->machines.count;

    (void)answer;
    if (err || azure_read_page(call, body, &next, &why) < 0) {
        azure_call_fail(call, err ?: &why);
        return;
    }
    pages_brought(&call->pages, call->machines.count - before);
    if (next && pages_next(&call->pages, next, &why) < 0) {
        azure_call_fail(call, &why);
    } else if (next) {
        azure_call_send(call, AZURE_LIST_MACHINES, next, on_machines);
    } else {
        require(azure_pool_read(call->pool, &pool, &why) == 0);
        take_back(call, &pool);
    }
}

static void on_pool(struct azure_call *call, const struct http_answer *answer, const json_t *body,
                    struct error *err)
{
    struct azure_pool pool;
    struct error why = { 0 };

    (void)answer;
    if (err || azure_pool_read(body, &pool, &why) < 0) {
        growth_failed(&call->turn, err ?: &why);
        fail_write(call, err ?: &why);
        return;
    }
    if (azure_pool_may_resize(body, &pool, &why) < 0) {
        azure_call_fail(call, &why);
        return;
    }
    json_decref(call->pool);
    call->pool = json_deep_copy(body);
    require(azure_pool_read(call->pool, &pool, &why) == 0); /* its texts live on */
    if (!call->is_shrinking) {
        decide(call, &pool);
        return;
    }
    owned(chars) char *url = azure_call_url(call, "/machines");

    pages_start(&call->pages, AZURE_PAGES_MOST);
    azure_call_send(call, AZURE_LIST_MACHINES, url, on_machines);
}

static void on_turn(struct growth_turn *turn)
{
    struct azure_call *call = azure_call_of_turn(turn);
    owned(chars) char *url = azure_call_url(call, "");

    azure_call_send(call, AZURE_GET_POOL, url, on_pool);
}

static void order(struct azure_call *call, const struct provider_order *order_,
                  provider_done_fn done, void *context)
{
    call->done = done;
    call->context = context;
    call->request_id = mem_copy_chars(order_->request_id);
    call->progress = mem_copy_chars(order_->progress);
    azure_call_wait(call, on_turn);
}

void azure_create(struct provider *provider, const struct pool_address *pool,
                  const struct provider_order *wanted, provider_done_fn done, void *context)
{
    order(azure_call_new((struct azure *)provider, pool, "growth"), wanted, done, context);
}

void azure_cancel(struct provider *provider, const struct pool_address *pool,
                  const struct provider_order *wanted, provider_done_fn done, void *context)
{
    struct azure_call *call = azure_call_new((struct azure *)provider, pool, "cancelled growth");

    call->is_shrinking = true;
    order(call, wanted, done, context);
}
