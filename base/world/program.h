/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs one program beside the loop and keeps what it prints.  No shell, no terminal: its input is
 * /dev/null, its error output is dropped (it may hold secrets), no other descriptor of ours is open
 * in it.  It has a process group of its own, which is killed when the time is over.  A program is
 * not run if users other than root and our own may change it: the file, and each folder above it,
 * are checked before each start.  Because no other user may change them, they cannot be exchanged
 * after the check.
 */
#pragma once

#include "base/error.h"
#include "base/world/loop.h"

#include <stddef.h>
#include <stdint.h>

struct program;

struct program_request {
    const char *const *arguments;   /* [0] is the absolute path; the last is NULL */
    const char *const *environment; /* "KEY=value", the last is NULL: all that it gets */
    int64_t timeout_ms;
    size_t output_limit; /* bytes; more is an error */
};

/* Exactly one of output and err is not NULL; output is valid during the call and wiped after. */
typedef void (*program_done_fn)(void *context, const char *output, const struct error *err);

/* `done` is called once, in a later turn: also when the program cannot be started.  ERROR_INVALID:
   it is not there, may not be run, or others may change it; ERROR_TRANSIENT: it failed, took too
   long, printed too much. On a virtual loop nothing can be run: ERROR_INVALID. */
struct program *program_start(struct loop *loop, const struct program_request *request,
                              program_done_fn done, void *context) __attribute__((returns_nonnull));

/* Kills it without calling `done`; NULL is legal. */
void program_cancel(struct program *program);
