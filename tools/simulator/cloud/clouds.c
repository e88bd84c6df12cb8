/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE table of clouds that the simulator can be.
 */
#include "tools/simulator/cloud/clouds.h"

const struct sim_cloud *const sim_clouds[] = {
    &sim_gcp, &sim_azure, &sim_capi, &sim_aws, &sim_oci, &sim_ssh, NULL,
};
