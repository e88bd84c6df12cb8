/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What judge_all() does where a server is a replica of an engine.
 */
#pragma once

#include "windows/judge/judge.h"

void judge_engines(const struct judge_setup *setup, const struct judge_case *cases, size_t count);
