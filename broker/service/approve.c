/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A second person for large acts: whether an act needs one, and what that person decides.  What one
 * person moves alone within 24 hours counts together, so that a large act in parts is a large act:
 * each act counts for 24 hours.
 */
#include "base/input/json.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "broker/access/persons.h"
#include "broker/service/service_parts.h"

#include <inttypes.h>

/* Jobs come and go: an act may lose so much more than was seen, besides what its nodes have worked
   since. */
static const double losses_more = 1.25;
static const double losses_more_gpu_hours = 1;

/* ---- what people have moved alone ---- */

static bool is_recent(const struct service *service, const struct unapproved_act *act)
{
    return act->at.ms + DAY_MS > loop_wall(service->world->loop).ms;
}

static int64_t recent_nodes(const struct service *service, const struct unapproved *row)
{
    int64_t nodes = 0;

    for (size_t i = 0; i < row->acts.count; i++)
        if (is_recent(service, &row->acts.items[i]))
            nodes += row->acts.items[i].nodes;
    return nodes;
}

static struct unapproved *find_row(const struct service *service, const char *person)
{
    for (size_t i = 0; i < service->unapproved.count; i++)
        if (text_equal(service->unapproved.items[i].person, person))
            return &service->unapproved.items[i];
    return NULL;
}

static void put_row(struct unapproved *row, struct journal_batch *batch)
{
    json_t *acts = json_array();
    owned(json) json_t *value = json_make("{so}", "acts", acts);

    for (size_t i = 0; i < row->acts.count; i++)
        json_array_append_new(acts, json_make("{so sI}", "at", json_wall(row->acts.items[i].at),
                                              "nodes", (json_int_t)row->acts.items[i].nodes));
    journal_put(batch, "unapproved", row->person, row->rev++, value);
}

static void clear_row(struct unapproved *row)
{
    mem_free(row->person);
    array_clear(&row->acts);
}

static int read_act(struct unapproved *row, const json_t *value, const char *time,
                    struct error *err)
{
    struct unapproved_act act;
    const char *at;

    if (json_need_int(value, "nodes", &act.nodes, err) < 0 ||
        json_need_text(value, time, &at, err) < 0 || wall_parse(at, false, &act.at, err) < 0)
        return -1;
    *array_add(&row->acts) = act;
    return 0;
}

/* Records of older releases have one number, and the time of the first act.  The last one may have
   been a day later: so none of it counts for less than a day. */
static int read_row(const struct service *service, struct unapproved *row, const json_t *value,
                    struct error *err)
{
    int64_t now_ms = loop_wall(service->world->loop).ms;
    json_t *acts;
    const json_t *act;
    size_t i;

    if (!json_at(value, "acts")) {
        if (read_act(row, value, "since", err) < 0)
            return -1;
        row->acts.items[0].at.ms += DAY_MS;
        if (row->acts.items[0].at.ms > now_ms)
            row->acts.items[0].at.ms = now_ms;
        return 0;
    }
    if (json_need_array(value, "acts", &acts, err) < 0)
        return -1;
    json_array_foreach(acts, i, act) {
        if (read_act(row, act, "at", err) < 0)
            return -1;
    }
    return 0;
}

static int load_row(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    struct service *service = context;
    struct unapproved row = { .rev = rev };

    if (read_row(service, &row, value, err) < 0) {
        clear_row(&row);
        err->kind = ERROR_CORRUPT;
        return -1;
    }
    row.person = mem_copy_chars(id);
    *array_add(&service->unapproved) = row;
    return 0;
}

int approve_load(struct service *service, struct error *err)
{
    return journal_load(service->world->journal, "unapproved", load_row, service, err);
}

void approve_clear(struct service *service)
{
    for (size_t i = 0; i < service->unapproved.count; i++)
        clear_row(&service->unapproved.items[i]);
    array_clear(&service->unapproved);
}

void approve_move_clock(struct service *service, int64_t by_ms, struct journal_batch *batch)
{
    for (size_t i = 0; i < service->unapproved.count; i++) {
        struct unapproved *row = &service->unapproved.items[i];

        for (size_t k = 0; k < row->acts.count; k++)
            row->acts.items[k].at.ms += by_ms;
        put_row(row, batch);
    }
}

