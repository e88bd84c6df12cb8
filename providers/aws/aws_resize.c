/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verbs that change a group.  Each waits for its turn and reads the group in it, because
 * TerminateInstanceInAutoScalingGroup and SetDesiredCapacity know no token for repeats.
 */
#include "base/text.h"
#include "base/url.h"
#include "providers/aws/aws_errors.h"
#include "providers/aws/aws_machine.h"
#include "providers/aws/aws_task.h"

#include <inttypes.h>

enum { LAGGING_RETRY_MS = 10 * SECOND_MS, ATTEMPTS_MAX = 100 };

static void start(struct aws_task *task, aws_step_fn after_read, provider_done_fn done,
                  void *context)
{
    task->after_read = after_read;
    task->begin = aws_task_read_group;
    task->done = done;
    task->context = context;
    growth_wait(task->aws->growth, task->pool.group, &task->turn);
}

static void fail_with(struct aws_task *task, enum error_kind kind, const char *sentence)
{
    struct error err = { 0 };

    error_set(&err, kind, "%s", sentence);
    aws_task_fail(task, &err);
}

/* The answer of create(): a conflict would mean that the machine exists. */
static void fail_create(struct aws_task *task, const struct error *err)
{
    struct error why = *err;

    provider_not_now(&why);
    aws_task_fail(task, &why);
}

/* Remove. */

static void on_terminated(struct aws_task *task, const struct aws_reply *reply,
                          const struct error *err)
{
    const char *activity = NULL;
    struct error why = { 0 };

    if (err) {
        why = *err;
        /* It was a member when it was read: the group changed meanwhile. */
        if (why.kind == ERROR_INVALID)
            why.kind = ERROR_CONFLICT;
        provider_not_now(&why);
        aws_task_fail(task, &why);
        return;
    }
    if (xml_need_text(reply->xml, "TerminateInstanceInAutoScalingGroupResult/Activity/ActivityId",
                      &activity, &why) < 0) {
        why.kind = ERROR_UNKNOWN_OUTCOME;
        aws_task_fail(task, &why);
        return;
    }
    owned(chars) char *operation = mem_copy_chars(activity);

    aws_task_done(task, operation);
}

/* Of an instance that is no member: whether it is gone, or was only taken out of the group. */
static void on_stranger(struct aws_task *task, const struct instance *instance)
{
    if (!instance)
        fail_with(task, ERROR_NOT_FOUND, "the instance is gone");
    else if (instance->state == INSTANCE_DELETING)
        aws_task_done(task, "");
    else
        fail_with(task, ERROR_CONFLICT,
                  "the instance exists, and is no member of the group: terminate it by hand");
}

static void terminate(struct aws_task *task)
{
    owned(chars) char *form = url_format("&InstanceId=%s&ShouldDecrementDesiredCapacity=true",
                                         task->instance);

    map_set(task->aws->asked, task->instance, task->aws);
    aws_task_ask(task, AWS_TERMINATE, form, on_terminated);
}

/* Of an instance whose termination was sent before: what the group says of it may be old, and a
   second termination would shrink the group twice. */
static void on_asked_before(struct aws_task *task, const struct instance *instance)
{
    if (!instance)
        fail_with(task, ERROR_NOT_FOUND, "the instance is gone");
    else if (instance->state == INSTANCE_DELETING)
        aws_task_done(task, "");
    else
        terminate(task);
}

/* false: answered */
static bool is_staying(struct aws_task *task, const struct aws_member *member)
{
    if (member->is_leaving)
        aws_task_done(task, ""); /* a second request would shrink the group twice */
    else if (member->is_aside)
        fail_with(task, ERROR_CONFLICT, "the instance is in standby or being detached");
    else
        return true;
    return false;
}

/* The group's list may be old.  While a hook holds an instance that leaves, EC2 says that it runs;
   only its own record with Auto Scaling says that it leaves. */
static void on_member(struct aws_task *task, const struct aws_reply *reply, const struct error *err)
{
    struct aws_member member = { 0 };
    struct error why = { 0 };
    int found = 0;

    if (err)
        aws_task_fail(task, err);
    else if ((found = aws_member_read(reply->xml, task->instance, &member, &why)) < 0)
        aws_task_fail(task, &why);
    else if (found == 0)
        aws_task_find(task, on_stranger);
    else if (!is_staying(task, &member))
        return;
    else if (map_get(task->aws->asked, task->instance))
        aws_task_find(task, on_asked_before);
    else
        terminate(task);
}

