/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See notice.h.
 */
#include "broker/transfer/notice.h"

#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/side.h"
#include "broker/transfer/tallies.h"

enum {
    /* Time for a production pool's replicas to be gone before its nodes are closed. */
    PRODUCTION_NOTICE_MS = 2 * MINUTE_MS,
    /* Time for the announcement to reach its node: the notice counts from there. */
    ANNOUNCE_MS = 15 * SECOND_MS,
};

static const char record_kind[] = "notice";
static const char record_id[] = "counts";

static int load(void *context, const char *id, uint64_t rev, const json_t *value, struct error *err)
{
    struct notice_counts *counts = context;
    struct notice_counts read = { .rev = rev };

    (void)id;
    if (json_need_int(value, "violations", &read.violations, err) < 0 ||
        json_need_int(value, "emergencies", &read.emergencies, err) < 0)
        return -1;
    read.violated.ms = json_int_or(value, "violated", 0);
    *counts = read;
    return 0;
}

int64_t notice_ahead_ms(const struct config *config, enum cluster_role role)
{
    return role == ROLE_RESEARCH ? config->drain.notice_ms + ANNOUNCE_MS : PRODUCTION_NOTICE_MS;
}

int notice_load(struct runner *runner, struct error *err)
{
    return journal_load(runner->world->journal, record_kind, load, &runner->notices, err);
}

/* Production gives no notice of its own: its replicas were scaled down before. */
static int64_t promised_ms(const struct runner *runner, const struct transfer *transfer)
{
    return transfer->source->cluster->role == ROLE_RESEARCH ? runner->config->drain.notice_ms : 0;
}

struct wall_time notice_end(const struct runner *runner, const struct transfer *transfer)
{
    struct wall_time end = { transfer->announced.ms + promised_ms(runner, transfer) };

    return end.ms > transfer->departure.ms ? end : transfer->departure;
}

int notice_begin(struct runner *runner, struct transfer *transfer)
{
    struct wall_time now = runner_now(runner);
    struct wall_time end = wall_whole_second(now.ms + promised_ms(runner, transfer));
    char text[WALL_TEXT_SIZE];
    struct error err;

    if (transfer->announced.ms > 0)
        return 0;
    transfer->announced = now;
    if (end.ms > transfer->departure.ms) {
        transfer->departure = end;
        log_info("departure_moves", FIELD_TEXT("transfer", transfer->id),
                 FIELD_TEXT("node", transfer->node),
                 FIELD_TEXT("departure", wall_format(end, text)),
                 FIELD_TEXT("text", "the announcement reached the node late"));
    }
    return runner_store(runner, transfer, "announced", &err);
}

bool notice_is_waived(const struct runner *runner, const struct transfer *transfer, int *ret_count)
{
    return side_origin(runner, transfer)->are_ready(runner, transfer, ret_count);
}

/* Whether the node still waits for its departure, or will. */
static bool is_waiting(const struct transfer *transfer)
{
    return transfer->state == TRANSFER_LIVE && !transfer->is_undoing && !transfer->is_emergency &&
           transfer->step <= STEP_NOTICE;
}

struct wall_time notice_latest(const struct runner *runner, const struct transfer *transfer)
{
    int64_t now_ms = runner_now(runner).ms;
    int64_t latest_ms = now_ms + DAY_MS;
    const struct transfer *other;
    int64_t nodes = 0;

    for (size_t i = 0; runner_next_of_move(runner, transfer->move, &i);)
        nodes++;
    for (size_t i = 0; (other = runner_next_of_move(runner, transfer->move, &i));) {
        int64_t due_ms = other->due.ms - runner_wave_ms(runner, transfer->target, nodes);

        if (other->due.ms > 0 && due_ms < latest_ms)
            latest_ms = due_ms;
    }
    return (struct wall_time){ latest_ms / SECOND_MS * SECOND_MS };
}

static int set_departure(struct runner *runner, struct transfer *transfer,
                         struct wall_time departure, const char *who, struct error *err)
{
    transfer->departure = departure;
    text_copy(transfer->held, sizeof transfer->held, who);
    return runner_store(runner, transfer, "held", err);
}

