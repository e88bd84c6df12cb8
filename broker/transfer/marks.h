/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The marks by which a node shows its transfer.  They are written by its side, as taints, labels
 * and annotations where a cluster has these; code that counts nodes reads them in the snapshot.
 */
#pragma once

#include "clusters/node_marks.h"

/* Further annotations that sluice writes. */
#define SLUICE_NOTE_REASON "sluice.dev/departure-reason"
#define SLUICE_NOTE_ADDED "sluice.dev/added" /* the other keys that we set, separated by spaces */
#define SLUICE_NOTE_WAS_CORDONED "sluice.dev/was-unschedulable"
