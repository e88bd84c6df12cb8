/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A person wants a moving node to stay: for a while longer (hold), or out of its move (abort, until
 * resume).  A hold moves the departure; the granted time is in the transfer, on the node and on the
 * board.  An abort freezes the node where it is, so the next plan does not choose it again.  The
 * transfer goes back because its node is frozen, and not because it was told to: a service that is
 * killed in between finds the freeze.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/service/service_parts.h"
#include "broker/transfer/notice.h"

enum { LONGEST_S = DAY_MS / SECOND_MS };

static struct transfer *find(struct service *service, const char *what)
{
    struct runner *runner = service->runner;

    for (size_t i = runner->transfers.count; i-- > 0;) {
        struct transfer *transfer = runner->transfers.items[i];

        if (transfer->state == TRANSFER_LIVE &&
            (text_equal(transfer->id, what) || text_equal(transfer->node, what)))
            return transfer;
    }
    return NULL;
}

/* The time that is asked for: `until`, or `for_s` after the departure. */
static int read_asked(const json_t *request, const struct transfer *transfer,
                      struct wall_time *ret_asked, struct error *err)
{
    const char *until = NULL;
    int64_t for_s;

    if (json_find_text(request, "until", &until, err) < 0)
        return -1;
    if (until)
        return wall_parse(until, false, ret_asked, err);
    if (json_need_int(request, "for_s", &for_s, err) < 0)
        return -1;
    if (for_s < 1 || for_s > LONGEST_S)
        return error_set(err, ERROR_INVALID, "for_s: from 1 to %d", LONGEST_S);
    ret_asked->ms = transfer->departure.ms + for_s * SECOND_MS;
    return 0;
}

/* The act of the person; "held" is told of each node of the move, also when a pod asked. */
static int tell_hold(struct service *service, const struct transfer *transfer, const char *reason,
                     const char *by, struct error *err)
{
    struct journal_batch *batch = journal_batch_new(service->epoch);
    owned(json)
        json_t *event = json_make("{ss ss ss ss ss ss so}", "event", "hold", "by", by, "reason",
                                  reason, "node", transfer->node, "transfer", transfer->id, "move",
                                  transfer->move, "until", json_wall(transfer->departure));

    journal_event(batch, loop_wall(service->world->loop), event);
    if (journal_commit(service->world->journal, &batch, err) == 0)
        return 0;
    runner_break(service->runner, err);
    return -1;
}

json_t *service_hold(struct service *service, const json_t *request, const char *by,
                     struct error *err)
{
    const char *what;
    const char *reason;
    struct transfer *transfer;
    struct wall_time asked;
    struct wall_time before;
    owned(chars) char *who = NULL;

    if (json_need_text(request, "node", &what, err) < 0 || reason_read(request, &reason, err) < 0)
        return NULL;
    transfer = find(service, what);
    if (!transfer) {
        error_set(err, ERROR_NOT_FOUND, "no live transfer has the name or the node %.100s", what);
        return NULL;
    }
    before = transfer->departure;
    if (read_asked(request, transfer, &asked, err) < 0)
        return NULL;
    who = text_format("%.64s: %.90s", by, reason);
    if (notice_extend(service->runner, transfer, asked, who, err) < 0 ||
        tell_hold(service, transfer, reason, by, err) < 0)
        return NULL;
    runner_wake(service->runner);
    return json_make("{ss ss ss ss so so so so ss}", "kind", "hold", "transfer", transfer->id,
                     "move", transfer->move, "node", transfer->node, "asked", json_wall(asked),
                     "before", json_wall(before), "departure", json_wall(transfer->departure),
                     "latest", json_wall(notice_latest(service->runner, transfer)), "held",
                     transfer->held);
}

static bool is_meant(const struct transfer *transfer, const char *what)
{
    return text_equal(transfer->id, what) || text_equal(transfer->move, what) ||
           text_equal(transfer->node, what);
}

static json_t *describe(const struct transfer *transfer)
{
    return json_make("{ss ss ss ss ss}", "transfer", transfer->id, "move", transfer->move, "node",
                     transfer->node, "cluster", transfer->source->cluster->name, "step",
                     transfer_steps[transfer->step].name);
}

/* Those that can go back get a freeze; the others are only told. */
struct abort {
    ARRAY(struct freeze) freezes;
    struct wall_time until;
    json_t *goes_back;
    json_t *goes_on;
};

