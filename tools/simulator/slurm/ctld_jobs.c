/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of a job: starts on its nodes, checkpoints when its batch script gets USR1, ends by
 * itself, at its limit, or when it is told to.  What is told gets TERM, and KILL after 30 s; until
 * then it is COMPLETING and still on its nodes.  A requeued job keeps its number and its
 * checkpoint, and waits for the lifetime of its credential.
 */
#include "tools/simulator/slurm/ctld.h"

enum {
    KILL_WAIT_MS = 30 * SECOND_MS,
    PURGE_MS = 5 * MINUTE_MS, /* MinJobAge */
    NEVER_MS = 0,
};

static void free_job(struct actor *actor)
{
    mem_free(actor);
}

struct ctld_job *ctld_job_new(struct ctld *slurm)
{
    struct ctld_job *job = mem_new(sizeof *job);

    job->actor.free = free_job;
    job->slurm = slurm;
    job->id = slurm->next_job++;
    job->array_task = -1;
    job->node_count = 1;
    job->cpus = 1;
    job->may_requeue = true;
    job->why = "None";
    job->submit_ms = job->eligible_ms = sim_now(slurm->sim);
    text_copy(job->partition, sizeof job->partition, "train");
    *array_add(&slurm->jobs) = job;
    return job;
}

struct ctld_job *ctld_job_find(struct ctld *slurm, int id)
{
    for (size_t i = 0; i < slurm->jobs.count; i++)
        if (slurm->jobs.items[i]->id == id)
            return slurm->jobs.items[i];
    return NULL;
}

bool ctld_job_is_over(const struct ctld_job *job)
{
    return job->state != CTLD_PENDING && job->state != CTLD_RUNNING;
}

bool ctld_job_is_on(const struct ctld_job *job, const struct ctld_node *node)
{
    for (int i = 0; i < job->node_count; i++)
        if (job->nodes[i] == node)
            return true;
    return false;
}

int64_t ctld_job_done_ms(const struct ctld_job *job)
{
    return job->done_ms +
           (job->state == CTLD_RUNNING ? sim_now(job->slurm->sim) - job->saved_ms : 0);
}

static void purge(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct ctld_job *job = (struct ctld_job *)actor;
    struct ctld *slurm = job->slurm;

    (void)sim;
    if (job->stamp != stamp)
        return;
    for (size_t i = 0; i < slurm->jobs.count; i++)
        if (slurm->jobs.items[i] == job) {
            array_remove(&slurm->jobs, i);
            break;
        }
    sim_actor_end(actor);
}

static void take_nodes(struct ctld_job *job, int sign)
{
    struct simulator *sim = job->slurm->sim;

    for (int i = 0; i < job->node_count; i++) {
        struct ctld_node *node = job->nodes[i];

        if (!node)
            continue;
        sim_account(sim);
        if (node->kind_count == 0)
            sim->research_gpus_used += sign * job->gpus;
        node->gpu_bits ^= job->gpu_bits[i];
        node->gpus_used += sign * job->gpus;
        node->cpus_used += sign * (job->is_exclusive ? CTLD_CPUS : job->cpus);
        node->jobs += sign;
        node->busy_ms = sim_now(sim);
        ctld_node_refresh_later(node);
    }
}

/* It has left its nodes. */
static void left(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct ctld_job *job = (struct ctld_job *)actor;

    if (job->stamp != stamp)
        return;
    for (int i = 0; i < job->node_count; i++)
        if (job->nodes[i])
            job->nodes[i]->completing--;
    take_nodes(job, -1);
    memset(job->nodes, 0, sizeof job->nodes);
    memset(job->gpu_bits, 0, sizeof job->gpu_bits);
    job->is_completing = false;
    job->stamp++;
    if (job->state == CTLD_PENDING) {
        memset(job->node_names, 0, sizeof job->node_names);
        job->eligible_ms = sim_now(sim) + CTLD_CREDENTIAL_MS;
        job->why = job->is_held ? "JobHeldUser" : "BeginTime";
    } else {
        sim_after(sim, PURGE_MS, purge, actor, job->stamp);
    }
    ctld_schedule_soon(job->slurm);
}

