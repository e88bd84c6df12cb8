/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See growth.h.  A progress is "FROM>TO", with "@VERSION" where the cloud has versions.
 */
#include "providers/common/growth.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { REQUEST_ID_SIZE = 64 };

/* An order that this process planned.  It is forgotten when its answer is definite. */
struct growth_plan {
    char request_id[REQUEST_ID_SIZE];
    char sender[REQUEST_ID_SIZE]; /* the order, this or another, whose request it went in; "": not
                                     sent */
    int64_t wanted;
    bool is_void; /* another order found that this one is not next: it must plan again */
};

/* The orders for one size. */
struct growth_pool {
    ARRAY(struct growth_plan) plans;
};

struct growth_place {
    struct growth_turn *first; /* the one that has its turn */
    struct map *pools;
};

struct growth {
    struct map *places;
};

struct number_plan {
    int64_t from;
    int64_t to;
    const char *version; /* points into the progress; "": none */
};

static void free_pool(void *context)
{
    struct growth_pool *pool = context;

    array_clear(&pool->plans);
    mem_free(pool);
}

static void free_place(void *context)
{
    struct growth_place *place = context;

    map_free(place->pools);
    mem_free(place);
}

struct growth *growth_new(void)
{
    struct growth *growth = mem_new(sizeof *growth);

    growth->places = map_new(free_place);
    return growth;
}

void growth_free(struct growth *growth)
{
    if (!growth)
        return;
    map_free(growth->places);
    mem_free(growth);
}

static struct growth_place *place_of(struct growth *growth, const char *name)
{
    struct growth_place *place = map_get(growth->places, name);

    if (place)
        return place;
    place = mem_new(sizeof *place);
    place->pools = map_new(free_pool);
    map_set(growth->places, name, place);
    return place;
}

static struct growth_pool *pool_of(struct growth_place *place, const char *name)
{
    struct growth_pool *pool = map_get(place->pools, name);

    if (pool)
        return pool;
    pool = mem_new(sizeof *pool);
    map_set(place->pools, name, pool);
    return pool;
}

void growth_wait(struct growth *growth, const char *place_name, struct growth_turn *turn)
{
    struct growth_place *place = place_of(growth, place_name);
    struct growth_turn **at;

    require(!turn->place);
    turn->place = place;
    turn->plans = pool_of(place, turn->pool ?: "");
    turn->next = NULL;
    for (at = &place->first; *at; at = &(*at)->next)
        continue;
    *at = turn;
    turn->is_first = place->first == turn;
    if (turn->is_first)
        turn->ready(turn);
}

void growth_leave(struct growth_turn *turn)
{
    struct growth_place *place = turn->place;
    struct growth_turn **at;

    if (!place)
        return;
    for (at = &place->first; *at != turn; at = &(*at)->next)
        require(*at);
    *at = turn->next;
    turn->place = NULL;
    if (!turn->is_first || !place->first)
        return;
    place->first->is_first = true;
    place->first->ready(place->first);
}

static struct growth_plan *find_plan(struct growth_pool *pool, const char *request_id)
{
    for (size_t i = 0; i < pool->plans.count; i++)
        if (text_equal(pool->plans.items[i].request_id, request_id))
            return &pool->plans.items[i];
    return NULL;
}

static void drop_plan(struct growth_pool *pool, const char *request_id)
{
    struct growth_plan *plan = find_plan(pool, request_id);

    if (plan)
        array_remove(&pool->plans, (size_t)(plan - pool->plans.items));
}

static bool read_progress(const char *progress, struct number_plan *ret)
{
    char *end = NULL;

    ret->from = strtoll(progress, &end, 10);
    if (end == progress || *end != '>')
        return false;
    progress = end + 1;
    ret->to = strtoll(progress, &end, 10);
    if (end == progress || (*end != '\0' && *end != '@'))
        return false;
    ret->version = *end == '@' ? end + 1 : end;
    return ret->to == ret->from + 1 || ret->to == ret->from - 1;
}

static enum growth_verdict plan(const struct growth_size *size, int64_t from, int64_t to,
                                char ret_progress[GROWTH_PROGRESS_SIZE])
{
    require(strlen(size->version) < GROWTH_VERSION_SIZE);
    text_print(ret_progress, GROWTH_PROGRESS_SIZE, "%" PRId64 ">%" PRId64 "%s%s", from, to,
               size->version[0] ? "@" : "", size->version);
    return GROWTH_PLAN;
}

static bool is_sent(const struct growth_plan *plan)
{
    return plan->sender[0] != '\0';
}

/* Plans the next number: one above the pool's size, or above the highest plan for it that is not
   sent yet. */
