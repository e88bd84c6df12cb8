/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which field manager owns which fields: metadata.managedFields and server-side apply.  Lists of
 * known members (patch_merge_key()) are owned entry by entry, other lists as a whole.
 */
#pragma once

#include "tools/simulator/apiserver/resources.h"

struct client_memory;

/* A patch of type apply: the object with the configuration applied (old NULL: the configuration
   itself).  NULL: answered that it is refused.  The caller owns it. */
json_t *owners_apply(const struct api_request *request, const json_t *old, const json_t *config);

/* After a write that took effect: the request's manager owns what it set (config: of an apply;
   NULL: of another write). */
void owners_note(const struct api_request *request, const json_t *old, const json_t *written,
                 const json_t *config);

/* The managers are those that the client wrote in managedFields. */
void owners_take(const struct api_request *request, const json_t *object, const json_t *shown);

/* Sets metadata.managedFields, if any write was seen. */
void owners_show(const struct sim_call *call, const struct api_resource *resource, json_t *object);
void owners_forget(const struct api_request *request, const json_t *object);

/* What is remembered of the cluster's other clients; made when it is first asked for. */
struct client_memory *client_memory_of(struct kube_cluster *cluster);

struct client_memory {
    struct map *owners; /* "PLURAL.GROUP/NAMESPACE/NAME" -> JSON array of managers */
    struct map *lists;  /* "VERSION PLURAL.GROUP" -> JSON: key -> printed object */
};
