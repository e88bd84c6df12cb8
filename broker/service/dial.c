/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See dial.h.
 */
#include "broker/service/dial.h"

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

enum { READ_MS = 60 * SECOND_MS, SOON_MS = 5 * SECOND_MS };

void dial_init(struct dial *dial, const struct dial *what)
{
    *dial = *what;
    dial->value = dial->wanted = dial->written = -1;
}

void dial_clear(struct dial *dial)
{
    json_decref(dial->object);
    mem_free(dial->id);
}

bool dial_is_settled(const struct dial *dial)
{
    return dial->wanted < 0 ||
           (dial->value == dial->wanted &&
            (!dial->number->is_followed || dial->number->is_followed(dial->object, dial->wanted)));
}

static void look_again(struct dial *dial, int64_t delay_ms)
{
    struct service *service = dial->service;

    dial->is_under_way = false;
    dial->not_before_ms = loop_now(service->world->loop) + delay_ms;
    timer_set_sooner(service->timer, delay_ms);
}

static void note_trouble(struct dial *dial, const char *text, int64_t retry_after_ms)
{
    if (!text_equal(dial->trouble, text))
        log_warn("dial_failed", FIELD_TEXT("kind", dial->kind->name), FIELD_TEXT("id", dial->id),
                 FIELD_TEXT("text", text));
    text_copy(dial->trouble, sizeof dial->trouble, text);
    look_again(dial, retry_after_ms > READ_MS ? retry_after_ms : READ_MS);
}

/* Of a write: that the object can be read says nothing against it. */
static void note_refusal(struct dial *dial, const char *text, int64_t retry_after_ms)
{
    dial->is_refused = true;
    note_trouble(dial, text, retry_after_ms);
}

static void forget_trouble(struct dial *dial)
{
    dial->is_refused = false;
    dial->trouble[0] = '\0';
}

static int store(struct dial *dial, const char *state, const char *outcome, struct error *err)
{
    struct service *service = dial->service;
    struct journal_batch *batch = journal_batch_new(service->epoch);
    owned(json) json_t *value = json_make(
        "{ss sI sI ss ss si ss}", "cluster", dial->cluster->name, "wanted",
        (json_int_t)dial->wanted, "written", (json_int_t)dial->written, "state", state, "outcome",
        outcome, "reversals", dial->reversals, "fighter", dial->fighter);

    dial->kind->tell(dial, value);
    journal_put(batch, dial->kind->name, dial->id, dial->rev, value);
    if (text_equal(state, "intent") || text_equal(state, "reversed")) {
        owned(json) json_t *event = json_make(
            "{ss ss sI sI}", "event", text_equal(state, "intent") ? dial->kind->name : "set_back",
            "cluster", dial->cluster->name, "from", (json_int_t)dial->value, "to",
            (json_int_t)dial->wanted);

        if (dial->fighter[0] != '\0')
            json_object_set_new(event, "by", json_text(dial->fighter));
        dial->kind->tell(dial, event);
        journal_event(batch, loop_wall(service->world->loop), event);
    }
    if (journal_commit(service->world->journal, &batch, err) < 0) {
        runner_break(service->runner, err);
        return -1;
    }
    dial->rev++;
    return 0;
}

/* Our number was there, and is not any more though the same is wanted. */
static void note_reversal(struct dial *dial)
{
    owned(chars) char *manager = dial->number->setter(dial->object);
    struct error err;

    dial->reversals++;
    dial->written = -1;
    text_copy(dial->fighter, sizeof dial->fighter, manager ? manager : "an unnamed controller");
    log_warn("set_back", FIELD_TEXT("kind", dial->kind->name), FIELD_TEXT("id", dial->id),
             FIELD_TEXT("by", dial->fighter), FIELD_INT("times", dial->reversals));
    (void)store(dial, "reversed", "", &err);
}

static bool is_fought(const struct dial *dial)
{
    return dial->reversals >= DIAL_REVERSALS;
}

/* Until what was read is read again, where nothing is to be written. */
static int64_t read_interval_ms(const struct dial *dial)
{
    return dial_is_settled(dial) || is_fought(dial) ? READ_MS : SOON_MS;
}

static void say_fought(struct dial *dial)
{
    owned(chars) char *text = text_format(
        "%s set it back %d times: it is left alone until another number is wanted; stop one of "
        "the two",
        dial->fighter, dial->reversals);

    text_copy(dial->trouble, sizeof dial->trouble, text);
}

