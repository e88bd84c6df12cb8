/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Faults that begin and end while the simulator runs.
 */
#pragma once

#include "tools/simulator/model/model.h"

/* PUT /simulator/faults: the chance of each fault from now on.  A wrong body changes nothing. */
void sim_fault_answer(struct sim_call *call);
