/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Node objects, as kubelet, node controller and cloud controller treat them: registered with
 * taints, Ready, GPUs later; NotReady 40 s after the machine died; deleted when the cloud no longer
 * knows the machine.
 */
#include "tools/simulator/kube/kube_volumes.h"
#include "tools/simulator/model/cloud.h"
#include "tools/simulator/model/model.h"

enum {
    READY_AFTER_MS = 10 * SECOND_MS,
    GRACE_PERIOD_MS = 40 * SECOND_MS,
    ORPHAN_MS = 40 * SECOND_MS,
    CONTROLLER_MS = 100,
    KUBELET_MS = SECOND_MS,
    FLAP_MS = 5 * SECOND_MS,
};

static void review_later(struct simulator *sim, struct actor *actor, uint64_t stamp);

bool sim_node_has_taint(const struct kube_node *node, const char *key)
{
    size_t i;
    json_t *taint;

    json_array_foreach(node->taints, i, taint)
        if (text_equal(json_text_or(taint, "key", ""), key))
            return true;
    return false;
}

static void taint_add(struct kube_node *node, const char *key, const char *value)
{
    json_t *taint = json_make("{s:s, s:s}", "key", key, "effect", "NoSchedule");

    if (value)
        json_object_set_new(taint, "value", json_string(value));
    json_array_append_new(node->taints, taint);
}

static bool taint_remove(struct kube_node *node, const char *key)
{
    size_t i;
    json_t *taint;

    json_array_foreach(node->taints, i, taint)
        if (text_equal(json_text_or(taint, "key", ""), key)) {
            json_array_remove(node->taints, i);
            return true;
        }
    return false;
}

static bool taint_should(struct kube_node *node, const char *key, bool should)
{
    if (sim_node_has_taint(node, key) == should)
        return false;
    if (should)
        taint_add(node, key, NULL);
    else
        taint_remove(node, key);
    return true;
}

static bool taints_are_right(const struct kube_node *node)
{
    return sim_node_has_taint(node, SIM_UNSCHEDULABLE) == node->is_unschedulable &&
           sim_node_has_taint(node, SIM_NOT_READY) == (node->readiness == NODE_NOT_READY) &&
           sim_node_has_taint(node, SIM_UNREACHABLE) == (node->readiness == NODE_UNREACHABLE);
}

/* Whether the node is out of service: the taint has no effect on a node that is Ready. */
static bool is_out_of_service(const struct kube_node *node)
{
    return node->readiness != NODE_READY && sim_node_has_taint(node, SIM_OUT_OF_SERVICE);
}

/* Detaches the node's volumes at once, and removes pods that were to leave it. */
static void let_go(struct simulator *sim, struct kube_node *node)
{
    sim_volumes_let_go(node->cluster, node->name);
    for (size_t i = node->pods.count; i-- > 0;)
        if (node->pods.items[i]->deletion_ms)
            sim_pod_remove(sim, node->pods.items[i]);
}

void sim_node_review(struct simulator *sim, struct kube_node *node)
{
    size_t i;
    json_t *taint;
    bool is_open = node->readiness == NODE_READY && !node->is_unschedulable && node->is_alive;

    json_array_foreach(node->taints, i, taint) {
        const char *effect = json_text_or(taint, "effect", "");

        is_open &= !text_equal(effect, "NoSchedule") && !text_equal(effect, "NoExecute");
    }
    if (is_open && !node->is_open)
        sim_schedule_soon(sim, node->cluster);
    node->is_open = is_open;

    bool counts = !node->cluster->plan->is_production && node->readiness == NODE_READY &&
                  node->is_alive && !sim_node_has_taint(node, SIM_STARTING);
    int offered = counts ? node->gpus : 0;

    if (offered != node->gpus_counted) {
        sim_account(sim);
        sim->research_gpus += offered - node->gpus_counted;
        node->gpus_counted = offered;
    }
    if (node->is_unschedulable != (node->cordoned_ms >= 0)) {
        node->cordoned_ms = node->is_unschedulable ? sim_since_start(sim) : -1;
        node->daring_told = 0;
    }
    if (!taints_are_right(node) || is_out_of_service(node))
        sim_after(sim, CONTROLLER_MS, review_later, &node->actor, 0);
}

/* The taint controllers write on their own, a little after the change: a version more. */
static void review_later(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_node *node = (struct kube_node *)actor;
    bool changed = taint_should(node, SIM_UNSCHEDULABLE, node->is_unschedulable);

    (void)stamp;
    changed |= taint_should(node, SIM_NOT_READY, node->readiness == NODE_NOT_READY);
    changed |= taint_should(node, SIM_UNREACHABLE, node->readiness == NODE_UNREACHABLE);
    if (is_out_of_service(node))
        let_go(sim, node);
    if (!changed)
        return;
    sim_node_changed(sim, node, CHANGE_MODIFIED);
    sim_node_review(sim, node);
}

