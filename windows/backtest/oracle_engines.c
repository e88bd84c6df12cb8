/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The margins are roots of the load in places for requests (square-root staffing).  All occurrences
 * are bisected side by side, one replay of all weeks a round.
 */
#include "windows/backtest/oracle_engines.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 10, REPAIRS = 10 };

static const double least_roots = -4;
static const double most_roots = 12;

struct margin {
    double fails;
    double passes;
    double tried;
    bool is_given_up; /* keeps its numbers */
};

struct oracle {
    const struct field *field;
    struct arrivals *arrivals;
    const int *most; /* the plan that is lowered */
    double *loads;   /* replicas that are busy in a slot; negative: unknown */
    struct margin *margins;
    struct judge_score *scores;
    int *servers;
};

/* The slots that begin in a span that is judged. */
static void slots_of(const struct oracle *oracle, size_t span, size_t *ret_first, size_t *ret_end)
{
    const struct course_span judged = { .time = oracle->field->judged[span] };

    course_slots_of(oracle->field->course, &judged, ret_first, ret_end);
}

static int number_at(const struct oracle *oracle, size_t slot, double roots)
{
    double load = oracle->loads[slot];
    double places = engine_places(oracle->field->service->engine);
    double number = load < 0 ? oracle->most[slot] : ceil(load + roots * sqrt(load / places));

    number = fmax(number, 1);
    return number < oracle->most[slot] ? (int)number : oracle->most[slot];
}

static void fill(struct oracle *oracle, size_t span, const struct margin *margin)
{
    size_t first;
    size_t end;

    slots_of(oracle, span, &first, &end);
    for (size_t slot = first; slot < end; slot++)
        oracle->servers[slot] = margin->is_given_up ? oracle->most[slot]
                                                    : number_at(oracle, slot, margin->tried);
}

static void judge_margins(struct oracle *oracle)
{
    const struct field *field = oracle->field;
    const struct judge_plan plan = { course_slot(field->course, 0), oracle->servers,
                                     field->course->slots };

    for (size_t span = 0; span < field->judged_count; span++)
        fill(oracle, span, &oracle->margins[span]);
    judge(&(struct judge_setup){ oracle->arrivals, &field->queue->target, field->judged,
                                 field->judged_count },
          &plan, oracle->scores);
}

static void bisect(struct oracle *oracle)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t span = 0; span < oracle->field->judged_count; span++) {
            struct margin *margin = &oracle->margins[span];

            margin->tried = (margin->fails + margin->passes) / 2;
        }
        judge_margins(oracle);
        for (size_t span = 0; span < oracle->field->judged_count; span++) {
            struct margin *margin = &oracle->margins[span];

            if (oracle->scores[span].is_met)
                margin->passes = margin->tried;
            else
                margin->fails = margin->tried;
        }
    }
}

/* A span (one judged occurrence) that still fails when all others are settled keeps its numbers. So
   does the span before it, which leaves requests to it. */
static bool give_up_failed(struct oracle *oracle)
{
    bool has_any = false;

    for (size_t span = 0; span < oracle->field->judged_count; span++) {
        if (oracle->scores[span].is_met)
            continue;
        has_any = has_any || !oracle->margins[span].is_given_up ||
                  (span > 0 && !oracle->margins[span - 1].is_given_up);
        oracle->margins[span].is_given_up = true;
        if (span > 0)
            oracle->margins[span - 1].is_given_up = true;
    }
    return has_any;
}

static void settle(struct oracle *oracle)
{
    for (size_t span = 0; span < oracle->field->judged_count; span++) {
        struct margin *margin = &oracle->margins[span];

        margin->tried = margin->passes;
        margin->is_given_up = !(margin->passes < most_roots);
    }
    judge_margins(oracle);
    for (int turn = 0; turn < REPAIRS && give_up_failed(oracle); turn++)
        judge_margins(oracle);
}

void oracle_engines(const struct field *field, struct arrivals *arrivals, int *servers)
{
    size_t slots = field->course->slots;
    int *most = mem_new_array(slots, sizeof *most);
    struct oracle oracle = {
        .field = field,
        .arrivals = arrivals,
        .most = most,
        .loads = mem_new_array(slots, sizeof *oracle.loads),
        .margins = mem_new_array(field->judged_count, sizeof *oracle.margins),
        .scores = mem_new_array(field->judged_count, sizeof *oracle.scores),
        .servers = servers,
    };

    memcpy(most, servers, slots * sizeof *most);
    for (size_t slot = 0; slot < slots; slot++)
        oracle.loads[slot] = field_slot_load(field, course_slot(field->course, slot));
    for (size_t span = 0; span < field->judged_count; span++)
        oracle.margins[span] = (struct margin){ .fails = least_roots, .passes = most_roots };
    bisect(&oracle);
    settle(&oracle);
    mem_free(most);
    mem_free(oracle.loads);
    mem_free(oracle.margins);
    mem_free(oracle.scores);
}
