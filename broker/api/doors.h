/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the service is asked: the unix socket, the metrics port, and TCP with TLS.
 *
 * What the configuration's files and groups say is read in doors_new(), before a running service is
 * closed for a new configuration.  So a certificate that does not fit ends no service.
 */
#pragma once

#include "base/world/loop.h"
#include "broker/config/config.h"
#include "broker/service/service.h"

struct doors;

/* Reads certificates and rules; nothing is open yet.  Borrows the configuration. */
struct doors *doors_new(const struct config *config, struct error *err)
    __attribute__((warn_unused_result));

/* Begins to answer for this service, which it borrows. */
int doors_open(struct doors *doors, struct loop *loop, struct service *service, struct error *err)
    __attribute__((warn_unused_result));

/* Ends all calls.  Before the service is closed. */
void doors_close(struct doors *doors);

/* After the service is closed. */
void doors_free(struct doors *doors);

/* The port for TLS; 0: none is open. */
int doors_tls_port(const struct doors *doors);

static inline void owned_doors(struct doors **doors)
{
    doors_free(*doors);
}
