/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See signature.h.
 */
#include "broker/webhooks/signature.h"

#include "base/crypto.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/trust.h"
#include "base/world/http.h"

#include <inttypes.h>
#include <string.h>

enum {
    FILE_LIMIT = 4096,
    SECRET_LEAST = 24, /* bytes; both limits are the specification's */
    SECRET_MOST = 64,
};

static const char prefix[] = "whsec_";

static void free_bytes(struct text *text)
{
    if (text)
        explicit_bzero(text->chars, text->length);
    text_free(text);
}

/* A file that only the service's user and its group can read; freed with free_bytes(). */
static struct text *read_secret(const char *path, struct error *err)
{
    return trust_check_secrecy(path, err) == 0 ? trust_read(path, FILE_LIMIT, err) : NULL;
}

/* The next line that is not empty, without spaces around it, ended in place; NULL: none. */
static char *next_line(char **rest)
{
    char *line;

    while ((line = strsep(rest, "\r\n")))
        if (line += strspn(line, " \t"), *line != '\0') {
            line[strcspn(line, " \t")] = '\0';
            return line;
        }
    return NULL;
}

static int read_secrets(const char *path, struct webhook_access *access, struct error *err)
{
    struct text *text = read_secret(path, err);
    char *rest = text ? text->chars : NULL;
    const char *line;
    int count = 0;
    bool is_good = true;

    if (!text)
        return -1;
    while (is_good && (line = next_line(&rest))) {
        struct text *bytes = text_starts_with(line, prefix)
                                 ? crypto_decode_base64(line + strlen(prefix), NULL)
                                 : NULL;

        is_good = count < WEBHOOK_SECRETS && bytes && bytes->length >= SECRET_LEAST &&
                  bytes->length <= SECRET_MOST;
        if (is_good)
            access->secrets[count++] = bytes;
        else
            free_bytes(bytes);
    }
    free_bytes(text);
    if (is_good && count > 0)
        return 0;
    return error_set(
        err, ERROR_INVALID,
        "%s: expected one or two lines, each %s and base64 of %d to %d bytes; make one "
        "with: echo \"%s$(openssl rand -base64 32)\"",
        path, prefix, SECRET_LEAST, SECRET_MOST, prefix);
}

static int read_url(const char *path, struct webhook_access *access, struct error *err)
{
    struct text *text = read_secret(path, err);
    char *rest = text ? text->chars : NULL;
    const char *line = next_line(&rest);
    bool is_good = line && http_check_outward_url(line, NULL) == 0 && !next_line(&rest);

    if (is_good)
        access->url = mem_copy_chars(line);
    else if (text)
        error_set(err, ERROR_INVALID,
                  "%s: expected one line, an https URL without a user, and not that of a cloud's "
                  "metadata server",
                  path);
    free_bytes(text);
    return is_good ? 0 : -1;
}

int webhook_access_read(const struct config_webhook *hook, struct webhook_access *ret_access,
                        struct error *err)
{
    owned(webhook_access) struct webhook_access access = { .url = mem_copy_chars(hook->url) };

    if ((hook->url_file && read_url(hook->url_file, &access, err) < 0) ||
        (hook->secret_file && read_secrets(hook->secret_file, &access, err) < 0))
        return -1;
    *ret_access = access;
    access = (struct webhook_access){ 0 };
    return 0;
}

void webhook_access_clear(struct webhook_access *access)
{
    secret_free(access->url);
    for (int i = 0; i < WEBHOOK_SECRETS; i++)
        free_bytes(access->secrets[i]);
    *access = (struct webhook_access){ 0 };
}

char *webhook_signature(const struct webhook_access *access, const char *id, struct wall_time at,
                        const char *body)
{
    owned(chars) char *content = text_format("%s.%" PRId64 ".%s", id, at.ms / SECOND_MS, body);
    struct text *out = text_new(TEXT_UNBOUNDED);

    for (int i = 0; i < WEBHOOK_SECRETS && access->secrets[i]; i++) {
        const struct text *secret = access->secrets[i];
        unsigned char digest[SHA256_SIZE];

        crypto_hmac_sha256(secret->chars, secret->length, content, strlen(content), digest);
        text_add(out, "%sv1,", i > 0 ? " " : "");
        crypto_add_base64(out, digest, sizeof digest);
    }
    return text_take(out);
}
