/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A state is who comes next in each class and when the busy servers are done: which server is which
 * does not matter, since the one that is free first starts next.  The k-th start always takes the
 * k-th service, so a state that has been left is often met again.
 */
#include "windows/backtest/rerun.h"

#include "base/array.h"
#include "windows/backtest/staff.h"

struct moment {
    size_t next[DEMAND_CLASSES]; /* who has not started */
    struct done_times busy;
};

/* One segment. */
struct course {
    struct stretch requests;
    size_t quiet_slot; /* in which the last of them starts */
    bool *is_late[DEMAND_CLASSES];
    struct moment *moments; /* at the begin of each slot */

    bool is_tried; /* what follows is of a trial */
    bool *tried_late[DEMAND_CLASSES];
    size_t tried_from[DEMAND_CLASSES];
    size_t tried_to[DEMAND_CLASSES];
    size_t tried_slot; /* moments after this one, */
    size_t tried_end;  /* up to this one */
    size_t tried_quiet;
    struct moment *tried;
};

struct rerun {
    struct stretch_setup setup;
    uint64_t target;
    struct course *courses;
    size_t course_count;
    int *servers;
    int64_t *violations[DEMAND_CLASSES]; /* one a span, and one for who is in none */
    int64_t *allowed[DEMAND_CLASSES];
    struct staff staff;
    struct moment now; /* of the stretch that is played */
    struct done_times leaving;
    size_t changed_first;
    size_t changed_count;
    int change;
};

static int servers_at(const struct rerun *rerun, size_t slot)
{
    bool is_last = slot + 1 >= rerun->setup.slots;
    int servers = rerun->servers[is_last ? rerun->setup.slots - 1 : slot];

    return is_last && servers < 1 ? 1 : servers;
}

static void course_init(struct rerun *rerun, struct course *course, size_t segment)
{
    struct stretch *requests = &course->requests;

    stretch_init(requests, &rerun->setup, segment);

    size_t slots = requests->last_slot - requests->first_slot + 1;

    course->moments = mem_new_array(slots, sizeof *course->moments);
    course->tried = mem_new_array(slots, sizeof *course->tried);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        course->is_late[class] = mem_new_array(requests->count[class], sizeof(bool));
        course->tried_late[class] = mem_new_array(requests->count[class], sizeof(bool));
        for (size_t i = 0; i < requests->count[class]; i++)
            rerun->allowed[class][requests->span_of[class][i]]++;
    }
}

struct rerun *rerun_new(const struct stretch_setup *setup)
{
    struct rerun *rerun = mem_new(sizeof *rerun);
    size_t segments = arrivals_setup_of(setup->arrivals)->segments->list.count;

    rerun->setup = *setup;
    rerun->target = (uint64_t)setup->target.wait_ms * TICKS_PER_MS;
    rerun->servers = mem_new_array(setup->slots, sizeof *rerun->servers);
    rerun->courses = mem_new_array(segments, sizeof *rerun->courses);
    rerun->course_count = segments;
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        rerun->violations[class] = mem_new_array(setup->span_count + 1, sizeof(int64_t));
        rerun->allowed[class] = mem_new_array(setup->span_count + 1, sizeof(int64_t));
    }
    for (size_t i = 0; i < segments; i++)
        course_init(rerun, &rerun->courses[i], i);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        for (size_t i = 0; i <= setup->span_count; i++) {
            int64_t *count = &rerun->allowed[class][i];

            *count = i < setup->span_count ? replay_allowed(*count, setup->target.percentile)
                                           : INT64_MAX;
        }
    return rerun;
}

static void course_clear(struct course *course)
{
    for (size_t i = 0; i <= course->requests.last_slot - course->requests.first_slot; i++) {
        array_clear(&course->moments[i].busy.list);
        array_clear(&course->tried[i].busy.list);
    }
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        mem_free(course->is_late[class]);
        mem_free(course->tried_late[class]);
    }
    mem_free(course->moments);
    mem_free(course->tried);
    stretch_clear(&course->requests);
}

void rerun_free(struct rerun *rerun)
{
    if (!rerun)
        return;
    for (size_t i = 0; i < rerun->course_count; i++)
        course_clear(&rerun->courses[i]);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        mem_free(rerun->violations[class]);
        mem_free(rerun->allowed[class]);
    }
    array_clear(&rerun->now.busy.list);
    array_clear(&rerun->leaving.list);
    staff_clear(&rerun->staff);
    mem_free(rerun->courses);
    mem_free(rerun->servers);
    mem_free(rerun);
}

