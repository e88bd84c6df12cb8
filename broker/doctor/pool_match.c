/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See pool_match.h.
 */
#include "broker/doctor/pool_match.h"

#include "base/text.h"
#include "broker/fleet/fleet.h"
#include "clusters/gpus.h"

struct counts {
    size_t running; /* machines */
    size_t matched; /* of those, with a Node */
    size_t movable;
    size_t short_of_gpus;
    size_t elsewhere; /* machines in another zone than the reservation's */
    const char *an_elsewhere;
    const char *a_short;
};

/* Nodes by provider ID, and by the machine's name that the ID has. */
static struct map *nodes_of(const struct pool_match *match)
{
    const struct provider_kind *kind = match->pool->provider->kind;
    struct map *nodes = map_new(NULL);
    void *value;

    for (size_t i = 0; map_next(match->snapshot->nodes, &i, NULL, &value);) {
        const struct node *node = value;
        char name[INSTANCE_NAME_SIZE];
        size_t claim;

        if (node->provider_id[0] == '\0')
            continue;
        map_set(nodes, node->provider_id, value);
        if (kind->read_provider_id(match->pool->own.settings, node->provider_id, name, &claim))
            map_set(nodes, name, value);
    }
    return nodes;
}

/* node NULL: the machine has none. */
static void count_node(const struct pool_match *match, const struct node *node,
                       struct counts *counts)
{
    if (!node)
        return;
    counts->matched++;
    counts->movable += fleet_is_ephemeral(match->config, node);
    if (node->is_ready &&
        gpus_of_node(match->snapshot, node) < match->pool->reservation->gpus_per_node) {
        counts->short_of_gpus++;
        counts->a_short = node->name;
    }
}

static struct counts count(const struct pool_match *match)
{
    owned(map) struct map *nodes = nodes_of(match);
    struct counts counts = { 0 };
    void *value;

    for (size_t i = 0; map_next(match->instances, &i, NULL, &value);) {
        const struct instance *instance = value;

        if (instance->zone[0] != '\0' &&
            !text_equal(instance->zone, match->pool->reservation->zone)) {
            counts.elsewhere++;
            counts.an_elsewhere = instance->zone;
        }
        if (instance->state != INSTANCE_RUNNING)
            continue;
        counts.running++;
        count_node(match, map_get(nodes, instance->provider_id) ?: map_get(nodes, instance->name),
                   &counts);
    }
    return counts;
}

/* Takes the text. */
static void tell(const struct pool_match *match, const struct finding *finding, char *text)
{
    struct finding whole = *finding;
    owned(chars) char *owned = text;

    whole.text = owned;
    match->found(match->context, &whole);
}

static void find_place(const struct pool_match *match, const struct counts *counts)
{
    const struct config_reservation *reservation = match->pool->reservation;

    if (counts->elsewhere > 0)
        tell(
            match,
            &(struct finding){ FINDING_WRONG, "zone", NULL,
                               "give the pool a reservation of the zone that its machines are in" },
            text_format("%zu machines are in another zone (%s) than reservation %s (%s)",
                        counts->elsewhere, counts->an_elsewhere, reservation->name,
                        reservation->zone));
    if (map_count(match->instances) > (size_t)reservation->nodes)
        tell(match,
             &(struct finding){ FINDING_WRONG, "reservation", NULL,
                                "correct `nodes` of the reservation, or name another group" },
             text_format("the group has %zu machines, reservation %s has %lld nodes",
                         map_count(match->instances), reservation->name,
                         (long long)reservation->nodes));
}

/* What the cloud says of the end must be in the file: `allocate` asks no cloud. */
static void find_end(const struct pool_match *match)
{
    const struct config_reservation *reservation = match->pool->reservation;
    struct wall_time first = { 0 };
    char time[WALL_TEXT_SIZE];
    void *value;

    for (size_t i = 0; map_next(match->instances, &i, NULL, &value);) {
        const struct instance *instance = value;

        if (instance->ends.ms > 0 && (first.ms == 0 || instance->ends.ms < first.ms))
            first = instance->ends;
    }
    if (first.ms > 0 && config_reservation_lasts(reservation, first))
        tell(match,
             &(struct finding){ FINDING_WRONG, "ends", NULL,
                                "write that time to `ends` of the reservation" },
             text_format("the cloud ends machines of reservation %s at %s, and sluice.yaml has %s",
                         reservation->name, wall_format(first, time),
                         reservation->ends_text ?: "no end"));
}

static void find_nodes(const struct pool_match *match, const struct counts *counts)
{
    const struct config_pool *pool = match->pool;

    if (counts->running > 0 && counts->matched == 0)
        tell(match,
             &(struct finding){ FINDING_WRONG, "nodes", NULL,
                                "see that cluster and group of the pool belong together, and that "
                                "Nodes have a spec.providerID" },
             text_format("%zu machines run, and cluster %s has a Node of none", counts->running,
                         pool->cluster->name));
    else if (counts->matched < counts->running)
        tell(match,
             &(struct finding){ FINDING_DOUBTFUL, "nodes", NULL,
                                "see why these machines do not join the cluster" },
             text_format("%zu of %zu machines that run have no Node in cluster %s",
                         counts->running - counts->matched, counts->running, pool->cluster->name));
    if (counts->matched > (size_t)pool->static_nodes && counts->movable == 0)
        tell(match,
             &(struct finding){ FINDING_WRONG, "label", NULL,
                                "put the label into the group's template, and on the nodes that "
                                "may move; or set `ephemeral_label`" },
             text_format("no node of the pool has the label %s: none may be moved",
                         match->config->ephemeral_label));
    else if (counts->matched > counts->movable + (size_t)pool->static_nodes)
        tell(match,
             &(struct finding){ FINDING_DOUBTFUL, "label", NULL,
                                "label them, or count them in `static_nodes`" },
             text_format("%zu nodes have the label %s, %zu have not; static_nodes is %lld",
                         counts->movable, match->config->ephemeral_label,
                         counts->matched - counts->movable, (long long)pool->static_nodes));
    if (counts->short_of_gpus > 0)
        tell(match,
             &(struct finding){ FINDING_DOUBTFUL, "GPUs", NULL,
                                "correct `gpus_per_node`, or see to the device plugin" },
             text_format("%zu nodes that are Ready (%s) have fewer than %lld GPUs",
                         counts->short_of_gpus, counts->a_short,
                         (long long)pool->reservation->gpus_per_node));
}

void pool_match_find(const struct pool_match *match)
{
    struct counts counts = count(match);

    require(counts.matched <= counts.running && counts.movable <= counts.matched);
    tell(match, &(struct finding){ FINDING_RIGHT, "machines", NULL, "" },
         text_format("%zu machines, %zu of them run, %zu have a Node, %zu of those may move",
                     map_count(match->instances), counts.running, counts.matched, counts.movable));
    find_place(match, &counts);
    find_end(match);
    find_nodes(match, &counts);
}
