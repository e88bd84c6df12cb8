/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A turn of the runner: advances transfers.  change_step() is the one place where a transfer's step
 * or state changes.
 */
#include "base/index.h"
#include "base/input/json.h"
#include "base/log.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/host.h"
#include "broker/transfer/lateness.h"
#include "broker/transfer/newcomers.h"
#include "broker/transfer/notice.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/side.h"
#include "broker/transfer/tallies.h"
#include "broker/transfer/traces.h"

#include <string.h>

enum {
    TICK_MS = 2 * SECOND_MS,
    ENDED_KEPT = 200,
};

/* Removes the effects from the journal; one that is under way is removed when it is answered. */
static void batch_effects(struct journal_batch *batch, struct transfer *transfer)
{
    void *value;

    for (size_t i = 0; map_next(transfer->effects, &i, NULL, &value);) {
        struct effect *effect = value;
        owned(chars) char *id = text_format("%s/%s/%s", transfer->id, effect->kind->name,
                                            effect->object);

        if (effect->rev == 0 || effect->is_in_flight)
            continue;
        journal_remove(batch, "effect", id, effect->rev);
        effect->rev = 0;
    }
}

/* The records of an ended transfer: its own stays; claims and effects are removed. */
static void batch_end(struct runner *runner, struct journal_batch *batch, struct transfer *transfer)
{
    owned(chars) char *node = runner_claim_of_node(transfer);
    owned(chars) char *instance = runner_claim_of_instance(transfer);

    require(transfer->state != TRANSFER_LIVE);
    journal_release(batch, node, transfer->id);
    journal_release(batch, instance, transfer->id);
    lead_book_put(runner->leads, transfer, batch);
    batch_effects(batch, transfer);
}

/* Learns lead times from a change: that of the step when it goes on, that of the whole when it ends
   well.  An undo counts as censored. */
static void learn(struct runner *runner, const struct transfer *transfer, int step,
                  enum transfer_state state)
{
    struct wall_time now = runner_now(runner);
    bool turns_back = transfer->is_undoing && step == transfer->step && state == TRANSFER_LIVE;
    bool drains_again = transfer->step == STEP_RELEASE && step == STEP_DRAIN;

    if (!transfer->is_undoing)
        lead_book_add_step(runner->leads, transfer, now.ms - transfer->step_began.ms,
                           transfer->is_discarding || drains_again);
    if (!transfer->is_undoing && !transfer->is_discarding && !drains_again)
        tallies_step(runner->tallies, transfer, transfer->step, now.ms - transfer->step_began.ms);
    if (transfer->cordoned.ms > 0 && !transfer->is_returning &&
        (state == TRANSFER_DONE || turns_back))
        lead_book_add_whole(runner->leads, transfer, now.ms - transfer->cordoned.ms, turns_back);
}

/* Records the end of an attempt for its pool and its host. */
static void note_attempt(struct runner *runner, const struct transfer *transfer,
                         enum transfer_state state, struct journal_batch *batch)
{
    require(!transfer->is_discarding || transfer->step >= STEP_ACQUIRE);
    if (transfer->is_discarding)
        attempts_failed(runner->attempts, transfer,
                        transfer->step == STEP_JOIN ? host_of(transfer) : "", runner_now(runner),
                        batch);
    else if (state == TRANSFER_DONE || state == TRANSFER_RETURNED)
        attempts_served(runner->attempts, transfer, batch);
}

/* THE one place where step and state change. */
static void change_step(struct runner *runner, struct transfer *transfer, int step,
                        enum transfer_state state, const char *event)
{
    struct journal_batch *batch = journal_batch_new(runner->epoch);
    const struct trace_step ended = {
        .step = transfer->step,
        .began = transfer->step_began,
        .is_undoing = transfer->is_undoing && (step != transfer->step || state != TRANSFER_LIVE),
        .waited_for = transfer->waiting,
    };
    struct error err;

