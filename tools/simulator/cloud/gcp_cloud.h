/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the fake of Google Cloud share.
 */
#pragma once

#include "tools/simulator/model/model.h"

void sim_gcp_error(struct sim_answer *answer, int code, const char *reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool sim_gcp_is_authorized(struct sim_call *call);
/* gcp_token.c; type: what kind of token it is, where the exchange says so; otherwise NULL */
void sim_gcp_grant(struct sim_call *call, const char *type);
void sim_gcp_grant_until(struct sim_call *call, int64_t life_ms); /* as generateAccessToken */
/* gcp_grants.c; account: "EMAIL:generateAccessToken" */
void sim_gcp_token(struct sim_call *call);
void sim_gcp_federate(struct sim_call *call);
void sim_gcp_impersonate(struct sim_call *call, const char *account);
void sim_gcp_metadata_token(struct sim_call *call);
void sim_gcp_metadata_account(struct sim_call *call);
void sim_gcp_delete_instances(struct sim_call *call, struct pool *pool);
void sim_gcp_create_instances(struct sim_call *call, struct pool *pool);
/* waits: the answer comes when the operation is done. */
void sim_gcp_get_operation(struct sim_call *call, const char *zone, const char *name, bool waits);

/* gcp_api.c: as their methods `get` show them; the caller owns them. */
json_t *sim_gcp_group(const struct simulator *sim, const struct pool *pool);
json_t *sim_gcp_instance(const struct simulator *sim, const struct machine *machine);

/* gcp_reads.c */
char *sim_gcp_zone(const struct pool *pool); /* its URL, as answers name it */
/* When Google ends the pool's machines, as world.yaml has it under gcp: RESERVATION: ends; NULL:
   never. */
const char *sim_gcp_ends(const struct simulator *sim, const struct pool *pool);
bool sim_gcp_may(struct sim_call *call, const struct pool *pool, const char *permission);
bool sim_gcp_query_is(struct sim_call *call, const char *const *known); /* false: answered */
/* Lists that gcloud and people's programs ask for, of a zone or (aggregated) of all: false: it is
   none of them, and not answered. */
bool sim_gcp_list(struct sim_call *call, char **items, size_t count);
void sim_gcp_list_resizes(struct sim_call *call, const struct pool *pool);
void sim_gcp_get_reservation(struct sim_call *call, const char *project, const char *zone,
                             const char *name);
void sim_gcp_answer_v1(struct sim_call *call, char **items, size_t count); /* GKE, projects */
