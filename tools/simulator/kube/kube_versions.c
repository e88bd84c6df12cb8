/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * API groups in several versions.  Objects are kept in the newest one; world.yaml says which are
 * served.  Members that only Kueue's newer version has are lost when an object is written in the
 * older one, as on real servers.  Those of an autoscaler are kept: real servers keep them in
 * annotations, this one in their place.
 */
#include "tools/simulator/kube/kube_versions.h"

#include "tools/simulator/model/model.h"

/* A version of a group, and how much of a path names the two. */
struct place {
    const struct scenario_group *group;
    size_t version;
    size_t head; /* of "/apis/GROUP/" */
};

static bool find(const char *path, struct place *ret_place)
{
    for (size_t i = 0; i < SCENARIO_GROUPS * SCENARIO_VERSIONS; i++) {
        const struct scenario_group *group = &scenario_groups[i / SCENARIO_VERSIONS];
        const char *version = group->versions[i % SCENARIO_VERSIONS];
        owned(chars) char *start = text_format("/apis/%s/%s/", group->name, version ?: "");

        if (!version || !text_starts_with(path, start))
            continue;
        *ret_place = (struct place){ group, i % SCENARIO_VERSIONS,
                                     strlen("/apis/") + strlen(group->name) + 1 };
        return true;
    }
    return false;
}

bool sim_version_is_served(const struct sim_call *call, size_t at)
{
    char **items = call->path->items + at;
    size_t count = call->path->count - at;

    if (count < 3 || !text_equal(items[0], "apis"))
        return true;
    for (size_t i = 0; i < SCENARIO_GROUPS; i++) {
        const struct scenario_group *group = &scenario_groups[i];
        unsigned served = call->sim->scenario->served[i];

        if (!text_equal(group->name, items[1]))
            continue;
        for (size_t k = 0; k < SCENARIO_VERSIONS; k++)
            if (served & (1u << k) && text_equal(group->versions[k], items[2]))
                return true;
        return false;
    }
    return true;
}

static void set_version(json_t *object, const struct scenario_group *group, size_t version)
{
    owned(chars) char *name = text_format("%s/%s", group->name, group->versions[version]);

    json_object_set_new(object, "apiVersion", json_string(name));
}

static bool is_old_kueue(const struct place *place)
{
    return place->group == &scenario_groups[SCENARIO_KUEUE] && place->version > 0;
}

static void rename_cohort(json_t *spec, const char *from, const char *to)
{
    json_t *cohort = json_object_get(spec, from);

    if (!cohort)
        return;
    json_object_set(spec, to, cohort);
    json_object_del(spec, from);
}

void sim_version_keep(char *path, json_t *object)
{
    struct place place;
    const char *newest;
    size_t asked;

    if (!find(path, &place))
        return;
    newest = place.group->versions[0];
    asked = strlen(place.group->versions[place.version]);
    require(strlen(newest) <= asked); /* there is room for it */
    memcpy(path + place.head, newest, strlen(newest));
    memmove(path + place.head + strlen(newest), path + place.head + asked,
            strlen(path + place.head + asked) + 1);
    if (object && is_old_kueue(&place))
        rename_cohort(json_object_get(object, "spec"), "cohort", "cohortName");
    if (object)
        set_version(object, place.group, 0);
}

void sim_version_show(const char *path, json_t *object)
{
    json_t *spec = json_object_get(object, "spec");
    struct place place;

    if (!find(path, &place))
        return;
    set_version(object, place.group, place.version);
    if (!is_old_kueue(&place))
        return;
    rename_cohort(spec, "cohortName", "cohort");
    json_object_del(spec, "concurrentAdmissionPolicy");
    json_object_del(spec, "preemptionGates");
}

static json_t *version(const struct scenario_group *group, size_t at)
{
    owned(chars) char *name = text_format("%s/%s", group->name, group->versions[at]);

    return json_make("{s:s, s:s}", "groupVersion", name, "version", group->versions[at]);
}

const char *sim_version_of(const struct simulator *sim, enum scenario_group_id group)
{
    for (size_t k = 0; k < SCENARIO_VERSIONS; k++)
        if (sim->scenario->served[group] & (1u << k))
            return scenario_groups[group].versions[k];
    return scenario_groups[group].versions[0];
}

/* A cluster has Kueue's API if it has objects of Kueue; every cluster has the groups of Kubernetes.
 */
static bool is_there(const struct kube_cluster *cluster, enum scenario_group_id group)
{
    const char *path;
    void *value;

    if (group != SCENARIO_KUEUE)
        return group != SCENARIO_CLUSTER_API;
    for (size_t i = 0; map_next(cluster->objects, &i, &path, &value);) {
        struct place place;

        if (find(path, &place) && place.group == &scenario_groups[group])
            return true;
    }
    return false;
}

json_t *sim_version_group(const struct sim_call *call, const char *name)
{
    for (size_t i = 0; i < SCENARIO_GROUPS; i++) {
        unsigned served = call->sim->scenario->served[i];
        json_t *versions;

        if (!text_equal(scenario_groups[i].name, name) || !served ||
            !is_there(call->cluster, (enum scenario_group_id)i))
            continue;
        versions = json_array();
        for (size_t k = 0; k < SCENARIO_VERSIONS; k++)
            if (served & (1u << k))
                json_array_append_new(versions, version(&scenario_groups[i], k));
        return json_make("{s:s, s:s, s:s, s:O, s:o}", "kind", "APIGroup", "apiVersion", "v1",
                         "name", name, "preferredVersion", json_array_get(versions, 0), "versions",
                         versions);
    }
    return NULL;
}
