/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inside clusters/ only: the session behind a cluster, and what its server serves, for its verbs.
 */
#pragma once

#include "clusters/cluster.h"
#include "clusters/kube/kube_session.h"
#include "clusters/kube/served.h"

struct kube_session *cluster_session(const struct cluster *cluster)
    __attribute__((returns_nonnull));

/* "policy/v1", or "policy/v1beta1" where the server has nothing newer. */
const char *cluster_policy_version(const struct cluster *cluster) __attribute__((returns_nonnull));

struct served *cluster_served(const struct cluster *cluster) __attribute__((returns_nonnull));
