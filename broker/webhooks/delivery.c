/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See delivery.h.
 */
#include "broker/webhooks/delivery.h"

#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/url.h"
#include "broker/webhooks/message.h"
#include "broker/webhooks/post.h"

#include <inttypes.h>

enum {
    WAIT_LEAST_MS = 5 * SECOND_MS,
    WAIT_MOST_MS = 10 * MINUTE_MS,
    ASKED_MOST_MS = HOUR_MS, /* of Retry-After */
    GIVEN_UP_MS = DAY_MS,
    TELL_MS = 30 * SECOND_MS, /* a failure that lasts so long is a condition */
    IDLE_EVENTS = 5000,       /* of the chain, which a restart would have to read again */
};

struct delivery {
    struct runner *runner;
    const struct config_webhook *hook;
    const struct outbox *outbox;
    struct timer *timer; /* until the next try */
    struct http_exchange *exchange;
    json_t *row; /* the message that is tried; NULL: none */
    int tries;
    bool is_gone; /* it answered 410 */

    /* stored */
    uint64_t rev;
    int64_t seq; /* accepted, given up or not wanted up to this one */
    int64_t stored_seq;
    int64_t sent;
    int64_t refused;
    int64_t dropped;
    struct wall_time failing; /* since when nothing is accepted; 0: it is */
    struct wall_time accepted;
    char answer[POST_TEXT_SIZE]; /* the last one; "": none yet */

    struct {
        struct http_exchange *exchange; /* NULL: no test is under way */
        delivery_tested_fn done;
        void *context;
        char id[MESSAGE_ID_SIZE];
        int64_t began_ms;
    } test;
};

static void on_timer(void *context)
{
    delivery_go(context);
}

struct delivery *delivery_new(struct runner *runner, const struct config_webhook *hook,
                              const struct outbox *outbox, int64_t seq)
{
    struct delivery *delivery = mem_new(sizeof *delivery);

    delivery->runner = runner;
    delivery->hook = hook;
    delivery->outbox = outbox;
    delivery->seq = seq;
    delivery->timer = timer_new(runner->world->loop, on_timer, delivery);
    return delivery;
}

void delivery_free(struct delivery *delivery)
{
    if (!delivery)
        return;
    http_cancel(delivery->runner->world->http, delivery->exchange);
    http_cancel(delivery->runner->world->http, delivery->test.exchange);
    timer_free(delivery->timer);
    json_decref(delivery->row);
    mem_free(delivery);
}

const struct config_webhook *delivery_hook(const struct delivery *delivery)
{
    return delivery->hook;
}

int64_t delivery_seq(const struct delivery *delivery)
{
    return delivery->seq;
}

/* ---- the record ---- */

static int read_wall(const json_t *value, const char *name, struct wall_time *ret,
                     struct error *err)
{
    const char *text = NULL;

    if (json_find_text(value, name, &text, err) < 0)
        return -1;
    if (text && wall_parse(text, false, ret, err) < 0) {
        err->kind = ERROR_CORRUPT;
        return -1;
    }
    return 0;
}

int delivery_load(struct delivery *delivery, uint64_t rev, const json_t *value, struct error *err)
{
    struct delivery read = { 0 };
    const char *answer;

    if (json_need_int(value, "seq", &read.seq, err) < 0 ||
        json_need_int(value, "sent", &read.sent, err) < 0 ||
        json_need_int(value, "refused", &read.refused, err) < 0 ||
        json_need_int(value, "dropped", &read.dropped, err) < 0 ||
        json_need_text(value, "answer", &answer, err) < 0 ||
        read_wall(value, "failing", &read.failing, err) < 0 ||
        read_wall(value, "accepted", &read.accepted, err) < 0)
        return -1;
    if (read.seq < 0 || read.seq > delivery->seq)
        return error_set(err, ERROR_CORRUPT, "seq: the chain has no event %" PRId64, read.seq);
    delivery->rev = rev;
    delivery->seq = delivery->stored_seq = read.seq;
    delivery->sent = read.sent;
    delivery->refused = read.refused;
    delivery->dropped = read.dropped;
    delivery->failing = read.failing;
    delivery->accepted = read.accepted;
    text_copy(delivery->answer, sizeof delivery->answer, answer);
    return 0;
}

