/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replicas that come and go, against a plain simulation that looks at every request at every event.
 * It shares with the batch only who is the emptiest replica (batch_router.h), so that ties fall
 * alike.
 */
#include "tests/support/unit.h"
#include "tools/engine_rows.h"
#include "windows/queueing/batch.h"
#include "windows/queueing/batch_router.h"
#include "windows/servers/service_time.h"

#include <stdlib.h>

enum { JOBS = 900, ROOM = 6, STAGES = 40 };

static const double stage_ticks = 60e6;

struct job {
    double arrived;
    enum demand_class class;
    size_t number;
    int replica;  /* -1: in no replica's line */
    int joined;   /* its line, among all that ever did */
    double start; /* < 0: waits */
    double first;
    double left; /* tokens; 0: done */
    double length;
    double each_ns;
    bool has_come;
};

struct plain {
    const struct engine *engine;
    struct job jobs[JOBS];
    size_t count;
    double now;
    double pause[ROOM];
    double tokens[ROOM]; /* of who runs since the batch was empty */
    double read[ROOM];
    int order[ROOM]; /* replicas; the first `active` take requests */
    int active;
    int joined;
    int turn;
    struct batch_loads loads; /* of places in the order */
    struct random lengths;
    uint64_t word;
    unsigned drawn;
    struct random chances;
    int moved; /* from the line of a replica that drains */
    int held;  /* while there was no replica */
    int drained;
};

static bool is_central(const struct plain *plain)
{
    return plain->engine->law.router == ENGINE_CENTRAL;
}

static bool has_loads(const struct plain *plain)
{
    return plain->active > 1 &&
           (is_central(plain) || plain->engine->law.router == ENGINE_LEAST_OUTSTANDING);
}

static bool waits(const struct job *job)
{
    return job->has_come && job->start < 0;
}

static int running_in(const struct plain *plain, int replica)
{
    int count = 0;

    for (size_t i = 0; i < plain->count; i++)
        count += plain->jobs[i].replica == replica && plain->jobs[i].left > 0;
    return count;
}

static double pace_of(const struct plain *plain, int replica)
{
    return 1e6 * engine_iteration_s(&plain->engine->law, running_in(plain, replica));
}

static void start(struct plain *plain, struct job *job, int replica, bool comes)
{
    double *tokens = &plain->tokens[replica];
    double *read = &plain->read[replica];
    unsigned index;

    if (running_in(plain, replica) == 0)
        *tokens = 0;
    if (plain->drawn++ % 4 == 0)
        plain->word = random_next(&plain->lengths);
    index = plain->word & 0xffff;
    plain->word >>= 16;

    double chunks = (double)plain->engine->in[index] / 2048;
    double prefill = 1e6 * plain->engine->law.prefill_s * (double)plain->engine->in[index];

    job->replica = replica;
    job->start = plain->now;
    job->length = (double)plain->engine->out[index];
    job->left = job->length + fmax(1, ceil(chunks)) - 1;
    plain->pause[replica] += prefill;

    double pace = pace_of(plain, replica);
    double rest = *read > plain->now ? *read - plain->now + pace
                  : comes            ? (ceil(*tokens) - *tokens) * pace
                                     : 0;

    job->first = plain->now + rest + prefill + fmax(1, chunks) * pace;
    *read = fmax(*read, plain->now) + prefill + chunks * pace;
    job->each_ns = plain->now + plain->pause[replica] + fmax(1, ceil(chunks)) * pace;
}

/* A place in the order. */
static int route(struct plain *plain)
{
    if (plain->active == 1)
        return 0;
    if (plain->engine->law.router == ENGINE_ROUND_ROBIN)
        return plain->turn++ % plain->active;

    uint32_t chance = (uint32_t)(random_next(&plain->chances) >> 32);

    return plain->engine->law.router == ENGINE_RANDOM
               ? (int)((uint64_t)chance * (uint64_t)plain->active >> 32)
               : (int)batch_loads_least(&plain->loads, chance);
}

