/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads all that says whether a pool can be resized safely, one request after the other.
 */
#pragma once

#include "providers/gcp/gcp_client.h"
#include "providers/gcp/gcp_pool.h"

/* As the verb inspect() of struct provider_kind.  found() must not close the client. */
void gcp_inspect(struct gcp_client *client, const struct gcp_pool *pool, finding_fn found,
                 provider_done_fn done, void *context);
