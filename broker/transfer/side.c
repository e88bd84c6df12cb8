/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See side.h.  The steps that a side does are called from here.
 */
#include "broker/transfer/side.h"

#include "base/input/json.h"
#include "broker/transfer/marks.h"
#include "broker/transfer/runner.h"

#include <string.h>

const struct side *side_of(const struct runner *runner, const struct config_cluster *cluster)
{
    const struct side *found = NULL;

    for (size_t i = 0; i < runner->side_count && !found; i++)
        if (text_equal(runner->sides[i].side->kind, cluster->kind->settings.name))
            found = runner->sides[i].side;
    require(found); /* the configuration knows the kinds that there are */
    return found;
}

const struct side_origin *side_origin(const struct runner *runner, const struct transfer *transfer)
{
    return &side_of(runner, transfer->source->cluster)->origin;
}

const struct side_target *side_target(const struct runner *runner, const struct transfer *transfer)
{
    return &side_of(runner, transfer_goal(transfer)->cluster)->target;
}

const struct snapshot *side_origin_snapshot(const struct runner *runner,
                                            const struct transfer *transfer)
{
    return fleet_snapshot(runner->fleet, transfer->source->cluster);
}

const struct snapshot *side_target_snapshot(const struct runner *runner,
                                            const struct transfer *transfer)
{
    return fleet_snapshot(runner->fleet, transfer_goal(transfer)->cluster);
}

const struct node *side_leaving_node(const struct runner *runner, const struct transfer *transfer)
{
    const struct node *node = map_get(side_origin_snapshot(runner, transfer)->nodes,
                                      transfer->node);

    return node && text_equal(node->uid, transfer->node_uid) ? node : NULL;
}

bool side_is_marked(const struct node *node, const struct transfer *transfer)
{
    return text_equal(node_annotation(node, SLUICE_NOTE_TRANSFER), transfer->id);
}

bool side_is_told(const struct node *node, const struct transfer *transfer)
{
    char departure[WALL_TEXT_SIZE];

    return side_is_marked(node, transfer) &&
           text_equal(node_annotation(node, SLUICE_NOTE_DEPARTURE),
                      wall_format(transfer->departure, departure));
}

void *side_state(const struct runner *runner, const struct side *side)
{
    void *state = NULL;

    for (size_t i = 0; i < runner->side_count; i++)
        if (runner->sides[i].side == side)
            state = runner->sides[i].state;
    require(state);
    return state;
}

void *side_seen(const struct transfer *transfer, const struct side *side)
{
    for (size_t i = 0; i < COUNT_OF(transfer->seen); i++)
        if (transfer->seen[i].side == side)
            return transfer->seen[i].seen;
    return NULL;
}

void side_see(struct transfer *transfer, const struct side *side, void *seen)
{
    size_t at = 0;

    require(seen && !side_seen(transfer, side));
    while (at < COUNT_OF(transfer->seen) && transfer->seen[at].side)
        at++;
    require(at < COUNT_OF(transfer->seen)); /* a transfer has two sides */
    transfer->seen[at].side = side;
    transfer->seen[at].seen = seen;
    transfer->seen[at].forget = side->forget;
}

static const struct effect_kind *find_kind(const struct effect_kind *const *rows, const char *name,
                                           size_t length)
{
    for (; *rows; rows++)
        if (strlen((*rows)->name) == length && memcmp((*rows)->name, name, length) == 0)
            return *rows;
    return NULL;
}

const struct effect_kind *side_effect_kind(const struct runner *runner, const char *name,
                                           size_t length)
{
    const struct effect_kind *kind = find_kind(effect_machine_kinds, name, length);

    for (size_t i = 0; i < runner->side_count && !kind; i++)
        kind = find_kind(runner->sides[i].side->effects, name, length);
    return kind;
}

/* No function is NULL except those that side.h allows. */
static void require_whole(const struct side *side)
{
    const struct side_origin *origin = &side->origin;
    const struct side_target *target = &side->target;

    require(origin->check && origin->announce && origin->close && origin->empty && origin->force &&
            origin->clear && origin->undo);
    require(origin->may_remove && origin->is_in_use && origin->are_ready && origin->wish);
    require(target->lacks && target->note_ready && target->welcome && target->is_lost &&
            target->may_discard && target->is_idle && target->discard);
    require(side->effects && side->open && side->load && side->tick && side->close);
    require(side->is_under_way && side->trouble && side->forget);
    require(side->describe_stopped && side->tell_people && side->blockers && side->ask_dry_runs);
}

