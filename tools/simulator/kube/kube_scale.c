/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The scale subresource of Deployments.
 */
#include "base/url.h"
#include "tools/simulator/kube/deployments.h"
#include "tools/simulator/kube/kube_routes.h"

#include <inttypes.h>

static void answer_scale(struct sim_call *call, const struct deployment *deployment)
{
    char version[24];
    owned(chars) char *selector = text_format("app=%s", deployment->plan->name);

    snprintf(version, sizeof version, "%" PRIu64, deployment->version);
    sim_answer_json(call->answer, 200,
                    json_make("{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:{s:i}, s:{s:I, s:s}}", "kind",
                              "Scale", "apiVersion", "autoscaling/v1", "metadata", "name",
                              deployment->plan->name, "namespace", deployment->plan->namespace,
                              "uid", deployment->uid, "resourceVersion", version, "spec",
                              "replicas", deployment->replicas, "status", "replicas",
                              (json_int_t)sim_deployment_staying(deployment), "selector",
                              selector));
}

void sim_deployment_scale(struct simulator *sim, struct deployment *deployment, int replicas,
                          const char *manager)
{
    if (replicas == deployment->replicas)
        return;
    deployment->replicas = replicas;
    deployment->version = ++deployment->cluster->version;
    text_copy(deployment->manager, sizeof deployment->manager, manager);
    deployment->managed_ms = loop_now(sim->loop);
    sim_trace(sim, "scale %s/%s %d", deployment->plan->namespace, deployment->plan->name, replicas);
    sim_deployment_reconcile(sim, deployment);
}

/* The requested Deployment; NULL: answered that there is none. */
static struct deployment *deployment_of(struct sim_call *call, char **parts)
{
    struct deployment *deployment = sim_deployment_find(call->cluster, parts[4], parts[6]);

    if (!deployment)
        sim_kube_status(call->answer, 404, "NotFound", "deployments.apps \"%s\" not found",
                        parts[6]);
    return deployment;
}

static void get_deployment(struct sim_call *call, char **parts)
{
    const struct deployment *deployment = deployment_of(call, parts);
    owned(json) json_t *patch = json_make("{s:{s:i}}", "spec", "replicas", 0);
    char version[24];
    json_t *object;
    int staying;

    if (!deployment)
        return;
    snprintf(version, sizeof version, "%" PRIu64, deployment->version);
    staying = sim_deployment_staying(deployment);
    object = json_make("{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:{s:i}, s:{s:i, s:i}}", "kind",
                       "Deployment", "apiVersion", "apps/v1", "metadata", "name", parts[6],
                       "namespace", parts[4], "uid", deployment->uid, "resourceVersion", version,
                       "spec", "replicas", deployment->replicas, "status", "replicas", staying,
                       "updatedReplicas", staying - deployment->outdated);
    if (deployment->manager[0])
        json_object_set_new(
            json_object_get(object, "metadata"), "managedFields",
            sim_managed_fields(call->sim, deployment->manager, deployment->managed_ms, patch));
    sim_answer_json(call->answer, 200, object);
}

static void write_scale(struct sim_call *call, struct deployment *deployment)
{
    owned(json) json_t *body = sim_kube_body(call);
    owned(chars) char *object = text_format("%s/%s", deployment->plan->namespace,
                                            deployment->plan->name);

    if (!body)
        return;

    const char *version = json_text_or(body, "metadata/resourceVersion", NULL);
    char current[24];

    snprintf(current, sizeof current, "%" PRIu64, deployment->version);
    if (version && !text_equal(version, current)) {
        sim_kube_status(call->answer, 409, "Conflict",
                        "Operation cannot be fulfilled on deployments \"%s\": the object has been "
                        "modified",
                        deployment->plan->name);
        return;
    }

    json_t *replicas = json_at(body, "spec/replicas");

    if (!json_is_integer(replicas) || json_integer_value(replicas) < 0 ||
        json_integer_value(replicas) > 10000) {
        sim_kube_status(call->answer, 422, "Invalid", "spec.replicas: not a count");
        return;
    }
    referee_scale(call->sim, object);
    owned(chars) char *manager = url_query(call->request->target, "fieldManager");

    sim_deployment_scale(call->sim, deployment, (int)json_integer_value(replicas),
                         manager ? manager : "unknown");
    answer_scale(call, deployment);
}

static void get_scale(struct sim_call *call, char **parts)
{
    const struct deployment *deployment = deployment_of(call, parts);

    if (deployment)
        answer_scale(call, deployment);
}

static void put_scale(struct sim_call *call, char **parts)
{
    struct deployment *deployment = deployment_of(call, parts);

    if (deployment)
        write_scale(call, deployment);
}

static void patch_scale(struct sim_call *call, char **parts)
{
    const char *type = http_header_find(call->request->headers, call->request->header_count,
                                        "Content-Type");
    struct deployment *deployment = deployment_of(call, parts);

    if (!deployment)
        return;
    if (!type || !(text_starts_with(type, "application/merge-patch+json") ||
                   text_starts_with(type, "application/strategic-merge-patch+json")))
        sim_kube_status(call->answer, 415, "UnsupportedMediaType", "unknown format of the body");
    else
        write_scale(call, deployment);
}

static void refuse_on_scale(struct sim_call *call, char **parts)
{
    (void)parts;
    sim_kube_status(call->answer, 405, "MethodNotAllowed", "not allowed on a scale");
}

#define DEPLOYMENT "apis/apps/v1/namespaces/*/deployments/*"

const struct kube_route kube_deployment_routes[] = {
    { ON(GET), DEPLOYMENT, "get_deployment", get_deployment },
    { ON(GET), DEPLOYMENT "/scale", "get_scale", get_scale },
    { ON(PATCH), DEPLOYMENT "/scale", "write_scale", patch_scale },
    { ON(PUT), DEPLOYMENT "/scale", "write_scale", put_scale },
    { ANY_METHOD, DEPLOYMENT "/scale", NULL, refuse_on_scale },
    { 0 },
};