/* Who has moved nothing alone for a day needs no record. */
static void forget_rows(struct service *service, struct journal_batch *batch)
{
    for (size_t i = service->unapproved.count; i-- > 0;) {
        struct unapproved *row = &service->unapproved.items[i];

        if (recent_nodes(service, row) > 0)
            continue;
        journal_remove(batch, "unapproved", row->person, row->rev);
        clear_row(row);
        array_remove(&service->unapproved, i);
    }
}

/* Acts of one minute are one, so that a record stays small. */
static void add_act(const struct service *service, struct unapproved *row, int64_t nodes)
{
    struct wall_time now = order_time(service);
    struct unapproved_act *last;

    for (size_t i = row->acts.count; i-- > 0;)
        if (!is_recent(service, &row->acts.items[i]))
            array_remove(&row->acts, i);
    last = row->acts.count > 0 ? &row->acts.items[row->acts.count - 1] : NULL;
    if (last && last->at.ms / MINUTE_MS == now.ms / MINUTE_MS)
        *last = (struct unapproved_act){ now, last->nodes + nodes };
    else
        *array_add(&row->acts) = (struct unapproved_act){ now, nodes };
}

void approve_count(struct service *service, const char *by, int64_t nodes,
                   struct journal_batch *batch)
{
    owned(chars) char *person = person_behind(by);
    struct unapproved *row = find_row(service, person);

    if (service->config->guard.approval_nodes == 0 || nodes == 0 || person[0] == '\0')
        return;
    if (!row) {
        forget_rows(service, batch);
        row = array_add(&service->unapproved);
        *row = (struct unapproved){ .person = mem_copy_chars(person) };
    }
    add_act(service, row, nodes);
    put_row(row, batch);
}

/* ---- whether one is needed ---- */

int approve_needs(const struct service *service, const char *by, int64_t nodes, bool *ret_needs,
                  struct error *err)
{
    int64_t limit = service->config->guard.approval_nodes;
    owned(chars) char *person = person_behind(by);
    const struct unapproved *row = find_row(service, person);
    int64_t before = row ? recent_nodes(service, row) : 0;

    *ret_needs = limit > 0 && nodes > 0 && before + nodes >= limit;
    if (*ret_needs && person[0] == '\0')
        return error_set(err, ERROR_DENIED,
                         "moving %" PRId64 " nodes needs two persons, and sluice knows you only as "
                         "%.100s: ask under your own name",
                         nodes, by);
    return 0;
}

/* ---- a request that waits ---- */

const struct approval *approve_ask(struct service *service, const struct approval_wish *wish,
                                   struct error *err)
{
    struct journal_batch *batch = journal_batch_new(service->epoch);
    struct wall_time now = order_time(service);
    struct approval *approval = array_add(&service->approvals);

    require(wish->request && wish->seen && wish->nodes > 0);
    *approval = (struct approval){
        .id = "a-",
        .is_apply = wish->is_apply,
        .state = APPROVAL_WAITS,
        .by = mem_copy_chars(wish->by),
        .decided_by = mem_copy_chars(""),
        .reason = mem_copy_chars(wish->reason),
        .why = mem_copy_chars(""),
        .cluster = mem_copy_chars(wish->cluster),
        .subject = mem_copy_chars(wish->subject),
        .created = now,
        .ends = { now.ms + service->config->guard.approval_wait_ms },
        .request = json_deep_copy(wish->request),
    };
    random_hex(service->world->random, approval->id + 2, 9);
    approval_see(approval, wish, now);
    approval_put(approval, "approval_asked", now, batch);
    log_info("approval_asked", FIELD_TEXT("approval", approval->id), FIELD_TEXT("by", approval->by),
             FIELD_INT("nodes", approval->nodes));
    if (journal_commit(service->world->journal, &batch, err) < 0) {
        runner_break(service->runner, err);
        return NULL;
    }
    timer_set_sooner(service->timer, 0); /* the condition holds from now on */
    return approval;
}

/* ---- of a reclaim ---- */

/* The answer to a request that waits for a second person: nothing is accepted. */
json_t *approve_describe_waiting(const struct order_wish *wish, const struct approval *approval,
                                 bool is_repeat)
{
    return json_make("{ss sb ss sI si sb so}", "id", "", "is_repeat", (int)is_repeat, "cluster",
                     wish->cluster->name, "wanted_nodes", (json_int_t)wish->nodes, "accepted_nodes",
                     0, "is_dry_run", 0, "approval", approval_describe(approval));
}

