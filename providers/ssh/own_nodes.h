/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Labels and taints of the Nodes that machines become: `labels` and `taints` of a pool.
 *
 * All functions take NULL for none.  Those that print take only what its check has passed: then
 * the text has no quote, no backslash and no line that breaks the YAML around it.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

/* `key=value,key=value`, in the characters that Kubernetes allows. */
int own_labels_check(const char *labels, struct error *err) __attribute__((warn_unused_result));

/* `{key: KEY, value: VALUE, effect: EFFECT}`, with commas between; `value` may be absent. */
int own_taints_check(const char *taints, struct error *err) __attribute__((warn_unused_result));

/* The items of `nodeRegistration.taints`, for kubeadm. */
void own_taints_print(const char *taints, struct text *out);

/* The file that adds them to those of k3s's own configuration; without any: nothing. */
void own_k3s_config_print(const char *labels, const char *taints, struct text *out);
