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

enum { ONE_MORE = 1, ONE_LESS = -1 };

/* An order that this process planned, or the taking back of one.  It is forgotten when its answer
   is definite. */
struct growth_plan {
    char request_id[REQUEST_ID_SIZE];
    char sender[REQUEST_ID_SIZE]; /* the order, this or another, whose request it went in; "": not
                                     sent */
    int64_t wanted;
    int step;     /* ONE_MORE or ONE_LESS */
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
    turn->is_decided = false;
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

/* The size after all orders of this step that are planned and not sent yet. */
static int64_t size_after(const struct growth_pool *pool, int64_t wanted, int step)
{
    for (size_t i = 0; i < pool->plans.count; i++) {
        const struct growth_plan *other = &pool->plans.items[i];

        if (other->step == step && !is_sent(other) && !other->is_void &&
            (other->wanted - wanted) * step > 0)
            wanted = other->wanted;
    }
    return wanted;
}

static void void_plans(struct growth_pool *pool, int step)
{
    for (size_t i = 0; i < pool->plans.count; i++)
        pool->plans.items[i].is_void |= pool->plans.items[i].step == step &&
                                        !is_sent(&pool->plans.items[i]);
}

/* Plans the next number: one beyond the pool's size, or beyond the last plan of the same step that
   is not sent yet.  Orders are taken back only down to the machines that there are; plans that
   leave no room for this one may have been abandoned, and are made again. */
static enum growth_verdict plan_next(struct growth_turn *turn, const struct growth_size *size,
                                     int step, char ret_progress[GROWTH_PROGRESS_SIZE])
{
    struct growth_pool *pool = turn->plans;
    struct growth_plan *own;
    int64_t from;

    drop_plan(pool, turn->request_id);
    if (step == ONE_LESS && size->wanted <= size->present)
        return GROWTH_NONE;
    from = size_after(pool, size->wanted, step);
    if (step == ONE_LESS && from <= size->present) {
        void_plans(pool, step);
        from = size->wanted;
    }
    own = array_add(&pool->plans);
    require(text_copy(own->request_id, sizeof own->request_id, turn->request_id));
    own->wanted = from + step;
    own->step = step;
    return plan(size, from, from + step, ret_progress);
}

/* Called when the order's own plan is too high or too low.  An abandoned order with a lower plan
   would keep it so: all orders that are not sent must plan again. */
static enum growth_verdict plan_again(struct growth_turn *turn, const struct growth_size *size,
                                      int step, char ret_progress[GROWTH_PROGRESS_SIZE])
{
    void_plans(turn->plans, step);
    return plan_next(turn, size, step, ret_progress);
}

/* The plan of a waiting order that is stored and asks for this number; NULL: none does. */
static const struct growth_plan *waiting_plan(const struct growth_turn *turn, int64_t wanted)
{
    for (const struct growth_turn *at = turn->next; at; at = at->next) {
        const struct growth_plan *plan = at->plans == turn->plans
                                             ? find_plan(at->plans, at->request_id)
                                             : NULL;

        if (plan && at->progress[0] != '\0' && plan->step == ONE_MORE && !is_sent(plan) &&
            !plan->is_void && plan->wanted == wanted)
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

/* Less than what the pool was read to want: only this order is sent. */
static enum growth_verdict send_shrink(struct growth_turn *turn, int64_t wanted,
                                       int64_t *ret_wanted)
{
    struct growth_plan *own = find_plan(turn->plans, turn->request_id);

    if (own)
        text_copy(own->sender, sizeof own->sender, turn->request_id);
    *ret_wanted = wanted;
    return GROWTH_SEND;
}

/* Whether the order's stored plan says nothing of the pool as it is: another one comes first, or it
   was carried out by nobody. */
static bool is_overtaken(const struct growth_turn *turn, const struct growth_size *size,
                         const struct number_plan *stored)
{
    const struct growth_plan *own = find_plan(turn->plans, turn->request_id);

    return own && !is_sent(own) && size->wanted != stored->from;
}

/* The stored plan of a turn, if it is one of this step; false: it has none, or it must plan again,
   and the others' new plans stay, or two orders would void each other forever. */
static bool has_plan(const struct growth_turn *turn, int step, struct number_plan *ret)
{
    const struct growth_plan *own = find_plan(turn->plans, turn->request_id);

    require(turn->is_first && turn->place && turn->request_id[0] != '\0');
    return read_progress(turn->progress, ret) && ret->to == ret->from + step &&
           !(own && own->is_void);
}

enum growth_verdict growth_grow(struct growth_turn *turn, const struct growth_size *size,
                                char ret_progress[GROWTH_PROGRESS_SIZE], int64_t *ret_wanted)
{
    struct number_plan stored;

    turn->is_decided = true;
    if (!has_plan(turn, ONE_MORE, &stored))
        return plan_next(turn, size, ONE_MORE, ret_progress);
    if (is_overtaken(turn, size, &stored))
        return plan_again(turn, size, ONE_MORE, ret_progress);
    if (size->wanted >= stored.to) {
        drop_plan(turn->plans, turn->request_id);
        return GROWTH_DONE;
    }
    return size->wanted == stored.from ? send_growth(turn, stored.from, ret_wanted)
                                       : plan_again(turn, size, ONE_MORE, ret_progress);
}

enum growth_verdict growth_shrink(struct growth_turn *turn, const struct growth_size *size,
                                  char ret_progress[GROWTH_PROGRESS_SIZE], int64_t *ret_wanted)
{
    struct number_plan stored;
    bool is_unchanged;

    turn->is_decided = true;
    if (!has_plan(turn, ONE_LESS, &stored))
        return plan_next(turn, size, ONE_LESS, ret_progress);
    if (is_overtaken(turn, size, &stored))
        return plan_again(turn, size, ONE_LESS, ret_progress);
    if (size->wanted <= stored.to) {
        drop_plan(turn->plans, turn->request_id);
        return GROWTH_DONE;
    }
    is_unchanged = size->wanted == stored.from && size->wanted > size->present &&
                   (stored.version[0] == '\0' || text_equal(stored.version, size->version));
    return is_unchanged ? send_shrink(turn, stored.to, ret_wanted)
                        : plan_again(turn, size, ONE_LESS, ret_progress);
}

void growth_answered(struct growth_turn *turn, bool is_accepted)
{
    struct growth_pool *pool = turn->plans;

    drop_plan(pool, turn->request_id);
    for (size_t i = 0; !is_accepted && i < pool->plans.count; i++)
        if (text_equal(pool->plans.items[i].sender, turn->request_id))
            pool->plans.items[i].sender[0] = '\0';
}

void growth_failed(const struct growth_turn *turn, struct error *err)
{
    struct number_plan stored;
    const struct growth_plan *own;

    if (!turn->place || turn->is_decided || !turn->progress ||
        !read_progress(turn->progress, &stored) || stored.to < stored.from)
        return;
    own = find_plan(turn->plans, turn->request_id);
    if (!own || is_sent(own))
        err->kind = ERROR_UNKNOWN_OUTCOME;
}
