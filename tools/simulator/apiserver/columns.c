/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The columns of Tables, as Kubernetes 1.36 and Kueue 0.18 have them, and how an age is printed.
 */
#include "tools/simulator/apiserver/columns.h"

#include <inttypes.h>

/* As k8s.io/apimachinery's HumanDuration. */
static json_t *duration_cell(int64_t seconds)
{
    int64_t minutes = seconds / 60, hours = seconds / 3600, days = hours / 24;
    char out[48];

    if (seconds < 0)
        snprintf(out, sizeof out, "<invalid>");
    else if (seconds < 120)
        snprintf(out, sizeof out, "%" PRId64 "s", seconds);
    else if (minutes < 10 && seconds % 60)
        snprintf(out, sizeof out, "%" PRId64 "m%" PRId64 "s", minutes, seconds % 60);
    else if (minutes < 180)
        snprintf(out, sizeof out, "%" PRId64 "m", minutes);
    else if (hours < 8 && minutes % 60)
        snprintf(out, sizeof out, "%" PRId64 "h%" PRId64 "m", hours, minutes % 60);
    else if (hours < 48)
        snprintf(out, sizeof out, "%" PRId64 "h", hours);
    else if (days < 8 && hours % 24)
        snprintf(out, sizeof out, "%" PRId64 "d%" PRId64 "h", days, hours % 24);
    else
        snprintf(out, sizeof out, "%" PRId64 "d", days);
    return json_string(out);
}

json_t *api_since(const struct sim_call *call, const char *time)
{
    int64_t now_ms = sim_now(call->sim) + call->sim->wall_offset_ms + call->cluster->plan->ahead_ms;
    struct error err = { 0 };
    struct wall_time then;

    if (!time || wall_parse(time, false, &then, &err) < 0)
        return json_string("<unknown>");
    return duration_cell((now_ms - then.ms) / SECOND_MS);
}

json_t *api_text_or_none(const char *chars)
{
    return json_text(chars && chars[0] ? chars : "<none>");
}

json_t *api_name_cell(const struct sim_call *call, const json_t *object)
{
    (void)call;
    return json_text(json_text_or(object, "metadata/name", ""));
}

json_t *api_age_cell(const struct sim_call *call, const json_t *object)
{
    return api_since(call, json_text_or(object, "metadata/creationTimestamp", NULL));
}

static json_t *condition_of(const json_t *object, const char *type)
{
    size_t i;
    json_t *condition;

    json_array_foreach(json_at(object, "status/conditions"), i, condition)
        if (text_equal(json_text_or(condition, "type", ""), type))
            return condition;
    return NULL;
}

/* ---- nodes ---- */

static json_t *node_status(const struct sim_call *call, const json_t *object)
{
    const char *ready = json_text_or(condition_of(object, "Ready"), "status", "Unknown");
    owned(chars) char *out = text_format(
        "%s%s", text_equal(ready, "True") ? "Ready" : "NotReady",
        json_is_true(json_at(object, "spec/unschedulable")) ? ",SchedulingDisabled" : "");

    (void)call;
    return json_string(out);
}

static json_t *node_roles(const struct sim_call *call, const json_t *object)
{
    static const char start[] = "node-role.kubernetes.io/";
    owned(text) struct text *out = text_new(1024);
    const char *key;
    json_t *value;

    (void)call;
    json_object_foreach(json_at(object, "metadata/labels"), key, value) {
        if (text_starts_with(key, start))
            text_add(out, "%s%s", out->length ? "," : "", key + strlen(start));
    }
    return api_text_or_none(out->chars);
}

static json_t *address_of(const json_t *object, const char *type)
{
    size_t i;
    json_t *address;

    json_array_foreach(json_at(object, "status/addresses"), i, address)
        if (text_equal(json_text_or(address, "type", ""), type))
            return api_text_or_none(json_text_or(address, "address", ""));
    return api_text_or_none(NULL);
}

static json_t *node_internal(const struct sim_call *call, const json_t *object)
{
    (void)call;
    return address_of(object, "InternalIP");
}

