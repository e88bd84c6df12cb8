/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a missed deadline makes of a step that waits.
 */
#pragma once

#include "broker/transfer/runner.h"

/* STEP_WAIT while the step has time, or when a person must decide (the transfer then says so). */
enum verdict lateness_verdict(struct runner *runner, struct transfer *transfer);
