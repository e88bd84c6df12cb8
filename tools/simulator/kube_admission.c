/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What stands before a creation: a namespace that ends, and webhooks.  A webhook of the simulator
 * is always out of reach; its configuration says over which namespace's evictions it watches.
 */
#include "tools/simulator/model.h"

struct webhook {
    char name[SIM_NAME_SIZE];      /* of the first webhook in the configuration */
    char namespace[SIM_NAME_SIZE]; /* "": all */
    char url[128];
};

static void refuse_terminating(struct sim_call *call, const char *namespace, const char *name)
{
    owned(chars) char *message = text_format(
        "pods \"%s\" is forbidden: unable to create new content in namespace %s because it is "
        "being terminated",
        name, namespace);
    owned(chars) char *cause = text_format("namespace %s is being terminated", namespace);

    sim_answer_json(
        call->answer, 403,
        json_make("{s:s, s:s, s:{}, s:s, s:s, s:s, s:{s:s, s:s, s:[{s:s, s:s, s:s}]}, s:i}", "kind",
                  "Status", "apiVersion", "v1", "metadata", "status", "Failure", "message", message,
                  "reason", "Forbidden", "details", "name", name, "kind", "pods", "causes",
                  "reason", "NamespaceTerminating", "message", cause, "field", "metadata.namespace",
                  "code", 403));
}

bool sim_namespace_admits(struct sim_call *call, const char *namespace, const char *pod)
{
    const struct kube_namespace *space = map_get(call->cluster->namespaces, namespace);

    if (!space || !space->is_terminating)
        return true;
    refuse_terminating(call, namespace, pod);
    return false;
}

bool sim_webhooks_admit(struct sim_call *call, const char *namespace)
{
    void *value;

    for (size_t i = 0; map_next(call->cluster->webhooks, &i, NULL, &value);) {
        const struct webhook *webhook = value;
        owned(chars) char *message = NULL;

        if (webhook->namespace[0] && !text_equal(webhook->namespace, namespace))
            continue;
        message = text_format(
            "Internal error occurred: failed calling webhook \"%s\": failed to call webhook: Post "
            "\"%s?timeout=10s\": dial tcp 127.0.0.1:1: connect: connection refused",
            webhook->name, webhook->url);
        sim_answer_json(call->answer, 500,
                        json_make("{s:s, s:s, s:{}, s:s, s:s, s:s, s:{s:[{s:s}]}, s:i}", "kind",
                                  "Status", "apiVersion", "v1", "metadata", "status", "Failure",
                                  "message", message, "reason", "InternalError", "details",
                                  "causes", "message",
                                  message + strlen("Internal error occurred: "), "code", 500));
        return false;
    }
    return true;
}

static void post(struct sim_call *call)
{
    owned(json) json_t *body = sim_kube_body(call);
    const json_t *first = json_array_get(json_at(body, "webhooks"), 0);
    const json_t *labels = json_at(first, "namespaceSelector/matchLabels");
    const char *name = json_text_or(body, "metadata/name", "");
    struct webhook *webhook;

    if (!body)
        return;
    if (!name[0] || !text_starts_with(json_text_or(first, "clientConfig/url", ""), "https://") ||
        !text_equal(json_text_or(first, "sideEffects", ""), "None")) {
        sim_kube_status(call->answer, 422, "Invalid",
                        "a webhook needs an https URL and no side effects");
        return;
    }
    webhook = mem_new(sizeof *webhook);
    text_copy(webhook->name, sizeof webhook->name, json_text_or(first, "name", ""));
    text_copy(webhook->url, sizeof webhook->url, json_text_or(first, "clientConfig/url", ""));
    text_copy(webhook->namespace, sizeof webhook->namespace,
              json_string_value(json_object_get(labels, "kubernetes.io/metadata.name")) ?: "");
    map_set(call->cluster->webhooks, name, webhook);
    sim_answer_json(call->answer, 201, json_incref(body));
}

bool sim_kube_webhooks(struct sim_call *call, size_t at)
{
    char **items = call->path->items + at;
    size_t count = call->path->count - at;

    if (count < 4 || count > 5 || !text_equal(items[0], "apis") ||
        !text_equal(items[1], "admissionregistration.k8s.io") || !text_equal(items[2], "v1") ||
        !text_equal(items[3], "validatingwebhookconfigurations"))
        return false;
    if (count == 4 && call->request->method == HTTP_POST) {
        post(call);
    } else if (count == 5 && call->request->method == HTTP_DELETE) {
        struct webhook *webhook = map_take(call->cluster->webhooks, items[4]);

        if (!webhook)
            sim_kube_not_found(call, "validatingwebhookconfigurations.admissionregistration.k8s.io",
                               items[4]);
        else
            sim_answer_json(call->answer, 200,
                            json_make("{s:s, s:s, s:{}, s:s}", "kind", "Status", "apiVersion", "v1",
                                      "metadata", "status", "Success"));
        mem_free(webhook);
    } else {
        return false;
    }
    return true;
}
