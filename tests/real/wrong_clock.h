/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process whose clock is wrong: an ordinary one, into which wrong_clock.so is loaded before its
 * libraries.  What is counted since a start (CLOCK_MONOTONIC, CLOCK_BOOTTIME) stays right, as it
 * does on a machine whose clock was set wrong.
 */
#pragma once

/* The variable of the environment that says by how many seconds the clock is ahead. */
#define WRONG_CLOCK_AHEAD "WRONG_CLOCK_AHEAD_S"
