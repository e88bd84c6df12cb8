/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions of the runner that steps and effects call.  A turn of the runner is in turn.c.
 */
#include "broker/transfer/runner.h"

#include "base/index.h"
#include "base/input/json.h"
#include "base/log.h"
#include "broker/transfer/tallies.h"

#include <stdarg.h>

enum {
    WAKE_MS = 20,        /* from an event to the turn that follows it; */
    WAKE_TRANSFERS = 50, /* as much again for each so many live ones: each turn asks them all */
};

struct wall_time runner_now(const struct runner *runner)
{
    return loop_wall(runner->world->loop);
}

void transfer_wait_for(struct transfer *transfer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text_print_arguments(transfer->waiting, sizeof transfer->waiting, format, arguments);
    va_end(arguments);
    text_mend(transfer->waiting);
    transfer->told = NULL;
}

void transfer_tells(struct transfer *transfer, const struct effect *effect)
{
    require(!transfer->told && transfer->waiting[0] != '\0');
    transfer->told = effect;
}

void runner_break(struct runner *runner, const struct error *err)
{
    if (runner->is_broken)
        return;
    log_error("journal_broken", FIELD_TEXT("text", err->text));
    runner->is_broken = true;
    loop_stop(runner->world->loop);
}

static json_t *event_of(const struct transfer *transfer, const char *event)
{
    return json_make("{ss ss ss ss ss ss ss ss}", "event", event, "transfer", transfer->id, "move",
                     transfer->move, "node", transfer->node, "from", transfer->source->name, "to",
                     transfer->target->name, "step", transfer_steps[transfer->step].name, "text",
                     transfer->waiting);
}

void runner_put(const struct runner *runner, struct journal_batch *batch,
                const struct transfer *transfer, const char *event)
{
    owned(json) json_t *value = transfer_encode(transfer);
    owned(json) json_t *story = event_of(transfer, event);

    journal_put(batch, "transfer", transfer->id, transfer->rev, value);
    journal_event(batch, runner_now(runner), story);
}

int runner_commit(struct runner *runner, struct transfer *transfer, struct journal_batch **batch,
                  struct error *err)
{
    if (journal_commit(runner->world->journal, batch, err) < 0) {
        runner_break(runner, err);
        return error_context(err, "transfer %s", transfer->id);
    }
    transfer->rev++;
    return 0;
}

int runner_store(struct runner *runner, struct transfer *transfer, const char *event,
                 struct error *err)
{
    struct journal_batch *batch = journal_batch_new(runner->epoch);

    require(transfer->rev > 0); /* it has begun, so that it has its claims */
    runner_put(runner, batch, transfer, event);
    return runner_commit(runner, transfer, &batch, err);
}

char *runner_claim_of_node(const struct transfer *transfer)
{
    return text_format("node/%s/%s", transfer->source->cluster->name, transfer->node_uid);
}

char *runner_claim_of_instance(const struct transfer *transfer)
{
    return text_format("instance/%s/%s", transfer->source->name, transfer->instance);
}

struct transfer *runner_transfer(const struct runner *runner, const char *id)
{
    for (size_t i = 0; i < runner->transfers.count; i++)
        if (text_equal(runner->transfers.items[i]->id, id))
            return runner->transfers.items[i];
    return NULL;
}

struct transfer *runner_next_live(const struct runner *runner, size_t *at)
{
    while (*at < runner->transfers.count) {
        struct transfer *transfer = runner->transfers.items[(*at)++];

        if (transfer->state == TRANSFER_LIVE)
            return transfer;
    }
    return NULL;
}

struct transfer *runner_next_of_move(const struct runner *runner, const char *move, size_t *at)
{
    struct transfer *transfer;

    while ((transfer = runner_next_live(runner, at)) && !text_equal(transfer->move, move))
        ;
    return transfer;
}

const struct transfer *runner_next_of_node(const struct runner *runner, const char *node_uid,
                                           size_t *at)
{
    size_t count;
    void *const *found = index_find(runner->by_node, node_uid, &count);

    while (*at < count) {
        const struct transfer *transfer = found[(*at)++];

        if (transfer->state == TRANSFER_LIVE)
            return transfer;
    }
    return NULL;
}

void runner_wake(struct runner *runner)
{
    runner_wake_after(runner, 0);
}

void runner_wake_after(const struct runner *runner, int64_t wait_ms)
{
    timer_set_sooner(runner->timer,
                     wait_ms + WAKE_MS * (1 + (int64_t)runner->live_count / WAKE_TRANSFERS));
}

int runner_begin(struct runner *runner, struct transfer **transfers, size_t count,
                 struct error *err)
{
    struct journal_batch *batch = journal_batch_new(runner->epoch);

    for (size_t i = 0; i < count; i++) {
        struct transfer *transfer = transfers[i];
        owned(chars) char *node = runner_claim_of_node(transfer);
        owned(chars) char *instance = runner_claim_of_instance(transfer);

        require(transfer->rev == 0 && transfer->step == STEP_ANNOUNCE);
        require(transfer->node_uid[0] != '\0' && transfer->instance[0] != '\0');
        transfer->step_began = runner_now(runner);
        transfer->step_began_ms = loop_now(runner->world->loop);
        journal_claim(batch, node, transfer->id);
        journal_claim(batch, instance, transfer->id);
        runner_put(runner, batch, transfer, "begin");
    }
    if (journal_commit(runner->world->journal, &batch, err) < 0) {
        if (err->kind == ERROR_UNKNOWN_OUTCOME)
            runner_break(runner, err);
        for (size_t i = 0; i < count; i++)
            transfer_free(transfers[i]);
        return error_context(err, "move of %zu nodes", count);
    }
    for (size_t i = 0; i < count; i++) {
        transfers[i]->rev = 1;
        tallies_begin(runner->tallies, transfers[i]);
        *array_add(&runner->transfers) = transfers[i];
        index_change(runner->by_node, NULL, NULL, transfers[i]->node_uid, transfers[i]);
    }
    runner_wake(runner);
    return 0;
}
