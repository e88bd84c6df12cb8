/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Acts that wait for a second person: their records, what people see of them, and their end.  An
 * act that waits has changed nothing; what it asks for is done by the commit that approves it
 * (approve.c), so no crash can come between the two.
 */
#include "base/crypto.h"
#include "base/input/json.h"
#include "base/text.h"
#include "broker/service/service_parts.h"

#include <inttypes.h>
#include <string.h>

enum { APPROVALS_KEPT = 200 };

static const char *const state_names[] = { "waits", "approved", "rejected", "expired" };

static const char *act_name(const struct approval *approval)
{
    return approval->is_apply ? "apply" : "reclaim";
}

static void clear_approval(struct approval *approval)
{
    mem_free(approval->by);
    mem_free(approval->decided_by);
    mem_free(approval->reason);
    mem_free(approval->why);
    mem_free(approval->cluster);
    mem_free(approval->subject);
    json_decref(approval->request);
    json_decref(approval->seen);
}

void approvals_clear(struct service *service)
{
    for (size_t i = 0; i < service->approvals.count; i++)
        clear_approval(&service->approvals.items[i]);
    array_clear(&service->approvals);
}

bool approval_waits(const struct service *service, const struct approval *approval)
{
    return approval->state == APPROVAL_WAITS &&
           approval->ends.ms > loop_wall(service->world->loop).ms;
}

struct approval *approvals_find(struct service *service, const char *id)
{
    for (size_t i = 0; i < service->approvals.count; i++)
        if (text_equal(service->approvals.items[i].id, id))
            return &service->approvals.items[i];
    return NULL;
}

/* ---- one request is given twice ---- */

static bool is_same_reclaim(const json_t *left, const json_t *right)
{
    const char *key = json_text_or(left, "key", "");

    if (key[0] != '\0' && text_equal(key, json_text_or(right, "key", "")))
        return true;
    return !json_bool_or(right, "is_new", false) &&
           text_equal(json_text_or(left, "cluster", ""), json_text_or(right, "cluster", "")) &&
           text_equal(json_text_or(left, "from", ""), json_text_or(right, "from", "")) &&
           text_equal(json_text_or(left, "reason", ""), json_text_or(right, "reason", "")) &&
           json_int_or(left, "nodes", 0) == json_int_or(right, "nodes", 0);
}

struct approval *approvals_like(struct service *service, const struct approval_wish *wish)
{
    for (size_t i = 0; i < service->approvals.count; i++) {
        struct approval *approval = &service->approvals.items[i];
        bool is_rejected = approval->state == APPROVAL_REJECTED && approval->is_apply &&
                           approval->ends.ms > loop_wall(service->world->loop).ms;

        if (approval->is_apply == wish->is_apply &&
            (approval_waits(service, approval) || is_rejected) &&
            (wish->is_apply ? text_equal(approval->subject, wish->subject)
                            : is_same_reclaim(approval->request, wish->request)))
            return approval;
    }
    return NULL;
}

/* ---- records ---- */

json_t *approval_describe(const struct approval *approval)
{
    json_t *row = json_make(
        "{ss ss ss ss ss sI sf so ss so so so ss ss ss}", "id", approval->id, "act",
        act_name(approval), "state", state_names[approval->state], "by", approval->by, "cluster",
        approval->cluster, "nodes", (json_int_t)approval->nodes, "lost_gpu_hours",
        approval->lost_gpu_hours, "looked", json_wall(approval->looked), "reason", approval->reason,
        "created", json_wall(approval->created), "ends", json_wall(approval->ends), "decided",
        json_wall(approval->decided), "decided_by", approval->decided_by, "why", approval->why,
        "fingerprint", approval->print);

    json_object_update_missing(row, approval->seen);
    return row;
}

/* The plain members of a row, without what people see of it and without its request. */
static json_t *story_of(const struct approval *approval)
{
    owned(json) json_t *row = approval_describe(approval);
    json_t *story = json_object();
    const char *key;
    json_t *value;

    json_object_foreach(row, key, value)
        if (!json_is_object(value) && !json_is_array(value))
            json_object_set(story, key, value);
    return story;
}

static json_t *encode(const struct approval *approval)
{
    json_t *value = story_of(approval);

    json_object_set(value, "seen", approval->seen);
    json_object_set_new(value, "subject", json_text(approval->subject));
    if (approval->request)
        json_object_set(value, "request", approval->request);
    return value;
}

