/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What changes a pool.  Each order waits for its turn, reads, and sends at most one write that the
 * server refuses if the pool has changed since (resourceVersion).
 *
 * A removal is two writes in two calls: the Machine is marked, and its UID is the order's progress;
 * then the pool is made smaller.  Between the two anything may happen, so each call decides by what
 * it reads: whether the Machine is still there, and whether the pool still wants it.
 *
 * A pool that is busy, or has changed since it was read, is ERROR_TRANSIENT: nothing was done, and
 * the order is repeated.  For the caller ERROR_CONFLICT would mean that there is nothing to do.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "base/world/pages.h"
#include "providers/capi/capi_call.h"
#include "providers/capi/capi_machine.h"
#include "providers/capi/capi_verbs.h"

#include <string.h>

enum { COUNT_MOST = 100000 };

static const char MARKED[] = "marked "; /* a removal's progress: "marked UID GENERATION" */

static void finish_text(struct capi_call *call, enum error_kind kind, const char *text)
{
    struct error err = { 0 };

    error_set(&err, kind, "%s", text);
    capi_finish_failed(call, &err);
}

/* A write that was refused, or whose outcome is not known. */
static void finish_refused(struct capi_call *call, const struct error *err)
{
    struct error own = *err;

    provider_not_now(&own);
    capi_finish_failed(call, &own);
}

/* The caller stores the progress, and calls again. */
static void finish_goes_on(struct capi_call *call, const char *progress)
{
    owned(chars) char *kept = mem_copy_chars(progress);
    struct error err = { 0 };

    error_set(&err, ERROR_TRANSIENT, "capi: %s %s: the order goes on", capi_kind_name(call),
              call->name);
    error_because(&err, &provider_goes_on);
    capi_finish_done(call, kept, &err);
}

static void order(struct capi_call *call, const struct provider_order *order, provider_done_fn done,
                  void *context)
{
    call->request_id = mem_copy_chars(order->request_id);
    call->progress = mem_copy_chars(order->progress);
    call->instance = mem_copy_chars(order->instance ?: "");
    call->done = done;
    call->context = context;
    call->turn.request_id = call->instance[0] != '\0' ? "" : call->request_id;
    call->turn.progress = call->progress;
    growth_wait(call->capi->growth, call->group, &call->turn);
}

/* ---- counting ---- */

static void on_counted_page(void *context, const json_t *body, const struct error *err);

static void count_page(struct capi_call *call, const char *page)
{
    owned(chars) char *target = capi_list_target(call, page);

    capi_send(call, &(struct capi_request){ .action = CAPI_LIST_MACHINES, .target = target },
              on_counted_page);
}

static void count_one(struct capi_call *call, const json_t *machine)
{
    const char *name = json_text_or(machine, "metadata/name", "");

    if (capi_is_leaving(machine)) {
        call->count.leaving++;
        return;
    }
    call->count.staying++;
    if (capi_mark_of(machine) && !text_equal(name, call->instance))
        text_copy(call->count.marked, sizeof call->count.marked, name);
}

static void on_counted_page(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;
    struct error why = { 0 };
    json_t *items;
    const json_t *item;
    const char *next = "";
    size_t at;

    if (err) {
        capi_finish_failed(call, err);
        return;
    }
    if (json_need_array(body, "items", &items, &why) < 0 ||
        json_find_text(body, "metadata/continue", &next, &why) < 0) {
        capi_finish_failed(call, &why);
        return;
    }
    json_array_foreach(items, at, item) {
        count_one(call, item);
    }
    if (call->count.staying + call->count.leaving > COUNT_MOST || ++call->at > COUNT_MOST)
        finish_text(call, ERROR_CORRUPT, "its list of Machines has no end");
    else if (next[0] != '\0')
        count_page(call, next);
    else
        call->counted(call);
}

static void count(struct capi_call *call, void (*counted)(struct capi_call *call))
{
    call->counted = counted;
    call->count = (struct capi_count){ 0 };
    call->at = 0;
    count_page(call, NULL);
}

/* ---- the size ---- */

static void write_size(struct capi_call *call, int64_t wanted, kube_done_fn then)
{
    owned(chars) char *target = text_format("%s/scale", call->group);
    owned(json)
        json_t *body = json_make("{s:{s:s}, s:{s:I}}", "metadata", "resourceVersion",
                                 call->size.version, "spec", "replicas", (json_int_t)wanted);

    require(wanted >= 0 && wanted >= call->size.wanted - 1);
    capi_send(call,
              &(struct capi_request){
                  .action = call->is_pool ? CAPI_SCALE_POOL : CAPI_SCALE_DEPLOYMENT,
                  .target = target,
                  .body = body,
              },
              then);
}

/* False: the call has ended. */
static bool take_size(struct capi_call *call, const json_t *body, const struct error *err)
{
    struct error why = { 0 };

    if (!err && capi_read_group(body, &call->size, &why) < 0)
        err = &why;
    if (err)
        capi_finish_failed(call, err);
    return !err;
}

/* ---- remove ---- */

