/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a Kubernetes cluster lacks for sluice: an answer, and each right of kube_rights.h, which the
 * server is asked for by SelfSubjectAccessReviews.  Nothing is changed.
 */
#pragma once

#include "base/finding.h"
#include "clusters/cluster.h"
#include "clusters/kube/kube_session.h"

struct kube_inspection;

/* `done` is called once, in a later turn, and frees nothing: the caller frees the inspection. */
struct kube_inspection *kube_inspect(struct kube_session *session,
                                     const struct cluster_needs *needs,
                                     const struct cluster_inspector *inspector)
    __attribute__((returns_nonnull, warn_unused_result));
void kube_inspection_free(struct kube_inspection *inspection);
