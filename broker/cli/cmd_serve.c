/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice serve: the service on the real world.
 */
#include "base/file.h"
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/world/supervisor.h"
#include "base/world/world.h"
#include "broker/access/names.h"
#include "broker/api/doors.h"
#include "broker/doctor/rounds.h"
#include "broker/journal/journal.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An answer takes less on its way; it would be lost with the doors. */
enum { ANSWER_MS = 250 };

/* The doctor's own way out: a request of a step must not wait behind its. */
static const struct http_limits doctor_limits = { .in_flight = 16, .in_flight_per_host = 4 };

/* A reload asks for groups, and reads records: longer than this only hangs. */
enum { RELOAD_PATIENCE_MS = 10 * MINUTE_MS };

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
    struct service *service;
    struct world doctor_world; /* the same loop and SSH, another HTTP client, no journal */
    struct rounds *rounds;
    struct doors *doors;
    struct supervisor *supervisor;
    struct timer *timer; /* ends when the answer to `sluice reload` has gone out */
    struct reload {
        struct config *next; /* checked, and used when the timer ends; NULL: none */
        char *by;
    } reload;
    int lock;
    bool is_broken; /* no service could be made */
};

static void reload_clear(struct reload *reload)
{
    config_free(steal(&reload->next));
    mem_free(steal(&reload->by));
}

static void close_service(struct stack *stack)
{
    doors_close(stack->doors); /* first: its calls ask the service */
    rounds_free(steal(&stack->rounds));
    service_close(steal(&stack->service));
}

static void close_stack(struct stack *stack)
{
    supervisor_free(stack->supervisor);
    close_service(stack);
    doors_free(stack->doors);
    timer_free(stack->timer);
    reload_clear(&stack->reload);
    journal_close(stack->world.journal);
    http_free(stack->doctor_world.http);
    http_free(stack->world.http);
    ssh_free(stack->world.ssh);
    loop_free(stack->world.loop);
    config_free(stack->config);
    if (stack->lock >= 0)
        close(stack->lock);
}

/* As root the service would leave a lock and a journal that the unit's user cannot write. */
static int check_user(const struct config *config, struct error *err)
{
    const char *slash = strrchr(config->journal, '/');
    owned(chars) char *folder = slash ? text_format("%.*s/", (int)(slash - config->journal),
                                                    config->journal)
                                      : mem_copy_chars(".");
    const char *const paths[] = { config->journal, folder };
    owned(names) struct names *names = names_new();
    struct stat status;
    char user[64];

    if (geteuid() != 0 || text_equal(config->journal, ":memory:"))
        return 0;
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        if (stat(paths[i], &status) < 0 || status.st_uid == 0)
            continue;
        names_user(names, status.st_uid, (struct wall_time){ 0 }, user, sizeof user);
        return error_set(err, ERROR_DENIED,
                         "%s belongs to user %s, and you are root: what root writes there, that "
                         "user's service cannot open. Run this as that user (sudo -u %s), or start "
                         "its unit (systemctl start sluice)",
                         paths[i], user, user);
    }
    return 0;
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

static json_t *ask_reload(void *context, const char *by, bool is_dry_run, struct error *err);
static void on_answered(void *context);

static void open_rounds(struct stack *stack, const struct config *config)
{
    stack->rounds = rounds_new(&stack->doctor_world, config);
    service_set_face(stack->service, FACE_ROUNDS,
                     &(struct service_face){ .look = rounds_look, .context = stack->rounds });
}

static int open_service(struct stack *stack, const struct config *config, struct doors *doors,
                        struct error *err)
{
    stack->service = service_open(&stack->world, config, err);
    if (stack->service) {
        service_on_reload(stack->service, ask_reload, stack);
        open_rounds(stack, config);
    }
    return stack->service ? doors_open(doors, &stack->world, stack->service, err) : -1;
}

static int build(struct stack *stack, const struct config *config, struct error *err)
{
    struct world *world = &stack->world;

    if (check_user(config, err) < 0 || config_check_files(config, warn_of_file, NULL, err) < 0)
        return -1;
    stack->doors = doors_new(config);
    if (lock_journal(stack, config, err) < 0)
        return -1;
    random_seed_system(&stack->random);
    world->random = &stack->random;
    world->loop = loop_libevent_new(err);
    if (!world->loop)
        return -1;
    stack->timer = timer_new(world->loop, on_answered, stack);
    world->http = http_curl_new(world->loop, NULL, err);
    world->ssh = ssh_new(world->loop);
    stack->doctor_world = *world;
    stack->doctor_world.http = http_curl_new(world->loop, &doctor_limits, err);
    if (!world->http || !stack->doctor_world.http)
        return -1;
    world->journal = journal_sqlite_open(config->journal, err);
    if (!world->journal)
        return error_context(err, "journal %s", config->journal);
    if (journal_write_by_thread(world->journal, world->loop, err) < 0)
        return error_context(err, "journal %s", config->journal);
    return open_service(stack, config, stack->doors, err);
}