static char *machine_target(const struct capi_call *call)
{
    owned(chars) char *name = url_format("/%s", call->instance);

    return text_format("%s%s", call->machines, name);
}

/* version NULL: whatever it has become since. */
static void write_mark(struct capi_call *call, const char *version, json_t *value,
                       kube_done_fn then)
{
    owned(chars) char *target = machine_target(call);
    owned(json) json_t *body = json_make("{s:{s:s, s:s*, s:{s:o}}}", "metadata", "uid", call->uid,
                                         "resourceVersion", version, "annotations",
                                         CAPI_DELETE_MACHINE, value);

    capi_send(call,
              &(struct capi_request){
                  .action = CAPI_MARK_MACHINE,
                  .target = target,
                  .body = body,
              },
              then);
}

static void finish_marked(struct capi_call *call)
{
    char progress[sizeof MARKED + sizeof call->uid + sizeof call->size.generation + 1];

    text_print(progress, sizeof progress, "%s%s %s", MARKED, call->uid, call->size.generation);
    finish_goes_on(call, progress);
}

static void on_marked(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;

    (void)body;
    if (err)
        finish_refused(call, err);
    else
        finish_marked(call);
}

static void on_mark_taken(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;
    struct error failure = call->failure;

    (void)body;
    if (err && err->kind != ERROR_NOT_FOUND)
        error_context(&failure, "its mark " CAPI_DELETE_MACHINE " stays (%.100s)", error_leaf(err));
    capi_finish_failed(call, &failure);
}

/* Whether the same write can still be accepted later. */
static bool may_be_repeated(const struct error *err)
{
    return err->kind == ERROR_TRANSIENT || err->kind == ERROR_THROTTLED ||
           err->kind == ERROR_CONFLICT || err->kind == ERROR_UNKNOWN_OUTCOME;
}

/* A mark that stays would choose the machine for whoever makes the pool smaller next. */
static void on_shrunk(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;

    (void)body;
    if (!err) {
        capi_finish_done(call, "", NULL);
    } else if (may_be_repeated(err)) {
        finish_refused(call, err);
    } else {
        call->failure = *err;
        write_mark(call, NULL, json_null(), on_mark_taken);
    }
}

static void remove_counted(struct capi_call *call)
{
    bool has_mark = text_equal(call->mark, call->request_id);
    bool is_stored = text_starts_with(call->progress, MARKED);
    char why[CAPI_BUSY_SIZE];

    switch (capi_removal_step(&call->size, &call->count, has_mark, why)) {
    case CAPI_REMOVAL_WAIT:
        finish_text(call, ERROR_TRANSIENT, why);
        break;
    case CAPI_REMOVAL_DONE:
        capi_finish_done(call, "", NULL);
        break;
    case CAPI_REMOVAL_WRITE:
        if (!has_mark)
            write_mark(call, call->version, json_text(call->request_id), on_marked);
        else if (!is_stored)
            finish_marked(call);
        else
            write_size(call, call->size.wanted - 1, on_shrunk);
        break;
    }
}

/* Whether the order's progress is that its Machine was marked, and the generation of the pool then;
   "": not told. */
static bool is_marked(const struct capi_call *call, const char **ret_generation)
{
    size_t length = strlen(call->uid);
    const char *at = call->progress + strlen(MARKED);

    *ret_generation = "";
    if (!text_starts_with(call->progress, MARKED) || strncmp(at, call->uid, length) != 0 ||
        (at[length] != '\0' && at[length] != ' '))
        return false;
    *ret_generation = at[length] == ' ' ? at + length + 1 : "";
    return true;
}

/* It was marked, leaves, and nobody has changed the size since: somebody deleted it.  No mark is
   needed then, because what leaves goes first. */
static void leaving_counted(struct capi_call *call)
{
    char why[CAPI_BUSY_SIZE];

    switch (capi_leaving_step(&call->size, &call->count, why)) {
    case CAPI_REMOVAL_WAIT:
        finish_text(call, ERROR_TRANSIENT, why);
        break;
    case CAPI_REMOVAL_DONE:
        capi_finish_done(call, "", NULL);
        break;
    case CAPI_REMOVAL_WRITE:
        write_size(call, call->size.wanted - 1, on_shrunk);
        break;
    }
}

/* Any other size may be the one that was written for it, and an order that came after that. */
static void on_leaving_size(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;
    const char *generation;

    if (!take_size(call, body, err))
        return;
    if (is_marked(call, &generation) && text_equal(generation, call->size.generation))
        count(call, leaving_counted);
    else
        capi_finish_done(call, "", NULL);
}

static void on_remove_size(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;

    if (take_size(call, body, err))
        count(call, remove_counted);
}

