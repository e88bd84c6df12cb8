/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a kubeconfig says of its credential plugin (user.exec), made ready to run.  Its environment
 * is built: a PATH of ours, by name what such programs need of our own, and of the kubeconfig's the
 * few names that say which identity is meant.  Any other name is refused, and a program that others
 * than root and we may change.
 */
#pragma once

#include "base/input/yaml.h"
#include "base/world/http.h"

struct kube_plugin;

/* exec: the mapping.  allowed: absolute path of the one program that may be run, NULL: none.
   server and tls are what the plugin is told where it asks to be (provideClusterInfo). */
struct kube_plugin *kube_plugin_read(const struct yaml_node *exec, const char *allowed,
                                     const char *server, const struct http_tls *tls,
                                     struct error *err) __attribute__((warn_unused_result));
void kube_plugin_free(struct kube_plugin *plugin);
