/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What sluice asks of a Slurm cluster: THE table of actions.  A row says for each action which REST
 * request (slurmrestd) and which command (over SSH) does it.  The functions are pure.
 *
 * An action goes by REST if the server's own description (GET /openapi/v3) has the row's method and
 * path in a version that the row names; otherwise by the command of the newest release that is not
 * newer than Slurm's own.
 */
#pragma once

#include "base/error.h"
#include "base/world/http.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum slurm_action {
    SLURM_LIST_NODES,
    SLURM_LIST_JOBS,
    SLURM_LIST_PARTITIONS,
    SLURM_LIST_RESERVATIONS,
    SLURM_READ_CONFIG,
    SLURM_CHANGE_NODE,
    SLURM_DELETE_NODE,
    SLURM_CREATE_RESERVATION,
    SLURM_MOVE_RESERVATION,
    SLURM_DELETE_RESERVATION,
    SLURM_SIGNAL_JOB,
    SLURM_REQUEUE_JOB,
    SLURM_CANCEL_JOB,
    SLURM_COMMENT_JOB,
    SLURM_READ_SCRIPT,
    SLURM_ACTION_COUNT,
};

/* The blanks of a request.  NULL: left out, if the row lets it be. */
struct slurm_blanks {
    const char *node;
    const char *state; /* DRAIN, UNDRAIN, RESUME, POWER_DOWN, FUTURE */
    const char *reason;
    const char *comment;
    const char *job;    /* "12", or "12_3" for a task of an array */
    const char *signal; /* "USR1" */
    const char *whom;   /* "--batch": the signal is for the batch script; NULL: for its steps */
    const char *reservation;
    int64_t starts_s; /* Unix time; 0: now */
};

/* A release of Slurm as a number: 2205 for 22.05, 2411 for 24.11. */
enum { SLURM_RELEASE_JSON = 2302 /* scontrol has --json from here on */ };

/* What a command or a REST answer has. */
enum slurm_format {
    SLURM_JSON,    /* one object with a list of the row's name and `errors` */
    SLURM_LINES,   /* scontrol -o: one object a line, KEY=VALUE */
    SLURM_CONFIG,  /* "Key = value", one a line */
    SLURM_TEXT,    /* as it is */
    SLURM_NOTHING, /* the exit status tells */
};

struct slurm_command {
    int since; /* release; 0: any */
    const char *line;
    enum slurm_format format;
};

struct slurm_action_row {
    const char *name; /* for people: "list nodes" */
    const char *list; /* of a list: the member of the JSON that has it; otherwise NULL */
    bool changes;

    /* REST.  path: after "/slurm/v0.0.NN/", as the server's description has it. */
    enum http_method method;
    int first; /* versions: 36 is v0.0.36; 0: no version has it, or none with all that we need */
    int last;
    const char *path;
    const char *body; /* members: "state[] reason comment"; "": none */

    struct slurm_command commands[2]; /* the newer first; line NULL: none */
};

extern const struct slurm_action_row slurm_actions[SLURM_ACTION_COUNT];

/* The oldest and the newest version of the REST interface that sluice knows. */
enum { SLURM_REST_FIRST = 36, SLURM_REST_LAST = 43 };

/* The command of the action for this release; NULL: there is none. */
const struct slurm_command *slurm_command_for(enum slurm_action action, int release);

/* The row's command line; values are quoted for the shell.  The caller frees it.  ERROR_INVALID: a
   blank that the row needs is missing, or is no text of one line. */
char *slurm_command_line(const struct slurm_command *command, const struct slurm_blanks *blanks,
                         struct error *err) __attribute__((warn_unused_result));

/* "/slurm/v0.0.40/node/n1", the same way; and the body, NULL for none. */
char *slurm_rest_target(enum slurm_action action, int version, const struct slurm_blanks *blanks,
                        struct error *err) __attribute__((warn_unused_result));
json_t *slurm_rest_body(enum slurm_action action, const struct slurm_blanks *blanks)
    __attribute__((warn_unused_result));
