/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See plan.h.  One reservation at a time; within it, pools are known by their index in the
 * configuration.
 */
#include "broker/planning/plan.h"

#include "base/text.h"
#include "broker/planning/plan_nodes.h"

/* One reservation's books while a plan is made. */
struct books {
    const struct plan_input *input;
    struct plan *plan;
    const struct config_reservation *reservation;
    int64_t *gap;    /* per pool: wanted - supply; > 0 lacks, < 0 can spare */
    int64_t *passed; /* per pool: of `gap`, nodes that the one cluster they may come from lacks */
    size_t *taken;   /* per pool: how many of its nodes are given away already */
    bool *is_stuck;  /* per pool: no whole group of it can be taken or given */
    size_t units;
};

int64_t plan_limit(const struct plan_pool *pool)
{
    int64_t most = pool->config->node_max ?: pool->config->reservation->nodes;
    int64_t whole = most - most % pool->config->group;

    require(pool->config->group >= 1);
    return whole > pool->config->static_nodes ? whole : pool->config->static_nodes;
}

int64_t plan_unit(const struct plan_pool *pool, int64_t have)
{
    require(have >= 0);
    return pool->config->group - have % pool->config->group;
}

/* Static nodes are there whether or not they are whole groups. */
static int64_t whole_groups(const struct plan_pool *pool, int64_t nodes)
{
    int64_t odd = nodes > pool->config->static_nodes ? nodes % pool->config->group : 0;

    return odd > 0 ? nodes - odd + pool->config->group : nodes;
}

int64_t plan_wanted(const struct plan_pool *pool)
{
    /* Without a schedule and a reclaim the pool has no target: -1, and never 0. */
    int64_t level = plan_level(pool);
    int64_t wanted = level > 0 && level > pool->wanted ? level : pool->wanted;

    require(pool->wanted >= -1);
    wanted = whole_groups(pool, wanted);
    return wanted > plan_limit(pool) ? plan_limit(pool) : wanted;
}

/* The reclaim that a pool's next node belongs to, if it has so many: the lowest one above.  NULL:
   the schedule wants it, too, or no reclaim does. */
static const struct plan_reclaim *reclaim_above(const struct plan_pool *pool, int64_t have)
{
    const struct plan_reclaim *lowest = NULL;

    for (size_t i = 0; i < pool->reclaims.count && have >= pool->wanted; i++) {
        const struct plan_reclaim *reclaim = &pool->reclaims.items[i];
        bool is_tie = lowest && reclaim->level == lowest->level;

        if (reclaim->level > have &&
            (!lowest || reclaim->level < lowest->level || (is_tie && reclaim->from[0] == '\0')))
            lowest = reclaim;
    }
    return lowest;
}

/* Whether the cluster may give nodes that are wanted of this one; "": of any. */
static bool is_from(const struct config_cluster *cluster, const char *from)
{
    return from[0] == '\0' || text_equal(cluster->name, from);
}

static bool is_production(const struct plan_pool *pool)
{
    return pool->config->cluster->role == ROLE_PRODUCTION;
}

static const struct plan_pool *pool_of(const struct books *books, const struct config_pool *config)
{
    require(config >= books->input->config->pools &&
            config < books->input->config->pools + books->input->config->pool_count);
    return &books->input->pools[config - books->input->config->pools];
}

static bool is_withdrawn(const struct plan *plan, const struct plan_live *live)
{
    for (size_t i = 0; i < plan->withdrawn.count; i++)
        if (plan->withdrawn.items[i] == live->id)
            return true;
    return false;
}

/* Nodes that are on their way to the pool.  Until they serve, no node is given in exchange: they
   may come late, or never. */
static int64_t coming(const struct books *books, const struct plan_pool *pool)
{
    int64_t nodes = 0;

    for (size_t i = 0; i < books->input->live_count; i++) {
        const struct plan_live *live = &books->input->live[i];

        nodes += live->target == pool->config && !is_withdrawn(books->plan, live);
    }
    return nodes;
}

/* Nodes that a known pool can still give without falling under its floor or under its target.  A
   production pool that is not known has nothing to spare.  A machine without a Node counts against
   growth, but is not a node that could leave. */
