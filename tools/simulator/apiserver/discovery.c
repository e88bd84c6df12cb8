/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How clients find their way: groups, versions and resources, the part of the OpenAPI document
 * that kubectl asks before it writes, the version, and whether the server is well.
 */
#include "tools/simulator/apiserver/answers.h"
#include "tools/simulator/kube/kube_versions.h"

static json_t *verbs_of(const struct api_resource *resource)
{
    json_t *verbs = json_array();

    if (resource->verbs & API_CREATE)
        json_array_append_new(verbs, json_string("create"));
    if (resource->verbs & API_DELETE) {
        json_array_append_new(verbs, json_string("delete"));
        json_array_append_new(verbs, json_string("deletecollection"));
    }
    json_array_append_new(verbs, json_string("get"));
    json_array_append_new(verbs, json_string("list"));
    if (resource->verbs & API_UPDATE) {
        json_array_append_new(verbs, json_string("patch"));
        json_array_append_new(verbs, json_string("update"));
    }
    json_array_append_new(verbs, json_string("watch"));
    return verbs;
}

static json_t *part(const char *name, bool is_namespaced, const char *kind, json_t *verbs)
{
    return json_make("{s:s, s:s, s:b, s:s, s:o}", "name", name, "singularName", "", "namespaced",
                     is_namespaced, "kind", kind, "verbs", verbs);
}

static json_t *part_of_group(json_t *part, const char *group, const char *version)
{
    json_object_set_new(part, "group", json_string(group));
    json_object_set_new(part, "version", json_string(version));
    return part;
}

/* Subresources that are served. */
static void add_parts(const struct sim_call *call, const struct api_resource *resource,
                      json_t *rows)
{
    if (text_equal(resource->plural, "pods")) {
        json_array_append_new(
            rows, part_of_group(part("pods/eviction", true, "Eviction", json_make("[s]", "create")),
                                "policy", sim_version_of(call->sim, SCENARIO_POLICY)));
        json_array_append_new(rows, part("pods/status", true, "Pod", json_make("[s]", "patch")));
    } else if (text_equal(resource->plural, "nodes")) {
        json_array_append_new(rows, part("nodes/status", false, "Node", json_make("[s]", "patch")));
    } else if (text_equal(resource->plural, "deployments")) {
        json_array_append_new(rows,
                              part_of_group(part("deployments/scale", true, "Scale",
                                                 json_make("[s, s, s]", "get", "patch", "update")),
                                            "autoscaling", "v1"));
    }
}

static json_t *resource_row(const struct api_resource *resource)
{
    json_t *row = json_make("{s:s, s:s, s:b, s:s, s:o}", "name", resource->plural, "singularName",
                            resource->singular, "namespaced", resource->is_namespaced, "kind",
                            resource->kind, "verbs", verbs_of(resource));

    if (resource->short_name[0])
        json_object_set_new(row, "shortNames", json_make("[s]", resource->short_name));
    if (resource->category[0])
        json_object_set_new(row, "categories", json_make("[s]", resource->category));
    return row;
}

/* NULL: the server has no resource of that group and version. */
static json_t *list_resources(const struct sim_call *call, const char *group, const char *version)
{
    json_t *rows = json_array();
    owned(chars) char *full = group[0] ? text_format("%s/%s", group, version)
                                       : mem_copy_chars(version);

    for (const struct api_resource *row = api_resources; row->plural; row++) {
        if (api_resource_find(call, group, version, row->plural) != row)
            continue;
        json_array_append_new(rows, resource_row(row));
        add_parts(call, row, rows);
    }
    if (text_equal(full, "authorization.k8s.io/v1"))
        json_array_append_new(rows, part("selfsubjectaccessreviews", false,
                                         "SelfSubjectAccessReview", json_make("[s]", "create")));
    if (text_equal(full, "authentication.k8s.io/v1"))
        json_array_append_new(rows, part("selfsubjectreviews", false, "SelfSubjectReview",
                                         json_make("[s]", "create")));
    if (json_array_size(rows) == 0) {
        json_decref(rows);
        return NULL;
    }
    return json_make("{s:s, s:s, s:s, s:o}", "kind", "APIResourceList", "apiVersion", "v1",
                     "groupVersion", full, "resources", rows);
}

static json_t *group_of_v1(const char *name)
{
    owned(chars) char *version = text_format("%s/v1", name);

    return json_make("{s:s, s:[{s:s, s:s}], s:{s:s, s:s}}", "name", name, "versions",
                     "groupVersion", version, "version", "v1", "preferredVersion", "groupVersion",
                     version, "version", "v1");
}

static bool has_group(const json_t *groups, const char *name)
{
    size_t i;
    json_t *group;

    json_array_foreach(groups, i, group)
        if (text_equal(json_text_or(group, "name", ""), name))
            return true;
    return false;
}

/* Of a group in several versions, which may have no objects yet. */
static json_t *group_of_versions(const struct sim_call *call, const char *name)
{
    json_t *versions = json_array(), *group;

    for (size_t i = 0; i < SCENARIO_GROUPS; i++)
        for (size_t k = 0; k < SCENARIO_VERSIONS; k++) {
            const char *version = scenario_groups[i].versions[k];
            owned(chars) char *full = text_format("%s/%s", name, version ?: "");

            if (text_equal(scenario_groups[i].name, name) && version &&
                call->sim->scenario->served[i] & (1u << k))
                json_array_append_new(
                    versions, json_make("{s:s, s:s}", "groupVersion", full, "version", version));
        }
    group = json_make("{s:s, s:O, s:O}", "name", name, "versions", versions, "preferredVersion",
                      json_array_get(versions, 0));
    json_decref(versions);
    return group;
}

