/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See webhooks.h.
 */
#include "broker/webhooks/webhooks.h"

#include "base/input/json.h"
#include "base/text.h"
#include "broker/webhooks/compose.h"
#include "broker/webhooks/message.h"
#include "broker/webhooks/picture.h"

enum {
    LOOK_MS = 2 * SECOND_MS, /* between looks: turns may follow each other at once */
    SCAN_EVENTS = 500,       /* read at a time, so that a turn of the loop stays short */
};

static const char hook_kind[] = "webhook";
static const char told_kind[] = "webhook_told";
static const char told_id[] = "told";

/* A record of a webhook that is not configured. */
struct stale {
    char *name;
    uint64_t rev;
};

struct webhooks {
    struct runner *runner;
    ARRAY(struct delivery *) deliveries;
    ARRAY(struct stale) stale;
    struct outbox outbox;
    struct compose *compose;
    uint64_t told_rev; /* 0: there is no record */
    struct timer *timer;
    int64_t looked_ms;
    bool is_started;
};

static void scan(void *context);

/* ---- the records ---- */

static struct delivery *find(const struct webhooks *webhooks, const char *name)
{
    for (size_t i = 0; i < webhooks->deliveries.count; i++)
        if (text_equal(delivery_hook(webhooks->deliveries.items[i])->name, name))
            return webhooks->deliveries.items[i];
    return NULL;
}

static int load_hook(void *context, const char *id, uint64_t rev, const json_t *value,
                     struct error *err)
{
    struct webhooks *webhooks = context;
    struct delivery *delivery = find(webhooks, id);

    if (delivery)
        return delivery_load(delivery, rev, value, err);
    *array_add(&webhooks->stale) = (struct stale){ mem_copy_chars(id), rev };
    return 0;
}

static int load_told(void *context, const char *id, uint64_t rev, const json_t *value,
                     struct error *err)
{
    struct webhooks *webhooks = context;

    (void)id;
    if (!json_is_object(value))
        return error_set(err, ERROR_CORRUPT, "expected an object");
    compose_free(webhooks->compose);
    webhooks->compose = compose_new(value);
    webhooks->told_rev = rev;
    return 0;
}

/* The number of the chain's last event; 0: it has none. */
static int read_end(struct journal *journal, int64_t *ret_seq, struct error *err)
{
    owned(json) json_t *last = journal_events(journal, 1, err);

    *ret_seq = json_int_or(json_array_get(last, 0), "seq", 0);
    return last ? 0 : -1;
}

struct webhooks *webhooks_open(struct runner *runner, struct error *err)
{
    struct webhooks *webhooks = mem_new(sizeof *webhooks);
    const struct config *config = runner->config;
    struct journal *journal = runner->world->journal;
    int64_t end = 0;

    webhooks->runner = runner;
    webhooks->compose = compose_new(NULL);
    webhooks->timer = timer_new(runner->world->loop, scan, webhooks);
    if (read_end(journal, &end, err) < 0) {
        webhooks_free(webhooks);
        return NULL;
    }
    for (size_t i = 0; i < config->webhook_count; i++)
        *array_add(&webhooks->deliveries) = delivery_new(runner, &config->webhooks[i],
                                                         &webhooks->outbox, end);
    if (journal_load(journal, hook_kind, load_hook, webhooks, err) < 0 ||
        journal_load(journal, told_kind, load_told, webhooks, err) < 0) {
        webhooks_free(webhooks);
        return NULL;
    }
    webhooks->outbox.scanned = end;
    for (size_t i = 0; i < webhooks->deliveries.count; i++)
        if (delivery_seq(webhooks->deliveries.items[i]) < webhooks->outbox.scanned)
            webhooks->outbox.scanned = delivery_seq(webhooks->deliveries.items[i]);
    return webhooks;
}

static void clear_stale(struct webhooks *webhooks)
{
    for (size_t i = 0; i < webhooks->stale.count; i++)
        mem_free(webhooks->stale.items[i].name);
    array_clear(&webhooks->stale);
}