/* The slot's servers, as busy as the present moment says: the last to be done stay. */
static void set_servers(struct rerun *rerun, size_t slot)
{
    const struct done_times *busy = &rerun->now.busy;
    size_t wanted = (size_t)servers_at(rerun, slot);

    staff_set(&rerun->staff, wanted, busy->list.items,
              busy->list.count < wanted ? busy->list.count : wanted, slot * STRETCH_SLOT);
    rerun->leaving.list.count = 0;
    for (size_t i = wanted; i < busy->list.count; i++)
        *array_add(&rerun->leaving.list) = busy->list.items[i];
}

/* Every start in a slot. */
static void run_starts(struct rerun *rerun, struct course *course, size_t slot)
{
    uint64_t begin = slot * STRETCH_SLOT;
    const uint64_t *high = course->requests.at[DEMAND_HIGH] + rerun->now.next[DEMAND_HIGH];
    const uint64_t *low = course->requests.at[DEMAND_LOW] + rerun->now.next[DEMAND_LOW];
    const uint64_t *service = course->requests.service + rerun->now.next[DEMAND_HIGH] +
                              rerun->now.next[DEMAND_LOW];
    struct servers tree = rerun->staff.tree;
    uint64_t first = servers_first(&tree);
    bool can_grow = staff_can_grow(&rerun->staff);

    while (tree.count > 0) {
        uint64_t next = *high < *low ? *high : *low;
        uint64_t free_at = servers_free_at(&tree, first);
        uint64_t start = next > free_at ? next : free_at;
        int class = *high > start ? DEMAND_LOW : DEMAND_HIGH;
        const uint64_t **line = class == DEMAND_LOW ? &low : &high;

        if (can_grow && start > next && free_at > begin) {
            staff_grow(&rerun->staff);
            tree = rerun->staff.tree;
            first = servers_first(&tree);
            can_grow = staff_can_grow(&rerun->staff);
            continue;
        }
        if (start >= begin + STRETCH_SLOT || next == UINT64_MAX)
            break;
        course->tried_late[class][*line - course->requests.at[class]] = start - **line >
                                                                        rerun->target;
        ++*line;
        first = servers_occupy(&tree, first, start + *service++);
    }
    rerun->now.next[DEMAND_HIGH] = (size_t)(high - course->requests.at[DEMAND_HIGH]);
    rerun->now.next[DEMAND_LOW] = (size_t)(low - course->requests.at[DEMAND_LOW]);
}

static void look_who_is_busy(struct rerun *rerun, uint64_t tick)
{
    const struct servers *tree = &rerun->staff.tree;
    struct done_times *busy = &rerun->now.busy;

    busy->list.count = 0;
    for (size_t i = 0; i < tree->count; i++) {
        uint64_t done = servers_free_at(tree, tree->keys[tree->leaves + i]);

        if (done > tick)
            *array_add(&busy->list) = done;
    }
    for (size_t i = 0; i < rerun->leaving.list.count; i++)
        if (rerun->leaving.list.items[i] > tick)
            *array_add(&busy->list) = rerun->leaving.list.items[i];
    done_sort(busy);
}

static bool is_same(const struct moment *a, const struct moment *b)
{
    return memcmp(a->next, b->next, sizeof a->next) == 0 &&
           a->busy.list.count == b->busy.list.count &&
           (a->busy.list.count == 0 || memcmp(a->busy.list.items, b->busy.list.items,
                                              a->busy.list.count * sizeof(uint64_t)) == 0);
}

static void begin_at(struct rerun *rerun, struct course *course, size_t slot)
{
    struct moment *now = &rerun->now;
    size_t wanted = (size_t)servers_at(rerun, slot);

    if (slot > course->requests.first_slot) {
        const struct moment *moment = &course->moments[slot - course->requests.first_slot];

        memcpy(now->next, moment->next, sizeof now->next);
        done_copy(&now->busy, &moment->busy, moment->busy.list.count);
        return;
    }
    memset(now->next, 0, sizeof now->next);
    done_copy(&now->busy, &course->requests.before,
              course->requests.before.list.count < wanted ? course->requests.before.list.count
                                                          : wanted);
}

/* From the begin of `slot` to where the stretch is over or, after slot `changed`, meets what is
   kept. */
