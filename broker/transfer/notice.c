/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See notice.h.
 */
#include "broker/transfer/notice.h"

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/runner.h"

static const char record_kind[] = "notice";
static const char record_id[] = "counts";

static int load(void *context, const char *id, uint64_t rev, const json_t *value, struct error *err)
{
    struct notice_counts *counts = context;

    (void)id;
    counts->rev = rev;
    if (json_need_int(value, "violations", &counts->violations, err) < 0)
        return -1;
    return json_need_int(value, "emergencies", &counts->emergencies, err);
}

int notice_load(struct runner *runner, struct error *err)
{
    return journal_each(runner->world->journal, record_kind, load, &runner->notices, err);
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

static bool is_ready_to_leave(const struct pod *pod)
{
    return text_equal(pod_annotation(pod, SLUICE_NOTE_READY), "true");
}

bool notice_is_waived(const struct runner *runner, const struct transfer *transfer, int *ret_count)
{
    const struct snapshot *snapshot = fleet_snapshot(runner->fleet, transfer->source->cluster);
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, transfer->node, &count);

    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!pod_must_leave(pods[i]))
            continue;
        if (!is_ready_to_leave(pods[i]))
            return false;
        (*ret_count)++;
    }
    return true;
}

/* The first time that this pod is asked to leave, by whatever means. */
static bool is_first(const struct effect *effect, const struct pod *pod)
{
    if (effect->sent_count != 1)
        return false;
    return effect->kind == EFFECT_EVICT || (effect->kind == EFFECT_DELETE_POD &&
                                            !effect_find(effect->transfer, EFFECT_EVICT, pod->uid));
}

static bool came_too_soon(const struct runner *runner, const struct transfer *transfer,
                          const struct pod *pod)
{
    if (transfer->source->cluster->role != ROLE_RESEARCH || is_ready_to_leave(pod))
        return false;
    return transfer->announced.ms == 0 || runner_now(runner).ms < notice_end(runner, transfer).ms;
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

    if (!pod || !is_first(effect, pod))
        return false;
    if (transfer->is_emergency) {
        counts->emergencies++;
    } else if (came_too_soon(runner, transfer, pod)) {
        counts->violations++;
        tell(runner, effect, batch);
    } else {
        return false;
    }
    value = json_make("{sI sI}", "violations", (json_int_t)counts->violations, "emergencies",
                      (json_int_t)counts->emergencies);
    journal_put(batch, record_kind, record_id, counts->rev, value);
    return true;
}
