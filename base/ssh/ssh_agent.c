/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A message is its length in four bytes, a type, and fields; an answer has the same form.
 */
#include "base/ssh/ssh_agent.h"

#include "base/array.h"
#include "base/memory.h"
#include "base/world/ssh.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    ASK_KEYS = 11,
    KEYS = 12,
    ASK_SIGNATURE = 13,
    SIGNATURE = 14,
    ANSWER_LIMIT = 256 * 1024,
};

struct ssh_agent {
    int fd;
    struct text *out; /* of the message under way: what is not sent yet */
    struct text *in;
    bool is_asked; /* a message is under way */
    ARRAY(struct text *) keys;
};

static void add_number(struct text *out, size_t number)
{
    const unsigned char bytes[] = { (unsigned char)(number >> 24), (unsigned char)(number >> 16),
                                    (unsigned char)(number >> 8), (unsigned char)number };

    text_add_bytes(out, bytes, sizeof bytes);
}

static void add_bytes(struct text *out, const struct text *bytes)
{
    add_number(out, bytes->length);
    text_add_bytes(out, bytes->chars, bytes->length);
}

/* A reader of an answer's fields. */
struct fields {
    const unsigned char *at;
    size_t left;
};

static bool take_number(struct fields *fields, size_t *ret_number)
{
    const unsigned char *at = fields->at;

    if (fields->left < 4)
        return false;
    *ret_number = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
    fields->at += 4;
    fields->left -= 4;
    return true;
}

static bool take_bytes(struct fields *fields, struct fields *ret_bytes)
{
    size_t length;

    if (!take_number(fields, &length) || length > fields->left)
        return false;
    *ret_bytes = (struct fields){ fields->at, length };
    fields->at += length;
    fields->left -= length;
    return true;
}

struct ssh_agent *ssh_agent_open(const char *path, struct error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct ssh_agent *agent;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0 || !text_copy(address.sun_path, sizeof address.sun_path, path) ||
        connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        error_errno(err, ERROR_TRANSIENT, "SSH agent %s", path);
        error_because(err, &ssh_way);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    agent = mem_new(sizeof *agent);
    agent->fd = fd;
    agent->out = text_new(ANSWER_LIMIT);
    agent->in = text_new(ANSWER_LIMIT);
    return agent;
}

void ssh_agent_free(struct ssh_agent *agent)
{
    if (!agent)
        return;
    close(agent->fd);
    text_free(agent->out);
    text_free(agent->in);
    for (size_t i = 0; i < agent->keys.count; i++)
        text_free(agent->keys.items[i]);
    array_clear(&agent->keys);
    mem_free(agent);
}

int ssh_agent_descriptor(const struct ssh_agent *agent)
{
    return agent->fd;
}

bool ssh_agent_is_writing(const struct ssh_agent *agent)
{
    return agent->out->length > 0;
}

static enum ssh_pace fail(struct ssh_agent *agent, const char *what, struct error *err)
{
    agent->is_asked = false;
    error_set(err, ERROR_TRANSIENT, "SSH agent: %s", what);
    error_because(err, &ssh_way);
    return SSH_FAILED;
}

static enum ssh_pace push(struct ssh_agent *agent, struct error *err)
{
    while (agent->out->length > 0) {
        ssize_t sent = send(agent->fd, agent->out->chars, agent->out->length, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN ? SSH_AGAIN : fail(agent, "it hung up", err);
        text_drop(agent->out, (size_t)sent);
    }
    return SSH_DONE;
}

/* Whether the whole answer is there; *ret_body: what follows its length. */
static bool is_whole(const struct ssh_agent *agent, struct fields *ret_body)
{
    struct fields answer = { (const unsigned char *)agent->in->chars, agent->in->length };

    return take_bytes(&answer, ret_body);
}

static enum ssh_pace pull(struct ssh_agent *agent, struct fields *ret_body, struct error *err)
{
    char part[4096];

    while (!is_whole(agent, ret_body)) {
        ssize_t got = recv(agent->fd, part, sizeof part, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return SSH_AGAIN;
        if (got <= 0)
            return fail(agent, "it hung up", err);
        text_add_bytes(agent->in, part, (size_t)got);
        if (agent->in->is_cut)
            return fail(agent, "its answer is too long", err);
    }
    return SSH_DONE;
}

/* Sends the message of this body, once, and reads the answer of the wanted type. */
static enum ssh_pace exchange(struct ssh_agent *agent, const struct text *body, int wanted,
                              struct fields *ret_body, struct error *err)
{
    enum ssh_pace pace;

    if (!agent->is_asked) {
        text_reset(agent->in);
        add_bytes(agent->out, body);
        agent->is_asked = true;
    }
    pace = push(agent, err);
    if (pace == SSH_DONE)
        pace = pull(agent, ret_body, err);
    if (pace != SSH_DONE)
        return pace;
    agent->is_asked = false;
    if (ret_body->left == 0 || ret_body->at[0] != wanted)
        return fail(agent, "it refused", err);
    ret_body->at++;
    ret_body->left--;
    return SSH_DONE;
}

static bool is_taken(const struct fields *key)
{
    struct fields rest = *key, type;

    if (!take_bytes(&rest, &type))
        return false;
    return (type.left == 11 && memcmp(type.at, "ssh-ed25519", 11) == 0) ||
           (type.left == 19 && memcmp(type.at, "ecdsa-sha2-nistp", 16) == 0);
}

enum ssh_pace ssh_agent_list(struct ssh_agent *agent, struct error *err)
{
    owned(text) struct text *ask = text_new(1);
    struct fields body, key, comment;
    enum ssh_pace pace;
    size_t count;

    text_add(ask, "%c", ASK_KEYS);
    pace = exchange(agent, ask, KEYS, &body, err);
    if (pace != SSH_DONE)
        return pace;
    if (!take_number(&body, &count))
        return fail(agent, "its answer cannot be read", err);
    while (count-- > 0) {
        struct text *copy;

        if (!take_bytes(&body, &key) || !take_bytes(&body, &comment))
            return fail(agent, "its answer cannot be read", err);
        if (!is_taken(&key) || agent->keys.count == SSH_AGENT_KEYS)
            continue;
        copy = *array_add(&agent->keys) = text_new(key.left);
        text_add_bytes(copy, key.at, key.left);
    }
    return SSH_DONE;
}

size_t ssh_agent_count(const struct ssh_agent *agent)
{
    return agent->keys.count;
}

const struct text *ssh_agent_key(const struct ssh_agent *agent, size_t at)
{
    require(at < agent->keys.count);
    return agent->keys.items[at];
}

enum ssh_pace ssh_agent_sign(struct ssh_agent *agent, size_t at, const struct text *bytes,
                             struct text *out, struct error *err)
{
    owned(text) struct text *ask = text_new(ANSWER_LIMIT);
    struct fields body, whole, method, signature;
    enum ssh_pace pace;

    text_add(ask, "%c", ASK_SIGNATURE);
    add_bytes(ask, ssh_agent_key(agent, at));
    add_bytes(ask, bytes);
    add_number(ask, 0); /* no flags: they are for RSA */
    pace = exchange(agent, ask, SIGNATURE, &body, err);
    if (pace != SSH_DONE)
        return pace;
    if (!take_bytes(&body, &whole) || !take_bytes(&whole, &method) ||
        !take_bytes(&whole, &signature))
        return fail(agent, "its signature cannot be read", err);
    text_add_bytes(out, signature.at, signature.left);
    return SSH_DONE;
}
