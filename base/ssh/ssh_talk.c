/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Input, output and errors take turns, so that none waits for another.  With a direction that has
 * sent a part of a packet the next step goes on: libssh2 refuses the others until then.
 *
 * libssh2 does not tell exit status 0 from none.  So only a channel that the other side closed in
 * order counts as an end; OpenSSH sends the status before it closes one.
 */
#include "base/ssh/ssh_talk.h"

#include "base/memory.h"

#include <string.h>

enum { PART_SIZE = 32 * 1024, ERRORS_MOST = 4 * 1024 * 1024 };

enum phase { OPEN, ASK, TALK, END };
enum direction { INPUT, OUTPUT, ERRORS, DIRECTION_COUNT };

struct ssh_talk {
    LIBSSH2_CHANNEL *channel;
    enum phase phase;
    enum direction next; /* to be moved */
    bool is_sent;
    char *command;
    struct text *input;
    size_t input_sent;
    bool is_input_over;
    size_t output_limit;
    size_t errors_seen;
    struct text *output;
    struct text *errors;
    int exit_status;
    char *signal;
};

struct ssh_talk *ssh_talk_new(const struct ssh_request *request)
{
    struct ssh_talk *talk = mem_new(sizeof *talk);

    talk->command = mem_copy_chars(request->command);
    talk->input = text_new(SSH_INPUT_LIMIT);
    text_add_bytes(talk->input, request->input, request->input_length);
    talk->output_limit = request->output_limit;
    talk->output = text_new(request->output_limit);
    talk->errors = text_new(SSH_ERRORS_LIMIT + PART_SIZE);
    return talk;
}

static void wipe(struct text *text)
{
    explicit_bzero(text->chars, text->size);
    text_reset(text);
}

void ssh_talk_free(struct ssh_talk *talk)
{
    if (!talk)
        return;
    wipe(talk->input);
    wipe(talk->output);
    text_free(talk->input);
    text_free(talk->output);
    text_free(talk->errors);
    mem_free(talk->signal);
    mem_free(talk->command);
    mem_free(talk);
}

bool ssh_talk_is_sent(const struct ssh_talk *talk)
{
    return talk->is_sent;
}

static enum ssh_pace fail(struct ssh_talk *talk, struct ssh_hop *hop, const char *what,
                          struct error *err)
{
    ssh_hop_fail(hop, talk->is_sent ? ERROR_UNKNOWN_OUTCOME : ERROR_TRANSIENT, what, err);
    return SSH_FAILED;
}

static enum ssh_pace open_channel(struct ssh_talk *talk, struct ssh_hop *hop, struct error *err)
{
    LIBSSH2_SESSION *session = ssh_hop_session(hop);

    talk->channel = libssh2_channel_open_session(session);
    if (talk->channel) {
        talk->phase = ASK;
        return SSH_DONE;
    }
    if (libssh2_session_last_errno(session) == LIBSSH2_ERROR_EAGAIN)
        return SSH_AGAIN;
    return fail(talk, hop, "the machine opens no session", err);
}

static enum ssh_pace ask(struct ssh_talk *talk, struct ssh_hop *hop, struct error *err)
{
    int code;

    talk->is_sent = true;
    code = libssh2_channel_exec(talk->channel, talk->command);
    if (code == LIBSSH2_ERROR_EAGAIN)
        return SSH_AGAIN;
    if (code == LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED) {
        ssh_hop_fail(hop, ERROR_DENIED, "the machine runs no commands for this user", err);
        return SSH_FAILED;
    }
    if (code != 0)
        return fail(talk, hop, "the connection ended when the command was sent", err);
    talk->phase = TALK;
    return SSH_DONE;
}

/* SSH_DONE: all was sent, or the command is over. */
static enum ssh_pace push_input(struct ssh_talk *talk)
{
    while (talk->input_sent < talk->input->length && !libssh2_channel_eof(talk->channel)) {
        ssize_t sent = libssh2_channel_write(talk->channel, talk->input->chars + talk->input_sent,
                                             talk->input->length - talk->input_sent);

        if (sent == LIBSSH2_ERROR_EAGAIN || sent == 0)
            return SSH_AGAIN;
        if (sent < 0)
            return SSH_FAILED;
        talk->input_sent += (size_t)sent;
    }
    if (!talk->is_input_over) {
        int code = libssh2_channel_send_eof(talk->channel);

        if (code == LIBSSH2_ERROR_EAGAIN)
            return SSH_AGAIN;
        if (code != 0)
            return SSH_FAILED;
        talk->is_input_over = true;
        wipe(talk->input);
        talk->input_sent = 0;
    }
    return SSH_DONE;
}