static int64_t spare(const struct books *books, size_t at)
{
    const struct plan_pool *pool = &books->input->pools[at];
    int64_t over_floor = pool->present - pool->unseen - (int64_t)books->taken[at] -
                         pool->config->static_nodes;
    int64_t left = (int64_t)(pool->nodes.count - books->taken[at]);
    int64_t free_nodes = over_floor < left ? over_floor : left;

    require(books->taken[at] <= pool->nodes.count);
    require(pool->unseen >= 0 && pool->unseen <= pool->present);
    if (is_production(pool) && -books->gap[at] - coming(books, pool) - pool->unseen < free_nodes)
        free_nodes = -books->gap[at] - coming(books, pool) - pool->unseen;
    return free_nodes > 0 ? free_nodes : 0;
}

/* A pool that is left alone or not known neither lacks nor spares nodes, whatever is returned to
   it. */
static void change_gap(struct books *books, size_t at, int64_t by)
{
    const struct plan_pool *pool = &books->input->pools[at];

    if (!is_production(pool) || (pool->is_known && plan_wanted(pool) >= 0))
        books->gap[at] += by;
}

/* Withdraws transfers that are not wanted any more, newest first. */
static void withdraw(struct books *books, size_t at, bool is_incoming)
{
    const struct plan_pool *pool = &books->input->pools[at];
    int64_t step = is_incoming ? 1 : -1; /* an incoming node less makes the gap greater */

    for (size_t i = books->input->live_count; i-- > 0 && books->gap[at] * step < 0;) {
        const struct plan_live *live = &books->input->live[i];
        const struct config_pool *mine = is_incoming ? live->target : live->source;
        const struct config_pool *other = is_incoming ? live->source : live->target;

        if (!live->can_withdraw || mine != pool->config || is_withdrawn(books->plan, live) ||
            !pool_of(books, other)->is_known)
            continue;
        require(mine->reservation == other->reservation);
        *array_add(&books->plan->withdrawn) = live->id;
        change_gap(books, at, step);
        change_gap(books, (size_t)(other - books->input->config->pools), -step);
    }
}

/* One node of the unit that was counted last. */
static void give(struct books *books, size_t source, size_t target, bool is_emergency)
{
    const struct plan_pool *giver = &books->input->pools[source];
    const struct plan_pool *taker = &books->input->pools[target];
    struct plan_transfer *transfer = array_add(&books->plan->transfers);

    require(source != target && giver->config->reservation == taker->config->reservation);
    require(is_production(giver) || is_production(taker)); /* research pools do not trade */
    require(spare(books, source) > 0);
    transfer->source = giver->config;
    transfer->target = taker->config;
    books->taken[source]++; /* which node it is will be chosen when all are counted */
    transfer->due = taker->due;
    transfer->is_emergency = is_emergency;
    transfer->unit = books->units;
    books->gap[target]--;
    books->gap[source]++;
}

/* The research pool that is furthest over its share by weight and can give, or furthest under it
   and can take; SIZE_MAX when there is none.  A pool whose cluster or cloud did not answer when
   last asked is chosen last, because its nodes would come late. */
static size_t research_pool(const struct books *books, const char *from, bool gives)
{
    const struct config *config = books->input->config;
    size_t best = SIZE_MAX;
    double best_load = 0;

    for (size_t i = 0; i < config->pool_count; i++) {
        const struct plan_pool *pool = &books->input->pools[i];
        int64_t nodes = pool->present + pool->incoming - books->gap[i];
        double load = (double)nodes / (double)(pool->config->cluster->weight ?: 1);
        bool best_is_heard = best != SIZE_MAX && books->input->pools[best].is_heard;

        if (pool->config->reservation != books->reservation || is_production(pool) ||
            !pool->is_known || !is_from(pool->config->cluster, from) ||
            (gives ? spare(books, i) == 0 : nodes + pool->unplaced >= plan_limit(pool)))
            continue;
        if (best == SIZE_MAX || pool->is_heard > best_is_heard ||
            (pool->is_heard == best_is_heard && (gives ? load > best_load : load < best_load))) {
            best = i;
            best_load = load;
        }
    }
    return best;
}

/* The production pool that lacks most; a pool with a reclaim comes before all others; SIZE_MAX:
   none. */
static size_t lacking_pool(const struct books *books)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < books->input->config->pool_count; i++) {
        const struct plan_pool *pool = &books->input->pools[i];
        bool is_reclaim = pool->reclaims.count > 0;
        bool best_is_reclaim = best != SIZE_MAX && books->input->pools[best].reclaims.count > 0;

        if (pool->config->reservation != books->reservation || !is_production(pool) ||
            books->is_stuck[i] || books->gap[i] <= 0)
            continue;
        if (best == SIZE_MAX || is_reclaim > best_is_reclaim ||
            (is_reclaim == best_is_reclaim && books->gap[i] > books->gap[best]))
            best = i;
    }
    return best;
}

