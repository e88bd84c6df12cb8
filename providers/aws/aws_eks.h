/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tokens for the API servers of EKS, as `aws eks get-token` makes them.  A token is a signed
 * request that was not sent: GetCallerIdentity of the token service.  The API server sends it, and
 * learns who we are.
 */
#pragma once

#include "clusters/kube/kube_login.h"
#include "providers/aws/aws_signature.h"

/* Servers take a token for 15 minutes after its signature, whatever its URL says. */
enum { AWS_EKS_TOKEN_MS = 14 * MINUTE_MS };

/* settings->eks and settings->region are set. */
struct kube_login *aws_eks_log_in(struct world *world, const struct kube_login_settings *settings)
    __attribute__((returns_nonnull, warn_unused_result));

/* The token for the cluster of that name.  sts_url: of the token service of the scope's region. The
   caller frees and wipes it. */
char *aws_eks_token(const struct aws_keys *keys, const struct aws_scope *scope, const char *sts_url,
                    const char *cluster, struct error *err) __attribute__((warn_unused_result));