static void come(struct plain *plain, struct job *job)
{
    job->has_come = true;
    job->replica = -1;
    job->joined = plain->joined++;
    if (plain->active == 0) {
        plain->held++;
        return;
    }

    int place = route(plain);
    int replica = plain->order[place];
    bool is_full = running_in(plain, replica) == plain->engine->law.slots;

    if (has_loads(plain) && !(is_full && is_central(plain)))
        batch_loads_more(&plain->loads, (unsigned)place);
    if (!is_full)
        start(plain, job, replica, true);
    else if (!is_central(plain))
        job->replica = replica;
}

/* Who is first in a replica's line; -1: in that of none. */
static struct job *first_in_line(struct plain *plain, int replica)
{
    struct job *first = NULL;

    for (size_t i = 0; i < plain->count; i++) {
        struct job *job = &plain->jobs[i];

        if (waits(job) && job->replica == replica &&
            (!first || job->class < first->class ||
             (job->class == first->class && job->joined < first->joined)))
            first = job;
    }
    return first;
}

static int place_of(const struct plain *plain, int replica)
{
    int place = 0;

    while (plain->order[place] != replica)
        place++;
    return place;
}

static void end(struct plain *plain, struct job *job)
{
    int place = place_of(plain, job->replica);
    struct job *next = first_in_line(plain, is_central(plain) ? -1 : job->replica);

    job->left = 0;
    job->each_ns = job->length >= 2 ? 1000 * (plain->now - job->each_ns) / (job->length - 1) : 0;
    if (place >= plain->active) {
        plain->drained++;
        return;
    }
    if (has_loads(plain) && !(next && is_central(plain)))
        batch_loads_fewer(&plain->loads, (unsigned)place);
    if (next)
        start(plain, next, job->replica, next->arrived >= plain->now);
}

static void pass(struct plain *plain, double then)
{
    for (int replica = 0; replica < ROOM; replica++) {
        double passed = then - plain->now;
        double paused = fmin(passed, plain->pause[replica]);
        double pace = pace_of(plain, replica);

        if (running_in(plain, replica) == 0) {
            plain->pause[replica] = 0;
            continue;
        }
        plain->pause[replica] -= paused;
        plain->tokens[replica] += (passed - paused) / pace;
        for (size_t i = 0; i < plain->count; i++)
            if (plain->jobs[i].replica == replica && plain->jobs[i].left > 0)
                plain->jobs[i].left -= (passed - paused) / pace;
    }
    plain->now = then;
}

/* Who ends first, and when. */
static struct job *first_end(struct plain *plain, double *ret_when)
{
    struct job *first = NULL;

    *ret_when = HUGE_VAL;
    for (size_t i = 0; i < plain->count; i++) {
        struct job *job = &plain->jobs[i];

        if (!(job->left > 0))
            continue;

        double when = plain->now + plain->pause[job->replica] +
                      job->left * pace_of(plain, job->replica);

        if (when < *ret_when) {
            *ret_when = when;
            first = job;
        }
    }
    return first;
}

/* Everything before `then`; those from *next on arrive. */
static void run_until(struct plain *plain, size_t *next, double then)
{
    for (;;) {
        double when;
        struct job *first = first_end(plain, &when);
        double arrival = *next < plain->count ? plain->jobs[*next].arrived : HUGE_VAL;

        if (fmin(arrival, when) >= then)
            break;
        pass(plain, fmin(arrival, when));
        if (arrival <= when) {
            come(plain, &plain->jobs[(*next)++]);
        } else {
            first->left = 0;
            end(plain, first);
        }
    }
    if (then < HUGE_VAL)
        pass(plain, then);
}

static double rest_of(const struct plain *plain, int replica)
{
    double most = 0;

    for (size_t i = 0; i < plain->count; i++)
        if (plain->jobs[i].replica == replica)
            most = fmax(most, plain->jobs[i].left);
    return plain->pause[replica] + most * pace_of(plain, replica);
}

static bool has_more_to_do(const struct plain *plain, int a, int b)
{
    if (running_in(plain, a) != running_in(plain, b))
        return running_in(plain, a) > running_in(plain, b);
    return running_in(plain, a) > 0 && rest_of(plain, a) > rest_of(plain, b);
}

