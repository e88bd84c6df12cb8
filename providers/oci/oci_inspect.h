/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads what says whether a node pool can be resized safely: the pool, then its reservation.
 */
#pragma once

#include "providers/oci/oci_client.h"
#include "providers/oci/oci_pool.h"

/* As the verb inspect() of struct provider_kind.  found() must not close the client. */
void oci_inspect(struct oci_client *client, const struct oci_pool *pool, finding_fn found,
                 provider_done_fn done, void *context);
