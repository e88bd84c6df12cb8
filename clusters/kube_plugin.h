/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a kubeconfig says of its credential plugin (user.exec), made ready to run: of our own
 * environment it gets only what such programs need.
 */
#pragma once

#include "base/http.h"
#include "base/yaml.h"

struct kube_plugin;

/* exec: the mapping.  allowed: absolute path of the one program that may be run, NULL: none.
   server and tls are what the plugin is told where it asks to be (provideClusterInfo). */
struct kube_plugin *kube_plugin_read(const struct yaml_node *exec, const char *allowed,
                                     const char *server, const struct http_tls *tls,
                                     struct error *err) __attribute__((warn_unused_result));
void kube_plugin_free(struct kube_plugin *plugin);