static json_t *wall_json(struct wall_time wall)
{
    char text[WALL_TEXT_SIZE];

    return wall.ms == 0 ? json_null() : json_text(wall_format(wall, text));
}

/* Counts as stored. */
static void put(struct delivery *delivery, struct journal_batch *batch)
{
    owned(json) json_t *value = json_make(
        "{sI sI sI sI so so ss}", "seq", (json_int_t)delivery->seq, "sent",
        (json_int_t)delivery->sent, "refused", (json_int_t)delivery->refused, "dropped",
        (json_int_t)delivery->dropped, "failing", wall_json(delivery->failing), "accepted",
        wall_json(delivery->accepted), "answer", delivery->answer);

    journal_put(batch, "webhook", delivery->hook->name, delivery->rev++, value);
    delivery->stored_seq = delivery->seq;
}

void delivery_move_clock(struct delivery *delivery, int64_t by_ms, struct journal_batch *batch)
{
    struct wall_time *times[] = { &delivery->failing, &delivery->accepted };

    if (delivery->rev == 0)
        return; /* it has no time yet */
    for (size_t i = 0; i < COUNT_OF(times); i++)
        if (times[i]->ms != 0)
            times[i]->ms += by_ms;
    put(delivery, batch);
}

/* event: what is told beside it, taken; NULL: nothing. */
static void save(struct delivery *delivery, json_t *event)
{
    struct runner *runner = delivery->runner;
    struct journal_batch *batch = journal_batch_new(runner->epoch);
    owned(json) json_t *story = event;
    struct error err;

    put(delivery, batch);
    if (story)
        journal_event(batch, runner_now(runner), story);
    if (journal_commit(runner->world->journal, &batch, &err) < 0)
        runner_break(runner, &err);
}

/* What became of a message that was not accepted. */
static json_t *story_of(const struct delivery *delivery, const char *event, const json_t *row)
{
    char id[MESSAGE_ID_SIZE];

    message_id(row, id);
    log_warn(event, FIELD_TEXT("webhook", delivery->hook->name), FIELD_TEXT("message", id),
             FIELD_TEXT("type", message_type(row)), FIELD_TEXT("answer", delivery->answer));
    return json_make("{ss ss ss ss ss}", "event", event, "webhook", delivery->hook->name, "message",
                     id, "type", message_type(row), "answer", delivery->answer);
}

/* ---- sending ---- */

/* Ends the message that is tried. */
static void pass(struct delivery *delivery)
{
    delivery->seq = json_int_or(delivery->row, "seq", 0);
    json_decref(steal(&delivery->row));
    delivery->tries = 0;
}

static int64_t wait_ms(const struct delivery *delivery, const struct http_answer *answer)
{
    int64_t wait = WAIT_LEAST_MS;
    int64_t asked = answer ? answer->retry_after_ms : 0;

    for (int i = 1; i < delivery->tries && wait < WAIT_MOST_MS; i++)
        wait *= 2;
    if (wait > WAIT_MOST_MS)
        wait = WAIT_MOST_MS;
    wait = (int64_t)((double)wait * random_between(delivery->runner->world->random, 0.8, 1.2));
    if (asked > ASKED_MOST_MS)
        asked = ASKED_MOST_MS;
    return asked > wait ? asked : wait;
}

static void begin_failing(struct delivery *delivery)
{
    delivery->failing = runner_now(delivery->runner);
    log_warn("webhook_fails", FIELD_TEXT("webhook", delivery->hook->name),
             FIELD_TEXT("answer", delivery->answer));
}

static void try_again(struct delivery *delivery, const struct http_answer *answer)
{
    struct wall_time came = outbox_at(delivery->outbox, delivery->row);
    bool is_first = delivery->failing.ms == 0;

    delivery->tries++;
    if (is_first)
        begin_failing(delivery);
    if (runner_now(delivery->runner).ms - came.ms >= GIVEN_UP_MS) {
        json_t *story = story_of(delivery, "message_dropped", delivery->row);

        delivery->dropped++;
        pass(delivery);
        save(delivery, story);
    } else if (is_first) {
        save(delivery, NULL);
    }
    timer_set(delivery->timer, wait_ms(delivery, answer));
}

