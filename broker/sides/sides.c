/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See sides.h.
 */
#include "broker/sides/sides.h"

#include "broker/sides/kube/kube_state.h"
#include "broker/sides/slurm/slurm_side.h"

const struct side *const sides_known[] = { &side_kube, &side_slurm, NULL };
