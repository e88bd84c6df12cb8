/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The yard (yard.h) as kinds of providers: `yard` as it is, `yard-by-name`, which can read one box
 * by its name, and `yard-mute` (yard_mute.h), which takes only a number and shows no key.
 */
#pragma once

#include "providers/gcp/gcp.h"
#include "providers/kinds.h"
#include "tests/cli/yard.h"

struct yard_account {
    const char *endpoint;
};

struct yard_pool {
    const char *lot; /* the simulator's pool */
    const char *zone;
};

/* One call, one exchange. */

struct yard_provider {
    struct provider provider;
    struct world *world;
    const char *base;
    struct yard_call *first;
    struct growth *growth;           /* of yard-mute */
    struct yard_mute_call *resizing; /* likewise */
};

struct yard_call {
    struct yard_call *next;
    struct yard_provider *yard;
    struct http_exchange *exchange;
    provider_list_fn listed; /* one of the three */
    provider_look_fn looked;
    provider_done_fn done;
    void *context;
};

static inline void yard_call_free(struct yard_call *call)
{
    struct yard_call **at = &call->yard->first;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    http_cancel(call->yard->world->http, call->exchange);
    mem_free(call);
}

static inline void yard_read_box(const json_t *box, struct instance *instance)
{
    static const struct {
        const char *name;
        enum instance_state state;
    } states[] = { { "coming", INSTANCE_CREATING },
                   { "up", INSTANCE_RUNNING },
                   { "leaving", INSTANCE_DELETING },
                   { "parked", INSTANCE_PARKED } };

    text_copy(instance->name, sizeof instance->name, json_text_or(box, "name", ""));
    text_copy(instance->request_key, sizeof instance->request_key, json_text_or(box, "key", ""));
    text_copy(instance->provider_id, sizeof instance->provider_id, json_text_or(box, "node", ""));
    text_copy(instance->host, sizeof instance->host, json_text_or(box, "rack", ""));
    instance->is_unfinished = json_is_true(json_object_get(box, "half"));
    if (yard.age_ms > 0)
        instance->seen_ms = loop_now(yard.rehearsal->loop) - yard.age_ms;
    for (size_t i = 0; i < COUNT_OF(states); i++)
        if (text_equal(states[i].name, json_text_or(box, "state", "")))
            instance->state = states[i].state;
}

static inline void yard_finish_list(const struct yard_call *call, const json_t *body)
{
    ARRAY(struct instance) instances = { 0 };
    const json_t *box;
    size_t at;

    json_array_foreach(json_object_get(body, "boxes"), at, box)
        yard_read_box(box, array_add(&instances));
    struct instance_page page = { .items = instances.items, .count = instances.count };
    struct error shortfall = { 0 };

    if (json_is_true(json_object_get(body, "short"))) {
        error_set(&shortfall, ERROR_NO_CAPACITY, "the yard is sold out");
        page.shortfall = &shortfall;
    }

    call->listed(call->context, &page, NULL);
    array_clear(&instances);
}

static inline void yard_finish_look(const struct yard_call *call, const json_t *body,
                                    const struct error *why)
{
    struct instance instance = { 0 };

    if (why->kind == ERROR_NONE)
        yard_read_box(body, &instance);
    call->looked(call->context, why->kind == ERROR_NONE ? &instance : NULL,
                 why->kind == ERROR_NONE || why->kind == ERROR_NOT_FOUND ? NULL : why);
}

/* An answer with a "next" asks for another exchange, which takes that. */
static inline void yard_finish_change(const struct yard_call *call, const json_t *body,
                                      struct error *why)
{
    const char *next = body ? json_text_or(body, "next", NULL) : NULL;

    if (next && why->kind == ERROR_NONE) {
        error_set(why, ERROR_TRANSIENT, "another exchange follows");
        error_because(why, &provider_goes_on);
    }
    call->done(call->context, next ?: "", why->kind == ERROR_NONE ? NULL : why);
}

static inline void yard_answered(void *context, const struct http_answer *answer,
                                 const struct error *err)
{
    struct yard_call *call = context;
    struct yard_call copy = *call;
    struct error why = { 0 };
    owned(json) json_t *body = err ? NULL
                                   : json_parse(answer->body, answer->body_size, "yard", NULL);

    call->exchange = NULL;
    yard_call_free(call);
    if (err)
        why = *err;
    else if (answer->status != 200)
        error_set(&why, answer->status == 503 ? ERROR_TRANSIENT : ERROR_NOT_FOUND,
                  answer->status == 503 ? "the yard is busy" : "no such box");
    if (copy.looked)
        yard_finish_look(&copy, body, &why);
    else if (copy.done)
        yard_finish_change(&copy, body, &why);
    else if (why.kind == ERROR_NONE)
        yard_finish_list(&copy, body);
    else
        copy.listed(copy.context, NULL, &why);
}

static inline struct yard_call *yard_call(struct provider *provider, enum http_method method,
                                          char *path, void *context)
{
    struct yard_provider *own = (struct yard_provider *)provider;
    struct yard_call *call = mem_new(sizeof *call);
    owned(chars) char *url = text_format("%s/yard/%s", own->base, path);
    struct http_request request = { .method = method,
                                    .url = url,
                                    .is_mutation = method == HTTP_POST,
                                    .timeout_ms = 30 * SECOND_MS };

    mem_free(path);
    call->yard = own;
    call->context = context;
    call->next = own->first;
    own->first = call;
    call->exchange = http_send(own->world->http, &request, yard_answered, call);
    return call;
}

