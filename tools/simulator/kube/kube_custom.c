/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Objects that are kept as they are (in the newest version of their group): custom resources
 * (Kueue, KEDA) and autoscalers, which no controller here acts on, and those whose controllers are
 * in kube_gangs.c and kube_leader_workers.c.  The test that plays the world puts them there; a
 * client may read, list and merge-patch them.  Deployments are read in the same form. managedFields
 * names the manager of each patched field.
 */
#include "base/url.h"
#include "tools/simulator/kube/deployments.h"
#include "tools/simulator/kube/kube_gangs.h"
#include "tools/simulator/kube/kube_versions.h"
#include "tools/simulator/model/model.h"

#include <inttypes.h>

enum { PATH_SIZE = 512 };

static void set_version(struct kube_cluster *cluster, json_t *object)
{
    char version[24];

    snprintf(version, sizeof version, "%" PRIu64, ++cluster->version);
    json_object_set_new(json_object_get(object, "metadata"), "resourceVersion",
                        json_string(version));
}

static void set_namespace(const char *path, json_t *metadata)
{
    struct url_segments segments = url_split(path);

    if (segments.count > 4 && text_equal(segments.items[3], "namespaces"))
        json_object_set_new(metadata, "namespace", json_string(segments.items[4]));
    url_segments_free(&segments);
}

void sim_free_json(void *json)
{
    json_decref(json);
}

void sim_custom_put(struct simulator *sim, struct kube_cluster *cluster, const char *path,
                    const json_t *object)
{
    json_t *own = json_deep_copy(object);
    owned(chars) char *kept = mem_copy_chars(path);
    char uid[SIM_UID_SIZE];

    sim_version_keep(kept, own);
    if (!json_object_get(own, "metadata"))
        json_object_set_new(own, "metadata", json_object());
    sim_uuid(sim, uid);
    json_object_set_new(json_object_get(own, "metadata"), "uid", json_string(uid));
    json_object_set_new(json_object_get(own, "metadata"), "name",
                        json_string(strrchr(kept, '/') + 1));
    set_namespace(kept, json_object_get(own, "metadata"));
    set_version(cluster, own);
    map_set(cluster->objects, kept, own);
    sim_gangs_soon(sim, cluster);
}

/* RFC 7386. */
static void merge(json_t *into, const json_t *patch)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)patch, key, value) {
        json_t *own = json_object_get(into, key);

        if (json_is_null(value)) {
            json_object_del(into, key);
        } else if (json_is_object(value)) {
            if (!json_is_object(own)) {
                own = json_object();
                json_object_set_new(into, key, own);
            }
            merge(own, value);
        } else {
            json_object_set(into, key, value);
        }
    }
}

/* {"f:spec": {"f:replicas": {}}} of {"spec": {"replicas": 3}}; a list is a leaf. */
static json_t *fields_of(const json_t *patch)
{
    json_t *fields = json_object();
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)patch, key, value) {
        owned(chars) char *name = text_format("f:%s", key);

        json_object_set_new(fields, name, json_is_object(value) ? fields_of(value) : json_object());
    }
    return fields;
}

json_t *sim_managed_fields(const struct simulator *sim, const char *manager, int64_t at_ms,
                           const json_t *patch)
{
    char time[WALL_TEXT_SIZE];

    return json_make("[{s:s, s:s, s:s, s:o}]", "manager", manager, "operation", "Update", "time",
                     sim_time(sim, at_ms, time), "fieldsV1", fields_of(patch));
}

static void answer_object(struct sim_call *call, const json_t *object, const char *path)
{
    json_t *shown = json_deep_copy(object);

    sim_version_show(path, shown);
    sim_answer_json(call->answer, 200, shown);
}

/* The path is the requested one: a patch in an older version may change only members of that
   version. */
static void patch_object(struct sim_call *call, json_t *object, const char *path)
{
    owned(chars) char *kept = mem_copy_chars(path);
    owned(json) json_t *body = NULL;
    owned(chars) char *manager = url_query(call->request->target, "fieldManager");
    const char *version;

    if (!sim_kube_is_content(call, "application/merge-patch+json"))
        return;
    body = sim_kube_body(call);
    if (!body)
        return;
    version = json_text_or(body, "metadata/resourceVersion", NULL);
    if (version && !text_equal(version, json_text_or(object, "metadata/resourceVersion", ""))) {
        sim_kube_status(call->answer, 409, "Conflict",
                        "Operation cannot be fulfilled: the object has been modified; please apply "
                        "your changes to the latest version and try again");
        return;
    }
    if (!sim_kube_uid_stays(call, "Object", json_text_or(object, "metadata/name", ""),
                            json_text_or(object, "metadata/uid", ""),
                            json_text_or(body, "metadata/uid", NULL)))
        return;
    sim_version_show(path, object);
    merge(object, body);
    sim_version_keep(kept, object);
    set_version(call->cluster, object);
    json_object_set_new(json_object_get(object, "metadata"), "managedFields",
                        sim_managed_fields(call->sim, manager ? manager : "unknown",
                                           loop_now(call->sim->loop), body));
    sim_trace(call->sim, "patch %s", json_text_or(object, "metadata/name", ""));
    answer_object(call, object, path);
    sim_gangs_soon(call->sim, call->cluster);
}

