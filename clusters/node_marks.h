/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The marks of a transfer on a node that the core of the broker reads in a snapshot, whatever kind
 * of cluster they come from.
 */
#pragma once

#define SLUICE_TAINT_LEAVING                                                                       \
    "sluice.dev/leaving"                            /* PreferNoSchedule when announced, NoSchedule \
                                                       when cordoned; the value is the transfer */
#define SLUICE_TAINT_STARTING "sluice.dev/starting" /* NoSchedule: not handed over yet */
#define SLUICE_NOTE_TRANSFER "sluice.dev/transfer"
#define SLUICE_NOTE_DEPARTURE "sluice.dev/departure-time"
