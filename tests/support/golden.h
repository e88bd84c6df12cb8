/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Expected texts in files.  A difference fails the test with the first line that differs; with
 * SLUICE_ACCEPT_GOLDENS=1 in the environment the file is rewritten instead, and the review reads
 * what changed.
 */
#pragma once

/* path: below tests/, "golden/plan/quiet.txt". */
void golden_check(const char *path, const char *text);
