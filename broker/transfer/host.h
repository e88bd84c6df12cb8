/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * On which physical host the machine of the present attempt is, as its cloud tells.  Asked once a
 * machine runs; kept by this process only, because a restart can ask again.
 */
#pragma once

#include <stdbool.h>

struct host_look;
struct runner;
struct transfer;

/* Sends a read unless the host is known, a read is under way, or the last one is recent. */
void host_ask(struct runner *runner, struct transfer *transfer);

/* The host of transfer->new_instance, or "" if the cloud did not tell it. */
const char *host_of(const struct transfer *transfer) __attribute__((returns_nonnull));

/* The cloud has answered, or failed to, or never tells. */
bool host_is_settled(const struct transfer *transfer);

bool host_is_under_way(const struct host_look *look);
