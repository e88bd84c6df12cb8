/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kind `aws`: its settings, its account, its place.  The verbs are in aws_read.c, aws_resize.c
 * and aws_inspect.c.
 */
#include "providers/aws/aws.h"

#include "base/text.h"
#include "providers/aws/aws_errors.h"
#include "providers/aws/aws_machine.h"
#include "providers/aws/aws_task.h"

#include <string.h>

static void aws_set_zone(struct pool_address *pool, const char *zone)
{
    ((struct aws_pool *)(void *)pool)->zone = zone;
}

/* Names of zones are an account's own, and so are those of groups.  Whose keys a profile has is not
   known before the cloud is asked; the account of a role is in its name. */
static void aws_print_place(const struct provider_account *given,
                            const struct pool_address *address, struct text *out)
{
    const struct aws_pool *pool = aws_pool_of(address);
    const struct aws_account *account = &((const struct aws_settings *)(const void *)given)->whose;
    char number[AWS_ACCOUNT_SIZE];

    text_add(out, "Auto Scaling group %s in zone %s", pool->group, pool->zone);
    if (aws_account_number(account, number))
        text_add(out, " of account %s", number);
    else if (account->profile)
        text_add(out, " of profile %s", account->profile);
}

static bool aws_read_provider_id(const struct pool_address *pool, const char *provider_id,
                                 char ret_name[INSTANCE_NAME_SIZE], size_t *ret_claim)
{
    *ret_claim = 0;
    return aws_machine_read_provider_id(aws_pool_of(pool)->zone, provider_id, ret_name);
}

static void aws_close(struct provider *provider)
{
    struct aws *aws = (struct aws *)provider;

    while (aws->first)
        aws_task_free(aws->first);
    growth_free(aws->growth);
    map_free(aws->memories);
    map_free(aws->asked);
    aws_login_free(aws->login);
    mem_free(aws->sts_url);
    mem_free(aws);
}

static struct provider *aws_open(struct world *world, const struct provider_account *given,
                                 struct error *err)
{
    const struct aws_settings *settings = (const struct aws_settings *)(const void *)given;
    struct aws *aws = mem_new(sizeof *aws);

    (void)err;
    aws->provider.kind = &aws_kind;
    aws->world = world;
    aws->login = aws_login_new(world, &settings->whose);
    aws->role = settings->whose.role;
    aws->sts_url = aws_sts_url(&settings->whose);
    aws->caller = (struct aws_caller){
        .world = world,
        .login = aws->login,
        .region = settings->whose.region,
        .endpoints = { [AWS_AUTOSCALING] = settings->autoscaling_endpoint,
                       [AWS_EC2] = settings->ec2_endpoint,
                       [AWS_EKS] = settings->eks_endpoint,
                       [AWS_STS] = aws->sts_url,
                       [AWS_IAM] = settings->iam_endpoint },
    };
    aws->growth = growth_new();
    aws->memories = map_new(mem_free);
    aws->asked = map_new(NULL);
    return &aws->provider;
}

static int check_account(const void *object, const char **ret_key, struct error *err)
{
    const struct aws_settings *settings = object;

    return aws_account_check(&settings->whose, ret_key, err);
}

static int check_pool(const void *object, const char **ret_key, struct error *err)
{
    static const char *const ways[] = { "auto", "launch-instances", "set-desired-capacity" };
    const struct aws_pool *pool = object;
    bool is_known = false;

    for (size_t i = 0; i < COUNT_OF(ways); i++)
        is_known |= text_equal(pool->grow, ways[i]);
    *ret_key = "grow";
    if (!is_known)
        return error_set(err, ERROR_INVALID,
                         "\"%s\" is not one of auto, launch-instances, set-desired-capacity",
                         pool->grow);
    *ret_key = "nodegroup";
    if (pool->nodegroup && !pool->eks_cluster)
        return error_set(err, ERROR_INVALID, "requires eks_cluster");
    *ret_key = "eks_cluster";
    if (pool->eks_cluster && !pool->nodegroup)
        return error_set(err, ERROR_INVALID, "requires nodegroup");
    return 0;
}

static const struct setting account_settings[] = {
    AWS_ACCOUNT_SETTINGS(struct aws_settings, whose),
    { "autoscaling_endpoint", SETTING_URL, offsetof(struct aws_settings, autoscaling_endpoint), "",
      0, 0, "URL of Auto Scaling; absent: the cloud's own" },
    { "ec2_endpoint", SETTING_URL, offsetof(struct aws_settings, ec2_endpoint), "", 0, 0,
      "URL of EC2; absent: the cloud's own" },
    { "eks_endpoint", SETTING_URL, offsetof(struct aws_settings, eks_endpoint), "", 0, 0,
      "URL of EKS; absent: the cloud's own" },
    { "iam_endpoint", SETTING_URL, offsetof(struct aws_settings, iam_endpoint), "", 0, 0,
      "URL of IAM, which `sluice doctor` asks; absent: the cloud's own" },
};

static const struct setting pool_settings[] = {
    { "group", SETTING_TEXT, offsetof(struct aws_pool, group), NULL, 0, 0,
      "name of the Auto Scaling group, which must be in one zone" },
    { "eks_cluster", SETTING_TEXT, offsetof(struct aws_pool, eks_cluster), "", 0, 0,
      "name of the EKS cluster of a managed node group" },
    { "nodegroup", SETTING_TEXT, offsetof(struct aws_pool, nodegroup), "", 0, 0,
      "name of the managed node group, whose health explains missing instances" },
    { "grow", SETTING_TEXT, offsetof(struct aws_pool, grow), "auto", 0, 0,
      "how an instance is ordered: launch-instances, set-desired-capacity, or auto (the first "
      "where the group and the region allow it)" },
};

const struct provider_kind aws_kind = {
    .account = { .name = "aws",
                 .settings = account_settings,
                 .count = COUNT_OF(account_settings),
                 .size = sizeof(struct aws_settings),
                 .check = check_account },
    .pool = { .name = "aws",
              .settings = pool_settings,
              .count = COUNT_OF(pool_settings),
              .size = sizeof(struct aws_pool),
              .check = check_pool },
    .place_key = "group",
    .identity = IDENTITY_BY_GROWTH,
    .set_zone = aws_set_zone,
    .print_place = aws_print_place,
    .open = aws_open,
    .close = aws_close,
    .list = aws_list,
    .remove = aws_remove,
    .create = aws_create,
    .cancel = aws_cancel,
    .protect = aws_protect,
    .look = aws_look,
    .find_group = aws_find_group,
    .inspect = aws_inspect,
    .actions = aws_actions,
    .action_count = AWS_ACTION_COUNT,
    .refusal = aws_refusal,
    .read_provider_id = aws_read_provider_id,
};
