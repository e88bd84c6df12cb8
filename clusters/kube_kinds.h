/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The collections of a Kubernetes cluster that are watched.
 */
#pragma once

#include "clusters/kube/kube_watch.h"

extern const struct kube_kind kube_nodes;
extern const struct kube_kind kube_pods;
extern const struct kube_kind kube_budgets;
extern const struct kube_kind kube_old_budgets; /* policy/v1beta1 */

/* Dynamic Resource Allocation, in this version of resource.k8s.io. */
const struct kube_kind *kube_slices_of(const char *version) __attribute__((returns_nonnull));
const struct kube_kind *kube_claims_of(const char *version) __attribute__((returns_nonnull));
