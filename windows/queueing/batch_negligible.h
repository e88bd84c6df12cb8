/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Up to which rate hardly a request waits for a slot at all, by the closed form of an engine: what
 * negligible.h rests on where a server is a replica.
 */
#pragma once

#include "windows/queueing/replay_result.h"
#include "windows/servers/engine.h"

/* Requests a second of all replicas together with which at most a share of `waits` finds no free
   slot, and at most a share of `late` waits longer than wait_s. */
double batch_negligible_rate(const struct engine *engine, int replicas, double wait_s, double waits,
                             double late);