static void gpus_appear(struct simulator *sim, struct actor *actor, uint64_t stamp);

/* The device plugin starts again: none is allocatable for a while. */
static void gpus_vanish(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_node *node = (struct kube_node *)actor;

    if (!node->is_alive)
        return;
    node->gpus = 0;
    sim_trace(sim, "node %s gpus vanish", node->name);
    sim_node_changed(sim, node, CHANGE_MODIFIED);
    sim_node_review(sim, node);
    sim_after(sim, FLAP_MS, gpus_appear, actor, stamp);
}

static void gpus_appear(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_node *node = (struct kube_node *)actor;
    struct machine *machine = node->machine;

    if (!node->is_alive)
        return;
    node->gpus = node->pool->reservation->plan->gpus_per_node;
    if (machine && machine->lacks_gpu)
        node->gpus--;
    if (machine && machine->flaps) {
        machine->flaps = false;
        sim_after(sim, FLAP_MS, gpus_vanish, actor, stamp);
    }
    sim_trace(sim, "node %s gpus", node->name);
    sim_node_changed(sim, node, CHANGE_MODIFIED);
    sim_node_review(sim, node);
    sim_schedule_soon(sim, node->cluster);
}

static void becomes_ready(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_node *node = (struct kube_node *)actor;

    if (!node->is_alive || node->stamp != stamp)
        return;
    sim_node_ready(sim, node);
    if (node->machine && !node->machine->no_gpus)
        sim_after(sim, sim_draw(&sim->machine_chance, &sim->scenario->latency.gpus), gpus_appear,
                  actor, 0);
}

void sim_node_ready(struct simulator *sim, struct kube_node *node)
{
    node->readiness = NODE_READY;
    node->ready_changed_ms = sim_now(sim);
    sim_trace(sim, "node %s ready", node->name);
    sim_node_changed(sim, node, CHANGE_MODIFIED);
    sim_node_review(sim, node);
    sim_daemon_start(sim, node);
}

struct kube_node *sim_node_register(struct simulator *sim, struct machine *machine, bool is_new)
{
    struct pool *pool = machine->pool;
    const struct scenario_reservation *plan = pool->reservation->plan;
    struct kube_node *node = mem_new(sizeof *node);

    node->actor.free = sim_node_free;
    node->cluster = pool->cluster;
    node->pool = pool;
    node->machine = machine;
    node->is_alive = true;
    node->is_static = machine->is_static;
    node->cordoned_ms = -1;
    node->created_ms = node->ready_changed_ms = sim_now(sim);
    text_copy(node->name, sizeof node->name, machine->node_name);
    node->provider_id = pool->cloud->provider_id(machine);
    sim_uuid(sim, node->uid);
    node->annotations = json_object();
    node->taints = json_array();
    node->labels = json_make("{s:s, s:s, s:s, s:s}", "kubernetes.io/hostname", node->name,
                             "topology.kubernetes.io/zone", plan->zone,
                             "node.kubernetes.io/instance-type", plan->machine,
                             "kubernetes.io/arch", "amd64");
    if (pool->cloud->mark_node)
        pool->cloud->mark_node(machine, node->labels, node->annotations);
    if (!machine->is_static)
        json_object_set_new(node->labels, sim->scenario->label_key,
                            json_string(sim->scenario->label_value));
    map_set(node->cluster->nodes, node->name, node);
    sim_trace(sim, "node %s registers", node->name);
    if (is_new) {
        taint_add(node, SIM_STARTING, NULL);
        taint_add(node, SIM_NOT_READY, NULL);
        sim_after(sim, READY_AFTER_MS, becomes_ready, &node->actor, node->stamp);
    } else {
        node->readiness = NODE_READY;
        node->gpus = plan->gpus_per_node;
    }
    sim_node_changed(sim, node, CHANGE_ADDED);
    sim_node_review(sim, node);
    if (!is_new)
        sim_daemon_start(sim, node);
    return node;
}

static json_t *copy_or(const json_t *object, const char *path, json_t *otherwise)
{
    json_t *found = json_at(object, path);

    if (!found)
        return otherwise;
    json_decref(otherwise);
    return json_deep_copy(found);
}

/* Posts a Node without a machine of ours, as a kubelet would.  It is Ready a moment later unless an
   annotation says that it never boots. */
