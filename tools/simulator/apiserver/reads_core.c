/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nodes, pods, namespaces, events and leases for other clients: the same objects that sluice gets,
 * with the members that a kubelet would add.
 */
#include "base/crypto.h"
#include "tools/simulator/apiserver/resources.h"
#include "tools/simulator/kube/deployments.h"

#include <inttypes.h>

static json_t *parse(const struct blob *blob)
{
    struct error err = { 0 };
    json_t *object = json_parse(blob->chars, blob->size, "object", &err);

    require(object); /* we wrote it */
    return object;
}

/* A time by the clock of the cluster's API server. */
static json_t *time_of(const struct sim_call *call, int64_t loop_ms)
{
    char chars[WALL_TEXT_SIZE];

    return json_string(sim_time(call->sim, loop_ms + call->cluster->plan->ahead_ms, chars));
}

/* An address that is always the same for a name. */
static char *address_of(const char *name, int network)
{
    unsigned char digest[SHA256_SIZE];

    crypto_sha256(name, strlen(name), digest);
    return text_format("10.%d.%d.%d", network + digest[0] % 32, digest[1], digest[2] % 254 + 1);
}

/* A UID that is always the same for a name: of objects that the simulator has no state of. */
static char *uid_of(const char *kind, const char *cluster, const char *name)
{
    owned(chars) char *all = text_format("%s %s %s", kind, cluster, name);
    char hex[SHA256_TEXT_SIZE];

    crypto_sha256_text(all, strlen(all), hex);
    return text_format("%.8s-%.4s-4%.3s-8%.3s-%.12s", hex, hex + 8, hex + 13, hex + 17, hex + 21);
}

/* ---- nodes ---- */

static void add_conditions(const struct sim_call *call, const struct kube_node *node,
                           json_t *conditions)
{
    static const char *const calm[][3] = {
        { "DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure" },
        { "PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available" },
    };
    size_t i;
    json_t *condition;

    for (i = 0; i < COUNT_OF(calm); i++)
        json_array_append_new(conditions,
                              json_make("{s:s, s:s, s:s, s:s, s:o}", "type", calm[i][0], "status",
                                        "False", "reason", calm[i][1], "message", calm[i][2],
                                        "lastTransitionTime", time_of(call, node->created_ms)));
    json_array_foreach(conditions, i, condition) {
        if (!json_object_get(condition, "lastHeartbeatTime"))
            json_object_set_new(condition, "lastHeartbeatTime",
                                time_of(call, node->ready_changed_ms));
        if (!json_object_get(condition, "message"))
            json_object_set_new(condition, "message",
                                json_text(json_text_or(condition, "reason", "")));
    }
}

static json_t *dress_node(const struct sim_call *call, const struct kube_node *node)
{
    json_t *object = parse(node->blob);
    json_t *status = json_object_get(object, "status");
    owned(chars) char *address = address_of(node->name, 0);

    json_object_set_new(status, "addresses",
                        json_make("[{s:s, s:s}, {s:s, s:s}]", "type", "InternalIP", "address",
                                  address, "type", "Hostname", "address", node->name));
    json_object_set_new(status, "daemonEndpoints",
                        json_make("{s:{s:i}}", "kubeletEndpoint", "Port", 10250));
    json_object_set_new(
        status, "images",
        json_make("[{s:[s], s:i}]", "names", "registry.example/main:1", "sizeBytes", 268435456));
    add_conditions(call, node, json_object_get(status, "conditions"));
    return object;
}

void api_collect_nodes(struct sim_call *call, const struct api_resource *resource, json_t *items)
{
    void *value;

    (void)resource;
    for (size_t i = 0; map_next(call->cluster->nodes, &i, NULL, &value);)
        json_array_append_new(items, dress_node(call, value));
}

json_t *api_find_node(struct sim_call *call, const char *namespace, const char *name)
{
    const struct kube_node *node = map_get(call->cluster->nodes, name);

    (void)namespace;
    return node ? dress_node(call, node) : NULL;
}

/* ---- pods ---- */

