/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a server says of itself, so that kubectl finds its way: the version, the groups, and the
 * resources that there are.
 */
#include "tools/simulator/kube_kueue.h"
#include "tools/simulator/model.h"

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

static json_t *core_resources(void)
{
    json_t *verbs = json_make("[s, s, s, s, s]", "get", "list", "watch", "patch", "delete");

    return resource_list(
        "v1", json_make("[o, o, o, o]", resource("nodes", "Node", false, verbs),
                        resource("pods", "Pod", true, json_incref(verbs)),
                        resource("pods/status", "Pod", true, json_make("[s]", "patch")),
                        json_make("{s:s, s:s, s:b, s:s, s:s, s:s, s:[s]}", "name", "pods/eviction",
                                  "singularName", "", "namespaced", 1, "group", "policy", "version",
                                  "v1", "kind", "Eviction", "verbs", "create")));
}

static json_t *group(const char *name)
{
    owned(chars) char *version = text_format("%s/v1", name);

    return json_make("{s:s, s:[{s:s, s:s}], s:{s:s, s:s}}", "name", name, "versions",
                     "groupVersion", version, "version", "v1", "preferredVersion", "groupVersion",
                     version, "version", "v1");
}

static json_t *group_list(void)
{
    return json_make("{s:s, s:s, s:[o, o]}", "kind", "APIGroupList", "apiVersion", "v1", "groups",
                     group("apps"), group("policy"));
}

static json_t *policy_group(void)
{
    json_t *policy = group("policy");

    json_object_set_new(policy, "kind", json_string("APIGroup"));
    json_object_set_new(policy, "apiVersion", json_string("v1"));
    return policy;
}

/* Of a group that is not there the real server speaks in plain text. */
static void answer_no_group(struct sim_call *call)
{
    static const char words[] = "404 page not found\n";

    call->answer->status = 404;
    call->answer->content_type = "text/plain";
    call->answer->body = text_new(sizeof words);
    text_add(call->answer->body, "%s", words);
}

/* True when the path was one of these. */
bool sim_kube_discover(struct sim_call *call, size_t at)
{
    char **items = call->path->items + at;
    size_t count = call->path->count - at;
    json_t *body = NULL;

    if (call->request->method != HTTP_GET)
        return false;
    if (count == 1 && text_equal(items[0], "version"))
        body = json_make("{s:s, s:s, s:s}", "major", "1", "minor", "33", "gitVersion", "v1.33.5");
    else if (count == 1 && text_equal(items[0], "api"))
        body = json_make("{s:s, s:[s]}", "kind", "APIVersions", "versions", "v1");
    else if (count == 1 && text_equal(items[0], "apis"))
        body = group_list();
    else if (count == 2 && text_equal(items[0], "api") && text_equal(items[1], "v1"))
        body = core_resources();
    else if (count == 2 && text_equal(items[0], "apis") && text_equal(items[1], "policy"))
        body = policy_group();
    else if (count == 2 && text_equal(items[0], "apis") && text_equal(items[1], "kueue.x-k8s.io"))
        body = sim_kueue_group(call);
    else if (count == 3 && text_equal(items[0], "apis") && text_equal(items[1], "policy"))
        body = resource_list(
            "policy/v1", json_make("[o]", resource("poddisruptionbudgets", "PodDisruptionBudget",
                                                   true, json_make("[s, s]", "list", "watch"))));
    else if (count == 3 && text_equal(items[0], "apis") && text_equal(items[1], "apps"))
        body = resource_list(
            "apps/v1",
            json_make("[o]", resource("deployments/scale", "Scale", true,
                                      json_make("[s, s, s]", "get", "patch", "update"))));
    if (body)
        sim_answer_json(call->answer, 200, body);
    else if (count == 2 && text_equal(items[0], "apis"))
        answer_no_group(call);
    return body || call->answer->body;
}
