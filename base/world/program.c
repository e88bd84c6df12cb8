/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The end of a program is seen through a pidfd, not through its closing the pipe: it may hand the
 * pipe to a child that lives on, or close it and hang.
 */
#include "base/world/program.h"

#include "base/text.h"
#include "base/trust.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct program {
    char *path;
    program_done_fn done;
    void *context;
    struct timer *timer; /* at first for a start that failed, then for the time limit */
    struct event *readable;
    struct event *ended;
    int output;
    int pid_descriptor;
    pid_t pid; /* 0: none */
    size_t output_limit;
    struct text *text;
    struct error failure;
};

static void close_descriptor(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

static void program_free(struct program *program)
{
    if (program->readable)
        event_free(program->readable);
    if (program->ended)
        event_free(program->ended);
    timer_free(program->timer);
    close_descriptor(&program->output);
    close_descriptor(&program->pid_descriptor);
    explicit_bzero(program->text->chars, program->text->length);
    text_free(program->text);
    mem_free(program->path);
    mem_free(program);
}

/* Kills the whole process group, and collects its leader. */
static int reap(struct program *program)
{
    int status = 0;

    kill(-program->pid, SIGKILL);
    while (waitpid(program->pid, &status, 0) < 0 && errno == EINTR)
        ;
    program->pid = 0;
    return status;
}

static void finish(struct program *program)
{
    program_done_fn done = program->done;
    void *context = program->context;

    if (program->failure.kind != ERROR_NONE)
        done(context, NULL, &program->failure);
    else
        done(context, program->text->chars, NULL);
    program_free(program);
}

static void fail(struct program *program, const char *what)
{
    if (program->failure.kind == ERROR_NONE)
        error_set(&program->failure, ERROR_TRANSIENT, "program %s %s", program->path, what);
}

static void read_output(struct program *program)
{
    char piece[4096];
    ssize_t size;

    while ((size = read(program->output, piece, sizeof piece)) > 0) {
        if (program->text->length + (size_t)size > program->output_limit) {
            fail(program, "prints too much");
            kill(-program->pid, SIGKILL);
            break;
        }
        text_add_bytes(program->text, piece, (size_t)size);
    }
    explicit_bzero(piece, sizeof piece);
    if (size == 0) /* it closed the pipe; its end is still to come */
        event_del(program->readable);
}

static void on_readable(evutil_socket_t descriptor, short events, void *context)
{
    (void)descriptor;
    (void)events;
    read_output(context);
}

static void on_ended(evutil_socket_t descriptor, short events, void *context)
{
    struct program *program = context;
    int status;

    (void)descriptor;
    (void)events;
    read_output(program);
    status = reap(program);
    if (WIFSIGNALED(status))
        fail(program, "was killed");
    else if (WEXITSTATUS(status) != 0)
        fail(program, "failed: run it by hand to see why");
    finish(program);
}

static void on_timer(void *context)
{
    struct program *program = context;

    if (program->pid == 0) {
        finish(program);
        return;
    }
    fail(program, "takes too long");
    kill(-program->pid, SIGKILL); /* on_ended() follows */
}

static int spawn(struct program *program, const struct program_request *request, int output)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int code;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    code = posix_spawn(&program->pid, request->arguments[0], &actions, &attributes,
                       (char *const *)(uintptr_t)request->arguments,
                       (char *const *)(uintptr_t)request->environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (code != 0)
        program->pid = 0;
    return code;
}

static int begin(struct program *program, struct loop *loop, const struct program_request *request)
{
    struct event_base *base = loop_event_base(loop);
    int ends[2];
    int code;

    if (!base)
        return error_set(&program->failure, ERROR_INVALID,
                         "program %s cannot be run in virtual time", program->path);
    if (trust_program(program->path, &program->failure) < 0) {
        program->failure.kind = ERROR_INVALID;
        return -1;
    }
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_errno(&program->failure, ERROR_TRANSIENT, "pipe");
    program->output = ends[0];
    if (fcntl(program->output, F_SETFL, O_NONBLOCK) < 0)
        fail(program, "has no pipe");
    code = spawn(program, request, ends[1]);
    close(ends[1]);
    if (code != 0)
        return error_set(&program->failure, ERROR_INVALID, "program %s cannot be run: %s",
                         program->path, strerrordesc_np(code));
    program->pid_descriptor = pidfd_open(program->pid, 0);
    if (program->pid_descriptor < 0) {
        error_errno(&program->failure, ERROR_TRANSIENT, "program %s", program->path);
        reap(program);
        return -1;
    }
    program->readable = event_new(base, program->output, EV_READ | EV_PERSIST, on_readable,
                                  program);
    program->ended = event_new(base, program->pid_descriptor, EV_READ, on_ended, program);
    require(program->readable && program->ended);
    event_add(program->readable, NULL);
    event_add(program->ended, NULL);
    return 0;
}

struct program *program_start(struct loop *loop, const struct program_request *request,
                              program_done_fn done, void *context)
{
    struct program *program = mem_new(sizeof *program);

    program->path = mem_copy_chars(request->arguments[0]);
    program->done = done;
    program->context = context;
    program->output = -1;
    program->pid_descriptor = -1;
    program->output_limit = request->output_limit;
    program->text = text_new(request->output_limit + 1);
    program->timer = timer_new(loop, on_timer, program);
    timer_set(program->timer, begin(program, loop, request) < 0 ? 0 : request->timeout_ms);
    return program;
}

void program_cancel(struct program *program)
{
    if (!program)
        return;
    if (program->pid > 0)
        reap(program);
    program_free(program);
}
