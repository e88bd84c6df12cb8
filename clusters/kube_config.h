/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kubeconfig file, reduced to what one cluster's connection needs.  Relative paths in it are
 * taken from the folder of the file.  What would run programs (exec, auth-provider), weaken TLS
 * (insecure-skip-tls-verify, plain http except to loopback) or is not supported (basic auth,
 * impersonation, proxy-url) is refused by name, not ignored.
 */
#pragma once

#include "base/error.h"
#include "base/http.h"

struct kube_config {
    char *server; /* without a slash at the end; may hold a path */
    char *token;  /* NULL: none, or in token_file */
    char *token_file;
    struct http_tls tls; /* its texts are owned here */
};

/* context NULL: the file's current-context. */
struct kube_config *kube_config_read(const char *path, const char *context, struct error *err)
    __attribute__((warn_unused_result));
void kube_config_free(struct kube_config *config);

static inline void owned_kube_config(struct kube_config **config)
{
    kube_config_free(*config);
}
