/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rate up to which waiting for a slot is negligible, by the closed form of an engine: used by
 * negligible.h if a server is a replica.
 */
#pragma once

#include "windows/queueing/replay_result.h"
#include "windows/servers/engine.h"

/* Requests a second of all replicas together with which at most a share of `waits` finds no free
   slot, and at most a share of `late` waits longer than wait_s. */
double batch_negligible_rate(const struct engine *engine, int replicas, double wait_s, double waits,
                             double late);
