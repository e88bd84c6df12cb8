/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See azure_pool.h.  A pool of type VirtualMachines has its sizes in a list by machine type.
 */
#include "providers/azure/azure_pool.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <string.h>
#include <strings.h>

enum { COUNT_MAX = 1000 };

static const char manual_path[] = "properties/virtualMachinesProfile/scale/manual";

static bool is_of_virtual_machines(const json_t *body)
{
    return strcasecmp(json_text_or(body, "properties/type", ""), "VirtualMachines") == 0;
}

static int read_manual(const json_t *body, int64_t *ret_wanted, struct error *err)
{
    json_t *manual = NULL;
    const json_t *item = NULL;
    int64_t sum = 0, count = 0;
    size_t at = 0;

    if (json_find_array(body, manual_path, &manual, err) < 0)
        return -1;
    json_array_foreach(manual, at, item) {
        if (json_need_int(item, "count", &count, err) < 0)
            return -1;
        if (count < 0 || count > COUNT_MAX)
            return error_set(err, ERROR_CORRUPT, "count: expected 0 to %d", COUNT_MAX);
        sum += count;
    }
    *ret_wanted = sum;
    return 0;
}

int azure_pool_read(const json_t *body, struct azure_pool *ret_pool, struct error *err)
{
    struct azure_pool pool = { .etag = "" };

    if (json_need_text(body, "properties/provisioningState", &pool.state, err) < 0 ||
        json_find_text(body, "properties/eTag", &pool.etag, err) < 0 ||
        json_find_bool(body, "properties/enableAutoScaling", &pool.is_scaled_by_autoscaler, err) <
            0)
        return -1;
    if (is_of_virtual_machines(body)) {
        if (read_manual(body, &pool.wanted, err) < 0)
            return -1;
    } else if (json_need_int(body, "properties/count", &pool.wanted, err) < 0) {
        return -1;
    }
    if (pool.wanted < 0 || pool.wanted > COUNT_MAX)
        return error_set(err, ERROR_CORRUPT, "count: expected 0 to %d", COUNT_MAX);
    if (strpbrk(pool.etag, "\r\n"))
        return error_set(err, ERROR_CORRUPT, "eTag: more than one line");
    pool.is_failed = strcasecmp(pool.state, "Failed") == 0 ||
                     strcasecmp(pool.state, "Canceled") == 0;
    pool.is_busy = !pool.is_failed && strcasecmp(pool.state, "Succeeded") != 0;
    pool.is_scaling = strcasecmp(pool.state, "Scaling") == 0;
    *ret_pool = pool;
    return 0;
}

int azure_pool_may_resize(const json_t *body, const struct azure_pool *pool, struct error *err)
{
    const char *power = json_text_or(body, "properties/powerState/code", "Running");

    if (pool->is_scaled_by_autoscaler)
        return error_set(err, ERROR_INVALID,
                         "enableAutoScaling: the cluster autoscaler changes the count too");
    if (strcasecmp(power, "Running") != 0)
        return error_set(err, ERROR_INVALID, "powerState: the agent pool is %.40s", power);
    if (is_of_virtual_machines(body) && json_array_size(json_at(body, manual_path)) != 1)
        return error_set(err, ERROR_INVALID,
                         "virtualMachinesProfile: expected one machine type scaled by hand");
    return 0;
}

json_t *azure_pool_resized(const json_t *body, int64_t wanted)
{
    static const char *const envelope[] = { "id", "name", "type", "systemData" };
    static const char *const answers[] = {
        "eTag",   "provisioningState",        "currentOrchestratorVersion", "powerState",
        "status", "virtualMachineNodesStatus"
    };
    json_t *copy = json_deep_copy(body);
    json_t *properties = json_at(copy, "properties");

    require(json_is_object(properties));
    for (size_t i = 0; i < COUNT_OF(envelope); i++)
        json_object_del(copy, envelope[i]);
    for (size_t i = 0; i < COUNT_OF(answers); i++)
        json_object_del(properties, answers[i]);
    if (is_of_virtual_machines(body)) {
        json_object_del(properties, "count"); /* the sum, as AKS answers it */
        json_put(json_array_get(json_at(copy, manual_path), 0), "count", json_integer(wanted));
    } else {
        json_put(properties, "count", json_integer(wanted));
    }
    return copy;
}