static json_t *encode_wish(const struct order_wish *wish)
{
    return json_make("{ss ss sI ss sI ss sb}", "cluster", wish->cluster->name, "from", wish->from,
                     "nodes", (json_int_t)wish->nodes, "reason", wish->reason, "for_s",
                     (json_int_t)wish->for_s, "key", wish->key, "is_new", (int)wish->is_new);
}

int approve_order(struct service *service, const struct order_act *act, json_t **ret_answer,
                  struct error *err)
{
    const struct order_wish *wish = act->wish;
    owned(json) json_t *request = encode_wish(wish);
    owned(json)
        json_t *seen = json_make("{sI ss sI so}", "wanted_nodes", (json_int_t)wish->nodes, "from",
                                 wish->from, "for_s", (json_int_t)wish->for_s, "pools", act->pools);
    const struct approval_wish now = {
        .by = wish->by,
        .reason = wish->reason,
        .cluster = wish->cluster->name,
        .subject = "",
        .nodes = act->nodes,
        .lost_gpu_hours = act->lost_gpu_hours,
        .request = request,
        .seen = seen,
    };
    const struct approval *approval;
    bool is_needed;

    if (wish->approval)
        return approve_check(service, wish->approval, &now, err) == 0 ? 1 : -1;
    if (approve_needs(service, wish->by, now.nodes, &is_needed, err) < 0)
        return -1;
    if (!is_needed)
        return 1;
    approval = approve_ask(service, &now, err);
    if (!approval)
        return -1;
    *ret_answer = approve_describe_waiting(wish, approval, false);
    return 0;
}

/* ---- what the second person decides ---- */

/* The most that the act may lose by now. */
static double most_lost(const struct service *service, const struct approval *approval)
{
    const struct config *config = service->config;
    double hours = (double)(loop_wall(service->world->loop).ms - approval->looked.ms) /
                   (double)HOUR_MS;
    int64_t gpus = 0;

    for (size_t i = 0; i < config->reservation_count; i++)
        if (config->reservations[i].gpus_per_node > gpus)
            gpus = config->reservations[i].gpus_per_node;
    return approval->lost_gpu_hours * losses_more + losses_more_gpu_hours +
           (double)(gpus * approval->nodes) * (hours > 0 ? hours : 0);
}

int approve_check(struct service *service, struct approval *approval,
                  const struct approval_wish *now, struct error *err)
{
    bool has_grown = now->nodes > approval->nodes;
    double before = approval->lost_gpu_hours;
    int64_t nodes = approval->nodes;
    struct journal_batch *batch;

    if (!has_grown && now->lost_gpu_hours <= most_lost(service, approval))
        return 0;
    batch = journal_batch_new(service->epoch);
    approval_see(approval, now, order_time(service));
    approval_put(approval, "approval_grew", loop_wall(service->world->loop), batch);
    if (journal_commit(service->world->journal, &batch, err) < 0) {
        runner_break(service->runner, err);
        return -1;
    }
    return error_set(err, ERROR_CONFLICT,
                     "it would take more than was seen (%" PRId64 " nodes and %.1f lost GPU-hours, "
                     "before %" PRId64 " and %.1f): look at it again, then approve it",
                     now->nodes, now->lost_gpu_hours, nodes, before);
}

static void decide(struct service *service, struct approval *approval, enum approval_state state,
                   const char *by, const char *why)
{
    require(approval->state == APPROVAL_WAITS);
    approval->state = state;
    approval->decided = order_time(service);
    mem_free(approval->decided_by);
    mem_free(approval->why);
    approval->decided_by = mem_copy_chars(by);
    approval->why = mem_copy_chars(why);
    json_decref(steal(&approval->request));
}

void approve_done(struct service *service, struct approval *approval, const char *by,
                  struct journal_batch *batch)
{
    require(persons_differ(by, approval->by)); /* the promise of it all */
    decide(service, approval, APPROVAL_APPROVED, by, "");
    approval_put(approval, "approved", loop_wall(service->world->loop), batch);
}

