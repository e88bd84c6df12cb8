/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * libssh2 calls back for each byte that it sends or receives.  So an inner session needs no socket,
 * and a lost connection is known as such, whatever error libssh2 makes of it.
 *
 * libssh2 refuses each other call on a session while one has sent a part of a packet
 * (LIBSSH2_ERROR_BAD_USE).  For the caller's own calls ssh_hop_is_sending() says so.  For the
 * channel to an inner session, `pending` says which of its two directions must be repeated.
 */
#include "base/ssh/ssh_hop.h"

#include "base/memory.h"
#include "base/trust.h"
#include "base/world/ssh_keys.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { KEY_FILE_LIMIT = 64 * 1024, STASH_SIZE = 4096, SSH_PORT = 22 };

enum phase { WAY, HANDSHAKE, LOG_IN, READY };
enum pending { PENDING_NONE, PENDING_READ, PENDING_WRITE };

struct ssh_hop {
    LIBSSH2_SESSION *session;
    const struct ssh_host *host;
    int fd;
    struct ssh_hop *outer; /* NULL: over the socket */
    LIBSSH2_CHANNEL *way;  /* of outer's session */
    enum pending pending;  /* of the way */
    struct text *stash;    /* read from the way, and not asked for yet */
    enum phase phase;
    bool is_lost;
    struct text *key; /* the private key, until the log-in is over */
    struct ssh_agent *agent;
    bool has_listed;       /* the agent's keys */
    size_t agent_at;       /* the key that is tried */
    bool is_agent_awaited; /* the answer of the agent, not of the machine */
    struct error agent_trouble;
};

static void *allocate(size_t size, void **abstract)
{
    (void)abstract;
    return mem_new(size);
}

static void release(void *block, void **abstract)
{
    (void)abstract;
    mem_free(block);
}

static void *reallocate(void *block, size_t size, void **abstract)
{
    (void)abstract;
    return mem_resize(block, size, 1);
}

int ssh_host_port(const struct ssh_host *host)
{
    return host->port > 0 ? host->port : SSH_PORT;
}

void ssh_host_print(const struct ssh_host *host, struct text *out)
{
    text_add(out, "%s@%s:%d", host->user, host->address, ssh_host_port(host));
}

/* ---- bytes ---- */

static ssize_t lose(struct ssh_hop *hop)
{
    hop->is_lost = true;
    return -ECONNRESET;
}

static void note_pending(struct ssh_hop *hop, enum pending pending)
{
    hop->pending = ssh_hop_is_sending(hop->outer) ? pending : PENDING_NONE;
}

static ssize_t read_way(struct ssh_hop *hop, void *buffer, size_t size)
{
    ssize_t got;

    if (hop->pending == PENDING_WRITE)
        return -EAGAIN; /* libssh2 repeats the write first */
    if (hop->stash->length > 0) {
        got = (ssize_t)(hop->stash->length < size ? hop->stash->length : size);
        memcpy(buffer, hop->stash->chars, (size_t)got);
        text_drop(hop->stash, (size_t)got);
        return got;
    }
    got = libssh2_channel_read(hop->way, buffer, size);
    hop->pending = PENDING_NONE;
    if (got == LIBSSH2_ERROR_EAGAIN) {
        note_pending(hop, PENDING_READ);
        return -EAGAIN;
    }
    return got > 0 ? got : lose(hop);
}

/* Ends a read that has sent a part of a packet; what it reads is kept. */
static void finish_read(struct ssh_hop *hop)
{
    char bytes[STASH_SIZE];
    ssize_t got = libssh2_channel_read(hop->way, bytes, sizeof bytes);

    hop->pending = PENDING_NONE;
    if (got == LIBSSH2_ERROR_EAGAIN)
        note_pending(hop, PENDING_READ);
    else if (got > 0)
        text_add_bytes(hop->stash, bytes, (size_t)got);
    else
        lose(hop);
}

/* libssh2 takes a part for a socket that is full, and would wait for it: so all is sent, or as much
   as can be. */
