/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See kueue.h.
 */
#include "clusters/kueue.h"

#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"

#include <inttypes.h>

char *kueue_path(const char *cluster_queue)
{
    return url_format("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/%s", cluster_queue);
}

/* spec.resourceGroups[].flavors[name].resources[name], or NULL. */
static json_t *find_resource(const json_t *groups, const char *flavor, const char *resource)
{
    const json_t *group;
    size_t i;

    json_array_foreach(groups, i, group) {
        const json_t *item;
        size_t k;

        json_array_foreach(json_object_get(group, "flavors"), k, item) {
            json_t *row;
            size_t n;

            if (!text_equal(json_text_or(item, "name", ""), flavor))
                continue;
            json_array_foreach(json_object_get(item, "resources"), n, row) {
                if (text_equal(json_text_or(row, "name", ""), resource))
                    return row;
            }
        }
    }
    return NULL;
}

int kueue_quota(const json_t *queue, const char *flavor, const char *resource, int64_t *ret_quota,
                struct error *err)
{
    const json_t *row = find_resource(json_at(queue, "spec/resourceGroups"), flavor, resource);
    const json_t *quota = json_object_get(row, "nominalQuota");
    const char *name = json_text_or(queue, "metadata/name", "?");
    long long value = 0;

    if (!row)
        return error_set(err, ERROR_INVALID, "ClusterQueue %s has no flavor %s with %s", name,
                         flavor, resource);
    if (json_is_integer(quota) && json_integer_value(quota) >= 0)
        value = json_integer_value(quota);
    else if (!json_is_string(quota) || !text_to_int(json_string_value(quota), 0, INT64_MAX, &value))
        return error_set(err, ERROR_CORRUPT,
                         "ClusterQueue %s: the nominalQuota of %s in flavor %s is no whole number",
                         name, resource, flavor);
    *ret_quota = value;
    return 0;
}

json_t *kueue_patch(const json_t *queue, const char *flavor, const char *resource, int64_t quota)
{
    json_t *groups = json_deep_copy(json_at(queue, "spec/resourceGroups"));
    json_t *row = find_resource(groups, flavor, resource);
    owned(chars) char *text = text_format("%" PRId64, quota);

    require(row);
    json_object_set_new(row, "nominalQuota", json_text(text));
    return json_make("{s:{s:s}, s:{s:o}}", "metadata", "resourceVersion",
                     json_text_or(queue, "metadata/resourceVersion", ""), "spec", "resourceGroups",
                     groups);
}
