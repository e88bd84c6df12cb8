/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verdict for a step past its deadline.
 */
#pragma once

#include "broker/transfer/runner.h"

/* STEP_WAIT while the step has time, or when a person must decide (the transfer then says so). */
enum verdict lateness_verdict(struct runner *runner, struct transfer *transfer);