static void add(const struct service *service, struct abort *made, const struct transfer *transfer)
{
    const struct freeze *known;

    if (!runner_can_undo(service->runner, transfer)) {
        json_array_append_new(made->goes_on, describe(transfer));
        return;
    }
    json_array_append_new(made->goes_back, describe(transfer));
    known = guard_freeze_of_node(&service->guard, transfer->source->cluster->name, transfer->node,
                                 loop_wall(service->world->loop));
    if (known && known->until.ms >= made->until.ms)
        return; /* another person's word, which holds longer */
    *array_add(&made->freezes) = (struct freeze){
        .cluster = mem_copy_chars(transfer->source->cluster->name),
        .node = mem_copy_chars(transfer->node),
        .transfer = mem_copy_chars(transfer->id),
        .move = mem_copy_chars(transfer->move),
        .until = made->until,
    };
}

static int check(const struct abort *made, const char *what, struct error *err)
{
    if (json_array_size(made->goes_back) > 0)
        return 0;
    if (json_array_size(made->goes_on) == 0)
        return error_set(err, ERROR_NOT_FOUND,
                         "no live transfer, move or moving node has the name %.100s "
                         "(`sluice transfers` lists them; `sluice freeze --node` keeps a node that "
                         "does not move)",
                         what);
    return error_set(err, ERROR_CONFLICT,
                     "%.100s cannot go back: the cloud was asked to remove %s, and what it makes "
                     "instead comes to the target pool",
                     what, json_array_size(made->goes_on) == 1 ? "its machine" : "its machines");
}

json_t *service_abort(struct service *service, const json_t *request, const char *by,
                      struct error *err)
{
    struct abort made = { .goes_back = json_array(), .goes_on = json_array() };
    owned(json) json_t *goes_back = made.goes_back;
    owned(json) json_t *goes_on = made.goes_on;
    const struct transfer *transfer;
    const char *what, *reason;
    int result;

    if (json_need_text(request, "what", &what, err) < 0 || reason_read(request, &reason, err) < 0 ||
        freeze_read_until(service, request, &made.until, err) < 0)
        return NULL;
    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));)
        if (is_meant(transfer, what))
            add(service, &made, transfer);
    for (size_t i = 0; i < made.freezes.count; i++) {
        made.freezes.items[i].reason = mem_copy_chars(reason);
        made.freezes.items[i].by = mem_copy_chars(by);
    }
    result = check(&made, what, err);
    if (result == 0)
        result = freezes_set(service, made.freezes.items, made.freezes.count, err);
    array_clear(&made.freezes);
    if (result < 0)
        return NULL;
    return json_make("{ss ss ss ss so sO sO}", "kind", "abort", "what", what, "reason", reason,
                     "by", by, "until", json_wall(made.until), "goes_back", goes_back, "goes_on",
                     goes_on);
}

void stays_withdraw(struct service *service)
{
    struct wall_time now = loop_wall(service->world->loop);
    struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));)
        if (guard_freeze_of_node(&service->guard, transfer->source->cluster->name, transfer->node,
                                 now))
            runner_withdraw(service->runner, transfer, "its node is frozen");
}

/* By its name, or by what an abort took it out of. */
static bool is_frozen_as(const struct freeze *freeze, const char *what)
{
    return text_equal(freeze->node, what) || text_equal(freeze->transfer, what) ||
           text_equal(freeze->move, what);
}

json_t *service_resume(struct service *service, const json_t *request, const char *by,
                       struct error *err)
{
    struct wall_time now = loop_wall(service->world->loop);
    owned(json) json_t *nodes = json_array();
    ARRAY(struct freeze) ends = { 0 };
    const char *what;
    int result = 0;

    if (json_need_text(request, "what", &what, err) < 0)
        return NULL;
    for (size_t i = 0; i < service->guard.freezes.count; i++) {
        const struct freeze *freeze = &service->guard.freezes.items[i];

        if (freeze->node[0] == '\0' || freeze->until.ms <= now.ms || !is_frozen_as(freeze, what))
            continue;
        *array_add(&ends) = (struct freeze){
            .cluster = mem_copy_chars(freeze->cluster),
            .node = mem_copy_chars(freeze->node),
            .transfer = mem_copy_chars(freeze->transfer),
            .move = mem_copy_chars(freeze->move),
            .reason = mem_copy_chars("resume"),
            .by = mem_copy_chars(by),
            .until = now,
        };
        json_array_append_new(
            nodes, json_make("{ss ss}", "cluster", freeze->cluster, "node", freeze->node));
    }
    if (ends.count == 0)
        result = error_set(err, ERROR_NOT_FOUND,
                           "no frozen node has the name %.100s or was in it (`sluice status` lists "
                           "frozen nodes)",
                           what);
    else
        result = freezes_set(service, ends.items, ends.count, err);
    array_clear(&ends);
    return result < 0 ? NULL
                      : json_make("{ss ss ss sO}", "kind", "resume", "what", what, "by", by,
                                  "nodes", nodes);
}
