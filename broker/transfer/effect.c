/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The ledger of effects: when to send, what was promised, what came back.  What each kind is and
 * how it is sent is in its row (effect_kind.h).
 */
#include "broker/transfer/effect.h"

#include "base/crypto.h"
#include "base/input/json.h"
#include "base/log.h"
#include "broker/journal/journal.h"
#include "broker/transfer/notice.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/side.h"

#include <stdio.h>
#include <string.h>

enum {
    BACKOFF_FIRST_MS = 2 * SECOND_MS,
    BACKOFF_MAX_MS = 60 * SECOND_MS,
    PAUSE_SHOWN_MS = 30 * SECOND_MS, /* shorter ones end before a report is read */
    DENIED_BACKOFF_MS = 60 * SECOND_MS,
    REPEAT_MS = 10 * SECOND_MS, /* an accepted effect whose result does not show */
};

bool effect_fits_step(const struct effect_kind *kind, int step)
{
    return step >= (int)kind->first && step <= (int)kind->last;
}

static void effect_key(const struct effect_kind *kind, const char *object, char *out, size_t size)
{
    text_print(out, size, "%s/%s", kind->name, object);
}

const struct effect *effect_find(const struct transfer *transfer, const struct effect_kind *kind,
                                 const char *object)
{
    char key[320];

    effect_key(kind, object, key, sizeof key);
    return map_get(transfer->effects, key);
}

bool effect_is_open(const struct transfer *transfer, const struct effect_kind *kind,
                    const char *object, int64_t seen_ms)
{
    const struct effect *effect = effect_find(transfer, kind, object);

    if (!effect || effect->sent_count == 0)
        return false;
    return effect->is_in_flight ||
           (seen_ms <= effect->answered_ms &&
            (effect->outcome == ERROR_NONE || effect->outcome == ERROR_UNKNOWN_OUTCOME));
}

bool effect_may_have_happened(const struct effect *effect)
{
    return effect && effect->sent_count > effect->generation;
}

/* A UUID that is the same for the same promise: the cloud knows a repeat by it. */
static void name_request(struct effect *effect)
{
    owned(chars) char *promise = text_format("%s/%s/%s/%d", effect->transfer->id,
                                             effect->kind->name, effect->object,
                                             effect->generation);
    char hash[SHA256_TEXT_SIZE];

    crypto_sha256_text(promise, strlen(promise), hash);
    text_print(effect->request_id, sizeof effect->request_id, "%.8s-%.4s-4%.3s-8%.3s-%.12s", hash,
               hash + 8, hash + 13, hash + 17, hash + 20);
}

static struct effect *find_or_add(struct runner *runner, struct transfer *transfer,
                                  const struct effect_kind *kind, const char *object)
{
    char key[320];
    struct effect *effect;

    effect_key(kind, object, key, sizeof key);
    effect = map_get(transfer->effects, key);
    if (effect)
        return effect;

    /* A key that is cut would be another object's. */
    require(object[0] != '\0' && strlen(object) < sizeof effect->object);
    effect = mem_new(sizeof *effect);
    effect->runner = runner;
    effect->transfer = transfer;
    effect->kind = kind;
    text_copy(effect->object, sizeof effect->object, object);
    name_request(effect);
    map_set(transfer->effects, key, effect);
    return effect;
}

static void name_object(struct effect *effect, const struct effect_target *target)
{
    if (target->pod)
        text_print(effect->name, sizeof effect->name, "%s/%s", target->pod->namespace,
                   target->pod->name);
    else if (target->node)
        text_copy(effect->name, sizeof effect->name, target->node->name);
    else
        text_copy(effect->name, sizeof effect->name, target->object);
}

/* Intent and answer are one record; `state` says which. pod: the pod of the intent.  The intent is
   written before the effect is sent, the answer later: a record without an answer has an unknown
   outcome, which a step looks for. */
static void store(struct effect *effect, const char *state, const struct pod *pod)
{
    struct runner *runner = effect->runner;
    const struct transfer *transfer = effect->transfer;
    struct journal_batch *batch = journal_batch_new(runner->epoch);
    owned(chars) char *id = text_format("%s/%s/%s", transfer->id, effect->kind->name,
                                        effect->object);
    owned(json) json_t *value = json_make(
        "{ss ss ss ss ss ss si si ss ss}", "transfer", transfer->id, "kind", effect->kind->name,
        "object", effect->object, "name", effect->name, "state", state, "request_id",
        effect->request_id, "generation", effect->generation, "sent", effect->sent_count, "outcome",
        error_kind_name(effect->outcome), "text", effect->text);

    if (effect->progress[0] != '\0')
        json_put(value, "progress", json_text(effect->progress));

    bool is_counted = notice_count(runner, effect, pod, batch);

    /* The transfer has ended: no step reads this answer any more. */
    if (transfer->state != TRANSFER_LIVE)
        journal_remove(batch, "effect", id, effect->rev);
    else
        journal_put(batch, "effect", id, effect->rev, value);
    journal_later(runner->world->journal, &batch);
    effect->rev = transfer->state == TRANSFER_LIVE ? effect->rev + 1 : 0;
    runner->notices.rev += is_counted;
}

