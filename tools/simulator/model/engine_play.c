/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See engine_play.h.  A replica stands at the beginning of a stretch of like iterations; the
 * stretch ends when a request has all tokens, when a prompt is to be computed, or when a request
 * arrives that finds a free slot.
 */
#include "tools/simulator/model/engine_play.h"

#include "base/array.h"
#include "base/random.h"
#include "tools/simulator/model/fifo.h"

#include <math.h>

struct prompt {
    double came_s;
    int left; /* tokens to compute */
};

struct replica {
    ARRAY(uint64_t) last; /* heap: iterations after which those that decode have all tokens */
    ARRAY(struct prompt) prompts; /* in the order of admission */
    struct fifo waiting[2];
    uint64_t iteration; /* that are over at from_s */
    uint64_t until;     /* the stretch ends after so many */
    double from_s;
    double each_s;
    double next_s; /* end of the stretch; INFINITY: idle */
    bool leaves;
};

struct engine_play {
    struct engine_plan plan;
    struct wait_log *log;
    struct random length_chance, choice_chance;
    double log_mean, log_deviation;
    ARRAY(struct replica) replicas; /* the oldest first */
    struct fifo waiting[2];         /* for any replica */
    size_t turn;
};

struct engine_play *engine_play_new(uint64_t seed, const struct engine_plan *plan,
                                    struct wait_log *waits)
{
    struct engine_play *play = mem_new(sizeof *play);
    double variance = log1p(plan->tokens_cv * plan->tokens_cv);

    play->plan = *plan;
    play->log = waits;
    random_seed(&play->length_chance, random_mix(seed, "lengths", 0, 0));
    random_seed(&play->choice_chance, random_mix(seed, "choices", 0, 0));
    play->log_mean = log(plan->tokens_out) - variance / 2;
    play->log_deviation = sqrt(variance);
    return play;
}

static void clear_replica(struct replica *replica)
{
    array_clear(&replica->last);
    array_clear(&replica->prompts);
    fifo_clear(&replica->waiting[0]);
    fifo_clear(&replica->waiting[1]);
}

void engine_play_free(struct engine_play *play)
{
    if (!play)
        return;
    for (size_t i = 0; i < play->replicas.count; i++)
        clear_replica(&play->replicas.items[i]);
    array_clear(&play->replicas);
    fifo_clear(&play->waiting[0]);
    fifo_clear(&play->waiting[1]);
    mem_free(play);
}

/* Whole tokens, one at least; their mean is tokens_out. */
static uint64_t draw_tokens(struct engine_play *play)
{
    double mean = play->plan.tokens_out;
    double tokens = mean;

    if (play->plan.tokens_cv == 1 && !play->plan.is_lognormal)
        tokens = mean > 1
                     ? 1 + floor(random_exponential(&play->length_chance, 1) / -log1p(-1 / mean))
                     : 1;
    else if (play->plan.tokens_cv > 0)
        tokens = exp(play->log_mean + play->log_deviation * random_normal(&play->length_chance));
    return (uint64_t)fmax(1, round(tokens));
}

static void last_push(struct replica *replica, uint64_t iteration)
{
    size_t at = replica->last.count;

    *array_add(&replica->last) = iteration;
    for (uint64_t *items = replica->last.items; at > 0 && iteration < items[(at - 1) / 2];
         at = (at - 1) / 2) {
        items[at] = items[(at - 1) / 2];
        items[(at - 1) / 2] = iteration;
    }
}

static void last_pop(struct replica *replica)
{
    uint64_t *items = replica->last.items;
    size_t count = --replica->last.count;
    uint64_t moved = items[count];
    size_t at = 0;

    for (size_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && items[child + 1] < items[child])
            child++;
        if (items[child] >= moved)
            break;
        items[at] = items[child];
        at = child;
    }
    if (count > 0)
        items[at] = moved;
}

static int running(const struct replica *replica)
{
    return (int)(replica->last.count + replica->prompts.count);
}

static size_t outstanding(const struct replica *replica)
{
    return (size_t)running(replica) + replica->waiting[0].count + replica->waiting[1].count;
}