static void count_end(struct ctld_job *job, enum ctld_job_state state, bool requeues)
{
    struct simulator *sim = job->slurm->sim;
    int64_t lost_ms = ctld_job_done_ms(job) - job->done_ms;

    job->slurm->requeued += requeues;
    job->slurm->cancelled += state == CTLD_CANCELLED;
    job->slurm->done += state == CTLD_COMPLETED && !requeues;
    sim->jobs_done += state == CTLD_COMPLETED && !requeues;
    if (!requeues && state == CTLD_COMPLETED)
        return;
    sim->jobs_evicted++;
    sim->lost_gpu_s += (double)(job->gpus * job->node_count) * (double)lost_ms / SECOND_MS;
}

void ctld_job_end(struct ctld_job *job, enum ctld_job_state state, bool requeues)
{
    struct simulator *sim = job->slurm->sim;
    bool is_natural = state == CTLD_COMPLETED && !requeues;

    if (job->state == CTLD_PENDING && !job->is_completing) {
        job->state = requeues ? CTLD_PENDING : state;
        job->end_ms = sim_now(sim);
        job->slurm->cancelled += state == CTLD_CANCELLED;
        job->stamp++;
        sim_after(sim, PURGE_MS, purge, &job->actor, job->stamp);
        return;
    }
    if (job->is_completing) { /* a cancel of one that was requeued */
        job->state = requeues ? job->state : state;
        return;
    }
    count_end(job, state, requeues);
    sim_trace(sim, "slurm job %d %s", job->id,
              requeues ? "is requeued" : ctld_job_state_name(state));
    job->state = requeues ? CTLD_PENDING : state;
    job->restarts += requeues;
    job->end_ms = sim_now(sim);
    job->is_completing = true;
    job->stamp++;
    for (int i = 0; i < job->node_count; i++)
        if (job->nodes[i])
            job->nodes[i]->completing++;
    sim_after(sim,
              is_natural         ? SECOND_MS
              : job->is_stubborn ? KILL_WAIT_MS
                                 : sim_draw(&sim->pod_chance, &sim->scenario->latency.pod_stop),
              left, &job->actor, job->stamp);
    ctld_backlog(job->slurm);
}

static void ends(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct ctld_job *job = (struct ctld_job *)actor;

    (void)sim;
    if (job->stamp == stamp)
        ctld_job_end(job, ctld_job_done_ms(job) >= job->work_ms ? CTLD_COMPLETED : CTLD_TIMEOUT,
                     false);
}

/* "B:USR1@60"; without the letter the signal is for its steps. */
static bool traps_in_script(const struct ctld_job *job)
{
    return strchr(job->signal, ':') && strcspn(job->signal, "Bb") < strcspn(job->signal, ":");
}

static void warns(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct ctld_job *job = (struct ctld_job *)actor;

    (void)sim;
    if (job->stamp == stamp)
        ctld_job_signal(job, "USR1", traps_in_script(job));
}

void ctld_job_signal(struct ctld_job *job, const char *signal, bool is_batch)
{
    int64_t now_ms = sim_now(job->slurm->sim);
    bool is_usr1 = text_equal(signal, "USR1") || text_equal(signal, "10");

    if (job->state != CTLD_RUNNING)
        return;
    job->signals += is_batch;
    job->step_signals += !is_batch;
    text_copy(job->last_signal, sizeof job->last_signal, signal);
    if (job->signal[0] == '\0')
        return;
    if (is_batch && !traps_in_script(job)) { /* its program traps it, and the script does not */
        ctld_job_end(job, CTLD_FAILED, false);
        return;
    }
    if (!is_usr1 || is_batch != traps_in_script(job))
        return;
    job->done_ms += now_ms - job->saved_ms;
    job->saved_ms = now_ms;
    sim_trace(job->slurm->sim, "slurm job %d checkpoints", job->id);
}

