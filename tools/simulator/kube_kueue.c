/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kueue's two versions.  Objects are kept in the newer one; world.yaml says which are served.  What
 * only the newer one can say is lost when an object is written in the older, as on real servers.
 */
#include "tools/simulator/kube_kueue.h"

#include "tools/simulator/model.h"

static const char newer[] = "/apis/kueue.x-k8s.io/v1beta2/";
static const char older[] = "/apis/kueue.x-k8s.io/v1beta1/";

bool sim_kueue_serves(const struct simulator *sim, const char *path)
{
    return (!text_starts_with(path, newer) || sim->scenario->has_new_kueue) &&
           (!text_starts_with(path, older) || sim->scenario->has_old_kueue);
}

static void rename_cohort(json_t *spec, const char *from, const char *to)
{
    json_t *cohort = json_object_get(spec, from);

    if (!cohort)
        return;
    json_object_set(spec, to, cohort);
    json_object_del(spec, from);
}

void sim_kueue_keep(char *path, json_t *object)
{
    if (text_starts_with(path, older)) {
        memcpy(path, newer, sizeof newer - 1);
        rename_cohort(json_object_get(object, "spec"), "cohort", "cohortName");
    }
    if (object && text_starts_with(path, newer))
        json_object_set_new(object, "apiVersion", json_string("kueue.x-k8s.io/v1beta2"));
}

void sim_kueue_show(const char *path, json_t *object)
{
    json_t *spec = json_object_get(object, "spec");

    if (!text_starts_with(path, older))
        return;
    rename_cohort(spec, "cohortName", "cohort");
    json_object_del(spec, "concurrentAdmissionPolicy");
    json_object_del(spec, "preemptionGates");
    json_object_set_new(object, "apiVersion", json_string("kueue.x-k8s.io/v1beta1"));
}

static json_t *version(const char *name)
{
    owned(chars) char *group_version = text_format("kueue.x-k8s.io/%s", name);

    return json_make("{s:s, s:s}", "groupVersion", group_version, "version", name);
}

json_t *sim_kueue_group(const struct sim_call *call)
{
    json_t *versions = json_array();
    bool is_there = false;
    const char *path;
    void *value;

    for (size_t i = 0; map_next(call->cluster->objects, &i, &path, &value);)
        is_there |= text_starts_with(path, newer);
    if (is_there && call->sim->scenario->has_new_kueue)
        json_array_append_new(versions, version("v1beta2"));
    if (is_there && call->sim->scenario->has_old_kueue)
        json_array_append_new(versions, version("v1beta1"));
    if (json_array_size(versions) == 0) {
        json_decref(versions);
        return NULL;
    }
    return json_make("{s:s, s:s, s:s, s:O, s:o}", "kind", "APIGroup", "apiVersion", "v1", "name",
                     "kueue.x-k8s.io", "preferredVersion", json_array_get(versions, 0), "versions",
                     versions);
}
