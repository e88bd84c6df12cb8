/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Up to which rate hardly a request waits for a slot at all, by the closed form of an engine: what
 * calm.h rests on where a server is a replica.
 */
#pragma once

#include "windows/engine.h"
#include "windows/replay_result.h"

/* Requests a second of all replicas together with which at most a share of `waits` finds no free
   slot, and at most a share of `late` waits longer than wait_s. */
double batch_calm_rate(const struct engine *engine, int replicas, double wait_s, double waits,
                       double late);
