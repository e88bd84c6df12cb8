/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verbs on an Auto Scaling group against a script, on the virtual loop.
 */
#pragma once

#include "base/log.h"
#include "base/world/world.h"
#include "providers/aws/aws.h"
#include "tests/clusters/scripted_http.h"

#include <stdlib.h>

#define ASG "http://127.0.0.1:9/asg/"
#define EC2 "http://127.0.0.1:9/ec2/"
#define ASK(url_, status_, answer_)                                                                \
    {                                                                                              \
        .method = HTTP_POST, .url = (url_), .status = (status_), .answer = (answer_)               \
    }
#define MEMBER(id, state)                                                                          \
    "<member><InstanceId>" id "</InstanceId><AvailabilityZone>eu-1a</AvailabilityZone>"            \
    "<LifecycleState>" state "</LifecycleState></member>"
#define ONE MEMBER("i-01", "InService")
#define TWO ONE MEMBER("i-02", "InService")
#define GROUP(desired, members)                                                                    \
    ASK(ASG, 200,                                                                                  \
        "<R><DescribeAutoScalingGroupsResult><AutoScalingGroups><member><AutoScalingGroupName>g"   \
        "</AutoScalingGroupName><MinSize>0</MinSize><MaxSize>9</MaxSize><DesiredCapacity>" desired \
        "</DesiredCapacity><Instances>" members "</Instances></member></AutoScalingGroups>"        \
        "</DescribeAutoScalingGroupsResult></R>")
#define SIZED ASK(ASG, 200, "<SetDesiredCapacityResponse/>")
#define BROKEN                                                                                     \
    ASK(ASG, 500, "<ErrorResponse><Error><Code>InternalFailure</Code></Error></ErrorResponse>")

struct bench {
    struct loop *loop;
    struct scripted_http *script;
    struct random random;
    struct world world;
    struct provider *provider;
    int calls;
    struct error err;
    char operation[160];
    struct instance items[8];
    size_t count;
    struct error shortfall;
};

static const struct aws_settings bench_account = { .whose = { .region = "eu-1" },
                                                   .autoscaling_endpoint = ASG,
                                                   .ec2_endpoint = EC2 };
static const struct aws_pool bench_pool = { .group = "g",
                                            .grow = "set-desired-capacity",
                                            .zone = "eu-1a" };

static inline const struct pool_address *bench_address(void)
{
    return (const struct pool_address *)(const void *)&bench_pool;
}

static inline const struct provider_account *bench_given(const struct aws_settings *settings)
{
    return (const struct provider_account *)(const void *)settings;
}

static inline void bench_open(struct bench *bench, const struct script_step *steps, size_t count)
{
    struct error err = { 0 };

    *bench = (struct bench){ 0 };
    setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "SECRET", 1);
    bench->loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    bench->script = scripted_http_new(bench->loop, steps, count);
    bench->world = (struct world){ bench->loop, &bench->script->http, &bench->random, NULL, NULL };
    bench->provider = provider_open(&bench->world, &aws_kind, bench_given(&bench_account), &err);
    if (!bench->provider)
        fail_msg("%s", err.text);
}

static inline void bench_close(struct bench *bench)
{
    provider_close(bench->provider);
    assert_int_equal(bench->script->in_flight, 0);
    if (!script_is_played(bench->script))
        fail_msg("the script is not played:\n%s", bench->script->transcript->chars);
    http_free(&bench->script->http);
    loop_free(bench->loop);
}

static inline void on_done(void *context, const char *operation, const struct error *err)
{
    struct bench *bench = context;

    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    text_copy(bench->operation, sizeof bench->operation, operation);
}

static inline void on_page(void *context, const struct instance_page *page, const struct error *err)
{
    struct bench *bench = context;

    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    bench->count = page ? page->count : 0;
    for (size_t i = 0; i < bench->count; i++)
        bench->items[i] = page->items[i];
    bench->shortfall = page && page->shortfall ? *page->shortfall : (struct error){ 0 };
}

static inline void on_look(void *context, const struct instance *instance, const struct error *err)
{
    struct bench *bench = context;

    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    bench->count = instance != NULL;
    if (instance)
        bench->items[0] = *instance;
}

static inline enum error_kind answer_of(struct bench *bench, int more)
{
    int before = bench->calls;

    loop_run(bench->loop);
    assert_int_equal(bench->calls, before + more);
    return bench->err.kind;
}

static inline void begin_create(struct bench *bench, const char *request_id, const char *progress)
{
    const struct provider_order order = { .request_key = "0123abcd",
                                          .request_id = request_id,
                                          .progress = progress };

    provider_create(bench->provider, bench_address(), &order, on_done, bench);
}

static inline enum error_kind create(struct bench *bench, const char *request_id,
                                     const char *progress)
{
    begin_create(bench, request_id, progress);
    return answer_of(bench, 1);
}

static inline enum error_kind cancel(struct bench *bench, const char *progress)
{
    const struct provider_order order = { .request_id = "back", .progress = progress };

    provider_cancel(bench->provider, bench_address(), &order, on_done, bench);
    return answer_of(bench, 1);
}

static inline enum error_kind take_away(struct bench *bench, const char *instance)
{
    const struct provider_order order = { .instance = instance,
                                          .request_id = "r-3",
                                          .progress = "" };

    provider_remove(bench->provider, bench_address(), &order, on_done, bench);
    return answer_of(bench, 1);
}

static inline enum error_kind list(struct bench *bench)
{
    provider_list(bench->provider, bench_address(), NULL, on_page, bench);
    return answer_of(bench, 1);
}

static inline enum error_kind look(struct bench *bench, const char *instance)
{
    provider_look(bench->provider, bench_address(), instance, on_look, bench);
    return answer_of(bench, 1);
}
