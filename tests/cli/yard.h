/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A second kind of provider, for tests alone: a yard of boxes.  It is all that Google is not.  It
 * names its machines itself and shows the request key in its list, growing takes two exchanges
 * (reserve, start), and a box that left its cluster stays in the list, parked.
 *
 * The boxes are machines of the simulator, and the yard's API stands in front of its door: what is
 * asked takes effect at once and is answered a moment later, unless the service died meanwhile.  A
 * request that changes something may be refused, or its answer may come late or never.
 */
#pragma once

#include "base/url.h"
#include "providers/gcp.h"
#include "providers/kinds.h"
#include "tests/cli/dying.h"

enum { YARD_BOXES = 64, YARD_ANSWER_MS = 20 };

struct yard_account {
    const char *endpoint;
};

struct yard_pool {
    const char *lot; /* the simulator's pool */
    const char *zone;
};

/* The cloud: one for the test, as there is one world. */
struct yard_box {
    char name[INSTANCE_NAME_SIZE];
    char key[REQUEST_KEY_SIZE];
    bool is_started;
    bool is_parked;
};

/* What happens to one of the requests that change something. */
struct yard_fault {
    const char *verb; /* "reserve", "start", "release"; NULL: any */
    int at;           /* the first of them is 1; 0: none */
    int status;       /* refused with this, nothing is done; 0: carried out */
    bool is_lost;     /* carried out, and no answer comes */
    int64_t late_ms;  /* carried out, and answered later by this */
};

static struct {
    struct rehearsal *rehearsal;
    struct yard_box boxes[YARD_BOXES];
    size_t count;
    int requests;     /* that change something */
    int reservations; /* carried out, repeats too */
    int starts;
    int64_t age_ms; /* how long ago the yard saw its boxes; 0: just now */
    struct yard_fault fault;
    int met; /* requests that the fault's verb fits */
} yard;

static inline const struct pool *yard_lot(void)
{
    return pool_of(yard.rehearsal, "prod-a-east");
}

static inline struct yard_box *yard_find(const char *name, const char *key)
{
    for (size_t i = 0; i < yard.count; i++)
        if ((name && text_equal(yard.boxes[i].name, name)) ||
            (key && text_equal(yard.boxes[i].key, key)))
            return &yard.boxes[i];
    return NULL;
}

static inline struct yard_box *yard_add(const char *name, const char *key)
{
    struct yard_box *box = &yard.boxes[yard.count++];

    assert_true(yard.count <= YARD_BOXES);
    *box = (struct yard_box){ .is_started = key[0] == '\0' };
    text_copy(box->name, sizeof box->name, name);
    text_copy(box->key, sizeof box->key, key);
    return box;
}

/* The machines of the start are boxes that were not ordered. */
static inline void yard_open(struct rehearsal *rehearsal)
{
    memset(&yard, 0, sizeof yard);
    yard.rehearsal = rehearsal;
    for (size_t i = 0; i < yard_lot()->machines.count; i++)
        yard_add(yard_lot()->machines.items[i]->name, "");
}

static inline const char *yard_state(const struct yard_box *box, const struct machine *machine)
{
    if (box->is_parked)
        return machine ? "leaving" : "parked";
    return machine && machine->state == MACHINE_RUNNING ? "up" : "coming";
}

static inline json_t *yard_list(void)
{
    json_t *boxes = json_array();

    for (size_t i = 0; i < yard.count; i++) {
        const struct yard_box *box = &yard.boxes[i];
        const struct machine *machine = sim_machine_find(yard_lot(), box->name);
        owned(chars) char *id = text_format("gce://simulated/us-east5-a/%s", box->name);

        json_array_append_new(boxes,
                              json_make("{ss ss ss ss ss sb}", "name", box->name, "key", box->key,
                                        "node", id, "state", yard_state(box, machine), "rack",
                                        "rack-1", "half", !box->is_started && !box->is_parked));
    }
    return json_make("{so}", "boxes", boxes);
}

/* Twice the same key is the same box. */
static inline json_t *yard_reserve(const char *key)
{
    struct yard_box *box = yard_find(NULL, key);
    owned(chars) char *name = text_format("box-%zu", yard.count);

    yard.reservations++;
    return json_make("{ss}", "name", (box ? box : yard_add(name, key))->name);
}

static inline json_t *yard_start(const char *name, const char *request_id)
{
    struct yard_box *box = yard_find(name, NULL);

    if (!box)
        return NULL;
    yard.starts++;
    if (!box->is_started) {
        box->is_started = true;
        referee_create_instance(yard.rehearsal->simulator, yard_lot(), box->key, request_id);
        sim_machine_start(
            yard.rehearsal->simulator,
            sim_machine_new(yard.rehearsal->simulator, (struct pool *)(uintptr_t)yard_lot(), name));
    }
    return json_make("{ss}", "name", name);
}