static json_t *list_groups(const struct sim_call *call)
{
    json_t *groups = json_array();

    for (const struct api_resource *row = api_resources; row->plural; row++)
        if (row->group[0] && api_resource_is_served(call, row) && !has_group(groups, row->group))
            json_array_append_new(groups, row->version ? group_of_v1(row->group)
                                                       : group_of_versions(call, row->group));
    json_array_append_new(groups, group_of_v1("authorization.k8s.io"));
    json_array_append_new(groups, group_of_v1("authentication.k8s.io"));
    return groups;
}

static json_t *one_group(const struct sim_call *call, const char *name)
{
    owned(json) json_t *groups = list_groups(call);
    size_t i;
    json_t *group;

    json_array_foreach(groups, i, group) {
        if (!text_equal(json_text_or(group, "name", ""), name))
            continue;
        json_object_set_new(group, "kind", json_string("APIGroup"));
        json_object_set_new(group, "apiVersion", json_string("v1"));
        return json_incref(group);
    }
    return NULL;
}

/* ---- OpenAPI: for each group and version, which writes can be rehearsed and checked ---- */

static json_t *open_api_index(const struct sim_call *call)
{
    owned(json) json_t *groups = list_groups(call);
    json_t *paths = json_object(), *group, *version;
    size_t i, k;

    json_object_set_new(paths, "api/v1",
                        json_make("{s:s}", "serverRelativeURL", "/openapi/v3/api/v1"));
    json_array_foreach(groups, i, group) {
        json_array_foreach(json_at(group, "versions"), k, version) {
            const char *name = json_text_or(version, "groupVersion", "");
            owned(chars) char *path = text_format("apis/%s", name);
            owned(chars) char *url = text_format("/openapi/v3/apis/%s", name);

            json_object_set_new(paths, path, json_make("{s:s}", "serverRelativeURL", url));
        }
    }
    return json_make("{s:o}", "paths", paths);
}

static json_t *write_parameters(void)
{
    static const char *const names[] = { "dryRun", "fieldManager", "fieldValidation", "force" };
    json_t *list = json_array();

    for (size_t i = 0; i < COUNT_OF(names); i++)
        json_array_append_new(list, json_make("{s:s, s:s, s:{s:s}}", "name", names[i], "in",
                                              "query", "schema", "type", "string"));
    return list;
}

static void add_open_api_path(const struct api_resource *row, const char *version, json_t *paths)
{
    owned(chars) char *full = text_format(
        "%s%s/%s%s/%s/{name}", row->group[0] ? "/apis/" : "/api", row->group, version,
        row->is_namespaced ? "/namespaces/{namespace}" : "", row->plural);

    json_object_set_new(paths, full,
                        json_make("{s:{s:s, s:{s:s, s:s, s:s}, s:o}}", "patch",
                                  "x-kubernetes-action", "patch", "x-kubernetes-group-version-kind",
                                  "group", row->group, "kind", row->kind, "version", version,
                                  "parameters", write_parameters()));
}

static json_t *open_api_document(const struct sim_call *call, const char *group,
                                 const char *version)
{
    json_t *paths = json_object();

    for (const struct api_resource *row = api_resources; row->plural; row++)
        if (api_resource_find(call, group, version, row->plural) == row)
            add_open_api_path(row, version, paths);
    return json_make("{s:s, s:{s:s, s:s}, s:o, s:{s:{}}}", "openapi", "3.0.0", "info", "title",
                     "Kubernetes", "version", "v1.33.5", "paths", paths, "components", "schemas");
}

static json_t *open_api(const struct sim_call *call, char **parts, size_t count)
{
    if (count == 2)
        return open_api_index(call);
    if (count == 4 && text_equal(parts[2], "api"))
        return open_api_document(call, "", parts[3]);
    return count == 5 && text_equal(parts[2], "apis") ? open_api_document(call, parts[3], parts[4])
                                                      : NULL;
}

/* ---- */

static json_t *server_version(void)
{
    return json_make("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "major", "1", "minor", "33",
                     "gitVersion", "v1.33.5", "gitCommit", "simulated", "gitTreeState", "clean",
                     "buildDate", "2025-09-01T00:00:00Z", "goVersion", "go1.24.6", "compiler", "gc",
                     "platform", "linux/amd64");
}

static json_t *describe(const struct sim_call *call, char **parts, size_t count)
{
    if (count == 1 && text_equal(parts[0], "version"))
        return server_version();
    if (count == 1 && text_equal(parts[0], "api"))
        return json_make("{s:s, s:[s]}", "kind", "APIVersions", "versions", "v1");
    if (count == 2 && text_equal(parts[0], "api") && text_equal(parts[1], "v1"))
        return list_resources(call, "", "v1");
    if (count == 1 && text_equal(parts[0], "apis"))
        return json_make("{s:s, s:s, s:o}", "kind", "APIGroupList", "apiVersion", "v1", "groups",
                         list_groups(call));
    if (count == 2 && text_equal(parts[0], "apis"))
        return one_group(call, parts[1]);
    if (count == 3 && text_equal(parts[0], "apis"))
        return list_resources(call, parts[1], parts[2]);
    if (count >= 2 && text_equal(parts[0], "openapi") && text_equal(parts[1], "v3"))
        return open_api(call, parts, count);
    return NULL;
}

bool api_discover(struct sim_call *call, char **parts, size_t count)
{
    json_t *body;

    if (call->request->method != HTTP_GET)
        return false;
    if (count == 1 && (text_equal(parts[0], "livez") || text_equal(parts[0], "readyz") ||
                       text_equal(parts[0], "healthz"))) {
        api_answer_text(call, 200, "ok");
        return true;
    }
    body = describe(call, parts, count);
    if (!body)
        return false;
    sim_answer_json(call->answer, 200, body);
    return true;
}