void sides_open(struct runner *runner, const struct side *const *sides)
{
    size_t count = 0;

    while (sides[count])
        count++;
    runner->sides = mem_new_array(count, sizeof *runner->sides);
    for (; runner->side_count < count; runner->side_count++) {
        const struct side *side = sides[runner->side_count];
        const struct cluster_kind *kind = cluster_kind_find(side->kind);

        /* If the configuration refuses numbers for a kind, its side keeps none. */
        require(kind && kind->keeps_replicas == (side->replicas != NULL) &&
                kind->keeps_quotas == (side->quota != NULL));
        require_whole(side);
        /* A record of the journal names one row. */
        for (const struct effect_kind *const *row = side->effects; *row; row++)
            require(!side_effect_kind(runner, (*row)->name, strlen((*row)->name)));
        runner->sides[runner->side_count].side = side;
        runner->sides[runner->side_count].state = side->open(runner);
    }
}

int sides_load(struct runner *runner, struct error *err)
{
    for (size_t i = 0; i < runner->side_count; i++)
        if (runner->sides[i].side->load(runner->sides[i].state, err) < 0)
            return -1;
    return 0;
}

bool sides_tick(struct runner *runner)
{
    bool goes_on = false;

    for (size_t i = 0; i < runner->side_count && !runner->is_broken; i++)
        goes_on |= runner->sides[i].side->tick(runner->sides[i].state);
    return goes_on;
}

void sides_close(struct runner *runner)
{
    for (size_t i = 0; i < runner->side_count; i++)
        runner->sides[i].side->close(runner->sides[i].state);
    mem_free(runner->sides);
}

bool sides_are_under_way(const struct transfer *transfer)
{
    for (size_t i = 0; i < COUNT_OF(transfer->seen); i++)
        if (transfer->seen[i].side && transfer->seen[i].side->is_under_way(transfer->seen[i].seen))
            return true;
    return false;
}

const char *sides_trouble(const struct transfer *transfer)
{
    const char *trouble = NULL;

    for (size_t i = 0; i < COUNT_OF(transfer->seen) && !trouble; i++)
        if (transfer->seen[i].side)
            trouble = transfer->seen[i].side->trouble(transfer->seen[i].seen);
    return trouble;
}

json_t *sides_describe_stopped(const struct runner *runner)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < runner->side_count; i++) {
        owned(json)
            json_t *of_side = runner->sides[i].side->describe_stopped(runner->sides[i].state);

        json_array_extend(rows, of_side);
    }
    return rows;
}

void sides_tell_people(struct runner *runner)
{
    for (size_t i = 0; i < runner->side_count; i++)
        runner->sides[i].side->tell_people(runner->sides[i].state);
}

void side_count_dry_runs(json_t *answer, int asked, int unanswered, json_t *unheard)
{
    const json_t *before = json_object_get(answer, "dry_runs");
    json_t *names = json_array();

    json_array_extend(names, json_object_get(before, "unheard"));
    json_array_extend(names, unheard);
    json_object_set_new(
        answer, "dry_runs",
        json_make("{sI sI so}", "asked", (json_int_t)(json_int_or(before, "asked", 0) + asked),
                  "unanswered", (json_int_t)(json_int_or(before, "unanswered", 0) + unanswered),
                  "unheard", names));
    json_decref(unheard);
}

/* ---- steps that a side does ---- */

enum verdict step_drain(struct runner *runner, struct transfer *transfer)
{
    return side_origin(runner, transfer)->empty(runner, transfer);
}

enum verdict step_force(struct runner *runner, struct transfer *transfer)
{
    return side_origin(runner, transfer)->force(runner, transfer);
}

enum verdict step_clear(struct runner *runner, struct transfer *transfer)
{
    return side_origin(runner, transfer)->clear(runner, transfer);
}

enum verdict step_settle(struct runner *runner, struct transfer *transfer)
{
    const struct side_origin *origin = side_origin(runner, transfer);

    return origin->settle ? origin->settle(runner, transfer) : STEP_DONE;
}

enum verdict undo_node(struct runner *runner, struct transfer *transfer)
{
    return side_origin(runner, transfer)->undo(runner, transfer);
}
