/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Research: a backlog of Jobs that never ends.  A Job gets its pod when there is room for it (as a
 * queueing controller would admit it); one whose pod was taken away goes back to the head.
 */
#include "tools/simulator/model/model.h"

#include <inttypes.h>

static const char *const teams[] = { "vision", "language", "speech", "robotics" };
static const int sizes[] = { 1, 2, 4, 8 };

static void add_job(struct simulator *sim)
{
    struct job *job = mem_new(sizeof *job);

    job->team = teams[random_below(&sim->job_chance, COUNT_OF(teams))];
    job->gpus = sizes[random_below(&sim->job_chance, COUNT_OF(sizes))];
    job->duration_ms = sim_draw(&sim->job_chance, &sim->scenario->job_duration);
    snprintf(job->name, sizeof job->name, "%s-%06" PRIu64, job->team, sim->job_count++);
    sim_uuid(sim, job->uid);
    *array_add(&sim->jobs) = job;
}

void sim_jobs_new(struct simulator *sim)
{
    while (sim->jobs.count < (size_t)sim->scenario->job_backlog)
        add_job(sim);
}

/* Jobs of the start have been at work for a while. */
static void begin(struct simulator *sim, struct kube_pod *pod)
{
    double left = sim->is_started ? 1 : random_unit(&sim->job_chance);

    pod->work_ms = (int64_t)(left * (double)pod->job->duration_ms) + SECOND_MS;
    if (!sim->is_started)
        sim_pod_run(sim, pod);
}

static void place(struct simulator *sim, struct kube_cluster *cluster, struct kube_node *node,
                  size_t at)
{
    struct job *job = sim->jobs.items[at];
    char name[SIM_NAME_SIZE + 16], tail[6];

    array_remove(&sim->jobs, at);
    random_hex(&sim->names, tail, sizeof tail);
    snprintf(name, sizeof name, "%s-%d-%s", job->name, job->attempts++, tail);

    struct kube_pod *pod = sim_pod_new(sim, cluster, "research", name);

    pod->job = job;
    pod->gpus = job->gpus;
    pod->grace_s = 60;
    pod->has_finalizer = true;
    sim_pod_changed(sim, pod, CHANGE_ADDED);
    sim_pod_bind(sim, pod, node);
    begin(sim, pod);
}

void sim_jobs_place(struct simulator *sim, struct kube_cluster *cluster)
{
    int hopeless = 1 << 20;

    for (size_t i = 0; i < sim->jobs.count;) {
        int gpus = sim->jobs.items[i]->gpus;
        struct kube_node *node = gpus < hopeless ? sim_scheduler_pick(cluster, gpus) : NULL;

        if (node) {
            place(sim, cluster, node, i);
            continue;
        }
        if (gpus < hopeless)
            hopeless = gpus;
        if (hopeless == 1)
            break;
        i++;
    }
    sim_jobs_new(sim);
}

void sim_job_pod_gone(struct simulator *sim, struct kube_pod *pod)
{
    struct job *job = pod->job;

    if (sim_pod_is_over(pod))
        return; /* done: freed with its pod */
    pod->job = NULL;
    sim->jobs_evicted++;
    array_add(&sim->jobs);
    memmove(&sim->jobs.items[1], &sim->jobs.items[0],
            (sim->jobs.count - 1) * sizeof sim->jobs.items[0]);
    sim->jobs.items[0] = job;
}