static inline json_t *yard_release(const char *name, const char *request_id)
{
    struct yard_box *box = yard_find(name, NULL);
    struct machine *machine = sim_machine_find(yard_lot(), name);

    if (!box)
        return NULL;
    box->is_parked = true;
    if (machine && machine->state != MACHINE_STOPPING) {
        referee_delete_instance(yard.rehearsal->simulator, machine, request_id);
        sim_machine_remove(yard.rehearsal->simulator, machine);
    }
    return json_make("{ss}", "name", name);
}

static inline json_t *yard_answer(const char *url)
{
    owned(chars) char *key = url_query(url, "key");
    owned(chars) char *name = url_query(url, "name");
    owned(chars) char *id = url_query(url, "id");

    if (strstr(url, "/yard/reserve"))
        return yard_reserve(key);
    if (strstr(url, "/yard/start"))
        return yard_start(name, id);
    return strstr(url, "/yard/release") ? yard_release(name, id) : yard_list();
}

/* The way out: what is for the yard stops here. */
struct yard_exchange {
    struct yard_exchange *next;
    struct timer *timer;
    http_done_fn done;
    void *context;
    json_t *body;
    int status;
    bool is_lost;
};

static struct yard_exchange *yard_exchanges;

static inline struct yard_exchange **yard_exchange_at(const void *exchange)
{
    struct yard_exchange **at = &yard_exchanges;

    while (*at && *at != exchange)
        at = &(*at)->next;
    return at;
}

static inline void yard_exchange_free(struct yard_exchange *exchange)
{
    *yard_exchange_at(exchange) = exchange->next;
    timer_free(exchange->timer);
    json_decref(exchange->body);
    mem_free(exchange);
}

static inline void yard_deliver(void *context)
{
    struct yard_exchange *exchange = context;
    owned(chars) char *body = exchange->body ? json_print(exchange->body) : mem_copy_chars("{}");
    struct http_answer answer = {
        .status = exchange->status,
        .body = body,
        .body_size = strlen(body),
    };
    http_done_fn done = exchange->done;
    void *whose = exchange->context;
    bool is_lost = exchange->is_lost;
    struct error lost = { 0 };

    if (yard.rehearsal->is_dead)
        return; /* no service takes it; closing the service frees it */
    yard_exchange_free(exchange);
    if (is_lost)
        error_set(&lost, ERROR_UNKNOWN_OUTCOME, "the connection ended before the answer");
    done(whose, is_lost ? NULL : &answer, is_lost ? &lost : NULL);
}

/* The fault, if this request meets it. */
static inline struct yard_fault yard_meet_fault(const char *url)
{
    static const struct yard_fault none;

    if (yard.fault.verb && !strstr(url, yard.fault.verb))
        return none;
    yard.met++;
    return yard.met == yard.fault.at ? yard.fault : none;
}

static inline void yard_carry_out(struct yard_exchange *exchange,
                                  const struct http_request *request)
{
    bool is_change = request->method == HTTP_POST;
    struct yard_fault fault = { 0 };

    yard.requests += is_change;
    if (is_change)
        fault = yard_meet_fault(request->url);
    if (fault.status == 0)
        exchange->body = yard_answer(request->url);
    exchange->status = exchange->body ? 200 : fault.status ?: 404;
    exchange->is_lost = fault.is_lost;
    timer_set(exchange->timer, YARD_ANSWER_MS + fault.late_ms);
}

static inline struct http_exchange *yard_way_send(struct http *http,
                                                  const struct http_request *request,
                                                  http_done_fn done, void *context)
{
    struct yard_exchange *exchange;

    (void)http;
    if (!strstr(request->url, "/yard/"))
        return http_send(yard.rehearsal->door, request, done, context);
    if (yard.rehearsal->is_dead)
        return NULL;
    exchange = mem_new(sizeof *exchange);
    exchange->done = done;
    exchange->context = context;
    exchange->next = yard_exchanges;
    yard_exchanges = exchange;
    exchange->timer = timer_new(yard.rehearsal->loop, yard_deliver, exchange);
    yard_carry_out(exchange, request);
    return (struct http_exchange *)exchange;
}

static inline void yard_way_cancel(struct http_exchange *exchange)
{
    struct yard_exchange *ours = *yard_exchange_at(exchange);

    if (ours)
        yard_exchange_free(ours);
    else
        http_cancel(yard.rehearsal->door, exchange);
}

static const struct http_verbs yard_way_verbs = { .send = yard_way_send,
                                                  .cancel = yard_way_cancel };

/* The kind: one call, one exchange. */
extern const struct provider_kind yard_kind;