/* All objects right below the path, as they are shown where `asked` was. */
static json_t *list_below(const struct kube_cluster *cluster, const char *path, const char *asked)
{
    json_t *items = json_array();
    const char *key;
    void *value;
    size_t length = strlen(path);

    for (size_t i = 0; map_next(cluster->objects, &i, &key, &value);)
        if (strncmp(key, path, length) == 0 && key[length] == '/' &&
            !strchr(key + length + 1, '/')) {
            json_t *shown = json_deep_copy(value);

            sim_version_show(asked, shown);
            json_array_append_new(items, shown);
        }
    return items;
}

static void answer_list(struct sim_call *call, json_t *items)
{
    sim_answer_json(call->answer, 200,
                    json_make("{s:s, s:s, s:{s:s}, s:o}", "kind", "List", "apiVersion", "v1",
                              "metadata", "resourceVersion", "1", "items", items));
}

static void join(char out[PATH_SIZE], char **items, size_t count)
{
    size_t length = 0;

    out[0] = '\0';
    for (size_t i = 0; i < count && length < PATH_SIZE; i++)
        length += (size_t)snprintf(out + length, PATH_SIZE - length, "/%s", items[i]);
}

bool sim_kube_custom(struct sim_call *call, size_t at)
{
    size_t count = call->path->count - at;
    char asked[PATH_SIZE], path[PATH_SIZE];
    json_t *object;
    json_t *items;

    if (count < 4 || !text_equal(call->path->items[at], "apis"))
        return false;
    /* Of a scale only spec.replicas may be written: the object has it in the same place. */
    if (call->request->method == HTTP_PATCH &&
        text_equal(call->path->items[at + count - 1], "scale"))
        count--;
    join(asked, call->path->items + at, count);
    memcpy(path, asked, sizeof path);
    sim_version_keep(path, NULL);
    object = map_get(call->cluster->objects, path);
    if (object) {
        call->verb = call->request->method == HTTP_PATCH ? "patch_object" : "get_object";
        if (sim_call_fault(call))
            return true;
    }
    if (object && call->request->method == HTTP_GET) {
        answer_object(call, object, asked);
        return true;
    }
    if (object && call->request->method == HTTP_PATCH) {
        patch_object(call, object, asked);
        return true;
    }
    if (call->request->method != HTTP_GET)
        return false;
    items = list_below(call->cluster, path, asked);
    if (json_array_size(items) == 0 &&
        !text_equal(call->path->items[at + count - 1], "horizontalpodautoscalers")) {
        json_decref(items);
        return false;
    }
    answer_list(call, items);
    return true;
}

static struct kube_cluster *cluster_named(struct simulator *sim, const char *name)
{
    for (size_t i = 0; i < sim->scenario->clusters.count; i++)
        if (text_equal(sim->clusters[i].plan->name, name))
            return &sim->clusters[i];
    require(false); /* a cluster of the scenario */
    return NULL;
}

void simulator_put_object(struct simulator *simulator, const char *cluster, const char *path,
                          const json_t *object)
{
    sim_custom_put(simulator, cluster_named(simulator, cluster), path, object);
}

const json_t *simulator_object(struct simulator *simulator, const char *cluster, const char *path)
{
    owned(chars) char *kept = mem_copy_chars(path);

    sim_version_keep(kept, NULL);
    return map_get(cluster_named(simulator, cluster)->objects, kept);
}

void simulator_set_replicas(struct simulator *simulator, const struct scale_write *write)
{
    struct deployment *deployment = sim_deployment_find(cluster_named(simulator, write->cluster),
                                                        write->namespace, write->name);

    require(deployment);
    sim_deployment_scale(simulator, deployment, write->replicas, write->manager);
}

int simulator_replicas(struct simulator *simulator, const char *cluster, const char *namespace,
                       const char *name)
{
    const struct deployment *deployment = sim_deployment_find(cluster_named(simulator, cluster),
                                                              namespace, name);

    return deployment ? deployment->replicas : -1;
}
