/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the service is asked: the unix socket, the metrics port, and TCP with TLS; and what its
 * rules about persons need: unix groups and the keys of tokens.
 *
 * The unix socket must open.  Each other part may fail, for example because an address is not there
 * yet, a file is missing, or a directory server does not answer.  Then the service runs without
 * it, a condition says which part that is and why, and it is tried again: after 2 s, then after
 * twice the time, up to a minute; groups as broker/access/groups.h says.  The files of the
 * certificate and those of the keys of tokens are looked at every minute at least; what has changed
 * is read again.  No part is replaced by one that does not work.
 */
#pragma once

#include "base/world/world.h"
#include "broker/config/config.h"
#include "broker/service/service.h"

struct doors;

/* Reads certificates and rules; nothing is open yet.  Borrows the configuration. */
struct doors *doors_new(const struct config *config)
    __attribute__((returns_nonnull, warn_unused_result));

/* Begins to answer for this service, which it borrows.  -1: the unix socket cannot be opened. */
int doors_open(struct doors *doors, struct world *world, struct service *service, struct error *err)
    __attribute__((warn_unused_result));

/* -1 and the reason if a part is closed in `next` that is not in `doors`.  Both may be asked before
   they are opened and after they were closed; a part that was not tried yet counts as open. */
int doors_lose(const struct doors *doors, const struct doors *next, struct error *err)
    __attribute__((warn_unused_result));

/* Takes what `before`, which is closed, has fetched, if both fetch it from the same place. */
void doors_inherit(struct doors *doors, struct doors *before);

/* Tells each part that is closed: "listen", "access", ...  For `validate`, which opens nothing. */
typedef void (*doors_told_fn)(void *context, const char *part, const struct error *err);
void doors_tell(const struct doors *doors, doors_told_fn told, void *context);

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
