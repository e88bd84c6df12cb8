/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A second cloud, for tests alone: a yard of boxes.  It is all that Google is not.  It names its
 * machines itself and shows the request key in its list, growing takes two exchanges (reserve,
 * start), and a box that left its cluster stays in the list, parked.
 *
 * The boxes are machines of the simulator, and the yard's API stands in front of its door: what is
 * asked takes effect at once and is answered a moment later, unless the service died meanwhile.  A
 * request that changes something may be refused, or its answer may come late or never.
 */
#pragma once

#include "base/url.h"
#include "providers/common/provider.h"
#include "tests/cli/dying.h"

#include <stdlib.h>

enum { YARD_BOXES = 64, YARD_ANSWER_MS = 20 };

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
    int next_size;    /* so many bytes, or none (-1), say what the next exchange takes; 0: as is */
};

static struct {
    struct rehearsal *rehearsal;
    struct yard_box boxes[YARD_BOXES];
    size_t count;
    int requests;     /* that change something */
    int reservations; /* carried out, repeats too */
    int starts;
    int64_t age_ms;      /* how long ago the yard saw its boxes; 0: just now */
    const char *project; /* in what its list calls the Nodes; NULL: as the Nodes do */
    bool asks_twice;     /* a box is released in two exchanges: retire, then release */
    int wanted;          /* boxes that it keeps itself at, of the kind that is told a number */
    bool is_sold_out;    /* no box comes */
    bool lies_parked;    /* its list shows each box that was started as parked */
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
    yard.wanted = (int)yard.count;
}

static inline int yard_present(void)
{
    int present = 0;

    for (size_t i = 0; i < yard.count; i++)
        present += !yard.boxes[i].is_parked;
    return present;
}

static inline const char *yard_state(const struct yard_box *box, const struct machine *machine)
{
    if (box->is_parked)
        return machine ? "leaving" : "parked";
    return machine && machine->state == MACHINE_RUNNING ? "up" : "coming";
}

static inline json_t *yard_show(const struct yard_box *box, bool lies_parked)
{
    const struct machine *machine = sim_machine_find(yard_lot(), box->name);
    owned(chars) char *id = text_format("gce://%s/us-east5-a/%s", yard.project ?: "simulated",
                                        box->name);
    const char *state = lies_parked && box->is_started ? "parked" : yard_state(box, machine);

    return json_make("{ss ss ss ss ss sb}", "name", box->name, "key", box->key, "node", id, "state",
                     state, "rack", "rack-1", "half", !box->is_started && !box->is_parked);
}

static inline json_t *yard_list(void)
{
    json_t *boxes = json_array();

    for (size_t i = 0; i < yard.count; i++)
        json_array_append_new(boxes, yard_show(&yard.boxes[i], yard.lies_parked));
    return json_make("{so sb}", "boxes", boxes, "short",
                     yard.is_sold_out && yard.wanted > yard_present());
}

/* Boxes come until there are as many as it keeps itself at. */
static inline void yard_fill(void)
{
    while (!yard.is_sold_out && yard_present() < yard.wanted) {
        owned(chars) char *name = text_format("box-%zu", yard.count);

        yard_add(name, "");
        sim_machine_start(
            yard.rehearsal->simulator,
            sim_machine_new(yard.rehearsal->simulator, (struct pool *)(uintptr_t)yard_lot(), name));
    }
}

static inline json_t *yard_size(void)
{
    return json_make("{si si}", "wanted", yard.wanted, "present", yard_present());
}

/* Fewer than there are would take any box: no client may ask for that. */
static inline json_t *yard_resize(int to)
{
    assert_true(to >= yard_present());
    referee_resize_pool(yard.rehearsal->simulator, yard_lot(),
                        yard_lot()->target + (to - yard.wanted));
    yard.starts += to - yard.wanted;
    yard.wanted = to;
    yard_fill();
    return yard_size();
}

/* Twice the same key is the same box. */
static inline json_t *yard_reserve(const char *key)
{
    struct yard_box *box = yard_find(NULL, key);
    owned(chars) char *name = text_format("box-%zu", yard.count);

    yard.reservations++;
    box = box ?: yard_add(name, key);
    return json_make("{ss ss}", "name", box->name, "next", box->name);
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

static inline json_t *yard_release(const char *name, const char *request_id, const char *next)
{
    struct yard_box *box = yard_find(name, NULL);
    struct machine *machine = sim_machine_find(yard_lot(), name);

    if (!box)
        return NULL;
    if (yard.asks_twice && !text_equal(next, "retired"))
        return json_make("{ss ss}", "name", name, "next", "retired");
    yard.wanted -= !box->is_parked;
    box->is_parked = true;
    if (machine && machine->state != MACHINE_STOPPING) {
        referee_delete_instance(yard.rehearsal->simulator, machine, request_id);
        sim_machine_remove(yard.rehearsal->simulator, machine);
    }
    return json_make("{ss}", "name", name);
}

/* One box, read by its name: that is no lie. */
static inline json_t *yard_read(const char *name)
{
    const struct yard_box *box = yard_find(name, NULL);

    return box ? yard_show(box, false) : NULL;
}

static inline json_t *yard_answer(const char *url)
{
    owned(chars) char *key = url_query(url, "key");
    owned(chars) char *name = url_query(url, "name");
    owned(chars) char *id = url_query(url, "id");
    owned(chars) char *next = url_query(url, "next");
    owned(chars) char *to = url_query(url, "to");

    if (strstr(url, "/yard/reserve"))
        return yard_reserve(key);
    if (strstr(url, "/yard/start"))
        return yard_start(name, id);
    if (strstr(url, "/yard/box"))
        return yard_read(name);
    if (strstr(url, "/yard/size"))
        return yard_size();
    if (strstr(url, "/yard/resize"))
        return yard_resize(atoi(to));
    return strstr(url, "/yard/release") ? yard_release(name, id, next) : yard_list();
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

static inline void yard_garble(json_t *body, int next_size)
{
    owned(chars) char *next = mem_new(next_size > 0 ? (size_t)next_size + 1 : 1);

    memset(next, 'x', next_size > 0 ? (size_t)next_size : 0);
    json_put(body, "next", json_text(next));
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
    if (fault.next_size != 0)
        yard_garble(exchange->body, fault.next_size);
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
