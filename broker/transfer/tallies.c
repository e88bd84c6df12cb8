/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See tallies.h.
 */
#include "broker/transfer/tallies.h"

#include "base/counters.h"
#include "base/input/json.h"
#include "base/text.h"
#include "broker/transfer/steps.h"

enum tally { TALLY_MOVES, TALLY_STEPS, TALLY_EVICTIONS, TALLY_NOTICES, TALLY_COUNT };

/* A gang's pods are asked to leave close together: so many jobs back is enough to know one again.
 */
enum { JOBS_KEPT = 256 };

struct tallies {
    struct counters *of[TALLY_COUNT];
    char *jobs[JOBS_KEPT]; /* the last ones that were asked to leave, as a ring */
    size_t job_at;
};

/* From a look at the API to the day that a patient drain may take. */
static const double step_bounds[] = { 1,   5,    15,   30,   60,   120,   300,   600,
                                      900, 1200, 1800, 3600, 7200, 14400, 28800, 0 };
static const double notice_bounds[] = {
    1, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 14400, 0
};

static const struct {
    const char *name;
    const char *labels[COUNTERS_LABELS_MOST];
    const double *bounds; /* NULL: a number of times */
} rows[TALLY_COUNT] = {
    [TALLY_MOVES] = { "moves", { "from", "to", "result" }, NULL },
    [TALLY_STEPS] = { "steps", { "provider", "machine", "step" }, step_bounds },
    [TALLY_EVICTIONS] = { "evictions", { "cluster", "reason" }, NULL },
    [TALLY_NOTICES] = { "notices", { "reason" }, notice_bounds },
};

struct tallies *tallies_new(void)
{
    struct tallies *tallies = mem_new(sizeof *tallies);

    for (size_t i = 0; i < TALLY_COUNT; i++)
        tallies->of[i] = counters_new(rows[i].labels, rows[i].bounds);
    return tallies;
}

void tallies_free(struct tallies *tallies)
{
    if (!tallies)
        return;
    for (size_t i = 0; i < TALLY_COUNT; i++)
        counters_free(tallies->of[i]);
    for (size_t i = 0; i < JOBS_KEPT; i++)
        mem_free(tallies->jobs[i]);
    mem_free(tallies);
}

static const char *reason_of(const struct transfer *transfer)
{
    return transfer->is_emergency ? "emergency" : "planned";
}

/* The steps up to the release are of the machine that leaves, those after it of the new one. */
static const struct config_pool *pool_of_step(const struct transfer *transfer, int step)
{
    return step <= STEP_RELEASE ? transfer->source : transfer->target;
}

void tallies_begin(struct tallies *tallies, const struct transfer *transfer)
{
    for (int state = TRANSFER_LIVE + 1; state < TRANSFER_STATE_COUNT; state++)
        counters_begin(tallies->of[TALLY_MOVES],
                       (const char *[]){ transfer->source->name, transfer->target->name,
                                         transfer_state_name((enum transfer_state)state) });
    counters_begin(tallies->of[TALLY_EVICTIONS],
                   (const char *[]){ transfer->source->cluster->name, reason_of(transfer) });
    if (transfer->source->cluster->role == ROLE_RESEARCH)
        counters_begin(tallies->of[TALLY_NOTICES], (const char *[]){ reason_of(transfer) });
    for (int step = 0; step < STEP_COUNT; step++)
        counters_begin(tallies->of[TALLY_STEPS],
                       (const char *[]){ pool_of_step(transfer, step)->provider->name,
                                         pool_of_step(transfer, step)->reservation->machine,
                                         transfer_steps[step].name });
}

void tallies_step(struct tallies *tallies, const struct transfer *transfer, int step, int64_t ms)
{
    counters_add(tallies->of[TALLY_STEPS],
                 (const char *[]){ pool_of_step(transfer, step)->provider->name,
                                   pool_of_step(transfer, step)->reservation->machine,
                                   transfer_steps[step].name },
                 (double)ms / SECOND_MS);
}

void tallies_end(struct tallies *tallies, const struct transfer *transfer)
{
    require(transfer->state != TRANSFER_LIVE);
    counters_add(tallies->of[TALLY_MOVES],
                 (const char *[]){ transfer->source->name, transfer->target->name,
                                   transfer_state_name(transfer->state) },
                 0);
}

/* Whether no pod of its job was asked to leave by this move before. */
static bool is_first_of_job(struct tallies *tallies, const struct transfer *transfer,
                            const struct pod *pod)
{
    owned(chars) char *job = text_format("%s/%s/%d/%s", transfer->source->cluster->name,
                                         transfer->move, (int)pod->gang.kind, pod->gang.key);

    if (pod->gang.kind == GANG_POD)
        return true;
    for (size_t i = 0; i < JOBS_KEPT; i++)
        if (tallies->jobs[i] && text_equal(tallies->jobs[i], job))
            return false;
    mem_free(tallies->jobs[tallies->job_at]);
    tallies->jobs[tallies->job_at] = steal(&job);
    tallies->job_at = (tallies->job_at + 1) % JOBS_KEPT;
    return true;
}

void tallies_evict(struct tallies *tallies, const struct transfer *transfer, const struct pod *pod,
                   int64_t notice_ms)
{
    const char *const labels[] = { transfer->source->cluster->name, reason_of(transfer) };

    if (is_first_of_job(tallies, transfer, pod))
        counters_add(tallies->of[TALLY_EVICTIONS], labels, 0);
    if (transfer->source->cluster->role == ROLE_RESEARCH)
        counters_add(tallies->of[TALLY_NOTICES], &labels[1], (double)notice_ms / SECOND_MS);
}

json_t *tallies_describe(const struct tallies *tallies)
{
    json_t *all = json_object();

    for (size_t i = 0; i < TALLY_COUNT; i++)
        json_object_set_new(all, rows[i].name, counters_describe(tallies->of[i]));
    return all;
}
