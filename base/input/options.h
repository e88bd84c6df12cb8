/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The command line as a static tree, for parsing and help.  Options may come before or after
 * arguments: `--name value`, `--name=value`, `-n value`; `--` ends them.  After a mistake the
 * program prints the mistake, the nearest name and the command for help, and exits with 64.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum exit_code {
    EXIT_DONE = 0, /* done, or nothing to do */
    EXIT_ERROR = 1,
    EXIT_DIFFERENT = 2,  /* differences, or a degraded state */
    EXIT_REFUSED = 3,    /* by policy: freeze, floor, budget, stale plan */
    EXIT_INFEASIBLE = 4, /* targets cannot be met within the reservation */
    EXIT_PARTIAL = 5,    /* started, not finished in time */
    EXIT_USAGE = 64,
    EXIT_TRY_AGAIN = 75,   /* a lock is held */
    EXIT_NOT_ALLOWED = 77, /* by the person's role, or by the permissions of the socket */
    EXIT_INTERRUPTED = 130,
};

/* The meaning of each exit code; the last row has no meaning. */
struct exit_meaning {
    enum exit_code code;
    const char *meaning; /* a sentence */
};
extern const struct exit_meaning exit_meanings[];

enum command_mode { COMMAND_READS, COMMAND_WRITES };

struct command_option {
    const char *name;     /* without the dashes */
    char letter;          /* 0: none */
    const char *argument; /* what stands in for the value in the help; "this|that": the value is one
                             of these; "[=this|that]": --name alone is legal too, and its value
                             is ""; NULL: a flag */
    const char *help;
    bool may_repeat;
};

struct command_call;

/* The parts of a command's help beside its usage and options. */
struct command_help {
    const char *summary;  /* one line, no full stop */
    const char *text;     /* prose, ends with a newline; NULL or "": none */
    const char *examples; /* lines; NULL or "": none */
};

/* A word of other programs, and the command that does it here. */
struct command_synonym {
    const char *word;
    const char *command;
};

struct command {
    const char *name;
    const char *arguments; /* for the usage line: "[CLUSTER]", ""; NULL as "" */
    int argument_min;
    int argument_max; /* -1: any number */
    enum command_mode mode;
    const struct command_option *options;   /* ends with an empty entry; NULL: none */
    const struct command_help *help;        /* never NULL */
    int (*run)(struct command_call *call);  /* returns an exit code */
    const struct command *children;         /* ends with an empty entry; NULL: none */
    const struct command_synonym *synonyms; /* of children; ends with an empty entry; NULL: none */
};

/* Parses, runs and returns the exit code.  `common` are options that every command takes (ends
   with an empty entry).  --help, `help COMMAND` and `help exit-codes` are built in, and --version
   where there is a command of that name. */
int command_main(const struct command *root, const struct command_option *common, int argc,
                 char **argv);

/* What was given.  The strings are argv's. */
const char *call_text(const struct command_call *call, const char *option); /* NULL: not given */
const char *call_text_or(const struct command_call *call, const char *option,
                         const char *otherwise);
bool call_flag(const struct command_call *call, const char *option);
size_t call_repeat(const struct command_call *call, const char *option);
const char *call_text_at(const struct command_call *call, const char *option, size_t at);
size_t call_argument_count(const struct command_call *call);
const char *call_argument(const struct command_call *call, size_t at); /* NULL: not given */
const struct command *call_command(const struct command_call *call);

/* The valid range of an option's value, both ends included. */
struct int_range {
    int64_t min, max;
};
struct double_range {
    double min, max;
};

/* Typed options: leave *ret untouched when not given; an error names the option. */
int call_int(const struct command_call *call, const char *option, struct int_range range,
             int64_t *ret, struct error *err) __attribute__((warn_unused_result));
int call_double(const struct command_call *call, const char *option, struct double_range range,
                double *ret, struct error *err) __attribute__((warn_unused_result));
int call_duration(const struct command_call *call, const char *option, int64_t *ret_ms,
                  struct error *err) __attribute__((warn_unused_result));

/* Prints "sluice COMMAND: sentence" on standard error and returns code. */
int call_fail(const struct command_call *call, int code, const struct error *err);
int call_usage_error(const struct command_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The help of one command as text, as --help prints it. */
void command_help(const struct command *root, const struct command *command,
                  const struct command_option *common, struct text *out);