/* The production pool that can spare most; a pool that answers comes before all others; SIZE_MAX:
   none. */
static size_t sparing_pool(const struct books *books)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < books->input->config->pool_count; i++) {
        const struct plan_pool *pool = &books->input->pools[i];
        bool best_is_heard = best != SIZE_MAX && books->input->pools[best].is_heard;

        if (pool->config->reservation != books->reservation || !is_production(pool) ||
            books->is_stuck[i] || spare(books, i) == 0)
            continue;
        if (best == SIZE_MAX || pool->is_heard > best_is_heard ||
            (pool->is_heard == best_is_heard && spare(books, i) > spare(books, best)))
            best = i;
    }
    return best;
}

static void note_lacks(struct books *books)
{
    for (size_t i = 0; i < books->input->config->pool_count; i++) {
        const struct plan_pool *pool = &books->input->pools[i];
        struct plan *plan = books->plan;

        if (pool->config->reservation != books->reservation || !is_production(pool) ||
            books->gap[i] <= 0)
            continue;
        plan->lacks = mem_resize(plan->lacks, plan->lack_count + 1, sizeof *plan->lacks);
        plan->lacks[plan->lack_count++] = (struct plan_lack){ pool->config, books->gap[i] };
    }
}

/* The lack and the surplus of each production pool, after withdrawals. */
static void open_books(struct books *books)
{
    const struct config *config = books->input->config;

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < config->pool_count; i++) {
            const struct plan_pool *pool = &books->input->pools[i];

            if (pool->config->reservation != books->reservation || !is_production(pool) ||
                !pool->is_known || plan_wanted(pool) < 0)
                continue;
            if (pass == 0) {
                books->gap[i] = plan_wanted(pool) - pool->present - pool->incoming;
                continue;
            }
            withdraw(books, i, false);
            withdraw(books, i, true);
        }
    }
}

/* Nodes that the production pools of the reservation and its research pools, or those of one
   research cluster, can give. */
static int64_t spare_of_all(const struct books *books, const char *from)
{
    int64_t nodes = 0;

    for (size_t i = 0; i < books->input->config->pool_count; i++) {
        const struct plan_pool *pool = &books->input->pools[i];

        if (pool->config->reservation == books->reservation &&
            (is_production(pool) || (pool->is_known && is_from(pool->config->cluster, from))))
            nodes += spare(books, i);
    }
    return nodes;
}

/* Nodes that research pools of the reservation can take. */
static int64_t room_of_research(const struct books *books)
{
    int64_t nodes = 0;

    for (size_t i = 0; i < books->input->config->pool_count; i++) {
        const struct plan_pool *pool = &books->input->pools[i];
        int64_t room = plan_room(pool) + books->gap[i];

        if (pool->config->reservation == books->reservation && !is_production(pool) &&
            pool->is_known && room > 0)
            nodes += room;
    }
    return nodes;
}

/* The nodes that a pool will have by the present books. */
static int64_t have(const struct books *books, size_t at)
{
    return plan_wanted(&books->input->pools[at]) - books->gap[at];
}

static void pass_over(struct books *books, size_t target, const struct plan_reclaim *reclaim,
                      int64_t nodes)
{
    require(reclaim && nodes > 0);
    books->passed[target] += nodes;
    *array_add(&books->plan->passes) = (struct plan_pass){ .pool = &books->input->pools[target],
                                                           .reclaim = reclaim,
                                                           .nodes = nodes };
}

static void note_served(struct books *books, size_t target)
{
    for (size_t i = 0; i < books->plan->passes.count; i++)
        if (books->plan->passes.items[i].pool == &books->input->pools[target])
            books->plan->passes.items[i].is_served = true;
}

/* Fills one group of a pool that lacks nodes, or passes over those of a reclaim whose one giving
   cluster has too few for it, so that they keep no other reclaim waiting.  False, and nothing is
   given, if nothing is left that the giving pools can fill. */
static bool fill(struct books *books, size_t target)
{
    const struct plan_pool *taker = &books->input->pools[target];
    int64_t at = have(books, target) + books->passed[target];
    const struct plan_reclaim *reclaim = reclaim_above(taker, at);
    const char *from = reclaim ? reclaim->from : "";
    int64_t unit = plan_unit(taker, have(books, target));
    int64_t nodes = unit < books->gap[target] ? unit : books->gap[target];
    /* A reclaim is served first: its missing nodes do not wait for a notice. */
    bool is_emergency = have(books, target) < plan_level(taker);

    if (books->gap[target] - books->passed[target] < nodes ||
        have(books, target) + nodes + taker->unplaced > plan_limit(taker) ||
        (spare_of_all(books, from) < nodes && from[0] == '\0'))
        return false;
    if (spare_of_all(books, from) < nodes) {
        pass_over(books, target, reclaim, reclaim->level - at);
        return true;
    }
    note_served(books, target);
    books->units++;
    for (; nodes > 0; nodes--) {
        size_t source = sparing_pool(books);

        give(books, source != SIZE_MAX ? source : research_pool(books, from, true), target,
             is_emergency);
    }
    return true;
}