void ctld_job_start(struct ctld_job *job, struct ctld_node *const *nodes)
{
    struct simulator *sim = job->slurm->sim;
    const char *at = strchr(job->signal, '@');
    int64_t limit_ms = job->limit_min * MINUTE_MS;

    for (int i = 0; i < job->node_count; i++) {
        job->nodes[i] = nodes[i];
        (void)ctld_gres_take(job, nodes[i], &job->gpu_bits[i]);
        text_copy(job->node_names[i], sizeof job->node_names[i], nodes[i]->name);
        nodes[i]->reason[0] = nodes[i]->reason_user[0] = '\0';
        nodes[i]->reason_ms = 0;
    }
    take_nodes(job, 1);
    job->state = CTLD_RUNNING;
    job->why = "None";
    job->stamp++;
    job->start_ms = job->saved_ms = sim_now(sim);
    job->end_ms = limit_ms ? job->start_ms + limit_ms : NEVER_MS;
    if (!sim->is_started)
        job->done_ms = (int64_t)(random_unit(&sim->job_chance) * (double)job->work_ms);
    sim_trace(sim, "slurm job %d starts on %s", job->id, nodes[0]->name);

    int64_t left_ms = job->work_ms - job->done_ms;

    if (limit_ms && at && limit_ms > ctld_leading(at + 1) * SECOND_MS)
        sim_after(sim, limit_ms - ctld_leading(at + 1) * SECOND_MS, warns, &job->actor, job->stamp);
    if (limit_ms && limit_ms < left_ms)
        left_ms = limit_ms;
    sim_after(sim, left_ms > 0 ? left_ms : SECOND_MS, ends, &job->actor, job->stamp);
}

void ctld_jobs_fail(struct ctld_node *node)
{
    struct ctld *slurm = node->slurm;

    for (size_t i = 0; i < slurm->jobs.count; i++) {
        struct ctld_job *job = slurm->jobs.items[i];

        if (job->state == CTLD_RUNNING && ctld_job_is_on(job, node))
            ctld_job_end(job, CTLD_NODE_FAIL, job->may_requeue);
    }
}

/* ---- work that never ends ---- */

static const char *const accounts[] = { "vision", "language", "speech", "robotics" };
static const int sizes[] = { 1, 2, 4, 8 };

static void add_job(struct ctld *slurm)
{
    struct simulator *sim = slurm->sim;
    struct random *chance = &sim->job_chance;
    int64_t work_ms = sim_draw(chance, &sim->scenario->job_duration);
    const char *account = accounts[random_below(chance, COUNT_OF(accounts))];
    int kind = (int)random_below(chance, 20);
    int tasks = kind < 2 ? 3 : 1;
    int first = slurm->next_job;

    for (int i = 0; i < tasks; i++) {
        struct ctld_job *job = ctld_job_new(slurm);

        text_copy(job->account, sizeof job->account, account);
        text_print(job->user, sizeof job->user, "%s-user", account);
        text_print(job->name, sizeof job->name, "%s-%06d", account, first);
        job->gpus = sizes[random_below(chance, COUNT_OF(sizes))];
        job->work_ms = work_ms + SECOND_MS;
        job->limit_min = (int)(work_ms * 12 / 10 / MINUTE_MS) + 2;
        job->may_requeue = kind != 19;
        if (kind % 2 == 0)
            text_copy(job->signal, sizeof job->signal, "B:USR1@60");
        if (tasks > 1) {
            job->array_id = first + tasks - 1;
            job->array_task = i;
        } else if (kind < 4) {
            job->node_count = 2;
            job->is_exclusive = true;
            job->gpus = 8;
        }
    }
}

void ctld_backlog(struct ctld *slurm)
{
    int waiting = 0;

    if (slurm->cluster->plan->is_production)
        return;
    for (size_t i = 0; i < slurm->jobs.count; i++)
        waiting += slurm->jobs.items[i]->state == CTLD_PENDING;
    for (; waiting < slurm->sim->scenario->job_backlog; waiting++)
        add_job(slurm);
}
