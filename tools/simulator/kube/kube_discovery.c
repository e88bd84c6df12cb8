/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a server says of itself, so that kubectl finds its way: the version, the groups, and the
 * resources that there are.
 */
#include "tools/simulator/kube/kube_versions.h"
#include "tools/simulator/model/model.h"

static json_t *resource(const char *name, const char *kind, bool is_namespaced, json_t *verbs)
{
    return json_make("{s:s, s:s, s:b, s:s, s:o}", "name", name, "singularName", "", "namespaced",
                     is_namespaced, "kind", kind, "verbs", verbs);
}

static json_t *resource_list(const char *version, json_t *resources)
{
    return json_make("{s:s, s:s, s:s, s:o}", "kind", "APIResourceList", "apiVersion", "v1",
                     "groupVersion", version, "resources", resources);
}

static json_t *core_resources(const struct sim_call *call)
{
    json_t *verbs = json_make("[s, s, s, s, s]", "get", "list", "watch", "patch", "delete");

    return resource_list(
        "v1", json_make("[o, o, o, o]", resource("nodes", "Node", false, verbs),
                        resource("pods", "Pod", true, json_incref(verbs)),
                        resource("pods/status", "Pod", true, json_make("[s]", "patch")),
                        json_make("{s:s, s:s, s:b, s:s, s:s, s:s, s:[s]}", "name", "pods/eviction",
                                  "singularName", "", "namespaced", 1, "group", "policy", "version",
                                  sim_version_of(call->sim, SCENARIO_POLICY), "kind", "Eviction",
                                  "verbs", "create")));
}

/* A group with the one version v1. */
static json_t *plain_group(const char *name)
{
    owned(chars) char *version = text_format("%s/v1", name);

    return json_make("{s:s, s:[{s:s, s:s}], s:{s:s, s:s}}", "name", name, "versions",
                     "groupVersion", version, "version", "v1", "preferredVersion", "groupVersion",
                     version, "version", "v1");
}

/* Kueue is not named here: kubectl would ask for resources that no list here has. */
static json_t *group_list(const struct sim_call *call)
{
    json_t *policy = sim_version_group(call, "policy");
    json_t *autoscaling = sim_version_group(call, "autoscaling");
    json_t *groups = json_make("[o, o]", plain_group("apps"), policy);

    if (autoscaling)
        json_array_append_new(groups, autoscaling);
    return json_make("{s:s, s:s, s:o}", "kind", "APIGroupList", "apiVersion", "v1", "groups",
                     groups);
}

/* The resources of a group and version that are served. */
static json_t *group_resources(const char *group, const char *version)
{
    static const struct {
        const char *group;
        const char *name;
        const char *kind;
        const char *verbs[3];
    } rows[] = {
        { "apps", "deployments/scale", "Scale", { "get", "patch", "update" } },
        { "autoscaling",
          "horizontalpodautoscalers",
          "HorizontalPodAutoscaler",
          { "get", "list", "patch" } },
        { "policy", "poddisruptionbudgets", "PodDisruptionBudget", { "get", "list", "watch" } },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *const *verbs = rows[i].verbs;
        owned(chars) char *name = text_format("%s/%s", group, version);

        if (text_equal(rows[i].group, group))
            return resource_list(name, json_make("[o]", resource(rows[i].name, rows[i].kind, true,
                                                                 json_make("[s, s, s]", verbs[0],
                                                                           verbs[1], verbs[2]))));
    }
    return NULL;
}

/* For an unknown group the real server answers in plain text. */
static void answer_no_group(struct sim_call *call)
{
    static const char words[] = "404 page not found\n";

    call->answer->status = 404;
    call->answer->content_type = "text/plain";
    call->answer->body = text_new(sizeof words);
    text_add(call->answer->body, "%s", words);
}

static json_t *describe(const struct sim_call *call, size_t at)
{
    char **items = call->path->items + at;
    size_t count = call->path->count - at;
    bool is_of_groups = count > 0 && text_equal(items[0], "apis");

    if (count == 1 && text_equal(items[0], "version"))
        return json_make("{s:s, s:s, s:s}", "major", "1", "minor", "33", "gitVersion", "v1.33.5");
    if (count == 1 && text_equal(items[0], "api"))
        return json_make("{s:s, s:[s]}", "kind", "APIVersions", "versions", "v1");
    if (count == 2 && text_equal(items[0], "api") && text_equal(items[1], "v1"))
        return core_resources(call);
    if (count == 1 && is_of_groups)
        return group_list(call);
    if (count == 2 && is_of_groups && call->cluster->devices &&
        text_equal(items[1], "resource.k8s.io"))
        return plain_group(items[1]);
    if (count == 2 && is_of_groups)
        return sim_version_group(call, items[1]);
    return count == 3 && is_of_groups ? group_resources(items[1], items[2]) : NULL;
}

/* True when the path was one of these, or of a version that is not served. */
bool sim_kube_discover(struct sim_call *call, size_t at)
{
    bool is_read = call->request->method == HTTP_GET;
    bool is_served = sim_version_is_served(call, at);
    json_t *body = is_read && is_served ? describe(call, at) : NULL;

    if (body)
        sim_answer_json(call->answer, 200, body);
    else if (!is_served ||
             (is_read && call->path->count - at == 2 && text_equal(call->path->items[at], "apis")))
        answer_no_group(call);
    return body || call->answer->body;
}
