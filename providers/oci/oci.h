/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Oracle Cloud Infrastructure: a pool is a node pool of its Kubernetes service (OKE) in one
 * availability domain.  A named machine is removed together with its place in the pool.  Growth is
 * a number: the cloud makes the machine and names it.
 */
#pragma once

#include "providers/common/provider.h"

extern const struct provider_kind oci_kind;