static void on_read_for_remove(struct aws_task *task, const struct aws_reply *reply,
                               const struct error *err)
{
    const struct aws_member *member = NULL;

    (void)reply;
    if (err) {
        aws_task_fail(task, err);
        return;
    }
    member = aws_group_member(&task->group, task->instance);
    if (!member) {
        aws_task_find(task, on_stranger);
        return;
    }
    if (!is_staying(task, member))
        return;
    if (task->group.never_terminates) {
        fail_with(task, ERROR_DENIED, "its process Terminate is suspended: resume it");
    } else if (task->group.desired <= task->group.least) {
        fail_with(task, ERROR_DENIED, "it has its minimum size: lower MinSize");
    } else {
        owned(chars) char *form = url_format("&InstanceIds.member.1=%s", task->instance);

        aws_task_ask(task, AWS_DESCRIBE_MEMBERS, form, on_member);
    }
}

void aws_remove(struct provider *provider, const struct pool_address *pool,
                const struct provider_order *order, provider_done_fn done, void *context)
{
    struct aws_task *task = aws_task_new((struct aws *)provider, pool, order);

    task->turn.request_id = "";
    start(task, on_read_for_remove, done, context);
}

/* Protect: the size does not change, so it waits for no turn. */

static void on_protected(struct aws_task *task, const struct aws_reply *reply,
                         const struct error *err)
{
    struct error why = { 0 };

    (void)reply;
    if (!err) {
        aws_task_done(task, "");
        return;
    }
    why = *err;
    provider_not_now(&why);
    aws_task_fail(task, &why);
}

void aws_protect(struct provider *provider, const struct pool_address *pool,
                 const struct provider_order *order, provider_done_fn done, void *context)
{
    struct aws_task *task = aws_task_new((struct aws *)provider, pool, order);
    owned(chars) char *form = url_format("&AutoScalingGroupName=%s&InstanceIds.member.1=%s"
                                         "&ProtectedFromScaleIn=true",
                                         task->pool.group, task->instance);

    task->turn.request_id = "";
    task->done = done;
    task->context = context;
    aws_task_ask(task, AWS_PROTECT, form, on_protected);
}

/* By number: create() where LaunchInstances is no choice, and cancel(). */

static void on_sized(struct aws_task *task, const struct aws_reply *reply, const struct error *err)
{
    (void)reply;
    if (!err || err->kind != ERROR_UNKNOWN_OUTCOME)
        growth_answered(&task->turn, !err);
    if (err)
        fail_create(task, err);
    else
        aws_task_done(task, "");
}

static void set_size(struct aws_task *task, int64_t wanted)
{
    owned(chars) char *name = url_format("&AutoScalingGroupName=%s", task->pool.group);
    owned(chars) char *form = text_format("%s&DesiredCapacity=%" PRId64 "&HonorCooldown=false",
                                          name, wanted);

    if (wanted > task->group.most)
        fail_with(task, ERROR_DENIED, "it has its maximum size: raise MaxSize");
    else if (wanted < task->group.least)
        fail_with(task, ERROR_DENIED, "it has its minimum size: lower MinSize");
    else
        aws_task_ask(task, AWS_SET_DESIRED, form, on_sized);
}

/* A group whose instances are protected may have more than it wants, when another writer made it
   smaller.  One more than it wants would then bring none. */
static struct growth_size size_of(const struct aws_group *group)
{
    int64_t wanted = group->desired > group->present ? group->desired : group->present;

    return (struct growth_size){ wanted, group->present, "" };
}

static void follow(struct aws_task *task, enum growth_verdict verdict, const char *progress,
                   int64_t wanted)
{
    struct error err = { 0 };

    switch (verdict) {
    case GROWTH_PLAN:
        mem_free(task->progress);
        task->progress = mem_copy_chars(progress);
        task->turn.progress = task->progress;
        error_set(&err, ERROR_TRANSIENT, "the new size %s is planned", progress);
        error_because(&err, &provider_goes_on);
        aws_task_fail(task, &err);
        break;
    case GROWTH_SEND:
        set_size(task, wanted);
        break;
    case GROWTH_DONE:
        aws_task_done(task, "");
        break;
    case GROWTH_NONE:
        fail_with(task, ERROR_CONFLICT, "it wants no more instances than it has");
        break;
    }
}

static void grow_by_number(struct aws_task *task)
{
    const struct growth_size size = size_of(&task->group);
    char progress[GROWTH_PROGRESS_SIZE] = "";
    int64_t wanted = 0;
    enum growth_verdict verdict = growth_grow(&task->turn, &size, progress, &wanted);

    follow(task, verdict, progress, wanted);
}

/* Create. */

/* 200 with errors and no instance is how a stock-out reads. */
static void finish_launch(struct aws_task *task, const struct xml_element *answer)
{
    const struct xml_element *result = xml_first(answer, "LaunchInstancesResult");
    const char *id = xml_text_or(result, "Instances/member/InstanceIds/member", "");
    const struct xml_element *failed = xml_first(result, "Errors/member");
    struct error err = { 0 };

    if (aws_machine_is_id(id)) {
        owned(chars) char *operation = mem_copy_chars(id);

        aws_task_done(task, operation);
        return;
    }
    if (failed) {
        const struct aws_refusal refusal = {
            .code = xml_text_or(failed, "ErrorCode", ""),
            .message = xml_text_or(failed, "ErrorMessage", ""),
        };

        aws_error_of(&refusal, &err);
    } else {
        error_set(&err, ERROR_UNKNOWN_OUTCOME, "LaunchInstances: neither an instance nor an error");
    }
    fail_create(task, &err);
}

