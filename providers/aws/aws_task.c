/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See aws_task.h.
 */
#include "providers/aws/aws_task.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/url.h"
#include "providers/aws/aws_machine.h"

static void on_turn(struct growth_turn *turn)
{
    struct aws_task *task = (struct aws_task *)turn;

    task->begin(task);
}

struct aws_task *aws_task_new(struct aws *aws, const struct pool_address *address,
                              const struct provider_order *order)
{
    const struct aws_pool *pool = aws_pool_of(address);
    struct aws_task *task = mem_new(sizeof *task);

    task->aws = aws;
    task->pool.group = mem_copy_chars(pool->group);
    task->pool.eks_cluster = mem_copy_chars(pool->eks_cluster);
    task->pool.nodegroup = mem_copy_chars(pool->nodegroup);
    task->pool.grow = mem_copy_chars(pool->grow);
    task->pool.zone = mem_copy_chars(pool->zone);
    if (order) {
        task->instance = mem_copy_chars(order->instance);
        task->request_id = mem_copy_chars(order->request_id);
        task->progress = mem_copy_chars(order->progress);
    }
    task->turn.request_id = task->request_id ?: "";
    task->turn.progress = task->progress ?: "";
    task->turn.ready = on_turn;
    task->next = aws->first;
    if (aws->first)
        aws->first->previous = task;
    aws->first = task;
    return task;
}

static void free_text(const char *chars)
{
    mem_free((char *)(uintptr_t)chars);
}

void aws_task_free(struct aws_task *task)
{
    if (task->previous)
        task->previous->next = task->next;
    else
        task->aws->first = task->next;
    if (task->next)
        task->next->previous = task->previous;

    aws_call_cancel(task->call);
    growth_leave(&task->turn);
    aws_group_clear(&task->group);
    free_text(task->pool.group);
    free_text(task->pool.eks_cluster);
    free_text(task->pool.nodegroup);
    free_text(task->pool.grow);
    free_text(task->pool.zone);
    mem_free(task->instance);
    mem_free(task->request_id);
    mem_free(task->progress);
    mem_free(task->group_arn);
    mem_free(task);
}

static void on_reply(void *context, const struct aws_reply *reply, const struct error *err)
{
    struct aws_task *task = context;

    task->call = NULL;
    task->step(task, reply, err);
}

void aws_task_ask(struct aws_task *task, enum aws_action action, const char *form, aws_step_fn step)
{
    bool is_path = form && form[0] == '/';
    const struct aws_message message = {
        .action = action,
        .form = is_path ? NULL : form,
        .path = is_path ? form : NULL,
    };

    require(!task->call);
    task->step = step;
    task->call = aws_call_send(&task->aws->caller, &message, on_reply, task);
}

static void on_group(struct aws_task *task, const struct aws_reply *reply, const struct error *err)
{
    const struct xml_element *element = reply ? aws_group_find(reply->xml, task->pool.group) : NULL;
    aws_step_fn step = task->after_read;
    struct error why = { 0 };

    aws_group_clear(&task->group);
    if (err)
        why = *err;
    else if (!element)
        error_set(&why, ERROR_INVALID, "there is no such group in %s", task->aws->caller.region);
    else if (aws_group_read(element, &task->group, &why) == 0 && task->group.is_deleted)
        error_set(&why, ERROR_DENIED, "it is being deleted");
    step(task, why.kind == ERROR_NONE ? reply : NULL, why.kind == ERROR_NONE ? NULL : &why);
}

void aws_task_read_group(struct aws_task *task)
{
    owned(chars) char *form = url_format("&AutoScalingGroupNames.member.1=%s", task->pool.group);

    aws_task_ask(task, AWS_DESCRIBE_GROUPS, form, on_group);
}

/* A termination that was sent no longer matters once its instance is gone: IDs never come back. */
static void on_instance(struct aws_task *task, const struct aws_reply *reply,
                        const struct error *err)
{
    struct instance instance = { 0 };
    struct error why = { 0 };
    int found = 0;

    if (err && err->kind != ERROR_NOT_FOUND) {
        aws_task_fail(task, err);
        return;
    }
    if (!err)
        found = aws_machine_read(reply->xml, task->instance, &instance, &why);
    if (found < 0) {
        aws_task_fail(task, &why);
        return;
    }
    if (found == 0)
        map_remove(task->aws->asked, task->instance);
    task->after_find(task, found > 0 ? &instance : NULL);
}

void aws_task_find(struct aws_task *task, aws_found_fn found)
{
    owned(chars) char *form = url_format("&InstanceId.1=%s", task->instance);

    task->after_find = found;
    aws_task_ask(task, AWS_DESCRIBE_INSTANCES, form, on_instance);
}

char *aws_task_name_reservations(const struct aws_task *task)
{
    owned(text) struct text *form = text_new(64 * 1024);

    require(task->group.reservations.count > 0);
    for (size_t i = 0; i < task->group.reservations.count; i++) {
        text_add(form, "&CapacityReservationId.%zu=", i + 1);
        url_add_escaped(form, task->group.reservations.items[i].id);
    }
    return mem_copy_chars(form->chars);
}

void aws_task_done(struct aws_task *task, const char *operation)
{
    owned(chars) char *copy = mem_copy_chars(operation);
    provider_done_fn done = task->done;
    void *context = task->context;

    aws_task_free(task);
    done(context, copy, NULL);
}

void aws_task_fail(struct aws_task *task, const struct error *err)
{
    struct error why = *err;
    provider_list_fn listed = task->listed;
    provider_look_fn looked = task->looked;
    provider_group_fn grouped = task->grouped;
    provider_done_fn done = task->done;
    void *context = task->context;

    growth_failed(&task->turn, &why);
    if (why.cause != &provider_goes_on)
        error_context(&why, "aws: %s %s", task->pool.group ? "group" : "instance",
                      task->pool.group ?: task->instance);

    /* The operation of an answer that goes on is the order's progress. */
    owned(chars) char *progress = mem_copy_chars(why.cause == &provider_goes_on ? task->progress
                                                                                : "");

    aws_task_free(task);
    if (listed)
        listed(context, NULL, &why);
    else if (looked)
        looked(context, NULL, &why);
    else if (grouped)
        grouped(context, NULL, &why);
    else
        done(context, progress, &why);
}

void aws_task_listed(struct aws_task *task, const struct instance_page *page)
{
    provider_list_fn listed = task->listed;
    void *context = task->context;

    aws_task_free(task);
    listed(context, page, NULL);
}

void aws_task_looked(struct aws_task *task, const struct instance *instance)
{
    provider_look_fn looked = task->looked;
    void *context = task->context;

    aws_task_free(task);
    looked(context, instance, NULL);
}

void aws_task_grouped(struct aws_task *task, const char *group)
{
    owned(chars) char *copy = mem_copy_chars(group);
    provider_group_fn grouped = task->grouped;
    void *context = task->context;

    aws_task_free(task);
    grouped(context, copy, NULL);
}

struct aws_memory *aws_memory_of(struct aws *aws, const char *group)
{
    struct aws_memory *memory = map_get(aws->memories, group);

    if (!memory) {
        memory = mem_new(sizeof *memory);
        map_set(aws->memories, group, memory);
    }
    return memory;
}
