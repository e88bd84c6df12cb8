/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Deployments that clients post, change and delete.  The simulator plays no rollout: a change of
 * the pod template is refused.
 */
#include "tools/simulator/apiserver/writes.h"
#include "tools/simulator/kube/deployments.h"

static struct deployment *deployment_of(const struct api_request *request)
{
    return sim_deployment_find(request->call->cluster, request->namespace, request->name);
}

static int gpus_of(const json_t *spec)
{
    long long sum = 0, count;
    size_t i;
    json_t *container;

    json_array_foreach(json_at(spec, "containers"), i, container) {
        const json_t *limits = json_at(container, "resources/limits");
        const json_t *value = json_object_get(limits, SIM_GPU);
        const char *chars = json_string_value(value);

        if (json_is_integer(value) && json_integer_value(value) >= 0 &&
            json_integer_value(value) <= 1024)
            sum += json_integer_value(value);
        else if (chars && text_to_int(chars, 0, 1024, &count))
            sum += count;
    }
    return (int)sum;
}

static bool replicas_are_right(struct api_request *request, const json_t *object)
{
    const json_t *replicas = json_at(object, "spec/replicas");

    if (!replicas || (json_is_integer(replicas) && json_integer_value(replicas) >= 0 &&
                      json_integer_value(replicas) <= 10000))
        return true;
    api_invalid(request, "spec.replicas", "FieldValueInvalid",
                "Invalid value: must be greater than or equal to 0");
    return false;
}

static bool is_right(struct api_request *request, const json_t *object)
{
    const json_t *wanted = json_at(object, "spec/selector/matchLabels");
    const json_t *labels = json_at(object, "spec/template/metadata/labels");
    const char *key;
    json_t *value;

    if (!json_object_size(wanted)) {
        api_invalid(request, "spec.selector", "FieldValueRequired", "Required value");
        return false;
    }
    json_object_foreach((json_t *)(uintptr_t)wanted, key, value) {
        if (!json_equal(json_object_get(labels, key), value)) {
            api_invalid(request, "spec.template.metadata.labels", "FieldValueInvalid",
                        "Invalid value: `selector` does not match template `labels`");
            return false;
        }
    }
    if (!json_array_size(json_at(object, "spec/template/spec/containers"))) {
        api_invalid(request, "spec.template.spec.containers", "FieldValueRequired",
                    "Required value");
        return false;
    }
    return replicas_are_right(request, object);
}

/* What is kept of what a client wrote. */
static json_t *kept_of(const json_t *object)
{
    json_t *kept = json_make("{s:{}, s:O}", "metadata", "spec", json_object_get(object, "spec"));
    json_t *metadata = json_object_get(kept, "metadata");
    json_t *labels = json_at(object, "metadata/labels");
    json_t *notes = json_at(object, "metadata/annotations");
    json_t *copy;

    if (labels)
        json_object_set(metadata, "labels", labels);
    if (notes)
        json_object_set(metadata, "annotations", notes);
    copy = json_deep_copy(kept);
    json_decref(kept);
    return copy;
}

void api_create_deployment(struct api_request *request, json_t *object)
{
    struct scenario_workload *plan;

    if (!is_right(request, object))
        return;
    if (request->is_dry) {
        api_answer_object(request, 201, object);
        return;
    }
    plan = mem_new(sizeof *plan);
    plan->name = mem_copy_chars(request->name);
    plan->namespace = mem_copy_chars(request->namespace);
    plan->queue = SIZE_MAX;
    plan->gpus = gpus_of(json_at(object, "spec/template/spec"));
    sim_deployment_post(request->call->sim, request->call->cluster, plan, kept_of(object));
    owners_note(request, NULL, object, request->config);
    api_answer_present(request, 201);
}

/* The spec without its replicas, and without what the server itself adds. */
static json_t *lasting(const json_t *object)
{
    json_t *spec = json_deep_copy(json_object_get(object, "spec"));

    json_object_del(spec, "replicas");
    return spec;
}

void api_update_deployment(struct api_request *request, const json_t *old, json_t *object)
{
    struct deployment *deployment = deployment_of(request);
    owned(json) json_t *before = lasting(old);
    owned(json) json_t *after = lasting(object);
    owned(chars) char *manager = url_query(request->call->request->target, "fieldManager");
    int replicas;

    if (!replicas_are_right(request, object))
        return;
    if (!json_equal(before, after)) {
        api_invalid(request, "spec", "FieldValueForbidden",
                    "Forbidden: the simulator plays no rollout: only spec.replicas, labels and "
                    "annotations of a Deployment may change");
        return;
    }
    if (request->is_dry) {
        api_answer_object(request, 200, object);
        return;
    }
    replicas = (int)json_int_or(object, "spec/replicas", 1);
    json_decref(deployment->written);
    deployment->written = kept_of(object);
    deployment->version = ++request->call->cluster->version;
    sim_deployment_scale(request->call->sim, deployment, replicas, manager ?: "unknown");
    api_answer_present(request, 200);
}

void api_remove_deployment(struct api_request *request, const json_t *object)
{
    struct deployment *deployment = deployment_of(request);
    owned(chars) char *query = url_query(request->call->request->target, "propagationPolicy");
    const char *policy = json_text_or(request->options, "propagationPolicy", query ?: "Background");

    if (text_equal(policy, "Orphan")) {
        api_invalid(request, "propagationPolicy", "FieldValueNotSupported",
                    "Unsupported value: \"Orphan\": supported values: \"Background\", "
                    "\"Foreground\"");
        return;
    }
    deployment->is_deleted = true;
    deployment->version = ++request->call->cluster->version;
    deployment->replicas = 0;
    sim_deployment_reconcile(request->call->sim, deployment);
    owners_forget(request, object);
    api_answer_deleted(request, object);
}
