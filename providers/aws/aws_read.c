/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The machines of a group, and why machines are missing: the verbs that change nothing.
 */
#include "base/array.h"
#include "base/text.h"
#include "base/url.h"
#include "providers/aws/aws_machine.h"
#include "providers/aws/aws_task.h"

#include <inttypes.h>

enum { FIRST_SIGHT_MS = 10 * MINUTE_MS, ENDS_AGE_MS = 10 * MINUTE_MS, ACTIVITIES = 20 };

static void finish_page(struct aws_task *task, const char *next)
{
    ARRAY(struct instance) instances = { 0 };
    struct wall_time ends = aws_memory_of(task->aws, task->pool.group)->ends;
    const struct error trouble = task->trouble;
    owned(chars) char *token = mem_copy_chars(next);

    for (size_t i = 0; i < task->group.members.count; i++) {
        struct instance *instance = array_add(&instances);

        *instance = task->group.members.items[i].instance;
        instance->ends = ends;
    }

    const struct instance_page page = {
        .items = instances.items,
        .count = instances.count,
        .next = token,
        .shortfall = trouble.kind != ERROR_NONE ? &trouble : NULL,
    };

    aws_task_listed(task, &page);
    array_clear(&instances);
}

/* Each of these reads only explains: when it fails, the list is as good without it. */
static void on_nodegroup(struct aws_task *task, const struct aws_reply *reply,
                         const struct error *err)
{
    if (!err)
        aws_nodegroup_trouble(reply->json, &task->trouble);
    finish_page(task, NULL);
}

static void on_activities(struct aws_task *task, const struct aws_reply *reply,
                          const struct error *err)
{
    struct wall_time now = aws_clock_now(aws_login_clock(task->aws->login),
                                         loop_wall(task->aws->world->loop));
    struct wall_time since = aws_memory_of(task->aws, task->pool.group)->whole;

    /* AWS writes times in whole seconds. */
    since.ms = since.ms > 0 ? since.ms - SECOND_MS : now.ms - FIRST_SIGHT_MS;
    if (!err)
        aws_group_trouble(reply->xml, since, &task->trouble);
    if (task->trouble.kind == ERROR_NONE && task->pool.nodegroup) {
        owned(chars) char *path = url_format("/clusters/%s/node-groups/%s", task->pool.eks_cluster,
                                             task->pool.nodegroup);

        aws_task_ask(task, AWS_DESCRIBE_NODEGROUP, path, on_nodegroup);
        return;
    }
    finish_page(task, NULL);
}

static void explain(struct aws_task *task)
{
    owned(chars) char *name = url_format("%s", task->pool.group);
    owned(chars) char *form = text_format("&AutoScalingGroupName=%s&MaxRecords=%d", name,
                                          ACTIVITIES);

    aws_task_ask(task, AWS_DESCRIBE_ACTIVITIES, form, on_activities);
}

/* The list is whole; why it lacks instances comes after it. */
static void go_on(struct aws_task *task)
{
    struct aws_memory *memory = aws_memory_of(task->aws, task->pool.group);

    if (task->group.desired > task->group.present) {
        explain(task);
        return;
    }
    memory->whole = aws_clock_now(aws_login_clock(task->aws->login),
                                  loop_wall(task->aws->world->loop));
    finish_page(task, NULL);
}

/* When it cannot be read, what was known before holds. */
static void on_reservation(struct aws_task *task, const struct aws_reply *reply,
                           const struct error *err)
{
    struct aws_memory *memory = aws_memory_of(task->aws, task->pool.group);
    struct wall_time ends;

    if (!err && aws_reservations_end(reply->xml, &task->group, &ends, NULL) == 0)
        memory->ends = ends;
    go_on(task);
}

static void read_end(struct aws_task *task)
{
    struct aws_memory *memory = aws_memory_of(task->aws, task->pool.group);
    int64_t now_ms = loop_now(task->aws->world->loop);
    bool is_recent = memory->ends_read_ms > 0 && now_ms - memory->ends_read_ms < ENDS_AGE_MS;

    if (task->group.reservations.count == 0)
        memory->ends.ms = 0;
    if (task->group.reservations.count == 0 || is_recent) {
        go_on(task);
        return;
    }
    memory->ends_read_ms = now_ms > 0 ? now_ms : 1;
    owned(chars) char *form = aws_task_name_reservations(task);

    aws_task_ask(task, AWS_DESCRIBE_RESERVATIONS, form, on_reservation);
}

static void on_list(struct aws_task *task, const struct aws_reply *reply, const struct error *err)
{
    const struct xml_element *element = NULL;
    const char *next = NULL;
    struct error why = { 0 };

    if (err) {
        aws_task_fail(task, err);
        return;
    }
    element = aws_group_find(reply->xml, task->pool.group);
    next = xml_text_or(reply->xml, "DescribeAutoScalingGroupsResult/NextToken", "");
    if (!element && next[0] != '\0') {
        finish_page(task, next);
        return;
    }
    if (!element)
        error_set(&why, ERROR_INVALID, "there is no such group in %s", task->aws->caller.region);
    else if (aws_group_read(element, &task->group, &why) == 0) {
        read_end(task);
        return;
    }
    aws_task_fail(task, &why);
}

void aws_list(struct provider *provider, const struct pool_address *pool, const char *page,
              provider_list_fn done, void *context)
{
    struct aws_task *task = aws_task_new((struct aws *)provider, pool, NULL);
    owned(chars) char *form = url_format("&AutoScalingGroupNames.member.1=%s", task->pool.group);
    owned(chars) char *token = page ? url_format("&NextToken=%s", page) : mem_copy_chars("");
    owned(chars) char *whole = text_format("%s%s", form, token);

    task->listed = done;
    task->context = context;
    aws_task_ask(task, AWS_DESCRIBE_GROUPS, whole, on_list);
}

void aws_look(struct provider *provider, const struct pool_address *pool, const char *instance,
              provider_look_fn done, void *context)
{
    struct aws_task *task = aws_task_new((struct aws *)provider, pool, NULL);

    task->instance = mem_copy_chars(instance);
    task->looked = done;
    task->context = context;
    aws_task_find(task, aws_task_looked);
}

static void on_member(struct aws_task *task, const struct aws_reply *reply, const struct error *err)
{
    struct error why = { 0 };
    const char *group = "";

    if (err)
        aws_task_fail(task, err);
    else if (aws_member_group(reply->xml, task->instance, &group, &why) < 0)
        aws_task_fail(task, &why);
    else
        aws_task_grouped(task, group);
}

void aws_find_group(struct provider *provider, const char *provider_id, provider_group_fn done,
                    void *context)
{
    static const struct aws_pool no_pool = { 0 };
    const char *slash = strrchr(provider_id, '/');
    owned(chars) char *form = NULL;
    struct aws_task *task;

    if (!text_starts_with(provider_id, "aws://") || !slash || !aws_machine_is_id(slash + 1)) {
        struct error err = { 0 };

        error_set(&err, ERROR_INVALID, "aws: %.200s is no provider ID of an instance", provider_id);
        done(context, NULL, &err);
        return;
    }
    task = aws_task_new((struct aws *)provider, (const struct pool_address *)(const void *)&no_pool,
                        NULL);
    task->instance = mem_copy_chars(slash + 1);
    task->grouped = done;
    task->context = context;
    form = url_format("&InstanceIds.member.1=%s", task->instance);
    aws_task_ask(task, AWS_DESCRIBE_MEMBERS, form, on_member);
}
