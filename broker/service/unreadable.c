/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See unreadable.h; and the repair of such records (`sluice journal repair`, `journal check`).
 */
#include "broker/service/unreadable.h"

#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/service/service_parts.h"

#include <inttypes.h>

void unreadable_init(struct unreadable *unreadable)
{
    unreadable->records = json_array();
    unreadable->claims = map_new(mem_free);
}

void unreadable_clear(struct unreadable *unreadable)
{
    json_decref(unreadable->records);
    map_free(unreadable->claims);
}

static int set_aside(struct service *service, struct error *err)
{
    struct journal *journal = service->world->journal;
    struct wall_time now = loop_wall(service->world->loop);
    struct journal_batch *batch;
    size_t count;
    const struct journal_aside *asides = journal_asides(journal, &count);

    if (count == 0)
        return 0;
    batch = journal_batch_new(service->epoch);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(service->unreadable.records,
                              journal_put_aside(batch, &asides[i], now));
        log_error("record_set_aside", FIELD_TEXT("kind", asides[i].kind),
                  FIELD_TEXT("id", asides[i].id), FIELD_TEXT("text", asides[i].why));
    }
    freezes_put_stand_ins(service, batch);
    journal_asides_clear(journal);
    return journal_commit(journal, &batch, err);
}

static int load_one(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    struct service *service = context;

    (void)id;
    (void)rev;
    (void)err;
    json_array_append_new(service->unreadable.records, json_deep_copy(value));
    return 0;
}

static int load_claim(void *context, const char *name, const char *holder, struct error *err)
{
    struct service *service = context;

    (void)err;
    if (!runner_transfer(service->runner, holder))
        map_set(service->unreadable.claims, name, mem_copy_chars(holder));
    return 0;
}

int unreadable_load(struct service *service, struct error *err)
{
    struct journal *journal = service->world->journal;

    /* a record that is set aside now may be written later than it is read here */
    if (journal_each(journal, JOURNAL_UNREADABLE, load_one, service, err) < 0)
        return -1;
    service->unreadable.kept = json_array_size(service->unreadable.records);
    if (set_aside(service, err) < 0)
        return -1;
    return journal_each_claim(journal, load_claim, service, err);
}

bool unreadable_holds(const struct service *service, const struct config_pool *pool,
                      const char *instance, const char *uid)
{
    owned(chars) char *node = NULL;
    owned(chars) char *machine = NULL;

    if (map_count(service->unreadable.claims) == 0)
        return false;
    node = text_format("node/%s/%s", pool->cluster->name, uid);
    machine = text_format("instance/%s/%s", pool->name, instance);
    return map_get(service->unreadable.claims, node) ||
           map_get(service->unreadable.claims, machine);
}

/* One claim of the holder, for display; NULL: it has none, so it was not under way. */
static const char *claim_of(const struct service *service, const char *holder)
{
    const char *name;
    void *value;

    for (size_t i = 0; map_next(service->unreadable.claims, &i, &name, &value);)
        if (text_equal(value, holder) && text_starts_with(name, "instance/"))
            return name;
    return NULL;
}

int unreadable_operators(const struct service *service)
{
    const json_t *record;
    size_t i;
    int count = 0;

    json_array_foreach(service->unreadable.records, i, record) {
        count += text_equal(json_text_or(record, "kind", ""), "transfer") &&
                 claim_of(service, json_text_or(record, "id", "")) != NULL;
    }
    return count;
}

