/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The SSH client on libssh2 and the loop's event base.
 *
 * A command waits for a place, then goes through the steps of `steps`, each of which is called
 * until it is done.  Between two calls it waits for one descriptor.  All steps run in turns of
 * their own, so that `done` never runs inside ssh_run().
 */
#include "base/memory.h"
#include "base/ssh/ssh_places.h"
#include "base/ssh/ssh_talk.h"
#include "base/text.h"
#include "base/world/ssh_keys.h"

#include <errno.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

enum step { CHECK, RESOLVE, CONNECT, JUMP, LOG_IN, TALK, STEP_COUNT };

TAILQ_HEAD(command_list, command);

struct client {
    struct ssh ssh;
    struct loop *loop;
    struct evdns_base *dns; /* NULL until a name is asked for */
    struct timer *start_waiting;
    struct command_list waiting;
    struct command_list running;
    struct ssh_places *places; /* of those that run */
};

struct command {
    struct ssh_exec exec;
    TAILQ_ENTRY(command) links;
    const struct ssh_host *host;
    struct ssh_talk *talk;
    enum ssh_priority priority;
    int64_t timeout_ms;
    ssh_done_fn done;
    void *context;
    bool is_running;
    enum step step;
    struct timer *deadline;
    struct timer *turn; /* the first step, and the one after a name was found */
    struct event *event;
    struct evdns_getaddrinfo_request *question;
    struct evutil_addrinfo *addresses;
    struct evutil_addrinfo *address; /* the one that is tried */
    int name_code;                   /* of the answer for the name: EVUTIL_EAI_... */
    bool is_named;                   /* the answer has come */
    int fd;
    struct ssh_hop *jump;
    struct ssh_hop *hop;
};

const struct error_cause ssh_way = { "the way to the machine" };
const struct error_cause ssh_heard = { "the machine was heard" };

static struct client *client_of(const struct command *command)
{
    return (struct client *)command->exec.ssh;
}

/* ---- those that wait ---- */

static void start_waiting(struct client *client, enum ssh_priority priority)
{
    struct command *next;

    for (struct command *command = TAILQ_FIRST(&client->waiting); command; command = next) {
        next = TAILQ_NEXT(command, links);
        if (command->priority != priority ||
            !ssh_places_take(client->places, command->host, priority))
            continue;
        TAILQ_REMOVE(&client->waiting, command, links);
        TAILQ_INSERT_TAIL(&client->running, command, links);
        command->is_running = true;
        timer_set(command->deadline, command->timeout_ms);
        timer_set(command->turn, 0);
    }
}

static void on_start_waiting(void *context)
{
    for (int priority = 0; priority < SSH_PRIORITY_COUNT; priority++)
        start_waiting(context, (enum ssh_priority)priority);
}

/* ---- the end ---- */

static void drop_event(struct command *command)
{
    if (command->event)
        event_free(steal(&command->event));
}

/* Takes it off its list, and ends its connection. */
static void disconnect(struct command *command)
{
    struct client *client = client_of(command);

    TAILQ_REMOVE(command->is_running ? &client->running : &client->waiting, command, links);
    if (command->is_running)
        ssh_places_leave(client->places, command->host);
    timer_set_sooner(client->start_waiting, 0);
    timer_stop(command->deadline);
    timer_stop(command->turn);
    drop_event(command);
    if (command->question)
        evdns_getaddrinfo_cancel(steal(&command->question));
    if (command->addresses)
        evutil_freeaddrinfo(steal(&command->addresses));
    if (command->hop)
        ssh_hop_leave(command->hop);
    ssh_hop_free(steal(&command->hop));
    ssh_hop_free(steal(&command->jump));
    if (command->fd >= 0)
        close(command->fd);
    command->fd = -1;
}

static void command_free(struct command *command)
{
    timer_free(command->deadline);
    timer_free(command->turn);
    ssh_talk_free(command->talk);
    mem_free(command);
}

/* err NULL: the command has ended there. */
static void finish(struct command *command, struct error *err)
{
    struct ssh_answer answer;

    disconnect(command);
    if (err && err->kind == ERROR_TRANSIENT &&
        command->step < (command->host->jump ? LOG_IN : CONNECT))
        error_because(err, &ssh_way);
    if (!err)
        answer = ssh_talk_answer(command->talk);
    command->done(command->context, err ? NULL : &answer, err);
    command_free(command);
}

/* ---- steps ---- */

