/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The search where requests are many: the wheel looks, the exact replay decides where the wheel's
 * count is near the limit, and confirms the answer under the worst seed.  For search.c.
 */
#pragma once

#include "windows/queueing/search_days.h"

/* 1: found, requests and waits left to the caller, but for those waits that the confirmation told
   anyway; 0: the exact replay alone has to search, because a tick would cost more than it saves,
   because the two disagreed, or because a server is a replica of an engine; -1: error. */
int search_by_wheel(const struct search_days *days, struct search_result *ret_result,
                    struct replay_waits *ret_waits, struct error *err)
    __attribute__((warn_unused_result));
