/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of a pod: bound, started, running, told to stop, gone.  A stuck pod does not stop
 * whatever it is told; only a delete with grace 0 takes its object away.
 */
#include "tools/simulator/kube/deployments.h"
#include "tools/simulator/kube/kube_devices.h"
#include "tools/simulator/kube/kube_gangs.h"
#include "tools/simulator/model/model.h"
#include "tools/simulator/model/slurm.h"

enum { FINALIZER_MS = SECOND_MS, FINISHED_MS = 10 * SECOND_MS };

struct kube_pod *sim_pod_new(struct simulator *sim, struct kube_cluster *cluster,
                             const char *namespace, const char *name)
{
    struct kube_pod *pod = mem_new(sizeof *pod);
    owned(chars) char *key = text_format("%s/%s", namespace, name);

    /* Five drawn digits repeat after some hundred pods; the API server's generateName tries again
       too. */
    for (int again = 2; map_get(cluster->pods, key); again++) {
        mem_free(key);
        key = text_format("%s/%s-%d", namespace, name, again);
    }
    pod->actor.free = sim_pod_free;
    pod->cluster = cluster;
    pod->namespace = namespace;
    text_copy(pod->name, sizeof pod->name, key + strlen(namespace) + 1);
    pod->grace_s = 30;
    pod->created_ms = sim_now(sim);
    sim_uuid(sim, pod->uid);
    map_set(cluster->pods, key, pod);
    sim_devices_expect(pod);
    *array_add(&cluster->waiting) = pod;
    return pod;
}

static void stop_waiting(struct kube_pod *pod)
{
    struct kube_cluster *cluster = pod->cluster;

    for (size_t i = cluster->waiting.count; i-- > 0;)
        if (cluster->waiting.items[i] == pod) {
            array_remove(&cluster->waiting, i);
            return;
        }
}

static void starts(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_pod *pod = (struct kube_pod *)actor;

    if (pod->stamp == stamp && pod->node && pod->node->is_alive)
        sim_pod_run(sim, pod);
}

void sim_pod_bind(struct simulator *sim, struct kube_pod *pod, struct kube_node *node)
{
    stop_waiting(pod);
    pod->node = node;
    text_copy(pod->node_name, sizeof pod->node_name, node->name);
    node->gpus_used += pod->gpus;
    *array_add(&node->pods) = pod;
    sim_devices_allocate(sim, pod);
    if (sim->is_started) {
        sim_pod_changed(sim, pod, CHANGE_MODIFIED);
        sim_after(sim, sim_draw(&sim->pod_chance, &sim->scenario->latency.pod_start), starts,
                  &pod->actor, pod->stamp);
    }
}

void sim_pod_set_serving(struct simulator *sim, struct kube_pod *pod, bool is_serving)
{
    if (pod->is_serving == is_serving)
        return;
    pod->is_serving = is_serving;
    if (pod->deployment && pod->deployment->plan->queue != SIZE_MAX)
        sim_traffic_servers(sim, pod->deployment->plan->queue, is_serving ? 1 : -1);
    if (!pod->job)
        return;
    sim_account(sim);
    sim->research_gpus_used += is_serving ? pod->gpus : -pod->gpus;
    if (!is_serving && !sim_pod_is_over(pod))
        sim->lost_gpu_s += pod->gpus * (double)(sim_now(sim) - pod->started_ms) / SECOND_MS;
}

/* The job controller takes its finalizer away once it has counted the pod. */
static void finalized(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    (void)stamp;
    sim_pod_remove(sim, (struct kube_pod *)actor);
}

static void terminate_now(struct simulator *sim, struct kube_pod *pod)
{
    pod->stamp++;
    if (!pod->has_finalizer || !pod->node_name[0]) {
        sim_pod_remove(sim, pod);
        return;
    }
    pod->deletion_ms = sim_now(sim);
    pod->deletion_grace_s = 0;
    pod->is_ready = false;
    sim_pod_changed(sim, pod, CHANGE_MODIFIED);
    if (!pod->written) /* what a client posted, a client finalizes */
        sim_after(sim, FINALIZER_MS, finalized, &pod->actor, 0);
}