static void was_read(void *context, const json_t *object, const struct error *err)
{
    struct dial *dial = context;
    struct error why = { 0 };
    int64_t value = 0;

    if (dial->number->decode(dial->of, object, err, &value, &why) < 0) {
        note_trouble(dial, why.text, why.retry_after_ms);
        return;
    }
    json_decref(dial->object);
    dial->object = json_deep_copy(object);
    dial->value = value;
    dial->is_checked = false;
    if (!dial->is_refused || value == dial->wanted)
        forget_trouble(dial);
    if (dial->written >= 0 && dial->written == dial->wanted && value != dial->wanted)
        note_reversal(dial);
    if (dial->wanted >= 0 && value != dial->wanted && is_fought(dial))
        say_fought(dial);
    look_again(dial, value == dial->wanted || dial->wanted < 0 || is_fought(dial)
                         ? read_interval_ms(dial)
                         : 0);
}

static void was_checked(void *context, const json_t *body, const struct error *err)
{
    struct dial *dial = context;
    owned(chars) char *why = dial->number->objection(dial->of, body, err);

    if (why) {
        note_refusal(dial, why, 0);
        return;
    }
    dial->is_checked = true;
    look_again(dial, 0);
}

static void was_written(void *context, const json_t *body, const struct error *err)
{
    struct dial *dial = context;
    struct error broken;

    (void)body;
    if (!err) {
        dial->written = dial->sent;
        forget_trouble(dial);
    }
    if (store(dial, "answered", error_kind_name(err ? err->kind : ERROR_NONE), &broken) < 0)
        return;
    /* Accepted or not: what counts is what the next read says. */
    dial->value = -1;
    if (err && err->kind != ERROR_CONFLICT)
        note_refusal(dial, err->text, err->retry_after_ms);
    else
        look_again(dial, SOON_MS);
}

static void begin_read(struct dial *dial)
{
    dial->is_under_way = true;
    dial->read_ms = loop_now(dial->service->world->loop);
    dial->number->read(dial->service->runner, dial->cluster, dial->of, was_read, dial);
}

/* The number is promised. */
static void write_number(void *context, enum journal_fate fate)
{
    struct dial *dial = context;

    if (fate == JOURNAL_KEPT)
        dial->number->write(dial->service->runner, dial->cluster, dial->of, dial->object,
                            dial->sent, was_written, dial);
}

static void begin_write(struct dial *dial)
{
    struct error err;

    if (guard_allows_effect(&dial->service->guard, dial->cluster, false, &err) < 0)
        return;
    if (dial->number->check && !dial->is_checked) {
        dial->is_under_way = true;
        dial->number->check(dial->service->runner, dial->cluster, dial->of, was_checked, dial);
        return;
    }
    if (store(dial, "intent", "", &err) < 0)
        return;
    log_info(dial->kind->name, FIELD_TEXT("id", dial->id), FIELD_INT("from", dial->value),
             FIELD_INT("to", dial->wanted));
    dial->is_under_way = true;
    dial->sent = dial->wanted;
    journal_after(dial->service->world->journal, write_number, dial);
}

void dial_advance(struct dial *dial, int64_t wanted)
{
    int64_t now = loop_now(dial->service->world->loop);

    if (wanted != dial->wanted) {
        dial->not_before_ms = now;
        dial->reversals = 0;
        dial->written = -1;
        dial->wanted = wanted;
    }
    if (dial->wanted < 0 || dial->is_under_way)
        return;
    if (now < dial->not_before_ms) { /* a turn for other news took the timer that was set for it */
        timer_set_sooner(dial->service->timer, dial->not_before_ms - now);
        return;
    }
    if (dial->value < 0 || ((dial->value == dial->wanted || is_fought(dial)) &&
                            now - dial->read_ms >= read_interval_ms(dial)))
        begin_read(dial);
    else if (dial->value != dial->wanted && !is_fought(dial))
        begin_write(dial);
}

void dial_watch(struct dial *dial)
{
    int64_t now = loop_now(dial->service->world->loop);

    if (!dial->is_under_way && now >= dial->not_before_ms &&
        (dial->value < 0 || now - dial->read_ms >= READ_MS))
        begin_read(dial);
}

int dial_load(struct dial *dial, uint64_t rev, const json_t *value, struct error *err)
{
    int64_t reversals = 0;
    int64_t wanted;
    int64_t written;
    const char *fighter = "";

    if (json_need_int(value, "wanted", &wanted, err) < 0 ||
        json_need_int(value, "written", &written, err) < 0 ||
        json_find_int(value, "reversals", &reversals, err) < 0 ||
        json_find_text(value, "fighter", &fighter, err) < 0)
        return -1;
    dial->rev = rev;
    dial->wanted = wanted;
    dial->written = written;
    dial->reversals = (int)reversals;
    text_copy(dial->fighter, sizeof dial->fighter, fighter);
    return 0;
}
