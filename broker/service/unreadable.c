/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See unreadable.h.
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
        const struct condition condition = {
            .kind = claim ? CONDITION_OPERATOR_NEEDED : CONDITION_JOURNAL_DOUBT,
            .since = { json_int_or(record, "at", 0) },
            .what = id,
            .advice = claim
                          ? "look at the machine and its node by hand, then `sluice journal repair "
                            "--forget` ends it"
                          : NULL,
        };
        owned(chars) char *whole = text_format(
            "the journal's record %s %s cannot be read (%s) and is set aside", kind, id,
            json_text_or(record, "why", ""));

        health_add(health, &condition,
                   claim ? text_format("%s: it holds %s, which is left alone", whole, claim)
                         : steal(&whole));
    }
}