static inline void yard_kind_list(struct provider *provider, const struct pool_address *pool,
                                  const char *page, provider_list_fn done, void *context)
{
    (void)pool;
    (void)page;
    yard_call(provider, HTTP_GET, mem_copy_chars("list"), context)->listed = done;
}

static inline void yard_kind_look(struct provider *provider, const struct pool_address *pool,
                                  const char *instance, provider_look_fn done, void *context)
{
    (void)pool;
    yard_call(provider, HTTP_GET, url_format("box?name=%s", instance), context)->looked = done;
}

static inline void yard_kind_remove(struct provider *provider, const struct pool_address *pool,
                                    const struct provider_order *order, provider_done_fn done,
                                    void *context)
{
    (void)pool;
    yard_call(provider, HTTP_POST,
              url_format("release?name=%s&id=%s&next=%s", order->instance, order->request_id,
                         order->progress),
              context)
        ->done = done;
}

static inline void yard_kind_create(struct provider *provider, const struct pool_address *pool,
                                    const struct provider_order *order, provider_done_fn done,
                                    void *context)
{
    bool is_first = order->progress[0] == '\0';

    (void)pool;
    yard_call(provider, HTTP_POST,
              is_first ? url_format("reserve?key=%s", order->request_key)
                       : url_format("start?name=%s&id=%s", order->progress, order->request_id),
              context)
        ->done = done;
}

static inline bool yard_kind_read_id(const struct pool_address *pool, const char *provider_id,
                                     char ret_name[INSTANCE_NAME_SIZE], size_t *ret_claim)
{
    static const char place[] = "gce://simulated/us-east5-a/";

    (void)pool;
    if (!text_starts_with(provider_id, place))
        return false;
    *ret_claim = text_starts_with(provider_id + strlen(place), "box-") ? 1 : 0;
    return text_copy(ret_name, INSTANCE_NAME_SIZE, provider_id + strlen(place));
}

static inline void yard_kind_zone(struct pool_address *pool, const char *zone)
{
    ((struct yard_pool *)(void *)pool)->zone = zone;
}

static inline void yard_kind_place(const struct provider_account *account,
                                   const struct pool_address *pool, struct text *out)
{
    (void)account;
    text_add(out, "lot %s", ((const struct yard_pool *)(const void *)pool)->lot);
}

extern const struct provider_kind yard_kind;
extern const struct provider_kind yard_by_name_kind;

static inline struct provider *yard_open_as(const struct provider_kind *kind, struct world *world,
                                            const struct provider_account *account)
{
    struct yard_provider *own = mem_new(sizeof *own);

    own->provider.kind = kind;
    own->world = world;
    own->base = ((const struct yard_account *)(const void *)account)->endpoint;
    return &own->provider;
}

static inline struct provider *
yard_kind_open(struct world *world, const struct provider_account *account, struct error *err)
{
    (void)err;
    return yard_open_as(&yard_kind, world, account);
}

static inline struct provider *
yard_by_name_open(struct world *world, const struct provider_account *account, struct error *err)
{
    (void)err;
    return yard_open_as(&yard_by_name_kind, world, account);
}

static inline void yard_kind_close(struct provider *provider)
{
    struct yard_provider *own = (struct yard_provider *)provider;

    while (own->first)
        yard_call_free(own->first);
    mem_free(own);
}

static const struct setting yard_account_settings[] = {
    { "endpoint", SETTING_URL, offsetof(struct yard_account, endpoint), NULL, 0, 0, "its API" },
};

static const struct setting yard_pool_settings[] = {
    { "lot", SETTING_TEXT, offsetof(struct yard_pool, lot), NULL, 0, 0, "where the boxes are" },
};

#define YARD_KIND(kind_name, by, ...)                                                              \
    {                                                                                              \
        .account = { .name = kind_name,                                                            \
                     .settings = yard_account_settings,                                            \
                     .count = COUNT_OF(yard_account_settings),                                     \
                     .size = sizeof(struct yard_account) },                                        \
        .pool = { .name = kind_name,                                                               \
                  .settings = yard_pool_settings,                                                  \
                  .count = COUNT_OF(yard_pool_settings),                                           \
                  .size = sizeof(struct yard_pool) },                                              \
        .place_key = "lot", .identity = by, .set_zone = yard_kind_zone,                            \
        .print_place = yard_kind_place, .list = yard_kind_list, .remove = yard_kind_remove,        \
        .read_provider_id = yard_kind_read_id, __VA_ARGS__                                         \
    }

const struct provider_kind yard_kind = YARD_KIND("yard", IDENTITY_BY_KEY, .open = yard_kind_open,
                                                 .create = yard_kind_create,
                                                 .close = yard_kind_close);
const struct provider_kind yard_by_name_kind = YARD_KIND(
    "yard-by-name", IDENTITY_BY_KEY, .open = yard_by_name_open, .look = yard_kind_look,
    .create = yard_kind_create, .close = yard_kind_close);
