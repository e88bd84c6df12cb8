/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Google Compute Engine: a pool is a zonal managed instance group.  The group's own verbs are used,
 * because they change its size together with the machine; deleting a machine behind the group's
 * back makes the group build it anew.
 */
#pragma once

#include "providers/provider.h"

extern const struct provider_verbs gcp_verbs;