static json_t *container_state(const struct sim_call *call, const struct kube_pod *pod)
{
    if (sim_pod_is_over(pod))
        return json_make("{s:{s:i, s:s, s:o}}", "terminated", "exitCode",
                         pod->state == POD_IS_FAILED ? 1 : 0, "reason",
                         pod->state == POD_IS_FAILED ? "Error" : "Completed", "startedAt",
                         time_of(call, pod->started_ms));
    if (pod->state == POD_IS_RUNNING)
        return json_make("{s:{s:o}}", "running", "startedAt", time_of(call, pod->started_ms));
    return json_make("{s:{s:s}}", "waiting", "reason", "ContainerCreating");
}

static void add_container_statuses(const struct sim_call *call, const struct kube_pod *pod,
                                   const json_t *spec, json_t *status)
{
    json_t *rows = json_array(), *container;
    bool runs = pod->state == POD_IS_RUNNING;
    size_t i;

    json_array_foreach(json_object_get(spec, "containers"), i, container) {
        const char *image = json_text_or(container, "image", "");

        json_array_append_new(rows, json_make("{s:s, s:s, s:s, s:b, s:b, s:i, s:{}, s:o}", "name",
                                              json_text_or(container, "name", ""), "image", image,
                                              "imageID", runs ? image : "", "ready", pod->is_ready,
                                              "started", runs, "restartCount", 0, "lastState",
                                              "state", container_state(call, pod)));
    }
    json_object_set_new(status, "containerStatuses", rows);
}

static void set_default(json_t *object, const char *key, json_t *value)
{
    if (json_object_get(object, key))
        json_decref(value);
    else
        json_object_set_new(object, key, value);
}

static json_t *dress_pod(const struct sim_call *call, const struct kube_pod *pod)
{
    json_t *object = parse(pod->blob);
    json_t *spec = json_object_get(object, "spec"), *status = json_object_get(object, "status");

    set_default(spec, "restartPolicy", json_string("Always"));
    set_default(spec, "dnsPolicy", json_string("ClusterFirst"));
    set_default(spec, "schedulerName", json_string("default-scheduler"));
    set_default(spec, "serviceAccountName", json_string("default"));
    set_default(spec, "securityContext", json_object());
    set_default(spec, "priority", json_integer(0));
    set_default(status, "qosClass", json_string(pod->gpus ? "Burstable" : "BestEffort"));
    if (!pod->node_name[0])
        return object;
    add_container_statuses(call, pod, spec, status);

    owned(chars) char *host = address_of(pod->node_name, 0);

    json_object_set_new(status, "hostIP", json_string(host));
    json_object_set_new(status, "hostIPs", json_make("[{s:s}]", "ip", host));
    if (pod->state != POD_IS_PENDING) {
        owned(chars) char *own = address_of(pod->uid, 64);

        json_object_set_new(status, "podIP", json_string(own));
        json_object_set_new(status, "podIPs", json_make("[{s:s}]", "ip", own));
    }
    return object;
}

void api_collect_pods(struct sim_call *call, const struct api_resource *resource, json_t *items)
{
    void *value;

    (void)resource;
    for (size_t i = 0; map_next(call->cluster->pods, &i, NULL, &value);)
        json_array_append_new(items, dress_pod(call, value));
}

json_t *api_find_pod(struct sim_call *call, const char *namespace, const char *name)
{
    owned(chars) char *key = text_format("%s/%s", namespace, name);
    const struct kube_pod *pod = map_get(call->cluster->pods, key);

    return pod ? dress_pod(call, pod) : NULL;
}

/* ---- namespaces ---- */

static void note_namespace(struct map *seen, const char *name)
{
    static bool here;

    map_set(seen, name, &here);
}

/* Those of a fresh cluster, those that a client posted, and those of the simulated work. */
static struct map *namespaces_of(const struct sim_call *call)
{
    static const char *const fresh[] = { "default", "kube-node-lease", "kube-public",
                                         "kube-system" };
    const struct kube_cluster *cluster = call->cluster;
    struct map *seen = map_new(NULL);
    const char *key;
    void *value;

