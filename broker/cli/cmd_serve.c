/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice serve: the service on the real world.
 */
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/world/http_server.h"
#include "base/world/supervisor.h"
#include "base/world/world.h"
#include "broker/api/api.h"
#include "broker/journal/journal.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <unistd.h>

const struct command_option serve_options[] = {
    { "log-level", 0, "LEVEL", "debug, info, warn, error (default info)", false },
    { "log-json", 0, NULL, "log as JSON lines", false },
    { 0 },
};

/* The parts of the service, in the order of construction. */
struct stack {
    struct config *config;
    struct world world;
    struct random random;
    struct http_server *server;
    struct service *service;
    struct access *access;
    struct api *api;
    struct supervisor *supervisor;
    int lock;
    bool is_broken; /* no service could be made */
};

static void close_service(struct stack *stack)
{
    http_server_free(steal(&stack->server)); /* first: its calls ask the service */
    service_close(steal(&stack->service));
    api_free(steal(&stack->api));
    access_free(steal(&stack->access));
}

static void close_stack(struct stack *stack)
{
    supervisor_free(stack->supervisor);
    close_service(stack);
    journal_close(stack->world.journal);
    http_free(stack->world.http);
    loop_free(stack->world.loop);
    config_free(stack->config);
    if (stack->lock >= 0)
        close(stack->lock);
}

/* One broker per journal: a second one is refused before it touches anything. */
static int lock_journal(struct stack *stack, const struct config *config, struct error *err)
{
    owned(chars) char *path = text_format("%s.lock", config->journal);

    if (text_equal(config->journal, ":memory:"))
        return 0;
    stack->lock = file_lock(path, err);
    if (stack->lock >= 0)
        return 0;
    return err->kind == ERROR_CONFLICT
               ? error_context(err, "another sluice serves this journal")
               : error_context(err, "the journal's folder must exist and be writable");
}

static void warn_of_file(void *context, const char *path, const char *text)
{
    (void)context;
    log_warn("file_may_be_changed", FIELD_TEXT("file", path), FIELD_TEXT("text", text));
}

/* Port 0 means none here. */
static int listen_for_metrics(struct stack *stack, const struct config *config, struct error *err)
{
    int port = (int)config->metrics_port;

    if (port == 0 || http_server_listen_loopback(stack->server, port, &port, err) == 0)
        return 0;
    return error_context(err, "metrics_port %d", port);
}

/* The socket's group may open it. */
static int give_socket(const struct config *config, struct error *err)
{
    gid_t group;

    if (!config->socket_group)
        return 0;
    if (access_find_group(config->socket_group, &group, err) < 0)
        return error_context(err, "socket_group");
    if (chown(config->socket, (uid_t)-1, group) < 0)
        return error_errno(err, ERROR_DENIED,
                           "cannot give %s to the group %s: the service's user must be its member",
                           config->socket, config->socket_group);
    return 0;
}

static int open_service(struct stack *stack, const struct config *config, struct error *err)
{
    stack->service = service_open(&stack->world, config, err);
    if (!stack->service)
        return -1;
    stack->access = access_new(config->access, config->access_count, err);
    if (!stack->access)
        return -1;
    stack->api = api_new(stack->service, stack->access, stack->world.loop);
    stack->server = http_server_new(stack->world.loop, api_handle, stack->api);
    if (http_server_listen_unix(stack->server, config->socket, 0660, err) < 0 ||
        give_socket(config, err) < 0)
        return -1;
    return listen_for_metrics(stack, config, err);
}

static int build(struct stack *stack, const struct config *config, struct error *err)
{
    struct world *world = &stack->world;

    if (config_check_files(config, warn_of_file, NULL, err) < 0)
        return -1;
    if (lock_journal(stack, config, err) < 0)
        return -1;
    random_seed_system(&stack->random);
    world->random = &stack->random;
    world->loop = loop_libevent_new(err);
    if (!world->loop)
        return -1;
    world->http = http_curl_new(world->loop, NULL, err);
    if (!world->http)
        return -1;
    world->journal = journal_sqlite_open(config->journal, err);
    if (!world->journal)
        return error_context(err, "journal %s", config->journal);
    if (journal_write_by_thread(world->journal, world->loop, err) < 0)
        return error_context(err, "journal %s", config->journal);
    return open_service(stack, config, err);
}

/* The service is crash-safe, so reading the configuration again is a restart within the process:
   the same journal, the same lock, and open calls are closed. */
static void reload(void *context)
{
    struct stack *stack = context;
    struct error err = { 0 };
    struct error worse = { 0 };
    owned(config) struct config *next = config_read(stack->config->path, &err);
    bool is_taken = next && config_check_files(next, warn_of_file, NULL, &err) == 0 &&
                    service_may_become(stack->service, next, &err) == 0;

    if (!is_taken) {
        service_note_reload(stack->service, &err);
        return;
    }
    close_service(stack);
    is_taken = open_service(stack, next, &err) == 0;
    if (!is_taken) {
        close_service(stack);
        if (open_service(stack, stack->config, &worse) < 0) {
            log_error("reload_failed", FIELD_TEXT("text", err.text),
                      FIELD_TEXT("before", worse.text));
            stack->is_broken = true;
            loop_stop(stack->world.loop);
            return;
        }
    } else {
        config_free(stack->config);
        stack->config = steal(&next);
    }
    service_note_reload(stack->service, is_taken ? NULL : &err);
    service_start(stack->service);
}

static void stop(void *context)
{
    struct stack *stack = context;

    log_info("stopping", FIELD_TEXT("text", "asked to"));
    supervisor_tell(stack->supervisor, "STOPPING=1");
    loop_stop(stack->world.loop);
}

static int set_log(struct command_call *call)
{
    enum log_level level = LOG_INFO;

    if (call_text(call, "log-level") && !log_level_parse(call_text(call, "log-level"), &level))
        return call_usage_error(call, "--log-level: %s is not a level",
                                call_text(call, "log-level"));
    log_setup(level, call_flag(call, "log-json") ? LOG_FORM_JSON : LOG_FORM_TEXT);
    return EXIT_DONE;
}

static int serve(struct command_call *call)
{
    int code = set_log(call);
    struct config *config = code == EXIT_DONE ? client_config(call, &code) : NULL;
    struct stack stack = { .config = config, .lock = -1 };
    struct error err = { 0 };

    if (!config)
        return code;
    if (build(&stack, config, &err) < 0) {
        code = call_fail(call, err.kind == ERROR_CONFLICT ? EXIT_TRY_AGAIN : EXIT_ERROR, &err);
        close_stack(&stack);
        return code;
    }
    stack.supervisor = supervisor_new(stack.world.loop);
    loop_on_terminate(stack.world.loop, stop, &stack);
    loop_on_hangup(stack.world.loop, reload, &stack);
    log_info("serving", FIELD_TEXT("socket", config->socket), FIELD_TEXT("config", config->path),
             FIELD_TEXT("version", SLUICE_VERSION));
    service_start(stack.service);
    supervisor_tell(stack.supervisor, "READY=1");
    loop_run(stack.world.loop);
    code = stack.is_broken || service_is_broken(stack.service) ? EXIT_ERROR : EXIT_DONE;
    close_stack(&stack);
    return code;
}

int cmd_serve(struct command_call *call)
{
    return client_hide(call, serve);
}