    require(transfer->state == TRANSFER_LIVE);
    require(step >= 0 && step < STEP_COUNT);
    require(step <= transfer->step + 1); /* none is left out */
    require(!transfer->is_undoing || step_can_undo(step) || step == STEP_RELEASE);
    require(state != TRANSFER_UNDONE || (transfer->is_undoing && step == STEP_ANNOUNCE));
    require(state == TRANSFER_LIVE || state == TRANSFER_UNDONE || step == STEP_HAND_OVER);
    require(state != TRANSFER_RETURNED || transfer->is_returning);
    learn(runner, transfer, step, state);
    note_attempt(runner, transfer, state, batch);
    transfer->step = step;
    transfer->state = state;
    transfer->step_began = runner_now(runner);
    if (state != TRANSFER_LIVE)
        transfer->ended = transfer->step_began;
    runner_put(runner, batch, transfer, event);
    if (state != TRANSFER_LIVE)
        batch_end(runner, batch, transfer);
    if (runner_commit(runner, transfer, &batch, &err) < 0)
        return;
    if (state != TRANSFER_LIVE) {
        lead_book_was_put(runner->leads, transfer);
        tallies_end(runner->tallies, transfer);
    }
    traces_add(runner->traces, transfer, &ended);
    transfer->step_began_ms = loop_now(runner->world->loop);
    transfer->waiting[0] = '\0';
    transfer->told = NULL;
    transfer->needs_operator = false;
    log_info("transfer_step", FIELD_TEXT("transfer", transfer->id),
             FIELD_TEXT("node", transfer->node), FIELD_TEXT("event", event),
             FIELD_TEXT("step", transfer_steps[step].name),
             FIELD_TEXT("state", transfer_state_name(state)));
}

static void begin_undo(struct runner *runner, struct transfer *transfer)
{
    require(runner_can_undo(runner, transfer) && !transfer->is_undoing);
    transfer->is_undoing = true;
    change_step(runner, transfer, transfer->step, TRANSFER_LIVE, "undo");
}

bool runner_can_undo(const struct runner *runner, const struct transfer *transfer)
{
    return transfer->step <= STEP_RELEASE && !step_may_be_released(runner, transfer);
}

/* Back to the drain, with its whole time, because the new pods were not asked before. */
static void drain_again(struct runner *runner, struct transfer *transfer)
{
    require(transfer->step == STEP_RELEASE && !transfer->is_undoing);
    transfer->redrains++;
    transfer->drain_due.ms = runner_now(runner).ms + runner->config->drain.deadline_ms;
    transfer->paused_ms = transfer->emptied_ms = 0;
    change_step(runner, transfer, STEP_DRAIN, TRANSFER_LIVE, "drains_again");
}

/* One step back, or the end of the way back. */
static void undo_next(struct runner *runner, struct transfer *transfer)
{
    require(transfer->is_undoing);
    if (transfer->step > 0)
        change_step(runner, transfer, transfer->step - 1, TRANSFER_LIVE, "undone_step");
    else
        change_step(runner, transfer, 0, TRANSFER_UNDONE, "undone");
}

static void step_next(struct runner *runner, struct transfer *transfer)
{
    require(!transfer->is_undoing && !transfer->is_discarding);
    if (transfer->step + 1 < STEP_COUNT)
        change_step(runner, transfer, transfer->step + 1, TRANSFER_LIVE, "step");
    else
        change_step(runner, transfer, transfer->step,
                    transfer->is_returning ? TRANSFER_RETURNED : TRANSFER_DONE, "handed_over");
}

static void wait_also(struct transfer *transfer, const char *what)
{
    owned(chars) char *before = mem_copy_chars(transfer->waiting);

    transfer_wait_for(transfer, "%s; %s", before, what);
}

static void note_freeze(const struct runner *runner, struct transfer *transfer)
{
    const struct freeze *freeze = runner_freeze(runner, transfer);
    char until[WALL_TEXT_SIZE];

    if (freeze) {
        owned(chars) char *what = text_format("frozen until %s: %s",
                                              wall_format(freeze->until, until), freeze->reason);

        wait_also(transfer, what);
    }
}

/* A wait that looks slow is a pause that a server asked for, unless the step reports another
   reason. */
static void note_pause(const struct runner *runner, struct transfer *transfer)
{
    const struct effect *pause = effect_pause(transfer, loop_now(runner->world->loop));
    const char *trouble = pause ? pause->text : sides_trouble(transfer);

    if (trouble && (!pause || pause != transfer->told))
        wait_also(transfer, trouble);
}

