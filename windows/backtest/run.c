/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See run.h.
 */
#include "windows/backtest/run.h"

#include "windows/backtest/catch_up.h"

void run_init(struct run *run, const struct run_frame *frame, const struct policy *policy,
              double level)
{
    run->policy = policy;
    run->level = level;
    run->nodes = mem_new_array(frame->planned->slots, sizeof *run->nodes);
    run->servers = mem_new_array(frame->queue_count, sizeof *run->servers);
    run->scores = mem_new_array(frame->queue_count, sizeof *run->scores);
    for (size_t i = 0; i < frame->queue_count; i++) {
        run->servers[i] = mem_new_array(frame->planned->slots, sizeof **run->servers);
        run->scores[i] = mem_new_array(frame->judged->spans.count, sizeof **run->scores);
    }
}

void run_clear(struct run *run, const struct run_frame *frame)
{
    for (size_t i = 0; run->policy && i < frame->queue_count; i++) {
        mem_free(run->servers[i]);
        mem_free(run->scores[i]);
    }
    mem_free(run->servers);
    mem_free(run->scores);
    mem_free(run->nodes);
}

int run_gpus(const struct run *run, const struct run_frame *frame, size_t slot)
{
    int sum = 0;

    for (size_t i = 0; i < frame->queue_count; i++)
        sum += run->servers[i][slot] * frame->fields[i].queue->gpus;
    return sum;
}

static void cut(struct run *run, const struct run_frame *frame, int fleet_gpus)
{
    for (size_t slot = 0; slot < frame->planned->slots; slot++) {
        double share = (double)fleet_gpus / run_gpus(run, frame, slot);

        for (size_t i = 0; share < 1 && i < frame->queue_count; i++)
            run->servers[i][slot] = (int)(run->servers[i][slot] * share);
    }
}

void run_fit(struct run *run, const struct run_frame *frame, const struct fleet *fleet)
{
    size_t slots = frame->planned->slots;
    int fleet_gpus = fleet->nodes * fleet->gpus_per_node;
    int *gpus = mem_new_array(slots, sizeof *gpus);
    size_t *known = run->policy->is_planned ? mem_new_array(slots, sizeof *known) : NULL;

    if (known)
        policies_known(run->policy, &frame->fields[0], known);
    cut(run, frame, fleet_gpus);
    if (run->policy->is_again)
        catch_up(frame, run->policy->outlook, fleet_gpus, run->servers);
    for (size_t slot = 0; slot < slots; slot++)
        gpus[slot] = run_gpus(run, frame, slot);
    measure_nodes(fleet, gpus, slots, known, run->nodes);
    mem_free(known);
    mem_free(gpus);
}

struct measure run_measure(const struct run *run, const struct run_frame *frame,
                           const struct fleet *fleet, struct course_weeks weeks)
{
    size_t first = course_week_slot(frame->planned, weeks.from);
    size_t end = course_week_slot(frame->planned, weeks.to);
    struct measure measure = { 0 };

    measure_capacity(fleet, run->nodes,
                     &(struct measure_slots){ first, end, frame->fields[0].counted }, &measure);
    for (size_t i = 0; i < frame->queue_count; i++) {
        const struct field *field = &frame->fields[i];

        measure_promises(frame->judged, weeks, run->scores[i], &field->queue->target, &measure);
        measure_shortage(field, run->servers[i], first, end, &measure);
    }
    return measure;
}
