/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Conditions about files that end: certificates, authorities, and lists of revoked certificates.
 */
#pragma once

#include "base/timestamp.h"
#include "base/world/tls_identity.h"
#include "broker/config/config.h"
#include "broker/health/health.h"

/* Adds the conditions that a file of `listen` ends soon, or has ended.  They borrow its paths.
   identity: what was read from the files. */
void endings_look(const struct config_listen *listen, const struct tls_identity *identity,
                  struct wall_time now, struct health *health);
