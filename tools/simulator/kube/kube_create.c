/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What people and other controllers post: namespaces, nodes, pods; and what a kubelet writes into
 * a node's status.  Annotations of a pod say how it stops:
 *   test.sluice.dev/stops-in: "2s"   once it is told to; else at once
 *   test.sluice.dev/stuck: "true"    never; only a delete with grace 0 takes its object away
 */
#include "tools/simulator/kube/kube_routes.h"
#include "tools/simulator/model/client.h"

enum { NAMESPACE_CONTROLLER_MS = 500 };

static const char *name_of(const json_t *body)
{
    return json_text_or(body, "metadata/name", "");
}

static void exists(struct sim_call *call, const char *what, const char *name)
{
    sim_kube_status(call->answer, 409, "AlreadyExists", "%s \"%s\" already exists", what, name);
}

static bool refuse(struct sim_call *call, int code, const char *reason, const char *what)
{
    sim_kube_status(call->answer, code, reason, "%s", what);
    return false;
}

/* A name that an API server would take; otherwise it is answered. */
static bool is_name_right(struct sim_call *call, const char *what, const char *name)
{
    if (name[0] && strlen(name) < SIM_NAME_SIZE &&
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == strlen(name))
        return true;
    sim_kube_status(call->answer, 422, "Invalid", "%s \"%.80s\" is invalid: metadata.name", what,
                    name);
    return false;
}

static void answer_namespace(struct sim_call *call, int code, const struct kube_namespace *space)
{
    sim_answer_json(call->answer, code,
                    json_make("{s:s, s:s, s:{s:s}, s:{s:s}}", "apiVersion", "v1", "kind",
                              "Namespace", "metadata", "name", space->name, "status", "phase",
                              space->is_terminating ? "Terminating" : "Active"));
}

static void free_namespace(struct actor *actor)
{
    mem_free(actor);
}

struct kube_namespace *sim_namespace_add(struct kube_cluster *cluster, const char *name)
{
    struct kube_namespace *space = map_get(cluster->namespaces, name);

    if (space)
        return space;
    space = mem_new(sizeof *space);
    space->actor.free = free_namespace;
    text_copy(space->name, sizeof space->name, name);
    map_set(cluster->namespaces, space->name, space);
    return space;
}

static void post_namespace(struct sim_call *call, char **parts)
{
    owned(json) json_t *body = sim_kube_body(call);

    (void)parts;
    if (!body || !is_name_right(call, "Namespace", name_of(body)))
        return;
    if (map_get(call->cluster->namespaces, name_of(body))) {
        exists(call, "namespaces", name_of(body));
        return;
    }
    answer_namespace(call, 201, sim_namespace_add(call->cluster, name_of(body)));
}

/* The namespace controller tells what is in it to stop. */
static void empty_namespace(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    const struct kube_namespace *space = (struct kube_namespace *)actor;
    ARRAY(struct kube_pod *) leaving = { 0 };
    void *value;

    for (size_t i = 0; map_next(sim->clusters[stamp].pods, &i, NULL, &value);)
        if (text_equal(((struct kube_pod *)value)->namespace, space->name))
            *array_add(&leaving) = value;
    for (size_t i = 0; i < leaving.count; i++)
        sim_pod_terminate(sim, leaving.items[i], -1);
    array_clear(&leaving);
}

static void delete_namespace(struct sim_call *call, struct kube_namespace *space)
{
    if (!space->is_terminating)
        sim_after(call->sim, NAMESPACE_CONTROLLER_MS, empty_namespace, &space->actor,
                  call->cluster->index);
    space->is_terminating = true;
    answer_namespace(call, 200, space);
}

static void answer_one_namespace(struct sim_call *call, char **parts)
{
    struct kube_namespace *space = map_get(call->cluster->namespaces, parts[3]);

    if (!space)
        sim_kube_not_found(call, "namespaces", parts[3]);
    else if (call->request->method == HTTP_DELETE)
        delete_namespace(call, space);
    else
        answer_namespace(call, 200, space);
}

/* As the scheduler counts: the sum over the containers' requests. */
static int gpus_of(const json_t *spec)
{
    long long sum = 0, count;
    size_t i;
    json_t *container;

    json_array_foreach(json_at(spec, "containers"), i, container) {
        json_t *limits = json_at(container, "resources/limits");
        const char *chars = json_string_value(json_object_get(limits, SIM_GPU));

        if (chars && text_to_int(chars, 0, 1024, &count))
            sum += count;
    }
    return (int)sum;
}

