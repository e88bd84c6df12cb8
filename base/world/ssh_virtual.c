/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * SSH machines of a simulation.  A command arrives in the turn after ssh_run(), and is answered
 * after the delay that the play function gives.  Nothing bounds how many run at once.
 */
#include "base/memory.h"
#include "base/text.h"
#include "base/world/ssh.h"

#include <string.h>
#include <sys/queue.h>

struct played {
    struct ssh_exec exec;
    TAILQ_ENTRY(played) links;
    const struct ssh_host *host;
    struct ssh_request request; /* with copies of its own */
    char *command;
    struct text *input;
    ssh_done_fn done;
    void *context;
    struct timer *timer;
    struct ssh_play play;
    bool has_arrived;
    bool is_late; /* the timeout comes before the answer */
};

struct ssh_virtual {
    struct ssh ssh;
    struct loop *loop;
    ssh_play_fn play;
    void *context;
    TAILQ_HEAD(, played) commands;
};

static struct ssh_virtual *client_of(struct played *played)
{
    return (struct ssh_virtual *)played->exec.ssh;
}

static void wipe(struct text *text)
{
    explicit_bzero(text->chars, text->length);
    text_free(text);
}

static void played_free(struct played *played)
{
    TAILQ_REMOVE(&client_of(played)->commands, played, links);
    timer_free(played->timer);
    wipe(played->input);
    wipe(played->play.output);
    text_free(played->play.errors);
    mem_free(played->command);
    mem_free(played);
}

static void arrive(struct played *played)
{
    struct ssh_virtual *client = client_of(played);
    struct ssh_play *play = &played->play;

    client->play(client->context, played->host, &played->request, play);
    played->has_arrived = true;
    if (play->failure.kind == ERROR_NONE && play->output->length > played->request.output_limit)
        error_set(&play->failure, ERROR_UNKNOWN_OUTCOME, "%s: the command prints too much",
                  played->host->address);
    played->is_late = play->delay_ms >= played->request.timeout_ms;
    timer_set(played->timer, played->is_late ? played->request.timeout_ms : play->delay_ms);
}

static void answer(struct played *played)
{
    struct ssh_play *play = &played->play;
    const struct ssh_answer answer = {
        .exit_status = play->signal ? -1 : play->exit_status,
        .signal = play->signal,
        .output = play->output->chars,
        .output_length = play->output->length,
        .errors = play->errors->chars,
    };
    const struct error *failure = play->failure.kind == ERROR_NONE ? NULL : &play->failure;

    played->done(played->context, failure ? NULL : &answer, failure);
}

static void on_timer(void *context)
{
    struct played *played = context;

    if (!played->has_arrived) {
        arrive(played);
        return;
    }
    if (played->is_late) /* a connection that never came about is late, too */
        error_set(&played->play.failure,
                  played->play.failure.kind == ERROR_TRANSIENT ? ERROR_TRANSIENT
                                                               : ERROR_UNKNOWN_OUTCOME,
                  "%s: no answer in time", played->host->address);
    answer(played);
    played_free(played);
}

static struct ssh_exec *virtual_run(struct ssh *ssh, const struct ssh_host *host,
                                    const struct ssh_request *request, ssh_done_fn done,
                                    void *context)
{
    struct ssh_virtual *client = (struct ssh_virtual *)ssh;
    struct played *played = mem_new(sizeof *played);

    played->exec.ssh = ssh;
    played->host = host;
    played->command = mem_copy_chars(request->command);
    played->input = text_new(SSH_INPUT_LIMIT);
    text_add_bytes(played->input, request->input, request->input_length);
    played->request = *request;
    played->request.command = played->command;
    played->request.input = request->input ? played->input->chars : NULL;
    played->done = done;
    played->context = context;
    played->play.output = text_new(TEXT_UNBOUNDED);
    played->play.errors = text_new(SSH_ERRORS_LIMIT);
    played->timer = timer_new(client->loop, on_timer, played);
    timer_set(played->timer, 0);
    TAILQ_INSERT_TAIL(&client->commands, played, links);
    return &played->exec;
}

static void virtual_cancel(struct ssh_exec *exec)
{
    played_free((struct played *)exec);
}

static void virtual_free(struct ssh *ssh)
{
    struct ssh_virtual *client = (struct ssh_virtual *)ssh;

    while (!TAILQ_EMPTY(&client->commands))
        played_free(TAILQ_FIRST(&client->commands));
    mem_free(client);
}

static const struct ssh_verbs verbs = {
    .run = virtual_run,
    .cancel = virtual_cancel,
    .free = virtual_free,
};

struct ssh *ssh_virtual_new(struct loop *loop, ssh_play_fn play, void *context)
{
    struct ssh_virtual *client = mem_new(sizeof *client);

    client->ssh.verbs = &verbs;
    client->loop = loop;
    client->play = play;
    client->context = context;
    TAILQ_INIT(&client->commands);
    return &client->ssh;
}
