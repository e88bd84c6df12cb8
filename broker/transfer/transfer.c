/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The record of a transfer and its form in the journal.
 */
#include "broker/transfer/transfer.h"

#include "base/crypto.h"
#include "base/input/json.h"
#include "broker/transfer/steps.h"

#include <string.h>

static const char *const state_names[TRANSFER_STATE_COUNT] = {
    [TRANSFER_LIVE] = "live",
    [TRANSFER_DONE] = "done",
    [TRANSFER_UNDONE] = "undone",
    [TRANSFER_RETURNED] = "returned",
};

enum { ATTEMPTS_MOST = 1000000 };

/* How the stored members stand in the journal. */
enum field_type { FIELD_CHARS, FIELD_FLAG, FIELD_COUNT, FIELD_TIME };

static const struct {
    const char *key;
    enum field_type type;
    size_t offset;
    size_t size;
    bool is_later; /* a journal may be older than the member: false, or not yet */
} fields[] = {
#define CHARS(key, member)                                                                         \
    {                                                                                              \
        key, FIELD_CHARS, offsetof(struct transfer, member),                                       \
            sizeof(((struct transfer *)0)->member), false                                          \
    }
#define LATER_CHARS(member)                                                                        \
    {                                                                                              \
#member, FIELD_CHARS, offsetof(struct transfer, member),                                   \
            sizeof(((struct transfer *)0)->member), true                                           \
    }
#define FLAG(member)                                                                               \
    {                                                                                              \
#member, FIELD_FLAG, offsetof(struct transfer, member), sizeof(bool), false                \
    }
#define LATER_FLAG(member)                                                                         \
    {                                                                                              \
#member, FIELD_FLAG, offsetof(struct transfer, member), sizeof(bool), true                 \
    }
#define LATER_COUNT(member)                                                                        \
    {                                                                                              \
#member, FIELD_COUNT, offsetof(struct transfer, member), sizeof(int), true                 \
    }
#define TIME(member)                                                                               \
    {                                                                                              \
#member, FIELD_TIME, offsetof(struct transfer, member), sizeof(struct wall_time), false    \
    }
#define LATER_TIME(member)                                                                         \
    {                                                                                              \
#member, FIELD_TIME, offsetof(struct transfer, member), sizeof(struct wall_time), true     \
    }
    CHARS("id", id),
    CHARS("move", move),
    CHARS("reason", reason),
    CHARS("held", held),
    CHARS("node", node),
    CHARS("node_uid", node_uid),
    CHARS("instance", instance),
    CHARS("new_instance", new_instance),
    LATER_CHARS(new_provider_id),
    CHARS("new_node", new_node),
    FLAG(is_undoing),
    FLAG(is_emergency),
    FLAG(is_returning),
    FLAG(is_discarding),
    FLAG(has_volumes),
    LATER_FLAG(came_untainted),
    LATER_FLAG(stays_exposed),
    LATER_COUNT(redrains),
    TIME(created),
    TIME(announced),
    TIME(departure),
    TIME(due),
    TIME(step_began),
    TIME(cordoned),
    LATER_TIME(drain_due),
    TIME(ended),
};

struct transfer *transfer_new(void)
{
    struct transfer *transfer = mem_new(sizeof *transfer);

    transfer->attempt = 1;
    transfer->effects = map_new(mem_free);
    return transfer;
}

void transfer_free(struct transfer *transfer)
{
    if (!transfer)
        return;
    for (size_t i = 0; i < COUNT_OF(transfer->seen); i++)
        if (transfer->seen[i].side)
            transfer->seen[i].forget(transfer->seen[i].seen);
    mem_free(transfer->host);
    map_free(transfer->effects);
    mem_free(transfer);
}

const char *transfer_state_name(enum transfer_state state)
{
    return state_names[state];
}

const struct config_pool *transfer_goal(const struct transfer *transfer)
{
    return transfer->is_returning ? transfer->source : transfer->target;
}

static void make_key(struct transfer *transfer)
{
    owned(chars) char *attempt = text_format("%s/%d", transfer->id, transfer->attempt);
    char hash[SHA256_TEXT_SIZE];

    crypto_sha256_text(attempt, strlen(attempt), hash);
    require(transfer->id[0] != '\0' && transfer->attempt > 0);
    text_print(transfer->new_key, sizeof transfer->new_key, "%.8s", hash);
}

void transfer_name_instance(struct transfer *transfer)
{
    const struct config_pool *goal = transfer_goal(transfer);

    make_key(transfer);
    transfer->new_instance[0] = '\0';
    transfer->new_provider_id[0] = '\0';
    if (goal->provider->kind->name_machine)
        goal->provider->kind->name_machine(goal->own.settings, transfer->new_key,
                                           transfer->new_instance);
    require(transfer_order(transfer)[0] != '\0'); /* what an order is found by */
}

const char *transfer_order(const struct transfer *transfer)
{
    return transfer_goal(transfer)->provider->kind->name_machine ? transfer->new_instance
                                                                 : transfer->new_key;
}