static void sort_order(struct plain *plain)
{
    for (int i = 1; i < ROOM; i++)
        for (int at = i; at > 0 && has_more_to_do(plain, plain->order[at], plain->order[at - 1]);
             at--) {
            int other = plain->order[at];

            plain->order[at] = plain->order[at - 1];
            plain->order[at - 1] = other;
        }
}

static void count_loads(struct plain *plain)
{
    if (!has_loads(plain))
        return;
    plain->loads.count = (unsigned)plain->active;
    batch_loads_reset(&plain->loads);
    for (int place = 0; place < plain->active; place++)
        for (size_t i = 0; i < plain->count; i++)
            if (plain->jobs[i].replica == plain->order[place] &&
                (plain->jobs[i].left > 0 || waits(&plain->jobs[i])))
                batch_loads_more(&plain->loads, (unsigned)place);
}

static void move_waiting(struct plain *plain)
{
    struct job *moves[JOBS];
    size_t count = 0;

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        for (size_t i = 0; i < plain->count; i++) {
            struct job *job = &plain->jobs[i];
            bool is_homeless = waits(job) && (int)job->class == class &&
                               (job->replica < 0 ? !is_central(plain)
                                                 : place_of(plain, job->replica) >= plain->active);

            if (is_homeless)
                moves[count++] = job;
        }
    for (size_t i = 0; i < count; i++)
        moves[i]->has_come = false;
    count_loads(plain);
    for (size_t i = 0; i < count; i++) {
        plain->moved++;
        come(plain, moves[i]);
    }
}

static bool has_free_slot(const struct plain *plain)
{
    for (int place = 0; place < plain->active; place++)
        if (running_in(plain, plain->order[place]) < plain->engine->law.slots)
            return true;
    return false;
}

static void resize(struct plain *plain, int replicas)
{
    struct job *first;

    if (replicas == plain->active)
        return;
    plain->turn = plain->active > 0 ? plain->turn % plain->active : 0;
    sort_order(plain);
    plain->active = replicas;
    move_waiting(plain);
    while (is_central(plain) && has_free_slot(plain) && (first = first_in_line(plain, -1)))
        come(plain, first);
}

static void plain_init(struct plain *plain, const struct engine *engine, uint64_t seed, double rate)
{
    struct random random;
    size_t numbers[DEMAND_CLASSES] = { 0 };
    double at = 0;

    *plain = (struct plain){ .engine = engine, .count = JOBS };
    random_seed(&random, seed);
    for (size_t i = 0; i < JOBS; i++) {
        enum demand_class class = random_below(&random, 3) == 0 ? DEMAND_HIGH : DEMAND_LOW;

        at += random_exponential(&random, 1e6 / rate);
        plain->jobs[i] = (struct job){ .arrived = floor(at),
                                       .class = class,
                                       .number = numbers[class]++,
                                       .replica = -1,
                                       .start = -1 };
    }
    for (int i = 0; i < ROOM; i++)
        plain->order[i] = i;
    batch_loads_init(&plain->loads, ROOM);
    random_seed(&plain->lengths, seed + 1);
    random_seed(&plain->chances, seed + 2);
}

struct found {
    uint64_t *values[REPLAY_FIGURES][DEMAND_CLASSES];
};

static void found_init(struct found *found, struct batch_tally *tally)
{
    *tally = (struct batch_tally){ .limits = { 0, 0, 0 } };
    for (int figure = 0; figure < REPLAY_FIGURES; figure++)
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            tally->kept[figure][class] = found->values[figure][class] = mem_new_array(
                JOBS, sizeof(uint64_t));
}

static void found_clear(struct found *found)
{
    for (int figure = 0; figure < REPLAY_FIGURES; figure++)
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            mem_free(found->values[figure][class]);
}