static void accept(struct delivery *delivery)
{
    if (delivery->failing.ms > 0)
        log_info("webhook_accepts", FIELD_TEXT("webhook", delivery->hook->name));
    delivery->failing = (struct wall_time){ 0 };
    delivery->accepted = runner_now(delivery->runner);
    delivery->is_gone = false;
}

static void give_up(struct delivery *delivery, bool is_gone)
{
    json_t *story = story_of(delivery, "message_refused", delivery->row);

    delivery->refused++;
    delivery->is_gone = is_gone;
    if (delivery->failing.ms == 0)
        begin_failing(delivery);
    pass(delivery);
    save(delivery, story);
}

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct delivery *delivery = context;
    enum post_result result = post_result_of(answer);

    delivery->exchange = NULL;
    post_text(answer, err, delivery->answer);
    if (result == POST_AGAIN) {
        try_again(delivery, answer);
        return;
    }
    if (result == POST_ACCEPTED) {
        accept(delivery);
        delivery->sent++;
        pass(delivery);
        save(delivery, NULL);
    } else {
        give_up(delivery, result == POST_GONE);
    }
    timer_set(delivery->timer, 0);
}

static void send(struct delivery *delivery)
{
    char id[MESSAGE_ID_SIZE];
    const struct post post = { delivery->hook, id, delivery->row };
    struct error err = { 0 };

    message_id(delivery->row, id);
    delivery->exchange = post_send(delivery->runner->world, &post, on_answer, delivery, &err);
    if (delivery->exchange)
        return;
    text_copy(delivery->answer, sizeof delivery->answer, err.text);
    try_again(delivery, NULL);
}

/* Nothing is left for it: a restart need not read so much again. */
static void rest(struct delivery *delivery)
{
    const struct outbox *outbox = delivery->outbox;
    bool has_passed = outbox->rows.count > 0 &&
                      json_int_or(outbox->rows.items[outbox->rows.count - 1], "seq", 0) >
                          delivery->stored_seq;

    delivery->seq = outbox->scanned;
    if (delivery->rev == 0 || has_passed || delivery->seq - delivery->stored_seq >= IDLE_EVENTS)
        save(delivery, NULL);
}

static int64_t behind(const struct delivery *delivery)
{
    return outbox_count(delivery->outbox, delivery->hook, delivery->seq);
}

/* What came while a message was being sent dropped none. */
static void drop_excess(struct delivery *delivery)
{
    const struct outbox *outbox = delivery->outbox;
    int64_t excess = outbox->rows.count > OUTBOX_MOST ? behind(delivery) - OUTBOX_MOST : 0;

    for (; excess > 0 && !delivery->runner->is_broken; excess--)
        (void)delivery_drop(delivery, outbox_next(outbox, delivery->hook, delivery->seq));
}

void delivery_go(struct delivery *delivery)
{
    json_t *row;

    if (delivery->exchange || timer_is_set(delivery->timer) || !delivery->outbox->is_read ||
        delivery->runner->is_broken)
        return;
    drop_excess(delivery);
    while (!delivery->row && (row = outbox_next(delivery->outbox, delivery->hook, delivery->seq))) {
        if (delivery->is_gone)
            (void)delivery_drop(delivery, row);
        else
            delivery->row = json_incref(row);
    }
    if (delivery->runner->is_broken)
        return;
    if (delivery->row)
        send(delivery);
    else
        rest(delivery);
}

bool delivery_drop(struct delivery *delivery, const json_t *row)
{
    json_t *story;

    if (json_int_or(row, "seq", 0) <= delivery->seq || !message_is_wanted(delivery->hook, row))
        return true;
    if (delivery->exchange)
        return false;
    require(!delivery->row || delivery->row == row); /* it tries the oldest */
    story = story_of(delivery, "message_dropped", row);
    delivery->dropped++;
    if (!delivery->row)
        delivery->row = json_incref((json_t *)(uintptr_t)row);
    pass(delivery);
    save(delivery, story);
    return true;
}

/* ---- what people see ---- */