static void start_pod(struct sim_call *call, const struct kube_namespace *space, const json_t *body)
{
    struct kube_node *node = map_get(call->cluster->nodes, json_text_or(body, "spec/nodeName", ""));
    struct kube_pod *pod = sim_pod_new(call->sim, call->cluster, space->name, name_of(body));

    pod->written = json_make("{s:O, s:O}", "metadata", json_at(body, "metadata"), "spec",
                             json_at(body, "spec"));
    pod->grace_s = json_int_or(body, "spec/terminationGracePeriodSeconds", 30);
    pod->gpus = gpus_of(json_at(body, "spec"));
    pod->has_finalizer = json_array_size(json_at(body, "metadata/finalizers")) > 0;
    sim_pod_changed(call->sim, pod, CHANGE_ADDED);
    if (node)
        sim_pod_bind(call->sim, pod, node);
    else
        sim_schedule_soon(call->sim, call->cluster);
    sim_kube_answer_blob(call, 201, pod->blob);
}

static void post_pod(struct sim_call *call, char **parts)
{
    const char *namespace = parts[3];
    owned(json) json_t *body = sim_kube_body(call);
    struct kube_namespace *space = map_get(call->cluster->namespaces, namespace);

    if (!body || !is_name_right(call, "Pod", name_of(body)))
        return;

    owned(chars) char *key = text_format("%s/%s", namespace, name_of(body));

    if (!space)
        sim_kube_not_found(call, "namespaces", namespace);
    else if (!sim_namespace_admits(call, namespace, name_of(body)))
        return;
    else if (map_get(call->cluster->pods, key))
        exists(call, "pods", name_of(body));
    else if (!json_array_size(json_at(body, "spec/containers")))
        sim_kube_status(call->answer, 422, "Invalid", "Pod \"%s\" is invalid: spec.containers",
                        name_of(body));
    else
        start_pod(call, space, body);
}

static void post_node(struct sim_call *call, char **parts)
{
    owned(json) json_t *body = sim_kube_body(call);

    (void)parts;
    if (!body || !is_name_right(call, "Node", name_of(body)))
        return;
    if (map_get(call->cluster->nodes, name_of(body))) {
        exists(call, "nodes", name_of(body));
        return;
    }
    sim_node_post(call->sim, call->cluster, body);
    sim_kube_answer_blob(call, 201,
                         ((struct kube_node *)map_get(call->cluster->nodes, name_of(body)))->blob);
}

/* A core/v1 Event is checked, kept by its name, and never shown. */
static void post_event(struct sim_call *call, char **parts)
{
    const char *namespace = parts[3];
    owned(json) json_t *body = NULL;
    owned(chars) char *path = NULL;
    const json_t *about;

    if (!(body = sim_kube_body(call)) || !is_name_right(call, "Event", name_of(body)))
        return;
    about = json_at(body, "involvedObject");
    path = text_format("events/%s/%s", namespace, name_of(body));
    if (!text_equal(json_text_or(body, "kind", ""), "Event") ||
        !text_equal(json_text_or(body, "metadata/namespace", ""), namespace) ||
        !json_text_or(body, "reason", NULL) || !json_text_or(body, "type", NULL) ||
        !json_text_or(about, "kind", NULL) || !json_text_or(about, "name", NULL))
        refuse(call, 422, "Invalid", "an event names its object, its reason and its type");
    else if (!text_equal(json_text_or(about, "namespace", "default"), namespace))
        refuse(call, 422, "Invalid", "involvedObject.namespace does not match the event's");
    else if (map_get(call->cluster->objects, path))
        exists(call, "events", name_of(body));
    else {
        map_set(call->cluster->objects, path, json_incref(body));
        sim_answer_json(call->answer, 201, json_incref(body));
    }
}

const struct kube_route kube_create_routes[] = {
    { ON(GET) | ON(DELETE), "api/v1/namespaces/*", NULL, answer_one_namespace },
    { ON(POST), "api/v1/namespaces", NULL, post_namespace },
    { ON(POST), "api/v1/namespaces/*/events", "create_event", post_event },
    { ON(POST), "api/v1/namespaces/*/pods", NULL, post_pod },
    { ON(POST), "api/v1/nodes", NULL, post_node },
    { 0 },
};

