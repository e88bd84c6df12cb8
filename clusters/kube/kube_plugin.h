/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The credential plugin of a kubeconfig (user.exec), made ready to run.  Its environment is:
 *
 *   - a PATH that sluice sets;
 *   - variables of sluice's own environment, from a fixed list;
 *   - variables of the kubeconfig that select an identity.
 *
 * A kubeconfig with any other variable is refused.  So is a program that a user other than root and
 * the user of sluice may change.
 */
#pragma once

#include "base/input/yaml.h"
#include "base/world/http.h"

struct kube_plugin;

/* exec: the mapping. allowed: absolute path of the one program that may be run, NULL: none.  The
   plugin gets server and tls if the kubeconfig asks for it (provideClusterInfo). */
struct kube_plugin *kube_plugin_read(const struct yaml_node *exec, const char *allowed,
                                     const char *server, const struct http_tls *tls,
                                     struct error *err) __attribute__((warn_unused_result));
void kube_plugin_free(struct kube_plugin *plugin);
