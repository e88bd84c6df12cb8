/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See schedule_check.h.
 */
#include "broker/planning/schedule_check.h"

#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>

/* What a schedule is checked by. */
struct check {
    const struct config *config;
    const char *source;
    const struct schedule_use *use;
};

static const struct config_workload *find_workload(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->workload_count; i++)
        if (text_equal(config->workloads[i].name, name))
            return &config->workloads[i];
    return NULL;
}

/* "FILE:LINE"; the caller frees it. */
static char *place_of(const char *source, int line)
{
    return line > 0 ? text_format("%s:%d", source, line) : mem_copy_chars(source);
}

static int check_replicas(const struct config *config, const struct schedule_replicas *row,
                          const char *source, struct error *err)
{
    const struct config_workload *workload = find_workload(config, row->workload);
    owned(chars) char *place = place_of(source, row->line);

    if (!workload)
        return error_set(err, ERROR_INVALID,
                         "%s: workloads.%s: the configuration has no such workload", place,
                         row->workload);
    for (size_t i = 0; i < workload->share_count; i++)
        if (text_equal(workload->shares[i].cluster->name, row->cluster))
            return 0;
    return error_set(err, ERROR_INVALID,
                     "%s: workloads.%s.%s: the workload does not run in that cluster", place,
                     row->workload, row->cluster);
}

/* The cluster's pool of that machine in that zone of the region, or NULL. */
static const struct config_pool *find_pool(const struct config *config,
                                           const struct schedule_nodes *row, size_t zone)
{
    for (size_t i = 0; i < config->pool_count; i++) {
        const struct config_pool *pool = &config->pools[i];

        if (text_equal(pool->cluster->name, row->cluster) &&
            text_equal(pool->reservation->machine, row->machine) &&
            text_equal(pool->reservation->region, row->region) &&
            pool->reservation->zone_index == zone)
            return pool;
    }
    return NULL;
}

/* Whether a plan may leave out even the pool's static nodes.  One of all windows reaches a week
   ahead. */
static bool may_be_gone(const struct check *check, const struct config_pool *pool)
{
    const struct config_reservation *reservation = pool->reservation;

    if (!check->use)
        return reservation->ends.ms > 0;
    return !config_reservation_lasts(
        reservation, window_used_until(check->config->windows, check->use->from, NULL));
}

/* The fault of this number of nodes for the pool; NULL: none. */
static const char *find_fault(const struct check *check, const struct config_pool *pool, int nodes)
{
    if (!pool)
        return nodes > 0 ? "the cluster has no pool there" : NULL;
    if (pool->cluster->role != ROLE_PRODUCTION)
        return "a research cluster shares what production leaves and has no counts of its own";
    if (nodes < pool->static_nodes && (nodes > 0 || !may_be_gone(check, pool)))
        return "fewer than the pool's static_nodes";
    if (pool->node_max > 0 && nodes > pool->node_max)
        return "more than the pool's node_max";
    return NULL;
}

/* "reservation r ends at T, and window w needs it until U", or NULL; the caller frees it. */
static char *find_end(const struct check *check, const struct config_pool *pool, int nodes)
{
    const struct schedule_use *use = check->use;
    struct wall_time until;
    char end[WALL_TEXT_SIZE], last[WALL_TEXT_SIZE];

    if (!use || !use->window || !pool || nodes == 0)
        return NULL;
    until = window_used_until(check->config->windows, use->from, use->window);
    return until.ms <= use->from.ms || config_reservation_lasts(pool->reservation, until)
               ? NULL
               : text_format("reservation %s ends at %s, and window %s needs it until %s",
                             pool->reservation->name, wall_format(pool->reservation->ends, end),
                             use->window, wall_format(until, last));
}

static int check_nodes(const struct check *check, const struct schedule_nodes *row, int64_t *wanted,
                       struct error *err)
{
    const struct config *config = check->config;

    for (size_t zone = 0; zone < row->zone_count; zone++) {
        const struct config_pool *pool = find_pool(config, row, zone);
        const char *fault = find_fault(check, pool, row->counts[zone]);
        owned(chars) char *end = find_end(check, pool, row->counts[zone]);
        owned(chars) char *place = place_of(check->source, row->line);

        if (fault || end)
            return error_set(err, ERROR_INVALID, "%s: compute.%s.%s.%s.counts[%zu]: %d: %s", place,
                             row->machine, row->region, row->cluster, zone, row->counts[zone],
                             fault ?: end);
        require(!pool || (pool->reservation >= config->reservations &&
                          pool->reservation < config->reservations + config->reservation_count));
        if (pool)
            wanted[pool->reservation - config->reservations] += row->counts[zone];
    }
    return 0;
}

static int check_all_nodes(const struct check *check, const struct schedule *schedule,
                           int64_t *wanted, struct error *err)
{
    const struct config *config = check->config;

    for (size_t i = 0; i < schedule->nodes_count; i++)
        if (check_nodes(check, &schedule->nodes[i], wanted, err) < 0)
            return -1;
    for (size_t i = 0; i < config->reservation_count; i++) {
        const struct config_reservation *reservation = &config->reservations[i];

        if (wanted[i] > reservation->nodes)
            return error_set(err, ERROR_INVALID,
                             "%s: compute.%s.%s: %" PRId64 " nodes in zone %s, but reservation %s "
                             "has %" PRId64,
                             check->source, reservation->machine, reservation->region, wanted[i],
                             reservation->zone, reservation->name, reservation->nodes);
    }
    return 0;
}

int schedule_check(const struct config *config, const struct schedule *schedule, const char *source,
                   const struct schedule_use *use, struct error *err)
{
    const struct check check = { config, source, use };
    int64_t *wanted;
    int result;

    for (size_t i = 0; i < schedule->replicas_count; i++)
        if (check_replicas(config, &schedule->replicas[i], source, err) < 0)
            return -1;
    wanted = mem_new_array(config->reservation_count, sizeof *wanted);
    result = check_all_nodes(&check, schedule, wanted, err);
    mem_free(wanted);
    return result;
}
