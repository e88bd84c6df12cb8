/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE table of kinds of provider.
 */
#include "providers/kinds.h"

#include "base/memory.h"
#include "providers/aws/aws.h"
#include "providers/azure/azure.h"
#include "providers/capi/capi.h"
#include "providers/gcp/gcp.h"
#include "providers/oci/oci.h"
#include "providers/ssh/own.h"

const struct provider_kind *const provider_kinds[] = {
    &gcp_kind, &azure_kind, &capi_kind, &aws_kind, &oci_kind, &ssh_kind,
};

const size_t provider_kind_count = COUNT_OF(provider_kinds);
