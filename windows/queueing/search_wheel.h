/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The search where requests are many: the wheel looks, the exact replay decides where the wheel's
 * count is near the limit, and confirms the answer under the worst seed.  For search.c.
 */
#pragma once

#include "windows/queueing/search_days.h"

/* 1: found; the caller computes requests and waits, except waits that the confirmation computed
   anyway. 0: the exact replay alone has to search: a tick would cost more than it saves, or the two
   disagreed, or a server is a replica of an engine. -1: error. */
int search_by_wheel(const struct search_days *days, struct search_result *ret_result,
                    struct replay_waits *ret_waits, struct error *err)
    __attribute__((warn_unused_result));