static enum growth_verdict plan_growth(struct growth_turn *turn, const struct growth_size *size,
                                       char ret_progress[GROWTH_PROGRESS_SIZE])
{
    struct growth_pool *pool = turn->plans;
    struct growth_plan *own;
    int64_t from = size->wanted;

    drop_plan(pool, turn->request_id);
    for (size_t i = 0; i < pool->plans.count; i++) {
        const struct growth_plan *other = &pool->plans.items[i];

        if (!is_sent(other) && !other->is_void && other->wanted > from)
            from = other->wanted;
    }
    own = array_add(&pool->plans);
    require(text_copy(own->request_id, sizeof own->request_id, turn->request_id));
    own->wanted = from + 1;
    return plan(size, from, from + 1, ret_progress);
}

/* Called when the order's own plan is too high or too low.  An abandoned order with a lower plan
   would keep it so: all orders that are not sent must plan again. */
static enum growth_verdict plan_again(struct growth_turn *turn, const struct growth_size *size,
                                      char ret_progress[GROWTH_PROGRESS_SIZE])
{
    for (size_t i = 0; i < turn->plans->plans.count; i++)
        turn->plans->plans.items[i].is_void |= !is_sent(&turn->plans->plans.items[i]);
    return plan_growth(turn, size, ret_progress);
}

/* The plan of a waiting order that is stored and asks for this number; NULL: none does. */
static const struct growth_plan *waiting_plan(const struct growth_turn *turn, int64_t wanted)
{
    for (const struct growth_turn *at = turn->next; at; at = at->next) {
        const struct growth_plan *plan = at->plans == turn->plans
                                             ? find_plan(at->plans, at->request_id)
                                             : NULL;

        if (plan && at->progress[0] != '\0' && !is_sent(plan) && !plan->is_void &&
            plan->wanted == wanted)
            return plan;
    }
    return NULL;
}

/* The number to ask for: for this order, and for waiting orders whose plans follow right after its
   own. */
static enum growth_verdict send_growth(struct growth_turn *turn, int64_t from, int64_t *ret_wanted)
{
    int64_t wanted = from + 1;

    while (waiting_plan(turn, wanted + 1))
        wanted++;
    for (size_t i = 0; i < turn->plans->plans.count; i++) {
        struct growth_plan *plan = &turn->plans->plans.items[i];
        bool is_own = text_equal(plan->request_id, turn->request_id);

        if (is_own || (waiting_plan(turn, plan->wanted) == plan && plan->wanted <= wanted))
            text_copy(plan->sender, sizeof plan->sender, turn->request_id);
    }
    *ret_wanted = wanted;
    return GROWTH_SEND;
}

/* Whether the pool is known to be as it was when the order was planned. */
static bool is_unchanged(const struct number_plan *plan, const struct growth_size *size)
{
    return size->wanted == plan->from &&
           (plan->version[0] == '\0' || text_equal(plan->version, size->version));
}

enum growth_verdict growth_grow(struct growth_turn *turn, const struct growth_size *size,
                                char ret_progress[GROWTH_PROGRESS_SIZE], int64_t *ret_wanted)
{
    struct number_plan stored;
    const struct growth_plan *own;

    require(turn->is_first && turn->place && turn->request_id[0] != '\0');
    if (!read_progress(turn->progress, &stored) || stored.to < stored.from)
        return plan_growth(turn, size, ret_progress);
    own = find_plan(turn->plans, turn->request_id);
    if (own && own->is_void) /* the others' new plans stay, or two orders void each other forever */
        return plan_growth(turn, size, ret_progress);
    if (own && !is_sent(own) && size->wanted != stored.from)
        return plan_again(turn, size, ret_progress);
    if (size->wanted >= stored.to) {
        drop_plan(turn->plans, turn->request_id);
        return GROWTH_DONE;
    }
    return size->wanted == stored.from ? send_growth(turn, stored.from, ret_wanted)
                                       : plan_again(turn, size, ret_progress);
}

enum growth_verdict growth_shrink(struct growth_turn *turn, const struct growth_size *size,
                                  char ret_progress[GROWTH_PROGRESS_SIZE], int64_t *ret_wanted)
{
    struct number_plan stored;

    require(turn->is_first && turn->place);
    if (!read_progress(turn->progress, &stored) || stored.to > stored.from)
        return size->wanted > size->present
                   ? plan(size, size->wanted, size->wanted - 1, ret_progress)
                   : GROWTH_NONE;
    if (size->wanted <= stored.to)
        return GROWTH_DONE;
    if (size->wanted <= size->present)
        return GROWTH_NONE;
    if (!is_unchanged(&stored, size))
        return plan(size, size->wanted, size->wanted - 1, ret_progress);
    *ret_wanted = stored.to;
    return GROWTH_SEND;
}

void growth_answered(struct growth_turn *turn, bool is_accepted)
{
    struct growth_pool *pool = turn->plans;

    drop_plan(pool, turn->request_id);
    for (size_t i = 0; !is_accepted && i < pool->plans.count; i++)
        if (text_equal(pool->plans.items[i].sender, turn->request_id))
            pool->plans.items[i].sender[0] = '\0';
}
