/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What may refuse a creation: a namespace that ends, webhooks, and policies.  A policy that is
 * bound always says no, and so does a webhook whose URL begins with https://denies.simulator/?,
 * with what follows as its reason; the others are out of reach.  Their configuration says over
 * which namespace's evictions they watch.
 */
#include "tools/simulator/kube/kube_routes.h"

static const char DENIES[] = "https://denies.simulator/?";

struct rule {
    json_t *object;                /* as it was posted */
    char name[SIM_NAME_SIZE];      /* of the first webhook in the configuration */
    char namespace[SIM_NAME_SIZE]; /* "": all */
    char url[128];
    bool is_policy;
    bool is_bound; /* the policy is in force */
    char message[128];
};

void sim_rule_free(void *value)
{
    struct rule *rule = value;

    json_decref(rule->object);
    mem_free(rule);
}

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

static void deny(struct sim_call *call, const struct rule *policy, const char *pod)
{
    owned(chars) char *cause = text_format(
        "ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", policy->name,
        policy->name, policy->message);
    owned(chars) char *message = text_format("pods \"%s\" is forbidden: %s", pod, cause);

    sim_answer_json(call->answer, 422,
                    json_make("{s:s, s:s, s:{}, s:s, s:s, s:s, s:{s:s, s:s, s:[{s:s}]}, s:i}",
                              "kind", "Status", "apiVersion", "v1", "metadata", "status", "Failure",
                              "message", message, "reason", "Invalid", "details", "name", pod,
                              "kind", "pods", "causes", "message", cause, "code", 422));
}

static void ask_webhook(struct sim_call *call, const struct rule *webhook)
{
    owned(chars) char *message = NULL;

    if (text_starts_with(webhook->url, DENIES)) {
        sim_kube_status(call->answer, 403, "Forbidden",
                        "admission webhook \"%s\" denied the request: %s", webhook->name,
                        webhook->url + strlen(DENIES));
        return;
    }
    message = text_format(
        "Internal error occurred: failed calling webhook \"%s\": failed to call webhook: Post "
        "\"%s?timeout=10s\": setpoint tcp 127.0.0.1:1: connect: connection refused",
        webhook->name, webhook->url);
    sim_answer_json(call->answer, 500,
                    json_make("{s:s, s:s, s:{}, s:s, s:s, s:s, s:{s:[{s:s}]}, s:i}", "kind",
                              "Status", "apiVersion", "v1", "metadata", "status", "Failure",
                              "message", message, "reason", "InternalError", "details", "causes",
                              "message", message + strlen("Internal error occurred: "), "code",
                              500));
}

bool sim_rules_admit(struct sim_call *call, const char *namespace, const char *pod)
{
    void *value;

    for (size_t i = 0; map_next(call->cluster->rules, &i, NULL, &value);) {
        const struct rule *rule = value;

        if ((rule->namespace[0] && !text_equal(rule->namespace, namespace)) ||
            (rule->is_policy && !rule->is_bound))
            continue;
        if (rule->is_policy) {
            deny(call, rule, pod);
            return false;
        }
        ask_webhook(call, rule);
        return false;
    }
    return true;
}

static void post_webhook(struct sim_call *call, char **parts)
{
    owned(json) json_t *body = sim_kube_body(call);
    const json_t *first = json_array_get(json_at(body, "webhooks"), 0);
    const json_t *labels = json_at(first, "namespaceSelector/matchLabels");
    const char *name = json_text_or(body, "metadata/name", "");
    struct rule *rule;

    (void)parts;
    if (!body)
        return;
    if (!name[0] || !text_starts_with(json_text_or(first, "clientConfig/url", ""), "https://") ||
        !text_equal(json_text_or(first, "sideEffects", ""), "None")) {
        sim_kube_status(call->answer, 422, "Invalid",
                        "a webhook needs an https URL and no side effects");
        return;
    }
    rule = mem_new(sizeof *rule);
    rule->object = json_incref(body);
    text_copy(rule->name, sizeof rule->name, json_text_or(first, "name", ""));
    text_copy(rule->url, sizeof rule->url, json_text_or(first, "clientConfig/url", ""));
    text_copy(rule->namespace, sizeof rule->namespace,
              json_string_value(json_object_get(labels, "kubernetes.io/metadata.name")) ?: "");
    map_set(call->cluster->rules, name, rule);
    sim_answer_json(call->answer, 201, json_incref(body));
}

