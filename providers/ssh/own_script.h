/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The text of machine.sh, which the build puts into the program.
 */
#pragma once

extern const char own_script[];