/* Its last container has ended.  The Jobs of this world count their pods meanwhile. */
static void stops(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_pod *pod = (struct kube_pod *)actor;

    if (pod->stamp != stamp)
        return;
    if (pod->written)
        terminate_now(sim, pod);
    else
        sim_pod_remove(sim, pod);
}

void sim_pod_finish(struct simulator *sim, struct kube_pod *pod, enum pod_state state)
{
    pod->state = state;
    pod->is_ready = false;
    pod->stamp++;
    sim_pod_set_serving(sim, pod, false);
    if (pod->node)
        pod->node->gpus_used -= pod->gpus;
    sim_pod_changed(sim, pod, CHANGE_MODIFIED);
    sim_devices_release(sim, pod, false);
    sim_schedule_soon(sim, pod->cluster);
}

static void job_done(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_pod *pod = (struct kube_pod *)actor;

    (void)stamp;
    if (!pod->is_serving || pod->deletion_ms)
        return;
    sim->jobs_done++;
    sim_pod_finish(sim, pod, POD_IS_SUCCEEDED);
    sim_after(sim, FINISHED_MS, stops, actor, pod->stamp);
}

void sim_pod_run(struct simulator *sim, struct kube_pod *pod)
{
    pod->state = POD_IS_RUNNING;
    pod->is_ready = true;
    pod->started_ms = sim_now(sim);
    sim_pod_changed(sim, pod, CHANGE_MODIFIED);
    sim_pod_set_serving(sim, pod, true);
    sim_trace(sim, "pod %s runs", pod->name);
    if (pod->job)
        sim_after(sim, pod->work_ms, job_done, &pod->actor, 0);
}

static const char *note_of(const struct kube_pod *pod, const char *name)
{
    char key[64];

    snprintf(key, sizeof key, "test.sluice.dev/%s", name);
    return json_string_value(json_object_get(json_at(pod->written, "metadata/annotations"), key));
}

static int64_t stops_in(struct simulator *sim, const struct kube_pod *pod)
{
    int64_t stops_ms = 0;

    if (!pod->written)
        return sim_draw(&sim->pod_chance, &sim->scenario->latency.pod_stop);
    if (note_of(pod, "stops-in") && duration_parse(note_of(pod, "stops-in"), &stops_ms, NULL) < 0)
        return 0;
    return stops_ms;
}

void sim_pod_terminate(struct simulator *sim, struct kube_pod *pod, int64_t grace_s)
{
    int64_t now_ms = sim_now(sim);
    bool is_first = pod->deletion_ms == 0;

    if (grace_s < 0)
        grace_s = pod->grace_s;
    if (grace_s > INT32_MAX)
        grace_s = INT32_MAX;
    if (grace_s == 0 || !pod->node_name[0] || sim_pod_is_over(pod)) {
        terminate_now(sim, pod);
        return;
    }
    if (!is_first && now_ms + grace_s * SECOND_MS >= pod->deletion_ms)
        return; /* grace only ever shortens */
    pod->deletion_ms = now_ms + grace_s * SECOND_MS;
    pod->deletion_grace_s = grace_s;
    if (is_first) {
        pod->is_stuck = pod->written ? text_equal(note_of(pod, "stuck"), "true")
                                     : sim_fault_now(sim, FAULT_STUCK_POD, NULL);
        pod->stop_ms = now_ms + stops_in(sim, pod);
        if (pod->node && sim_pod_tolerates_all(pod))
            pod->node->daring_told++;
        if (pod->deployment)
            sim_pod_set_serving(sim, pod, false);
    }
    if (pod->stop_ms > pod->deletion_ms)
        pod->stop_ms = pod->deletion_ms;
    pod->stamp++;
    sim_trace(sim, "pod %s leaves", pod->name);
    sim_pod_changed(sim, pod, CHANGE_MODIFIED);
    if (!pod->is_stuck && pod->node && pod->node->is_alive)
        sim_after(sim, pod->stop_ms > now_ms ? pod->stop_ms - now_ms : 0, stops, &pod->actor,
                  pod->stamp);
    if (is_first && pod->deployment)
        sim_deployment_reconcile(sim, pod->deployment);
}

