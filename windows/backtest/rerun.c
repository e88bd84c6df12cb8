/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The k-th start always takes the k-th service, so a state that has been left is often met again.
 */
#include "windows/backtest/rerun.h"

#include "windows/backtest/moment.h"

/* One segment. */
struct course {
    struct occurrence requests;
    size_t quiet_slot; /* in which the last of them starts */
    bool *is_late[DEMAND_CLASSES];
    struct moment *moments; /* at the begin of each slot */

    bool is_tried; /* what follows is of a trial */
    bool *tried_late[DEMAND_CLASSES];
    size_t tried_from[DEMAND_CLASSES];
    size_t tried_to[DEMAND_CLASSES];
    size_t tried_slot; /* the trial's moments are those after this slot's */
    size_t tried_end;  /* up to this slot's */
    size_t tried_quiet;
    size_t tried_last; /* slot that the trial played */
    struct moment *tried;
};

struct rerun {
    struct occurrence_setup setup;
    uint64_t target;
    struct course *courses;
    size_t course_count;
    int *servers;
    int64_t *violations[DEMAND_CLASSES]; /* one a span, and one for requests in no span */
    int64_t *allowed[DEMAND_CLASSES];
    struct staff staff;
    struct moment now; /* of the occurrence that is played */
    struct done_times leaving;
    struct rerun_change change; /* that is tried, or was last */
    bool has_low;
    int64_t late_high;   /* of the plan, in all spans */
    int64_t tried_added; /* late requests that a trial adds so far, of both classes */
    int64_t tried_high;  /* those of the high class */
    int64_t limit;
    uint64_t kept;     /* how many trials were kept */
    uint64_t *changed; /* the count of trials kept, when a slot last changed; one a slot */
};

static int servers_at(const struct rerun *rerun, size_t slot)
{
    bool is_last = slot + 1 >= rerun->setup.slots;
    int servers = rerun->servers[is_last ? rerun->setup.slots - 1 : slot];

    return is_last && servers < 1 ? 1 : servers;
}

static void course_init(struct rerun *rerun, struct course *course, size_t segment)
{
    struct occurrence *requests = &course->requests;

    occurrence_init(requests, &rerun->setup, segment);

    size_t slots = requests->last_slot - requests->first_slot + 1;

    course->moments = mem_new_array(slots, sizeof *course->moments);
    course->tried = mem_new_array(slots, sizeof *course->tried);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        course->is_late[class] = mem_new_array(requests->count[class], sizeof(bool));
        course->tried_late[class] = mem_new_array(requests->count[class], sizeof(bool));
        for (size_t i = 0; i < requests->count[class]; i++)
            rerun->allowed[class][requests->span_of[class][i]]++;
    }
    rerun->has_low = rerun->has_low || requests->count[DEMAND_LOW] > 0;
}

struct rerun *rerun_new(const struct occurrence_setup *setup)
{
    struct rerun *rerun = mem_new(sizeof *rerun);
    size_t segments = arrivals_setup_of(setup->arrivals)->segments->list.count;

    rerun->setup = *setup;
    rerun->target = (uint64_t)setup->target.wait_ms * TICKS_PER_MS;
    rerun->servers = mem_new_array(setup->slots, sizeof *rerun->servers);
    rerun->changed = mem_new_array(setup->slots, sizeof *rerun->changed);
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
    occurrence_clear(&course->requests);
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
    mem_free(rerun->changed);
    mem_free(rerun);
}

/* Every start in a slot. */
static void run_starts(struct rerun *rerun, struct course *course, size_t slot)
{
    uint64_t begin = slot * OCCURRENCE_SLOT;
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
        if (start >= begin + OCCURRENCE_SLOT || next == UINT64_MAX)
            break;
        course->tried_late[class][*line - course->requests.at[class]] = start - **line >
                                                                        rerun->target;
        ++*line;
        first = servers_occupy(&tree, first, start + *service++);
    }
    rerun->now.next[DEMAND_HIGH] = (size_t)(high - course->requests.at[DEMAND_HIGH]);
    rerun->now.next[DEMAND_LOW] = (size_t)(low - course->requests.at[DEMAND_LOW]);
}

static void begin_at(struct rerun *rerun, struct course *course, size_t slot)
{
    struct moment *now = &rerun->now;
    size_t wanted = (size_t)servers_at(rerun, slot);

    if (slot > course->requests.first_slot) {
        moment_copy(now, &course->moments[slot - course->requests.first_slot]);
        return;
    }
    memset(now->next, 0, sizeof now->next);
    done_copy(&now->busy, &course->requests.before,
              course->requests.before.list.count < wanted ? course->requests.before.list.count
                                                          : wanted);
}

/* Adds the changes of a trial for requests of the next slot.  False when a span fails for good:
   with fewer servers no request starts earlier, neither of the low class nor of a single class. */
