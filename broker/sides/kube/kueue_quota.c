/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A quota is the nominalQuota of a flavor of a Kueue ClusterQueue.
 */
#include "base/text.h"
#include "broker/sides/kube/kube_side.h"
#include "broker/transfer/runner.h"
#include "clusters/field_manager.h"
#include "clusters/kube_verbs.h"
#include "clusters/kueue.h"

static void read_queue(const struct side_holder *holder, side_done_fn done, void *context)
{
    const struct config_quota *quota = holder->of;
    owned(chars) char *path = kueue_path(quota->cluster_queue);

    cluster_read_at(fleet_cluster(holder->runner->fleet, holder->cluster), path, done, context);
}

static int decode(const void *of, const json_t *object, const struct error *failure,
                  int64_t *ret_value, struct error *err)
{
    const struct config_quota *quota = of;

    if (failure) {
        *err = *failure;
        return -1;
    }
    return kueue_quota(object, quota->flavor, quota->resource, ret_value, err);
}

static void write_queue(const struct side_holder *holder, const json_t *object, int64_t value,
                        side_done_fn done, void *context)
{
    const struct config_quota *quota = holder->of;
    owned(chars) char *path = kueue_path(quota->cluster_queue);
    owned(json) json_t *patch = kueue_patch(object, quota->flavor, quota->resource, value);

    require(value >= 0 && !quota->is_reserved); /* a promise is never written */
    cluster_patch_at(fleet_cluster(holder->runner->fleet, holder->cluster), path, patch, done,
                     context);
}

static char *setter(const json_t *object)
{
    return field_manager_of(object, KUEUE_QUOTA_FIELD);
}

const struct side_number kube_quota = {
    .read = read_queue,
    .decode = decode,
    .write = write_queue,
    .setter = setter,
};
