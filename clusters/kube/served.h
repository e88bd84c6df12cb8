/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inside clusters/ and providers/ only: which version of an API group a server has, of those that
 * sluice knows.  The server is asked once, and again after a while, for an upgrade may take a
 * version away.
 */
#pragma once

#include "clusters/kube/kube_session.h"

struct served;

struct served *served_new(struct kube_session *session)
    __attribute__((returns_nonnull, warn_unused_result));

/* Callers that still wait for an answer are not called. */
void served_free(struct served *served);

/* The newest version of the group ("policy" -> "v1") that the server has too.  ERROR_INVALID: it
   has none; with kube_cause_no_group if it lacks the whole group.  Calls done at once if this is
   known, else in a later turn; the cluster must not be closed from inside. */
typedef void (*served_done_fn)(void *context, const char *version, const struct error *err);
void served_ask(struct served *served, const char *group, served_done_fn done, void *context);

/* kube_send(), for which the version that the target names is replaced by the newest one, where the
   group has several ("/apis/kueue.x-k8s.io/v1beta2/..."). */
void served_send(struct served *served, const struct kube_call *call, kube_done_fn done,
                 void *context);