    for (size_t i = 0; i < COUNT_OF(fresh); i++)
        note_namespace(seen, fresh[i]);
    for (size_t i = 0; map_next(cluster->namespaces, &i, &key, NULL);)
        note_namespace(seen, key);
    for (size_t i = 0; map_next(cluster->pods, &i, NULL, &value);)
        note_namespace(seen, ((struct kube_pod *)value)->namespace);
    for (size_t i = 0; i < cluster->deployments.count; i++)
        note_namespace(seen, cluster->deployments.items[i]->plan->namespace);
    for (size_t i = 0; i < cluster->budgets.count; i++)
        note_namespace(seen, cluster->budgets.items[i]->namespace);
    if (!cluster->plan->is_production)
        note_namespace(seen, "research");
    return seen;
}

bool api_namespace_exists(struct sim_call *call, const char *name)
{
    owned(map) struct map *all = namespaces_of(call);

    return map_get(all, name) != NULL;
}

void api_collect_namespaces(struct sim_call *call, const struct api_resource *resource,
                            json_t *items)
{
    owned(map) struct map *all = namespaces_of(call);
    const char *name;

    (void)resource;
    for (size_t i = 0; map_next(all, &i, &name, NULL);) {
        const struct kube_namespace *space = map_get(call->cluster->namespaces, name);
        owned(chars) char *uid = uid_of("Namespace", call->cluster->plan->name, name);

        json_array_append_new(
            items,
            json_make("{s:s, s:s, s:{s:s, s:s, s:s, s:o, s:{s:s}}, s:{s:[s]}, s:{s:s}}",
                      "apiVersion", "v1", "kind", "Namespace", "metadata", "name", name, "uid", uid,
                      "resourceVersion", "1", "creationTimestamp",
                      time_of(call, call->sim->start_ms), "labels", "kubernetes.io/metadata.name",
                      name, "spec", "finalizers", "kubernetes", "status", "phase",
                      space && space->is_terminating ? "Terminating" : "Active"));
    }
}

/* ---- events: what the components would have said of the present state ---- */

struct happening {
    const char *kind, *namespace, *name, *uid;
    const char *reason, *component;
    char *message; /* taken */
    int64_t at_ms;
    bool is_warning;
};

static void add_event(const struct sim_call *call, const struct happening *event, json_t *items)
{
    const char *namespace = event->namespace ?: "default";
    owned(chars) char *tag = text_format("%s %s %" PRId64, event->uid, event->reason, event->at_ms);
    owned(chars) char *uid = uid_of("Event", call->cluster->plan->name, tag);
    owned(chars) char *name = text_format("%s.%.8s%.4s", event->name, uid, uid + 9);
    owned(json) json_t *time = time_of(call, event->at_ms);
    json_t *about = json_make("{s:s, s:s, s:s, s:s}", "kind", event->kind, "apiVersion", "v1",
                              "name", event->name, "uid", event->uid);

    if (event->namespace)
        json_object_set_new(about, "namespace", json_string(event->namespace));
    json_array_append_new(
        items,
        json_make("{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:O}, s:o, s:s, s:s, s:s, s:{s:s}, s:O, s:O,"
                  " s:i, s:n, s:s, s:s}",
                  "apiVersion", "v1", "kind", "Event", "metadata", "name", name, "namespace",
                  namespace, "uid", uid, "resourceVersion", "1", "creationTimestamp", time,
                  "involvedObject", about, "type", event->is_warning ? "Warning" : "Normal",
                  "reason", event->reason, "message", event->message, "source", "component",
                  event->component, "firstTimestamp", time, "lastTimestamp", time, "count", 1,
                  "eventTime", "reportingComponent", event->component, "reportingInstance", ""));
    mem_free(event->message);
}