/* The line from which a replica takes the next request; NULL: no request waits. */
static struct fifo *next_line(struct engine_play *play, struct replica *replica)
{
    for (int is_low = 0; is_low < 2; is_low++) {
        if (replica->waiting[is_low].count)
            return &replica->waiting[is_low];
        if (!replica->leaves && play->waiting[is_low].count)
            return &play->waiting[is_low];
    }
    return NULL;
}

static void admit(struct engine_play *play, struct replica *replica)
{
    struct fifo *line;

    while (running(replica) < play->plan.slots && (line = next_line(play, replica))) {
        double came_s = fifo_pop(line);
        bool is_low = line == &replica->waiting[1] || line == &play->waiting[1];

        wait_log_add(play->log, replica->from_s, is_low, fmax(0, replica->from_s - came_s));
        *array_add(&replica->prompts) = (struct prompt){ came_s, play->plan.tokens_in };
    }
}

/* Requests whose prompts are computed have their first token now, and decode from here on. */
static void end_prompts(struct engine_play *play, struct replica *replica)
{
    size_t done = 0;

    while (done < replica->prompts.count && replica->prompts.items[done].left == 0) {
        uint64_t tokens = draw_tokens(play);

        wait_log_first_token(play->log, replica->from_s - replica->prompts.items[done++].came_s);
        if (tokens > 1)
            last_push(replica, replica->iteration + tokens - 1);
    }
    if (done > 0) {
        memmove(replica->prompts.items, replica->prompts.items + done,
                (replica->prompts.count - done) * sizeof *replica->prompts.items);
        replica->prompts.count -= done;
    }
}

/* The requests of the next iterations, and the length of each iteration. */
static void plan_stretch(struct engine_play *play, struct replica *replica)
{
    const struct engine_plan *plan = &play->plan;
    int decoding = plan->tokens_in ? (int)replica->last.count : running(replica);
    int budget = ENGINE_BUDGET - decoding;
    int computed = 0;

    for (size_t i = 0; i < replica->prompts.count && computed < budget; i++) {
        struct prompt *prompt = &replica->prompts.items[i];
        int now = prompt->left < budget - computed ? prompt->left : budget - computed;

        prompt->left -= now;
        computed += now;
    }
    replica->each_s = plan->iteration_s + plan->per_request_s * decoding +
                      plan->prefill_s * computed;
    replica->until = replica->prompts.count ? replica->iteration + 1
                     : decoding             ? replica->last.items[0]
                                            : replica->iteration;
    replica->next_s = replica->until == replica->iteration
                          ? INFINITY
                          : replica->from_s +
                                replica->each_s * (double)(replica->until - replica->iteration);
}

/* The stretch is over. */
static void turn_over(struct engine_play *play, struct replica *replica)
{
    replica->from_s = replica->next_s;
    replica->iteration = replica->until;
    while (replica->last.count && replica->last.items[0] <= replica->iteration)
        last_pop(replica);
    end_prompts(play, replica);
    admit(play, replica);
    plan_stretch(play, replica);
}

/* A request waits for which there is a slot: the iteration that runs is the last of its stretch. */
static void shorten(const struct engine_play *play, struct replica *replica, double now_s)
{
    uint64_t passed;

    if (running(replica) >= play->plan.slots || replica->until == replica->iteration + 1)
        return;
    if (isinf(replica->next_s)) {
        replica->from_s = replica->next_s = now_s;
        replica->until = replica->iteration;
        return;
    }
    passed = (uint64_t)ceil((now_s - replica->from_s) / replica->each_s);
    if (replica->iteration + passed < replica->until) {
        replica->until = replica->iteration + passed;
        replica->next_s = replica->from_s + replica->each_s * (double)passed;
    }
}

static bool is_open(const struct engine_play *play, const struct replica *replica)
{
    return !replica->leaves &&
           (play->plan.choice != CHOICE_CENTRAL || outstanding(replica) < (size_t)play->plan.slots);
}

/* The `nth` of those that are open. */
static struct replica *nth_open(struct engine_play *play, size_t nth)
{
    for (size_t i = 0; i < play->replicas.count; i++)
        if (is_open(play, &play->replicas.items[i]) && nth-- == 0)
            return &play->replicas.items[i];
    return NULL;
}