struct yard_provider {
    struct provider provider;
    struct world *world;
    const char *base;
    struct yard_call *first;
};

struct yard_call {
    struct yard_call *next;
    struct yard_provider *yard;
    struct http_exchange *exchange;
    provider_list_fn listed; /* one of the two */
    provider_done_fn done;
    bool goes_on;
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

static inline void yard_finish_list(const struct yard_call *call, const json_t *body)
{
    static const struct {
        const char *name;
        enum instance_state state;
    } states[] = { { "coming", INSTANCE_CREATING },
                   { "up", INSTANCE_RUNNING },
                   { "leaving", INSTANCE_DELETING },
                   { "parked", INSTANCE_PARKED } };
    ARRAY(struct instance) instances = { 0 };
    const json_t *box;
    size_t at;

    json_array_foreach(json_object_get(body, "boxes"), at, box) {
        struct instance *instance = array_add(&instances);

        text_copy(instance->name, sizeof instance->name, json_text_or(box, "name", ""));
        text_copy(instance->request_key, sizeof instance->request_key,
                  json_text_or(box, "key", ""));
        text_copy(instance->provider_id, sizeof instance->provider_id,
                  json_text_or(box, "node", ""));
        text_copy(instance->host, sizeof instance->host, json_text_or(box, "rack", ""));
        instance->is_unfinished = json_is_true(json_object_get(box, "half"));
        if (yard.age_ms > 0)
            instance->seen_ms = loop_now(yard.rehearsal->loop) - yard.age_ms;
        for (size_t i = 0; i < COUNT_OF(states); i++)
            if (text_equal(states[i].name, json_text_or(box, "state", "")))
                instance->state = states[i].state;
    }
    struct instance_page page = { .items = instances.items, .count = instances.count };

    call->listed(call->context, &page, NULL);
    array_clear(&instances);
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
    if (copy.listed && why.kind == ERROR_NONE) {
        yard_finish_list(&copy, body);
        return;
    }
    if (copy.goes_on && why.kind == ERROR_NONE) {
        error_set(&why, ERROR_TRANSIENT, "reserved");
        error_because(&why, &provider_goes_on);
    }
    if (copy.listed)
        copy.listed(copy.context, NULL, &why);
    else
        copy.done(copy.context, json_text_or(body, "name", ""),
                  why.kind == ERROR_NONE ? NULL : &why);
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

static inline void yard_kind_remove(struct provider *provider, const struct pool_address *pool,
                                    const char *instance, const char *request_id,
                                    provider_done_fn done, void *context)
{
    (void)pool;
    yard_call(provider, HTTP_POST, url_format("release?name=%s&id=%s", instance, request_id),
              context)
        ->done = done;
}

static inline void yard_kind_create(struct provider *provider, const struct pool_address *pool,
                                    const struct provider_order *order, provider_done_fn done,
                                    void *context)
{
    bool is_first = order->progress[0] == '\0';
    struct yard_call *call = yard_call(
        provider, HTTP_POST,
        is_first ? url_format("reserve?key=%s", order->request_key)
                 : url_format("start?name=%s&id=%s", order->progress, order->request_id),
        context);

    (void)pool;
    call->done = done;
    call->goes_on = is_first;
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

static inline void yard_kind_place(const struct pool_address *pool, struct text *out)
{
    text_add(out, "lot %s", ((const struct yard_pool *)(const void *)pool)->lot);
}

static inline struct provider *
yard_kind_open(struct world *world, const struct provider_account *account, struct error *err)
{
    struct yard_provider *own = mem_new(sizeof *own);

    (void)err;
    own->provider.kind = &yard_kind;
    own->world = world;
    own->base = ((const struct yard_account *)(const void *)account)->endpoint;
    return &own->provider;
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

const struct provider_kind yard_kind = {
    .account = { .name = "yard",
                 .settings = yard_account_settings,
                 .count = COUNT_OF(yard_account_settings),
                 .size = sizeof(struct yard_account) },
    .pool = { .name = "yard",
              .settings = yard_pool_settings,
              .count = COUNT_OF(yard_pool_settings),
              .size = sizeof(struct yard_pool) },
    .place_key = "lot",
    .identity = IDENTITY_BY_KEY,
    .set_zone = yard_kind_zone,
    .print_place = yard_kind_place,
    .open = yard_kind_open,
    .close = yard_kind_close,
    .list = yard_kind_list,
    .remove = yard_kind_remove,
    .create = yard_kind_create,
    .read_provider_id = yard_kind_read_id,
};

/* Instead of the product's table (providers/kinds.c), which is then not linked. */
const struct provider_kind *const provider_kinds[] = { &gcp_kind, &yard_kind };
const size_t provider_kind_count = COUNT_OF(provider_kinds);