static json_t *node_external(const struct sim_call *call, const json_t *object)
{
    (void)call;
    return address_of(object, "ExternalIP");
}

static json_t *node_kernel(const struct sim_call *call, const json_t *object)
{
    owned(chars) char *out = text_format(
        "%s (%s)", json_text_or(object, "status/nodeInfo/kernelVersion", "<unknown>"),
        json_text_or(object, "status/nodeInfo/architecture", "<unknown>"));

    (void)call;
    return json_text(out);
}

TEXT_CELL(node_version, "status/nodeInfo/kubeletVersion")
TEXT_CELL(node_image, "status/nodeInfo/osImage")
TEXT_CELL(node_runtime, "status/nodeInfo/containerRuntimeVersion")

const struct api_column api_node_columns[] = {
    { "Name", "string", false, api_name_cell },
    { "Status", "string", false, node_status },
    { "Roles", "string", false, node_roles },
    { "Age", "string", false, api_age_cell },
    { "Version", "string", false, node_version },
    { "Internal-IP", "string", true, node_internal },
    { "External-IP", "string", true, node_external },
    { "OS-Image", "string", true, node_image },
    { "Kernel-Version", "string", true, node_kernel },
    { "Container-Runtime", "string", true, node_runtime },
    { 0 },
};

/* ---- pods ---- */

static json_t *pod_ready(const struct sim_call *call, const json_t *object)
{
    size_t total = json_array_size(json_at(object, "spec/containers"));
    bool is_ready = text_equal(json_text_or(condition_of(object, "Ready"), "status", ""), "True");
    owned(chars) char *out = text_format("%zu/%zu", is_ready ? total : 0, total);

    (void)call;
    return json_string(out);
}

static json_t *pod_status(const struct sim_call *call, const json_t *object)
{
    const char *phase = json_text_or(object, "status/phase", "Unknown");
    const char *node = json_text_or(object, "spec/nodeName", "");

    (void)call;
    if (json_at(object, "metadata/deletionTimestamp"))
        return json_string("Terminating");
    if (text_equal(phase, "Succeeded"))
        return json_string("Completed");
    if (text_equal(phase, "Failed"))
        return json_string("Error");
    return json_text(text_equal(phase, "Pending") && node[0] ? "ContainerCreating" : phase);
}

static json_t *pod_restarts(const struct sim_call *call, const json_t *object)
{
    (void)call;
    (void)object;
    return json_string("0");
}

TEXT_CELL(pod_address, "status/podIP")
TEXT_CELL(pod_node, "spec/nodeName")
TEXT_CELL(pod_nominated, "status/nominatedNodeName")
TEXT_CELL(pod_gates, "spec/readinessGates/none")

const struct api_column api_pod_columns[] = {
    { "Name", "string", false, api_name_cell },
    { "Ready", "string", false, pod_ready },
    { "Status", "string", false, pod_status },
    { "Restarts", "string", false, pod_restarts },
    { "Age", "string", false, api_age_cell },
    { "IP", "string", true, pod_address },
    { "Node", "string", true, pod_node },
    { "Nominated Node", "string", true, pod_nominated },
    { "Readiness Gates", "string", true, pod_gates },
    { 0 },
};

/* ---- what has a template ---- */

static json_t *join_containers(const json_t *object, const char *member)
{
    owned(text) struct text *out = text_new(4096);
    size_t i;
    json_t *container;

    json_array_foreach(json_at(object, "spec/template/spec/containers"), i, container)
        text_add(out, "%s%s", out->length ? "," : "", json_text_or(container, member, ""));
    return api_text_or_none(out->chars);
}

static json_t *container_names(const struct sim_call *call, const json_t *object)
{
    (void)call;
    return join_containers(object, "name");
}

static json_t *container_images(const struct sim_call *call, const json_t *object)
{
    (void)call;
    return join_containers(object, "image");
}

