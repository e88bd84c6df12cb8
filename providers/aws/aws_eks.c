/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See aws_eks.h.
 */
#include "providers/aws/aws_eks.h"

#include "base/crypto.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/url.h"
#include "providers/aws/aws_login.h"

#include <string.h>

struct eks_waiter {
    struct aws_waiter waiter; /* first */
    struct eks_login *login;
};

struct eks_login {
    struct kube_login login; /* first */
    struct eks_waiter waiter;
    struct world *world;
    struct kube_login_settings settings;
    struct aws_account account;
    struct aws_login *keys;
    kube_login_fn done;
    void *context;
};

char *aws_eks_token(const struct aws_keys *keys, const struct aws_scope *scope, const char *sts_url,
                    const char *cluster, struct error *err)
{
    static const char request[] = "?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Expires=60";
    const struct http_header name = { "x-k8s-aws-id", cluster };
    struct text *token = NULL;
    struct url parts;
    char *url;

    if (url_parse(sts_url, &parts, err) < 0)
        return NULL;

    /* The path of a URL without one is "/". */
    bool has_path = parts.target > sts_url && parts.target < sts_url + strlen(sts_url);
    owned(chars) char *plain = text_format("%s%s%s", sts_url, has_path ? "" : "/", request);

    url = aws_presign_url(keys, scope, plain, &name, err);
    if (!url)
        return NULL;
    token = text_new(TEXT_UNBOUNDED);
    text_add(token, "k8s-aws-v1.");
    crypto_add_base64url(token, url, strlen(url));
    secret_free(url);
    return text_take(token);
}

static void on_keys(struct aws_waiter *waiter, const struct aws_keys *keys, const struct error *err)
{
    struct eks_login *login = ((struct eks_waiter *)waiter)->login;
    struct loop *loop = login->world->loop;
    const struct aws_scope scope = {
        .region = login->account.region,
        .service = "sts",
        .at = aws_clock_now(aws_login_clock(login->keys), loop_wall(loop)),
    };
    int64_t left_ms = aws_login_left_ms(login->keys);
    struct error why = err ? *err : (struct error){ 0 };
    owned(chars) char *sts_url = aws_sts_url(&login->account);
    char *token = keys ? aws_eks_token(keys, &scope, sts_url, login->settings.eks, &why) : NULL;

    if (!token)
        error_context(&why, "EKS cluster %s", login->settings.eks);
    if (left_ms > AWS_EKS_TOKEN_MS)
        left_ms = AWS_EKS_TOKEN_MS;
    login->done(login->context, token, loop_now(loop) + left_ms, token ? NULL : &why);
    secret_free(token);
}

static void ask(struct kube_login *base, kube_login_fn done, void *context)
{
    struct eks_login *login = (struct eks_login *)base;

    login->done = done;
    login->context = context;
    aws_login_ask(login->keys, &login->waiter.waiter);
}

static void cancel(struct kube_login *base)
{
    struct eks_login *login = (struct eks_login *)base;

    aws_login_forget(login->keys, &login->waiter.waiter);
}

static void free_login(struct kube_login *base)
{
    struct eks_login *login = (struct eks_login *)base;

    cancel(base);
    aws_login_free(login->keys);
    mem_free(login);
}

struct kube_login *aws_eks_log_in(struct world *world, const struct kube_login_settings *settings)
{
    struct eks_login *login = mem_new(sizeof *login);

    require(settings->eks && settings->region);
    login->login = (struct kube_login){ ask, cancel, free_login };
    login->waiter = (struct eks_waiter){ { .ready = on_keys }, login };
    login->world = world;
    login->settings = *settings;
    login->account = (struct aws_account){
        .credentials = settings->credentials,
        .profile = settings->profile,
        .region = settings->region,
        .role = settings->role,
        .external_id = settings->external_id,
        .sts_endpoint = settings->sts_endpoint,
    };
    login->keys = aws_login_new(world, &login->account);
    return &login->login;
}