static ssize_t write_way(struct ssh_hop *hop, const char *bytes, size_t size)
{
    size_t sent = 0;

    if (hop->pending == PENDING_READ)
        finish_read(hop);
    if (hop->pending == PENDING_READ)
        return -EAGAIN;
    while (sent < size && !hop->is_lost) {
        ssize_t part = libssh2_channel_write(hop->way, bytes + sent, size - sent);

        hop->pending = PENDING_NONE;
        if (part == LIBSSH2_ERROR_EAGAIN || part == 0) {
            note_pending(hop, PENDING_WRITE);
            break;
        }
        if (part < 0)
            lose(hop);
        else
            sent += (size_t)part;
    }
    return hop->is_lost ? -ECONNRESET : sent > 0 ? (ssize_t)sent : -EAGAIN;
}

static ssize_t receive_bytes(libssh2_socket_t fd, void *buffer, size_t size, int flags,
                             void **abstract)
{
    struct ssh_hop *hop = *abstract;
    ssize_t got;

    if (hop->is_lost)
        return -ECONNRESET;
    if (hop->outer)
        return read_way(hop, buffer, size);
    got = recv(fd, buffer, size, flags);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return -EAGAIN;
    return got > 0 ? got : lose(hop);
}

static ssize_t send_bytes(libssh2_socket_t fd, const void *bytes, size_t size, int flags,
                          void **abstract)
{
    struct ssh_hop *hop = *abstract;
    ssize_t sent;

    if (hop->is_lost)
        return -ECONNRESET;
    if (hop->outer)
        return write_way(hop, bytes, size);
    sent = send(fd, bytes, size, flags | MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return -EAGAIN;
    return sent >= 0 ? sent : lose(hop);
}

/* ---- life ---- */

static struct ssh_hop *make(const struct ssh_host *host, int fd)
{
    struct ssh_hop *hop = mem_new(sizeof *hop);
    owned(text) struct text *types = text_new(TEXT_UNBOUNDED);

    hop->host = host;
    hop->fd = fd;
    hop->stash = text_new(TEXT_UNBOUNDED);
    hop->session = libssh2_session_init_ex(allocate, release, reallocate, hop);
    require(hop->session);
    libssh2_session_set_blocking(hop->session, 0);
    libssh2_session_callback_set(hop->session, LIBSSH2_CALLBACK_RECV, (void *)receive_bytes);
    libssh2_session_callback_set(hop->session, LIBSSH2_CALLBACK_SEND, (void *)send_bytes);
    ssh_keys_add_types(host->host_key, types);
    (void)libssh2_session_method_pref(hop->session, LIBSSH2_METHOD_HOSTKEY, types->chars);
    return hop;
}

struct ssh_hop *ssh_hop_new(const struct ssh_host *host, int fd)
{
    struct ssh_hop *hop = make(host, fd);

    hop->phase = HANDSHAKE;
    return hop;
}

struct ssh_hop *ssh_hop_through(const struct ssh_host *host, struct ssh_hop *outer)
{
    struct ssh_hop *hop = make(host, outer->fd);

    hop->outer = outer;
    hop->phase = WAY;
    return hop;
}

static void forget_key(struct ssh_hop *hop)
{
    if (hop->key) {
        explicit_bzero(hop->key->chars, hop->key->length);
        text_free(steal(&hop->key));
    }
    ssh_agent_free(steal(&hop->agent));
}

/* What libssh2 has begun keeps memory that only its own failure frees. */
static void fail_begun(struct ssh_hop *hop)
{
    struct error ignored = { 0 };

    if (hop->phase == HANDSHAKE || (hop->phase == LOG_IN && hop->key))
        (void)ssh_hop_step(hop, &ignored);
}

void ssh_hop_free(struct ssh_hop *hop)
{
    if (!hop)
        return;
    hop->is_lost = true; /* libssh2 would wait for the other side's goodbye */
    fail_begun(hop);
    while (libssh2_session_free(hop->session) == LIBSSH2_ERROR_EAGAIN)
        continue;
    forget_key(hop);
    text_free(hop->stash);
    mem_free(hop);
}

void ssh_hop_leave(struct ssh_hop *hop)
{
    if (!hop->is_lost && !ssh_hop_is_sending(hop))
        (void)libssh2_session_disconnect(hop->session, "done");
}

LIBSSH2_SESSION *ssh_hop_session(const struct ssh_hop *hop)
{
    return hop->session;
}

bool ssh_hop_is_sending(const struct ssh_hop *hop)
{
    return (libssh2_session_block_directions(hop->session) & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0;
}

int ssh_hop_descriptor(const struct ssh_hop *hop, bool *ret_is_sending)
{
    if (hop->is_agent_awaited) {
        *ret_is_sending = ssh_agent_is_writing(hop->agent);
        return ssh_agent_descriptor(hop->agent);
    }
    *ret_is_sending = ssh_hop_is_sending(hop->outer ?: hop);
    return hop->fd;
}

void ssh_hop_fail(const struct ssh_hop *hop, enum error_kind kind, const char *what,
                  struct error *err)
{
    owned(text) struct text *place = text_new(ERROR_TEXT_SIZE);
    char *message = NULL;

    libssh2_session_last_error(hop->session, &message, NULL, 0);
    ssh_host_print(hop->host, place);
    error_set(err, kind, "%s: %s%s%s", place->chars, what, hop->is_lost ? "" : ": ",
              hop->is_lost ? "" : message ?: "no reason");
}

static enum ssh_pace fail(const struct ssh_hop *hop, enum error_kind kind, const char *what,
                          struct error *err)
{
    ssh_hop_fail(hop, kind, what, err);
    return SSH_FAILED;
}

/* ---- phases ---- */

static enum ssh_pace open_way(struct ssh_hop *hop, struct error *err)
{
    hop->way = libssh2_channel_direct_tcpip_ex(hop->outer->session, hop->host->address,
                                               ssh_host_port(hop->host), "127.0.0.1", 0);
    if (hop->way) {
        hop->phase = HANDSHAKE;
        return SSH_DONE;
    }
    if (libssh2_session_last_errno(hop->outer->session) == LIBSSH2_ERROR_EAGAIN)
        return SSH_AGAIN;
    return fail(hop->outer, ERROR_TRANSIENT, "the jump host cannot connect to the machine", err);
}

static enum ssh_pace refuse_host(struct ssh_hop *hop, const char *key, size_t size,
                                 struct error *err)
{
    owned(text) struct text *seen = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *pinned = text_new(TEXT_UNBOUNDED);

    ssh_keys_add_fingerprint(key, size, seen);
    ssh_keys_add_fingerprints(hop->host->host_key, pinned);
    error_set(err, ERROR_DENIED,
              "%s:%d: its host key is %s, and the pinned one is %s: the machine was installed "
              "again, or another one answers in its place; nothing was sent",
              hop->host->address, ssh_host_port(hop->host), seen->chars, pinned->chars);
    return SSH_FAILED;
}

/* What a handshake that failed means. */
static enum ssh_pace fail_handshake(struct ssh_hop *hop, int code, struct error *err)
{
    if (hop->is_lost)
        return fail(hop, ERROR_TRANSIENT, "the connection ended before the host's key was seen",
                    err);
    if (code == LIBSSH2_ERROR_KEX_FAILURE || code == LIBSSH2_ERROR_METHOD_NONE ||
        code == LIBSSH2_ERROR_HOSTKEY_INIT || code == LIBSSH2_ERROR_HOSTKEY_SIGN ||
        code == LIBSSH2_ERROR_KEY_EXCHANGE_FAILURE)
        return fail(hop, ERROR_DENIED,
                    "it has no host key or key exchange that sluice takes (keys: ssh-ed25519, "
                    "ecdsa-sha2-*), or its key is not its own",
                    err);
    return fail(hop, ERROR_TRANSIENT, "no SSH server answers as one", err);
}

static enum ssh_pace shake(struct ssh_hop *hop, struct error *err)
{
    int code = libssh2_session_handshake(hop->session, hop->fd);
    const char *key;
    size_t size;
    int type;

    if (code == LIBSSH2_ERROR_EAGAIN)
        return SSH_AGAIN;
    if (code != 0)
        return fail_handshake(hop, code, err);
    key = libssh2_session_hostkey(hop->session, &size, &type);
    if (!key || !ssh_keys_hold(hop->host->host_key, key, size))
        return refuse_host(hop, key ?: "", key ? size : 0, err);
    hop->phase = LOG_IN;
    return SSH_DONE;
}

/* What the machine's answer to a key means. */
static enum ssh_pace judge_log_in(struct ssh_hop *hop, int code, const char *what,
                                  struct error *err)
{
    if (code == 0) {
        forget_key(hop);
        hop->phase = READY;
        return SSH_DONE;
    }
    if (code == LIBSSH2_ERROR_EAGAIN)
        return SSH_AGAIN;
    if (hop->is_lost || code == LIBSSH2_ERROR_SOCKET_DISCONNECT)
        return fail(hop, ERROR_TRANSIENT, "the connection ended during the log-in", err);
    if (code == LIBSSH2_ERROR_AUTHENTICATION_FAILED || code == LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED)
        return fail(hop, ERROR_DENIED, what, err);
    return fail(hop, ERROR_INVALID, "the key file cannot be used (no passphrase, ed25519 or ecdsa)",
                err);
}

static enum ssh_pace log_in_by_file(struct ssh_hop *hop, struct error *err)
{
    const char *path = hop->host->key_file;
    owned(text) struct text *what = text_new(ERROR_TEXT_SIZE);

    if (!hop->key)
        hop->key = trust_check_secrecy(path, err) == 0 ? trust_read(path, KEY_FILE_LIMIT, err)
                                                       : NULL;
    if (!hop->key)
        return SSH_FAILED;
    text_add(what, "the machine refuses the key of %s for this user", path);
    return judge_log_in(hop,
                        libssh2_userauth_publickey_frommemory(
                            hop->session, hop->host->user, strlen(hop->host->user), NULL, 0,
                            hop->key->chars, hop->key->length, NULL),
                        what->chars, err);
}

/* libssh2 names the parameters: session, sig, sig_len, data, data_len, abstract. */
static LIBSSH2_USERAUTH_PUBLICKEY_SIGN_FUNC(sign)
{
    struct ssh_hop *hop = *abstract;
    owned(text) struct text *message = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    enum ssh_pace pace;

    (void)session;
    text_add_bytes(message, data, data_len);
    pace = ssh_agent_sign(hop->agent, hop->agent_at, message, out, &hop->agent_trouble);
    hop->is_agent_awaited = pace == SSH_AGAIN;
    if (pace == SSH_AGAIN)
        return LIBSSH2_ERROR_EAGAIN;
    if (pace == SSH_FAILED)
        return LIBSSH2_ERROR_AGENT_PROTOCOL;
    *sig_len = out->length;
    *sig = (unsigned char *)text_take(steal(&out));
    return 0;
}

static enum ssh_pace list_agent(struct ssh_hop *hop, struct error *err)
{
    enum ssh_pace pace;

    if (!hop->agent)
        hop->agent = ssh_agent_open(hop->host->agent_socket, err);
    pace = hop->agent ? ssh_agent_list(hop->agent, err) : SSH_FAILED;
    hop->is_agent_awaited = pace == SSH_AGAIN;
    hop->has_listed = pace == SSH_DONE;
    return pace;
}

/* Tries the agent's keys one after the other. */
static enum ssh_pace log_in_by_agent(struct ssh_hop *hop, struct error *err)
{
    void *abstract = hop;

    if (!hop->has_listed) {
        enum ssh_pace pace = list_agent(hop, err);

        if (pace != SSH_DONE)
            return pace;
    }
    while (hop->agent_at < ssh_agent_count(hop->agent)) {
        const struct text *key = ssh_agent_key(hop->agent, hop->agent_at);
        int code = libssh2_userauth_publickey(hop->session, hop->host->user,
                                              (const unsigned char *)key->chars, key->length, sign,
                                              &abstract);

        if (hop->agent_trouble.kind != ERROR_NONE) {
            *err = hop->agent_trouble;
            return SSH_FAILED;
        }
        if (code != LIBSSH2_ERROR_AUTHENTICATION_FAILED || hop->is_lost)
            return judge_log_in(hop, code, "the machine refuses the agent's signature", err);
        hop->agent_at++;
    }
    return fail(hop, ERROR_DENIED, "the machine takes none of the agent's keys for this user", err);
}

enum ssh_pace ssh_hop_step(struct ssh_hop *hop, struct error *err)
{
    enum ssh_pace pace = SSH_DONE;

    while (pace == SSH_DONE && hop->phase != READY) {
        if (hop->phase == WAY)
            pace = open_way(hop, err);
        else if (hop->phase == HANDSHAKE)
            pace = shake(hop, err);
        else
            pace = hop->host->key_file ? log_in_by_file(hop, err) : log_in_by_agent(hop, err);
    }
    return pace;
}