static void post_policy(struct sim_call *call, char **parts)
{
    owned(json) json_t *body = sim_kube_body(call);
    const json_t *labels = json_at(body, "spec/matchConstraints/namespaceSelector/matchLabels");
    const json_t *validation = json_array_get(json_at(body, "spec/validations"), 0);
    const char *name = json_text_or(body, "metadata/name", "");
    struct rule *policy;

    (void)parts;
    if (!body)
        return;
    if (!name[0] || !text_equal(json_text_or(validation, "expression", ""), "false")) {
        sim_kube_status(call->answer, 422, "Invalid", "the only expression here is false");
        return;
    }
    policy = mem_new(sizeof *policy);
    policy->object = json_incref(body);
    policy->is_policy = true;
    text_copy(policy->name, sizeof policy->name, name);
    text_copy(policy->message, sizeof policy->message, json_text_or(validation, "message", ""));
    text_copy(policy->namespace, sizeof policy->namespace,
              json_string_value(json_object_get(labels, "kubernetes.io/metadata.name")) ?: "");
    map_set(call->cluster->rules, name, policy);
    sim_answer_json(call->answer, 201, json_incref(body));
}

/* A binding has the name of its policy. */
static void post_binding(struct sim_call *call, char **parts)
{
    owned(json) json_t *body = sim_kube_body(call);
    const char *name = json_text_or(body, "spec/policyName", "");
    struct rule *policy = map_get(call->cluster->rules, name);

    (void)parts;
    if (!body)
        return;
    if (!policy || !text_equal(json_text_or(body, "metadata/name", ""), name)) {
        sim_kube_status(call->answer, 422, "Invalid", "a binding has the name of its policy");
        return;
    }
    policy->is_bound = true;
    sim_answer_json(call->answer, 201, json_incref(body));
}

static void delete_rule(struct sim_call *call, char **parts)
{
    const char *resource = parts[3];
    const char *name = parts[4];
    struct rule *rule = map_get(call->cluster->rules, name);
    owned(chars) char *what = text_format("%s.admissionregistration.k8s.io", resource);

    if (!rule) {
        sim_kube_not_found(call, what, name);
        return;
    }
    if (text_equal(resource, "validatingadmissionpolicybindings"))
        rule->is_bound = false;
    else
        map_remove(call->cluster->rules, name);
    sim_answer_json(call->answer, 200,
                    json_make("{s:s, s:s, s:{}, s:s}", "kind", "Status", "apiVersion", "v1",
                              "metadata", "status", "Success"));
}

/* The objects of a resource; mutating webhooks and bindings are never stored. */
static void list_rules(struct sim_call *call, char **parts)
{
    const char *resource = parts[3];
    bool are_policies = text_equal(resource, "validatingadmissionpolicies");
    bool are_webhooks = text_equal(resource, "validatingwebhookconfigurations");
    json_t *items = json_array();
    void *value;

    for (size_t i = 0; map_next(call->cluster->rules, &i, NULL, &value);) {
        const struct rule *rule = value;

        if (rule->is_policy ? are_policies : are_webhooks)
            json_array_append(items, rule->object);
    }
    sim_answer_json(call->answer, 200,
                    json_make("{s:s, s:s, s:{s:s}, s:o}", "kind", "List", "apiVersion",
                              "admissionregistration.k8s.io/v1", "metadata", "resourceVersion", "1",
                              "items", items));
}

#define RULES "apis/admissionregistration.k8s.io/v1/"

const struct kube_route kube_rule_routes[] = {
    { ON(GET), RULES "validatingwebhookconfigurations", NULL, list_rules },
    { ON(POST), RULES "validatingwebhookconfigurations", NULL, post_webhook },
    { ON(DELETE), RULES "validatingwebhookconfigurations/*", NULL, delete_rule },
    { ON(GET), RULES "validatingadmissionpolicies", NULL, list_rules },
    { ON(POST), RULES "validatingadmissionpolicies", NULL, post_policy },
    { ON(DELETE), RULES "validatingadmissionpolicies/*", NULL, delete_rule },
    { ON(GET), RULES "validatingadmissionpolicybindings", NULL, list_rules },
    { ON(POST), RULES "validatingadmissionpolicybindings", NULL, post_binding },
    { ON(DELETE), RULES "validatingadmissionpolicybindings/*", NULL, delete_rule },
    { ON(GET), RULES "mutatingwebhookconfigurations", NULL, list_rules },
    { ON(DELETE), RULES "mutatingwebhookconfigurations/*", NULL, delete_rule },
    { 0 },
};
