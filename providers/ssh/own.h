/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Machines of one's own, over SSH: the kind `ssh`.  The configuration lists the machines.  Which
 * pool a machine is in, and for which order, the machine says itself (the marker of machine.sh).
 * The steps of joining and leaving run on the machine, detached; sluice begins them, and looks.
 *
 * A machine that does not answer is never missing from a list: as long as it cannot be looked at,
 * each pool that may have it lists it as it was seen last.  Only a fence (Redfish: the power is
 * off) makes it count as gone.
 */
#pragma once

#include "base/world/ssh_settings.h"
#include "providers/common/provider.h"

/* The keys of `providers.NAME`; a struct provider_account. */
struct own_account {
    const char *machines; /* file */
    struct ssh_access access;
    const char *folder;     /* on each machine */
    int64_t fence_after_ms; /* without an answer */
    int64_t step_limit_ms;  /* of one step on a machine */
};

/* What it reads of `pools.NAME`; a struct pool_address. */
struct own_pool {
    const char *group;
    const char *join;       /* "kubeadm", "k3s", "slurmd", "script" */
    const char *kubeconfig; /* of the cluster that is joined; NULL: no token is made */
    const char *context;
    const char *server; /* that machines join; NULL: the kubeconfig's */
    const char *labels;
    const char *taints;
    const char *kubeadm_api;
    const char *cri_socket;
    const char *slurm_options;
    const char *script;
    const char *zone; /* of the reservation; borrowed */
};

static inline const struct own_pool *own_pool_of(const struct pool_address *pool)
{
    return (const struct own_pool *)(const void *)pool;
}

extern const struct provider_kind ssh_kind;