/* How long to leave it alone after this answer. */
static int64_t backoff_ms(const struct effect *effect, const struct error *err)
{
    int shift = effect->sent_count < 6 ? effect->sent_count : 6;
    int64_t backoff = (int64_t)BACKOFF_FIRST_MS << shift;

    if (!err)
        return REPEAT_MS;
    if (err->kind == ERROR_DENIED || err->kind == ERROR_INVALID)
        backoff = DENIED_BACKOFF_MS;
    else if (effect->kind->busy_ms && err->kind == ERROR_THROTTLED)
        backoff = effect->kind->busy_ms(effect, err);
    if (backoff > BACKOFF_MAX_MS)
        backoff = BACKOFF_MAX_MS;
    /* Jitter, so that a hundred transfers do not ask at the same moment; not before the pause that
       the server asked for. */
    require(backoff > 0);
    backoff -= (int64_t)random_below(effect->runner->world->random, (uint64_t)backoff / 2 + 1);
    return err->retry_after_ms > backoff ? err->retry_after_ms : backoff;
}

/* What is known of the order after this error. */
static enum error_kind outcome_of(const struct effect *effect, const struct error *err)
{
    bool is_in_doubt = effect->kind->keeps_doubt && effect->outcome == ERROR_UNKNOWN_OUTCOME;
    bool is_of_exchange = err->kind == ERROR_TRANSIENT || err->kind == ERROR_THROTTLED;

    return is_in_doubt && is_of_exchange ? ERROR_UNKNOWN_OUTCOME : err->kind;
}

void effect_finish(struct effect *effect, const struct error *err)
{
    struct runner *runner = effect->runner;

    require(effect->is_in_flight && effect->sent_count > 0); /* one answer for each sending */
    if (err && effect->kind->means_done & 1u << err->kind)
        err = NULL;
    effect->is_in_flight = false;
    effect->answered_ms = loop_now(runner->world->loop);
    effect->outcome = err ? outcome_of(effect, err) : ERROR_NONE;
    text_copy(effect->text, sizeof effect->text, err ? err->text : "");
    effect->not_before_ms = effect->answered_ms + backoff_ms(effect, err);
    effect->asked_ms = err ? err->retry_after_ms : 0;
    if (!err && effect->accepted_ms == 0)
        effect->accepted_ms = effect->answered_ms;
    if (err && effect->outcome != ERROR_UNKNOWN_OUTCOME) {
        effect->accepted_ms = 0;
        effect->generation++;
        effect->progress[0] = '\0';
        name_request(effect);
    }
    if (err)
        log_debug("effect_refused", FIELD_TEXT("transfer", effect->transfer->id),
                  FIELD_TEXT("effect", effect->kind->name), FIELD_TEXT("object", effect->object),
                  FIELD_TEXT("text", err->text));

    if (runner->is_broken)
        return;
    store(effect, "answered", NULL);
    runner_wake(runner);
}

/* For its step it has not happened yet: neither accepted nor definitely refused. */
bool effect_go_on(struct effect *effect, const char *progress)
{
    if (progress[0] == '\0' || strlen(progress) >= sizeof effect->progress)
        return false;
    require(effect->is_in_flight);
    effect->is_in_flight = false;
    effect->answered_ms = loop_now(effect->runner->world->loop);
    effect->not_before_ms = effect->answered_ms;
    effect->outcome = ERROR_TRANSIENT;
    effect->text[0] = '\0';
    text_copy(effect->progress, sizeof effect->progress, progress);
    if (effect->runner->is_broken)
        return true;
    store(effect, "answered", NULL);
    runner_wake(effect->runner);
    return true;
}

const struct config_cluster *effect_cluster(const struct effect *effect)
{
    return effect->kind->first < STEP_ACQUIRE ? effect->transfer->source->cluster
                                              : transfer_goal(effect->transfer)->cluster;
}

