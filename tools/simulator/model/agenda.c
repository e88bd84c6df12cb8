/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The coming events: a binary heap by time, then by the order in which they were asked for, behind
 * one timer of the loop.  The referee looks after every event.
 */
#include "tools/simulator/model/model.h"

struct event {
    int64_t at_ms;
    uint64_t order;
    sim_event_fn fn;
    struct actor *actor;
    uint64_t stamp;
};

struct agenda {
    struct simulator *sim;
    struct timer *timer;
    uint64_t order;
    ARRAY(struct event) heap;
};

static bool is_before(const struct event *left, const struct event *right)
{
    return left->at_ms != right->at_ms ? left->at_ms < right->at_ms : left->order < right->order;
}

static void push(struct agenda *agenda, struct event event)
{
    *array_add(&agenda->heap) = event;

    struct event *items = agenda->heap.items;
    size_t at = agenda->heap.count - 1;

    while (at > 0 && is_before(&event, &items[(at - 1) / 2])) {
        items[at] = items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    items[at] = event;
}

static struct event pop(struct agenda *agenda)
{
    struct event *items = agenda->heap.items;
    struct event first = items[0];
    struct event last = items[--agenda->heap.count];
    size_t count = agenda->heap.count;
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= count)
            break;
        if (child + 1 < count && is_before(&items[child + 1], &items[child]))
            child++;
        if (!is_before(&items[child], &last))
            break;
        items[at] = items[child];
        at = child;
    }
    if (count)
        items[at] = last;
    return first;
}

static void passed(struct actor *actor)
{
    actor->pending--;
    if (actor->is_gone && actor->pending == 0 && actor->free)
        actor->free(actor);
}

static void fire(void *context)
{
    struct agenda *agenda = context;
    struct simulator *sim = agenda->sim;
    int64_t now_ms = loop_now(sim->loop);

    while (agenda->heap.count && agenda->heap.items[0].at_ms <= now_ms) {
        struct event event = pop(agenda);

        if (!event.actor->is_gone) {
            event.fn(sim, event.actor, event.stamp);
            referee_check(sim);
        }
        passed(event.actor);
    }
    if (agenda->heap.count)
        timer_set(agenda->timer, agenda->heap.items[0].at_ms - now_ms);
}

struct agenda *sim_agenda_new(struct simulator *sim)
{
    struct agenda *agenda = mem_new(sizeof *agenda);

    agenda->sim = sim;
    agenda->timer = timer_new(sim->loop, fire, agenda);
    return agenda;
}

void sim_agenda_free(struct agenda *agenda)
{
    if (!agenda)
        return;
    for (size_t i = 0; i < agenda->heap.count; i++)
        passed(agenda->heap.items[i].actor);
    array_clear(&agenda->heap);
    timer_free(agenda->timer);
    mem_free(agenda);
}

void sim_after(struct simulator *sim, int64_t delay_ms, sim_event_fn fn, struct actor *actor,
               uint64_t stamp)
{
    struct agenda *agenda = sim->agenda;
    int64_t now_ms = loop_now(sim->loop);

    require(delay_ms >= 0);
    actor->pending++;
    push(agenda, (struct event){ now_ms + delay_ms, agenda->order++, fn, actor, stamp });
    timer_set_sooner(agenda->timer, agenda->heap.items[0].at_ms > now_ms
                                        ? agenda->heap.items[0].at_ms - now_ms
                                        : 0);
}

void sim_actor_end(struct actor *actor)
{
    actor->is_gone = true;
    if (actor->pending == 0 && actor->free)
        actor->free(actor);
}
