/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kubeconfig file, reduced to what one cluster's connection needs.  Relative paths in it are
 * taken from the folder of the file.  What would weaken TLS (insecure-skip-tls-verify, plain http
 * except to loopback) or is not supported (auth-provider, basic auth, impersonation, proxy-url) is
 * refused by name, not ignored.  A kubeconfig could name any program for its
 * credentials, so sluice runs only the one that sluice.yaml allows.
 */
#pragma once

#include "base/error.h"
#include "base/world/http.h"

/* A program that prints credentials. */
struct kube_plugin {
    char *api_version; /* client.authentication.k8s.io/v1 or v1beta1 */
    char **arguments;  /* [0] is the allowed path; ends with NULL */
    char **environment;
};

struct kube_config {
    char *server; /* without a slash at the end; may hold a path */
    char *token;  /* NULL: none, or in token_file */
    char *token_file;
    struct kube_plugin *plugin; /* NULL: none */
    struct http_tls tls;        /* its texts are owned here */

    /* The origin: kubeconfig, context and plugin; in a pod: folder, host and port. */
    bool is_of_pod;
    char *from[3];
};

/* The path that means the service account of the pod in which sluice runs. */
#define KUBE_CONFIG_IN_CLUSTER "in-cluster"

/* In place of a plugin: credentials come from elsewhere, and a program that the file names is
   neither run nor missed. */
#define KUBE_CONFIG_LOGIN ""

/* context NULL: the file's current-context.  plugin: absolute path of the one program that may be
   run, NULL: none; a file that names it without a folder means this one. */
struct kube_config *kube_config_read(const char *path, const char *context, const char *plugin,
                                     struct error *err) __attribute__((warn_unused_result));

/* The access of the pod in which sluice runs: token and authority (files in `folder`, which the
   kubelet renews), and the server that the environment names. */
#define KUBE_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
struct kube_config *kube_config_of_pod(const char *folder, const char *host, const char *port,
                                       struct error *err) __attribute__((warn_unused_result));

/* One of the two: the kubeconfig is a path, or KUBE_CONFIG_IN_CLUSTER. */
struct kube_config *kube_config_open(const char *kubeconfig, const char *context,
                                     const char *plugin, struct error *err)
    __attribute__((warn_unused_result));

/* Reads the same origin again.  Fails when that cannot be read completely, or when it leads to
   another server: data of one cluster must not count for another. */
struct kube_config *kube_config_again(const struct kube_config *config, struct error *err)
    __attribute__((warn_unused_result));

/* Whether both show the same credentials to the same server. */
bool kube_config_equals(const struct kube_config *left, const struct kube_config *right);

void kube_config_free(struct kube_config *config);

static inline void owned_kube_config(struct kube_config **config)
{
    kube_config_free(*config);
}