/* The open replica with the fewest requests; ties by chance. */
static struct replica *least_open(struct engine_play *play)
{
    struct replica *best = NULL;
    size_t ties = 0;

    for (size_t i = 0; i < play->replicas.count; i++) {
        struct replica *replica = &play->replicas.items[i];

        if (!is_open(play, replica) || (best && outstanding(replica) > outstanding(best)))
            continue;
        ties = best && outstanding(replica) == outstanding(best) ? ties + 1 : 1;
        if (random_below(&play->choice_chance, ties) == 0)
            best = replica;
    }
    return best;
}

static struct replica *choose(struct engine_play *play)
{
    size_t count = (size_t)engine_play_count(play);

    if (count == 0)
        return NULL;
    if (play->plan.choice == CHOICE_RANDOM)
        return nth_open(play, random_below(&play->choice_chance, count));
    if (play->plan.choice == CHOICE_IN_TURN)
        return nth_open(play, play->turn++ % count);
    return least_open(play);
}

static void give(struct engine_play *play, double came_s, double now_s, bool is_low)
{
    struct replica *replica = choose(play);

    fifo_push(replica ? &replica->waiting[is_low] : &play->waiting[is_low], came_s);
    if (replica)
        shorten(play, replica, now_s);
}

void engine_play_arrive(struct engine_play *play, double now_s, bool is_low)
{
    give(play, now_s, now_s, is_low);
}

/* Gives the requests that wait in the lines to replicas again. */
static void give_again(struct engine_play *play, struct fifo lines[2], double now_s)
{
    for (int is_low = 0; is_low < 2; is_low++)
        for (size_t left = lines[is_low].count; left > 0; left--)
            give(play, fifo_pop(&lines[is_low]), now_s, is_low);
}

static void remove_idle(struct engine_play *play)
{
    for (size_t i = play->replicas.count; i-- > 0;)
        if (play->replicas.items[i].leaves && outstanding(&play->replicas.items[i]) == 0) {
            clear_replica(&play->replicas.items[i]);
            array_remove(&play->replicas, i);
        }
}

static void dismiss_youngest(struct engine_play *play, double now_s)
{
    struct fifo lines[2];
    struct replica *youngest = NULL;

    for (size_t i = 0; i < play->replicas.count; i++)
        if (!play->replicas.items[i].leaves)
            youngest = &play->replicas.items[i];
    if (!youngest)
        return;
    youngest->leaves = true;
    memcpy(lines, youngest->waiting, sizeof lines);
    memset(youngest->waiting, 0, sizeof youngest->waiting);
    give_again(play, lines, now_s);
    fifo_clear(&lines[0]);
    fifo_clear(&lines[1]);
}

void engine_play_replicas(struct engine_play *play, double now_s, int change)
{
    for (; change > 0; change--) {
        array_add(&play->replicas)->next_s = INFINITY;
        give_again(play, play->waiting, now_s);
    }
    for (; change < 0; change++)
        dismiss_youngest(play, now_s);
    remove_idle(play);
}

static size_t next_replica(const struct engine_play *play)
{
    size_t first = 0;

    for (size_t i = 1; i < play->replicas.count; i++)
        if (play->replicas.items[i].next_s < play->replicas.items[first].next_s)
            first = i;
    return first;
}

double engine_play_next(const struct engine_play *play)
{
    return play->replicas.count ? play->replicas.items[next_replica(play)].next_s : INFINITY;
}

void engine_play_step(struct engine_play *play)
{
    struct replica *replica = &play->replicas.items[next_replica(play)];

    turn_over(play, replica);
    if (replica->leaves)
        remove_idle(play);
}

int engine_play_count(const struct engine_play *play)
{
    int count = 0;

    for (size_t i = 0; i < play->replicas.count; i++)
        count += !play->replicas.items[i].leaves;
    return count;
}

size_t engine_play_waiting(const struct engine_play *play)
{
    size_t count = play->waiting[0].count + play->waiting[1].count;

    for (size_t i = 0; i < play->replicas.count; i++)
        count += play->replicas.items[i].waiting[0].count +
                 play->replicas.items[i].waiting[1].count;
    return count;
}
