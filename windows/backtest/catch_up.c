/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What waits follows from the arrivals that are known and from the servers of the plan itself.
 */
#include "windows/backtest/catch_up.h"

#include "windows/queueing/backlog.h"

struct chase {
    const struct field *field;
    int *servers;
    int *extra;   /* of them, one a slot */
    double *work; /* that waits when a slot begins */
    size_t done;  /* the last slot for which it is known */
};

/* Where nothing is known nothing arrives in the replay either. */
static void advance(struct chase *chase, size_t until)
{
    const struct field *field = chase->field;

    for (; chase->done < until; chase->done++) {
        double load = field_slot_load(field, course_slot(field->course, chase->done));

        chase->work[chase->done + 1] = backlog_after(chase->work[chase->done], load > 0 ? load : 0,
                                                     chase->servers[chase->done], JUDGE_SLOT_MS);
    }
}

/* The first slot whose arrivals are not known at `made`, since their step is not over. */
static size_t known_until(const struct field *field, struct wall_time made)
{
    const struct demand_series *series = field->queue->series;
    int64_t steps = (made.ms - series->start.ms) / series->step_ms;

    return course_slot_from(field->course,
                            (struct wall_time){ series->start.ms + steps * series->step_ms });
}

/* Servers for [from, end), by what waits at `made` and will not have been served by then. */
static void decide(struct chase *chase, struct wall_time made, size_t from, size_t end)
{
    size_t known = known_until(chase->field, made);
    double work;
    int more;

    advance(chase, from);
    work = chase->work[known < from ? known : from];
    for (size_t slot = known; slot < from; slot++)
        work -= chase->extra[slot] * (double)JUDGE_SLOT_MS / SECOND_MS;
    more = backlog_servers(work, chase->servers[from], chase->field->queue->target.wait_ms);
    for (size_t slot = from; slot < end; slot++) {
        chase->extra[slot] = more;
        chase->servers[slot] += more;
    }
}

/* Each decision stands until the next look's servers are there. */
static void chase_span(struct chase *chase, const struct outlook *outlook, size_t at)
{
    const struct course *course = chase->field->course;
    const struct course_span *span = &course->spans.items[at];
    struct wall_time made = outlook_made(outlook->kind, chase->field, span);
    size_t first;
    size_t end;

    course_slots_of(course, span, &first, &end);
    for (size_t look = 0; look <= outlook_looks(outlook, at) && first < end; look++) {
        size_t next = look < outlook_looks(outlook, at)
                          ? outlook_look_slot(chase->field, span, look)
                          : end;

        next = next < end ? next : end;
        if (first < next)
            decide(chase, made, first, next);
        first = first < next ? next : first;
        made = outlook_look_made(span, look);
    }
}

void catch_up(const struct field *field, const struct outlook *outlook, int *servers)
{
    const struct course *course = field->course;
    size_t slots = course->slots + 1;
    struct chase chase = {
        .field = field,
        .servers = servers,
        .extra = mem_new_array(slots, sizeof *chase.extra),
        .work = mem_new_array(slots, sizeof *chase.work),
    };
    size_t span = 0;
    size_t end;

    while (span < course->spans.count && course->spans.items[span].week == 0)
        span++;
    if (span < course->spans.count)
        course_slots_of(course, &course->spans.items[span], &chase.done, &end);
    for (; span < course->spans.count; span++)
        chase_span(&chase, outlook, span);
    mem_free(chase.extra);
    mem_free(chase.work);
}
