/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs one command on another machine over SSH, on the loop.  ssh_new() speaks to the world with
 * libssh2 (base/ssh); ssh_virtual_new() answers in virtual time what its play function says.
 *
 * What the caller relies on:
 *  - `done` is called exactly once for each ssh_run() (not after ssh_cancel()), never from inside
 *    ssh_run(), always in a turn of the loop.
 *  - Each command has a connection of its own, which ends with it.  A command is sent at most once.
 *  - The host's key is pinned.  A machine with another key gets nothing: no user name, no command.
 *  - Any exit status is an answer: err is NULL.  The caller decides what it means.
 *  - If no answer comes, the kind of the error says what may have happened:
 *    ERROR_DENIED: the host's key is another one, the user's key was refused, or the machine runs
 *    no commands for this user; a person must act.  ERROR_INVALID: the settings of the host.
 *    ERROR_TRANSIENT: no connection; the command was not sent.  ERROR_UNKNOWN_OUTCOME: the command
 *    was sent, and its end was not seen, or it printed too much.  A cause says that this is no
 *    silence of the machine: ssh_way, ssh_heard.
 *  - Commands beyond the bounds (SSH_SESSIONS in all, SSH_SESSIONS_PER_HOST for each machine and
 *    each jump host) wait in order of priority, then in the order of ssh_run(); their time begins
 *    with their place.  Those of lower priority leave some places to the others.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"
#include "base/world/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SSH_SESSIONS = 48,
    SSH_SESSIONS_PER_HOST = 8, /* below 10, where OpenSSH begins to drop new ones (MaxStartups) */
    SSH_INPUT_LIMIT = 1024 * 1024,
    SSH_ERRORS_LIMIT = 4096, /* bytes of standard error that an answer keeps: the last ones */
};

/* SSH_SILENT: a machine that did not answer last time, and is likely to hold its place until its
   time is over. */
enum ssh_priority { SSH_COMMAND, SSH_SWEEP, SSH_SILENT, SSH_PRIORITY_COUNT };

/* What leads to the machine failed: its name, our own network, the jump host, the agent. */
extern const struct error_cause ssh_way;

/* The machine ended the connection of a command that it had, or printed too much. */
extern const struct error_cause ssh_heard;

/* A machine, and how to get in.  Borrowed until `done`, with all that it points to. */
struct ssh_host {
    const char *address; /* host name or address */
    int port;            /* 0: 22 */
    const char *user;
    const char *host_key;        /* "ssh-ed25519 AAAA...": lines, or items with commas between */
    const char *key_file;        /* private key, ed25519 or ecdsa; NULL: the agent's */
    const char *agent_socket;    /* path; NULL: none */
    const struct ssh_host *jump; /* the machine through which it is reached; NULL: directly */
};

struct ssh_request {
    const char *command; /* one line for the shell there; the process table shows it: no secret */
    const char *input;   /* standard input; it may hold secrets, and is wiped; NULL: none */
    size_t input_length; /* at most SSH_INPUT_LIMIT */
    enum ssh_priority priority;
    int64_t timeout_ms;  /* of everything, from when it has its place */
    size_t output_limit; /* bytes; more is ERROR_UNKNOWN_OUTCOME */
};

/* Valid during `done` only; the output is wiped after it. */
struct ssh_answer {
    int exit_status;    /* -1: a signal ended it */
    const char *signal; /* "KILL"; NULL: none */
    const char *output; /* terminated, and may hold NUL before its end */
    size_t output_length;
    const char *errors; /* the last part of standard error, terminated */
};

/* Exactly one of answer and err is not NULL. */
typedef void (*ssh_done_fn)(void *context, const struct ssh_answer *answer,
                            const struct error *err);

struct ssh;
struct ssh_exec;

/* An implementation embeds struct ssh as its first member, and struct ssh_exec as that of its
   commands. */
struct ssh_verbs {
    struct ssh_exec *(*run)(struct ssh *ssh, const struct ssh_host *host,
                            const struct ssh_request *request, ssh_done_fn done, void *context);
    void (*cancel)(struct ssh_exec *exec);
    void (*free)(struct ssh *ssh);
};

struct ssh {
    const struct ssh_verbs *verbs;
};

struct ssh_exec {
    struct ssh *ssh;
};

/* The client on libssh2.  A loop of libevent; the loop must outlive it. */
struct ssh *ssh_new(struct loop *loop) __attribute__((returns_nonnull, warn_unused_result));

/* What a played machine does with a command. */
struct ssh_play {
    int64_t delay_ms;     /* until the answer; past the timeout: none is seen */
    struct error failure; /* ERROR_NONE: the machine answers */
    int exit_status;
    const char *signal;  /* a constant; the exit status is then -1 */
    struct text *output; /* empty at first */
    struct text *errors;
};

/* Called in a turn of its own, when the command arrives there: what it changes, it changes now. The
   host and the request are valid during the call. */
typedef void (*ssh_play_fn)(void *context, const struct ssh_host *host,
                            const struct ssh_request *request, struct ssh_play *play);

/* The machines of a simulation. */
struct ssh *ssh_virtual_new(struct loop *loop, ssh_play_fn play, void *context)
    __attribute__((returns_nonnull, warn_unused_result));

/* Copies the request, the host it borrows.  The handle is valid until `done` has returned. */
struct ssh_exec *ssh_run(struct ssh *ssh, const struct ssh_host *host,
                         const struct ssh_request *request, ssh_done_fn done, void *context)
    __attribute__((returns_nonnull));

/* Ends a command's connection without calling `done`; what it does there may go on.  NULL is
   legal. */
void ssh_cancel(struct ssh_exec *exec);

/* Ends all commands without calling `done`.  Not from inside `done`.  NULL is legal. */
void ssh_free(struct ssh *ssh);

static inline void owned_ssh(struct ssh **ssh)
{
    ssh_free(*ssh);
}
