/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What other clients than sluice (kubectl, the clients for Python) may ask of a simulated API
 * server: its resources as a table, each with how its objects are read and written.  Objects are
 * plain JSON, made from the simulator's state when a client asks.
 */
#pragma once

#include "tools/simulator/model/client.h"
#include "tools/simulator/model/model.h"

struct api_resource;

/* A request about a resource that exists. */
struct api_request {
    struct sim_call *call;
    const struct api_resource *resource;
    const char *version;   /* of the group, as the path has it */
    const char *namespace; /* "": none, or all */
    const char *name;      /* "": the collection */
    const char *part;      /* subresource; "": none */
    bool is_dry;
    const json_t *options; /* of a delete; NULL: none */
    const json_t *config;  /* of a server-side apply; NULL: another write */
};

/* A column of a Table: its head, and its cell for an object; the caller owns the cell. */
struct api_column {
    const char *name;
    const char *type;
    bool is_wide; /* shown by -o wide alone */
    json_t *(*cell)(const struct sim_call *call, const json_t *object);
};

enum { API_CREATE = 1, API_UPDATE = 2, API_DELETE = 4, API_ALL = 7 };

struct api_resource {
    const char *group;   /* "": the core group */
    const char *version; /* NULL: those that world.yaml serves */
    const char *plural, *singular, *kind, *short_name;
    const char *category; /* "all", or "" */
    bool is_namespaced;
    bool is_custom; /* of a CustomResourceDefinition: has no strategic merge patch */
    unsigned verbs; /* API_...; each can be read and watched */
    void (*collect)(struct sim_call *call, const struct api_resource *resource, json_t *items);
    /* One object, without making all; NULL: it is looked for among all. */
    json_t *(*find)(struct sim_call *call, const char *namespace, const char *name);
    const struct api_column *columns; /* ends with an empty one; NULL: Name and Age */
    const char *const *fields;        /* of field selectors; ends with NULL; may be NULL */
    /* They answer the call.  `object` is the whole new object, `old` the one that it replaces. */
    void (*create)(struct api_request *request, json_t *object);
    void (*update)(struct api_request *request, const json_t *old, json_t *object);
    void (*remove)(struct api_request *request, const json_t *object);
};

extern const struct api_resource api_resources[]; /* ends with an empty one */

/* The table of discovery, by group and version; NULL: there is no such thing on this server. */
const struct api_resource *api_resource_find(const struct sim_call *call, const char *group,
                                             const char *version, const char *plural);
bool api_resource_is_served(const struct sim_call *call, const struct api_resource *resource);

/* The version by which the objects of the resource are made: the newest that is served. */
const char *api_resource_version(const struct sim_call *call, const struct api_resource *resource);

/* "deployments.apps", "nodes". */
void api_resource_full_name(const struct api_resource *resource, char out[SIM_NAME_SIZE]);

/* reads_*.c */
void api_collect_nodes(struct sim_call *call, const struct api_resource *resource, json_t *items);
void api_collect_pods(struct sim_call *call, const struct api_resource *resource, json_t *items);
json_t *api_find_node(struct sim_call *call, const char *namespace, const char *name);
json_t *api_find_pod(struct sim_call *call, const char *namespace, const char *name);
void api_collect_namespaces(struct sim_call *call, const struct api_resource *resource,
                            json_t *items);
void api_collect_events(struct sim_call *call, const struct api_resource *resource, json_t *items);
void api_collect_leases(struct sim_call *call, const struct api_resource *resource, json_t *items);
void api_collect_deployments(struct sim_call *call, const struct api_resource *resource,
                             json_t *items);
void api_collect_replica_sets(struct sim_call *call, const struct api_resource *resource,
                              json_t *items);
void api_collect_daemon_sets(struct sim_call *call, const struct api_resource *resource,
                             json_t *items);
void api_collect_jobs(struct sim_call *call, const struct api_resource *resource, json_t *items);
void api_collect_budgets(struct sim_call *call, const struct api_resource *resource, json_t *items);
void api_collect_stored(struct sim_call *call, const struct api_resource *resource, json_t *items);

/* Whether the cluster has that namespace. */
bool api_namespace_exists(struct sim_call *call, const char *name);

/* writes.c */
void api_create_by_post(struct api_request *request, json_t *object); /* the server's own POST */
void api_create_namespace(struct api_request *request, json_t *object);
void api_create_deployment(struct api_request *request, json_t *object);
void api_create_stored(struct api_request *request, json_t *object);
void api_update_node(struct api_request *request, const json_t *old, json_t *object);
void api_update_pod(struct api_request *request, const json_t *old, json_t *object);
void api_update_deployment(struct api_request *request, const json_t *old, json_t *object);
void api_update_stored(struct api_request *request, const json_t *old, json_t *object);
void api_remove_by_delete(struct api_request *request, const json_t *object);
void api_remove_deployment(struct api_request *request, const json_t *object);
void api_remove_stored(struct api_request *request, const json_t *object);

/* columns.c */
extern const struct api_column api_node_columns[], api_pod_columns[], api_deployment_columns[],
    api_replica_set_columns[], api_daemon_set_columns[], api_job_columns[], api_namespace_columns[],
    api_event_columns[], api_budget_columns[], api_lease_columns[], api_plain_columns[],
    api_autoscaler_columns[], api_cluster_queue_columns[], api_local_queue_columns[];