/* Everything of a new configuration that can be known while the service runs. */
static bool may_become(const struct stack *stack, const struct config *next,
                       struct doors **ret_doors, struct error *err)
{
    /* Groups are asked for here, and a directory server may take its time for each. */
    supervisor_ask_patience(stack->supervisor, RELOAD_PATIENCE_MS);
    if (!next || config_check_files(next, warn_of_file, NULL, err) < 0 ||
        service_may_become(stack->service, next, err) < 0)
        return false;
    *ret_doors = doors_new(next);
    return doors_lose(stack->doors, *ret_doors, err) == 0;
}

/* Tries the new configuration, and goes back to the old one if it cannot be opened.  Takes both
   when they are used.  False: neither could be opened. */
static bool change(struct stack *stack, struct config **next, struct doors **doors,
                   struct error *err)
{
    struct error worse = { 0 };

    close_service(stack);
    doors_inherit(*doors, stack->doors);
    if (open_service(stack, *next, *doors, err) == 0 &&
        doors_lose(stack->doors, *doors, err) == 0) {
        doors_free(stack->doors);
        config_free(stack->config);
        stack->doors = steal(doors);
        stack->config = steal(next);
        return true;
    }
    doors_close(*doors);
    close_service(stack);
    doors_inherit(stack->doors, *doors);
    if (open_service(stack, stack->config, stack->doors, &worse) == 0)
        return true;
    log_error("reload_failed", FIELD_TEXT("text", err->text), FIELD_TEXT("before", worse.text));
    return false;
}

/* The service is crash-safe, so reading the configuration again is a restart within the process:
   the same journal, the same lock, and open calls are closed.  next: NULL with the reason. */
static void reload(struct stack *stack, struct config *next, const char *by, struct error *err)
{
    owned(config) struct config *tried = next;
    owned(doors) struct doors *doors = NULL;
    owned(json) json_t *changes = next ? config_changes(stack->config, next) : NULL;
    struct reload_note note = { by, changes, err };

    if (!may_become(stack, tried, &doors, err)) {
        supervisor_ask_patience(stack->supervisor, 0);
        service_note_reload(stack->service, &note);
        return;
    }
    if (!change(stack, &tried, &doors, err)) {
        stack->is_broken = true;
        loop_stop(stack->world.loop);
        return;
    }
    supervisor_ask_patience(stack->supervisor, 0);
    note.refusal = tried ? err : NULL;
    service_note_reload(stack->service, &note);
    service_start(stack->service);
}

static void on_hangup(void *context)
{
    struct stack *stack = context;
    struct error err = { 0 };

    reload_clear(&stack->reload);
    reload(stack, config_read(stack->config->path, &err), NULL, &err);
}

static void on_answered(void *context)
{
    struct stack *stack = context;
    owned(chars) char *by = steal(&stack->reload.by);
    struct error err = { 0 };

    if (stack->reload.next)
        reload(stack, steal(&stack->reload.next), by, &err);
}

/* The commits so far are on the disk, and the answer goes out next. */
static void on_kept(void *context, enum journal_fate fate)
{
    struct stack *stack = context;

    if (fate == JOURNAL_KEPT)
        timer_set(stack->timer, ANSWER_MS);
}

static json_t *ask_reload(void *context, const char *by, bool is_dry_run, struct error *err)
{
    struct stack *stack = context;
    owned(config) struct config *next = config_read(stack->config->path, err);
    owned(doors) struct doors *doors = NULL;
    owned(json) json_t *answer = json_make("{ss}", "kind", "reload");
    json_t *unplanned;
    bool may = may_become(stack, next, &doors, err);

    supervisor_ask_patience(stack->supervisor, 0);
    if (!may) {
        if (!is_dry_run)
            service_note_reload(stack->service, &(struct reload_note){ by, NULL, err });
        return NULL;
    }
    json_object_set_new(answer, "changes", config_changes(stack->config, next));
    if (is_dry_run) {
        unplanned = service_unplanned_with(stack->service, next, err);
        if (!unplanned)
            return NULL;
        json_object_set_new(answer, "unplanned", unplanned);
    } else {
        reload_clear(&stack->reload);
        stack->reload = (struct reload){ steal(&next), mem_copy_chars(by) };
        service_after(stack->service, on_kept, stack);
    }
    return steal(&answer);
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
    file_allow_many();
    if (build(&stack, config, &err) < 0) {
        code = call_fail(call, err.kind == ERROR_CONFLICT ? EXIT_TRY_AGAIN : EXIT_ERROR, &err);
        close_stack(&stack);
        return code;
    }
    stack.supervisor = supervisor_new(stack.world.loop);
    loop_on_terminate(stack.world.loop, stop, &stack);
    loop_on_hangup(stack.world.loop, on_hangup, &stack);
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
