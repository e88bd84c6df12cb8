/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * `sluice serve` as a process of its own, with its journal in a file, that can be told at which of
 * its commits it dies by SIGKILL, and how wrong its clock is.  It ends with the test that started
 * it, however that ends.
 */
#pragma once

#include "base/input/json.h"
#include "base/world/http.h"
#include "tests/real/mortal_journal.h"

#include <stdbool.h>

struct mortal_service;

/* In the folder: sluice.yaml, sluice.sock, and what the service writes.  Starts nothing. */
struct mortal_service *mortal_service_new(struct loop *loop, struct http *http, const char *folder)
    __attribute__((returns_nonnull, warn_unused_result));

/* Stops it first. */
void mortal_service_free(struct mortal_service *service);

void mortal_service_start(struct mortal_service *service);

/* Asks it to end, and fails the test when it does not end well. */
void mortal_service_stop(struct mortal_service *service);

/* Its clock is ahead of ours by so much, from its next start on, with a new journal: the old one
   knows what the clock was, and a service that is told that its clock jumped does not follow it.
   It is stopped. */
void mortal_service_set_clock(struct mortal_service *service, int ahead_s);

/* Commits are counted from now; commit 0: it lives. */
void mortal_service_order(struct mortal_service *service, int64_t commit,
                          enum mortal_moment moment);
int64_t mortal_service_commits(const struct mortal_service *service);

/* Whether SIGKILL ended it; any other end fails the test. */
bool mortal_service_is_dead(struct mortal_service *service);

/* What it answers to a request; NULL when no service answers, or not with 200.  Takes body. */
json_t *mortal_service_ask(struct mortal_service *service, enum http_method method,
                           const char *path, json_t *body) __attribute__((warn_unused_result));
