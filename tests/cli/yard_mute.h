/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The yard as a cloud that takes only a number of boxes, names them itself and shows no key, as
 * scaling groups do.  And the table of all kinds, which takes the place of the product's.
 */
#pragma once

#include "providers/common/growth.h"
#include "tests/cli/yard_kind.h"

extern const struct provider_kind yard_mute_kind;

/* A change of the size: a read, and perhaps a write, within one turn. */
struct yard_mute_call {
    struct growth_turn turn; /* first */
    struct yard_mute_call *next;
    struct yard_provider *yard;
    struct http_exchange *exchange;
    char request_id[64];
    char progress[GROWTH_PROGRESS_SIZE];
    bool is_cancel;
    bool is_sent;
    provider_done_fn done;
    void *context;
};

static inline void yard_mute_finish(struct yard_mute_call *call, const char *operation,
                                    const struct error *err)
{
    struct yard_mute_call **at = &call->yard->resizing;
    provider_done_fn done = call->done;
    void *context = call->context;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    growth_leave(&call->turn);
    mem_free(call);
    done(context, operation, err);
}

static inline void yard_mute_send(struct yard_mute_call *call, enum http_method method,
                                  const char *path);

static inline void yard_mute_decide(struct yard_mute_call *call, const json_t *body)
{
    char progress[GROWTH_PROGRESS_SIZE];
    struct growth_size size = { .wanted = json_integer_value(json_object_get(body, "wanted")),
                                .present = json_integer_value(json_object_get(body, "present")),
                                .version = "" };
    int64_t wanted = 0;
    enum growth_verdict verdict = call->is_cancel
                                      ? growth_shrink(&call->turn, &size, progress, &wanted)
                                      : growth_grow(&call->turn, &size, progress, &wanted);
    struct error err = { 0 };

    if (verdict == GROWTH_SEND) {
        owned(chars) char *path = text_format("resize?to=%d", (int)wanted);

        call->is_sent = true;
        yard_mute_send(call, HTTP_POST, path);
        return;
    }
    if (verdict == GROWTH_PLAN) {
        error_set(&err, ERROR_TRANSIENT, "another exchange follows");
        error_because(&err, &provider_goes_on);
    } else if (verdict == GROWTH_NONE) {
        error_set(&err, ERROR_CONFLICT, "the yard wants no more boxes than it has");
    }
    yard_mute_finish(call, verdict == GROWTH_PLAN ? progress : "",
                     err.kind == ERROR_NONE ? NULL : &err);
}

static inline void yard_mute_answered(void *context, const struct http_answer *answer,
                                      const struct error *err)
{
    struct yard_mute_call *call = context;
    struct error why = { 0 };
    owned(json) json_t *body = err ? NULL
                                   : json_parse(answer->body, answer->body_size, "yard", NULL);

    call->exchange = NULL;
    if (err)
        why = *err;
    else if (answer->status != 200)
        error_set(&why, ERROR_TRANSIENT, "the yard is busy");
    if (why.kind == ERROR_NONE && !call->is_sent) {
        yard_mute_decide(call, body);
        return;
    }
    if (call->is_sent && why.kind != ERROR_UNKNOWN_OUTCOME)
        growth_answered(&call->turn, why.kind == ERROR_NONE);
    yard_mute_finish(call, "", why.kind == ERROR_NONE ? NULL : &why);
}

static inline void yard_mute_send(struct yard_mute_call *call, enum http_method method,
                                  const char *path)
{
    owned(chars) char *url = text_format("%s/yard/%s", call->yard->base, path);
    struct http_request request = { .method = method,
                                    .url = url,
                                    .is_mutation = method == HTTP_POST,
                                    .timeout_ms = 30 * SECOND_MS };

    call->exchange = http_send(call->yard->world->http, &request, yard_mute_answered, call);
}

static inline void yard_mute_ready(struct growth_turn *turn)
{
    yard_mute_send((struct yard_mute_call *)turn, HTTP_GET, "size");
}

static inline void yard_mute_change(struct provider *provider, const struct provider_order *order,
                                    bool is_cancel, provider_done_fn done, void *context)
{
    struct yard_provider *own = (struct yard_provider *)provider;
    struct yard_mute_call *call = mem_new(sizeof *call);

    call->turn = (struct growth_turn){ .request_id = call->request_id,
                                       .progress = call->progress,
                                       .ready = yard_mute_ready };
    call->yard = own;
    call->is_cancel = is_cancel;
    call->done = done;
    call->context = context;
    text_copy(call->request_id, sizeof call->request_id, order->request_id);
    text_copy(call->progress, sizeof call->progress, order->progress);
    call->next = own->resizing;
    own->resizing = call;
    growth_wait(own->growth, "lot", &call->turn);
}

static inline void yard_mute_create(struct provider *provider, const struct pool_address *pool,
                                    const struct provider_order *order, provider_done_fn done,
                                    void *context)
{
    (void)pool;
    yard_mute_change(provider, order, false, done, context);
}

static inline void yard_mute_cancel(struct provider *provider, const struct pool_address *pool,
                                    const struct provider_order *order, provider_done_fn done,
                                    void *context)
{
    (void)pool;
    yard_mute_change(provider, order, true, done, context);
}

static inline struct provider *
yard_mute_open(struct world *world, const struct provider_account *account, struct error *err)
{
    struct provider *provider = yard_open_as(&yard_mute_kind, world, account);

    (void)err;
    ((struct yard_provider *)provider)->growth = growth_new();
    return provider;
}

static inline void yard_mute_close(struct provider *provider)
{
    struct yard_provider *own = (struct yard_provider *)provider;
    struct yard_mute_call *call;

    while ((call = own->resizing)) {
        own->resizing = call->next;
        call->turn.ready = yard_mute_ready;
        http_cancel(own->world->http, call->exchange);
        mem_free(call);
    }
    growth_free(own->growth);
    yard_kind_close(provider);
}

const struct provider_kind yard_mute_kind = YARD_KIND(
    "yard-mute", IDENTITY_BY_GROWTH, .open = yard_mute_open, .close = yard_mute_close,
    .create = yard_mute_create, .cancel = yard_mute_cancel);

/* Instead of the product's table (providers/kinds.c), which is then not linked. */
const struct provider_kind *const provider_kinds[] = { &gcp_kind, &yard_kind, &yard_by_name_kind,
                                                       &yard_mute_kind };
const size_t provider_kind_count = COUNT_OF(provider_kinds);