void webhooks_free(struct webhooks *webhooks)
{
    if (!webhooks)
        return;
    for (size_t i = 0; i < webhooks->deliveries.count; i++)
        delivery_free(webhooks->deliveries.items[i]);
    array_clear(&webhooks->deliveries);
    clear_stale(webhooks);
    outbox_clear(&webhooks->outbox);
    compose_free(webhooks->compose);
    timer_free(webhooks->timer);
    mem_free(webhooks);
}

/* Without any webhook nobody is told, so what was told is forgotten, too. */
static void forget(struct webhooks *webhooks)
{
    struct journal_batch *batch = journal_batch_new(webhooks->runner->epoch);
    bool is_unused = webhooks->deliveries.count == 0 && webhooks->told_rev > 0;
    struct error err;

    for (size_t i = 0; i < webhooks->stale.count; i++)
        journal_remove(batch, hook_kind, webhooks->stale.items[i].name,
                       webhooks->stale.items[i].rev);
    if (is_unused)
        journal_remove(batch, told_kind, told_id, webhooks->told_rev);
    if (webhooks->stale.count == 0 && !is_unused)
        journal_batch_free(batch);
    else if (journal_commit(webhooks->runner->world->journal, &batch, &err) < 0)
        runner_break(webhooks->runner, &err);
    clear_stale(webhooks);
}

/* ---- from the chain to the outbox ---- */

static bool is_wanted(const struct webhooks *webhooks, const json_t *row)
{
    for (size_t i = 0; i < webhooks->deliveries.count; i++)
        if (json_int_or(row, "seq", 0) > delivery_seq(webhooks->deliveries.items[i]) &&
            message_is_wanted(delivery_hook(webhooks->deliveries.items[i]), row))
            return true;
    return false;
}

/* The oldest message is dropped by all that still want it. */
static void make_room(struct webhooks *webhooks)
{
    json_t *oldest = webhooks->outbox.rows.items[0];
    bool is_done = true;

    for (size_t i = 0; i < webhooks->deliveries.count; i++)
        is_done &= delivery_drop(webhooks->deliveries.items[i], oldest);
    if (is_done)
        outbox_forget(&webhooks->outbox, json_int_or(oldest, "seq", 0));
}

static void go(struct webhooks *webhooks)
{
    int64_t passed = INT64_MAX;

    for (size_t i = 0; i < webhooks->deliveries.count; i++) {
        struct delivery *delivery = webhooks->deliveries.items[i];

        delivery_go(delivery);
        if (delivery_seq(delivery) < passed)
            passed = delivery_seq(delivery);
    }
    outbox_forget(&webhooks->outbox, passed);
}

static void on_kept(void *context, enum journal_fate fate)
{
    struct webhooks *webhooks = context;
    struct outbox *outbox = &webhooks->outbox;
    owned(json) json_t *rows = NULL;
    struct error err;
    json_t *row;
    size_t i;

    if (fate != JOURNAL_KEPT || webhooks->runner->is_broken)
        return;
    rows = journal_events_after(webhooks->runner->world->journal, outbox->scanned, SCAN_EVENTS,
                                &err);
    if (!rows)
        return runner_break(webhooks->runner, &err);
    json_array_foreach(rows, i, row) {
        outbox->scanned = json_int_or(row, "seq", outbox->scanned);
        outbox_note(outbox, row);
        if (!is_wanted(webhooks, row))
            continue;
        outbox_add(outbox, row);
        if (outbox->rows.count > OUTBOX_MOST)
            make_room(webhooks);
    }
    if (json_array_size(rows) == SCAN_EVENTS) {
        timer_set(webhooks->timer, 1);
        return;
    }
    outbox->is_read = true;
    go(webhooks);
}

/* What is on the disk alone is a message. */
static void scan(void *context)
{
    struct webhooks *webhooks = context;

    journal_after(webhooks->runner->world->journal, on_kept, webhooks);
}

void webhooks_start(struct webhooks *webhooks)
{
    webhooks->is_started = true;
    forget(webhooks);
    if (webhooks->deliveries.count > 0)
        timer_set(webhooks->timer, 0);
}

/* ---- from the present to the chain ---- */

bool webhooks_want_look(const struct webhooks *webhooks)
{
    int64_t now_ms = loop_now(webhooks->runner->world->loop);

    return webhooks->deliveries.count > 0 && webhooks->is_started && !webhooks->runner->is_broken &&
           (webhooks->looked_ms == 0 || now_ms - webhooks->looked_ms >= LOOK_MS);
}