static void on_launched(struct aws_task *task, const struct aws_reply *reply,
                        const struct error *err)
{
    bool is_auto = !text_equal(task->pool.grow, "launch-instances");
    struct error why = { 0 };

    if (!err) {
        finish_launch(task, reply->xml);
        return;
    }
    if (is_auto && (err->cause == &aws_not_offered || err->cause == &aws_not_permitted)) {
        aws_memory_of(task->aws, task->pool.group)->has_no_launch = true;
        grow_by_number(task);
        return;
    }
    why = *err;
    if (why.kind == ERROR_INVALID && task->group.desired >= task->group.most) {
        why.kind = ERROR_DENIED;
        error_context(&why, "it has its maximum size: raise MaxSize");
    }
    fail_create(task, &why);
}

static void launch(struct aws_task *task)
{
    owned(chars) char *form = url_format("&AutoScalingGroupName=%s&RequestedCapacity=1"
                                         "&ClientToken=%s&AvailabilityZones.member.1=%s"
                                         "&RetryStrategy=none",
                                         task->pool.group, task->request_id, task->pool.zone);

    aws_task_ask(task, AWS_LAUNCH, form, on_launched);
}

/* An order that has planned a number goes on with it. */
static bool is_launched(struct aws_task *task)
{
    if (task->progress[0] != '\0' || text_equal(task->pool.grow, "set-desired-capacity"))
        return false;
    if (text_equal(task->pool.grow, "launch-instances"))
        return true;
    return task->group.can_launch && !aws_memory_of(task->aws, task->pool.group)->has_no_launch;
}

static void on_read_for_create(struct aws_task *task, const struct aws_reply *reply,
                               const struct error *err)
{
    (void)reply;
    if (err)
        fail_create(task, err);
    else if (task->group.never_launches)
        fail_with(task, ERROR_DENIED, "its process Launch is suspended: resume it");
    else if (is_launched(task))
        launch(task);
    else
        grow_by_number(task);
}

void aws_create(struct provider *provider, const struct pool_address *pool,
                const struct provider_order *order, provider_done_fn done, void *context)
{
    start(aws_task_new((struct aws *)provider, pool, order), on_read_for_create, done, context);
}

/* Cancel. */

/* Auto Scaling would terminate a machine that works, if one that is coming were taken back. */
static void take_back(struct aws_task *task, struct growth_size size)
{
    char progress[GROWTH_PROGRESS_SIZE] = "";
    int64_t wanted = 0;
    enum growth_verdict verdict = growth_shrink(&task->turn, &size, progress, &wanted);
    struct error err = { 0 };

    if (verdict != GROWTH_NONE || task->group.desired <= task->group.present) {
        follow(task, verdict, progress, wanted);
        return;
    }
    error_set(&err, ERROR_TRANSIENT,
              "it lists neither the instance nor why none was launched: one may be coming");
    err.retry_after_ms = LAGGING_RETRY_MS;
    aws_task_fail(task, &err);
}

/* The list may lag, and an attempt may go on: only one that failed can be taken back. */
static void on_attempts(struct aws_task *task, const struct aws_reply *reply,
                        const struct error *err)
{
    struct wall_time since = aws_memory_of(task->aws, task->pool.group)->whole;
    struct growth_size size = size_of(&task->group);

    if (err) {
        aws_task_fail(task, err);
        return;
    }
    since.ms -= SECOND_MS; /* AWS writes times in whole seconds */
    const struct aws_attempts attempts = aws_group_attempts(reply->xml, &task->group, since);

    if (attempts.has_failed || task->group.never_launches)
        size.present += attempts.coming;
    else
        size.present = size.wanted;
    take_back(task, size);
}

static void on_read_for_cancel(struct aws_task *task, const struct aws_reply *reply,
                               const struct error *err)
{
    (void)reply;
    if (err) {
        aws_task_fail(task, err);
        return;
    }
    if (task->group.desired <= task->group.present) {
        take_back(task, size_of(&task->group));
        return;
    }
    owned(chars) char *name = url_format("%s", task->pool.group);
    owned(chars) char *form = text_format("&AutoScalingGroupName=%s&MaxRecords=%d", name,
                                          ATTEMPTS_MAX);

    aws_task_ask(task, AWS_DESCRIBE_ACTIVITIES, form, on_attempts);
}

void aws_cancel(struct provider *provider, const struct pool_address *pool,
                const struct provider_order *order, provider_done_fn done, void *context)
{
    start(aws_task_new((struct aws *)provider, pool, order), on_read_for_cancel, done, context);
}