/* Over what people see, and what is done then. */
static void make_print(struct approval *approval)
{
    owned(json) json_t *basis = json_make(
        "{ss sb sI sf sO sO}", "id", approval->id, "is_apply", (int)approval->is_apply, "nodes",
        (json_int_t)approval->nodes, "lost_gpu_hours", approval->lost_gpu_hours, "seen",
        approval->seen, "request", approval->request ?: approval->seen);
    owned(chars) char *text = json_print(basis);
    char hash[SHA256_TEXT_SIZE];

    crypto_sha256_text(text, strlen(text), hash);
    text_print(approval->print, sizeof approval->print, "%.4s-%.4s", hash, hash + 4);
}

void approval_put(struct approval *approval, const char *event, struct wall_time now,
                  struct journal_batch *batch)
{
    owned(json) json_t *story = story_of(approval);
    owned(json) json_t *value = NULL;
    owned(json) json_t *told = NULL;

    require((approval->state == APPROVAL_WAITS) == (approval->request != NULL));
    make_print(approval);
    value = encode(approval);
    told = json_make("{ss ss* ss sO}", "event", event, "by",
                     approval->decided_by[0] != '\0'     ? approval->decided_by
                     : approval->state == APPROVAL_WAITS ? approval->by
                                                         : NULL,
                     "asked_by", approval->by, "approval", story);
    journal_put(batch, "approval", approval->id, approval->rev++, value);
    journal_event(batch, now, told);
}

/* Copies what is seen now; the record is to be put. */
void approval_see(struct approval *approval, const struct approval_wish *wish, struct wall_time now)
{
    approval->looked = now;
    approval->nodes = wish->nodes;
    approval->lost_gpu_hours = wish->lost_gpu_hours;
    json_decref(approval->seen);
    approval->seen = json_deep_copy(wish->seen);
}

static int read_wall(const json_t *value, const char *name, struct wall_time *ret,
                     struct error *err)
{
    const char *text = json_text_or(value, name, NULL);

    *ret = (struct wall_time){ 0 };
    return text ? wall_parse(text, false, ret, err) : 0;
}

static int read_state(const json_t *value, enum approval_state *ret, struct error *err)
{
    const char *name;

    if (json_need_text(value, "state", &name, err) < 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(state_names); i++)
        if (text_equal(name, state_names[i])) {
            *ret = (enum approval_state)i;
            return 0;
        }
    return error_set(err, ERROR_CORRUPT, "state: \"%.40s\" is not known", name);
}

static int read_members(struct approval *approval, const json_t *value, struct error *err)
{
    const char *act;
    const char *by;
    json_t *seen;

    if (json_need_text(value, "act", &act, err) < 0 || json_need_text(value, "by", &by, err) < 0 ||
        read_state(value, &approval->state, err) < 0 ||
        json_need_int(value, "nodes", &approval->nodes, err) < 0 ||
        json_need_object(value, "seen", &seen, err) < 0 ||
        read_wall(value, "looked", &approval->looked, err) < 0 ||
        read_wall(value, "created", &approval->created, err) < 0 ||
        read_wall(value, "ends", &approval->ends, err) < 0 ||
        read_wall(value, "decided", &approval->decided, err) < 0)
        return -1;
    approval->is_apply = text_equal(act, "apply");
    approval->lost_gpu_hours = json_number_value(json_object_get(value, "lost_gpu_hours"));
    approval->request = json_deep_copy(json_object_get(value, "request"));
    approval->seen = json_deep_copy(seen);
    if (approval->state == APPROVAL_WAITS && !approval->request)
        return error_set(err, ERROR_CORRUPT, "request: missing");
    return 0;
}

/* A record that cannot be read is set aside: its act is not done. */
static int load_approval(void *context, const char *id, uint64_t rev, const json_t *value,
                         struct error *err)
{
    struct service *service = context;
    struct approval approval = { .rev = rev };

    approval.by = mem_copy_chars(json_text_or(value, "by", ""));
    approval.decided_by = mem_copy_chars(json_text_or(value, "decided_by", ""));
    approval.reason = mem_copy_chars(json_text_or(value, "reason", ""));
    approval.why = mem_copy_chars(json_text_or(value, "why", ""));
    approval.cluster = mem_copy_chars(json_text_or(value, "cluster", ""));
    approval.subject = mem_copy_chars(json_text_or(value, "subject", ""));
    if (!text_copy(approval.id, sizeof approval.id, id) ||
        read_members(&approval, value, err) < 0) {
        clear_approval(&approval);
        err->kind = ERROR_CORRUPT;
        return -1;
    }
    make_print(&approval);
    *array_add(&service->approvals) = approval;
    return 0;
}

int approvals_load(struct service *service, struct error *err)
{
    return journal_load(service->world->journal, "approval", load_approval, service, err);
}