void unreadable_warn(const struct service *service, struct health *health)
{
    const json_t *record;
    size_t i;

    json_array_foreach(service->unreadable.records, i, record) {
        const char *kind = json_text_or(record, "kind", "?");
        const char *id = json_text_or(record, "id", "?");
        const char *claim = claim_of(service, id);
        owned(chars) char *forget = text_format("look at the machine and its node by hand; then "
                                                "stop the service, and `sluice journal repair "
                                                "--forget %s` ends it",
                                                id);
        const struct condition condition = {
            .kind = claim ? CONDITION_OPERATOR_NEEDED : CONDITION_JOURNAL_DOUBT,
            .since = { json_int_or(record, "at", 0) },
            .what = id,
            .advice = claim ? forget : NULL,
        };
        owned(chars) char *whole = text_format(
            "the journal's record %s %s cannot be read (%s) and is set aside", kind, id,
            json_text_or(record, "why", ""));

        health_add(health, &condition,
                   claim ? text_format("%s: it holds %s, which is left alone", whole, claim)
                         : steal(&whole));
    }
}

/* ---- the repair of a journal, and its trial on a copy ---- */

/* What a repair found, or did. */
struct journal_finding {
    const char *kind; /* of record */
    const char *id;
    const char *text;
    bool is_mended;
    bool is_aside;
};

static void tell_finding(json_t *found, const struct journal_finding *finding)
{
    json_array_append_new(found,
                          json_make("{ss ss ss sb sb}", "kind", finding->kind, "id", finding->id,
                                    "text", finding->text, "is_mended", (int)finding->is_mended,
                                    "is_aside", (int)finding->is_aside));
}

static bool is_told(const json_t *found, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(json_text_or(json_array_get(found, i), "id", ""), id))
            return true;
    return false;
}

/* before: so many were found in rows, which is the better reason. */
static void tell_unreadable(const struct service *service, json_t *found, size_t before)
{
    const json_t *record;
    size_t i;

    json_array_foreach(service->unreadable.records, i, record) {
        const char *id = json_text_or(record, "id", "");
        const char *why = json_text_or(record, "why", "");
        bool is_aside = i < service->unreadable.kept;
        owned(chars) char *text = NULL;

        if (is_told(found, before, id))
            continue;
        text = is_aside ? text_format("is set aside (%s): `sluice journal repair --forget %s` "
                                      "removes it",
                                      why, id)
                        : text_format("cannot be read: %s", why);
        tell_finding(found, &(struct journal_finding){ json_text_or(record, "kind", ""), id, text,
                                                       true, is_aside });
    }
}

struct claim_list {
    struct map *holders; /* by claim */
};

static int note_claim(void *context, const char *name, const char *holder, struct error *err)
{
    struct claim_list *list = context;

    (void)err;
    map_set(list->holders, name, mem_copy_chars(holder));
    return 0;
}

static void want_claim(const struct transfer *transfer, const char *claim,
                       const struct map *holders, struct journal_batch *batch, json_t *found)
{
    const char *holder = map_get(holders, claim);
    owned(chars) char *text = NULL;

    if (text_equal(holder, transfer->id))
        return;
    text = holder ? text_format("transfer %s needs it, and %s has it", transfer->id, holder)
                  : text_format("transfer %s had lost it", transfer->id);
    tell_finding(found, &(struct journal_finding){ "claim", claim, text, .is_mended = !holder });
    if (!holder)
        journal_claim(batch, claim, transfer->id);
}

static int mend_claims(struct service *service, json_t *found, struct error *err)
{
    owned(map) struct map *holders = map_new(mem_free);
    struct claim_list list = { holders };
    struct journal_batch *batch = journal_batch_new(service->epoch);
    const struct transfer *transfer;

    if (journal_each_claim(service->world->journal, note_claim, &list, err) < 0) {
        journal_batch_free(batch);
        return -1;
    }
    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));) {
        owned(chars) char *node = runner_claim_of_node(transfer);
        owned(chars) char *machine = runner_claim_of_instance(transfer);

        want_claim(transfer, node, holders, batch, found);
        want_claim(transfer, machine, holders, batch, found);
    }
    return journal_commit(service->world->journal, &batch, err);
}

static void tell_orphans(const struct service *service, json_t *found)
{
    const char *claim;
    void *holder;

    for (size_t i = 0; map_next(service->unreadable.claims, &i, &claim, &holder);) {
        owned(chars) char *text = text_format(
            "held by transfer %s, which cannot be read or is not there: look at it by hand, then "
            "`sluice journal repair --forget %s`",
            (const char *)holder, (const char *)holder);

        tell_finding(found, &(struct journal_finding){ "claim", claim, text, .is_mended = false });
    }
}

