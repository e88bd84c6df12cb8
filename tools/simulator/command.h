/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The command line of sluice-simulator.  It has no commands of its own.
 */
#pragma once

#include "base/input/options.h"

extern const struct command simulator_command;