static void keep_errors(struct ssh_talk *talk, const char *bytes, size_t size)
{
    text_add_bytes(talk->errors, bytes, size);
    talk->errors_seen += size;
    if (talk->errors->length > SSH_ERRORS_LIMIT)
        text_drop(talk->errors, talk->errors->length - SSH_ERRORS_LIMIT);
}

/* SSH_DONE: the other side has ended it. */
static enum ssh_pace pull(struct ssh_talk *talk, bool is_errors)
{
    char part[PART_SIZE];
    ssize_t got;

    while ((got = libssh2_channel_read_ex(talk->channel, is_errors ? SSH_EXTENDED_DATA_STDERR : 0,
                                          part, sizeof part)) > 0) {
        if (is_errors)
            keep_errors(talk, part, (size_t)got);
        else
            text_add_bytes(talk->output, part, (size_t)got);
        explicit_bzero(part, (size_t)got);
        if (talk->output->is_cut || talk->errors_seen > ERRORS_MOST)
            return SSH_FAILED;
    }
    return got == LIBSSH2_ERROR_EAGAIN ? SSH_AGAIN : got == 0 ? SSH_DONE : SSH_FAILED;
}

static enum ssh_pace move(struct ssh_talk *talk, struct ssh_hop *hop, enum direction at,
                          struct error *err)
{
    enum ssh_pace pace = at == INPUT ? push_input(talk) : pull(talk, at == ERRORS);

    if (pace != SSH_FAILED)
        return pace;
    return fail(talk, hop,
                talk->output->is_cut || talk->errors_seen > ERRORS_MOST
                    ? "the command prints too much"
                    : "the connection ended before the command",
                err);
}

/* Each call of libssh2 reads what has arrived for all directions, and keeps what was not asked for.
   No event of the socket tells of that. */
static bool has_unread(struct ssh_talk *talk)
{
    unsigned long unread = 0;

    (void)libssh2_channel_window_read_ex(talk->channel, &unread, NULL);
    return unread > 0;
}

static enum ssh_pace exchange(struct ssh_talk *talk, struct ssh_hop *hop, struct error *err)
{
    do {
        for (; talk->next < DIRECTION_COUNT; talk->next++) {
            enum ssh_pace pace = move(talk, hop, talk->next, err);

            if (pace == SSH_FAILED || (pace == SSH_AGAIN && ssh_hop_is_sending(hop)))
                return pace;
        }
        talk->next = INPUT;
    } while (has_unread(talk));
    if (!libssh2_channel_eof(talk->channel))
        return SSH_AGAIN;
    talk->phase = END;
    return SSH_DONE;
}

static enum ssh_pace end(struct ssh_talk *talk, struct ssh_hop *hop, struct error *err)
{
    int code = libssh2_channel_wait_closed(talk->channel);

    if (code == LIBSSH2_ERROR_EAGAIN)
        return SSH_AGAIN;
    if (code != 0)
        return fail(talk, hop, "the connection ended before the command's status", err);
    talk->exit_status = libssh2_channel_get_exit_status(talk->channel);
    (void)libssh2_channel_get_exit_signal(talk->channel, &talk->signal, NULL, NULL, NULL, NULL,
                                          NULL);
    return SSH_DONE;
}

enum ssh_pace ssh_talk_step(struct ssh_talk *talk, struct ssh_hop *hop, struct error *err)
{
    enum ssh_pace pace = SSH_DONE;

    while (pace == SSH_DONE && talk->phase < END) {
        if (talk->phase == OPEN)
            pace = open_channel(talk, hop, err);
        else if (talk->phase == ASK)
            pace = ask(talk, hop, err);
        else
            pace = exchange(talk, hop, err);
    }
    return pace == SSH_DONE ? end(talk, hop, err) : pace;
}

struct ssh_answer ssh_talk_answer(const struct ssh_talk *talk)
{
    return (struct ssh_answer){
        .exit_status = talk->signal ? -1 : talk->exit_status,
        .signal = talk->signal,
        .output = talk->output->chars,
        .output_length = talk->output->length,
        .errors = talk->errors->chars,
    };
}
