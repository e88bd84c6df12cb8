/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inside clusters/slurm only: a client's calls under way.  Each is one exchange by REST or one
 * command; one whose REST request did not arrive is tried as a command.
 */
#pragma once

#include "clusters/slurm/slurm_client.h"

struct slurm_client {
    struct world *world;
    const char *name;
    const struct slurm_access *access;
    struct text *ca;          /* NULL: none */
    struct ssh_target target; /* where its commands run */
    int versions[SLURM_ACTION_COUNT];
    int release;
    int64_t known_ms; /* when it was learned; 0: not */
    struct error rest_trouble;
    struct error command_trouble;
    struct slurm_call *first; /* all under way */
};

/* What a call asks: an action, or one of the two questions of a discovery. */
enum slurm_subject { SLURM_ASK_ACTION, SLURM_ASK_DESCRIPTION, SLURM_ASK_RELEASE };

struct slurm_call {
    struct slurm_client *client;
    struct slurm_call *previous;
    struct slurm_call *next;
    enum slurm_subject subject;
    enum slurm_action action;
    enum slurm_format format;
    char *line; /* the command, tried if REST cannot be reached; NULL: none */
    enum slurm_format line_format;
    struct http_exchange *http;
    struct ssh_exec *exec;
    struct timer *late; /* brings a failure in a turn of its own */
    struct error failure;
    slurm_done_fn done;
    void *context;
};

/* The caller sends it, or lets it fail in a later turn. */
struct slurm_call *slurm_call_new(struct slurm_client *client, enum slurm_subject subject,
                                  slurm_done_fn done, void *context)
    __attribute__((returns_nonnull));
void slurm_call_free(struct slurm_call *call);
void slurm_call_fail(struct slurm_call *call, const struct error *err);

/* Runs the command line. */
void slurm_call_run(struct slurm_call *call, const char *line);

/* -1: the token cannot be read; nothing was sent. */
int slurm_call_send(struct slurm_call *call, enum http_method method, const char *target,
                    const json_t *body, struct error *err) __attribute__((warn_unused_result));