const char *transfer_machine(const struct transfer *transfer)
{
    return transfer->new_instance[0] != '\0' ? transfer->new_instance : transfer->new_key;
}

void transfer_move_clock(struct transfer *transfer, int64_t by_ms)
{
    struct wall_time *times[] = {
        &transfer->created,  &transfer->announced, &transfer->departure, &transfer->step_began,
        &transfer->cordoned, &transfer->drain_due, &transfer->ended,
    };

    for (size_t i = 0; i < COUNT_OF(times); i++)
        if (times[i]->ms != 0)
            times[i]->ms += by_ms;
}

json_t *transfer_encode(const struct transfer *transfer)
{
    json_t *value = json_make("{ss ss si ss ss}", "state", state_names[transfer->state], "step",
                              transfer_steps[transfer->step].name, "attempt", transfer->attempt,
                              "source", transfer->source->name, "target", transfer->target->name);

    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const char *member = (const char *)transfer + fields[i].offset;
        json_t *json = NULL;

        switch (fields[i].type) {
        case FIELD_CHARS:
            json = json_text(member);
            break;
        case FIELD_FLAG:
            json = json_boolean(*(const bool *)member);
            break;
        case FIELD_COUNT:
            json = json_integer(*(const int *)(const void *)member);
            break;
        case FIELD_TIME:
            json = json_integer((json_int_t)((const struct wall_time *)(const void *)member)->ms);
            break;
        }
        json_put(value, fields[i].key, json);
    }
    return value;
}

static int decode_fields(struct transfer *transfer, const json_t *value, struct error *err)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        char *member = (char *)transfer + fields[i].offset;
        const char *chars;
        int64_t number;

        if (fields[i].is_later && !json_object_get(value, fields[i].key))
            continue;
        switch (fields[i].type) {
        case FIELD_CHARS:
            if (json_need_text(value, fields[i].key, &chars, err) < 0)
                return -1;
            text_copy(member, fields[i].size, chars);
            break;
        case FIELD_FLAG:
            if (json_need_bool(value, fields[i].key, (bool *)member, err) < 0)
                return -1;
            break;
        case FIELD_COUNT:
            if (json_need_int(value, fields[i].key, &number, err) < 0)
                return -1;
            *(int *)(void *)member = (int)number;
            break;
        case FIELD_TIME:
            if (json_need_int(value, fields[i].key, &number, err) < 0)
                return -1;
            ((struct wall_time *)(void *)member)->ms = number;
            break;
        }
    }
    return 0;
}

static int decode_state(struct transfer *transfer, const json_t *value, struct error *err)
{
    const char *state;
    const char *step;
    int64_t attempt;

    if (json_need_text(value, "state", &state, err) < 0 ||
        json_need_text(value, "step", &step, err) < 0 ||
        json_need_int(value, "attempt", &attempt, err) < 0)
        return -1;

    transfer->attempt = (int)attempt;
    transfer->state = TRANSFER_STATE_COUNT;
    transfer->step = STEP_COUNT;
    for (int i = 0; i < TRANSFER_STATE_COUNT; i++)
        if (text_equal(state_names[i], state))
            transfer->state = (enum transfer_state)i;
    for (int i = 0; i < STEP_COUNT; i++)
        if (text_equal(transfer_steps[i].name, step))
            transfer->step = i;
    if (text_equal(step, "hold")) /* so older journals call it */
        transfer->step = STEP_NOTICE;
    if (attempt < 1 || attempt > ATTEMPTS_MOST)
        return error_set(err, ERROR_CORRUPT, "attempt %lld: not possible", (long long)attempt);
    if (transfer->state == TRANSFER_STATE_COUNT || transfer->step == STEP_COUNT)
        return error_set(err, ERROR_CORRUPT, "state %s, step %s: not known", state, step);
    return 0;
}

static int decode_pool(const struct config *config, const json_t *value, const char *key,
                       const struct config_pool **ret_pool, struct error *err)
{
    const char *name;

    if (json_need_text(value, key, &name, err) < 0)
        return -1;
    *ret_pool = config_pool(config, name);
    if (!*ret_pool)
        return error_set(
            err, ERROR_INVALID,
            "pool %s is in a transfer of the journal but not in %s any more: put it back "
            "until `sluice transfers` shows none",
            name, config->path);
    return 0;
}

struct transfer *transfer_decode(const struct config *config, const json_t *value,
                                 struct error *err)
{
    owned(transfer) struct transfer *transfer = transfer_new();

    if (decode_fields(transfer, value, err) < 0 || decode_state(transfer, value, err) < 0 ||
        decode_pool(config, value, "source", &transfer->source, err) < 0 ||
        decode_pool(config, value, "target", &transfer->target, err) < 0)
        return NULL;
    if (transfer->step >= STEP_ACQUIRE)
        make_key(transfer);
    return steal(&transfer);
}