/* False, with an error: no more is to be done. */
static bool is_to_go(struct capi_call *call, const json_t *body, struct error *err)
{
    const char *uid, *version, *generation;

    if (json_need_text(body, "metadata/uid", &uid, err) < 0 ||
        json_need_text(body, "metadata/resourceVersion", &version, err) < 0)
        return false;
    if (!text_copy(call->uid, sizeof call->uid, uid) ||
        !text_copy(call->version, sizeof call->version, version)) {
        error_set(err, ERROR_CORRUPT, "metadata of Machine %s: too long", call->instance);
        return false;
    }
    text_copy(call->mark, sizeof call->mark, capi_mark_of(body) ?: "");
    if (!capi_is_of_pool(call, body))
        error_set(err, ERROR_INVALID, "Machine %s is of another pool", call->instance);
    else if (text_starts_with(call->progress, MARKED) && !is_marked(call, &generation))
        error_set(err, ERROR_NOT_FOUND, "Machine %s is another one of that name", call->instance);
    return err->kind == ERROR_NONE;
}

static void on_remove_machine(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;
    struct error why = { 0 };

    if (!err && !is_to_go(call, body, &why))
        err = &why;
    if (err)
        capi_finish_failed(call, err);
    else if (capi_is_leaving(body))
        capi_read_size(call, on_leaving_size);
    else
        capi_read_size(call, on_remove_size);
}

static void begin_remove(struct growth_turn *turn)
{
    struct capi_call *call = (struct capi_call *)turn;
    owned(chars) char *target = machine_target(call);

    capi_send(call, &(struct capi_request){ .action = CAPI_GET_MACHINE, .target = target },
              on_remove_machine);
}

void capi_remove(struct provider *provider, const struct pool_address *pool,
                 const struct provider_order *given, provider_done_fn done, void *context)
{
    struct capi_call *call = capi_call_new(provider, pool);

    require(given->instance && given->instance[0] != '\0');
    call->turn.ready = begin_remove;
    order(call, given, done, context);
}

/* ---- create and cancel ---- */

static void on_resized(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;

    (void)body;
    if (!err || err->kind != ERROR_UNKNOWN_OUTCOME)
        growth_answered(&call->turn, !err);
    if (err)
        finish_refused(call, err);
    else
        capi_finish_done(call, "", NULL);
}

static void resize(struct capi_call *call, enum growth_verdict verdict, const char *progress,
                   int64_t wanted)
{
    switch (verdict) {
    case GROWTH_PLAN:
        finish_goes_on(call, progress);
        break;
    case GROWTH_DONE:
        capi_finish_done(call, "", NULL);
        break;
    case GROWTH_NONE:
        finish_text(call, ERROR_CONFLICT, "it wants no more Machines than it has");
        break;
    case GROWTH_SEND:
        if (call->size.busy[0] == '\0' && !call->size.is_lagging) {
            write_size(call, wanted, on_resized);
            return;
        }
        growth_answered(&call->turn, false);
        finish_text(call, ERROR_TRANSIENT,
                    call->size.busy[0] != '\0' ? call->size.busy : capi_lags);
        break;
    }
}

/* The generation, and not the resourceVersion, which changes with each Machine's state. */
static struct growth_size size_of(const struct capi_call *call)
{
    return (struct growth_size){
        .wanted = call->size.wanted,
        .present = call->count.staying + call->count.leaving,
        .version = call->size.generation,
    };
}

static void on_create_size(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;
    char progress[GROWTH_PROGRESS_SIZE] = "";
    enum growth_verdict verdict;
    struct growth_size size;
    int64_t wanted = 0;

    if (!take_size(call, body, err))
        return;
    size = size_of(call);
    verdict = growth_grow(&call->turn, &size, progress, &wanted);
    resize(call, verdict, progress, wanted);
}

static void begin_create(struct growth_turn *turn)
{
    capi_read_size((struct capi_call *)turn, on_create_size);
}

void capi_create(struct provider *provider, const struct pool_address *pool,
                 const struct provider_order *given, provider_done_fn done, void *context)
{
    struct capi_call *call = capi_call_new(provider, pool);
    struct provider_order grown = *given;

    grown.instance = NULL;
    call->turn.ready = begin_create;
    order(call, &grown, done, context);
}

/* A Machine that is made between the count and the write is the one that the pool then deletes: one
   without a Node goes before those that have one. */
static void cancel_counted(struct capi_call *call)
{
    char progress[GROWTH_PROGRESS_SIZE] = "";
    struct growth_size size = size_of(call);
    int64_t wanted = 0;
    enum growth_verdict verdict;

    if (size.present < call->size.present) /* the list lacks some */
        size.present = call->size.present;
    verdict = growth_shrink(&call->turn, &size, progress, &wanted);
    resize(call, verdict, progress, wanted);
}

static void on_cancel_size(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;

    if (take_size(call, body, err))
        count(call, cancel_counted);
}

static void begin_cancel(struct growth_turn *turn)
{
    capi_read_size((struct capi_call *)turn, on_cancel_size);
}

void capi_cancel(struct provider *provider, const struct pool_address *pool,
                 const struct provider_order *given, provider_done_fn done, void *context)
{
    struct capi_call *call = capi_call_new(provider, pool);
    struct provider_order cancelled = *given;

    cancelled.instance = NULL;
    call->turn.ready = begin_cancel;
    order(call, &cancelled, done, context);
}
