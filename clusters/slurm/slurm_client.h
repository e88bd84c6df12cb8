/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client of one Slurm cluster: it sends actions (slurm_actions.h) by REST or as commands over
 * SSH, and knows no nodes or jobs.
 *
 * It first asks what there is: slurmrestd for its description, and scontrol for its release.  It
 * asks again when an action failed, at most once in a while.
 */
#pragma once

#include "base/error.h"
#include "base/world/ssh_settings.h"
#include "base/world/world.h"
#include "clusters/slurm/slurm_actions.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* How the cluster is reached: keys of `clusters.NAME`. */
struct slurm_access {
    char *rest; /* URL, or unix:/path of a socket; NULL: none */
    char *rest_user;
    char *token;            /* file with the JWT; read before each request; NULL: none */
    char *ca;               /* PEM file; NULL: the system's authorities */
    struct ssh_place place; /* a machine with Slurm's commands; its address NULL: none */
    struct ssh_access ssh;
    char *path; /* folder of the commands there; NULL: the login shell's PATH */
    char *conf; /* slurm.conf there; NULL: Slurm's own */
};

/* Checks that concern more than one key; *ret_key: the wrong one. */
int slurm_access_check(const struct slurm_access *access, const char **ret_key, struct error *err)
    __attribute__((warn_unused_result));

struct slurm_client;
struct slurm_call;

/* Valid during `done`. */
struct slurm_answer {
    enum slurm_format format;
    const json_t *body; /* SLURM_JSON */
    const char *text;   /* any other */
};

/* Exactly one of answer and err is not NULL.  err: an action that changes something did not happen,
   unless the kind is ERROR_UNKNOWN_OUTCOME. */
typedef void (*slurm_done_fn)(void *context, const struct slurm_answer *answer,
                              const struct error *err);

/* access and name are borrowed. Reads its files; nothing is sent yet. */
struct slurm_client *slurm_client_new(struct world *world, const char *name,
                                      const struct slurm_access *access, struct error *err)
    __attribute__((warn_unused_result));
/* Ends what is under way without calling `done`. */
void slurm_client_free(struct slurm_client *client);

/* Asks what there is, if that is not known.  done gets an error if nothing answers. */
void slurm_client_discover(struct slurm_client *client, slurm_done_fn done, void *context);
bool slurm_client_is_known(const struct slurm_client *client);
/* What was learned is asked for again at the next slurm_client_discover(). */
void slurm_client_forget(struct slurm_client *client);

/* The version of REST that has the action; 0: none.  The command for it; NULL: none. */
int slurm_client_version(const struct slurm_client *client, enum slurm_action action);
const struct slurm_command *slurm_client_command(const struct slurm_client *client,
                                                 enum slurm_action action);
int slurm_client_release(const struct slurm_client *client); /* of the commands; 0: unknown */
/* Why slurmrestd, or the commands, did not answer the last discovery; "" if they did. */
const char *slurm_client_rest_trouble(const struct slurm_client *client);
const char *slurm_client_command_trouble(const struct slurm_client *client);

/* Sends the action; done is called once, in a later turn. */
void slurm_ask(struct slurm_client *client, enum slurm_action action,
               const struct slurm_blanks *blanks, slurm_done_fn done, void *context);