void delivery_add_condition(const struct delivery *delivery, struct health *health)
{
    const struct condition condition = { .kind = CONDITION_WEBHOOK_FAILING,
                                         .since = delivery->failing,
                                         .what = delivery->hook->name };
    const char *name = delivery->hook->name;
    int64_t waiting;
    char since[WALL_TEXT_SIZE];

    if (delivery->failing.ms == 0 ||
        runner_now(delivery->runner).ms < delivery->failing.ms + TELL_MS)
        return;
    waiting = behind(delivery);
    wall_format(wall_whole_second(delivery->failing.ms), since);
    if (delivery->is_gone)
        health_add(
            health, &condition,
            text_format("webhook %s wants no more messages: it answered 410 at %s", name, since));
    else
        health_add(health, &condition,
                   text_format("webhook %s has accepted no message since %s: %s; %" PRId64
                               " message%s wait%s",
                               name, since, delivery->answer, waiting, waiting == 1 ? "" : "s",
                               waiting == 1 ? "s" : ""));
}

/* The path may be a secret. */
static json_t *place_of(const struct config_webhook *hook)
{
    struct url url;
    owned(chars) char *place = NULL;

    if (!hook->url || url_parse(hook->url, &url, NULL) < 0)
        return json_text(hook->url_file ? "(in url_file)" : "");
    place = url.port > 0 ? text_format("%s://%s:%d", url.scheme, url.host, url.port)
                         : text_format("%s://%s", url.scheme, url.host);
    return json_text(place);
}

json_t *delivery_describe(const struct delivery *delivery)
{
    const struct config_webhook *hook = delivery->hook;
    bool is_failing = delivery->failing.ms > 0;

    return json_make("{ss ss ss so ss sb sI sI sI sI si so ss so}", "webhook", hook->name, "format",
                     webhook_form_name(hook->form), "events", hook->topics_text, "url",
                     place_of(hook), "state",
                     delivery->is_gone ? "gone"
                     : is_failing      ? "failing"
                                       : "ok",
                     "is_failing", (int)is_failing, "behind", (json_int_t)behind(delivery), "sent",
                     (json_int_t)delivery->sent, "refused", (json_int_t)delivery->refused,
                     "dropped", (json_int_t)delivery->dropped, "tries", delivery->tries,
                     "last_sent", wall_json(delivery->accepted), "last_answer", delivery->answer,
                     "failing_since", wall_json(delivery->failing));
}

/* ---- a test ---- */

static void on_test_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct delivery *delivery = context;
    bool is_accepted = post_result_of(answer) == POST_ACCEPTED;
    int64_t took_ms = loop_now(delivery->runner->world->loop) - delivery->test.began_ms;
    delivery_tested_fn done = delivery->test.done;
    char text[POST_TEXT_SIZE];

    delivery->test.exchange = NULL;
    post_text(answer, err, text);
    if (is_accepted && delivery->failing.ms > 0) {
        accept(delivery);
        text_copy(delivery->answer, sizeof delivery->answer, text);
        save(delivery, NULL);
        timer_set(delivery->timer, 0);
    }
    done(delivery->test.context,
         json_make("{ss ss ss sb ss sI}", "kind", "webhook_test", "webhook", delivery->hook->name,
                   "message", delivery->test.id, "is_accepted", (int)is_accepted, "answer", text,
                   "took_ms", (json_int_t)took_ms));
}

int delivery_test(struct delivery *delivery, delivery_tested_fn done, void *context,
                  struct error *err)
{
    const struct world *world = delivery->runner->world;
    char digits[33];
    owned(json) json_t *row = json_make(
        "{sI s{ss ss ss s{}}}", "at", (json_int_t)runner_now(delivery->runner).ms, "event", "type",
        "test", "subject", delivery->hook->name, "text",
        "A test of this webhook, which a person asked for: nothing has happened", "data");

    const struct post post = { delivery->hook, delivery->test.id, row };

    if (delivery->test.exchange)
        return error_set(err, ERROR_CONFLICT, "a test of webhook %s is under way",
                         delivery->hook->name);
    random_hex(world->random, digits, sizeof digits);
    text_print(delivery->test.id, sizeof delivery->test.id, "msg_%s", digits);
    delivery->test.done = done;
    delivery->test.context = context;
    delivery->test.began_ms = loop_now(world->loop);
    delivery->test.exchange = post_send(world, &post, on_test_answer, delivery, err);
    return delivery->test.exchange ? 0 : -1;
}
