/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The answer of sluice explain as a person reads it: a paragraph a queue and window.
 */
#pragma once

#include "base/input/json.h"

void explain_print(const json_t *root);
