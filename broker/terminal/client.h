/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the commands share: where the service is, one call to it, and how answers are printed.
 */
#pragma once

#include "base/input/options.h"
#include "base/world/http.h"
#include "broker/config/config.h"

#include <jansson.h>
#include <stdbool.h>

/* Reads the configuration that --config (or the search) names; after an error, prints it and
   returns NULL with the exit code. */
struct config *client_config(const struct command_call *call, int *ret_code)
    __attribute__((warn_unused_result));

/* The options of commands that ask the service: where it is, if it is on another machine.  Rows for
   an array of struct command_option. */
/* clang-format off */
#define CLIENT_OPTIONS                                                                             \
    { "server", 0, "URL",                                                                          \
      "ask the service there, over TLS (default: $SLUICE_SERVER; else the socket)", false },       \
    { "ca", 0, "FILE",                                                                             \
      "PEM: who may vouch for the server (default: $SLUICE_CA; else the system's authorities)",    \
      false },                                                                                     \
    { "client-certificate", 0, "FILE",                                                             \
      "PEM: your certificate (default: $SLUICE_CLIENT_CERTIFICATE)", false },                      \
    { "client-key", 0, "FILE", "PEM: its key (default: $SLUICE_CLIENT_KEY)", false },              \
    { "token", 0, "FILE", "your bearer token (default: $SLUICE_TOKEN_FILE)", false },              \
    { "utc", 0, NULL, "show times in UTC, not in the zone of the schedules", false }
/* clang-format on */

/* As client_config(), for a command that has CLIENT_OPTIONS: config->remote says where it asks.
   With --server and no file it is config_remote_only(). */
struct config *client_service(const struct command_call *call, int *ret_code)
    __attribute__((warn_unused_result));

/* One call to the service; body may be NULL.  Waits and asks again when the service
   says that we ask too often.  Returns NULL and an error whose kind
   the service gave, or ERROR_TRANSIENT when it does not run. */
json_t *client_ask(const struct config *config, enum http_method method, const char *path,
                   const json_t *body, struct error *err) __attribute__((warn_unused_result));

/* Prints the error and returns the exit code that its kind means. */
int client_fail(const struct command_call *call, const struct error *err);

/* Whether --output asks for all of the answer as data: as JSON, or as the same in YAML. */
bool client_wants_json(const struct command_call *call);

/* Pretty JSON on standard output, with api_version, or YAML if --output asks for it. */
void client_print_json(const struct command_call *call, const json_t *json);

/* Shows the answer in the form that --output asks for; print makes the table. */
void client_show(const struct command_call *call, const json_t *json,
                 void (*print)(const json_t *json));

/* The same for sentences, whose times it shows in one zone. */
void client_tell(const struct command_call *call, const json_t *json,
                 void (*print)(const json_t *json, struct text *out));

/* {window: text} of the schedule files in a folder; every *.yaml in it is one. */
json_t *client_schedules(const char *folder, struct error *err) __attribute__((warn_unused_result));

/* Whether a person can be asked: on a terminal, without --yes. */
bool client_will_ask(const struct command_call *call);

/* Asks the person, if there is one, to type `word`; true when no person can be asked. */
bool client_confirm(const struct command_call *call, const char *what, const char *word);

/* Adds `until` or `for_s` to a request, from --until TIME or --for DURATION; usual_ms: if neither
   is given (0: one is needed).  -1 and ERROR_INVALID. */
int client_add_until(const struct command_call *call, int64_t usual_ms, json_t *request,
                     struct error *err) __attribute__((warn_unused_result));

/* Does nothing for a while. */
void client_rest(int64_t duration_ms);

/* Milliseconds of a clock that only goes forward. */
int64_t client_now_ms(void);

/* Runs a command that holds secrets: it leaves no core file, and no debugger can attach. */
int client_hide(struct command_call *call, int (*run)(struct command_call *call));