void approvals_move_clock(struct service *service, int64_t by_ms, struct journal_batch *batch)
{
    for (size_t i = 0; i < service->approvals.count; i++) {
        struct approval *approval = &service->approvals.items[i];
        owned(json) json_t *value = NULL;

        if (approval->state != APPROVAL_WAITS && approval->state != APPROVAL_REJECTED)
            continue;
        approval->ends.ms += by_ms;
        approval->looked.ms += by_ms;
        value = encode(approval);
        journal_put(batch, "approval", approval->id, approval->rev++, value);
    }
}

/* ---- their end ---- */

/* Why it is not to be decided any more; NULL: it is. */
static const char *why_over(const struct service *service, const struct approval *approval)
{
    char print[20];

    if (approval->state != APPROVAL_WAITS)
        return NULL;
    if (approval->ends.ms <= loop_wall(service->world->loop).ms)
        return "no decision came in time";
    schedules_print(service, print);
    if (approval->is_apply && !text_equal(print, json_text_or(approval->request, "base", "")))
        return "other schedules came into force meanwhile";
    return NULL;
}

static void end(struct service *service, struct approval *approval, const char *why,
                struct journal_batch *batch)
{
    approval->state = APPROVAL_EXPIRED;
    approval->decided = order_time(service);
    mem_free(approval->why);
    approval->why = mem_copy_chars(why);
    json_decref(steal(&approval->request));
    approval_put(approval, "approval_expired", loop_wall(service->world->loop), batch);
}

/* The place of the oldest of more than are kept; the count: they are not more. */
static size_t one_too_many(const struct service *service)
{
    size_t oldest = service->approvals.count;
    size_t over = 0;

    for (size_t i = 0; i < service->approvals.count; i++) {
        const struct approval *approval = &service->approvals.items[i];

        if (approval->state == APPROVAL_WAITS)
            continue;
        over++;
        if (oldest == service->approvals.count ||
            approval->decided.ms < service->approvals.items[oldest].decided.ms)
            oldest = i;
    }
    return over > APPROVALS_KEPT ? oldest : service->approvals.count;
}

static void forget_oldest(struct service *service, struct journal_batch **batch)
{
    size_t at;

    while ((at = one_too_many(service)) < service->approvals.count) {
        struct approval *approval = &service->approvals.items[at];

        *batch = *batch ?: journal_batch_new(service->epoch);
        journal_remove(*batch, "approval", approval->id, approval->rev);
        clear_approval(approval);
        array_remove(&service->approvals, at);
    }
}

void approvals_advance(struct service *service)
{
    struct journal_batch *batch = NULL;
    struct error err;

    if (service->runner->is_broken)
        return;
    for (size_t i = 0; i < service->approvals.count; i++) {
        const char *why = why_over(service, &service->approvals.items[i]);

        if (!why)
            continue;
        batch = batch ?: journal_batch_new(service->epoch);
        end(service, &service->approvals.items[i], why, batch);
    }
    if (batch && journal_commit(service->world->journal, &batch, &err) < 0) {
        runner_break(service->runner, &err);
        return;
    }
    forget_oldest(service, &batch);
    if (batch && journal_commit(service->world->journal, &batch, &err) < 0)
        runner_break(service->runner, &err);
}

/* ---- for people ---- */

json_t *approvals_describe(const struct service *service, bool all)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < service->approvals.count; i++)
        if (all || approval_waits(service, &service->approvals.items[i]))
            json_array_append_new(rows, approval_describe(&service->approvals.items[i]));
    return rows;
}

json_t *service_approvals(struct service *service, bool all)
{
    return json_make("{ss so so}", "kind", "approvals", "at",
                     json_wall(loop_wall(service->world->loop)), "approvals",
                     approvals_describe(service, all));
}

void approvals_look(const struct service *service, struct health *health)
{
    for (size_t i = 0; i < service->approvals.count; i++) {
        const struct approval *approval = &service->approvals.items[i];
        owned(chars) char *advice = text_format(
            "`sluice approve %s` shows it to a second person, who approves or rejects it",
            approval->id);
        const struct condition condition = {
            .kind = approval->is_apply ? CONDITION_APPLY_WAITS : CONDITION_RECLAIM_WAITS,
            .since = approval->created,
            .what = approval->id,
            .cluster = approval->cluster,
            .advice = advice,
        };
        char ends[WALL_TEXT_SIZE];

        if (!approval_waits(service, approval))
            continue;
        wall_format(approval->ends, ends);
        health_add(health, &condition,
                   approval->is_apply
                       ? text_format("%s of schedules that %s asked for waits for a second person, "
                                     "until %s: %" PRId64 " nodes change their pools",
                                     approval->id, approval->by, ends, approval->nodes)
                       : text_format("%s, a reclaim of %" PRId64
                                     " node%s for %s that %s asked for, "
                                     "waits for a second person until %s",
                                     approval->id, approval->nodes, approval->nodes == 1 ? "" : "s",
                                     approval->cluster, approval->by, ends));
    }
}