static enum verdict run(struct runner *runner, struct transfer *transfer, const struct step *step)
{
    if (transfer->step == STEP_ACQUIRE || transfer->step == STEP_JOIN)
        (void)step_settle(runner, transfer); /* they do not wait for it */
    return step->run(runner, transfer);
}

static enum verdict judge(struct runner *runner, struct transfer *transfer)
{
    const struct step *step = &transfer_steps[transfer->step];
    enum verdict verdict;

    if (transfer->is_undoing)
        verdict = step->undo ? step->undo(runner, transfer) : STEP_DONE;
    else if (transfer->wants_undo && runner_can_undo(runner, transfer))
        verdict = STEP_UNDO;
    else
        verdict = run(runner, transfer, step);
    if (verdict == STEP_UNDO && !runner_can_undo(runner, transfer)) {
        wait_also(transfer,
                  "its cloud may still delete the machine, so it cannot be given back yet");
        verdict = STEP_WAIT;
    }
    if (verdict == STEP_WAIT) {
        note_pause(runner, transfer);
        note_freeze(runner, transfer);
    }
    return verdict == STEP_WAIT ? lateness_verdict(runner, transfer) : verdict;
}

/* Goes as far as nothing has to be waited for. */
static void advance(struct runner *runner, struct transfer *transfer)
{
    while (transfer->state == TRANSFER_LIVE && !runner->is_broken) {
        enum verdict verdict = judge(runner, transfer);

        if (verdict == STEP_WAIT || runner->is_broken)
            return;
        if (transfer->is_undoing) {
            undo_next(runner, transfer);
        } else if (verdict == STEP_UNDO) {
            begin_undo(runner, transfer);
        } else if (verdict == STEP_DRAIN_AGAIN) {
            drain_again(runner, transfer);
        } else if (verdict == STEP_BACK) {
            /* Only steps that wait for a machine of ours can give it up. */
            require(transfer->step == STEP_ACQUIRE || transfer->step == STEP_JOIN);
            transfer->is_discarding = true;
            change_step(runner, transfer, STEP_ACQUIRE, TRANSFER_LIVE, "machine_failed");
        } else {
            step_next(runner, transfer);
        }
    }
}

static bool is_quiet(const struct transfer *transfer)
{
    void *value;

    for (size_t i = 0; map_next(transfer->effects, &i, NULL, &value);)
        if (((const struct effect *)value)->is_in_flight)
            return false;
    return transfer->state != TRANSFER_LIVE && !sides_are_under_way(transfer) &&
           !host_is_under_way(transfer->host);
}

/* Forgets the oldest ended transfers beyond a number; their history stays in the events. */
static void trim(struct runner *runner)
{
    struct error err;
    size_t ended = 0;

    for (size_t i = 0; i < runner->transfers.count; i++)
        ended += runner->transfers.items[i]->state != TRANSFER_LIVE;
    for (size_t i = 0; ended > ENDED_KEPT && i < runner->transfers.count;) {
        struct transfer *transfer = runner->transfers.items[i];
        struct journal_batch *batch;

        if (!is_quiet(transfer)) {
            i++;
            continue;
        }
        batch = journal_batch_new(runner->epoch);
        journal_remove(batch, "transfer", transfer->id, transfer->rev);
        batch_effects(batch, transfer); /* left by a death between the end and their answers */
        if (journal_commit(runner->world->journal, &batch, &err) < 0)
            return runner_break(runner, &err);
        index_change(runner->by_node, transfer->node_uid, transfer, NULL, NULL);
        transfer_free(transfer);
        array_remove(&runner->transfers, i);
        ended--;
    }
}

/* Advances each live transfer once, emergencies first. */
static void advance_all(struct runner *runner)
{
    struct transfer *transfer;

    runner->turns++;
    for (int pass = 0; pass < 2 && !runner->is_broken; pass++) {
        runner->live_count = 0;
        for (size_t i = 0; (transfer = runner_next_live(runner, &i));) {
            if (transfer->is_emergency == (pass == 0))
                advance(runner, transfer);
            runner->live_count += transfer->state == TRANSFER_LIVE;
        }
    }
}

/* All decisions of a turn are written at its end, with one wait for the disk, and carried out after
   that. */