static enum ssh_pace check(struct command *command, struct error *err)
{
    for (const struct ssh_host *host = command->host; host; host = host->jump) {
        if (ssh_keys_check(host->host_key, err) < 0) {
            error_context(err, "%s", host->address);
            return SSH_FAILED;
        }
        if (!host->key_file && !host->agent_socket) {
            error_set(err, ERROR_INVALID, "%s: neither a key nor an agent is set", host->address);
            return SSH_FAILED;
        }
    }
    return SSH_DONE;
}

static const struct ssh_host *first_host(const struct command *command)
{
    return command->host->jump ?: command->host;
}

static void on_named(int code, struct evutil_addrinfo *addresses, void *context)
{
    struct command *command = context;

    if (code == EVUTIL_EAI_CANCEL)
        return;
    command->question = NULL;
    command->is_named = true;
    command->name_code = code;
    command->addresses = command->address = addresses;
    timer_set(command->turn, 0);
}

static enum ssh_pace resolve(struct command *command, struct error *err)
{
    struct client *client = client_of(command);
    const struct ssh_host *host = first_host(command);
    const struct evutil_addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    char port[16];

    if (command->is_named && command->name_code == 0)
        return SSH_DONE;
    if (command->is_named) {
        error_set(err, ERROR_TRANSIENT, "%s: no address found: %s", host->address,
                  evutil_gai_strerror(command->name_code));
        return SSH_FAILED;
    }
    if (command->question)
        return SSH_AGAIN;
    if (!client->dns)
        client->dns = evdns_base_new(loop_event_base(client->loop),
                                     EVDNS_BASE_INITIALIZE_NAMESERVERS |
                                         EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    if (!client->dns) {
        error_set(err, ERROR_TRANSIENT, "%s: no name server can be asked", host->address);
        return SSH_FAILED;
    }
    text_print(port, sizeof port, "%d", ssh_host_port(host));
    command->question = evdns_getaddrinfo(client->dns, host->address, port, &hints, on_named,
                                          command);
    return SSH_AGAIN;
}

/* Begins with the next address; false: there are no more, or none can be tried. */
static bool begin_connection(struct command *command)
{
    const struct evutil_addrinfo *address = command->address;
    int yes = 1;

    if (!address)
        return false;
    command->fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (command->fd < 0)
        return false;
    (void)setsockopt(command->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return connect(command->fd, address->ai_addr, address->ai_addrlen) == 0 || errno == EINPROGRESS;
}

/* Other codes are of this machine or its network. */
static bool is_of_the_other_end(int code)
{
    static const int codes[] = { ECONNREFUSED, ECONNRESET, ETIMEDOUT, EHOSTUNREACH, EHOSTDOWN };

    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (codes[i] == code)
            return true;
    return false;
}

static enum ssh_pace connect_socket(struct command *command, struct error *err)
{
    int code = 0;
    socklen_t size = sizeof code;

    if (command->fd < 0) {
        if (begin_connection(command))
            return SSH_AGAIN;
        code = errno;
    } else if (getsockopt(command->fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0) {
        code = errno;
    }
    if (code == 0)
        return SSH_DONE;
    if (command->fd >= 0)
        close(command->fd);
    command->fd = -1;
    command->address = command->address ? command->address->ai_next : NULL;
    if (command->address)
        return connect_socket(command, err);
    errno = code;
    error_errno(err, ERROR_TRANSIENT, "%s:%d: cannot connect", first_host(command)->address,
                ssh_host_port(first_host(command)));
    if (!is_of_the_other_end(code))
        error_because(err, &ssh_way);
    return SSH_FAILED;
}

static enum ssh_pace jump(struct command *command, struct error *err)
{
    enum ssh_pace pace;

    if (!command->host->jump)
        return SSH_DONE;
    if (!command->jump)
        command->jump = ssh_hop_new(command->host->jump, command->fd);
    pace = ssh_hop_step(command->jump, err);
    if (pace == SSH_FAILED)
        error_context(err, "jump host");
    return pace;
}

static enum ssh_pace log_in(struct command *command, struct error *err)
{
    if (!command->hop)
        command->hop = command->jump ? ssh_hop_through(command->host, command->jump)
                                     : ssh_hop_new(command->host, command->fd);
    return ssh_hop_step(command->hop, err);
}

static enum ssh_pace talk(struct command *command, struct error *err)
{
    return ssh_talk_step(command->talk, command->hop, err);
}

/* The steps in their order, and what a command that is late was doing. */
static const struct {
    enum ssh_pace (*run)(struct command *command, struct error *err);
    const char *doing;
} steps[STEP_COUNT] = {
    [CHECK] = { check, "began" },
    [RESOLVE] = { resolve, "asked for its address" },
    [CONNECT] = { connect_socket, "connected" },
    [JUMP] = { jump, "logged in to the jump host" },
    [LOG_IN] = { log_in, "logged in" },
    [TALK] = { talk, "ran the command" },
};

static void on_event(evutil_socket_t fd, short what, void *context);

/* Waits for what the step needs. */
static void await(struct command *command)
{
    const struct ssh_hop *hop = command->step == JUMP ? command->jump : command->hop;
    bool is_sending = true;
    int fd = command->fd;
    short what = EV_WRITE;

    if (command->step == RESOLVE)
        return; /* on_named() goes on */
    if (command->step > CONNECT) {
        fd = ssh_hop_descriptor(hop, &is_sending);
        what = is_sending ? EV_READ | EV_WRITE : EV_READ;
    }
    command->event = event_new(loop_event_base(client_of(command)->loop), fd, what, on_event,
                               command);
    require(command->event && event_add(command->event, NULL) == 0);
}

static void advance(struct command *command)
{
    struct error err = { 0 };
    enum ssh_pace pace;

    while ((pace = steps[command->step].run(command, &err)) == SSH_DONE) {
        if (command->step == TALK) {
            finish(command, NULL);
            return;
        }
        command->step++;
    }
    if (pace != SSH_FAILED) {
        await(command);
        return;
    }
    if (err.kind == ERROR_UNKNOWN_OUTCOME) /* not that of on_deadline() */
        error_because(&err, &ssh_heard);
    finish(command, &err);
}

static void on_event(evutil_socket_t fd, short what, void *context)
{
    struct command *command = context;

    (void)fd;
    (void)what;
    drop_event(command);
    advance(command);
}

static void on_turn(void *context)
{
    advance(context);
}

static void on_deadline(void *context)
{
    struct command *command = context;
    bool is_sent = ssh_talk_is_sent(command->talk);
    struct error err = { 0 };

    error_set(&err, is_sent ? ERROR_UNKNOWN_OUTCOME : ERROR_TRANSIENT,
              "%s:%d: no answer within %.1f s, while it %s", command->host->address,
              ssh_host_port(command->host), (double)command->timeout_ms / SECOND_MS,
              is_sent || command->step < TALK ? steps[command->step].doing : "opened a session");
    finish(command, &err);
}

/* ---- verbs ---- */

static struct ssh_exec *client_run(struct ssh *ssh, const struct ssh_host *host,
                                   const struct ssh_request *request, ssh_done_fn done,
                                   void *context)
{
    struct client *client = (struct client *)ssh;
    struct command *command = mem_new(sizeof *command);

    command->exec.ssh = ssh;
    command->host = host;
    command->talk = ssh_talk_new(request);
    command->priority = request->priority;
    command->timeout_ms = request->timeout_ms;
    command->done = done;
    command->context = context;
    command->fd = -1;
    command->deadline = timer_new(client->loop, on_deadline, command);
    command->turn = timer_new(client->loop, on_turn, command);
    TAILQ_INSERT_TAIL(&client->waiting, command, links);
    timer_set_sooner(client->start_waiting, 0);
    return &command->exec;
}

static void client_cancel(struct ssh_exec *exec)
{
    struct command *command = (struct command *)exec;

    disconnect(command);
    command_free(command);
}

static void client_free(struct ssh *ssh)
{
    struct client *client = (struct client *)ssh;

    while (!TAILQ_EMPTY(&client->waiting))
        client_cancel(&TAILQ_FIRST(&client->waiting)->exec);
    while (!TAILQ_EMPTY(&client->running))
        client_cancel(&TAILQ_FIRST(&client->running)->exec);
    if (client->dns)
        evdns_base_free(client->dns, 0);
    timer_free(client->start_waiting);
    ssh_places_free(client->places);
    mem_free(client);
}

static const struct ssh_verbs verbs = {
    .run = client_run,
    .cancel = client_cancel,
    .free = client_free,
};

struct ssh *ssh_new(struct loop *loop)
{
    struct client *client = mem_new(sizeof *client);

    require(libssh2_init(0) == 0); /* counts, and does nothing the second time */
    client->ssh.verbs = &verbs;
    client->loop = loop;
    client->start_waiting = timer_new(loop, on_start_waiting, client);
    client->places = ssh_places_new();
    TAILQ_INIT(&client->waiting);
    TAILQ_INIT(&client->running);
    return &client->ssh;
}
