/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Google Compute Engine: a pool is a zonal managed instance group.  sluice uses the group's own
 * verbs, because they change its size together with the machine.  If a machine were deleted
 * directly, the group would create it again.
 */
#pragma once

#include "providers/common/provider.h"
#include "providers/gcp/gcp_pool.h"
#include "providers/gcp/gcp_token.h"

/* The keys of `providers.NAME`; a struct provider_account. */
struct gcp_account {
    const char *endpoint;      /* overrides the public URL; NULL: the cloud's own */
    struct gcp_identity whose; /* its token is asked for */
};

extern const struct provider_kind gcp_kind;
