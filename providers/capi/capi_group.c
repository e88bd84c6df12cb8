/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See capi_group.h.
 *
 * https://cluster-api.sigs.k8s.io/developer/core/controllers/machine-deployment
 */
#include "providers/capi/capi_group.h"

#include "base/input/json.h"
#include "base/text.h"
#include "providers/capi/capi_machine.h"

#include <inttypes.h>

const char capi_lags[] = "its controller has not seen its last change";

/* During a rollout a smaller number may be taken from another MachineSet than the Machine's. */
static int64_t outdated(const json_t *object, int64_t present)
{
    int64_t current = json_int_or(
        object, "status/upToDateReplicas",
        json_int_or(object, "status/v1beta2/upToDateReplicas",
                    json_int_or(object, "status/updatedReplicas", present)));

    return present - current;
}

static void read_busy(const json_t *object, int64_t present, char busy[CAPI_BUSY_SIZE])
{
    busy[0] = '\0';
    if (json_at(object, "metadata/deletionTimestamp"))
        text_print(busy, CAPI_BUSY_SIZE, "it is being deleted");
    else if (json_bool_or(object, "spec/paused", false) ||
             capi_annotation(object, "cluster.x-k8s.io/paused"))
        text_print(busy, CAPI_BUSY_SIZE, "it is paused");
    else if (outdated(object, present) > 0)
        text_print(busy, CAPI_BUSY_SIZE,
                   "a rollout is in progress: %" PRId64 " of %" PRId64
                   " Machines are not up to date",
                   outdated(object, present), present);
}

int capi_read_group(const json_t *object, struct capi_group *ret, struct error *err)
{
    struct capi_group read = { 0 };
    const char *version;
    int64_t generation;

    if (json_need_int(object, "spec/replicas", &read.wanted, err) < 0 ||
        json_need_int(object, "metadata/generation", &generation, err) < 0 ||
        json_need_text(object, "metadata/resourceVersion", &version, err) < 0 ||
        json_find_int(object, "status/replicas", &read.present, err) < 0)
        return -1;
    if (read.wanted < 0 || read.wanted > INT32_MAX || read.present < 0 || version[0] == '\0' ||
        !text_copy(read.version, sizeof read.version, version))
        return error_set(err, ERROR_CORRUPT, "its replicas or resourceVersion make no sense");
    text_print(read.generation, sizeof read.generation, "%" PRId64, generation);
    read_busy(object, read.present, read.busy);
    read.is_lagging = json_int_or(object, "status/observedGeneration", 0) != generation;
    *ret = read;
    return 0;
}

static enum capi_removal wait_for(char ret_why[CAPI_BUSY_SIZE], const char *why)
{
    text_copy(ret_why, CAPI_BUSY_SIZE, why);
    return CAPI_REMOVAL_WAIT;
}

/* If a leaving Machine was deleted by hand or by a health check, spec.replicas still counts it, and
   Cluster API would replace it.  So the pool must then be made smaller by one. */
enum capi_removal capi_leaving_step(const struct capi_group *group, const struct capi_count *count,
                                    char ret_why[CAPI_BUSY_SIZE])
{
    int64_t replaced = group->wanted - count->staying;

    if (replaced <= 0)
        return CAPI_REMOVAL_DONE;
    if (group->busy[0] != '\0' || group->is_lagging)
        return wait_for(ret_why, group->busy[0] != '\0' ? group->busy : capi_lags);
    return replaced >= count->leaving ? CAPI_REMOVAL_WRITE
                                      : wait_for(ret_why, "other Machines leave it, too");
}

enum capi_removal capi_removal_step(const struct capi_group *group, const struct capi_count *count,
                                    bool is_marked, char ret_why[CAPI_BUSY_SIZE])
{
    if (group->busy[0] != '\0')
        return wait_for(ret_why, group->busy);
    if (count->marked[0] != '\0') {
        text_print(ret_why, CAPI_BUSY_SIZE,
                   "Machine %s is marked with " CAPI_DELETE_MACHINE " and would go instead",
                   count->marked);
        return CAPI_REMOVAL_WAIT;
    }
    if (group->wanted < count->staying)
        return is_marked ? CAPI_REMOVAL_DONE : wait_for(ret_why, "it is still getting smaller");
    if (group->is_lagging)
        return wait_for(ret_why, capi_lags);
    return group->wanted == count->staying ? CAPI_REMOVAL_WRITE
                                           : wait_for(ret_why, "it is still getting larger");
}
