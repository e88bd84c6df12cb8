/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See setpoint.h.
 */
#include "broker/service/setpoint.h"

#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"

enum { READ_MS = 60 * SECOND_MS, SOON_MS = 5 * SECOND_MS };

void setpoint_init(struct setpoint *setpoint, const struct setpoint *what)
{
    require(what->number); /* the configuration refuses setpoints of kinds that keep none */
    require(what->service && what->kind && what->number && what->cluster && what->id);
    *setpoint = *what;
    setpoint->value = setpoint->wanted = setpoint->written = -1;
}

void setpoint_clear(struct setpoint *setpoint)
{
    json_decref(setpoint->object);
    mem_free(setpoint->id);
}

static struct side_holder holder_of(const struct setpoint *setpoint)
{
    return (struct side_holder){ .runner = setpoint->service->runner,
                                 .cluster = setpoint->cluster,
                                 .of = setpoint->of };
}

bool setpoint_is_settled(const struct setpoint *setpoint)
{
    const struct side_holder holder = holder_of(setpoint);

    return setpoint->wanted < 0 ||
           (setpoint->value == setpoint->wanted &&
            (!setpoint->number->is_followed ||
             setpoint->number->is_followed(&holder, setpoint->object, setpoint->wanted)));
}

static void look_again(struct setpoint *setpoint, int64_t delay_ms)
{
    struct service *service = setpoint->service;

    require(setpoint->is_under_way && delay_ms >= 0);
    setpoint->is_under_way = false;
    setpoint->not_before_ms = loop_now(service->world->loop) + delay_ms;
    timer_set_sooner(service->timer, delay_ms);
}

static void note_trouble(struct setpoint *setpoint, const char *text, int64_t retry_after_ms)
{
    if (!text_equal(setpoint->trouble, text))
        log_warn("setpoint_failed", FIELD_TEXT("kind", setpoint->kind->name),
                 FIELD_TEXT("id", setpoint->id), FIELD_TEXT("text", text));
    text_copy(setpoint->trouble, sizeof setpoint->trouble, text);
    look_again(setpoint, retry_after_ms > READ_MS ? retry_after_ms : READ_MS);
}

/* A write was refused: the object may still be readable. */
static void note_refusal(struct setpoint *setpoint, const char *text, int64_t retry_after_ms)
{
    setpoint->is_refused = true;
    note_trouble(setpoint, text, retry_after_ms);
}

static void forget_trouble(struct setpoint *setpoint)
{
    setpoint->is_refused = false;
    setpoint->trouble[0] = '\0';
}

static int store(struct setpoint *setpoint, const char *state, const char *outcome,
                 struct error *err)
{
    struct service *service = setpoint->service;
    struct journal_batch *batch = journal_batch_new(service->epoch);
    owned(json) json_t *value = json_make(
        "{ss sI sI ss ss si ss}", "cluster", setpoint->cluster->name, "wanted",
        (json_int_t)setpoint->wanted, "written", (json_int_t)setpoint->written, "state", state,
        "outcome", outcome, "reversals", setpoint->reversals, "fighter", setpoint->fighter);

    setpoint->kind->tell(setpoint, value);
    journal_put(batch, setpoint->kind->name, setpoint->id, setpoint->rev, value);
    if (text_equal(state, "intent") || text_equal(state, "reversed")) {
        owned(json) json_t *event = json_make(
            "{ss ss sI sI}", "event",
            text_equal(state, "intent") ? setpoint->kind->name : "set_back", "cluster",
            setpoint->cluster->name, "from", (json_int_t)setpoint->value, "to",
            (json_int_t)setpoint->wanted);

        if (setpoint->fighter[0] != '\0')
            json_object_set_new(event, "by", json_text(setpoint->fighter));
        setpoint->kind->tell(setpoint, event);
        journal_event(batch, loop_wall(service->world->loop), event);
    }
    if (journal_commit(service->world->journal, &batch, err) < 0) {
        runner_break(service->runner, err);
        return -1;
    }
    setpoint->rev++;
    return 0;
}

/* Our number was there, and is not any more though the same is wanted. */
static void note_reversal(struct setpoint *setpoint)
{
    owned(chars) char *manager = setpoint->number->setter(setpoint->object);
    struct error err;

    require(setpoint->written >= 0 && setpoint->value != setpoint->written);
    setpoint->reversals++;
    setpoint->written = -1;
    text_copy(setpoint->fighter, sizeof setpoint->fighter,
              manager ? manager : "an unnamed controller");
    log_warn("set_back", FIELD_TEXT("kind", setpoint->kind->name), FIELD_TEXT("id", setpoint->id),
             FIELD_TEXT("by", setpoint->fighter), FIELD_INT("times", setpoint->reversals));
    (void)store(setpoint, "reversed", "", &err);
}

static bool is_fought(const struct setpoint *setpoint)
{
    return setpoint->reversals >= DIAL_REVERSALS;
}

bool setpoint_is_contested(const struct setpoint *setpoint)
{
    return is_fought(setpoint) && setpoint->wanted >= 0 && setpoint->value >= 0 &&
           setpoint->value != setpoint->wanted;
}

/* The time until the next read when nothing is to be written. */
static int64_t read_interval_ms(const struct setpoint *setpoint)
{
    return setpoint_is_settled(setpoint) || is_fought(setpoint) ? READ_MS : SOON_MS;
}

static void say_fought(struct setpoint *setpoint)
{
    owned(chars) char *text = text_format(
        "%s set it back %d times: it is left alone until another number is wanted; stop one of "
        "the two",
        setpoint->fighter, setpoint->reversals);

    text_copy(setpoint->trouble, sizeof setpoint->trouble, text);
}

