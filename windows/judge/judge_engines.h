/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What judge_all() does where a server is a replica of an engine.
 */
#pragma once

#include "windows/judge/judge.h"

void judge_engines(struct arrivals *arrivals, const struct judge_case *cases, size_t case_count,
                   const struct replay_target *target, const struct judge_span *spans,
                   size_t count);
