/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a missed deadline makes of a step that waits.
 */
#pragma once

#include "broker/transfer/runner.h"

/* STEP_WAIT as long as the step has time, or a person must look (the transfer says so then). */
enum verdict lateness_verdict(struct runner *runner, struct transfer *transfer);
