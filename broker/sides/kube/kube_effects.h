/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The effects on Kubernetes objects, each a row.
 */
#pragma once

#include "broker/transfer/effect_kind.h"

extern const struct effect_kind kube_effect_announce; /* departure on the node */
extern const struct effect_kind kube_effect_cordon;
extern const struct effect_kind kube_effect_evict;
extern const struct effect_kind kube_effect_mark; /* DisruptionTarget before a forced delete */
extern const struct effect_kind kube_effect_delete_pod; /* past its own deadline, with what grace is
                                                           left */
extern const struct effect_kind kube_effect_clear_pod;  /* grace 0, the machine is gone */
extern const struct effect_kind kube_effect_fence;      /* taints the node as out of service, so
                                                           that its volumes are detached */
extern const struct effect_kind kube_effect_clear_node;
extern const struct effect_kind kube_effect_discard_node; /* of a machine that failed and is gone */
extern const struct effect_kind kube_effect_welcome;      /* start-up taint lifted, labels set */
extern const struct effect_kind kube_effect_restore; /* undo: cordon and announcement taken back */
extern const struct effect_kind *const kube_effects[]; /* NULL at the end */
