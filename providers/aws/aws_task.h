/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One verb at work: its calls one after the other, and its single answer.  For the files of the
 * kind `aws` only.
 */
#pragma once

#include "base/map.h"
#include "providers/aws/aws_call.h"
#include "providers/aws/aws_group.h"
#include "providers/aws/aws_pool.h"
#include "providers/common/growth.h"

struct aws_task;

struct aws {
    struct provider provider; /* first */
    struct world *world;
    struct aws_login *login;
    struct aws_caller caller;
    const char *role; /* ARN, of the settings; NULL: none */
    char *sts_url;
    struct growth *growth;
    struct map *memories; /* name of a group -> struct aws_memory */
    struct map *asked;    /* instances whose termination was sent by this process, until they are
                             gone */
    struct aws_task *first;
};

/* What a process learned of a group. */
struct aws_memory {
    struct wall_time whole; /* when a list last showed that it lacks none; 0: never */
    struct wall_time ends;  /* of its capacity, as it was read last; 0: never, or not known */
    int64_t ends_read_ms;   /* when, in loop time; 0: never */
    bool has_no_launch;     /* LaunchInstances was refused: not offered, or not permitted */
};

/* The next answer of a task: exactly one of reply and err is not NULL. */
typedef void (*aws_step_fn)(struct aws_task *task, const struct aws_reply *reply,
                            const struct error *err);

/* What EC2 says of an instance; NULL: it is gone. */
typedef void (*aws_found_fn)(struct aws_task *task, const struct instance *instance);

struct aws_task {
    struct growth_turn turn; /* first */
    struct aws *aws;
    struct aws_task *previous;
    struct aws_task *next;
    struct aws_call *call;
    aws_step_fn step;
    aws_step_fn after_read; /* of a verb that first reads its group */
    aws_found_fn after_find;
    struct aws_pool pool; /* texts are owned */
    char *instance;       /* NULL: the verb has none */
    char *request_id;
    char *progress;
    struct aws_group group;               /* as it was read last */
    struct error trouble;                 /* of list(): why the group lacks instances */
    void (*begin)(struct aws_task *task); /* within its turn */
    provider_list_fn listed;              /* one of the four */
    provider_look_fn looked;
    provider_group_fn grouped;
    provider_done_fn done;
    finding_fn found; /* of inspect(), beside done */
    char *group_arn;  /* of inspect(); NULL: not known */
    size_t at;        /* of inspect(): the check that is asked */
    void *context;
};

/* A copy of all that the verb needs; order NULL: it has none. */
struct aws_task *aws_task_new(struct aws *aws, const struct pool_address *pool,
                              const struct provider_order *order)
    __attribute__((returns_nonnull, warn_unused_result));
void aws_task_free(struct aws_task *task);

/* Asks, and continues with `step`. form: "&Name=..." or, of EKS, a path; NULL: none. */
void aws_task_ask(struct aws_task *task, enum aws_action action, const char *form,
                  aws_step_fn step);

/* Reads the group, then continues with task->after_read.  A group that does not exist, or is being
   deleted, is an error. */
void aws_task_read_group(struct aws_task *task);

/* Asks EC2 for the instance of the verb.  An answer that does not tell ends the task. */
void aws_task_find(struct aws_task *task, aws_found_fn found);

/* The form that names the reservations of its group, which has some.  The caller frees it. */
char *aws_task_name_reservations(const struct aws_task *task)
    __attribute__((returns_nonnull, warn_unused_result));

/* Each ends the task and frees it, before it calls the caller. */
void aws_task_done(struct aws_task *task, const char *operation);
void aws_task_fail(struct aws_task *task, const struct error *err);
void aws_task_listed(struct aws_task *task, const struct instance_page *page);
void aws_task_looked(struct aws_task *task, const struct instance *instance);
void aws_task_grouped(struct aws_task *task, const char *group);

/* Never NULL. */
struct aws_memory *aws_memory_of(struct aws *aws, const char *group);

/* aws_rights.c: the end of an inspection */
void aws_report_permission(struct aws_task *task, enum aws_action action, bool is_there);
/* Reports IAM's answer about each change that the task's pool needs.  Reads of the task only its
   pool, its group and whom to tell. */
void aws_report_decisions(struct aws_task *task, const struct xml_element *answer);
/* The ARN of the user or role whose policies IAM can simulate, for the ARN that STS tells.  role:
   of the settings, or NULL.  NULL: it belongs to neither; the caller frees it. */
char *aws_principal_of(const char *arn, const char *role) __attribute__((warn_unused_result));
/* Asks which changes the keys may make, reports it, and ends the task. */
void aws_inspect_rights(struct aws_task *task);

/* aws_read.c, aws_resize.c, aws_inspect.c: the verbs */
void aws_list(struct provider *provider, const struct pool_address *pool, const char *page,
              provider_list_fn done, void *context);
void aws_look(struct provider *provider, const struct pool_address *pool, const char *instance,
              provider_look_fn done, void *context);
void aws_find_group(struct provider *provider, const char *provider_id, provider_group_fn done,
                    void *context);
void aws_remove(struct provider *provider, const struct pool_address *pool,
                const struct provider_order *order, provider_done_fn done, void *context);
void aws_create(struct provider *provider, const struct pool_address *pool,
                const struct provider_order *order, provider_done_fn done, void *context);
void aws_cancel(struct provider *provider, const struct pool_address *pool,
                const struct provider_order *order, provider_done_fn done, void *context);
void aws_protect(struct provider *provider, const struct pool_address *pool,
                 const struct provider_order *order, provider_done_fn done, void *context);
void aws_inspect(struct provider *provider, const struct pool_address *pool, finding_fn found,
                 provider_done_fn done, void *context);
