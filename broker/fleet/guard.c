/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Floors, caps, freshness, freezes.  See guard.h.
 */
#include "broker/fleet/guard.h"

#include "base/text.h"

#include <inttypes.h>

void freeze_clear(struct freeze *freeze)
{
    mem_free(freeze->cluster);
    mem_free(freeze->node);
    mem_free(freeze->transfer);
    mem_free(freeze->move);
    mem_free(freeze->reason);
    mem_free(freeze->by);
}

void guard_clear(struct guard *guard)
{
    for (size_t i = 0; i < guard->freezes.count; i++)
        freeze_clear(&guard->freezes.items[i]);
    array_clear(&guard->freezes);
}

static bool is_of(const struct freeze *freeze, const struct config_cluster *cluster)
{
    return freeze->cluster[0] == '\0' || text_equal(freeze->cluster, cluster->name) ||
           (cluster->slurm && text_equal(freeze->cluster, cluster->slurm->name));
}

const struct freeze *guard_freeze(const struct guard *guard, const struct config_cluster *cluster,
                                  struct wall_time now)
{
    for (size_t i = 0; i < guard->freezes.count; i++) {
        const struct freeze *freeze = &guard->freezes.items[i];

        require(freeze->cluster && freeze->node);
        if (freeze->until.ms > now.ms && freeze->node[0] == '\0' && is_of(freeze, cluster))
            return freeze;
    }
    return NULL;
}

const struct freeze *guard_freeze_of_node(const struct guard *guard, const char *cluster,
                                          const char *node, struct wall_time now)
{
    require(node[0] != '\0');
    for (size_t i = 0; i < guard->freezes.count; i++) {
        const struct freeze *freeze = &guard->freezes.items[i];

        if (freeze->until.ms > now.ms && text_equal(freeze->node, node) &&
            text_equal(freeze->cluster, cluster))
            return freeze;
    }
    return NULL;
}

int guard_allows_end(const struct guard *guard, const char *whose, struct wall_time ends,
                     int64_t pays_off_ms, struct error *err)
{
    struct wall_time paid = { loop_wall(fleet_world(guard->fleet)->loop).ms + pays_off_ms };
    char end[WALL_TEXT_SIZE], until[WALL_TEXT_SIZE];

    require(pays_off_ms >= 0);
    if (ends.ms == 0 || paid.ms < ends.ms)
        return 0;
    return error_set(err, ERROR_DENIED,
                     "the capacity of %s ends at %s, and a move that begins now must serve until "
                     "%s to pay off",
                     whose, wall_format(ends, end), wall_format(paid, until));
}

int guard_allows_effect(const struct guard *guard, const struct config_cluster *cluster,
                        bool is_emergency, struct error *err)
{
    const struct freeze *freeze = guard_freeze(guard, cluster,
                                               loop_wall(fleet_world(guard->fleet)->loop));
    char until[WALL_TEXT_SIZE];

    require(!freeze || freeze->reason);
    if (!freeze || is_emergency)
        return 0;
    return error_set(err, ERROR_DENIED, "%s is frozen until %s: %s",
                     freeze->cluster[0] != '\0' ? freeze->cluster : cluster->name,
                     wall_format(freeze->until, until), freeze->reason);
}

static int check_freeze_of_node(const struct guard *guard, const struct config_cluster *cluster,
                                const struct node *node, struct error *err)
{
    const struct freeze *freeze = guard_freeze_of_node(guard, cluster->name, node->name,
                                                       loop_wall(fleet_world(guard->fleet)->loop));
    char until[WALL_TEXT_SIZE];

    if (!freeze)
        return 0;
    return error_set(err, ERROR_DENIED, "node %s is frozen until %s by %s: %s", node->name,
                     wall_format(freeze->until, until), freeze->by, freeze->reason);
}

static int check_node(const struct guard *guard, const struct config_pool *source,
                      const struct node *node, struct error *err)
{
    if (check_freeze_of_node(guard, source->cluster, node, err) < 0)
        return -1;
    if (!fleet_is_ephemeral(guard->config, node))
        return error_set(err, ERROR_DENIED, "node %s does not carry %s: it is static", node->name,
                         guard->config->ephemeral_label);
    if (node->is_leaving)
        return error_set(err, ERROR_DENIED, "node %s is being deleted already", node->name);
    if (!fleet_is_fresh(guard->fleet, source, guard->config->guard.fresh_ms, err))
        return -1;
    return 0;
}

const struct error_cause guard_is_full = { "transfers under way" };

static int check_caps(const struct guard *guard, const struct config_pool *source,
                      const struct guard_load *load, struct error *err)
{
    const struct config_guard *limits = &guard->config->guard;

    require(limits->in_flight > 0 && limits->in_flight_per_cluster > 0);
    if (load->in_flight >= limits->in_flight)
        error_set(err, ERROR_DENIED,
                  "%" PRId64 " transfers are under way and guard.in_flight is %" PRId64,
                  load->in_flight, limits->in_flight);
    else if (load->in_flight_of_cluster >= limits->in_flight_per_cluster)
        error_set(err, ERROR_DENIED,
                  "%" PRId64 " nodes are leaving %s and guard.in_flight_per_cluster is %" PRId64,
                  load->in_flight_of_cluster, source->cluster->name, limits->in_flight_per_cluster);
    else
        return 0;
    return error_because(err, &guard_is_full);
}

/* A node is not moved for less time than the move costs. */
static int check_end(const struct guard *guard, const struct guard_question *question,
                     struct error *err)
{
    owned(chars) char *whose = text_format("node %s in reservation %s", question->node->name,
                                           question->target->reservation->name);

    return guard_allows_end(guard, whose, question->ends, question->pays_off_ms, err);
}

int guard_allows_transfer(const struct guard *guard, const struct guard_question *question,
                          struct error *err)
{
    const struct config_pool *source = question->source;
    const struct config_pool *target = question->target;
    const struct node *node = question->node;
    const struct guard_load *load = &question->load;
    bool is_emergency = question->is_emergency;

    require(load->in_flight_of_cluster >= 0 && load->in_flight >= load->in_flight_of_cluster);
    if (source == target || source->reservation != target->reservation)
        return error_set(err, ERROR_DENIED, "%s and %s do not share a reservation", source->name,
                         target->name);
    if (check_node(guard, source, node, err) < 0 || check_end(guard, question, err) < 0)
        return -1;
    if (load->nodes_left <= source->static_nodes)
        return error_set(err, ERROR_DENIED, "pool %s is at its static floor of %" PRId64,
                         source->name, source->static_nodes);
    if (!fleet_is_fresh(guard->fleet, target, guard->config->guard.fresh_ms, err))
        return -1;
    if (guard_allows_effect(guard, source->cluster, is_emergency, err) < 0 ||
        guard_allows_effect(guard, target->cluster, is_emergency, err) < 0)
        return -1;
    if (!is_emergency && check_caps(guard, source, load, err) < 0)
        return -1;
    /* An emergency does not change this. */
    require(fleet_is_ephemeral(guard->config, node) && load->nodes_left > source->static_nodes);
    return 0;
}