int service_mend(struct world *world, const struct config *config, json_t *found, struct error *err)
{
    owned(service) struct service *service = service_new(world, config);
    size_t before = json_array_size(found);
    struct error doubt;

    if (journal_verify(world->journal, SIZE_MAX, &doubt) < 0)
        tell_finding(found,
                     &(struct journal_finding){ "event", "chain", doubt.text, .is_mended = false });
    if (journal_begin_epoch(world->journal, &service->epoch, err) < 0)
        return -1;
    service->clock = clock_open(service, err);
    if (!service->clock || service_load_records(service, err) < 0 ||
        mend_claims(service, found, err) < 0 || clock_load(service->clock, err) < 0)
        return -1;
    tell_unreadable(service, found, before);
    tell_orphans(service, found);
    return 0;
}

struct forgetting {
    const char *id;
    struct journal_batch *batch;
    json_t *found;
    size_t count;
};

static int forget_record(void *context, const char *id, uint64_t rev, const json_t *value,
                         struct error *err)
{
    struct forgetting *forgetting = context;

    (void)err;
    if (!text_equal(json_text_or(value, "id", ""), forgetting->id))
        return 0;
    journal_remove(forgetting->batch, JOURNAL_UNREADABLE, id, rev);
    tell_finding(forgetting->found,
                 &(struct journal_finding){ json_text_or(value, "kind", ""), forgetting->id,
                                            "is forgotten", .is_mended = true });
    forgetting->count++;
    return 0;
}

static int forget_effect(void *context, const char *id, uint64_t rev, const json_t *value,
                         struct error *err)
{
    struct forgetting *forgetting = context;
    size_t length = strlen(forgetting->id);

    (void)err;
    (void)value;
    if (text_starts_with(id, forgetting->id) && id[length] == '/')
        journal_remove(forgetting->batch, "effect", id, rev);
    return 0;
}

static int forget_claim(void *context, const char *name, const char *holder, struct error *err)
{
    struct forgetting *forgetting = context;

    (void)err;
    if (!text_equal(holder, forgetting->id))
        return 0;
    journal_release(forgetting->batch, name, holder);
    tell_finding(forgetting->found,
                 &(struct journal_finding){ "claim", name, "is released", .is_mended = true });
    forgetting->count++;
    return 0;
}

/* A transfer that can be read is nothing to forget. */
static int refuse_transfer(void *context, const char *id, uint64_t rev, const json_t *value,
                           struct error *err)
{
    (void)rev;
    (void)value;
    if (text_equal(id, context))
        return error_set(err, ERROR_DENIED, "transfer %s is not set aside: the service ends it",
                         id);
    return 0;
}

int service_forget(struct world *world, const char *id, json_t *found, struct error *err)
{
    struct journal *journal = world->journal;
    struct forgetting forgetting = { .id = id, .found = found };
    uint64_t epoch;

    if (journal_each(journal, "transfer", refuse_transfer, (void *)(uintptr_t)id, err) < 0 ||
        journal_begin_epoch(journal, &epoch, err) < 0)
        return -1;
    forgetting.batch = journal_batch_new(epoch);
    if (journal_each(journal, JOURNAL_UNREADABLE, forget_record, &forgetting, err) < 0 ||
        journal_each(journal, "effect", forget_effect, &forgetting, err) < 0 ||
        journal_each_claim(journal, forget_claim, &forgetting, err) < 0) {
        journal_batch_free(forgetting.batch);
        return -1;
    }
    if (forgetting.count == 0) {
        journal_batch_free(forgetting.batch);
        return error_set(err, ERROR_NOT_FOUND, "nothing of the name %.100s is set aside", id);
    }
    return journal_commit(journal, &forgetting.batch, err);
}