static void play(struct rerun *rerun, struct course *course, size_t slot, size_t changed)
{
    struct moment *now = &rerun->now;

    begin_at(rerun, course, slot);
    course->is_tried = true;
    course->tried_slot = slot;
    memcpy(course->tried_from, now->next, sizeof now->next);
    for (;; slot++) {
        set_servers(rerun, slot);
        run_starts(rerun, course, slot);
        course->tried_quiet = slot;
        if (slot >= course->requests.last_slot &&
            now->next[DEMAND_HIGH] == course->requests.count[DEMAND_HIGH] &&
            now->next[DEMAND_LOW] == course->requests.count[DEMAND_LOW])
            break;
        look_who_is_busy(rerun, (slot + 1) * STRETCH_SLOT);
        if (slot >= course->requests.last_slot)
            continue;

        size_t at = slot + 1 - course->requests.first_slot;

        if (slot >= changed && is_same(now, &course->moments[at])) {
            course->tried_quiet = course->quiet_slot;
            break;
        }
        memcpy(course->tried[at].next, now->next, sizeof now->next);
        done_copy(&course->tried[at].busy, &now->busy, now->busy.list.count);
    }
    course->tried_end = slot < course->requests.last_slot ? slot : course->requests.last_slot;
    memcpy(course->tried_to, now->next, sizeof now->next);
}

/* Counts what a trial changes; takes it back with -1. */
static int64_t count_late(struct rerun *rerun, const struct course *course, int64_t sign)
{
    int64_t added = 0;

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        for (size_t i = course->tried_from[class]; i < course->tried_to[class]; i++) {
            int64_t change = course->tried_late[class][i] - course->is_late[class][i];

            rerun->violations[class][course->requests.span_of[class][i]] += sign * change;
            added += change;
        }
    return added;
}

static bool is_met(const struct rerun *rerun)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        for (size_t i = 0; i < rerun->setup.span_count; i++)
            if (rerun->violations[class][i] > rerun->allowed[class][i])
                return false;
    return true;
}

bool rerun_try(struct rerun *rerun, size_t first, size_t count, int change, int64_t *ret_added)
{
    size_t last = first + count >= rerun->setup.slots ? SIZE_MAX : first + count - 1;
    int64_t added = 0;

    for (size_t slot = first; slot < first + count; slot++)
        rerun->servers[slot] += change;
    rerun->changed_first = first;
    rerun->changed_count = count;
    rerun->change = change;
    for (size_t i = 0; i < rerun->course_count; i++) {
        struct course *course = &rerun->courses[i];
        size_t slot = first < course->requests.last_slot ? first : course->requests.last_slot;

        if (last < course->requests.first_slot || first > course->quiet_slot)
            continue;
        play(rerun, course, slot > course->requests.first_slot ? slot : course->requests.first_slot,
             last);
        added += count_late(rerun, course, 1);
    }
    if (ret_added)
        *ret_added = added;
    return is_met(rerun);
}

void rerun_keep(struct rerun *rerun)
{
    for (size_t i = 0; i < rerun->course_count; i++) {
        struct course *course = &rerun->courses[i];

        if (!course->is_tried)
            continue;
        course->is_tried = false;
        course->quiet_slot = course->tried_quiet;
        for (size_t slot = course->tried_slot + 1; slot <= course->tried_end; slot++) {
            struct moment *kept = &course->moments[slot - course->requests.first_slot];
            struct moment moment = *kept;

            *kept = course->tried[slot - course->requests.first_slot];
            course->tried[slot - course->requests.first_slot] = moment;
        }
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            memcpy(course->is_late[class] + course->tried_from[class],
                   course->tried_late[class] + course->tried_from[class],
                   (course->tried_to[class] - course->tried_from[class]) * sizeof(bool));
    }
}

void rerun_undo(struct rerun *rerun)
{
    for (size_t i = 0; i < rerun->changed_count; i++)
        rerun->servers[rerun->changed_first + i] -= rerun->change;
    for (size_t i = 0; i < rerun->course_count; i++) {
        struct course *course = &rerun->courses[i];

        if (course->is_tried)
            (void)count_late(rerun, course, -1);
        course->is_tried = false;
    }
}

bool rerun_plan(struct rerun *rerun, const int *servers)
{
    memcpy(rerun->servers, servers, rerun->setup.slots * sizeof *servers);
    for (size_t i = 0; i < rerun->course_count; i++) {
        play(rerun, &rerun->courses[i], rerun->courses[i].requests.first_slot, SIZE_MAX);
        (void)count_late(rerun, &rerun->courses[i], 1);
    }
    rerun_keep(rerun);
    return is_met(rerun);
}

const int *rerun_servers(const struct rerun *rerun)
{
    return rerun->servers;
}

int64_t rerun_violations(const struct rerun *rerun, enum demand_class class, size_t span)
{
    return rerun->violations[class][span];
}

int64_t rerun_allowed(const struct rerun *rerun, enum demand_class class, size_t span)
{
    return rerun->allowed[class][span];
}

const struct stretch *rerun_stretch(const struct rerun *rerun, size_t at)
{
    return at < rerun->course_count ? &rerun->courses[at].requests : NULL;
}
