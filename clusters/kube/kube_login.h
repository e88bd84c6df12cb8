/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An account of a cloud that makes bearer tokens for its managed API servers, so that no file holds
 * one and no plugin runs.  Clusters do not know clouds: whoever opens a cluster brings the function
 * that logs in.
 */
#pragma once

#include "base/error.h"
#include "base/world/world.h"

/* The keys of `clusters.NAME` that say whose tokens; texts that are not set are NULL. */
struct kube_login_settings {
    char *eks; /* name of the EKS cluster; NULL: there is no login */
    char *region;
    char *profile;
    char *role;
    char *external_id;
    char *credentials; /* path */
    char *sts_endpoint;
};

/* Exactly one of chars and err is not NULL.  ends_ms: loop time from which the token is no longer
   used.  chars are borrowed. */
typedef void (*kube_login_fn)(void *context, const char *chars, int64_t ends_ms,
                              const struct error *err);

/* A login under way asks for one token at a time. */
struct kube_login {
    void (*ask)(struct kube_login *login, kube_login_fn done, void *context); /* in a later turn */
    void (*cancel)(struct kube_login *login); /* legal when nothing was asked */
    void (*free)(struct kube_login *login);
};

/* The settings must outlive the login.  Nothing is read or sent yet. */
typedef struct kube_login *(*kube_log_in_fn)(struct world *world,
                                             const struct kube_login_settings *settings);