static void tick(void *context)
{
    struct runner *runner = context;
    bool goes_on;

    if (runner->is_broken)
        return;
    journal_gather(runner->world->journal);
    advance_all(runner);
    runner->turned_ms = loop_now(runner->world->loop);
    effects_settle(runner);
    goes_on = runner->live_count > 0 && !runner->is_broken;
    if (!runner->is_broken)
        trim(runner);
    if (!runner->is_broken && sides_tick(runner))
        goes_on = true;
    if (goes_on)
        timer_set_sooner(runner->timer, TICK_MS);
}

void runner_withdraw(struct runner *runner, struct transfer *transfer, const char *why)
{
    if (transfer->wants_undo || !runner_can_undo(runner, transfer))
        return;
    log_info("transfer_withdrawn", FIELD_TEXT("transfer", transfer->id),
             FIELD_TEXT("node", transfer->node), FIELD_TEXT("text", why));
    transfer->wants_undo = true;
    runner_wake(runner);
}

static int load_transfer(void *context, const char *id, uint64_t rev, const json_t *value,
                         struct error *err)
{
    struct runner *runner = context;
    struct transfer *transfer = transfer_decode(runner->config, value, err);
    size_t at = runner->transfers.count;

    if (!transfer && err->kind == ERROR_INVALID &&
        !text_equal(json_text_or(value, "state", ""), transfer_state_name(TRANSFER_LIVE))) {
        log_warn("transfer_ignored", FIELD_TEXT("transfer", id), FIELD_TEXT("text", err->text));
        return 0;
    }
    if (!transfer)
        return -1;
    if (!text_equal(transfer->id, id)) {
        transfer_free(transfer);
        return error_set(err, ERROR_CORRUPT, "id: it is not its own");
    }
    transfer->rev = rev;
    transfer->step_began_ms = loop_now(runner->world->loop);
    if (transfer->state == TRANSFER_LIVE)
        tallies_begin(runner->tallies, transfer);

    /* Kept in the order in which they began, whatever order the store has. */
    (void)array_add(&runner->transfers);
    for (; at > 0 && runner->transfers.items[at - 1]->created.ms > transfer->created.ms; at--)
        runner->transfers.items[at] = runner->transfers.items[at - 1];
    runner->transfers.items[at] = transfer;
    index_change(runner->by_node, NULL, NULL, transfer->node_uid, transfer);
    return 0;
}

struct runner *runner_open(const struct runner_setup *setup, struct error *err)
{
    owned(runner) struct runner *runner = mem_new(sizeof *runner);
    struct world *world = setup->world;

    require(world && setup->config && setup->guard && setup->sides);
    runner->world = world;
    runner->config = setup->config;
    runner->fleet = setup->fleet;
    runner->guard = setup->guard;
    runner->epoch = setup->epoch;
    runner->by_node = index_new();
    runner->leads = lead_book_new(setup->config);
    runner->attempts = attempts_new(setup->config);
    runner->newcomers = newcomers_new(setup->config);
    runner->tallies = tallies_new();
    runner->traces = traces_new(world, setup->config->traces.endpoint);
    sides_open(runner, setup->sides);
    runner->timer = timer_new(world->loop, tick, runner);
    if (journal_load(world->journal, "transfer", load_transfer, runner, err) < 0 ||
        lead_book_load(runner->leads, world->journal, err) < 0 ||
        attempts_load(runner->attempts, world->journal, err) < 0 ||
        newcomers_load(runner->newcomers, world->journal, err) < 0 ||
        notice_load(runner, err) < 0 || sides_load(runner, err) < 0 || effect_load(runner, err) < 0)
        return NULL;
    runner_wake(runner);
    return steal(&runner);
}

void runner_close(struct runner *runner)
{
    if (!runner)
        return;
    timer_free(runner->timer);
    for (size_t i = 0; i < runner->transfers.count; i++)
        transfer_free(runner->transfers.items[i]);
    array_clear(&runner->transfers);
    index_free(runner->by_node);
    lead_book_free(runner->leads);
    attempts_free(runner->attempts);
    newcomers_free(runner->newcomers);
    tallies_free(runner->tallies);
    traces_free(runner->traces);
    sides_close(runner);
    mem_free(runner);
}