int64_t effect_look_since(const struct transfer *transfer, const struct effect *effect)
{
    return effect && effect->not_before_ms > transfer->step_began_ms ? effect->not_before_ms
                                                                     : transfer->step_began_ms;
}

static bool is_paused(const struct effect *effect, int64_t now_ms)
{
    return effect->asked_ms >= PAUSE_SHOWN_MS && now_ms < effect->not_before_ms;
}

const struct effect *effect_pause(const struct transfer *transfer, int64_t now_ms)
{
    void *value;

    if (transfer->told && is_paused(transfer->told, now_ms))
        return transfer->told;
    for (size_t i = 0; map_next(transfer->effects, &i, NULL, &value);)
        if (is_paused(value, now_ms))
            return value;
    return NULL;
}

static void intend(struct runner *runner, struct effect *effect, const struct effect_target *target)
{
    struct intent *intent = array_add(&runner->intents);

    require(!effect->is_in_flight && !runner->is_broken);
    store(effect, "intent", target->pod);
    effect->is_in_flight = true;
    intent->effect = effect;
    effect->kind->prepare(effect, target, intent);
    intent->asked_ms = loop_now(runner->world->loop);
}

static bool is_frozen(const struct runner *runner, const struct transfer *transfer,
                      const struct effect_kind *kind, struct error *err)
{
    return kind->stops_at_freeze && (guard_allows_effect(runner->guard, transfer->source->cluster,
                                                         transfer->is_emergency, err) < 0 ||
                                     guard_allows_effect(runner->guard, transfer->target->cluster,
                                                         transfer->is_emergency, err) < 0);
}

/* The intents of one turn, on their way to the disk. */
struct errand {
    struct runner *runner;
    ARRAY(struct intent) intents;
};

/* Whether the object or the transfer changed while the intent waited for the disk, so that the
   effect does not fit any more.  It was not sent, and a step asks for it again if it is still
   wanted. */
static bool is_overtaken(const struct runner *runner, const struct intent *intent,
                         struct error *err)
{
    const struct effect *effect = intent->effect;
    const struct transfer *transfer = effect->transfer;

    if (loop_now(runner->world->loop) == intent->asked_ms)
        return false;
    if (transfer->state != TRANSFER_LIVE || !effect_fits_step(effect->kind, transfer->step) ||
        (transfer->is_undoing && !effect->kind->goes_back)) {
        error_set(err, ERROR_TRANSIENT, "not sent: the transfer went on while it was written down");
        return true;
    }
    if (effect->kind->is_overtaken && effect->kind->is_overtaken(intent, err))
        return true;
    return is_frozen(runner, transfer, effect->kind, err);
}

static void send_intent(struct runner *runner, const struct intent *intent)
{
    struct effect *effect = intent->effect;
    struct error err = { 0 };

    require(!journal_is_gathering(runner->world->journal)); /* the intent is kept */
    require(effect->is_in_flight);
    if (!is_overtaken(runner, intent, &err)) {
        effect->kind->send(intent);
        return;
    }
    if (effect->kind->drop)
        effect->kind->drop(effect, &err);
    effect_finish(effect, &err);
}

static void run_errand(void *context, enum journal_fate fate)
{
    struct errand *errand = context;

    for (size_t i = 0; i < errand->intents.count; i++) {
        struct intent *intent = &errand->intents.items[i];

        if (fate == JOURNAL_KEPT && !errand->runner->is_broken)
            send_intent(errand->runner, intent);
        mem_free(intent->namespace);
        mem_free(intent->name);
        mem_free(intent->uid);
        json_decref(intent->patch);
    }
    array_clear(&errand->intents);
    mem_free(errand);
}

void effects_settle(struct runner *runner)
{
    struct journal *journal = runner->world->journal;
    struct errand *errand = mem_new(sizeof *errand);
    struct error err = { 0 };

    errand->runner = runner;
    for (size_t i = 0; i < runner->intents.count; i++)
        *array_add(&errand->intents) = runner->intents.items[i];
    array_clear(&runner->intents);
    if (journal_settle(journal, &err) < 0)
        runner_break(runner, &err);
    journal_after(journal, run_errand, errand);
}

/* Whether it waits for its time; the runner looks again then, and not a tick later. */
static bool waits(const struct runner *runner, const struct effect *effect)
{
    int64_t wait_ms = effect ? effect->not_before_ms - loop_now(runner->world->loop) : 0;

    if (wait_ms > 0)
        runner_wake_after(runner, wait_ms);
    return wait_ms > 0;
}

