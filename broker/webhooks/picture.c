/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See picture.h.
 */
#include "broker/webhooks/picture.h"

#include "base/input/json.h"
#include "base/text.h"
#include "broker/health/conditions.h"
#include "broker/transfer/steps.h"

static json_t *time_text(struct wall_time wall)
{
    char text[WALL_TEXT_SIZE];

    return wall.ms == 0 ? json_null() : json_text(wall_format(wall_whole_second(wall.ms), text));
}

/* Before that its departure is no promise yet. */
static bool was_announced(const struct transfer *transfer)
{
    return transfer->announced.ms > 0 || transfer->step > STEP_ANNOUNCE || transfer->is_emergency;
}

/* After the release the machine is provably gone. */
static const char *fate_of(const struct transfer *transfer)
{
    if (transfer->step > STEP_RELEASE)
        return "left";
    return transfer->is_undoing || transfer->wants_undo || transfer->state == TRANSFER_UNDONE
               ? "staying"
               : "leaving";
}

/* Texts of one form sort by time. */
static void keep_later(json_t *row, const char *member, struct wall_time wall)
{
    json_t *text = time_text(wall);

    if (strcmp(json_string_value(text) ?: "", json_text_or(row, member, "")) > 0)
        json_object_set(row, member, text);
    json_decref(text);
}

static void add_transfer(json_t *moves, const struct transfer *transfer)
{
    json_t *row = json_object_get(moves, transfer->move);
    const char *fate = fate_of(transfer);

    if (!row) {
        row = json_make("{ss ss ss ss sn so sb s[] s[] s[]}", "pool", transfer->source->name,
                        "cluster", transfer->source->cluster->name, "to",
                        transfer->target->cluster->name, "reason", transfer->reason, "departure",
                        "due", time_text(transfer->due), "is_emergency",
                        (int)transfer->is_emergency, "leaving", "left", "staying");
        json_put(moves, transfer->move, row);
    }
    json_array_append_new(json_object_get(row, fate), json_text(transfer->node));
    if (text_equal(fate, "leaving"))
        keep_later(row, "departure",
                   transfer->is_emergency ? transfer->created : transfer->departure);
}

static json_t *picture_moves(const struct runner *runner)
{
    json_t *moves = json_object();

    for (size_t i = 0; i < runner->transfers.count; i++) {
        const struct transfer *transfer = runner->transfers.items[i];

        if (transfer->source->cluster->role == ROLE_RESEARCH && was_announced(transfer))
            add_transfer(moves, transfer);
    }
    return moves;
}

/* An order's portions have its ID in common. */
static json_t *picture_reclaims(const struct config *config, const json_t *rows)
{
    json_t *reclaims = json_object();
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) {
        const char *id = json_text_or(row, "id", "");
        const struct config_pool *pool = config_pool(config, json_text_or(row, "pool", ""));
        json_t *known = json_object_get(reclaims, id);
        json_int_t nodes = json_int_or(row, "nodes", 0) + json_int_or(known, "nodes", 0);

        if (!known) {
            known = json_make("{ss ss sI ss ss ss}", "cluster", pool ? pool->cluster->name : "",
                              "from", json_text_or(row, "from", ""), "nodes", (json_int_t)0,
                              "reason", json_text_or(row, "reason", ""), "by",
                              json_text_or(row, "by", ""), "until", json_text_or(row, "until", ""));
            json_put(reclaims, id, known);
        }
        json_object_set_new(known, "nodes", json_integer(nodes));
    }
    return reclaims;
}

static json_t *picture_conditions(const json_t *health)
{
    static const char *const members[] = { "id",    "severity", "what",  "cluster",
                                           "since", "text",     "advice" };
    json_t *conditions = json_object();
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(health, "conditions"), i, row) {
        owned(chars) char *key = text_format("%s/%s/%s", json_text_or(row, "id", ""),
                                             json_text_or(row, "cluster", ""),
                                             json_text_or(row, "what", ""));
        json_t *kept = json_object();

        for (size_t k = 0; k < COUNT_OF(members); k++)
            json_object_set_new(kept, members[k], json_text(json_text_or(row, members[k], "")));
        if (text_equal(json_text_or(row, "severity", ""), severity_name(SEVERITY_NOTE)) ||
            json_object_get(conditions, key))
            json_decref(kept);
        else
            json_put(conditions, key, kept);
    }
    return conditions;
}

json_t *picture_take(const struct runner *runner, const json_t *health, const json_t *reclaims)
{
    return json_make("{so so so}", "moves", picture_moves(runner), "reclaims",
                     picture_reclaims(runner->config, reclaims), "conditions",
                     picture_conditions(health));
}