int notice_extend(struct runner *runner, struct transfer *transfer, struct wall_time asked,
                  const char *who, struct error *err)
{
    struct wall_time latest = notice_latest(runner, transfer);
    struct wall_time granted = wall_whole_second(asked.ms < latest.ms ? asked.ms : latest.ms);
    const struct transfer *other;
    char departure[WALL_TEXT_SIZE];
    char due[WALL_TEXT_SIZE];
    char until[WALL_TEXT_SIZE];

    wall_format(transfer->departure, departure);
    if (transfer->source->cluster->role != ROLE_RESEARCH || !is_waiting(transfer))
        return error_set(err, ERROR_DENIED, "node %s is at step %s: it cannot be held any more",
                         transfer->node, transfer_steps[transfer->step].name);
    for (size_t i = 0; (other = runner_next_of_move(runner, transfer->move, &i));)
        if (other->step > STEP_NOTICE && !other->is_undoing)
            return error_set(err, ERROR_DENIED, "move %s of node %s has begun to close its nodes",
                             transfer->move, transfer->node);
    if (asked.ms <= transfer->departure.ms)
        return error_set(err, ERROR_INVALID, "node %s stays until %s anyway", transfer->node,
                         departure);
    if (granted.ms <= transfer->departure.ms)
        return error_set(err, ERROR_DENIED,
                         "there is no margin: node %s leaves at %s for what is due at %s, and must "
                         "leave by %s",
                         transfer->node, departure, wall_format(transfer->due, due),
                         wall_format(latest, until));
    return set_departure(runner, transfer, granted, who, err);
}

static int grant_wish(struct runner *runner, struct transfer *transfer)
{
    char who[TRANSFER_REASON_SIZE] = "";
    struct wall_time asked = side_origin(runner, transfer)->wish(runner, transfer, who, sizeof who);
    struct error err = { 0 };

    /* the granted time grows with the margin; differences of seconds do not count */
    if (asked.ms <= transfer->departure.ms ||
        notice_latest(runner, transfer).ms < transfer->departure.ms + MINUTE_MS)
        return 0;
    if (notice_extend(runner, transfer, asked, who, &err) < 0 && runner->is_broken)
        return -1;
    return 0;
}

int notice_follow(struct runner *runner, struct transfer *transfer)
{
    const struct transfer *last = transfer;
    const struct transfer *other;
    struct error err;

    if (transfer->source->cluster->role != ROLE_RESEARCH || transfer->is_emergency)
        return 0;
    if (grant_wish(runner, transfer) < 0)
        return -1;
    for (size_t i = 0; (other = runner_next_of_move(runner, transfer->move, &i));)
        if (is_waiting(other) && other->departure.ms > last->departure.ms)
            last = other;
    return last == transfer ? 0
                            : set_departure(runner, transfer, last->departure, last->held, &err);
}

/* Whether research's pod was promised more time. */
static bool came_too_soon(const struct runner *runner, const struct transfer *transfer)
{
    return transfer->source->cluster->role == ROLE_RESEARCH &&
           (transfer->announced.ms == 0 || runner_now(runner).ms < notice_end(runner, transfer).ms);
}

static void tell(struct runner *runner, const struct effect *effect, struct journal_batch *batch)
{
    const struct transfer *transfer = effect->transfer;
    owned(json)
        json_t *story = json_make("{ss ss ss ss}", "event", "notice_broken", "transfer",
                                  transfer->id, "node", transfer->node, "pod", effect->name);

    journal_event(batch, runner_now(runner), story);
    log_error("notice_broken", FIELD_TEXT("transfer", transfer->id),
              FIELD_TEXT("node", transfer->node), FIELD_TEXT("pod", effect->name));
}

bool notice_count(struct runner *runner, const struct effect *effect, const struct pod *pod,
                  struct journal_batch *batch)
{
    struct notice_counts *counts = &runner->notices;
    const struct transfer *transfer = effect->transfer;
    owned(json) json_t *value = NULL;
    bool is_ready;

    if (!pod || effect->sent_count != 1 || !effect->kind->asks_to_leave ||
        !effect->kind->asks_to_leave(effect, pod, &is_ready))
        return false;
    tallies_evict(runner->tallies, transfer, pod,
                  transfer->announced.ms > 0 ? runner_now(runner).ms - transfer->announced.ms : 0);
    if (transfer->is_emergency) {
        counts->emergencies++;
    } else if (!is_ready && came_too_soon(runner, transfer)) {
        counts->violations++;
        counts->violated = runner_now(runner);
        tell(runner, effect, batch);
    } else {
        return false;
    }
    value = json_make("{sI sI sI}", "violations", (json_int_t)counts->violations, "violated",
                      (json_int_t)counts->violated.ms, "emergencies",
                      (json_int_t)counts->emergencies);
    journal_put(batch, record_kind, record_id, counts->rev, value);
    return true;
}
