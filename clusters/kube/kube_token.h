/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The bearer token of a session: fixed, read from a file that another program renews, made by a
 * login (kube_login.h), or printed by the credential plugin that the kubeconfig names
 * (client.authentication.k8s.io, v1 and v1beta1).
 * A file is read again after half a minute at most: bound tokens are replaced about once an hour,
 * well before they end.  A plugin runs once at a time, and again a minute before what it printed
 * expires; a login is asked in the same way.
 */
#pragma once

#include "base/error.h"
#include "base/world/world.h"

#include <jansson.h>
#include <stdbool.h>

struct kube_config;
struct kube_login;
struct kube_token;

enum kube_token_state {
    KUBE_TOKEN_READY,
    KUBE_TOKEN_COMING, /* the plugin runs, or the login is asked; `news` will be called */
    KUBE_TOKEN_FAILED,
};

/* Borrows config and login, which may be NULL and otherwise is the only source.  `news` is called
   in a turn of its own when a plugin or a login has ended, well or not. */
typedef void (*kube_token_news_fn)(void *context);
struct kube_token *kube_token_new(struct world *world, const struct kube_config *config,
                                  struct kube_login *login, kube_token_news_fn news, void *context)
    __attribute__((returns_nonnull, warn_unused_result));
void kube_token_free(struct kube_token *token);

/* The token to use now, borrowed until the next turn; NULL when the user has none. */
enum kube_token_state kube_token_get(struct kube_token *token, const char **ret_chars,
                                     struct error *err);

/* Whether the plugin runs, or the login is asked. */
bool kube_token_is_coming(const struct kube_token *token);

/* The server refused this token (NULL: none).  Whether another one is, or will be, there.
 */
bool kube_token_renew(struct kube_token *token, const char *refused);

/* The token in the output of a plugin, and when it expires (0: no time is given).  The caller frees
   and wipes it. */
char *kube_token_decode(const json_t *credential, const char *api_version,
                        struct wall_time *ret_expires, struct error *err)
    __attribute__((warn_unused_result));