void webhooks_look(struct webhooks *webhooks, const json_t *health, const json_t *reclaims)
{
    struct runner *runner = webhooks->runner;
    owned(json) json_t *picture = picture_take(runner, health, reclaims);
    struct wall_time now = runner_now(runner);
    owned(json) json_t *events = NULL;
    owned(json) json_t *told = NULL;
    struct journal_batch *batch;
    json_t *event;
    size_t i;
    struct error err;

    require(webhooks_want_look(webhooks));
    webhooks->looked_ms = loop_now(runner->world->loop);
    events = compose_look(webhooks->compose, picture, webhooks->looked_ms, now);
    if (json_array_size(events) == 0)
        return;
    told = json_deep_copy(compose_told(webhooks->compose)); /* a batch keeps what it was given */
    batch = journal_batch_new(runner->epoch);
    journal_put(batch, told_kind, told_id, webhooks->told_rev, told);
    json_array_foreach(events, i, event)
        journal_event(batch, now, event);
    if (journal_commit(runner->world->journal, &batch, &err) < 0) {
        runner_break(runner, &err);
        return;
    }
    webhooks->told_rev++;
    scan(webhooks);
}

void webhooks_move_clock(struct webhooks *webhooks, int64_t by_ms, struct journal_batch *batch)
{
    if (webhooks->deliveries.count == 0)
        return; /* the chain is not read */
    outbox_jump(&webhooks->outbox, by_ms);
    for (size_t i = 0; i < webhooks->deliveries.count; i++)
        delivery_move_clock(webhooks->deliveries.items[i], by_ms, batch);
}

/* ---- what people see and ask ---- */

void webhooks_add_conditions(const struct webhooks *webhooks, struct health *health)
{
    for (size_t i = 0; i < webhooks->deliveries.count; i++)
        delivery_add_condition(webhooks->deliveries.items[i], health);
}

json_t *webhooks_describe(const struct webhooks *webhooks)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < webhooks->deliveries.count; i++)
        json_array_append_new(rows, delivery_describe(webhooks->deliveries.items[i]));
    return rows;
}

static int fail_unknown(const struct webhooks *webhooks, const char *name, struct error *err)
{
    owned(text) struct text *known = text_new(4096);

    for (size_t i = 0; i < webhooks->deliveries.count; i++)
        text_add(known, "%s%s", i > 0 ? ", " : "",
                 delivery_hook(webhooks->deliveries.items[i])->name);
    return error_set(err, ERROR_NOT_FOUND, "no webhook %.100s is configured; known: %s", name,
                     known->length > 0 ? known->chars : "none");
}

json_t *webhooks_ask_test(struct webhooks *webhooks, const json_t *request, const char *by,
                          struct error *err)
{
    struct runner *runner = webhooks->runner;
    struct journal_batch *batch;
    owned(json) json_t *story = NULL;
    const char *name;

    if (json_need_text(request, "webhook", &name, err) < 0 ||
        (!find(webhooks, name) && fail_unknown(webhooks, name, err) < 0))
        return NULL;
    story = json_make("{ss ss ss}", "event", "webhook_tested", "webhook", name, "by", by);
    batch = journal_batch_new(runner->epoch);
    journal_event(batch, runner_now(runner), story);
    if (journal_commit(runner->world->journal, &batch, err) < 0) {
        runner_break(runner, err);
        return NULL;
    }
    return json_make("{ss ss}", "kind", "webhook_test", "webhook", name);
}

void webhooks_test(struct webhooks *webhooks, json_t *request, delivery_tested_fn done,
                   void *context)
{
    owned(json) json_t *asked = request;
    const char *name = json_text_or(asked, "webhook", "");
    struct delivery *delivery = find(webhooks, name);
    struct error err = { 0 };

    if (!delivery)
        (void)fail_unknown(webhooks, name, &err);
    else if (delivery_test(delivery, done, context, &err) == 0)
        return;
    done(context,
         json_make("{ss ss sn sb ss sI}", "kind", "webhook_test", "webhook", name, "message",
                   "is_accepted", 0, "answer", err.text, "took_ms", (json_int_t)0));
}