static bool count_late(struct rerun *rerun, const struct course *course,
                       const size_t from[DEMAND_CLASSES])
{
    bool is_bearable = true;

    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        bool is_final = class == DEMAND_LOW || !rerun->has_low;

        for (size_t i = from[class]; i < rerun->now.next[class]; i++) {
            size_t span = course->requests.span_of[class][i];
            int64_t change = course->tried_late[class][i] - course->is_late[class][i];

            rerun->violations[class][span] += change;
            rerun->tried_added += change;
            rerun->tried_high += class == DEMAND_HIGH ? change : 0;
            if (change > 0 && is_final &&
                rerun->violations[class][span] > rerun->allowed[class][span])
                is_bearable = false;
        }
    }
    return is_bearable;
}

static void uncount_late(struct rerun *rerun, const struct course *course)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        for (size_t i = course->tried_from[class]; i < course->tried_to[class]; i++)
            rerun->violations[class][course->requests.span_of[class][i]] -=
                course->tried_late[class][i] - course->is_late[class][i];
}

/* A lower limit of the late requests: the high class may end with fewer, if others have more. */
static int64_t least_added(const struct rerun *rerun)
{
    return rerun->tried_added - (rerun->has_low ? rerun->late_high : 0);
}

/* Replays from the begin of `slot` until the occurrence is over or, after slot `changed`, until
   the state equals the stored one.  False when it ends earlier because the limit or a span is
   exceeded. */
static bool play(struct rerun *rerun, struct course *course, size_t slot, size_t changed)
{
    struct moment *now = &rerun->now;
    bool is_bearable = true;

    begin_at(rerun, course, slot);
    course->is_tried = true;
    course->tried_slot = slot;
    memcpy(course->tried_from, now->next, sizeof now->next);
    for (;; slot++) {
        size_t from[DEMAND_CLASSES] = { now->next[DEMAND_HIGH], now->next[DEMAND_LOW] };

        moment_give(now, (size_t)servers_at(rerun, slot), slot * OCCURRENCE_SLOT, &rerun->staff,
                    &rerun->leaving);
        run_starts(rerun, course, slot);
        course->tried_quiet = slot;
        is_bearable = count_late(rerun, course, from) && least_added(rerun) <= rerun->limit;
        if (!is_bearable && rerun->limit < INT64_MAX)
            break;
        if (slot >= course->requests.last_slot &&
            now->next[DEMAND_HIGH] == course->requests.count[DEMAND_HIGH] &&
            now->next[DEMAND_LOW] == course->requests.count[DEMAND_LOW])
            break;
        moment_take(now, (slot + 1) * OCCURRENCE_SLOT, &rerun->staff, &rerun->leaving);
        if (slot >= course->requests.last_slot)
            continue;

        size_t at = slot + 1 - course->requests.first_slot;

        if (slot >= changed && moment_is_same(now, &course->moments[at])) {
            course->tried_quiet = course->quiet_slot;
            break;
        }
        moment_copy(&course->tried[at], now);
    }
    course->tried_last = slot;
    course->tried_end = slot < course->requests.last_slot ? slot : course->requests.last_slot;
    memcpy(course->tried_to, now->next, sizeof now->next);
    return is_bearable || rerun->limit == INT64_MAX;
}

static bool is_met(const struct rerun *rerun)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        for (size_t i = 0; i < rerun->setup.span_count; i++)
            if (rerun->violations[class][i] > rerun->allowed[class][i])
                return false;
    return true;
}

bool rerun_try(struct rerun *rerun, struct rerun_change change, int64_t limit, int64_t *ret_added)
{
    size_t first = change.first;
    size_t end = first + change.count;
    size_t last = end >= rerun->setup.slots ? SIZE_MAX : end - 1;
    bool is_bearable = true;

    for (size_t slot = first; slot < end; slot++)
        rerun->servers[slot] += change.servers;
    rerun->change = change;
    rerun->tried_added = 0;
    rerun->tried_high = 0;
    rerun->limit = limit;
    for (size_t i = 0; is_bearable && i < rerun->course_count; i++) {
        struct course *course = &rerun->courses[i];
        size_t slot = first < course->requests.last_slot ? first : course->requests.last_slot;

        if (last < course->requests.first_slot || first > course->quiet_slot)
            continue;
        is_bearable = play(rerun, course,
                           slot > course->requests.first_slot ? slot : course->requests.first_slot,
                           last);
    }
    *ret_added = is_bearable ? rerun->tried_added : least_added(rerun);
    return is_bearable && is_met(rerun);
}

static void mark_changed(struct rerun *rerun, size_t first, size_t last)
{
    for (size_t slot = first; slot <= last && slot < rerun->setup.slots; slot++)
        rerun->changed[slot] = rerun->kept;
}