/* Gives research one group of a pool that can spare it: first an incomplete group.  False, and
   nothing is given, if less can go or be taken. */
static bool release(struct books *books, size_t source)
{
    int64_t odd = have(books, source) % books->input->pools[source].config->group;
    int64_t unit = odd > 0 ? odd : books->input->pools[source].config->group;
    int64_t nodes = unit < -books->gap[source] ? unit : -books->gap[source];

    if (spare(books, source) < nodes || room_of_research(books) < nodes)
        return false;
    books->units++;
    for (; nodes > 0; nodes--)
        give(books, source, research_pool(books, "", false), false);
    return true;
}

static void plan_reservation(struct books *books)
{
    size_t at;

    open_books(books);
    while ((at = lacking_pool(books)) != SIZE_MAX)
        books->is_stuck[at] = !fill(books, at);
    while ((at = sparing_pool(books)) != SIZE_MAX)
        books->is_stuck[at] = !release(books, at);
    note_lacks(books);
}

/* Moves reclaims to the front; each half keeps the order of the decisions. */
static void order(struct plan *plan)
{
    struct plan ordered = { 0 };

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < plan->transfers.count; i++)
            if (plan->transfers.items[i].is_emergency == (pass == 0))
                *array_add(&ordered.transfers) = plan->transfers.items[i];
    require(ordered.transfers.count == plan->transfers.count);
    mem_free(plan->transfers.items);
    plan->transfers.items = ordered.transfers.items;
    plan->transfers.capacity = ordered.transfers.capacity;
}

/* Whether a reclaim lacks nodes of the pool that this cluster may give. */
static bool wants_from(const struct plan_pool *pool, const struct config_cluster *cluster)
{
    for (size_t i = 0; i < pool->reclaims.count; i++)
        if (pool->reclaims.items[i].level > pool->present + pool->incoming &&
            is_from(cluster, pool->reclaims.items[i].from))
            return true;
    return false;
}

bool plan_is_hurried(const struct plan_input *input, const struct config_cluster *cluster,
                     const struct config_cluster *asking)
{
    const size_t count = input->config->pool_count;

    for (size_t i = 0; i < count * count; i++) {
        const struct plan_pool *to = &input->pools[i / count], *from = &input->pools[i % count];

        if (from->config->cluster == cluster &&
            from->config->reservation == to->config->reservation &&
            (to->config->cluster == asking || wants_from(to, cluster)))
            return true;
    }
    return false;
}

struct plan *plan_make(const struct plan_input *input)
{
    const struct config *config = input->config;
    struct plan *plan = mem_new(sizeof *plan);
    struct books books = { .input = input, .plan = plan };

    books.gap = mem_new_array(config->pool_count, sizeof *books.gap);
    books.passed = mem_new_array(config->pool_count, sizeof *books.passed);
    books.taken = mem_new_array(config->pool_count, sizeof *books.taken);
    books.is_stuck = mem_new_array(config->pool_count, sizeof *books.is_stuck);
    for (size_t i = 0; i < config->reservation_count; i++) {
        books.reservation = &config->reservations[i];
        plan_reservation(&books);
    }
    order(plan);
    plan_choose(input, plan, books.taken);
    for (size_t i = 0; i < plan->transfers.count; i++)
        require(plan->transfers.items[i].node);
    mem_free(books.gap);
    mem_free(books.passed);
    mem_free(books.taken);
    mem_free(books.is_stuck);
    return plan;
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    array_clear(&plan->transfers);
    array_clear(&plan->withdrawn);
    for (size_t i = 0; i < plan->choices.count; i++)
        mem_free(plan->choices.items[i].nodes);
    array_clear(&plan->choices);
    array_clear(&plan->passes);
    mem_free(plan->lacks);
    mem_free(plan);
}

void plan_pools_free(struct plan_pool *pools, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        array_clear(&pools[i].reclaims);
        array_clear(&pools[i].nodes);
        array_clear(&pools[i].kept);
    }
    mem_free(pools);
}