static void leave_node(struct kube_pod *pod)
{
    struct kube_node *node = pod->node;

    if (!node)
        return;
    for (size_t i = 0; i < node->pods.count; i++)
        if (node->pods.items[i] == pod) {
            array_remove(&node->pods, i);
            break;
        }
    if (!sim_pod_is_over(pod))
        node->gpus_used -= pod->gpus;
}

void sim_pod_remove(struct simulator *sim, struct kube_pod *pod)
{
    owned(chars) char *key = text_format("%s/%s", pod->namespace, pod->name);
    struct deployment *deployment = pod->deployment;
    struct kube_node *node = pod->node;

    sim_pod_set_serving(sim, pod, false);
    sim_slurm_pod_gone(pod);
    stop_waiting(pod);
    leave_node(pod);
    sim_trace(sim, "pod %s gone", pod->name);
    sim_pod_changed(sim, pod, CHANGE_DELETED);
    sim_devices_release(sim, pod, true);
    map_take(pod->cluster->pods, key);
    sim_budgets_review(sim, pod);
    if (pod->job)
        sim_job_pod_gone(sim, pod);
    for (size_t i = 0; deployment && i < deployment->pods.count; i++)
        if (deployment->pods.items[i] == pod) {
            array_remove(&deployment->pods, i);
            break;
        }
    if (deployment)
        sim_deployment_reconcile(sim, deployment);
    else if (!pod->job && !pod->written && node && node->is_alive)
        sim_daemon_start(sim, node);
    else if (pod->written)
        sim_gangs_soon(sim, pod->cluster);
    sim_schedule_soon(sim, pod->cluster);
    sim_actor_end(&pod->actor);
}

bool sim_pod_is_over(const struct kube_pod *pod)
{
    return pod->state == POD_IS_SUCCEEDED || pod->state == POD_IS_FAILED;
}

bool sim_pod_must_leave(const struct kube_pod *pod)
{
    return (pod->job || pod->deployment || pod->written) && !sim_pod_is_over(pod);
}

bool sim_pod_tolerates_all(const struct kube_pod *pod)
{
    const json_t *toleration;
    size_t i;

    json_array_foreach(json_at(pod->written, "spec/tolerations"), i, toleration) {
        if (text_equal(json_text_or(toleration, "operator", ""), "Exists") &&
            !json_object_get(toleration, "key"))
            return true;
    }
    return false;
}

const char *sim_pod_label(const struct kube_pod *pod, const char *key)
{
    if (pod->written)
        return json_string_value(json_object_get(json_at(pod->written, "metadata/labels"), key));
    if (pod->labels)
        return json_string_value(json_object_get(pod->labels, key));
    if (pod->job && text_equal(key, "team"))
        return pod->job->team;
    if (pod->job &&
        (text_equal(key, "job-name") || text_equal(key, "batch.kubernetes.io/job-name")))
        return pod->job->name;
    if (pod->deployment && text_equal(key, "app"))
        return pod->deployment->plan->name;
    return NULL;
}

void sim_pod_free(struct actor *actor)
{
    struct kube_pod *pod = (struct kube_pod *)actor;

    if (pod->job) {
        mem_free(pod->job);
    }
    json_decref(pod->conditions);
    json_decref(pod->annotations);
    json_decref(pod->labels);
    json_decref(pod->written);
    sim_blob_drop(pod->blob);
    mem_free(pod);
}