static json_t *selector_cell(const struct sim_call *call, const json_t *object)
{
    owned(text) struct text *out = text_new(4096);
    const char *key;
    json_t *value;

    (void)call;
    json_object_foreach(json_at(object, "spec/selector/matchLabels"), key, value)
        text_add(out, "%s%s=%s", out->length ? "," : "", key, json_string_value(value) ?: "");
    return api_text_or_none(out->chars);
}

static json_t *deployment_ready(const struct sim_call *call, const json_t *object)
{
    owned(chars) char *out = text_format("%d/%d",
                                         (int)json_int_or(object, "status/readyReplicas", 0),
                                         (int)json_int_or(object, "spec/replicas", 0));

    (void)call;
    return json_string(out);
}

NUMBER_CELL(updated_replicas, "status/updatedReplicas")
NUMBER_CELL(available_replicas, "status/availableReplicas")
NUMBER_CELL(wanted_replicas, "spec/replicas")
NUMBER_CELL(current_replicas, "status/replicas")
NUMBER_CELL(ready_replicas, "status/readyReplicas")

const struct api_column api_deployment_columns[] = {
    { "Name", "string", false, api_name_cell },
    { "Ready", "string", false, deployment_ready },
    { "Up-to-date", "string", false, updated_replicas },
    { "Available", "string", false, available_replicas },
    { "Age", "string", false, api_age_cell },
    { "Containers", "string", true, container_names },
    { "Images", "string", true, container_images },
    { "Selector", "string", true, selector_cell },
    { 0 },
};

const struct api_column api_replica_set_columns[] = {
    { "Name", "string", false, api_name_cell },
    { "Desired", "integer", false, wanted_replicas },
    { "Current", "integer", false, current_replicas },
    { "Ready", "integer", false, ready_replicas },
    { "Age", "string", false, api_age_cell },
    { "Containers", "string", true, container_names },
    { "Images", "string", true, container_images },
    { "Selector", "string", true, selector_cell },
    { 0 },
};

NUMBER_CELL(daemons_desired, "status/desiredNumberScheduled")
NUMBER_CELL(daemons_current, "status/currentNumberScheduled")
NUMBER_CELL(daemons_ready, "status/numberReady")
NUMBER_CELL(daemons_updated, "status/updatedNumberScheduled")
NUMBER_CELL(daemons_available, "status/numberAvailable")
TEXT_CELL(node_selector, "spec/template/spec/nodeSelector/none")

const struct api_column api_daemon_set_columns[] = {
    { "Name", "string", false, api_name_cell },
    { "Desired", "integer", false, daemons_desired },
    { "Current", "integer", false, daemons_current },
    { "Ready", "integer", false, daemons_ready },
    { "Up-to-date", "integer", false, daemons_updated },
    { "Available", "integer", false, daemons_available },
    { "Node Selector", "string", false, node_selector },
    { "Age", "string", false, api_age_cell },
    { "Containers", "string", true, container_names },
    { "Images", "string", true, container_images },
    { "Selector", "string", true, selector_cell },
    { 0 },
};

static json_t *job_status(const struct sim_call *call, const json_t *object)
{
    (void)call;
    if (text_equal(json_text_or(condition_of(object, "Complete"), "status", ""), "True"))
        return json_string("Complete");
    return json_string("Running");
}

static json_t *job_completions(const struct sim_call *call, const json_t *object)
{
    owned(chars) char *out = text_format("%d/%d", (int)json_int_or(object, "status/succeeded", 0),
                                         (int)json_int_or(object, "spec/completions", 1));

    (void)call;
    return json_string(out);
}

static json_t *job_duration(const struct sim_call *call, const json_t *object)
{
    const char *start = json_text_or(object, "status/startTime", NULL);

    return start ? api_since(call, start) : json_string("");
}

const struct api_column api_job_columns[] = {
    { "Name", "string", false, api_name_cell },
    { "Status", "string", false, job_status },
    { "Completions", "string", false, job_completions },
    { "Duration", "string", false, job_duration },
    { "Age", "string", false, api_age_cell },
    { "Containers", "string", true, container_names },
    { "Images", "string", true, container_images },
    { "Selector", "string", true, selector_cell },
    { 0 },
};