void rerun_keep(struct rerun *rerun)
{
    rerun->kept++;
    rerun->late_high += rerun->tried_high;
    if (rerun->change.count > 0)
        mark_changed(rerun, rerun->change.first, rerun->change.first + rerun->change.count - 1);
    for (size_t i = 0; i < rerun->course_count; i++) {
        struct course *course = &rerun->courses[i];

        if (!course->is_tried)
            continue;
        course->is_tried = false;
        course->quiet_slot = course->tried_quiet;
        mark_changed(rerun, course->tried_slot, course->tried_last);
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
    for (size_t i = 0; i < rerun->change.count; i++)
        rerun->servers[rerun->change.first + i] -= rerun->change.servers;
    for (size_t i = 0; i < rerun->course_count; i++) {
        struct course *course = &rerun->courses[i];

        if (course->is_tried)
            uncount_late(rerun, course);
        course->is_tried = false;
    }
}

bool rerun_plan(struct rerun *rerun, const int *servers)
{
    memcpy(rerun->servers, servers, rerun->setup.slots * sizeof *servers);
    rerun->change.count = 0;
    rerun->tried_high = 0;
    rerun->limit = INT64_MAX;
    for (size_t i = 0; i < rerun->course_count; i++)
        (void)play(rerun, &rerun->courses[i], rerun->courses[i].requests.first_slot, SIZE_MAX);
    rerun_keep(rerun);
    return is_met(rerun);
}

/* Every start of a segment, as long as all spans can bear it. */
static bool course_passes(struct rerun *rerun, struct course *course, int64_t *late[DEMAND_CLASSES])
{
    struct moment *now = &rerun->now;
    const struct occurrence *requests = &course->requests;

    begin_at(rerun, course, requests->first_slot);
    for (size_t slot = requests->first_slot;; slot++) {
        size_t from[DEMAND_CLASSES] = { now->next[DEMAND_HIGH], now->next[DEMAND_LOW] };

        moment_give(now, (size_t)servers_at(rerun, slot), slot * OCCURRENCE_SLOT, &rerun->staff,
                    &rerun->leaving);
        run_starts(rerun, course, slot);
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            for (size_t i = from[class]; i < now->next[class]; i++) {
                size_t span = requests->span_of[class][i];

                late[class][span] += course->tried_late[class][i];
                if (late[class][span] > rerun->allowed[class][span])
                    return false;
            }
        if (slot >= requests->last_slot && now->next[DEMAND_HIGH] == requests->count[DEMAND_HIGH] &&
            now->next[DEMAND_LOW] == requests->count[DEMAND_LOW])
            return true;
        moment_take(now, (slot + 1) * OCCURRENCE_SLOT, &rerun->staff, &rerun->leaving);
    }
}

bool rerun_passes(struct rerun *rerun, const int *servers)
{
    int64_t *late[DEMAND_CLASSES];
    bool passes = true;

    memcpy(rerun->servers, servers, rerun->setup.slots * sizeof *servers);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        late[class] = mem_new_array(rerun->setup.span_count + 1, sizeof *late[class]);
    for (size_t i = 0; passes && i < rerun->course_count; i++)
        passes = course_passes(rerun, &rerun->courses[i], late);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        mem_free(late[class]);
    return passes;
}

struct rerun_reach rerun_reach(const struct rerun *rerun)
{
    struct rerun_reach reach = { rerun->change.first,
                                 rerun->change.first + rerun->change.count - 1 };

    for (size_t i = 0; i < rerun->course_count; i++) {
        const struct course *course = &rerun->courses[i];

        if (!course->is_tried)
            continue;
        reach.first = course->tried_slot < reach.first ? course->tried_slot : reach.first;
        reach.last = course->tried_last > reach.last ? course->tried_last : reach.last;
    }
    return reach;
}

bool rerun_is_lost(const struct rerun *rerun)
{
    int class = rerun->has_low ? DEMAND_LOW : DEMAND_HIGH;

    for (size_t i = 0; i < rerun->setup.span_count; i++)
        if (rerun->violations[class][i] > rerun->allowed[class][i])
            return true;
    return false;
}

uint64_t rerun_kept(const struct rerun *rerun)
{
    return rerun->kept;
}

uint64_t rerun_changed(const struct rerun *rerun, struct rerun_reach reach)
{
    uint64_t last = 0;

    for (size_t slot = reach.first; slot <= reach.last && slot < rerun->setup.slots; slot++)
        last = rerun->changed[slot] > last ? rerun->changed[slot] : last;
    return last;
}

const int *rerun_servers(const struct rerun *rerun)
{
    return rerun->servers;
}

int64_t rerun_violations(const struct rerun *rerun, enum demand_class class, size_t span)
{
    return rerun->violations[class][span];
}

const struct occurrence *rerun_occurrence(const struct rerun *rerun, size_t at)
{
    return at < rerun->course_count ? &rerun->courses[at].requests : NULL;
}
