/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Queues have what their plans want before any of them catches up.
 */
#include "windows/backtest/catch_up.h"

#include "windows/queueing/backlog.h"

struct chase {
    const struct field *field;
    int *servers;
    int *left;        /* GPUs that no queue has, one a slot */
    int *extra;       /* of the servers, one a slot, */
    int64_t *made_ms; /* and when that was decided */
    double *work;     /* that waits when a slot begins */
    size_t done;      /* the last slot for which it is known */
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

/* The first slot, up to `from`, whose arrivals are not all known at `made`. */
static size_t known_until(const struct field *field, struct wall_time made, size_t from)
{
    size_t slot = course_slot_from(field->course, made);

    slot = slot < from ? slot : from;
    while (slot > 0 && field_slot_known(field, course_slot(field->course, slot - 1)).ms > made.ms)
        slot--;
    return slot;
}

/* The work that waits at `made` and will not have been served when `from` begins, as far as that is
   known at `made`. */
static double work_left(const struct chase *chase, struct wall_time made, size_t from)
{
    size_t known = known_until(chase->field, made, from);
    double work = chase->work[known];

    for (size_t slot = known; slot < from; slot++)
        if (chase->made_ms[slot] <= made.ms)
            work -= chase->extra[slot] * (double)JUDGE_SLOT_MS / SECOND_MS;
    return work;
}

/* Servers for [from, end). */
static void decide(struct chase *chase, struct wall_time made, size_t from, size_t end)
{
    const struct backtest_queue *queue = chase->field->queue;
    int more;

    advance(chase, from);
    more = backlog_servers(work_left(chase, made, from), chase->servers[from],
                           queue->target.wait_ms);
    for (size_t slot = from; slot < end; slot++)
        more = chase->left[slot] / queue->gpus < more ? chase->left[slot] / queue->gpus : more;
    for (size_t slot = from; slot < end; slot++) {
        chase->extra[slot] = more;
        chase->made_ms[slot] = made.ms;
        chase->servers[slot] += more;
        chase->left[slot] -= more * queue->gpus;
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

/* From the first week that is planned on. */
static void chase_queue(const struct field *field, enum outlook_kind kind, int *left, int *servers)
{
    const struct course *course = field->course;
    size_t slots = course->slots + 1;
    struct chase chase = {
        .field = field,
        .servers = servers,
        .left = left,
        .extra = mem_new_array(slots, sizeof *chase.extra),
        .made_ms = mem_new_array(slots, sizeof *chase.made_ms),
        .work = mem_new_array(slots, sizeof *chase.work),
    };
    size_t span = 0;
    size_t end;

    while (span < course->spans.count && course->spans.items[span].week == 0)
        span++;
    if (span < course->spans.count)
        course_slots_of(course, &course->spans.items[span], &chase.done, &end);
    for (; span < course->spans.count; span++)
        chase_span(&chase, &field->outlooks[kind], span);
    mem_free(chase.extra);
    mem_free(chase.made_ms);
    mem_free(chase.work);
}

void catch_up(const struct run_frame *frame, enum outlook_kind kind, int fleet_gpus, int **servers)
{
    size_t slots = frame->planned->slots;
    int *left = mem_new_array(slots, sizeof *left);

    for (size_t slot = 0; slot < slots; slot++) {
        left[slot] = fleet_gpus;
        for (size_t i = 0; i < frame->queue_count; i++)
            left[slot] -= servers[i][slot] * frame->fields[i].queue->gpus;
        left[slot] = left[slot] > 0 ? left[slot] : 0;
    }
    for (size_t i = 0; i < frame->queue_count; i++)
        chase_queue(&frame->fields[i], kind, left, servers[i]);
    mem_free(left);
}