bool effect_may_be_sent(const struct runner *runner, const struct transfer *transfer,
                        const struct effect_kind *kind, const char *object, int64_t seen_ms)
{
    const struct effect *effect = effect_find(transfer, kind, object);
    struct error err = { 0 };

    if (runner->is_broken || waits(runner, effect) ||
        effect_is_open(transfer, kind, object, seen_ms))
        return false;
    require(effect_fits_step(kind, transfer->step));
    return !is_frozen(runner, transfer, kind, &err);
}

void effect_renew(struct transfer *transfer, const struct effect_kind *kind, const char *object)
{
    char key[320];
    struct effect *effect;

    effect_key(kind, object, key, sizeof key);
    effect = map_get(transfer->effects, key);
    if (!effect || !effect_may_have_happened(effect))
        return;
    require(!effect->is_in_flight);
    effect->generation = effect->sent_count;
    effect->accepted_ms = 0;
    name_request(effect);
}

const struct effect *effect_ask(struct runner *runner, struct transfer *transfer,
                                const struct effect_kind *kind, const struct effect_target *target,
                                int64_t seen_ms)
{
    struct effect *effect = find_or_add(runner, transfer, kind, target->object);

    if (!effect_may_be_sent(runner, transfer, kind, target->object, seen_ms))
        return effect; /* of a freeze the runner says why */

    effect->sent_count++;
    effect->grace_s = target->grace_s;
    name_object(effect, target);
    intend(runner, effect, target);
    return effect;
}

/* The effect that a record's key names: KIND/OBJECT, after TRANSFER/. So even a record that cannot
   be read tells which effect it was about.  NULL: the key names no effect. */
static struct effect *effect_of_key(struct runner *runner, struct transfer *transfer,
                                    const char *key, struct error *err)
{
    size_t length = strcspn(key, "/");
    const struct effect_kind *kind = side_effect_kind(runner, key, length);

    if (!kind)
        error_set(err, ERROR_CORRUPT, "there is no kind of effect called '%.*s'", (int)length, key);
    else if (key[length] != '/' || key[length + 1] == '\0' ||
             strlen(key + length + 1) >= sizeof((struct effect *)0)->object)
        error_set(err, ERROR_CORRUPT, "it names no object");
    else
        return find_or_add(runner, transfer, kind, key + length + 1);
    return NULL;
}

/* Fills the effect from its record; -1: the effect is unchanged. */
static int decode(struct effect *effect, const json_t *value, struct error *err)
{
    const char *state;
    const char *outcome;
    const char *text;
    const char *name;
    int64_t generation;
    int64_t sent;

    if (json_need_text(value, "state", &state, err) < 0 ||
        json_need_text(value, "outcome", &outcome, err) < 0 ||
        json_need_text(value, "text", &text, err) < 0 ||
        json_need_text(value, "name", &name, err) < 0 ||
        json_need_int(value, "generation", &generation, err) < 0 ||
        json_need_int(value, "sent", &sent, err) < 0)
        return -1;
    effect->generation = (int)generation;
    effect->sent_count = (int)sent;
    effect->outcome = text_equal(state, "answered") ? error_kind_of_name(outcome)
                                                    : ERROR_UNKNOWN_OUTCOME;
    text_copy(effect->text, sizeof effect->text, text);
    text_copy(effect->name, sizeof effect->name, name);
    text_copy(effect->progress, sizeof effect->progress, json_text_or(value, "progress", ""));
    return 0;
}

static int load_one(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    struct runner *runner = context;
    size_t length = strcspn(id, "/");
    owned(chars) char *of = text_format("%.*s", (int)length, id);
    struct transfer *transfer = runner_transfer(runner, of);
    struct effect *effect;

    if (!transfer) { /* the transfer ended: nothing waits for this effect any more */
        log_warn("effect_ignored", FIELD_TEXT("effect", id),
                 FIELD_TEXT("text", "its transfer is not in the journal any more"));
        return 0;
    }
    effect = effect_of_key(runner, transfer, id + length + (id[length] == '/'), err);
    if (!effect)
        return -1;
    effect->answered_ms = loop_now(runner->world->loop);
    if (decode(effect, value, err) < 0) { /* it may have happened: that is looked for */
        effect->sent_count = 1;
        effect->outcome = ERROR_UNKNOWN_OUTCOME;
        return -1;
    }
    effect->rev = rev;
    if (effect->outcome == ERROR_NONE)
        effect->accepted_ms = effect->answered_ms;
    name_request(effect);
    return 0;
}

int effect_load(struct runner *runner, struct error *err)
{
    return journal_load(runner->world->journal, "effect", load_one, runner, err);
}