static void events_of_pod(const struct sim_call *call, const struct kube_pod *pod, json_t *items)
{
    struct happening event = { .kind = "Pod",
                               .namespace = pod->namespace,
                               .name = pod->name,
                               .uid = pod->uid,
                               .at_ms = pod->created_ms };

    event.component = "default-scheduler";
    event.is_warning = !pod->node_name[0];
    event.reason = pod->node_name[0] ? "Scheduled" : "FailedScheduling";
    event.message = pod->node_name[0]
                        ? text_format("Successfully assigned %s/%s to %s", pod->namespace,
                                      pod->name, pod->node_name)
                        : text_format("0/%zu nodes are available: Insufficient nvidia.com/gpu.",
                                      map_count(call->cluster->nodes));
    add_event(call, &event, items);
    event.component = "kubelet";
    event.is_warning = false;
    if (pod->state != POD_IS_PENDING) {
        event.at_ms = pod->started_ms;
        event.reason = "Started";
        event.message = mem_copy_chars("Started container main");
        add_event(call, &event, items);
    }
    if (pod->deletion_ms) {
        event.at_ms = pod->deletion_ms - pod->deletion_grace_s * SECOND_MS;
        event.reason = "Killing";
        event.message = mem_copy_chars("Stopping container main");
        add_event(call, &event, items);
    }
}

static void events_of_node(const struct sim_call *call, const struct kube_node *node, json_t *items)
{
    static const char *const reasons[] = { "NodeNotReady", "NodeReady", "NodeNotReady" };
    struct happening event = {
        .kind = "Node", .name = node->name, .uid = node->uid, .component = "node-controller"
    };

    event.at_ms = node->ready_changed_ms;
    event.reason = reasons[node->readiness];
    event.message = text_format("Node %s status is now: %s", node->name, event.reason);
    add_event(call, &event, items);
    if (node->cordoned_ms < 0)
        return;
    event.component = "kubelet";
    event.at_ms = call->sim->start_ms + node->cordoned_ms;
    event.reason = "NodeNotSchedulable";
    event.message = text_format("Node %s status is now: NodeNotSchedulable", node->name);
    add_event(call, &event, items);
}

/* What clients posted is kept as it came. */
static void events_of_clients(const struct sim_call *call, json_t *items)
{
    const char *key;
    void *value;

    for (size_t i = 0; map_next(call->cluster->objects, &i, &key, &value);) {
        owned(chars) char *uid = NULL;
        json_t *object, *metadata;

        if (!text_starts_with(key, "events/"))
            continue;
        uid = uid_of("Event", call->cluster->plan->name, key);
        object = json_deep_copy(value);
        json_object_set_new(object, "apiVersion", json_string("v1"));
        metadata = json_object_get(object, "metadata");
        set_default(metadata, "uid", json_string(uid));
        set_default(metadata, "resourceVersion", json_string("1"));
        set_default(metadata, "creationTimestamp",
                    json_text(json_text_or(object, "lastTimestamp", "")));
        json_array_append_new(items, object);
    }
}

void api_collect_events(struct sim_call *call, const struct api_resource *resource, json_t *items)
{
    void *value;

    (void)resource;
    for (size_t i = 0; map_next(call->cluster->nodes, &i, NULL, &value);)
        events_of_node(call, value, items);
    for (size_t i = 0; map_next(call->cluster->pods, &i, NULL, &value);)
        events_of_pod(call, value, items);
    events_of_clients(call, items);
}

/* ---- leases of kubelets ---- */

void api_collect_leases(struct sim_call *call, const struct api_resource *resource, json_t *items)
{
    void *value;

    (void)resource;
    for (size_t i = 0; map_next(call->cluster->nodes, &i, NULL, &value);) {
        const struct kube_node *node = value;
        owned(chars) char *uid = uid_of("Lease", call->cluster->plan->name, node->uid);
        owned(chars) char *renewed = NULL;
        char chars[WALL_TEXT_SIZE];

        if (!node->is_alive)
            continue;
        sim_time(call->sim, sim_now(call->sim) + call->cluster->plan->ahead_ms, chars);
        renewed = text_format("%.19s.000000Z", chars);
        json_array_append_new(
            items, json_make("{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:o}, s:{s:s, s:i, s:s}}",
                             "apiVersion", "coordination.k8s.io/v1", "kind", "Lease", "metadata",
                             "name", node->name, "namespace", "kube-node-lease", "uid", uid,
                             "resourceVersion", "1", "creationTimestamp",
                             time_of(call, node->created_ms), "spec", "holderIdentity", node->name,
                             "leaseDurationSeconds", 40, "renewTime", renewed));
    }
}
