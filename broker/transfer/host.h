/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The physical host of the present attempt's machine, from its cloud.  It is read once a machine
 * runs, and not stored, because a restart can read it again.
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

/* The cloud has answered, has failed to answer, or never tells hosts. */
bool host_is_settled(const struct transfer *transfer);

bool host_is_under_way(const struct host_look *look);
