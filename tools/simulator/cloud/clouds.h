/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The fakes of clouds, a file or more each.
 */
#pragma once

#include "tools/simulator/model/cloud.h"

extern const struct sim_cloud sim_gcp;
extern const struct sim_cloud sim_azure;
extern const struct sim_cloud sim_capi;
extern const struct sim_cloud sim_aws;
extern const struct sim_cloud sim_oci;
extern const struct sim_cloud sim_ssh;
