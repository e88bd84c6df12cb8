/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An API server that has nothing but Secrets of kube-system, strict about bootstrap tokens, over
 * TLS with an authority of its own.
 */
#pragma once

#include "base/world/loop.h"

struct token_server;

/* Writes FOLDER/kubeconfig. */
struct token_server *token_server_new(struct loop *loop, const char *folder);
void token_server_free(struct token_server *server);

/* How many tokens there are, and how many there were; the last one's secret half. */
int token_server_count(const struct token_server *server);
int token_server_made(const struct token_server *server);
const char *token_server_secret(const struct token_server *server, int at);

/* From now on removals fail, or not; how many have failed. */
void token_server_refuse(struct token_server *server, bool refuses);
int token_server_refused(const struct token_server *server);