/* A pod that the simulator makes: its job may have
annotations. */
static void annotate_pod(struct sim_call *call, struct kube_pod *pod, json_t *metadata)
{
    if (json_object_size(metadata) != 1 || !json_is_object(json_at(metadata, "annotations"))) {
        sim_kube_status(call->answer, 422, "Invalid",
                        "only the annotations of this pod may change");
        return;
    }
    if (!pod->annotations)
        pod->annotations = json_object();
    json_object_update(pod->annotations, json_at(metadata, "annotations"));
    sim_pod_changed(call->sim, pod, CHANGE_MODIFIED);
    sim_kube_answer_blob(call, 200, pod->blob);
}

/* Merge patch of what people change in a pod: labels, annotations and finalizers. */
void sim_kube_patch_pod(struct sim_call *call, struct kube_pod *pod)
{
    owned(json) json_t *body = NULL;

    if (!sim_kube_is_content(call, "application/merge-patch+json") || !(body = sim_kube_body(call)))
        return;
    if (json_object_size(body) != 1 || !json_object_get(body, "metadata")) {
        sim_kube_status(call->answer, 422, "Invalid", "only the metadata of a pod may change");
        return;
    }
    if (!pod->written) {
        annotate_pod(call, pod, json_object_get(body, "metadata"));
        return;
    }
    json_object_update_recursive(json_at(pod->written, "metadata"),
                                 json_object_get(body, "metadata"));
    pod->has_finalizer = json_array_size(json_at(pod->written, "metadata/finalizers")) > 0;
    sim_pod_changed(call->sim, pod, CHANGE_MODIFIED);
    sim_kube_answer_blob(call, 200, pod->blob);
    if (!pod->has_finalizer && pod->deletion_ms && pod->deletion_grace_s == 0)
        sim_pod_remove(call->sim, pod);
}

static bool conditions_are_right(struct sim_call *call, json_t *conditions)
{
    static const char *const known[] = {
        "type", "status", "reason", "message", "lastHeartbeatTime", "lastTransitionTime"
    };
    size_t i, k;
    json_t *condition, *value;
    const char *key;

    json_array_foreach(conditions, i, condition) {
        const char *status = json_text_or(condition, "status", "");

        json_object_foreach(condition, key, value) {
            for (k = 0; k < COUNT_OF(known) && !text_equal(known[k], key); k++)
                continue;
            if (k == COUNT_OF(known) || !json_is_string(value))
                return refuse(call, 400, "BadRequest", "unknown member of a condition");
        }
        if (!json_text_or(condition, "type", NULL) ||
            (!text_equal(status, "True") && !text_equal(status, "False") &&
             !text_equal(status, "Unknown")))
            return refuse(call, 422, "Invalid", "a condition needs a type and a known status");
    }
    return true;
}

/* Strategic merge: conditions go by their type. */
static void merge_condition(struct kube_node *node, json_t *condition)
{
    size_t i;
    json_t *old;

    if (!node->conditions)
        node->conditions = json_array();
    json_array_foreach(node->conditions, i, old) {
        if (text_equal(json_text_or(old, "type", ""), json_text_or(condition, "type", ""))) {
            json_object_update(old, condition);
            return;
        }
    }
    json_array_append_new(node->conditions, json_deep_copy(condition));
}

/* As a device plugin or a kubelet would: GPUs that come and go, and whether it is Ready. */
void sim_kube_patch_node_status(struct sim_call *call, struct kube_node *node)
{
    owned(json) json_t *body = NULL;
    size_t i;
    json_t *condition;
    long long gpus = node->gpus;

    if (!sim_kube_is_content(call, "application/strategic-merge-patch+json") ||
        !(body = sim_kube_body(call)))
        return;

    json_t *allocatable = json_at(body, "status/allocatable");
    const char *chars = json_string_value(json_object_get(allocatable, SIM_GPU));

    if (chars && !text_to_int(chars, 0, 1024, &gpus)) {
        sim_kube_status(call->answer, 422, "Invalid", "status.allocatable: not a quantity");
        return;
    }
    if (!conditions_are_right(call, json_at(body, "status/conditions")) ||
        !sim_kube_uid_stays(call, "Node", node->name, node->uid,
                            json_text_or(body, "metadata/uid", NULL)))
        return;
    node->gpus = (int)gpus;
    json_array_foreach(json_at(body, "status/conditions"), i, condition) {
        if (text_equal(json_text_or(condition, "type", ""), "Ready"))
            sim_node_set_ready(call->sim, node, json_text_or(condition, "status", ""));
        else
            merge_condition(node, condition);
    }
    sim_node_changed(call->sim, node, CHANGE_MODIFIED);
    sim_node_review(call->sim, node);
    sim_kube_answer_blob(call, 200, node->blob);
}
