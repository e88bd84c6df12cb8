/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys are compared as bytes of the wire format, not as text: two encoders may pad differently.
 */
#include "base/world/ssh_keys.h"

#include "base/crypto.h"
#include "base/memory.h"

#include <string.h>

/* Those that libssh2 1.10 can verify; it knows RSA keys only with SHA-1. */
static const char *const types[] = {
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
};

enum { TYPE_SIZE = 32 };

/* One pinned key. */
struct pin {
    char type[TYPE_SIZE];
    struct text *key; /* in the wire format; NULL: none could be read */
};

static const char *take_word(const char **at, const char *end, size_t *ret_length)
{
    const char *start;

    while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
        (*at)++;
    start = *at;
    while (*at < end && **at != ' ' && **at != '\t' && **at != '\r')
        (*at)++;
    *ret_length = (size_t)(*at - start);
    return start;
}

/* The key names its own type in its first bytes. */
static bool names_type(const struct text *key, const char *type)
{
    size_t length = strlen(type);

    return key->length > 4 + length && key->chars[0] == 0 && key->chars[1] == 0 &&
           key->chars[2] == 0 && (size_t)(unsigned char)key->chars[3] == length &&
           memcmp(key->chars + 4, type, length) == 0;
}

/* Reads the next key; the caller frees its bytes.  False: there are no more. */
static bool next_pin(const char **at, struct pin *ret_pin)
{
    while (**at != '\0') {
        const char *end = *at + strcspn(*at, "\n,"), *word;
        size_t length;

        word = take_word(at, end, &length);
        if (length > 0) {
            text_print(ret_pin->type, sizeof ret_pin->type, "%.*s", (int)length, word);
            word = take_word(at, end, &length);
            owned(chars) char *chars = text_format("%.*s", (int)length, word);

            ret_pin->key = crypto_decode_base64(chars, NULL);
            if (ret_pin->key && !names_type(ret_pin->key, ret_pin->type)) {
                text_free(ret_pin->key);
                ret_pin->key = NULL;
            }
        }
        *at = *end == '\0' ? end : end + 1;
        if (length > 0 || ret_pin->type[0] != '\0')
            return true;
    }
    return false;
}

static bool is_known_type(const char *type)
{
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (text_equal(types[i], type))
            return true;
    return false;
}

int ssh_keys_check(const char *pinned, struct error *err)
{
    size_t count = 0;

    for (struct pin pin = { 0 }; next_pin(&pinned, &pin); pin = (struct pin){ 0 }) {
        owned(text) struct text *key = pin.key;

        if (!is_known_type(pin.type))
            return error_set(err, ERROR_INVALID,
                             "host key of type \"%s\": sluice takes ssh-ed25519 and ecdsa-sha2-* "
                             "(ssh-keyscan -t ed25519 HOST shows the key)",
                             pin.type);
        if (!key)
            return error_set(err, ERROR_INVALID,
                             "host key: what follows \"%s\" is no such key in base64", pin.type);
        count++;
    }
    return count > 0 ? 0 : error_set(err, ERROR_INVALID, "host key: empty");
}

bool ssh_keys_hold(const char *pinned, const char *key, size_t size)
{
    bool is_found = false;

    for (struct pin pin = { 0 }; next_pin(&pinned, &pin); pin = (struct pin){ 0 }) {
        if (pin.key)
            is_found |= pin.key->length == size && memcmp(pin.key->chars, key, size) == 0;
        text_free(pin.key);
    }
    return is_found;
}

static bool has_type(const char *pinned, const char *type)
{
    bool is_found = false;

    for (struct pin pin = { 0 }; next_pin(&pinned, &pin); pin = (struct pin){ 0 }) {
        is_found |= text_equal(pin.type, type);
        text_free(pin.key);
    }
    return is_found;
}

void ssh_keys_add_types(const char *pinned, struct text *out)
{
    size_t start = out->length;

    for (int is_other = 0; is_other < 2; is_other++)
        for (size_t i = 0; i < COUNT_OF(types); i++)
            if (has_type(pinned, types[i]) != (is_other == 1))
                text_add(out, "%s%s", out->length > start ? "," : "", types[i]);
}

void ssh_keys_add_fingerprint(const void *key, size_t size, struct text *out)
{
    unsigned char digest[SHA256_SIZE];

    crypto_sha256(key, size, digest);
    text_add(out, "SHA256:");
    crypto_add_base64(out, digest, sizeof digest);
    while (out->length > 0 && out->chars[out->length - 1] == '=')
        text_end_at(out, out->length - 1);
}

void ssh_keys_add_fingerprints(const char *pinned, struct text *out)
{
    size_t start = out->length;

    for (struct pin pin = { 0 }; next_pin(&pinned, &pin); pin = (struct pin){ 0 }) {
        if (pin.key) {
            text_add(out, "%s", out->length > start ? " or " : "");
            ssh_keys_add_fingerprint(pin.key->chars, pin.key->length, out);
        }
        text_free(pin.key);
    }
}