/* The jobs of [begin, end) by class. */
static void feed_jobs(struct batch *batch, const struct plain *plain, double begin, double end)
{
    uint64_t at[DEMAND_CLASSES][JOBS];
    struct batch_feed feed = { .at = { at[0], at[1] }, .horizon = end };

    for (size_t i = 0; i < plain->count; i++) {
        const struct job *job = &plain->jobs[i];

        if (job->arrived < begin || job->arrived >= end)
            continue;
        if (feed.count[job->class] == 0)
            feed.number[job->class] = job->number;
        at[job->class][feed.count[job->class]++] = (uint64_t)job->arrived;
    }
    batch_run(batch, &feed);
}

static void run_batch(struct batch *batch, const struct plain *plain, uint64_t seed,
                      const int *replicas)
{
    struct random lengths;

    random_seed(&lengths, seed + 1);
    batch_resize(batch, replicas[0], 0);
    batch_draw_from(batch, &lengths, 0);
    batch_route_from(batch, seed + 2, 0);
    for (int stage = 0; stage < STAGES; stage++) {
        batch_resize(batch, replicas[stage], stage * stage_ticks);
        feed_jobs(batch, plain, stage * stage_ticks,
                  stage + 1 < STAGES ? (stage + 1) * stage_ticks : HUGE_VAL);
    }
    assert_int_equal(batch_first_open(batch, DEMAND_HIGH), SIZE_MAX);
    assert_int_equal(batch_first_open(batch, DEMAND_LOW), SIZE_MAX);
}

static void run_plain(struct plain *plain, const int *replicas)
{
    size_t next = 0;

    for (int stage = 0; stage < STAGES; stage++) {
        resize(plain, replicas[stage]);
        run_until(plain, &next, stage + 1 < STAGES ? (stage + 1) * stage_ticks : HUGE_VAL);
    }
    assert_int_equal(next, plain->count);
}

static void assert_close(const char *what, const struct job *job, const struct found *found,
                         enum replay_figure figure, double want)
{
    double is = (double)found->values[figure][job->class][job->number];

    if (!(fabs(is - want) < 2 + 1e-6 * want))
        fail_msg("%s of class %d, number %zu, at %.0f: %.0f, not %.1f", what, job->class,
                 job->number, job->arrived, is, want);
}

static void replicas_come_and_go_as_in_a_plain_simulation(void **state)
{
    int moved = 0;
    int held = 0;
    int drained = 0;

    (void)state;
    for (uint64_t trial = 0; trial < 24; trial++) {
        const struct engine_law law = { 1 + (int)(trial / 4 % 3) * 2,
                                        0.05,
                                        0.02,
                                        0.0002,
                                        0,
                                        (enum engine_router)(trial % ENGINE_ROUTERS) };
        struct service_time *service = engine_service(&law, 120, 1.2, trial % 2 ? 2500 : 0);
        struct plain *plain = mem_new(sizeof *plain);
        struct found found;
        struct batch_tally tally;
        struct random random;
        int replicas[STAGES];

        plain_init(plain, service->engine, 100 * trial, 0.4);
        random_seed(&random, trial);
        for (int stage = 0; stage < STAGES; stage++)
            replicas[stage] = (int)random_below(&random, ROOM + 1);
        replicas[STAGES - 1] = 2;
        found_init(&found, &tally);

        owned(batch) struct batch *batch = batch_new(service->engine, ROOM, &tally);

        run_batch(batch, plain, 100 * trial, replicas);
        run_plain(plain, replicas);
        for (size_t i = 0; i < plain->count; i++) {
            const struct job *job = &plain->jobs[i];

            assert_close("wait", job, &found, REPLAY_WAIT, job->start - job->arrived);
            assert_close("first token", job, &found, REPLAY_TTFT, job->first - job->arrived);
            assert_close("each token", job, &found, REPLAY_ITL, job->each_ns);
        }
        moved += plain->moved;
        held += plain->held;
        drained += plain->drained;
        batch_loads_clear(&plain->loads);
        found_clear(&found);
        service_time_free(service);
        mem_free(plain);
    }
    assert_true(moved > 100 && held > 100 && drained > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_come_and_go_as_in_a_plain_simulation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