/* The answer to a decision that was made before. */
static json_t *repeat(const struct approval *approval)
{
    json_t *row = approval_describe(approval);

    json_object_set_new(row, "is_repeat", json_true());
    return row;
}

static json_t *reject(struct service *service, struct approval *approval, const char *by,
                      const json_t *request, struct error *err)
{
    struct journal_batch *batch;
    const char *why;
    json_t *row;

    if (reason_read(request, &why, err) < 0)
        return NULL;
    batch = journal_batch_new(service->epoch);
    decide(service, approval, APPROVAL_REJECTED, by, why);
    approval_put(approval, "approval_rejected", loop_wall(service->world->loop), batch);
    if (journal_commit(service->world->journal, &batch, err) < 0) {
        runner_break(service->runner, err);
        return NULL;
    }
    timer_set_sooner(service->timer, 0);
    row = approval_describe(approval);
    json_object_set_new(row, "is_repeat", json_false());
    return row;
}

static int check_person(const struct approval *approval, const char *by, struct error *err)
{
    owned(chars) char *person = person_behind(by);

    if (person[0] == '\0')
        return error_set(err, ERROR_DENIED,
                         "sluice knows you only as %.100s, which may be the person who asked: "
                         "approve under your own name",
                         by);
    if (!persons_differ(by, approval->by))
        return error_set(err, ERROR_DENIED,
                         "%.100s asked for %s, and you are %.100s: it needs a second person",
                         approval->by, approval->id, by);
    return 0;
}

static json_t *approve(struct service *service, struct approval *approval, const char *by,
                       const json_t *request, struct error *err)
{
    const char *seen;
    json_t *row;

    if (check_person(approval, by, err) < 0 ||
        json_need_text(request, "fingerprint", &seen, err) < 0)
        return NULL;
    if (!text_equal(seen, approval->print)) {
        error_set(err, ERROR_CONFLICT,
                  "%s is not what you saw any more (fingerprint %.20s, now %s): look at it again",
                  approval->id, seen, approval->print);
        return NULL;
    }
    if ((approval->is_apply ? schedules_approved(service, approval, by, err)
                            : reclaim_approved(service, approval, by, err)) < 0)
        return NULL;
    require(approval->state == APPROVAL_APPROVED);
    row = approval_describe(approval);
    json_object_set_new(row, "is_repeat", json_false());
    return row;
}

/* Why a decision on it makes no sense any more. */
static void refuse_over(const struct service *service, const struct approval *approval,
                        bool is_rejection, struct error *err)
{
    char decided[WALL_TEXT_SIZE];

    if (approval->state == APPROVAL_APPROVED && is_rejection)
        error_set(err, ERROR_CONFLICT, "%s was approved by %s at %s, and is done%s", approval->id,
                  approval->decided_by, wall_format(approval->decided, decided),
                  approval->is_apply ? "" : ": `sluice reclaim end` ends a reclaim");
    else if (approval->state == APPROVAL_REJECTED)
        error_set(err, ERROR_CONFLICT, "%s was rejected by %s at %s: %s", approval->id,
                  approval->decided_by, wall_format(approval->decided, decided), approval->why);
    else
        error_set(err, ERROR_CONFLICT, "%s waits no more (%s): ask again", approval->id,
                  approval->state == APPROVAL_WAITS ? "no decision came in time" : approval->why);
    (void)service;
}

json_t *service_approve(struct service *service, const json_t *request, const char *by,
                        struct error *err)
{
    bool is_rejection = json_bool_or(request, "is_rejected", false);
    struct approval *approval;
    const char *id;

    if (json_need_text(request, "id", &id, err) < 0)
        return NULL;
    approvals_advance(service); /* what is over is over, whether or not a turn has seen it */
    approval = approvals_find(service, id);
    if (!approval) {
        error_set(err, ERROR_NOT_FOUND, "there is no approval %.40s: `sluice approve list`", id);
        return NULL;
    }
    if (approval->state == (is_rejection ? APPROVAL_REJECTED : APPROVAL_APPROVED))
        return repeat(approval);
    if (!approval_waits(service, approval)) {
        refuse_over(service, approval, is_rejection, err);
        return NULL;
    }
    return is_rejection ? reject(service, approval, by, request, err)
                        : approve(service, approval, by, request, err);
}