static void was_read(void *context, const json_t *object, const struct error *err)
{
    struct setpoint *setpoint = context;
    struct error why = { 0 };
    int64_t value = 0;

    if (setpoint->number->decode(setpoint->of, object, err, &value, &why) < 0) {
        note_trouble(setpoint, why.text, why.retry_after_ms);
        return;
    }
    json_decref(setpoint->object);
    setpoint->object = json_deep_copy(object);
    setpoint->value = value;
    setpoint->is_checked = false;
    if (!setpoint->is_refused || value == setpoint->wanted)
        forget_trouble(setpoint);
    if (setpoint->written >= 0 && setpoint->written == setpoint->wanted &&
        value != setpoint->wanted)
        note_reversal(setpoint);
    if (setpoint->wanted >= 0 && value != setpoint->wanted && is_fought(setpoint))
        say_fought(setpoint);
    look_again(setpoint, value == setpoint->wanted || setpoint->wanted < 0 || is_fought(setpoint)
                             ? read_interval_ms(setpoint)
                             : 0);
}

static void was_checked(void *context, const json_t *body, const struct error *err)
{
    struct setpoint *setpoint = context;
    owned(chars) char *why = setpoint->number->objection(setpoint->of, body, err);

    if (why) {
        note_refusal(setpoint, why, 0);
        return;
    }
    setpoint->is_checked = true;
    look_again(setpoint, 0);
}

static void was_written(void *context, const json_t *body, const struct error *err)
{
    struct setpoint *setpoint = context;
    struct error broken;

    (void)body;
    if (!err) {
        setpoint->written = setpoint->sent;
        forget_trouble(setpoint);
    }
    if (store(setpoint, "answered", error_kind_name(err ? err->kind : ERROR_NONE), &broken) < 0)
        return;
    /* Accepted or not: the next read decides. */
    setpoint->value = -1;
    if (err && err->kind != ERROR_CONFLICT)
        note_refusal(setpoint, err->text, err->retry_after_ms);
    else
        look_again(setpoint, SOON_MS);
}

static void begin_read(struct setpoint *setpoint)
{
    const struct side_holder holder = holder_of(setpoint);

    require(!setpoint->is_under_way);
    setpoint->is_under_way = true;
    setpoint->read_ms = loop_now(setpoint->service->world->loop);
    setpoint->number->read(&holder, was_read, setpoint);
}

/* The number is on the disk: it may be sent. */
static void write_number(void *context, enum journal_fate fate)
{
    struct setpoint *setpoint = context;
    const struct side_holder holder = holder_of(setpoint);

    require(setpoint->is_under_way);
    if (fate == JOURNAL_KEPT)
        setpoint->number->write(&holder, setpoint->object, setpoint->sent, was_written, setpoint);
}

static void begin_write(struct setpoint *setpoint)
{
    const struct side_holder holder = holder_of(setpoint);
    struct error err;

    /* The present value was read, and differs from the wanted one: a write is never a guess. */
    require(!setpoint->is_under_way && setpoint->value >= 0 && setpoint->object);
    require(setpoint->wanted >= 0 && setpoint->wanted != setpoint->value);
    if (guard_allows_effect(&setpoint->service->guard, setpoint->cluster, false, &err) < 0)
        return;
    if (setpoint->number->check && !setpoint->is_checked) {
        setpoint->is_under_way = true;
        setpoint->number->check(&holder, was_checked, setpoint);
        return;
    }
    if (store(setpoint, "intent", "", &err) < 0)
        return;
    log_info(setpoint->kind->name, FIELD_TEXT("id", setpoint->id),
             FIELD_INT("from", setpoint->value), FIELD_INT("to", setpoint->wanted));
    setpoint->is_under_way = true;
    setpoint->sent = setpoint->wanted;
    journal_after(setpoint->service->world->journal, write_number, setpoint);
}

void setpoint_advance(struct setpoint *setpoint, int64_t wanted)
{
    int64_t now = loop_now(setpoint->service->world->loop);

    if (wanted != setpoint->wanted) {
        setpoint->not_before_ms = now;
        setpoint->reversals = 0;
        setpoint->written = -1;
        setpoint->wanted = wanted;
    }
    if (setpoint->wanted < 0 || setpoint->is_under_way)
        return;
    if (now < setpoint->not_before_ms) { /* the service has one timer: an earlier turn may have used
                                            it up, so it is set again */
        timer_set_sooner(setpoint->service->timer, setpoint->not_before_ms - now);
        return;
    }
    if (setpoint->value < 0 || ((setpoint->value == setpoint->wanted || is_fought(setpoint)) &&
                                now - setpoint->read_ms >= read_interval_ms(setpoint)))
        begin_read(setpoint);
    else if (setpoint->value != setpoint->wanted && !is_fought(setpoint))
        begin_write(setpoint);
}

void setpoint_watch(struct setpoint *setpoint)
{
    int64_t now = loop_now(setpoint->service->world->loop);

    if (!setpoint->is_under_way && now >= setpoint->not_before_ms &&
        (setpoint->value < 0 || now - setpoint->read_ms >= READ_MS))
        begin_read(setpoint);
}

int setpoint_load(struct setpoint *setpoint, uint64_t rev, const json_t *value, struct error *err)
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
    setpoint->rev = rev;
    setpoint->wanted = wanted;
    setpoint->written = written;
    setpoint->reversals = (int)reversals;
    text_copy(setpoint->fighter, sizeof setpoint->fighter, fighter);
    return 0;
}