void sim_node_post(struct simulator *sim, struct kube_cluster *cluster, const json_t *object)
{
    struct kube_node *node = mem_new(sizeof *node);
    const json_t *allocatable = json_at(object, "status/allocatable");
    const char *gpus = json_string_value(json_object_get(allocatable, SIM_GPU));
    const json_t *notes = json_at(object, "metadata/annotations");
    const char *boots = json_string_value(json_object_get(notes, "test.sluice.dev/boots"));
    long long count = 0;

    node->actor.free = sim_node_free;
    node->cluster = cluster;
    node->is_alive = true;
    node->cordoned_ms = -1;
    node->created_ms = node->ready_changed_ms = sim_now(sim);
    text_copy(node->name, sizeof node->name, json_text_or(object, "metadata/name", ""));
    node->provider_id = mem_copy_chars(json_text_or(object, "spec/providerID", ""));
    sim_uuid(sim, node->uid);
    node->labels = copy_or(object, "metadata/labels", json_object());
    node->annotations = copy_or(object, "metadata/annotations", json_object());
    node->finalizers = copy_or(object, "metadata/finalizers", NULL);
    node->taints = copy_or(object, "spec/taints", json_array());
    node->is_unschedulable = json_is_true(json_at(object, "spec/unschedulable"));
    if (gpus && text_to_int(gpus, 0, 1024, &count))
        node->gpus = (int)count;
    taint_add(node, SIM_NOT_READY, NULL);
    map_set(cluster->nodes, node->name, node);
    sim_node_changed(sim, node, CHANGE_ADDED);
    sim_node_review(sim, node);
    if (!text_equal(boots, "false"))
        sim_after(sim, KUBELET_MS, becomes_ready, &node->actor, node->stamp);
}

void sim_node_set_ready(struct simulator *sim, struct kube_node *node, const char *status)
{
    enum readiness readiness = text_equal(status, "True")    ? NODE_READY
                               : text_equal(status, "False") ? NODE_NOT_READY
                                                             : NODE_UNREACHABLE;

    if (node->readiness == readiness)
        return;
    node->readiness = readiness;
    node->ready_changed_ms = sim_now(sim);
}

bool sim_node_leave(struct simulator *sim, struct kube_node *node)
{
    if (json_array_size(node->finalizers) == 0) {
        sim_node_delete(sim, node);
        return true;
    }
    if (!node->deletion_ms)
        node->deletion_ms = sim_now(sim);
    sim_node_changed(sim, node, CHANGE_MODIFIED);
    return false;
}

/* The cloud controller asks the cloud about Nodes that are not ready. */
static void cloud_controller(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_node *node = (struct kube_node *)actor;

    if (node->machine)
        sim_after(sim, 5 * SECOND_MS, cloud_controller, actor, stamp);
    else
        sim_node_leave(sim, node);
}

static void silent(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    static const struct range loops = { 60 * SECOND_MS, 120 * SECOND_MS };
    struct kube_node *node = (struct kube_node *)actor;

    if (node->stamp != stamp)
        return;
    node->readiness = NODE_UNREACHABLE;
    node->ready_changed_ms = sim_now(sim);
    sim_trace(sim, "node %s unreachable", node->name);
    sim_node_changed(sim, node, CHANGE_MODIFIED);
    sim_node_review(sim, node);
    for (size_t i = 0; i < node->pods.count; i++)
        if (node->pods.items[i]->is_ready) {
            node->pods.items[i]->is_ready = false;
            sim_pod_changed(sim, node->pods.items[i], CHANGE_MODIFIED);
        }
    sim_after(sim, sim_draw(&sim->machine_chance, &loops), cloud_controller, actor, node->stamp);
}

void sim_node_machine_dies(struct simulator *sim, struct kube_node *node)
{
    node->is_alive = false;
    node->stamp++;
    for (size_t i = 0; i < node->pods.count; i++) {
        node->pods.items[i]->stamp++;
        sim_pod_set_serving(sim, node->pods.items[i], false);
    }
    sim_node_review(sim, node);
    sim_after(sim, GRACE_PERIOD_MS, silent, &node->actor, node->stamp);
}

/* The pod collector removes pods bound to a Node that is gone. */
static void collect_orphan(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_pod *pod = (struct kube_pod *)actor;

    (void)stamp;
    if (!pod->node)
        sim_pod_remove(sim, pod);
}

void sim_node_delete(struct simulator *sim, struct kube_node *node)
{
    node->readiness = NODE_NOT_READY;
    sim_node_review(sim, node);
    sim_trace(sim, "node %s deleted", node->name);
    sim_node_changed(sim, node, CHANGE_DELETED);
    for (size_t i = 0; i < node->pods.count; i++) {
        node->pods.items[i]->node = NULL;
        sim_after(sim, ORPHAN_MS, collect_orphan, &node->pods.items[i]->actor, 0);
    }
    node->pods.count = 0;
    if (node->machine)
        node->machine->node = NULL;
    map_take(node->cluster->nodes, node->name);
    sim_actor_end(&node->actor);
}

void sim_node_free(struct actor *actor)
{
    struct kube_node *node = (struct kube_node *)actor;

    mem_free(node->provider_id);
    json_decref(node->finalizers);
    json_decref(node->labels);
    json_decref(node->annotations);
    json_decref(node->managed);
    json_decref(node->taints);
    json_decref(node->conditions);
    array_clear(&node->pods);
    sim_blob_drop(node->blob);
    mem_free(node);
}
